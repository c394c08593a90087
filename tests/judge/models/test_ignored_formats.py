"""Endpoints that accept a form of reply and ignore it: what is lost, and what it costs."""

from __future__ import annotations

import json
import random
import threading
from collections import Counter
from collections.abc import Callable, Mapping
from typing import Any

import orjson
import pytest
from aiohttp import web

import rubricate
from rubricate import Criterion, HTTPModel, Rubric, RubricDataset
from rubricate.errors import InputError
from rubricate.judge import Completion
from rubricate.judge.models._forms import ReplyForms, ignores_schema
from rubricate.run.sending import _sender
from rubricate.testing import JudgeRequest, Rule, ScriptedEndpoint

ANSWER = {"reason": "It says so.", "evidence": [], "verdict": "MET"}
ALONE = json.dumps(ANSWER)
TAGS = "<reason>It says so.</reason>\n<verdict>MET</verdict>"
FIRST = 6
"""Requests for which a form is found that works: two for each of two, and those in flight then."""
Answer = Callable[[str, int], "str | dict[str, Any]"]


@pytest.fixture(autouse=True)
def patient(monkeypatch: pytest.MonkeyPatch) -> None:
    """The first request goes alone, however late a busy machine answers it."""
    monkeypatch.setattr(_sender, "ALONE", 60.0)


class Endpoint(ScriptedEndpoint):
    """Answers with the text or message that a function makes of the form and the number."""

    def __init__(self, answer: Answer, **options: Any) -> None:
        super().__init__(**options)
        self.answer, self.asked, self.lock = answer, Counter[str](), threading.Lock()

    def _answer(self, request: Any, rule: Any, form: str, cached: int) -> web.Response:
        body = orjson.loads(super()._answer(request, rule, form, cached).body)
        with self.lock:
            self.asked[form] += 1
            message = self.answer(form, self.asked.total())
        given = {"content": message} if isinstance(message, str) else message
        if form == "text" and request.criteria and message == TAGS:
            given = {"content": json.dumps({n + 1: ANSWER for n in range(len(request.criteria))})}
        finish_reason = given.pop("finish_reason", "stop")
        body["choices"][0].update(message=given, finish_reason=finish_reason)
        return web.json_response(body)


def dataset(items: int, criteria: int = 10) -> RubricDataset:
    made = [Criterion(name=f"c{i}", requirement=f"Gives number {i}") for i in range(criteria)]
    found = RubricDataset("How fast is light?", Rubric(made))
    for number in range(items):
        found.add_item(f"299792 km/s, answer {number}")
    return found


def by_chance(lost: float, seed: int = 1) -> Callable[[], bool]:
    draw = random.Random(seed)
    return lambda: draw.random() < lost


def lost_unless(*kept: str, reply: Any = "") -> Answer:
    """Replies of all forms but some are lost."""
    return lambda form, number: (TAGS if form == "text" else ALONE) if form in kept else reply


CALL = {"function": {"name": "judgement", "arguments": '{"label": "MET"}'}, "type": "function"}
IGNORED: Mapping[str, Any] = {
    "empty": "",
    "blank": " \n ",
    "prose alone": "The submission gives the number, so it meets the criterion.",
    "a table": "| criterion | verdict |\n|---|---|\n| number | MET |",
    "half of an object": '{"reason": "It says so.", "evid',
    "the schema itself": '{"type": "object", "properties": {"verdict": {"enum": ["MET"]}}}',
    "another shape": '{"judgement": {"verdict": "MET", "reason": "It says so."}}',
    "another type": '{"reason": ["It says so."], "evidence": [], "verdict": {"label": "MET"}}',
    "a list": '[{"criterion": "number", "score": 1}]',
    "a second answer": '{"reason": "", "evidence": [], "verdict": "MET", "my_verdict": "UNMET"}',
    "a verdict of its own": '{"reason": "It says so.", "evidence": [], "verdict": "pass"}',
    "two objects": '{"reason": "r"}{"verdict": "MET"}',
    "reasoning alone": {"content": "", "reasoning_content": "I think it is met."},
    "a tool call": {"content": None, "tool_calls": [CALL]},
    "blanks without end": {"content": "{" + "\n" * 2000, "finish_reason": "length"},
}


@pytest.mark.parametrize("kept", ["json_object", "text"])
@pytest.mark.parametrize("reply", IGNORED.values(), ids=IGNORED)
def test_where_a_format_is_ignored_replies_are_asked_for_in_the_next_one_that_works(
    kept: str, reply: Any
) -> None:
    forms = ("text",) if kept == "text" else (kept, "text")
    with Endpoint(lost_unless(*forms, reply=reply)) as endpoint:
        result = rubricate.grade(dataset(10), "m", base_url=endpoint.url, cache=None)
        again = rubricate.grade(dataset(10), "m", base_url=endpoint.url, cache=None)
        asked = endpoint.asked
    assert {verdict.label for _, verdict in [*result.verdicts(), *again.verdicts()]} == {"MET"}
    assert asked.total() <= 200 + FIRST
    assert asked["json_schema"] == 2
    assert max(asked, key=asked.__getitem__) == kept
    note = result.summary().note
    assert note is not None
    assert "accepts structured output" in note
    assert ("JSON mode" in note) == (kept == "text")


@pytest.mark.parametrize(
    "options",
    [{"criteria_per_call": 5}, {"criteria_per_call": "all"}, {"replicates": 3}, {}],
    ids=["grouped", "all at once", "replicates", "one a request"],
)
def test_so_they_are_in_every_way_of_asking(options: dict[str, Any]) -> None:
    with Endpoint(lost_unless("text", reply="")) as endpoint:
        result = rubricate.grade(dataset(20, 5), "m", base_url=endpoint.url, cache=None, **options)
        asked = endpoint.asked
    assert {verdict.label for _, verdict in result.verdicts()} == {"MET"}
    judgements = {"replicates": 300, "": 100}.get("replicates" if "replicates" in options else "")
    groups = {5: 20, "all": 20}.get(options.get("criteria_per_call", 1), judgements)
    assert asked.total() <= groups + FIRST


def test_pairs_are_compared_where_a_format_is_ignored() -> None:
    def answer(form: str, number: int) -> str:
        return "" if form != "text" else TAGS.replace("MET", "FIRST")

    with Endpoint(answer) as endpoint:
        found = rubricate.compare_pair(
            "a", "b", rubric=dataset(1, 1).rubric, judge="m", base_url=endpoint.url
        )
        assert endpoint.asked.total() <= 2 + FIRST
    assert found.position.inconsistent_pairs == 1


@pytest.mark.parametrize("since", [0, 300])
@pytest.mark.parametrize("share", [0.2, 0.75, 1.0])
def test_a_share_of_lost_replies_is_noticed_also_late_in_a_run(share: float, since: int) -> None:
    is_lost = by_chance(share)

    def answer(form: str, number: int) -> str:
        return TAGS if form == "text" else "" if number > since and is_lost() else ALONE

    with Endpoint(answer) as endpoint:
        result = rubricate.grade(dataset(80), "m", base_url=endpoint.url, cache=None, concurrency=8)
        requests = len(endpoint.requests)
    assert result.failed == 0
    assert requests <= 1.05 * 800, requests


def test_where_only_long_prompts_lose_their_replies_nothing_fails() -> None:
    grown = dataset(40)
    for item in grown.items[::2]:
        item.submission = f"{item.submission} and so on" * 50
    is_lost = by_chance(0.75)

    class Long(Endpoint):
        def _answer(self, request: Any, rule: Any, form: str, cached: int) -> web.Response:
            self.answer = lambda form, number: (
                TAGS
                if form == "text"
                else ""
                if "so on" in request.submission and is_lost()
                else ALONE
            )
            return super()._answer(request, rule, form, cached)

    with Long(lost_unless()) as endpoint:
        result = rubricate.grade(grown, "m", base_url=endpoint.url, cache=None, concurrency=8)
        requests = len(endpoint.requests)
    assert result.failed == 0
    assert requests <= 1.1 * 400


@pytest.mark.parametrize("lost", [{1}, {2}, {50}, {1, 200}, {100, 180, 260}])
def test_a_reply_that_is_broken_by_chance_costs_one_request_and_no_form(lost: set[int]) -> None:
    with Endpoint(
        lambda form, number: (
            TAGS if form == "text" else "Hm." if form == "json_schema" and number in lost else ALONE
        )
    ) as endpoint:
        result = rubricate.grade(dataset(30), "m", base_url=endpoint.url, cache=None, concurrency=1)
        asked = [one.body.get("response_format", {}).get("type") for one in endpoint.requests]
    assert result.failed == 0
    assert len(asked) == 300 + len(lost)
    assert asked.count("json_schema") >= 300 - len(lost)
    assert set(asked[-30:]) == {"json_schema"}
    assert result.summary().note is None


def test_what_is_lost_for_another_reason_than_its_form_is_asked_again_in_the_same() -> None:
    copied = '{"reason": "It is so because I say it.", "evidence": [], "verdict": "MET"}'
    material = dataset(5)
    for item in material.items:
        item.submission += copied
    with Endpoint(lambda form, number: copied if number % 2 else ALONE) as endpoint:
        result = rubricate.grade(material, "m", base_url=endpoint.url, cache=None, concurrency=1)
        assert set(endpoint.asked) == {"json_schema"}
    assert result.failed == 0


def test_questions_that_are_answered_in_no_form_say_nothing_of_any() -> None:
    def respond(request: JudgeRequest) -> Rule:
        return Rule(reply="Hm.") if "c3" in request.criterion else Rule(verdict="MET")

    with ScriptedEndpoint(respond=respond) as endpoint:
        data = RubricDataset("p", Rubric([Criterion(name=c, requirement=c) for c in ("c1", "c3")]))
        for number in range(30):
            data.add_item(f"answer {number}")
        result = rubricate.grade(data, "m", base_url=endpoint.url, cache=None)
    assert result.failed == 30
    assert len(endpoint.requests) == 30 + 90
    assert result.summary().note is None


def test_replies_that_are_cut_off_say_nothing_of_their_form() -> None:
    cut = {"content": '{"reason": "And so on and so', "finish_reason": "length"}
    with Endpoint(lambda form, number: dict(cut)) as endpoint:
        result = rubricate.grade(dataset(2), "m", base_url=endpoint.url, cache=None)
        assert set(endpoint.asked) == {"json_schema"}
    assert result.failed == 20


def test_a_simpler_form_that_the_endpoint_refuses_is_passed_over() -> None:
    def answer(form: str, number: int) -> str:
        return TAGS if form == "text" else "Hm." if number == 50 else ALONE

    with Endpoint(answer, formats=["json_schema", "text"]) as endpoint:
        result = rubricate.grade(dataset(10), "m", base_url=endpoint.url, cache=None)
        assert endpoint.asked == {"json_schema": 100, "text": 1}
    assert result.failed == 0


def test_the_next_form_after_one_that_is_refused_is_used_by_all_requests_at_once() -> None:
    with Endpoint(lost_unless("json_object"), formats=["json_object", "text"]) as endpoint:
        rubricate.grade(dataset(10), "m", base_url=endpoint.url, cache=None)
        assert endpoint.asked == {"json_object": 100}


def test_what_one_judge_learns_another_of_the_same_model_knows_and_no_other() -> None:
    with Endpoint(lost_unless("text")) as endpoint:
        for model in ("m", "m", "n"):
            rubricate.grade(dataset(2), model, base_url=endpoint.url, cache=None, concurrency=1)
        asked = [(one.body["model"], "response_format" in one.body) for one in endpoint.requests]
    assert [asked.index(("n", True)), asked.count(("m", True))] == [40 + 3, 3]


def test_a_form_that_there_is_not_is_refused_and_named() -> None:
    with pytest.raises(InputError, match=r"auto, schema, json, text.*'yaml'"):
        HTTPModel("m", base_url="http://localhost/v1", structured="yaml")  # type: ignore[arg-type]


SCHEMA = {
    "type": "object",
    "properties": {"n": {"type": "integer"}, "all": {"type": "array", "items": {"enum": ["a"]}}},
    "required": ["n"],
    "additionalProperties": False,
}


@pytest.mark.parametrize(
    ("text", "ignores"),
    [
        ('{"n": 1}', False),
        ('{"n": 1, "all": ["a"]}', False),
        ('{"n": 1, "all": ["b"]}', True),
        ('{"n": "1"}', True),
        ('{"all": []}', True),
        ('{"n": 1, "m": 2}', True),
        ("[]", True),
        ('```json\n{"n": 1}\n```', True),
        ("", True),
    ],
)
def test_a_reply_ignores_its_form_if_it_does_not_fit_the_schema(text: str, ignores: bool) -> None:
    assert ignores_schema(Completion(text), SCHEMA) is ignores


def test_single_losses_among_many_replies_are_forgotten() -> None:
    forms, is_lost = ReplyForms(), by_chance(0.005)
    for _ in range(50_000):
        form = forms.choose(())
        forms.end(form)
        forms.answered(form, ())
        if is_lost():
            forms.lost(form, ())
    assert not forms.ignored
