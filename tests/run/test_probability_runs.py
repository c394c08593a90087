"""Probability mode through the whole engine, over HTTP: logprobs, samples, resume, re-scoring."""

from __future__ import annotations

import io
import json
import math
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

import rubricate
from rubricate import (
    Criterion,
    CriterionOption,
    HTTPModel,
    Rubric,
    RubricDataset,
    ScaleCriterion,
)
from rubricate.analysis import fit_calibration, read_run
from rubricate.stats import read_calibration_map
from rubricate.testing import JudgeRequest, Rule, ScriptedEndpoint

MODE: Any = {"mode": "probability"}


def is_free(request: JudgeRequest) -> bool:
    return request.submission == "N/A"


def thinking(request: JudgeRequest) -> Rule:
    """An even prior; MET for short answers, the middle of scales, and 0.2 outside the options."""
    if is_free(request):
        return Rule(probabilities=dict.fromkeys(request.labels, 1 / len(request.labels)))
    if "3" in request.labels:
        return Rule(probabilities={"2": 0.2, "3": 0.4, "4": 0.2, "Well": 0.2})
    if "poor" in request.labels:
        return Rule(probabilities={"poor": 0.2, "good": 0.5, "best": 0.3})
    met = 0.6 if "Answer 0" in request.submission else 0.2
    return Rule(probabilities={"MET": met, "UNMET": 0.8 - met, "The": 0.2})


def dataset(n: int = 3, weight: float = 1.0, good: float = 1.0) -> RubricDataset:
    options = [
        CriterionOption(label="poor", value=0.0),
        CriterionOption(label="good", value=good),
        CriterionOption(label="best", value=1.0),
    ]
    rubric = Rubric(
        [
            Criterion(name="speed", weight=weight, requirement="Gives the speed"),
            ScaleCriterion(name="clear", requirement="How clear it is"),
            Criterion(name="style", requirement="How good", options=options),
        ]
    )
    found = RubricDataset("How fast?", rubric, name="light")
    for index in range(n):
        found.add_item(f"Answer {index}", f"answer {index}", ground_truth=["MET", "3", "good"])
    return found


def test_over_http_the_probabilities_are_those_of_the_verdicts_token(tmp_path):
    with ScriptedEndpoint(respond=thinking) as endpoint:
        result = rubricate.grade(dataset(), "m", base_url=endpoint.url, **MODE)
    body = endpoint.requests[0].body
    assert (body["logprobs"], body["top_logprobs"], body["temperature"]) == (True, 20, 1.0)
    assert body["max_tokens"] == 4
    assert "response_format" not in body
    assert len(endpoint.requests) == 3 * 3 * 2 + 3 * 2  # and each set of labels without content
    assert result.usage.requests == len(endpoint.requests)
    speed, clear, style = result.items[0].criteria.values()
    assert (speed.label, speed.value, speed.probability) == ("MET", 1.0, 0.75)
    assert speed.detail["probabilities"] == {"MET": 0.75, "UNMET": 0.25, "CANNOT_ASSESS": 0.0}
    assert speed.detail["obtained"] == "logprobs"
    assert (clear.label, clear.value, clear.probability) == ("3", 0.5, 0.5)
    assert style.value == pytest.approx(0.8)
    assert [item.criteria["speed"].label for item in result] == ["MET", "UNMET", "UNMET"]


def test_weights_and_option_values_change_without_a_request(tmp_path):
    options = {"run_dir": tmp_path / "run", **MODE}
    with ScriptedEndpoint(respond=thinking) as endpoint:
        model = HTTPModel("m", base_url=endpoint.url)
        first = rubricate.grade(dataset(), model, **options)
        asked = len(endpoint.requests)
        again = rubricate.grade(dataset(weight=5.0, good=0.4), model, **options)
        assert len(endpoint.requests) == asked
    before, after = first.items[0].criteria, again.items[0].criteria
    assert after["style"].value == pytest.approx(0.2 * 0 + 0.5 * 0.4 + 0.3)
    assert after["style"].detail == before["style"].detail
    assert after["speed"].probability == before["speed"].probability == 0.75
    assert after["clear"].value == before["clear"].value
    assert all(verdict.resumed for _, verdict in again.verdicts())
    assert again.items[0].score.value != first.items[0].score.value


@pytest.mark.parametrize("logprobs", ["ignored", "refused"])
def test_without_logprobs_replies_are_sampled_with_seeds_of_their_own(logprobs, tmp_path):
    options = {"samples": 3, "run_dir": tmp_path / "run", "concurrency": 1, **MODE}
    with ScriptedEndpoint(respond=thinking, logprobs=logprobs) as endpoint:
        model = HTTPModel("m", base_url=endpoint.url)
        result = rubricate.grade(dataset(2), model, **options)
        asked = len(endpoint.requests)
        assert asked == result.usage.requests
        rubricate.grade(dataset(2), model, **options)
        assert len(endpoint.requests) == asked
    statuses = {verdict.status for _, verdict in result.verdicts()}
    for _, verdict in result.verdicts():
        if verdict.status == "judged":
            assert verdict.detail["obtained"] == "replicates"
            shares = verdict.detail["orders"][0]["probabilities"].values()
            assert math.fsum(shares) == pytest.approx(1.0, abs=1e-5)
    assert "judged" in statuses
    assert not any(is_free(request) for request in endpoint.requests)
    seeds = [request.body.get("seed") for request in endpoint.requests]
    assert {1, 2} <= set(seeds)
    with_logprobs = [request for request in endpoint.requests if "logprobs" in request.body]
    if logprobs == "refused":
        assert len(with_logprobs) == 1  # found out once


def test_a_model_that_may_not_be_asked_for_logprobs_is_sampled():
    def reasoning(request: JudgeRequest) -> Rule:
        if "logprobs" in request.body:
            return Rule(status=403, message="You are not allowed to request logprobs")
        return thinking(request)

    with ScriptedEndpoint(respond=reasoning) as endpoint:
        result = rubricate.grade(dataset(1), "m", base_url=endpoint.url, concurrency=1, **MODE)
    assert result.failed == 0
    assert sum("logprobs" in request.body for request in endpoint.requests) == 1


def test_an_endpoint_that_gives_only_a_few_logprobs_is_asked_for_those():
    def sparing(request: JudgeRequest) -> Rule:
        if request.body.get("top_logprobs", 0) > 8:
            return Rule(status=400, message="top_logprobs must be 8 at most")
        return thinking(request)

    with ScriptedEndpoint(respond=sparing) as endpoint:
        result = rubricate.grade(dataset(1), "m", base_url=endpoint.url, concurrency=1, **MODE)
    obtained = {verdict.detail["obtained"] for _, verdict in result.verdicts()}
    assert obtained == {"logprobs"}
    asked = [request.body["top_logprobs"] for request in endpoint.requests]
    assert asked == [20, *[5] * (len(asked) - 1)]


def test_a_provider_known_to_have_no_logprobs_is_never_asked_for_them(monkeypatch):
    monkeypatch.setenv("ANTHROPIC_API_KEY", "k")
    assert not HTTPModel("anthropic/m").gives_probabilities
    assert HTTPModel("m", base_url="http://127.0.0.1:9/v1").gives_probabilities
    rubric = Rubric([Criterion(name="a", requirement="x")])
    data = RubricDataset("t", rubric)
    data.add_item("text", "i")
    assert rubricate.estimate(data, "anthropic/m", **MODE).requests == 2 * 5
    monkeypatch.setenv("OPENAI_API_KEY", "k")
    found = rubricate.estimate(data, "openai/gpt-4.1-mini", **MODE)
    assert found.requests == 2 + 2
    assert found.output_tokens.high == 16


def test_a_parameter_that_an_endpoint_names_is_left_out_or_called_otherwise():
    def picky(request: JudgeRequest) -> Rule | None:
        if "max_tokens" in request.body:
            return Rule(status=400, message="'max_tokens' is unsupported, use another")
        if request.body.get("max_completion_tokens"):
            return thinking(request)
        return Rule(status=400, message="something else")

    with ScriptedEndpoint(respond=picky) as endpoint:
        result = rubricate.grade(dataset(2), "m", base_url=endpoint.url, concurrency=1, **MODE)
    assert result.failed == 0
    assert sum("max_tokens" in request.body for request in endpoint.requests) == 1


def test_explained_and_probability_runs_share_a_folder_and_no_answer(tmp_path):
    with ScriptedEndpoint() as endpoint:
        for options in ({}, MODE, {}, MODE):
            before = len(endpoint.requests)
            result = rubricate.grade(
                dataset(1), "m", base_url=endpoint.url, run_dir=tmp_path / "run", **options
            )
            assert result.failed == 0
        assert len(endpoint.requests) == before
    assert result.calls == 0


def test_the_cache_serves_verdicts_and_the_question_without_content(tmp_path):
    with ScriptedEndpoint(respond=thinking) as endpoint:
        options = {"base_url": endpoint.url, "cache": tmp_path / "cache", **MODE}
        rubricate.grade(dataset(2), "m", **options)
        asked = len(endpoint.requests)
        rubricate.grade(dataset(2), "m", **options)
        assert len(endpoint.requests) == asked
        rubricate.grade(dataset(3), "m", **options)
        new = endpoint.requests[asked:]
    assert len(new) == 3 * 2
    assert not any(is_free(request) for request in new)


def test_a_reward_in_probability_mode_asks_without_content_once_for_all_batches():
    rubric = Rubric([Criterion(name="a", requirement="x"), Criterion(name="b", requirement="y")])
    with (
        ScriptedEndpoint(respond=thinking) as endpoint,
        rubricate.RewardFunction(rubric, "m", base_url=endpoint.url, **MODE) as reward,
    ):
        for batch in range(3):
            assert reward([f"Answer {batch}", "other"]) == [float(batch == 0), 0.0]
        assert sum(map(is_free, endpoint.requests)) == 2
        assert len(endpoint.requests) == 3 * 2 * 2 * 2 + 2


def test_a_run_killed_between_the_requests_of_a_verdict_repeats_no_finished_one(tmp_path):
    program = tmp_path / "program.py"
    program.write_text(
        "import sys, rubricate\n"
        "from rubricate import Criterion, Rubric, RubricDataset\n"
        "data = RubricDataset('t', Rubric([Criterion(name='a', requirement='x')]))\n"
        "for n in range(4):\n"
        "    data.add_item(f'Answer {n}', str(n))\n"
        "rubricate.grade(data, 'm', base_url=sys.argv[1], run_dir='run', concurrency=1,\n"
        "                mode='probability', permutations=4)\n"
    )
    with ScriptedEndpoint(respond=slow) as endpoint:
        command = [sys.executable, str(program), endpoint.url]
        process = subprocess.Popen(command, cwd=tmp_path)
        while len(endpoint.requests) < 14:
            assert process.poll() is None
            time.sleep(0.05)
        os.kill(process.pid, signal.SIGKILL)
        process.wait()
        before = len(endpoint.requests)
        subprocess.run(command, cwd=tmp_path, check=True, timeout=60)
        bodies = [json.dumps(request.body, sort_keys=True) for request in endpoint.requests]
    lost = len(bodies) - len(set(bodies))
    assert len(set(bodies)) == 4 * 4 + 4
    assert lost <= 6  # in flight, or not yet committed; all 14 if none were kept
    assert before >= 14


def slow(request: JudgeRequest) -> Rule:
    return thinking(request).model_copy(update={"delay": 0.15})


def test_agreement_reads_the_probabilities(tmp_path):
    data = dataset(6)
    with ScriptedEndpoint(respond=thinking) as endpoint:
        rubricate.grade(data, "m", base_url=endpoint.url, run_dir=tmp_path / "run", **MODE)
    from rubricate.analysis import agreement_report

    report = agreement_report(read_run(tmp_path / "run"))
    found = report.criteria[0].probabilities.calibration
    assert found is not None
    assert found.n == 6
    assert found.brier.value == pytest.approx((0.25**2 + 5 * 0.75**2) / 6)
    assert report.criteria[1].probabilities is None
    assert report.to_dict()["criteria"][0]["probabilities"]["n"] == 6
    assert all(word in _printed(report) for word in ("probabilities of MET", "AUC", "Brier"))


def test_a_calibration_map_is_fitted_on_and_applied_to_these_probabilities(tmp_path: Path):
    def overconfident(request: JudgeRequest) -> Rule:
        if is_free(request):
            return Rule(probabilities=dict.fromkeys(request.labels, 1 / len(request.labels)))
        met = 0.6 if "sure" in request.submission else 0.1
        return Rule(probabilities={"MET": met, "UNMET": 1 - met})

    data = RubricDataset("t", Rubric([Criterion(name="a", requirement="x")]))
    for index in range(40):  # where it says 0.6 it is right in one of four
        sure, right = index % 2 == 0, index % 8 == 0
        data.add_item(
            f"{index} {'sure' if sure else ''}", ground_truth=["MET" if right else "UNMET"]
        )
    options: dict[str, Any] = {"run_dir": tmp_path / "run", **MODE}
    with ScriptedEndpoint(respond=overconfident) as endpoint:
        model = HTTPModel("m", base_url=endpoint.url)
        before = rubricate.grade(data, model, **options)
        asked = len(endpoint.requests)
        fitted = fit_calibration(read_run(tmp_path / "run"), name="mapped")
        path = tmp_path / "mapped.json"
        path.write_text(json.dumps(fitted.model_dump(mode="json")))
        after = rubricate.grade(data, model, calibration=path, **options)
        assert len(endpoint.requests) == asked
    assert before.items[0].criteria["a"].label == "MET"
    verdict = after.items[0].criteria["a"]
    assert (verdict.label, verdict.value) == ("UNMET", 0.0)
    assert verdict.probability == pytest.approx(1 - read_calibration_map(fitted.map)(0.6))
    assert verdict.detail["calibration"]["label"] == "MET"
    found = fitted.out_of_fold
    assert found.error_after < found.error_before


def _printed(report: Any) -> str:
    from rich.console import Console

    console = Console(width=200, record=True, file=io.StringIO())
    console.print(report)
    return console.export_text()


def test_results_have_the_distribution_and_how_it_was_obtained(
    tmp_path: Path, rows: Callable[[Path], list[dict[str, Any]]]
):
    with ScriptedEndpoint(respond=thinking) as endpoint:
        rubricate.grade(
            dataset(1), "m", base_url=endpoint.url, run_dir=tmp_path / "run", shuffle=5, **MODE
        )
    row = rows(tmp_path / "run")[0]
    assert row["detail"]["obtained"] == "logprobs"
    assert set(row["detail"]["probabilities"]) == {"MET", "UNMET", "CANNOT_ASSESS"}
    one, other = (order["answers"] for order in row["detail"]["orders"])
    assert sorted(one) == sorted(other)
    assert one != other
    prior = row["detail"]["orders"][0]["prior"]
    assert prior == dict.fromkeys(one, pytest.approx(1 / 3, abs=1e-5))
