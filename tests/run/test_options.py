"""Every option of `grade` does what it says."""

from __future__ import annotations

import asyncio
import datetime
import json
import math
import socket
import threading
import time
from collections.abc import Sequence
from contextlib import closing
from typing import Any

import pytest
from platformdirs import user_cache_path

import rubricate
from rubricate import (
    Cascade,
    CodeCriterion,
    Criterion,
    InputError,
    LengthPenalty,
    MetricCriterion,
    Rubric,
    RubricDataset,
    RunStopped,
    Verdict,
)
from rubricate.analysis import fit_calibration, read_run
from rubricate.comparing import PairOptions
from rubricate.judge import (
    Completion,
    Endpoint,
    Examples,
    HTTPModel,
    ModelJudge,
    PromptTemplate,
    PythonModel,
    named_judge,
)
from rubricate.judge.models import ModelPrice
from rubricate.options import GradingOptions, JudgingOptions, RewardOptions
from rubricate.rubric import Usage
from rubricate.run.sending._shares import Report, exchange
from rubricate.run.sending._sharing import key_name
from rubricate.run.sending._stores import SQLiteStore, change
from rubricate.settings import options_of
from rubricate.testing import JudgeRequest, Rule, ScriptedEndpoint

MET = {"reason": "r", "evidence": [], "verdict": "MET"}
ABSTAIN = {"reason": "r", "evidence": [], "verdict": "CANNOT_ASSESS"}


def met(messages: Any) -> dict[str, Any]:
    return MET


def one_abstains(messages: Any) -> dict[str, Any]:
    """MET, but it cannot tell about anything unclear."""
    return ABSTAIN if "unclear" in messages[-1]["content"] else MET


def test_every_option_has_its_test_here():
    tested = {name.removeprefix("test_option_") for name in globals() if "test_option_" in name}
    tested |= {*COUNTED, "cannot_assess"}
    tested |= {"batch", "batch_interval", "then_live", "wait"}  # in test_batches.py
    options = {*options_of(GradingOptions), "stop"}
    assert {name for name in options if not any(test.startswith(name) for test in tested)} == set()


def test_option_limit_grades_only_the_first_items(make_dataset, endpoint):
    result = rubricate.grade(make_dataset(5), "m", base_url=endpoint.url, limit=2)
    assert [item.description for item in result] == ["answer 0", "answer 1"]
    assert len(endpoint.requests) == 4
    assert len(rubricate.grade(make_dataset(2), met, limit=9)) == 2


@pytest.mark.parametrize("leader_first", [True, False, None])
def test_option_leader_first_lets_an_items_first_request_fill_the_cache(
    make_dataset, leader_first: bool | None
):
    with ScriptedEndpoint([Rule(delay=0.05)]) as endpoint:
        options: Any = {} if leader_first is None else {"leader_first": leader_first}
        result = rubricate.grade(make_dataset(4), "m", base_url=endpoint.url, **options)
    prefixes = [request.prefix for request in endpoint.requests]
    assert len(prefixes) == 8
    if leader_first:
        cached = sum(len(prefix) // 4 for prefix in set(prefixes))
        assert result.usage.cached_tokens == cached
    else:
        assert result.usage.cached_tokens < sum(len(prefix) // 4 for prefix in set(prefixes))


def test_option_leader_first_is_on_where_the_endpoint_is_known_to_cache(monkeypatch):
    monkeypatch.setenv("OPENAI_API_KEY", "k")
    monkeypatch.setenv("MISTRAL_API_KEY", "k")
    assert named_judge("openai/m").caches_prefixes
    assert not named_judge("mistral/m").caches_prefixes
    assert not named_judge(None).caches_prefixes
    assert not named_judge("m", Endpoint(base_url="http://localhost/v1")).caches_prefixes


@pytest.mark.parametrize(("size", "requests"), [(1, 6), (2, 3), ("all", 3)])
def test_option_criteria_per_call_asks_together(make_dataset, endpoint, size: Any, requests: int):
    result = rubricate.grade(make_dataset(3), "m", base_url=endpoint.url, criteria_per_call=size)
    assert len(endpoint.requests) == requests
    assert result.failed == 0
    assert result.usage.requests == requests


def test_option_chunk_tokens_reads_long_submissions_in_parts(make_dataset, endpoint):
    dataset = make_dataset(2)
    dataset.items[1].submission = "## Light\n\nIt is quick.\n\n" * 40 + "Roughly 300000 kilometres"
    result = rubricate.grade(dataset, "m", base_url=endpoint.url, chunk_tokens=200)
    short, long = result.items
    assert short.criteria["speed"].detail is None
    assert long.criteria["speed"].label == "MET"
    assert long.criteria["speed"].detail["document"]["parts"] > 1
    assert len(endpoint.requests) == 2 + sum(v.usage.requests for v in long.criteria.values())
    with pytest.raises(InputError, match="chunk_tokens is for language models; builtin is none"):
        rubricate.grade(dataset, chunk_tokens=200)


def test_option_examples_are_shown_to_a_language_model(make_dataset, endpoint):
    labelled = make_dataset(4)
    for item in labelled:
        item.ground_truth = ["MET", "UNMET"]
    examples = Examples(labelled, count=2)
    rubricate.grade(make_dataset(1), "m", base_url=endpoint.url, examples=examples)
    system = endpoint.requests[0].body["messages"][0]["content"]
    assert system.count("\nSubmission: ") == 2
    with pytest.raises(InputError, match="examples is for language models and the built-in judge"):
        rubricate.grade(make_dataset(1), ModelJudge(PythonModel(met)), examples=examples)


def test_option_judge_prompt_is_what_a_language_model_is_asked_with(make_dataset, endpoint):
    text = "---\nvariables: [submission, criterion]\n---\n{{ submission }}\n\nOwn: {{ criterion }}"
    own = PromptTemplate(text, name="own.jinja")
    told: Any = {"base_url": endpoint.url, "judge_prompt": own, "replicates": 2}
    result = rubricate.grade(make_dataset(1), ["m", "n", "builtin"], **told)
    users = [request.body["messages"][1]["content"] for request in endpoint.requests]
    assert len(users) == 8
    assert all("\n\nOwn: " in user for user in users)
    assert result.summary().prompt_version == own.version
    plain = rubricate.grade(make_dataset(1), "m", base_url=endpoint.url)
    assert plain.summary().prompt_version == "grading-2"
    assert plain.fingerprint != result.fingerprint


def test_option_allow_code_runs_code_that_a_rubric_names():
    rubric = Rubric([CodeCriterion(name="c", function="math:isclose")])
    with pytest.raises(InputError, match="the rubric names code to be run: math:isclose"):
        rubricate.grade_one(rubric, "a")
    assert (
        rubricate.grade_one(rubric, "a", allow_code=True).criteria["c"].error.kind == "code_error"
    )


@pytest.mark.parametrize("attempts", [1, 3])
def test_option_attempts_bounds_how_often_a_request_is_sent(make_dataset, attempts: int):
    with (
        ScriptedEndpoint([Rule(status=500)]) as endpoint,
        pytest.raises(RunStopped, match="HTTP 500"),
    ):
        rubricate.grade(make_dataset(1), "m", base_url=endpoint.url, attempts=attempts)
    assert len(endpoint.requests) == attempts


def test_option_timeout_ends_a_request(make_dataset):
    with (
        ScriptedEndpoint([Rule(fault="hang")]) as endpoint,
        pytest.raises(RunStopped, match=r"no answer within 0\.1 s"),
    ):
        rubricate.grade(make_dataset(1), "m", base_url=endpoint.url, timeout=0.1, attempts=2)


@pytest.mark.parametrize("given", [{}, {"temperature": 0.7}, {"temperature": None}])
def test_option_temperature_reaches_the_endpoint(make_dataset, endpoint, given: dict[str, Any]):
    rubricate.grade(make_dataset(1), "m", base_url=endpoint.url, **given)
    sent = {request.body.get("temperature") for request in endpoint.requests}
    assert sent == {given.get("temperature", 0.0)}


@pytest.mark.parametrize(
    ("structured", "form"), [("schema", "json_schema"), ("json", "json_object"), ("text", None)]
)
def test_option_structured_asks_in_one_form_alone(make_dataset, structured: Any, form: str | None):
    with ScriptedEndpoint([Rule(reply="Hm."), Rule(verdict="MET")]) as endpoint:
        url = endpoint.url
        result = rubricate.grade(make_dataset(2), "m", base_url=url, structured=structured)
        sent = [
            request.body.get("response_format", {}).get("type") for request in endpoint.requests
        ]
    assert sent == [form] * 12
    assert result.failed == 4


def test_option_structured_leaves_answers_valid(make_dataset, tmp_path):
    told: dict[str, Any] = {"run_dir": tmp_path / "run", "cache": None}
    forms: Any = ("auto", "text", "json", "schema")
    with ScriptedEndpoint() as endpoint:
        for structured in forms:
            told |= {"base_url": endpoint.url, "structured": structured}
            assert rubricate.grade(make_dataset(2), "m", **told).failed == 0
        assert len(endpoint.requests) == 4


@pytest.mark.parametrize("given", [{}, {"max_tokens": 50}])
def test_option_max_tokens_reaches_the_endpoint_and_cuts_replies_off(make_dataset, given):
    long = Rule(verdict="MET", reason="and so on " * 100)
    with ScriptedEndpoint([long]) as endpoint:
        result = rubricate.grade(make_dataset(1), "m", base_url=endpoint.url, **given)
        sent = {request.body.get("max_tokens") for request in endpoint.requests}
    assert sent == {given.get("max_tokens")}
    causes = {verdict.error.message for _, verdict in result.verdicts() if verdict.error}
    wanted = "the reply was cut off after 50 tokens, before it ended: it was as long as a reply may"
    assert {cause.partition(" be;")[0] for cause in causes} == ({wanted} if given else set())


def test_option_model_options_go_into_every_request_and_into_the_key(make_dataset, tmp_path):
    told = {"base_url": "", "run_dir": tmp_path / "run"}
    options = {"reasoning_effort": "high", "thinking": {"type": "enabled"}}
    with ScriptedEndpoint() as endpoint:
        told["base_url"] = endpoint.url
        rubricate.grade(make_dataset(1), "m", **told)
        plain = len(endpoint.requests)
        rubricate.grade(make_dataset(1), "m", model_options={}, **told)
        assert len(endpoint.requests) == plain
        rubricate.grade(make_dataset(1), "m", model_options=options, **told)
        rubricate.grade(make_dataset(1), "m", model_options=options, **told)
        assert len(endpoint.requests) == 2 * plain
        bodies = [request.body for request in endpoint.requests]
    assert all("reasoning_effort" not in body for body in bodies[:plain])
    assert all(body.items() >= options.items() for body in bodies[plain:])


def test_a_model_option_that_the_endpoint_refuses_ends_the_run_with_its_words(make_dataset):
    def refusing(request: JudgeRequest) -> Rule:
        return Rule(status=400, message="'reasoning_effort' does not support 'hihg' with schema")

    with ScriptedEndpoint(respond=refusing) as endpoint:
        options: Any = {"model_options": {"reasoning_effort": "hihg"}}
        with pytest.raises(RunStopped, match="does not support 'hihg'"):
            rubricate.grade(make_dataset(8), "m", base_url=endpoint.url, **options)
        assert all("response_format" in request.body for request in endpoint.requests)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"model": "x"}, "model_options: 'model' is set by the judge"),
        ({"stream": True}, "'stream' is set by the judge"),
        ({"max_completion_tokens": 3}, "'max_completion_tokens' has an option, max_tokens"),
        ({"temperature": 1}, "'temperature' has an option, temperature"),
        ({"a": object()}, "model_options must be JSON values"),
        ({1: 2}, r"model_options\[1\]\S* must be a text, found 1"),
        ({"top_p": math.nan}, "model_options must be JSON values"),
        ({"since": datetime.date(2026, 1, 1)}, "model_options must be JSON values"),
        ("a=1", "model_options must be a mapping"),
    ],
)
def test_model_options_that_cannot_be_sent_are_refused_before_anything_is(
    make_dataset, endpoint, options, message
):
    with pytest.raises(InputError, match=message):
        rubricate.grade(make_dataset(1), "m", base_url=endpoint.url, model_options=options)
    assert endpoint.requests == []


def test_option_base_url_is_where_requests_go(make_dataset, endpoint):
    with ScriptedEndpoint() as other:
        rubricate.grade(make_dataset(1), "m", base_url=other.url)
    assert (len(endpoint.requests), len(other.requests)) == (0, 2)


def test_option_concurrency_lets_so_many_calls_run_at_once(make_dataset):
    async def judge(messages: Any) -> dict[str, Any]:
        calls.append(1)
        if len(calls) > 1:  # the first goes alone
            await asyncio.wait_for(three.wait(), timeout=10)
        return MET

    calls: list[int] = []
    three = asyncio.Barrier(3)
    assert rubricate.grade(make_dataset(5), judge, concurrency=3).failed == 0


def paced(make_dataset: Any, **rates: float) -> tuple[Usage, float]:
    """What a run at a pace took, and in how many seconds."""
    with ScriptedEndpoint([Rule(verdict="MET")]) as endpoint:
        begin = time.monotonic()
        result = rubricate.grade(make_dataset(8), "m", base_url=endpoint.url, **rates)
        return result.usage, time.monotonic() - begin


def test_option_requests_per_minute_paces_a_run(make_dataset):
    usage, seconds = paced(make_dataset, requests_per_minute=600.0)
    # A second's worth may go at once, the rest at ten a second.
    assert usage.requests == 16
    assert seconds >= 0.9 * (16 - 10) / 10


def test_option_tokens_per_minute_paces_a_run(make_dataset):
    usage, seconds = paced(make_dataset, tokens_per_minute=120_000.0)
    tokens = usage.input_tokens + usage.output_tokens
    assert tokens > 4000
    assert seconds >= 0.8 * (tokens - 2000) / 2000


def test_option_share_limits_leaves_other_processes_their_part(make_dataset, endpoint):
    def told(value: bytes | None, now: float) -> tuple[bytes, None]:
        data = json.loads(exchange(value, "other", other, now)[0])
        data["members"]["other"]["until"] += 60.0
        return json.dumps(data).encode(), None

    model, other = HTTPModel("m", base_url=endpoint.url), Report(math.inf)
    path = user_cache_path("rubricate") / f"limits-{socket.gethostname()}.sqlite"
    with closing(SQLiteStore(path)) as store:
        change(store, key_name(model.endpoint, model.account or ""), told)
    options: Any = {"requests_per_minute": 600.0, "max_time": 0.5, "share_limits": "local"}
    with pytest.raises(RunStopped, match="maximum time"):
        rubricate.grade(make_dataset(2), "m", base_url=endpoint.url, **options)
    assert endpoint.requests == []
    rubricate.grade(make_dataset(2), "m", base_url=endpoint.url, share_limits="none")
    assert len(endpoint.requests) == 4


def test_option_requests_per_minute_holds_for_all_runs_in_a_loop(make_dataset, endpoint):
    async def main() -> float:
        begin = time.monotonic()
        runs = [
            rubricate.agrade(make_dataset(8), "m", base_url=endpoint.url, requests_per_minute=600.0)
            for _ in range(2)
        ]
        await asyncio.gather(*runs)
        return time.monotonic() - begin

    assert asyncio.run(main()) >= 0.9 * (32 - 10) / 10


def test_option_deadline_bounds_a_judgement_with_all_its_requests(make_dataset, clock):
    def respond(request: Any) -> Rule:
        if "Answer 1" not in request.submission or "kilometres" not in request.criterion:
            return Rule(verdict="MET")
        if sum("Answer 1" in one.submission for one in endpoint.requests) > 5:
            clock.ahead = 1000.0
        return Rule(status=429)

    options = {"deadline": 100.0, "attempts": 3, "concurrency": 1}
    with ScriptedEndpoint(respond=respond) as endpoint:
        result = rubricate.grade(make_dataset(3), "m", base_url=endpoint.url, **options)
        assert len(endpoint.requests) > 5 + 3
    kinds = [verdict.error and verdict.error.kind for _, verdict in result.verdicts()]
    assert kinds == [None, None, "rate_limit", None, None, None]


def test_option_max_outage_stops_a_run_whose_endpoint_stays_dead(make_dataset):
    def respond(request: Any) -> Rule:
        return Rule(verdict="MET") if len(endpoint.requests) <= 5 else Rule(status=503)

    with ScriptedEndpoint(respond=respond) as endpoint:
        options: Any = {"base_url": endpoint.url, "concurrency": 4, "max_outage": 1.0}
        with pytest.raises(RunStopped, match=r"not answered for \d+ s: HTTP 503") as caught:
            rubricate.grade(make_dataset(100), "m", **options)
    judged = [verdict.status == "judged" for _, verdict in caught.value.result.verdicts()]
    assert sum(judged) == 5
    # Once it is found to be down, one request at a time looks whether it is back.
    assert len(endpoint.requests) <= 5 + 4 + 5 + 4


@pytest.mark.parametrize(
    ("strategy", "partial", "score"),
    [
        ("skip", 0.5, 1.0),
        ("zero", 0.5, 0.5),
        ("partial", 0.5, 0.75),
        ("partial", 0.25, 0.625),
        ("PARTIAL", 1.0, 1.0),
        ("fail", 0.5, 0.0),
    ],
)
def test_option_partial_and_cannot_assess_decide_what_an_abstention_is_worth(
    strategy: str, partial: float, score: float
):
    rubric = Rubric(
        [
            Criterion(name="met", requirement="Is good"),
            Criterion(name="unclear", requirement="Is unclear"),
            Criterion(name="fault", requirement="Is unclear and wrong", weight=-1.0),
        ]
    )
    dataset = RubricDataset("p", rubric)
    dataset.add_item("text")
    result = rubricate.grade(dataset, one_abstains, cannot_assess=strategy, partial=partial)
    (item,) = result
    assert item.score.value == score
    assert item.criteria["unclear"].value is None
    for kept in (result.rules, result.summary()):
        assert (kept.cannot_assess, kept.partial) == (strategy.lower(), partial)


def test_option_by_gives_scores_by_the_items_metadata(make_dataset):
    dataset = make_dataset(2)
    for item, domain in zip(dataset.items, ("physics", "history"), strict=True):
        item.metadata["domain"] = domain
    found = rubricate.grade(dataset, met, by="domain").summary().scoring
    assert found is not None
    assert [group.name for group in found.by[0].groups] == ["history", "physics"]
    with pytest.raises(InputError, match="did you mean 'domain'"):
        rubricate.grade(dataset, met, by=["domian"])


def test_option_rubric_replaces_that_of_the_dataset(make_dataset):
    rubric = Rubric([Criterion(name="other", requirement="Other")])
    result = rubricate.grade(make_dataset(2), met, rubric=rubric)
    assert [list(item.criteria) for item in result] == [["other"], ["other"]]


def test_option_run_dir_is_made_with_its_parents(make_dataset, tmp_path):
    result = rubricate.grade(make_dataset(1), met, run_dir=str(tmp_path / "a" / "b"))
    assert (tmp_path / "a" / "b" / "results.jsonl").exists()
    assert result.run_dir == tmp_path / "a" / "b"


def test_option_workers_needs_a_place_that_they_share(make_dataset):
    pytest.importorskip("ray")
    with pytest.raises(InputError, match="workers need a journal that they share"):
        rubricate.grade(make_dataset(1), met, workers=2)  # run/test_workers.py has the rest
    with pytest.raises(InputError, match="workers must be a number"):
        rubricate.grade(make_dataset(1), met, workers="two")


def test_option_worker_resources_says_what_workers_take(make_dataset):
    with pytest.raises(InputError, match="worker_resources must be like num_gpus=1"):
        rubricate.grade(make_dataset(1), met, workers=2, worker_resources="gpus: 1")
    with pytest.raises(InputError, match="give workers, too"):
        rubricate.grade(make_dataset(1), met, worker_resources="num_gpus=1")


def test_option_worker_env_needs_workers_and_a_file_that_is_there(make_dataset, tmp_path):
    with pytest.raises(InputError, match="give workers, too"):
        rubricate.grade(make_dataset(1), met, worker_env={})
    run: Any = {"workers": 1, "run_dir": tmp_path}  # run/test_workers_on_ray.py has the rest
    with pytest.raises(InputError, match=r"missing\.json"):
        rubricate.grade(make_dataset(1), met, worker_env=tmp_path / "missing.json", **run)


def test_option_results_says_in_which_forms_verdicts_are_written(make_dataset, tmp_path):
    pytest.importorskip("pyarrow")
    rubricate.grade(make_dataset(1), met, run_dir=tmp_path, results="parquet")
    assert {one.name for one in tmp_path.glob("results.*")} == {"results.jsonl", "results.parquet"}
    wrong: Any = "csv"
    with pytest.raises(InputError, match="results must be 'jsonl' or 'parquet', found 'csv'"):
        rubricate.grade(make_dataset(1), met, run_dir=tmp_path, results=wrong)


def test_option_on_progress_hears_of_every_verdict(make_dataset):
    seen: list[tuple[int, int]] = []

    def look(now: rubricate.Progress) -> None:
        seen.append((now.done, now.total))

    rubricate.grade(make_dataset(3), met, on_progress=look, concurrency=1)
    assert seen == [(n, 6) for n in range(1, 7)]


def test_option_on_progress_hears_of_trouble(make_dataset):
    heard: list[str | None] = []
    with ScriptedEndpoint([Rule(status=500, message="busy", times=1)]) as endpoint:
        options: Any = {"on_progress": lambda now: heard.append(now.trouble)}
        rubricate.grade(make_dataset(1), "m", base_url=endpoint.url, **options)
    assert heard[0].startswith("HTTP 500: busy")


def test_option_stop_ends_the_run_and_keeps_what_was_judged(make_dataset, tmp_path, rows):
    async def main() -> None:
        stop = asyncio.Event()

        async def judge(messages: Any) -> dict[str, Any]:
            calls.append(1)
            if len(calls) > 6:
                stop.set()
                await asyncio.sleep(60)
                waited.append(1)
            return MET

        options: Any = {"stop": stop, "run_dir": tmp_path, "concurrency": 2}
        with pytest.raises(RunStopped) as caught:
            await rubricate.agrade(make_dataset(20), judge, **options)
        assert waited == []
        assert caught.value.interrupted
        assert caught.value.result.stopped == "interrupted"
        judged = [verdict.status == "judged" for _, verdict in caught.value.result.verdicts()]
        assert sum(judged) == 6

    waited: list[int] = []
    calls: list[int] = []
    asyncio.run(main())
    assert [row["status"] for row in rows(tmp_path)].count("judged") == 6


@pytest.mark.parametrize(
    ("options", "wrong"),
    [
        ({"limit": 0}, "limit must be at least 1"),
        ({"concurrency": 0}, "concurrency must be at least 1"),
        ({"attempts": 0}, "attempts must be at least 1"),
        ({"requests_per_minute": 0}, "requests_per_minute must be more than 0"),
        ({"share_limits": "locl"}, "share_limits must be local, auto, none, or the address"),
        ({"tokens_per_minute": -1}, "tokens_per_minute must be more than 0"),
        ({"deadline": 0}, "deadline must be more than 0"),
        ({"max_outage": -1}, "max_outage must be at least 0"),
        ({"max_cost": 0.0}, "must be more than 0, found 0"),
        ({"max_time": 0.0}, "must be more than 0, found 0"),
        ({"cannot_assess": "skp"}, "did you mean 'skip'"),
        ({"partial": 1.5}, "partial must be at most 1"),
        ({"base_url": "host"}, "must start with http"),
        ({"timeout": 0}, "timeout must be more than 0"),
    ],
)
def test_a_value_that_cannot_be_used_is_an_error_that_names_the_option(
    make_dataset, options: dict[str, Any], wrong: str
):
    given = {"base_url": "http://127.0.0.1:9/v1", **options}
    with pytest.raises(InputError, match=wrong):
        rubricate.grade(make_dataset(), "m", **given)


@pytest.mark.parametrize(("data", "wrong"), [(None, "no items"), (7, "found 7"), ([], "no rows")])
def test_what_is_no_dataset_or_has_no_items_is_an_error(make_dataset, data: Any, wrong: str):
    with pytest.raises(InputError, match=wrong):
        rubricate.grade(make_dataset(0) if data is None else data, met)


def test_option_map_says_which_column_is_what():
    shown: list[str] = []

    def look(messages: Any) -> dict[str, Any]:
        shown.append(messages[-1]["content"])
        return MET

    columns = {"submission": "reply", "prompt": "question"}
    rows = [{"reply": "4 km", "question": "How far?"}]
    rubricate.grade(rows, look, rubric=["Says how far it is."], map=columns)
    assert "4 km" in shown[0]
    assert "How far?" in shown[0]


def test_option_fresh_asks_everything_anew(make_dataset, tmp_path, endpoint):
    options = {"base_url": endpoint.url, "run_dir": tmp_path}
    rubricate.grade(make_dataset(2), "m", **options)
    assert rubricate.grade(make_dataset(2), "m", **options).resumed == 4
    assert rubricate.grade(make_dataset(2), "m", fresh=True, **options).calls == 4


def test_option_retry_failed_asks_for_nothing_else(make_dataset, tmp_path):
    rules = [Rule(submission="Answer 1:", criterion="kilometres", reply="?", times=3)]
    with ScriptedEndpoint(rules) as endpoint:
        options = {"base_url": endpoint.url, "run_dir": tmp_path}
        assert rubricate.grade(make_dataset(2), "m", **options).failed == 1
        result = rubricate.grade(make_dataset(3), "m", retry_failed=True, **options)
    assert (result.calls, result.resumed) == (1, 3)
    kinds = [verdict.error and verdict.error.kind for _, verdict in result.verdicts()]
    assert kinds == [None] * 4 + ["not_run"] * 2
    assert result.stopped is None


def test_option_retry_failed_goes_with_no_fresh_run(make_dataset):
    with pytest.raises(InputError, match="exclude each other"):
        rubricate.grade(make_dataset(), met, retry_failed=True, fresh=True)


def test_option_journal_keeps_the_answers_in_a_database(make_dataset, tmp_path, endpoint, postgres):
    options = {"base_url": endpoint.url, "journal": f"{postgres}&run=a"}
    assert rubricate.grade(make_dataset(1), "m", **options).calls == 2
    assert rubricate.grade(make_dataset(1), "m", run_dir=tmp_path / "b", **options).resumed == 2
    with pytest.raises(InputError, match="postgresql://"):
        rubricate.grade(make_dataset(1), "m", journal="mysql://host/db")


def test_option_shard_judges_a_part_and_the_rest_is_judged_elsewhere(
    make_dataset, tmp_path, endpoint
):
    options = {"base_url": endpoint.url, "run_dir": tmp_path / "run"}
    parts = [rubricate.grade(make_dataset(40), "m", shard=f"{k}/3", **options) for k in (1, 2, 3)]
    assert sum(part.calls for part in parts) == 80
    assert all(0 < part.calls < 80 for part in parts)
    assert rubricate.grade(make_dataset(40), "m", **options).calls == 0


def test_option_cache_shares_answers_between_runs(make_dataset, tmp_path, endpoint):
    options = {"base_url": endpoint.url, "cache": tmp_path / "new" / "folder"}
    assert rubricate.grade(make_dataset(1), "m", **options).calls == 2
    assert rubricate.grade(make_dataset(1), "m", **options).cached == 2


def paid(messages: Any) -> Completion:
    text = '{"reason": "r", "evidence": [], "verdict": "MET"}'
    return Completion(text, Usage(requests=1, cost=0.01))


def test_option_max_cost_ends_the_run_before_it_is_exceeded(make_dataset, tmp_path):
    options = {"run_dir": tmp_path, "concurrency": 8}
    with pytest.raises(RunStopped, match=r"the maximum cost of \$0\.1 is reached") as caught:
        rubricate.grade(make_dataset(50), paid, max_cost=0.1, **options)
    result = caught.value.result
    assert (result.calls, result.usage.cost) == (10, pytest.approx(0.1))
    assert not caught.value.interrupted
    assert len(result) == 50
    for bound, calls in ((0.1, 0), (0.2, 10)):  # it is of all that the run has cost
        with pytest.raises(RunStopped) as caught:
            rubricate.grade(make_dataset(50), paid, max_cost=bound, **options)
        assert caught.value.result.calls == calls
    assert rubricate.grade(make_dataset(50), paid, **options).calls == 80


def test_option_max_cost_is_kept_where_a_call_is_about_several_criteria(make_dataset):
    reply = json.dumps({str(n): {"reason": "r", "verdict": "MET"} for n in (1, 2)})

    async def slow(messages: Any) -> Completion:
        await asyncio.sleep(0.01)
        return Completion(reply, Usage(requests=1, cost=0.02))

    with pytest.raises(RunStopped, match="maximum cost") as caught:
        rubricate.grade(
            make_dataset(50), slow, max_cost=0.11, concurrency=8, criteria_per_call="all"
        )
    assert caught.value.result.usage.cost == pytest.approx(0.1)


@pytest.mark.parametrize("concurrency", [1, 8])
def test_option_max_cost_bounds_a_judgement_of_several_requests(
    make_dataset, tmp_path, concurrency: int
):
    sent: list[str] = []

    async def likely(messages: Any) -> Completion:
        await asyncio.sleep(0.001)
        sent.append(messages[-1]["content"])
        usage = Usage(requests=1, cost=0.02)
        return Completion("A", usage, probabilities={"A": 0.7, "B": 0.2, "C": 0.1})

    options = {"mode": "probability", "permutations": 3, "run_dir": tmp_path / "run"}
    judge = PythonModel(likely, name="likely")
    with pytest.raises(RunStopped, match="maximum cost") as caught:
        rubricate.grade(make_dataset(9), judge, max_cost=0.05, concurrency=concurrency, **options)
    result = caught.value.result
    assert (len(sent), result.usage.requests) == (2, 2)
    assert result.usage.cost == pytest.approx(0.04)
    assert (result.calls, result.failed) == (0, 18)
    with pytest.raises(RunStopped, match="maximum cost") as caught:
        rubricate.grade(make_dataset(9), judge, max_cost=0.5, concurrency=concurrency, **options)
    assert caught.value.result.usage.cost <= 0.5
    assert len(sent) == 2 + caught.value.result.usage.requests
    assert caught.value.result.calls > 0
    rest = rubricate.grade(make_dataset(9), judge, **options)
    assert rest.failed == 0
    assert len(sent) == len(set(sent))  # what was paid for is not asked for again


def test_option_max_cost_is_spent_on_whole_judgements_of_several_requests(make_dataset, tmp_path):
    async def likely(messages: Any) -> Completion:
        await asyncio.sleep(0.001)
        return Completion("A", Usage(requests=1, cost=0.01), probabilities={"A": 0.9, "B": 0.1})

    options = {"mode": "probability", "permutations": 4, "run_dir": tmp_path / "run"}
    judge = PythonModel(likely, name="likely")
    for calls in (10, 0):  # with 32 in flight, and as many that could be begun
        with pytest.raises(RunStopped, match=r"the run has cost \$0\.") as caught:
            rubricate.grade(make_dataset(50), judge, max_cost=0.5, concurrency=32, **options)
        result = caught.value.result
        assert result.calls >= calls
        assert 0.45 <= result.run_usage.cost <= 0.5 + 1e-9


def test_option_max_cost_bounds_what_is_asked_again(make_dataset):
    def unusable(messages: Any) -> Completion:
        return Completion("?", Usage(requests=1, cost=0.02))

    with pytest.raises(RunStopped, match="maximum cost") as caught:
        rubricate.grade(make_dataset(9), unusable, max_cost=0.05)
    assert caught.value.result.usage.cost == pytest.approx(0.04)
    assert {v.error.kind for _, v in caught.value.result.verdicts()} == {"not_run"}


def test_option_max_cost_needs_a_price(make_dataset, endpoint):
    with pytest.raises(RunStopped, match="the price of this model is not known"):
        rubricate.grade(make_dataset(9), "m", base_url=endpoint.url, max_cost=1.0)
    assert len(endpoint.requests) == 1


def test_option_missing_usage_estimates_what_replies_without_token_counts_cost(make_dataset):
    def silent(request: JudgeRequest) -> Rule:
        return Rule(verdict="MET", body={"usage": None})

    with ScriptedEndpoint(respond=silent) as endpoint:
        price = {"m": ModelPrice(input=100.0, output=200.0)}
        model = HTTPModel("m", base_url=endpoint.url, prices=price)
        free = rubricate.grade(make_dataset(2), model)
        assert (free.usage.cost, free.usage.input_tokens) == (None, 0)
        with pytest.raises(RunStopped, match="maximum cost") as caught:
            rubricate.grade(make_dataset(50), model, max_cost=0.5)
        usage = caught.value.result.usage
        assert 0.3 < usage.cost <= 0.5
        assert usage.estimated_cost == usage.cost
        sent = len(endpoint.requests)
        with pytest.raises(RunStopped, match="does not report token counts"):
            rubricate.grade(make_dataset(50), model, max_cost=0.5, missing_usage="refuse")
        assert len(endpoint.requests) == sent + 1


def test_option_max_cost_counts_what_failed_judgements_cost(make_dataset):
    def unusable(messages: Any) -> Completion:
        return Completion("?", Usage(requests=1, cost=0.01))

    with pytest.raises(RunStopped, match="maximum cost") as caught:
        rubricate.grade(make_dataset(50), unusable, max_cost=0.06, concurrency=1)
    assert (caught.value.result.calls, caught.value.result.usage.requests) == (2, 6)


def test_option_max_time_ends_the_run(make_dataset, tmp_path, rows):
    with ScriptedEndpoint([Rule(submission="Answer [3-9]:", delay=60.0)]) as endpoint:
        options = {"base_url": endpoint.url, "run_dir": tmp_path, "max_time": 2.0}
        with pytest.raises(RunStopped, match="the maximum time of 2 s is reached") as caught:
            rubricate.grade(make_dataset(9), "m", **options)
    assert caught.value.result.calls == 6
    assert len(rows(tmp_path)) == 18


def test_option_prices_makes_a_cost_known(make_dataset, tmp_path, endpoint):
    (tmp_path / "prices.json").write_text('{"m": {"input": 1.0, "output": 1.0}}')
    options = {"base_url": endpoint.url, "prices": tmp_path / "prices.json"}
    assert rubricate.grade(make_dataset(1), "m", **options).usage.cost > 0


OPTIONS = [
    {"label": "poor", "value": 0},
    {"label": "fair", "value": 0.5},
    {"label": "good", "value": 1},
]


def voters(*answers: Any) -> list[PythonModel]:
    """A judge for each answer, who always gives it."""

    def voter(index: int, answer: Any) -> PythonModel:
        reply = {"reason": "r", "evidence": [], "verdict": answer}
        return PythonModel(lambda messages: reply, name=f"voter {index}")

    return [voter(index, answer) for index, answer in enumerate(answers)]


def voted(criterion: Criterion, answers: Sequence[Any], **options: Any) -> Verdict:
    """The verdict of judges who give these answers."""
    item = rubricate.grade_one(Rubric([criterion]), "a text", judge=voters(*answers), **options)
    return next(iter(item.criteria.values()))


BINARY = Criterion(name="c", requirement="x")
ORDERED = Criterion(name="c", requirement="x", options=OPTIONS)
NOMINAL = Criterion(name="c", requirement="x", options=OPTIONS, scale_type="nominal")
METRIC = MetricCriterion(name="c", requirement="x", tp_instructions=["a"], metrics=["recall"])
FOUND = [
    {"items": [{"item": "a", "classified": found, "quote": ""}], "others": []}
    for found in ("unmentioned", "unmentioned", "positive")
]
LEVELS = ["poor", "fair", "good"]
COUNTED: dict[str, list[tuple[Any, Criterion, list[Any], Any]]] = {
    # of each option its values, the criterion, the votes, and the verdict's value or status
    "strategy": [
        ("majority", BINARY, ["MET", "UNMET", "MET"], 1.0),
        ("unanimous", BINARY, ["MET", "UNMET", "MET"], 0.0),
        ("any", BINARY, ["MET", "UNMET", "MET"], 1.0),
    ],
    "ordinal": [
        ("mean", ORDERED, LEVELS, 0.5),
        ("median", ORDERED, LEVELS, 0.5),
        ("max", ORDERED, LEVELS, 1.0),
    ],
    "nominal": [
        ("mode", NOMINAL, ["poor", "good", "good"], "judged"),
        ("unanimous", NOMINAL, ["poor", "good", "good"], "abstained"),
    ],
    "numeric": [("mean", METRIC, FOUND, 1 / 3), ("median", METRIC, FOUND, 0.0)],
    "min_votes": [
        (1, BINARY, ["MET", "CANNOT_ASSESS"], "judged"),
        (2, BINARY, ["MET", "CANNOT_ASSESS"], "failed"),
    ],
    "weights": [
        (None, BINARY, ["MET", "UNMET", "UNMET"], 0.0),
        ([3, 1, 1], BINARY, ["MET", "UNMET", "UNMET"], 1.0),
        (
            dict.fromkeys(["voter 0", "voter 1", "voter 2"], 1),
            BINARY,
            ["UNMET", "MET", "UNMET"],
            0.0,
        ),
    ],
}


@pytest.mark.parametrize("option", COUNTED)
def test_an_option_of_a_panel_says_how_votes_are_counted(option: str):
    for value, criterion, answers, expected in COUNTED[option]:
        verdict = voted(criterion, answers, **{option: value})
        found = verdict.status if isinstance(expected, str) else verdict.value
        assert found == (expected if isinstance(expected, str) else pytest.approx(expected)), value


@pytest.mark.parametrize("replicates", [1, 3])
def test_option_replicates_asks_a_judge_so_often(replicates, endpoint):
    rubric = Rubric([Criterion(name="c", requirement="x")])
    item = rubricate.grade_one(rubric, "a", judge="m", base_url=endpoint.url, replicates=replicates)
    assert len(endpoint.requests) == replicates
    assert len(item.criteria["c"].votes) == (3 if replicates == 3 else 0)


@pytest.mark.parametrize("given", [{"free_budget": 2, "max_cap": 4}, LengthPenalty(2, 4)])
def test_option_length_penalty_is_subtracted_from_the_score(make_dataset, given):
    rubric = Rubric([Criterion(name="c", requirement="x")])
    item = rubricate.grade_one(rubric, "one two three four five", judge=met, length_penalty=given)
    assert (item.score.value, item.score.before_penalty, item.score.penalty) == (0.5, 1.0, 0.5)
    result = rubricate.grade(make_dataset(1), met, length_penalty=given)
    assert result.summary().score.penalty == 0.5


@pytest.mark.parametrize(("author_key", "warned"), [(None, True), ("writer", False)])
def test_option_author_key_says_where_to_find_who_wrote_the_text(make_dataset, author_key, warned):
    dataset = make_dataset(1, metadata={"model": "gpt-4o", "writer": "claude-3-opus"})
    judge = PythonModel(met, name="openai/gpt-4.1-mini")
    result = rubricate.grade(dataset, judge, author_key=author_key)
    assert ("same_family" in result.items[0].warnings) == warned
    assert result.summary().warnings == ({"same_family": 1} if warned else {})


def certain(messages: Any) -> Completion:
    """Says that it would take the first option at 0.8, and gives no reason."""
    return Completion("A", Usage(1), probabilities={"A": 0.8, "B": 0.2})


@pytest.mark.parametrize(("mode", "probability"), [("explained", None), ("probability", 0.8)])
def test_option_mode_says_whether_a_verdict_has_reasons_or_probabilities(mode, probability):
    rubric = Rubric([Criterion(name="c", requirement="x")])
    options: Any = {} if mode == "explained" else {"permutations": 1, "correct_prior": False}
    judge = met if mode == "explained" else certain
    verdict = rubricate.grade_one(rubric, "a", judge=judge, mode=mode, **options).criteria["c"]
    assert (verdict.label, verdict.probability) == ("MET", probability)
    assert (verdict.reason is None) == (mode == "probability")


@pytest.mark.parametrize(("permutations", "votes"), [(None, 0), (1, 0), (2, 2), (6, 6)])
def test_option_permutations_asks_in_so_many_orders(endpoint, permutations, votes):
    rubric = Rubric([Criterion(name="c", requirement="x")])
    item = rubricate.grade_one(
        rubric, "a", judge="m", base_url=endpoint.url, permutations=permutations
    )
    assert len(item.criteria["c"].votes) == votes
    assert len({request.labels for request in endpoint.requests}) == max(1, votes)


def test_option_shuffle_draws_the_order_of_answers_and_of_criteria(make_dataset, endpoint):
    options: Any = {"base_url": endpoint.url, "shuffle": 1}
    result = rubricate.grade(make_dataset(8), "m", **options)
    assert len({request.labels for request in endpoint.requests}) > 2
    for _, verdict in result.verdicts():
        assert sorted(verdict.order["answers"]) == ["CANNOT_ASSESS", "MET", "UNMET"]
    endpoint.requests.clear()
    result = rubricate.grade(make_dataset(8), "m", criteria_per_call="all", **options)
    firsts = {request.criteria[0].criterion for request in endpoint.requests}
    assert len(firsts) == 2
    assert {len(verdict.order["criteria"]) for _, verdict in result.verdicts()} == {2}


@pytest.mark.parametrize(("required", "status"), [(None, "judged"), (True, "abstained")])
def test_option_require_evidence_lets_no_verdict_stand_without_its_quote(required, status):
    rubric = Rubric([Criterion(name="c", requirement="x")])
    with ScriptedEndpoint([Rule(verdict="MET", evidence=["never said"])]) as endpoint:
        item = rubricate.grade_one(
            rubric, "a", judge="m", base_url=endpoint.url, require_evidence=required
        )
    assert item.criteria["c"].status == status
    assert len(endpoint.requests) == (3 if required else 1)


@pytest.mark.parametrize(("correct_prior", "requests"), [(True, 4), (False, 2)])
def test_option_correct_prior_asks_a_question_without_content(endpoint, correct_prior, requests):
    rubric = Rubric([Criterion(name="c", requirement="x")])
    options: Any = {"mode": "probability", "correct_prior": correct_prior}
    item = rubricate.grade_one(rubric, "a", judge="m", base_url=endpoint.url, **options)
    assert len(endpoint.requests) == requests
    orders = item.criteria["c"].detail["orders"]
    assert all((order["prior"] is None) == (not correct_prior) for order in orders)


@pytest.mark.parametrize(("samples", "requests"), [(None, 10), (2, 4)])
def test_option_samples_is_how_many_replies_stand_for_probabilities(samples, requests):
    rubric = Rubric([Criterion(name="c", requirement="x")])
    with ScriptedEndpoint(logprobs="ignored") as endpoint:
        rubricate.grade_one(
            rubric, "a", judge="m", base_url=endpoint.url, mode="probability", samples=samples
        )
        assert len(endpoint.requests) == requests


def test_option_calibration_maps_the_judges_probabilities_and_labels_by_them(
    make_dataset, shipped_example, tmp_path
):
    dataset = RubricDataset.from_file(shipped_example("physics.json"))
    plain = rubricate.grade(dataset, "builtin", run_dir=tmp_path / "run")
    fitted = fit_calibration(read_run(tmp_path / "run"), name="physics", method="platt")
    (tmp_path / "map.json").write_text(fitted.model_dump_json())
    mapped = rubricate.grade(
        dataset, "builtin", run_dir=tmp_path / "run", calibration=tmp_path / "map.json"
    )
    assert (mapped.calls, mapped.resumed) == (0, 147)  # the journal keeps what the judge said
    slope, intercept = fitted.map["slope"], fitted.map["intercept"]
    changed = 0
    for (_, before), (_, after) in zip(plain.verdicts(), mapped.verdicts(), strict=True):
        given = before.probability if before.label == "MET" else 1 - before.probability
        expected = 1 / (1 + math.exp(-slope * math.log(given / (1 - given)) - intercept))
        assert after.label == ("MET" if expected > 0.5 else "UNMET")
        assert after.value == (1.0 if expected > 0.5 else 0.0)
        assert after.probability == pytest.approx(max(expected, 1 - expected))
        kept = {"map": fitted.reference, "label": before.label, "probability": before.probability}
        assert after.detail == {"calibration": kept}
        changed += after.label != before.label
    summary = mapped.summary()
    assert (summary.calibration.applied, summary.calibration.changed) == (147, changed)
    assert summary.judge_fingerprint != plain.summary().judge_fingerprint
    second = PythonModel(met, name="second")
    judge = Cascade(["builtin", second], 0.8)
    result = rubricate.grade(dataset, judge, calibration=fitted)  # confidence is calibrated, too
    assert result.calibration == fitted.reference
    stood = [v for _, v in mapped.verdicts() if v.probability >= 0.8]
    assert result.summary().stages[0].decided == len(stood)


def test_option_calibration_is_refused_where_it_does_not_fit(
    make_dataset, shipped_example, tmp_path
):
    dataset = RubricDataset.from_file(shipped_example("physics.json"))
    rubricate.grade(dataset, "builtin", run_dir=tmp_path / "run")
    fitted = fit_calibration(read_run(tmp_path / "run"))
    calls = []
    with pytest.raises(InputError, match="was fitted for builtin, and the judge is m"):
        rubricate.grade(dataset, PythonModel(calls.append, name="m"), calibration=fitted)
    with pytest.raises(InputError, match="prompt, address or sampling is another"):
        rubricate.grade(dataset, "builtin", calibration=fitted, examples=Examples(dataset))
    with pytest.raises(InputError, match="not fitted for the criterion 'speed' as it is"):
        rubricate.grade(make_dataset(1), "builtin", calibration=fitted)
    text = fitted.model_dump_json().replace('"labels":', '"labels": 1')
    (tmp_path / "map.json").write_text(text)
    with pytest.raises(InputError, match="was changed since it was written"):
        rubricate.grade(dataset, "builtin", calibration=tmp_path / "map.json")
    rubricate.grade(dataset, "builtin", run_dir=tmp_path / "mapped", calibration=fitted)
    with pytest.raises(InputError, match="calibrated already"):
        fit_calibration(read_run(tmp_path / "mapped"))
    rubricate.grade(make_dataset(1), "builtin", run_dir=tmp_path / "bare")
    with pytest.raises(InputError, match="0 of its items have human labels"):
        fit_calibration(read_run(tmp_path / "bare"))
    rubricate.grade(
        dataset, lambda messages: {"reason": "So.", "verdict": "MET"}, run_dir=tmp_path / "sure"
    )
    with pytest.raises(InputError, match="gave none: grade with --mode probability"):
        fit_calibration(read_run(tmp_path / "sure"))
    assert calls == []


@pytest.mark.parametrize(
    ("name", "value", "kind"),
    [
        ("limit", "3", "a whole number"),
        ("limit", 3.0, "a whole number"),
        ("limit", True, "a whole number"),
        ("concurrency", "8", "a whole number"),
        ("attempts", None, "a whole number"),
        ("deadline", "20", "a number"),
        ("deadline", math.nan, "a finite number"),
        ("max_cost", "2.50", "a number"),
        ("temperature", "0", "a number"),
        ("partial", [0.5], "a number"),
        ("fresh", "no", "True or False"),
        ("leader_first", 1, "True or False"),
        ("allow_code", "false", "True or False"),
        ("cannot_assess", 0, "a text"),
        ("mode", 1, "a text"),
        ("base_url", 8000, "a text"),
        ("run_dir", 7, "a text or a path"),
        ("cache", True, "a text or a path"),
        ("examples", "labelled.json", "Examples or None"),
        ("length_penalty", 40, "a LengthPenalty or a mapping"),
        ("on_progress", "print", "callable"),
        ("calibration", 3, "a file or a FittedCalibration"),
    ],
)
def test_an_option_of_another_type_is_refused_in_one_line(make_dataset, name, value, kind):
    options: Any = {name: value}
    asked: list[Any] = []

    async def streamed() -> None:
        rubricate.agrade_stream(make_dataset(1), asked.append, **options)

    doors: list[Any] = [
        lambda: rubricate.grade(make_dataset(1), asked.append, **options),
        lambda: asyncio.run(rubricate.agrade(make_dataset(1), asked.append, **options)),
        lambda: next(rubricate.grade_stream(make_dataset(1), asked.append, **options)),
        lambda: asyncio.run(streamed()),
        lambda: rubricate.estimate(make_dataset(1), asked.append, **options),
    ]
    rubric = make_dataset(1).rubric
    if name in options_of(JudgingOptions):
        doors.append(lambda: rubricate.grade_one(rubric, "text", judge=asked.append, **options))
    if name in options_of(RewardOptions):
        doors.append(lambda: rubricate.RewardFunction(rubric, asked.append, **options))
    if name in options_of(PairOptions) and name != "rubric":
        doors.append(
            lambda: rubricate.compare_pair("a", "b", rubric=rubric, judge=asked.append, **options)
        )
    for door in doors:
        with pytest.raises(InputError) as caught:
            door()
        assert str(caught.value).startswith(f"{name} must be {kind}, found ")
        assert "\n" not in str(caught.value)
    assert asked == []


@pytest.mark.parametrize("stop", [3, threading.Event()], ids=["a number", "an event of threads"])
def test_what_stops_a_run_is_an_event_of_its_loop(make_dataset: Any, stop: Any):
    asked: list[Any] = []
    dataset = make_dataset(1)
    doors: list[Any] = [
        lambda: rubricate.agrade(dataset, asked.append, stop=stop),
        lambda: rubricate.acompare_pair(dataset, dataset, judge=asked.append, stop=stop),
        lambda: rubricate.aredteam(asked.append, limit=1, stop=stop),
    ]

    async def call(door: Any) -> None:
        await door()

    for door in doors:
        with pytest.raises(InputError, match=r"stop must be an asyncio\.Event( or None)?, found"):
            asyncio.run(call(door))
    assert asked == []


def test_a_single_document_is_a_context_of_one():
    shown: list[Any] = []

    def judge(messages: Any) -> dict[str, str]:
        shown.append(messages[1]["content"])
        return {"reason": "r", "verdict": "MET"}

    rubric = Rubric([Criterion(name="a", requirement="Rests on the passage")])
    context: Any = "The passage."
    rubricate.grade_one(rubric, "text", judge=judge, context=context)
    rubricate.compare_pair("one", "other", rubric=rubric, judge=judge, context=context)
    assert len(shown) >= 3
    assert all("The passage." in text for text in shown)


@pytest.mark.parametrize(
    "judge",
    [
        met,
        PythonModel(met, name="model"),
        None,
        [met, PythonModel(met, name="other")],
        rubricate.Panel([PythonModel(met, name=name) for name in "ab"]),
    ],
)
@pytest.mark.parametrize(
    "option",
    [{"temperature": 0.7}, {"max_tokens": 9}, {"timeout": 5.0}, {"model_options": {"seed": 1}}],
)
def test_what_says_nothing_to_the_judge_in_use_is_refused(make_dataset, judge: Any, option: Any):
    with pytest.raises(InputError, match=next(iter(option))):
        rubricate.grade(make_dataset(1), judge, **option)
    rubricate.grade(make_dataset(1), judge, temperature=0.0, timeout=120.0)


def test_a_temperature_is_refused_where_the_mode_has_its_own(make_dataset, endpoint):
    options: Any = {"base_url": endpoint.url, "mode": "probability"}
    with pytest.raises(InputError, match="in probability mode it is always 1"):
        rubricate.grade(make_dataset(1), "m", temperature=0.7, **options)
    assert endpoint.requests == []
    rubricate.grade(make_dataset(1), "m", temperature=1.0, **options)


@pytest.mark.parametrize(
    ("judge", "name", "value"),
    [
        (met, "temperature", 0.5),
        (None, "timeout", 5.0),
        (["builtin", met], "base_url", "http://127.0.0.1:9/v1"),
        (None, "criteria_per_call", 2),
        (None, "shuffle", 1),
        (None, "require_evidence", True),
        (None, "chunk_tokens", 200),
        (ModelJudge(PythonModel(met)), "mode", "probability"),
        (ModelJudge(PythonModel(met)), "judge_prompt", "prompt.jinja"),
        (met, "strategy", "any"),
        ("builtin", "weights", [2.0]),
    ],
)
def test_what_an_option_says_nothing_to_is_told_as_it_is_declared(make_dataset, judge, name, value):
    applies_to = options_of(GradingOptions)[name].applies_to
    told: Any = {name: value}
    with pytest.raises(InputError, match=f"^{name} is for {applies_to}; "):
        rubricate.grade(make_dataset(1), judge, **told)


def test_option_headers_go_with_every_request_and_into_the_key(make_dataset, tmp_path):
    options: dict[str, Any] = {"run_dir": tmp_path / "run"}
    with ScriptedEndpoint() as endpoint:
        options["base_url"] = endpoint.url
        rubricate.grade(make_dataset(1), "m", **options)
        plain = len(endpoint.requests)
        for _ in range(2):
            rubricate.grade(make_dataset(1), "m", headers={"X-Beta": "a, b"}, **options)
        assert len(endpoint.requests) == 2 * plain
        sent = [request.headers.get("x-beta") for request in endpoint.requests]
    assert sent == [None] * plain + ["a, b"] * plain


@pytest.mark.parametrize(
    ("headers", "message"),
    [
        ({"Authorization": "Bearer x"}, "'authorization' is set by rubricate"),
        ({"X-Beta": "a\r\nHost: other"}, "'x-beta' is no header"),
        ({"X Beta": "a"}, "'x beta' is no header"),
        ({"X-Beta": 5}, "headers"),
    ],
)
def test_a_header_that_cannot_be_sent_is_one_line(make_dataset, headers: Any, message: str):
    with pytest.raises(InputError, match=message):
        rubricate.grade(make_dataset(1), "m", base_url="http://localhost:9/v1", headers=headers)
