"""Several criteria in one call: each stands for itself, whatever happens to the others."""

from __future__ import annotations

import asyncio
import json
from typing import Any

import pytest

from rubricate import Criterion, InputError, ModelError, PythonModel, ScaleCriterion, Usage, Verdict
from rubricate.dataset import Item
from rubricate.judge import Completion, Explained, Model, ModelJudge, Request

render, render_group = Explained().request, Explained().group_request
CRITERIA = [
    Criterion(name="a", requirement="A is named"),
    ScaleCriterion(name="b", requirement="B in degrees"),
    Criterion(name="c", requirement="C is named"),
]
CASE = Item("A and C", "Name them", guidelines="Be kind")


def entry(verdict: Any) -> dict[str, Any]:
    return {"reason": f"so {verdict}", "evidence": ["A"], "verdict": verdict}


def judged(replies: list[Any], **options: Any) -> tuple[list[Verdict], list[str]]:
    """The verdicts that replies lead to, one after the other, and the prompts."""
    prompts: list[str] = []

    def answer(messages: Any) -> Any:
        prompts.append(messages[-1]["content"])
        reply = replies[len(prompts) - 1]
        if isinstance(reply, Exception):
            raise reply
        text = reply if isinstance(reply, str) else json.dumps(reply)
        return Completion(text, Usage(1, 30, 9, 10, 0.3, 0.1))

    async def send(model: Model, request: Request) -> Completion:
        return await model.complete(request)

    reasks = options.pop("reasks", 2)
    how = Explained(**{"criteria_per_call": "all", **options})
    judge = ModelJudge(PythonModel(answer), how, reasks=reasks)
    return asyncio.run(judge.judge_group(CASE, CRITERIA, send)), prompts


def test_one_reply_answers_every_criterion() -> None:
    verdicts, prompts = judged([{"1": entry("MET"), "2": entry(4), "3": entry("CANNOT_ASSESS")}])
    assert [verdict.label for verdict in verdicts] == ["MET", "4", "CANNOT_ASSESS"]
    assert [verdict.status for verdict in verdicts] == ["judged", "judged", "abstained"]
    assert [verdict.criterion for verdict in verdicts] == ["a", "b", "c"]
    assert verdicts[0].evidence[0].start == 0
    assert len(prompts) == 1
    total = sum((verdict.usage for verdict in verdicts), Usage())
    assert (total.requests, total.input_tokens, total.output_tokens) == (1, 30, 10)
    assert total.cost == pytest.approx(0.3)


MISSING = {"1": entry("MET"), "3": entry("UNMET")}
ENTRIES = [f'"{n}": {json.dumps(entry(v))}' for n, v in ((1, "MET"), (2, 3), (2, 5), (3, "UNMET"))]
TWICE = "{" + ", ".join(ENTRIES) + "}"


@pytest.mark.parametrize(
    ("first", "what"),
    [
        (MISSING, "the reply has no entry for criterion 2"),
        (TWICE, "the reply has 2 entries for criterion 2"),
        ({**MISSING, "2": entry(6)}, "the verdict 6 is not a whole number from 1 to 5"),
        ({**MISSING, "2": "good"}, "the reply is a JSON str, not an object"),
        ({**MISSING, "note": "B is good"}, "the reply has no entry for criterion 2"),
    ],
)
def test_only_what_was_not_answered_is_asked_again(first: Any, what: str) -> None:
    verdicts, prompts = judged([first, {"2": entry(2)}])
    assert [verdict.label for verdict in verdicts] == ["MET", "2", "UNMET"]
    assert [verdict.usage.requests for verdict in verdicts] == [1, 1, 0]
    assert "A is named" not in prompts[1]
    assert "Criterion 2:\nB in degrees" in prompts[1]
    assert f"criterion 2: {what}" in prompts[1]
    assert what in prompts[1]


@pytest.mark.parametrize(
    "first",
    [
        {"0": entry("MET"), "1": entry(4), "2": entry("UNMET")},
        {**MISSING, "2": entry(4), "4": entry("MET")},
        {**MISSING, "2": entry(4), "-1": entry("MET")},
        {**MISSING, "2": entry(4), "criterion_1": entry("UNMET")},
        {**MISSING, "2": entry(4), "final": {"verdict": "UNMET"}},
        {**MISSING, "2": entry(4), "summary": "All are MET"},
        {**MISSING, "2": entry(4), "mapping": {"1": 3}},
        {**MISSING, "2": entry(4), "order": [3, 2, 1]},
        f"Criterion 1 is not met.\n\n{json.dumps({**MISSING, '2': entry(4)})}",
        f"1: UNMET\n2: 4\n3: MET\n\n{json.dumps({**MISSING, '2': entry(4)})}",
        {**MISSING, "2": entry(4), "passed": [2, 3]},
        {**MISSING, "2": entry(4), "numbering": "reverse"},
        {**MISSING, "2": entry(4), "note": "Counted from 0."},
        {"Criterion 0": entry("MET"), "Criterion 1": entry(4), "Criterion 2": entry("UNMET")},
        {"example": {**MISSING, "2": entry(4)}},
    ],
)
def test_where_the_numbers_may_mean_other_criteria_all_are_asked_again(first: Any) -> None:
    verdicts, prompts = judged([first, {"1": entry("UNMET"), "2": entry(2), "3": entry("MET")}])
    assert [verdict.label for verdict in verdicts] == ["UNMET", "2", "MET"]
    assert len(prompts) == 2


@pytest.mark.parametrize(
    "form", ["Criterion {}", "criterion_{}", "criterion {}", "0{}", "{}.", "#{}"]
)
@pytest.mark.parametrize("wrapper", ["", "criteria"])
def test_numbers_may_be_written_as_those_of_criteria(form: str, wrapper: str) -> None:
    entries = {form.format(n + 1): entry(one) for n, one in enumerate(["MET", 4, "UNMET"])}
    verdicts, prompts = judged([{wrapper: entries} if wrapper else entries])
    assert len(prompts) == 1
    assert [verdict.label for verdict in verdicts] == ["MET", "4", "UNMET"]


@pytest.mark.parametrize(
    ("own", "is_read"),
    [
        ({"criterion": 2}, True),
        ({"criterion": "2"}, True),
        ({"name": "b"}, True),
        ({"criterion": "Criterion 2: B in degrees"}, True),
        ({"requirement": "B in degrees of clarity"}, True),
        ({"criterion": 1}, False),
        ({"number": "3"}, False),
        ({"index": 1}, False),
        ({"id": "criterion_3"}, False),
        ({"name": "c"}, False),
        ({"criterion": "C is named"}, False),
        ({"criterion": {"name": "c"}}, False),
        ({"final": 5}, False),
        ({"confidence": 1}, True),
        ({"remark": "B is shown in many degrees, with examples."}, True),
        ({"about": "c"}, False),
        ({"x": "C is named"}, False),
        ({"x": 3}, False),
        ({"criterion": "the third one"}, False),
        ({"criterion": "2 of 3"}, True),
        ({"criterion": 2.0}, True),
        ({"criterion": "#2 B in degrees"}, True),
        ({"title": "B in"}, True),
        ({"criterion": "third"}, False),
        ({"criterion": "3rd"}, False),
        ({"criterion": "three"}, False),
        ({"criterion": "III"}, False),
        ({"criterion": "other"}, False),
        ({"criterion": 3.0}, False),
        ({"criterion": "3 of 3"}, False),
        ({"name": "not b"}, False),
        ({"for": "c"}, False),
        ({"about": "C is named"}, False),
        ({"key": 3}, False),
        ({"#": "3"}, False),
        ({"description": "C is named"}, False),
        ({"anything": {"else": "C is named"}}, False),
        ({"anything": "Criterion 3: C is named"}, False),
        ({"reason": "Criterion 3 asks for C, which is named."}, False),
    ],
)
def test_an_entry_that_names_another_criterion_is_asked_again_alone(
    own: dict[str, Any], is_read: bool
) -> None:
    first = {**MISSING, "2": {**entry(4), **own}}
    verdicts, prompts = judged([first, {"2": entry(2)}])
    assert [verdict.label for verdict in verdicts] == ["MET", "4" if is_read else "2", "UNMET"]
    assert len(prompts) == (1 if is_read else 2)


def test_criteria_that_are_asked_again_keep_their_numbers() -> None:
    first = {"1": entry("bad"), "2": entry(4), "3": entry("bad")}
    verdicts, prompts = judged([first, {"1": entry("MET"), "3": entry("UNMET")}])
    assert [verdict.label for verdict in verdicts] == ["MET", "4", "UNMET"]
    assert "Criterion 1:\nA is named" in prompts[1]
    assert "Criterion 3:\nC is named" in prompts[1]
    assert (
        '{"1": {"reason": "...", "evidence": ["quote", ...], "verdict": ...}, "3": ' in prompts[1]
    )
    request = render_group(CASE, CRITERIA[1:], numbers=["2", "3"])
    assert request.schema is not None
    assert list(request.schema["properties"]) == ["2", "3"]
    counted_from_1 = [judged([{"2": entry(4)}, {"1": entry("MET"), "2": entry("UNMET")}, "no"])]
    assert [one.status for one in counted_from_1[0][0]] == ["failed", "judged", "failed"]


def test_what_stays_unanswered_fails_alone() -> None:
    verdicts, prompts = judged([MISSING, "no", {"2": entry(0)}])
    assert [verdict.status for verdict in verdicts] == ["judged", "failed", "judged"]
    assert verdicts[1].error is not None
    assert verdicts[1].error.kind == "unreadable_reply"
    assert "the verdict 0 is not a whole number" in verdicts[1].error.message
    assert len(prompts) == 3


def test_reasks_bounds_how_often_it_is_asked_again() -> None:
    assert len(judged(["no"], reasks=0)[1]) == 1


def test_an_error_fails_what_is_left_with_its_cause() -> None:
    verdicts, _ = judged([MISSING, ModelError("server", "down")])
    assert [verdict.status for verdict in verdicts] == ["judged", "failed", "judged"]
    assert verdicts[1].error is not None
    assert (verdicts[1].error.kind, verdicts[1].error.message) == ("server", "down")


@pytest.mark.parametrize("beside", [{"total": 2}, {"score": 2.5}, {"comment": "Well written."}])
def test_a_total_or_a_remark_may_stand_beside_the_entries(beside: dict[str, Any]) -> None:
    verdicts, prompts = judged([{**MISSING, "2": entry(4), **beside}])
    assert [verdict.label for verdict in verdicts] == ["MET", "4", "UNMET"]
    assert len(prompts) == 1


@pytest.mark.parametrize(
    ("size", "groups"),
    [(1, [[0], [1], [2]]), (2, [[0, 1], [2]]), (3, [[0, 1, 2]]), (9, [[0, 1, 2]])],
)
def test_criteria_go_together_in_the_rubrics_order(size: int, groups: list[list[int]]) -> None:
    model = PythonModel(lambda messages: "")
    assert ModelJudge(model, Explained(criteria_per_call=size)).groups(CRITERIA) == groups
    assert ModelJudge(model, Explained(criteria_per_call="all")).groups(CRITERIA) == [[0, 1, 2]]


@pytest.mark.parametrize("size", [0, -1, True, "some", 1.5])
def test_criteria_per_call_is_a_number_or_all(size: Any) -> None:
    with pytest.raises(InputError, match="criteria per call must be a number from 1, or 'all'"):
        Explained(criteria_per_call=size)


def test_keys_tell_company_and_place_apart() -> None:
    judge = ModelJudge(PythonModel(lambda messages: ""), Explained(criteria_per_call="all"))
    three, two = judge.keys(CASE, CRITERIA), judge.keys(CASE, CRITERIA[:2])
    assert len({*three, *two}) == 5
    assert judge.keys(CASE, CRITERIA[:1]) == [judge.key(CASE, CRITERIA[0])]


def test_the_material_is_the_same_bytes_as_for_one_criterion() -> None:
    alone = render(CASE, CRITERIA[0]).messages[1]["content"]
    together = render_group(CASE, CRITERIA).messages[1]["content"]
    material = alone[: alone.index("Criterion:\n")]
    assert together.startswith(material)
