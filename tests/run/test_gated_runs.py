"""Gates in the engine: what need not be asked is not, whoever judges."""

from __future__ import annotations

import asyncio
import json
import sys
from collections import Counter
from pathlib import Path
from typing import Any

import pytest

import rubricate
from rubricate import (
    Cascade,
    CodeCriterion,
    Criterion,
    DataItem,
    Group,
    InputError,
    Panel,
    PythonModel,
    RegexCriterion,
    ResultStream,
    Rubric,
    RubricDataset,
    RunStopped,
)
from rubricate.judge import Explained, ModelJudge, named_judge
from rubricate.run import Plan, RunOptions
from rubricate.testing import Rule, ScriptedEndpoint


class Judge:
    """A model in this process that says MET of what stands in the submission, and counts."""

    def __init__(self, name: str = "judge") -> None:
        self.asked: Counter[str] = Counter()
        self.requests = 0
        self.flying = 0
        self.model = PythonModel(self._answer, name=name)
        self.stop_after: int | None = None
        self.stop = asyncio.Event()
        self.healed = False
        self.says: str | None = None

    async def _answer(self, messages: Any) -> Any:
        self.requests += 1
        prompt = messages[1]["content"]
        submission, asked = prompt.split("</submission-")[0], prompt.split("</submission-")[1]
        names = [word.rstrip("?") for word in asked.split() if word.startswith("c") and "?" in word]
        self.asked.update(names)
        await asyncio.sleep(0)
        if self.stop_after is not None and self.requests >= self.stop_after:
            self.stop.set()

        def reply(name: str) -> dict[str, Any]:
            said = "MET" if f" {name} " in submission else "UNMET"
            said = "CANNOT_ASSESS" if f" {name}~ " in submission else said
            return {"reason": "r", "evidence": [], "verdict": self.says or said}

        if not self.healed and any(f" {name}! " in submission for name in names):
            return "?"
        if "each to be judged by itself" in asked:
            return {str(number): reply(name) for number, name in enumerate(names, 1)}
        return reply(names[0])


def criterion(name: str, *requires: Any, weight: float = 1.0) -> Criterion:
    return Criterion(name=name, requirement=f"Is {name}?", requires=[*requires], weight=weight)


CHAIN = Rubric([criterion("c1"), criterion("c2", "c1"), criterion("c3", "c2"), criterion("c4")])


def dataset(*texts: str, rubric: Rubric = CHAIN) -> RubricDataset:
    items = [DataItem(f"Says {text} .", id=str(n)) for n, text in enumerate(texts)]
    return RubricDataset("Say it.", rubric, items)


def statuses(result: rubricate.Result) -> list[list[str]]:
    return [[v.label or v.status for v in item.criteria.values()] for item in result]


@pytest.mark.parametrize("concurrency", [1, 3, 50])
@pytest.mark.parametrize("leader_first", [False, True])
def test_what_a_gate_closes_is_not_asked(concurrency: int, leader_first: bool) -> None:
    judge = Judge()
    result = rubricate.grade(
        dataset("nothing", "c1 and more", "c1 c2 c3 c4", "c2 c3"),
        judge.model,
        concurrency=concurrency,
        leader_first=leader_first,
    )
    assert statuses(result) == [
        ["UNMET", "skipped", "skipped", "UNMET"],
        ["MET", "UNMET", "skipped", "UNMET"],
        ["MET", "MET", "MET", "MET"],
        ["UNMET", "skipped", "skipped", "UNMET"],
    ]
    assert judge.asked == {"c1": 4, "c2": 2, "c3": 1, "c4": 4}
    assert (result.calls, result.usage.requests) == (11, 11)
    assert [item.score.value for item in result] == [0.0, 0.25, 1.0, 0.0]
    verdict = result.items[0].criteria["c3"]
    assert verdict.reason == "not asked: it requires 'c2', which was not asked"
    assert verdict.usage.requests == 0


def test_gates_save_their_calls_at_an_endpoint(tmp_path: Path) -> None:
    rules = [Rule(criterion="Is c1", verdict="UNMET"), Rule(verdict="MET")]
    with ScriptedEndpoint(rules) as endpoint:
        judge = rubricate.HTTPModel("m", base_url=endpoint.url)
        result = rubricate.grade(dataset("a", "b"), judge, run_dir=tmp_path)
        assert len(endpoint.requests) == 4 == result.usage.requests
        again = rubricate.grade(dataset("a", "b"), judge, run_dir=tmp_path)
        assert len(endpoint.requests) == 4
    assert statuses(again) == statuses(result) == [["UNMET", "skipped", "skipped", "MET"]] * 2
    rows = [json.loads(line) for line in (tmp_path / "results.jsonl").read_text().splitlines()]
    assert rows[1]["status"] == "skipped"
    assert rows[1]["detail"] == {"calls_saved": 1}
    summary = json.loads((tmp_path / "summary.json").read_text())
    assert summary["gates"] == {"skipped": 4, "calls_saved": 4, "failed": 0, "abstained": 0}
    assert summary["verdicts"]["skipped"] == 4


def test_a_panels_gate_is_its_settled_verdict() -> None:
    for met, expected in ((2, ["MET", "UNMET"]), (1, ["UNMET", "skipped"])):
        asked: Counter[str] = Counter()

        def model(n: int, met: int = met, asked: Counter[str] = asked) -> PythonModel:
            def answer(messages: Any) -> dict[str, Any]:
                name = "c2" if "Is c2?" in messages[1]["content"] else "c1"
                asked[name] += 1
                verdict = "MET" if name == "c1" and n < met else "UNMET"
                return {"reason": "r", "evidence": [], "verdict": verdict}

            return PythonModel(answer, name=f"m{n}")

        rubric = Rubric([criterion("c2", "c1"), criterion("c1")])
        panel = Panel([model(n) for n in range(3)])
        result = rubricate.grade(dataset("x", rubric=rubric), panel)
        assert [v.label or v.status for v in result.items[0].criteria.values()] == expected[::-1]
        assert asked == ({"c1": 3, "c2": 3} if met == 2 else {"c1": 3})
        if met == 1:
            assert result.items[0].criteria["c2"].detail == {"calls_saved": 3}


@pytest.mark.parametrize("size", [1, 2, 9])
def test_a_cascades_gate_is_settled_by_its_last_stage(size: int) -> None:
    first, second = Judge("first"), Judge("second")

    def asks(judge: Judge) -> Any:
        return (
            ModelJudge(judge.model, Explained(criteria_per_call=size)) if size > 1 else judge.model
        )

    # one judge alone is sure of nothing: all that is asked goes on to the second stage
    result = rubricate.grade(
        dataset("c1 c4", "nothing", "c1 c2 c3"), Cascade([asks(first), asks(second)], 0.9)
    )
    assert statuses(result) == [
        ["MET", "UNMET", "skipped", "MET"],
        ["UNMET", "skipped", "skipped", "UNMET"],
        ["MET", "MET", "MET", "UNMET"],
    ]
    assert first.asked == second.asked == {"c1": 3, "c2": 2, "c3": 1, "c4": 3}


def test_criteria_asked_together_are_of_one_wave() -> None:
    judge = Judge()
    rubric = Rubric(
        [
            criterion("c1"),
            criterion("c2", "c1"),
            criterion("c3"),
            criterion("c4", "c3"),
            criterion("c5", "c2", "c4"),
        ]
    )
    asks = ModelJudge(judge.model, Explained(criteria_per_call=9))
    result = rubricate.grade(dataset("c1 c2 c3 c4 c5", "c1", rubric=rubric), asks)
    assert statuses(result) == [["MET"] * 5, ["MET", "UNMET", "UNMET", "skipped", "skipped"]]
    assert judge.requests == 3 + 2
    assert judge.asked == {"c1": 2, "c2": 2, "c3": 2, "c4": 1, "c5": 1}


def test_what_needs_no_judge_opens_and_closes_gates_of_paid_calls() -> None:
    judge, ran = Judge(), []

    def long(submission: str, item: object) -> bool:
        ran.append(submission)
        return len(submission) > 20

    rubric = Rubric(
        [
            RegexCriterion(name="r", pattern="x"),
            criterion("c1", "r"),
            CodeCriterion(name="long", function=long, requires=["c1"]),
        ]
    )
    result = rubricate.grade(dataset("c1", "c1 x", "x", rubric=rubric), judge.model)
    assert statuses(result) == [
        ["UNMET", "skipped", "skipped"],
        ["MET", "MET", "UNMET"],
        ["MET", "UNMET", "skipped"],
    ]
    assert (judge.requests, len(ran)) == (2, 1)


def test_a_group_as_a_gate_and_behind_one() -> None:
    judge = Judge()
    rubric = Rubric(
        [
            Group(name="code", criteria=[criterion("c1"), criterion("c2")]),
            Group(
                name="results",
                requires=[{"criterion": "code", "at_least": 0.5}],
                criteria=[criterion("c3"), criterion("c4", "c3")],
            ),
        ]
    )
    result = rubricate.grade(
        dataset("nothing", "c1", "c1 c2 c3", rubric=rubric), judge.model, concurrency=5
    )
    assert statuses(result) == [
        ["UNMET", "UNMET", "skipped", "skipped"],
        ["MET", "UNMET", "UNMET", "skipped"],
        ["MET", "MET", "MET", "UNMET"],
    ]
    assert result.items[0].criteria["c3"].reason == (
        "not asked: it requires 'code', which scores 0, less than 0.5"
    )
    assert judge.asked == {"c1": 3, "c2": 3, "c3": 2, "c4": 1}
    assert result.items[2].groups["results"].value == 0.5


def test_a_failed_gate_fails_what_requires_it_and_a_resume_asks_it_and_them(tmp_path: Path) -> None:
    judge = Judge()
    early = rubricate.grade(dataset("c1! c2! c4"), judge.model, run_dir=tmp_path)
    assert statuses(early) == [["failed", "failed", "failed", "MET"]]
    error = early.items[0].criteria["c3"].error
    assert error is not None
    assert error.kind == "gate"
    assert error.message.startswith("not asked: it requires 'c2': not asked: it requires 'c1': unr")
    assert set(judge.asked) == {"c1", "c4"}
    assert early.items[0].score.coverage == 0.25
    assert (early.items[0].score.lowest, early.items[0].score.highest) == (0.25, 1.0)
    summary = json.loads((tmp_path / "summary.json").read_text())
    assert summary["gates"] == {"skipped": 0, "calls_saved": 0, "failed": 2, "abstained": 0}
    assert summary["errors"]["gate"] == 2
    kept, judge.healed = (tmp_path / "journal.sqlite").read_bytes(), True
    for retry_failed in (False, True):
        judge.asked.clear()
        (tmp_path / "journal.sqlite").write_bytes(kept)
        whole = rubricate.grade(
            dataset("c1! c2! c4"), judge.model, run_dir=tmp_path, retry_failed=retry_failed
        )
        assert statuses(whole) == [["UNMET", "skipped", "skipped", "MET"]]
        assert judge.asked == {"c1": 1}
    judge.says = "MET"
    for retry_failed in (True, False):
        (tmp_path / "journal.sqlite").write_bytes(kept)
        judge.asked.clear()
        whole = rubricate.grade(
            dataset("c1! c2! c4"), judge.model, run_dir=tmp_path, retry_failed=retry_failed
        )
        assert statuses(whole) == [["MET", "MET", "MET", "MET"]]
        assert judge.asked == {"c1": 1, "c2": 1, "c3": 1}


def test_a_gate_that_abstains_makes_what_requires_it_abstain() -> None:
    judge = Judge()
    result = rubricate.grade(dataset("c1~ c2 c3 c4"), judge.model, cannot_assess="zero")
    assert [v.status for v in result.items[0].criteria.values()] == ["abstained"] * 3 + ["judged"]
    assert "it requires 'c1', of which the judge could not tell" in (
        result.items[0].criteria["c2"].reason or ""
    )
    assert judge.asked == {"c1": 1, "c4": 1}
    assert (result.items[0].score.lowest, result.items[0].score.value) == (0.25, 0.25)


@pytest.mark.parametrize("after", range(1, 9))
def test_a_run_that_is_stopped_goes_on_behind_its_gates(after: int, tmp_path: Path) -> None:
    judge = Judge()
    judge.stop_after = after
    data = dataset("c1 c2 c3", "nothing", "c1")

    async def early() -> rubricate.Result:
        try:
            return await rubricate.agrade(
                data, judge.model, run_dir=tmp_path, concurrency=2, stop=judge.stop
            )
        except RunStopped as stopped:
            return stopped.result

    first = asyncio.run(early())
    for item in first:
        for verdict in item.criteria.values():
            assert verdict.error is None or verdict.error.kind == "not_run"
    before = judge.requests
    judge.stop_after = None
    whole = rubricate.grade(data, judge.model, run_dir=tmp_path)
    assert statuses(whole) == [
        ["MET", "MET", "MET", "UNMET"],
        ["UNMET", "skipped", "skipped", "UNMET"],
        ["MET", "UNMET", "skipped", "UNMET"],
    ]
    assert judge.requests == 4 + 2 + 3
    assert before <= judge.requests


def test_money_is_spent_on_what_gates_let_through_and_never_beyond_its_bound(
    tmp_path: Path,
) -> None:
    asked: list[str] = []

    def answer(messages: Any) -> Any:
        asked.append(messages[1]["content"])
        usage = rubricate.Usage(requests=1, cost=0.01)
        reply = {"reason": "r", "evidence": [], "verdict": "MET"}
        return rubricate.judge.Completion(json.dumps(reply), usage)

    data = dataset(*[f"text {n}" for n in range(5)])
    with pytest.raises(RunStopped) as stopped:
        rubricate.grade(data, PythonModel(answer, name="m"), run_dir=tmp_path, max_cost=0.07)
    assert len(asked) <= 7
    assert stopped.value.result.usage.cost == pytest.approx(0.01 * len(asked))
    whole = rubricate.grade(data, PythonModel(answer, name="m"), run_dir=tmp_path)
    assert len(asked) == 20
    assert statuses(whole) == [["MET"] * 4] * 5


def test_an_estimate_counts_what_gates_may_let_through_as_possible(tmp_path: Path) -> None:
    judge = Judge()
    data = dataset("c1 c2 c3", "nothing")
    before = rubricate.estimate(data, judge.model)
    assert (before.requests, before.most_requests) == (4, 8)
    grouped = ModelJudge(judge.model, Explained(criteria_per_call=9))
    found = rubricate.estimate(data, grouped)
    assert (found.requests, found.most_requests) == (2, 6)
    rubricate.grade(data, judge.model, run_dir=tmp_path)
    after = rubricate.estimate(data, judge.model, run_dir=tmp_path)
    assert (after.requests, after.most_requests, after.known) == (0, 0, 6)
    cascade = Cascade([judge.model, Judge("second").model], 0.9)
    assert rubricate.estimate(data, cascade).most_requests == 16


def test_progress_ends_at_what_there_was_to_do() -> None:
    judge, seen = Judge(), []
    rubricate.grade(
        dataset("nothing", "c1"),
        Panel([judge.model, Judge("other").model]),
        on_progress=lambda progress: seen.append((progress.done, progress.total)),
    )
    assert seen[-1] == (10, 10)


def test_a_verdict_that_nobody_was_asked_for_is_told_once() -> None:
    told: list[tuple[str, str]] = []

    async def main() -> None:
        async with ResultStream(
            Plan(dataset("nothing"), RunOptions()),
            named_judge(Judge().model),
            RunOptions(),
            on_verdict=lambda item, name, verdict: told.append((name, verdict.status)),
        ) as stream:
            async for _ in stream:
                pass

    asyncio.run(main())
    assert sorted(told) == [
        ("c1", "judged"),
        ("c2", "skipped"),
        ("c3", "skipped"),
        ("c4", "judged"),
    ]


def test_weights_that_are_learnt_and_gates_are_refused_before_anything_is_asked() -> None:
    judge = Judge()
    panel = Panel([judge.model, Judge("b").model], weights="reliability", strategy="weighted")
    with pytest.raises(InputError, match="a panel that learns its weights settles nothing before"):
        rubricate.grade(dataset("x"), panel)
    assert not judge.requests


def test_pairs_have_no_gates() -> None:
    with pytest.raises(InputError, match="the rubric has gates"):
        rubricate.compare_pair("a", "b", rubric=CHAIN, judge=Judge().model)


def test_people_are_asked_without_the_gates_that_led_to_them(tmp_path: Path) -> None:
    rubric = Rubric([criterion("c1"), criterion("c2", "c1")])
    data = dataset("c1 c2", rubric=rubric)
    people = rubricate.People(tmp_path / "people.json")
    waits = rubricate.grade(data, Cascade([Judge().model, people], 0.9), run_dir=tmp_path / "run")
    assert [v.error.kind for v in waits.items[0].criteria.values() if v.error] == [
        "escalated",
        "gate",
    ]
    labels = json.loads((tmp_path / "people.json").read_text())
    assert [c["name"] for c in labels["items"][0]["rubric"]] == ["c1"]
    labels["items"][0]["ground_truth"] = ["MET"]
    (tmp_path / "people.json").write_text(json.dumps(labels))
    people = rubricate.People(tmp_path / "people.json")
    more = rubricate.grade(data, Cascade([Judge().model, people], 0.9), run_dir=tmp_path / "run")
    assert [v.label or v.status for v in more.items[0].criteria.values()] == ["MET", "failed"]
    labels = json.loads((tmp_path / "people.json").read_text())
    assert [c["name"] for c in labels["items"][0]["rubric"]] == ["c1", "c2"]


def test_a_chain_of_gates_takes_steps_in_proportion_to_its_length():
    def steps(length: int) -> int:
        rubric = Rubric(
            Criterion(name=f"c{n}", requirement=f"r{n}", requires=(f"c{n - 1}",) if n else ())
            for n in range(length)
        )
        dataset = RubricDataset("p", rubric)
        dataset.add_item("text")
        judge = PythonModel(lambda _: {"reason": "r", "evidence": [], "verdict": "MET"})
        count = 0

        def note(frame: Any, event: str, _: Any) -> None:
            nonlocal count
            count += event == "call" and "/run/items/" in frame.f_code.co_filename

        before = sys.getprofile()
        sys.setprofile(note)
        try:
            result = rubricate.grade(dataset, judge, concurrency=1)
        finally:
            sys.setprofile(before)
        assert (result.failed, result.calls) == (0, length)
        return count

    steps(10)  # loads what is loaded once
    assert steps(800) < 2.5 * steps(400)
