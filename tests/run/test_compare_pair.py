"""Which of two submissions is better: both orders, ties, faults, failures, resume."""

from __future__ import annotations

import asyncio
import math
import random
import re
from itertools import product
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import rubricate
from rubricate import (
    Criterion,
    DataItem,
    InputError,
    ModelJudge,
    Panel,
    PythonModel,
    RegexCriterion,
    Rubric,
    RubricDataset,
    RunStopped,
    Verdict,
)
from rubricate.analysis import pair_result
from rubricate.judge import pair_criterion
from rubricate.rubric import Failure
from rubricate.testing import Rule, ScriptedEndpoint

PROPERTY = settings(derandomize=True, deadline=None)
SPEED = Criterion(name="speed", weight=2.0, requirement="Gives roughly 300000 kilometres")
FAULT = Criterion(name="boasting", weight=-1.0, requirement="Praises itself shamelessly")
RUBRIC = Rubric([SPEED, FAULT, RegexCriterion(name="digits", pattern=r"\d")])
GOOD, BAD = "Roughly 300000 kilometres.", "Shamelessly it praises itself."
WORTH = {"first": 1.0, "second": 0.0, "tie": 0.5, "disagreed": 0.5}


def answering(label: str) -> PythonModel:
    return PythonModel(lambda messages: {"reason": "r", "verdict": label}, name="one")


def outcomes(report: Any) -> dict[str, str]:
    return {name: verdict.outcome for name, verdict in report.results[0].criteria.items()}


def test_the_better_one_wins_in_both_orders_and_who_shows_a_fault_loses(endpoint):
    report = rubricate.compare_pair(GOOD, BAD, rubric=RUBRIC, judge="m", base_url=endpoint.url)
    assert outcomes(report) == {"speed": "first", "boasting": "first"}
    assert (report.overall.first, report.overall.win_rate) == (1, 1.0)
    assert report.overall.low == pytest.approx(0.025)
    assert report.not_compared == ["digits"]
    assert report.position.rate == 0.0
    assert len(endpoint.requests) == 4
    asked = [request.body["messages"][1]["content"] for request in endpoint.requests]
    assert sum("shows the fault that the criterion describes more" in text for text in asked) == 2
    turned = rubricate.compare_pair(BAD, GOOD, rubric=RUBRIC, judge="m", base_url=endpoint.url)
    assert (turned.overall.second, turned.results[0].preference) == (1, 0.0)


def test_rows_of_two_systems_are_compared_by_sentences(endpoint):
    before, after = (
        [{"asked": "How fast?", "answer": text} for text in texts]
        for texts in ((BAD, BAD), (GOOD, BAD))
    )
    report = rubricate.compare_pair(
        before,
        after,
        rubric=["Gives roughly 300000 kilometres"],
        map={"submission": "answer", "prompt": "asked"},
        judge="m",
        base_url=endpoint.url,
    )
    assert [
        pair.criteria["gives_roughly_300000_kilometres"].outcome for pair in report.results
    ] == [
        "second",
        "tie",
    ]


@pytest.mark.parametrize("label", ["FIRST", "SECOND"])
def test_a_judge_that_looks_at_the_place_alone_gives_ties_and_is_found_out(label):
    report = rubricate.compare_pair(GOOD, BAD, rubric=RUBRIC, judge=answering(label))
    assert outcomes(report) == {"speed": "disagreed", "boasting": "disagreed"}
    assert (report.overall.disagreed, report.overall.win_rate) == (1, None)
    place = report.position
    assert (place.n, place.rate, getattr(place, label.lower())) == (2, 1.0, 2)
    assert (place.inconsistent, place.inconsistent_pairs) == (2, 1)
    assert place.bias == (1.0 if label == "FIRST" else -1.0)
    assert report.overall.corrected_win_rate == 0.5


@pytest.mark.parametrize(("label", "outcome"), [("EQUAL", "tie"), ("CANNOT_ASSESS", "abstained")])
def test_what_is_equal_and_what_cannot_be_told_are_counted_apart(label, outcome):
    report = rubricate.compare_pair(GOOD, BAD, rubric=RUBRIC, judge=answering(label))
    assert {*outcomes(report).values(), report.results[0].outcome} == {outcome}
    assert getattr(report.overall, outcome) == 1


def test_an_answer_that_cannot_be_had_is_failed_and_asked_again_in_the_same_folder(tmp_path):
    told: Any = {"rubric": RUBRIC, "judge": "m", "run_dir": tmp_path / "run"}
    rules = [Rule(criterion="Gives", reply="no JSON", times=6)]
    with ScriptedEndpoint(rules) as endpoint:
        report = rubricate.compare_pair(GOOD, BAD, base_url=endpoint.url, **told)
        assert outcomes(report) == {"speed": "failed", "boasting": "first"}
        assert (report.failed, report.overall.failed) == (2, 1)
        assert "unreadable_reply" in (report.first_error or "")
        report = rubricate.compare_pair(GOOD, BAD, base_url=endpoint.url, **told)
    assert (report.usage.calls, report.usage.resumed, report.overall.first) == (2, 2, 1)
    with pytest.raises(RunStopped), ScriptedEndpoint([Rule(status=401)]) as refusing:
        rubricate.compare_pair(GOOD, BAD, base_url=refusing.url, **told)


def test_several_models_vote_and_panels_and_other_judges_are_refused():
    judges = [
        PythonModel(lambda m: {"reason": "r", "verdict": "EQUAL"}, name=name) for name in "abc"
    ]
    report = rubricate.compare_pair(GOOD, BAD, rubric=RUBRIC, judge=judges, min_votes=3)
    assert (report.judge, report.usage.calls) == ("a + b + c", 12)
    assert report.overall.tie == 1
    for judge, problem in (
        ("builtin", "builtin judges one text at a time"),
        (Panel([ModelJudge(judges[0])]), "list the models"),
    ):
        with pytest.raises(InputError, match=problem):
            rubricate.compare_pair(GOOD, BAD, rubric=RUBRIC, judge=judge)
    with pytest.raises(InputError, match="min_votes is for several"):
        rubricate.compare_pair(GOOD, BAD, rubric=RUBRIC, judge=judges[0], min_votes=2)


def noisy(lean: float, better: float, seed: int) -> PythonModel:
    """A judge that names what is shown first, or the better one, likelier than not."""

    def judge(messages: Any) -> Any:
        draw = random.Random(f"{seed} {messages[1]['content']}")  # whatever the order of asking
        shown = re.findall(r"<(?:first|second)-\w+>\n(\w+)", messages[1]["content"])
        odds = lean + (better if shown[0] == "new" else -better)
        met = draw.random() < 1 / (1 + math.exp(-odds))
        return {"reason": "r", "verdict": "FIRST" if met else "SECOND"}

    return PythonModel(judge, name="noisy")


@pytest.mark.parametrize(
    ("lean", "better", "biased"), [(0.0, 0.0, False), (0.0, 1.0, False), (0.7, 0.5, True)]
)
def test_noise_is_no_position_bias_and_the_win_rate_is_corrected_for_one(lean, better, biased):
    rubric = Rubric([SPEED, Criterion(name="style", requirement="Reads well")])
    first, second = (
        RubricDataset("p", rubric, [DataItem(f"{name} {n}", id=f"{n}") for n in range(150)])
        for name in ("new", "old")
    )
    report = rubricate.compare_pair(first, second, judge=noisy(lean, better, 7))
    place = report.position
    assert place.n == 300
    assert place.rate > 0.3  # it answers differently in the two orders now and then
    assert place.inconsistent == sum(row.disagreed for row in report.criteria)
    assert (place.bias_low > 0) is biased
    chances = [1 / (1 + math.exp(-(better + one))) for one in (lean, -lean)]
    assert place.bias_low < chances[0] - chances[1] < place.bias_high
    overall = report.overall
    assert overall.corrected_low < sum(chances) / 2 < overall.corrected_high
    told = str(report)
    assert ("not significant" in told) is not biased
    assert f"{place.inconsistent} of 300 questions" in told
    assert f"(pairs: {place.inconsistent_pairs})" in told
    assert "-0.00" not in told


def test_an_answer_for_neither_in_one_order_counts_half():
    answers = iter(["FIRST", "EQUAL"] * 40)
    judge = PythonModel(lambda m: {"reason": "r", "verdict": next(answers)}, name="one")
    rubric = Rubric([SPEED])
    report = rubricate.compare_pair("a", "b", rubric=rubric, judge=judge, concurrency=1)
    place = report.position
    assert (place.inconsistent, place.first, place.second, place.bias) == (1, 0, 0, 0.5)
    assert report.overall.corrected_win_rate in (0.25, 0.75)
    assert report.overall.disagreed == 1


def dataset(*items: DataItem, prompt: str = "How fast?") -> RubricDataset:
    return RubricDataset(prompt, RUBRIC, list(items))


def test_datasets_are_paired_by_id_and_without_ids_by_place(endpoint):
    told: Any = {"judge": "m", "base_url": endpoint.url}
    first = dataset(DataItem(GOOD, id="1"), DataItem(BAD, id="2"))
    second = dataset(DataItem(GOOD, id="2"), DataItem(BAD, id="1"))
    report = rubricate.compare_pair(first, second, **told)
    assert [(one.id, one.outcome) for one in report.results] == [("1", "first"), ("2", "second")]
    report = rubricate.compare_pair(dataset(DataItem(GOOD)), dataset(DataItem(BAD)), **told)
    assert [(one.id, one.outcome) for one in report.results] == [("1", "first")]
    report = rubricate.compare_pair(first, second, limit=1, **told)
    assert report.pairs == 1


@pytest.mark.parametrize(
    ("first", "second", "problem"),
    [
        ("a", "b", "two texts need a rubric"),
        ("a", dataset(DataItem("b")), "one of each was given"),
        (dataset(), dataset(DataItem("b")), "nothing to compare"),
        (dataset(DataItem("a", id="1")), dataset(DataItem("b", id="2")), "only one .*: '1', '2'"),
        (dataset(DataItem("a"), DataItem("b")), dataset(DataItem("c")), "2 items and 1 items"),
        (dataset(DataItem("a")), dataset(DataItem("b"), prompt="Why?"), "different prompts"),
    ],
)
def test_what_cannot_be_paired_is_refused_before_anything_is_sent(first, second, problem):
    with pytest.raises(InputError, match=problem):
        rubricate.compare_pair(first, second, judge=answering("FIRST"))


def test_a_rubric_that_only_code_answers_is_refused():
    only = Rubric([RegexCriterion(name="digits", pattern=r"\d")])
    with pytest.raises(InputError, match="no criterion that a judge is asked about"):
        rubricate.compare_pair("a", "b", rubric=only, judge=answering("FIRST"))


# What verdicts come to

STATES = ("FIRST", "SECOND", "EQUAL", "CANNOT_ASSESS", None)
QUESTIONS = {c.name: pair_criterion(c, c.name) for c in (SPEED, FAULT)}
WEIGHTS = {name: question.weight for name, question in QUESTIONS.items()}


def verdict(name: str, label: str | None) -> Verdict:
    if label is None:
        return Verdict(name, "failed", error=Failure("x", "y"))
    if label == "CANNOT_ASSESS":
        return Verdict(name, "abstained", label)
    return QUESTIONS[name].verdict(label)


@given(st.lists(st.tuples(*[st.sampled_from(STATES)] * 2), min_size=2, max_size=2))
@PROPERTY
def test_exchanging_the_two_exchanges_the_outcome(labels):
    named = list(zip(QUESTIONS, labels, strict=True))
    one = {name: verdict(name, pair[0]) for name, pair in named}
    other = {name: verdict(name, pair[1]) for name, pair in named}
    result, turned = (pair_result("id", WEIGHTS, *order) for order in ((one, other), (other, one)))
    mirror = {"first": "second", "second": "first"}
    assert turned.outcome == mirror.get(result.outcome, result.outcome)
    for name in QUESTIONS:
        outcome = result.criteria[name].outcome
        assert turned.criteria[name].outcome == mirror.get(outcome, outcome)
    if result.preference is not None:
        assert turned.preference == pytest.approx(1 - result.preference)


@given(st.lists(st.tuples(*[st.sampled_from(STATES)] * 2), min_size=2, max_size=2))
@PROPERTY
def test_an_outcome_stands_only_where_no_lost_answer_could_have_turned_it(labels):
    named = list(zip(QUESTIONS, labels, strict=True))
    both = [{name: verdict(name, pair[side]) for name, pair in named} for side in (0, 1)]
    result = pair_result("id", WEIGHTS, *both)
    found = {name: one.outcome for name, one in result.criteria.items()}
    lost = [name for name, outcome in found.items() if outcome == "failed"]
    decided = [name for name, outcome in found.items() if outcome in WORTH]
    if not decided:
        assert result.outcome == ("failed" if lost else "abstained")
        return
    possible = set()
    for fill in product((0.0, 0.5, 1.0), repeat=len(lost)):
        worth = {name: WORTH[found[name]] for name in decided} | dict(zip(lost, fill, strict=True))
        total = sum(QUESTIONS[name].weight for name in worth)
        share = sum(QUESTIONS[name].weight * one for name, one in worth.items()) / total
        possible.add("tie" if share == 0.5 else "first" if share > 0.5 else "second")
    shown = "tie" if result.outcome == "disagreed" else result.outcome
    assert shown == (possible.pop() if len(possible) == 1 else "failed")


def test_a_comparison_ends_with_whoever_takes_its_pairs(tmp_path):
    calls: list[int] = []

    async def answer(messages: Any) -> dict[str, Any]:
        calls.append(1)
        await asyncio.sleep(0.001)
        return {"reason": "r", "verdict": "FIRST"}

    async def main() -> None:
        sides = [
            RubricDataset("", RUBRIC, [DataItem(f"{n} {t}") for n in range(300)]) for t in "ab"
        ]
        judge = PythonModel(answer, name="one")
        stream = rubricate.acompare_pair_stream(
            *sides, judge=judge, run_dir=tmp_path, concurrency=2
        )
        async for _ in stream:
            break
        for _ in range(200):
            await asyncio.sleep(0.01)
            if len(asyncio.all_tasks()) == 1:
                break
        assert stream.summary().stopped == "cancelled"

    asyncio.run(main())
    assert len(calls) < 1200
    assert (tmp_path / "pairs.jsonl").exists()
