"""A cascade: judges asked one after the other, each where those before were not sure."""

from __future__ import annotations

import asyncio
import json
import re
from pathlib import Path
from typing import Any

import pytest

import rubricate
from rubricate import (
    Cascade,
    Criterion,
    InputError,
    Panel,
    People,
    PythonModel,
    RegexCriterion,
    Rubric,
    RubricDataset,
    RunStopped,
    Verdict,
)
from rubricate.analysis import FinishedRun, cascade_report, read_run
from rubricate.dataset import Item
from rubricate.judge import Asking, Endpoint, Explained, Judge, ModelJudge, named_judge
from rubricate.rubric import Failure, confidence
from rubricate.testing import JudgeRequest, Rule, ScriptedEndpoint


class Sure(Judge):
    """A judge that says MET with the probability that stands in the text; counts its calls."""

    note = None

    def __init__(self, name: str = "cheap", label: str = "MET") -> None:
        self.name = name
        self.calls = 0
        self._label = label

    def key(self, case: Item, criterion: Criterion) -> str:
        return f"{self.name} {case.submission} {criterion.requirement}"

    async def judge(self, case: Item, criterion: Criterion, send: Any) -> Verdict:
        self.calls += 1
        await asyncio.sleep(0)
        said, name = case.submission.split()[-1], criterion.name
        if said == "fails":
            return Verdict(name, "failed", error=Failure("broken", "no"), judge=self.name)
        if said == "abstains":
            return Verdict(name, "abstained", "CANNOT_ASSESS", judge=self.name)
        probability = None if said == "unknown" else float(said)
        return Verdict(name, "judged", self._label, 1.0, probability, judge=self.name)

    async def aclose(self) -> None:
        return None


def strong(verdict: str = "UNMET", name: str = "strong") -> tuple[PythonModel, list[int]]:
    calls = [0]

    def answer(messages: Any) -> dict[str, Any]:
        calls[0] += 1
        return {"reason": f"{name} says so", "evidence": [], "verdict": verdict}

    return PythonModel(answer, name=name), calls


def dataset(*said: object, criteria: int = 1) -> RubricDataset:
    rubric = Rubric([Criterion(name=f"c{n}", requirement=f"Is {n}") for n in range(criteria)])
    made = RubricDataset("Say something.", rubric)
    for number, one in enumerate(said):
        made.add_item(f"Text {number}, sure by {one}", id=f"i{number}", ground_truth=None)
    return made


@pytest.mark.parametrize(
    ("said", "stage"),
    [(0.9, 1), (0.8, 1), (0.79, 2), ("unknown", 2), ("abstains", 2), ("fails", 2)],
)
def test_what_is_not_sure_abstains_or_fails_goes_to_the_next_judge(said: object, stage: int):
    second, calls = strong()
    result = rubricate.grade(dataset(said), Cascade([Sure(), second], 0.8))
    verdict = result.items[0].criteria["c0"]
    assert (verdict.stage, verdict.judge) == ((1, "cheap") if stage == 1 else (2, "strong"))
    assert verdict.label == ("MET" if stage == 1 else "UNMET")
    assert [vote.judge for vote in verdict.votes] == ["cheap", "strong"][:stage]
    assert calls[0] == stage - 1
    assert verdict.usage.requests == stage - 1


def test_another_threshold_asks_for_nothing_that_is_there(tmp_path: Path):
    cheap, (second, calls) = Sure(), strong()
    data = dataset(0.95, 0.85, 0.7, 0.6)
    for threshold, asked in ((0.8, 2), (0.9, 3), (0.8, 3), (0.5, 3), (1.0, 4)):
        result = rubricate.grade(data, Cascade([cheap, second], threshold), run_dir=tmp_path)
        assert (cheap.calls, calls[0]) == (4, asked)
        sure = sum(one >= threshold for one in (0.95, 0.85, 0.7, 0.6))
        assert [item.criteria["c0"].stage for item in result] == [1] * sure + [2] * (4 - sure)
    rubricate.grade(data, second, run_dir=tmp_path)  # the judges' own answers are there, too
    assert calls[0] == 4


def test_a_cascade_with_many_items_and_workers_leaves_nothing_out():
    (second, calls), data = strong(), dataset(*[0.9, 0.1] * 60, criteria=3)
    for leader_first in (False, True):
        result = rubricate.grade(
            data, Cascade([Sure(), second], 0.8), leader_first=leader_first, concurrency=7
        )
        assert len(result) == 120
        assert {v.status for _, v in result.verdicts()} == {"judged"}
    assert calls[0] == 2 * 180


def test_the_judges_of_a_later_stage_are_asked_side_by_side():
    flying = most = 0

    async def answer(messages: Any) -> dict[str, Any]:
        nonlocal flying, most
        flying += 1
        most = max(most, flying)
        await asyncio.sleep(0.05)
        flying -= 1
        return {"reason": "r", "evidence": [], "verdict": "MET"}

    panel = Panel([PythonModel(answer, name=name) for name in "abc"], replicates=3)
    result = rubricate.grade(dataset(0.1), Cascade([Sure(), panel], 0.8))
    assert result.calls == 10
    assert most > 3  # six: the first to each of three judges goes alone


def test_the_first_request_to_a_later_stage_goes_first_where_that_is_asked_for():
    flying: dict[str, int] = {}
    beside: dict[str, list[int]] = {}

    async def answer(messages: Any) -> dict[str, Any]:
        found = re.search(r"Text (\d+)", messages[-1]["content"])
        assert found is not None
        text = found[1]
        beside.setdefault(text, []).append(flying.get(text, 0))
        flying[text] = flying.get(text, 0) + 1
        await asyncio.sleep(0.01)
        flying[text] -= 1
        return {"reason": "r", "evidence": [], "verdict": "MET"}

    stages = [Sure(), PythonModel(answer, name="second"), PythonModel(answer, name="third")]
    data = dataset(*[0.1] * 6, criteria=5)
    result = rubricate.grade(data, Cascade(stages[:2], 0.8), leader_first=True)
    assert result.calls == 60
    assert {one[1] for one in beside.values()} == {0}  # the second comes when the first has ended
    assert max(max(one) for one in beside.values()) == 3  # then all the others
    beside.clear()
    result = rubricate.grade(data, Cascade(stages, [0.8, 0.9]), leader_first=True, concurrency=3)
    assert result.calls == 90
    assert result.failed == 0


@pytest.mark.parametrize("concurrency", [1, 32])
def test_a_stage_that_asks_about_several_criteria_waits_for_all_of_an_item(concurrency: int):
    asked: list[int] = []

    async def together(messages: Any) -> str:
        found = len(re.findall(r"^Criterion \d:", messages[-1]["content"], re.MULTILINE))
        asked.append(found)
        one = {"reason": "r", "evidence": [], "verdict": "MET"}
        return json.dumps({str(n): one for n in range(1, found + 1)})

    second = ModelJudge(PythonModel(together, name="second"), Explained(criteria_per_call="all"))
    data, stages = dataset(*[0.1] * 4, criteria=3), [Sure(), second]
    assert rubricate.estimate(data, Cascade(stages, 0.8)).most_requests == 4
    result = rubricate.grade(data, Cascade(stages, 0.8), concurrency=concurrency)
    assert result.failed == 0
    assert asked == [3, 3, 3, 3]


def test_a_panels_confidence_is_the_share_of_its_votes(tmp_path: Path):
    a, b, c = (
        strong(answer, name)[0] for answer, name in (("MET", "a"), ("MET", "b"), ("UNMET", "c"))
    )
    third, calls = strong("UNMET", "third")
    data = dataset("x")
    agreed = rubricate.grade(data, Cascade([Panel([a, b, c]), third], 0.6), run_dir=tmp_path)
    verdict = agreed.items[0].criteria["c0"]
    assert (verdict.label, verdict.stage, calls[0]) == ("MET", 1, 0)
    split = rubricate.grade(data, Cascade([Panel([a, b, c]), third], 0.7), run_dir=tmp_path)
    verdict = split.items[0].criteria["c0"]
    assert (verdict.label, verdict.stage, calls[0]) == ("UNMET", 2, 1)
    assert [vote.judge for vote in verdict.votes] == ["a", "b", "c", "third"]
    assert confidence(verdict.votes[0]) is None


def test_code_criteria_are_computed_once_and_have_no_stage():
    rubric = Rubric([RegexCriterion(name="says", pattern="Text"), Criterion(requirement="Is")])
    data = RubricDataset("", rubric)
    data.add_item("Text 0.1")
    second, calls = strong()
    result = rubricate.grade(data, Cascade([Sure(), second], 0.8))
    assert result.items[0].criteria["says"].stage is None
    assert (calls[0], result.calls) == (1, 3)


def test_the_summary_has_the_stages_with_their_costs_and_agreement(make_dataset, endpoint):
    data = dataset(0.9, 0.9, 0.2)
    for item in data.items:
        item.ground_truth = ["MET"]
    second, _ = strong("MET")
    summary = rubricate.grade(data, Cascade([Sure(), second], 0.8)).summary()
    first, last = summary.stages
    assert (first.name, first.threshold, first.asked, first.decided) == ("cheap", 0.8, 3, 2)
    assert (last.name, last.threshold, last.asked, last.decided) == ("strong", None, 1, 1)
    assert first.agreement is not None
    assert first.agreement.n == 2
    assert [judge.name for judge in summary.judges] == ["cheap", "strong"]
    assert summary.judges[1].score is None  # it was not asked about everything
    assert "1 cheap" in str(summary)


def test_what_a_cascade_would_take_is_a_range(tmp_path: Path):
    second, _ = strong()
    data = dataset(0.9, 0.2, 0.3)
    judge = Cascade([strong("MET", "first")[0], second], 0.8)
    found = rubricate.estimate(data, judge)
    assert (found.requests, found.most_requests) == (3, 6)
    assert found.models == {"first": 3, "strong": 3}
    known = Cascade([Sure(), second], 0.8)
    rubricate.grade(data, Cascade([Sure(), People(tmp_path / "p.json")], 0.8), run_dir=tmp_path)
    found = rubricate.estimate(data, known, run_dir=tmp_path)
    assert (found.requests, found.most_requests, found.known) == (2, 2, 3)


def test_a_cascade_that_is_stopped_goes_on_where_it_was(tmp_path: Path):
    stop = asyncio.Event()

    def answer(messages: Any) -> dict[str, Any]:
        stop.set()
        return {"reason": "r", "evidence": [], "verdict": "MET"}

    data, cheap = dataset(*[0.1] * 5), Sure()
    judge = Cascade([cheap, PythonModel(answer, name="strong")], 0.8)
    with pytest.raises(RunStopped):
        asyncio.run(rubricate.agrade(data, judge, run_dir=tmp_path, stop=stop, concurrency=1))
    rows = [json.loads(line) for line in (tmp_path / "results.jsonl").read_text().splitlines()]
    assert [row["status"] for row in rows] == ["judged"] + ["not_run"] * 4
    assert {row["error"]["kind"] for row in rows[1:]} == {"not_run"}
    result = rubricate.grade(data, judge, run_dir=tmp_path)
    assert (result.failed, cheap.calls) == (0, 5)


def test_people_are_given_a_file_and_their_labels_are_read_from_it(tmp_path: Path):
    path = tmp_path / "people.jsonl"
    data = dataset(0.9, 0.1, criteria=2)
    cheap = Sure()

    def grade() -> Any:
        return rubricate.grade(data, Cascade([cheap, People(path)], 0.8), run_dir=tmp_path / "run")

    first = grade()
    assert [v.error and v.error.kind for _, v in first.verdicts()] == [None] * 2 + ["escalated"] * 2
    assert (first.items[1].score.lowest, first.items[1].score.highest) == (0.0, 1.0)
    (item,) = (asked := RubricDataset.from_file(path)).items
    assert (item.id, item.submission, item.prompt) == ("i1", data[1].submission, data.prompt)
    assert item.rubric is not None
    assert item.rubric.names == ["c0", "c1"]
    assert item.metadata["verdicts"]["c1"][0]["probability"] == 0.1

    item.annotations = {"ada": {"c0": "UNMET"}, "ben": {"c0": "UNMET"}}
    asked.to_file(path)
    second = grade()
    verdict = second.items[1].criteria["c0"]
    assert (verdict.label, verdict.judge, verdict.stage) == ("UNMET", "people", 2)
    assert second.items[1].criteria["c1"].status == "failed"
    assert RubricDataset.from_file(path)[0].annotations == item.annotations
    assert cheap.calls == 4

    asked[0].ground_truth = ["MET", "CANNOT_ASSESS"]  # somebody changes a label
    asked.to_file(path)
    third = grade()
    assert third.items[1].criteria["c0"].label == "MET"
    assert third.items[1].criteria["c1"].status == "abstained"


def test_a_label_is_for_the_text_and_criterion_that_people_saw(tmp_path: Path):
    path = tmp_path / "people.json"
    judge = lambda: Cascade([Sure(), People(path)], 0.8)  # noqa: E731
    rubricate.grade(dataset(0.1), judge())
    asked = RubricDataset.from_file(path)
    asked[0].ground_truth = ["MET"]
    asked.to_file(path)
    assert rubricate.grade(dataset(0.1), judge()).failed == 0
    assert rubricate.grade(dataset(0.2), judge()).failed == 1
    texts = [item.submission for item in RubricDataset.from_file(path)]
    assert texts == ["Text 0, sure by 0.1", "Text 0, sure by 0.2"]
    rubricate.grade(dataset(0.2), Cascade([Sure(), People(path)], 0.1))
    assert len(RubricDataset.from_file(path)) == 1  # nobody needs to label the second any more


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: Cascade([Sure()], 0.8), "two judges or more"),
        (lambda: Cascade([Sure(), Sure("b")], 1.2), "between 0 and 1, found 1.2"),
        (lambda: Cascade([Sure(), Sure("b")], [0.5, 0.5]), "2 thresholds for 2 stages"),
        (lambda: Cascade([People("p.json"), Sure()], 0.5), "must be the last stage"),
        (lambda: Cascade([Sure(), People("p.txt")], 0.5), "what people are to label"),
        (
            lambda: Cascade([Panel([Sure("a"), Sure("b")], weights="reliability"), Sure()], 0.5),
            "cannot learn its weights",
        ),
    ],
)
def test_a_cascade_that_cannot_work_is_refused(make: Any, message: str):
    with pytest.raises(InputError, match=message):
        make()


def test_the_fingerprint_of_a_cascade_knows_its_stages_and_thresholds():
    prints = {
        Cascade([strong(name="a")[0], strong(name=second)[0]], threshold).fingerprint()
        for second in ("b", "c")
        for threshold in (0.5, 0.6)
    }
    assert len(prints) == 4


def test_runs_that_no_threshold_can_be_chosen_on_are_refused(tmp_path: Path):
    def run(name: str, data: RubricDataset, judge: Any) -> FinishedRun:
        rubricate.grade(data, judge, run_dir=tmp_path / name)
        return read_run(tmp_path / name)

    labelled = dataset(0.9, 0.1)
    for item in labelled.items:
        item.ground_truth = ["MET"]
    sure, unsure = run("sure", labelled, Sure()), run("unsure", labelled, strong()[0])
    with pytest.raises(InputError, match="strong does not say how sure it is"):
        cascade_report(unsure)
    with pytest.raises(InputError, match="no human labels"):
        cascade_report(run("bare", dataset(0.9), Sure()))
    with pytest.raises(InputError, match=r"1 verdicts of .* are not in"):
        cascade_report(sure, run("half", dataset(0.9), Sure()))
    with pytest.raises(InputError, match="this run is of a cascade"):
        cascade_report(run("both", labelled, Cascade([Sure(), strong()[0]], 0.5)))
    assert cascade_report(sure, unsure).points[0].agreement.value == 1.0


def unsure_by_logprobs(request: JudgeRequest) -> Rule:
    """Sure of the first text alone."""
    if "Text" not in request.submission:  # the question without content
        return Rule(probabilities=dict.fromkeys(request.labels, 1 / len(request.labels)))
    met = 0.9 if "Text 0" in request.submission else 0.55
    return Rule(probabilities={"MET": met, "UNMET": 1 - met})


def test_a_cascade_over_a_judge_in_probability_mode_looks_at_its_probabilities(tmp_path: Path):
    second, calls = strong()
    with ScriptedEndpoint(respond=unsure_by_logprobs) as endpoint:
        first = named_judge("m", Endpoint(base_url=endpoint.url), Asking(mode="probability"))
        result = rubricate.grade(
            dataset(1, 2, 3), Cascade([first, second], 0.8), run_dir=tmp_path / "run"
        )
        alone = rubricate.grade(
            dataset(1, 2, 3),
            named_judge("m", Endpoint(base_url=endpoint.url), Asking(mode="probability")),
            run_dir=tmp_path / "run",
        )
    verdicts = [item.criteria["c0"] for item in result]
    assert [(one.label, one.stage) for one in verdicts] == [("MET", 1), ("UNMET", 2), ("UNMET", 2)]
    assert verdicts[0].probability == pytest.approx(0.9)
    assert verdicts[1].votes[0].probability == pytest.approx(0.55)
    assert (calls[0], alone.calls) == (2, 0)


@pytest.mark.parametrize("refused", ["first", "last", "one of a panel"])
def test_a_cascade_goes_on_without_its_last_judge_and_stops_without_an_earlier_one(refused: str):
    data, told = dataset(*[0.9, 0.1] * 10), []
    with ScriptedEndpoint([Rule(status=401)]) as endpoint:
        bad = rubricate.HTTPModel("bad", base_url=endpoint.url)
        stages: list[Any] = {
            "first": [bad, strong()[0]],
            "last": [Sure(), bad],
            "one of a panel": [Panel([Sure(), bad]), strong()[0]],
        }[refused]

        threshold = 0.5 if refused == "one of a panel" else 0.8  # half of its votes are there

        def grade() -> rubricate.Result:
            return rubricate.grade(
                data, Cascade(stages, threshold), on_progress=lambda now: told.append(now.trouble)
            )

        if refused == "first":
            with pytest.raises(RunStopped):
                grade()
        else:
            result = grade()
            assert result.stopped is None
            assert result.failed == (10 if refused == "last" else 0)
            assert result.items[0].criteria["c0"].label == "MET"
        assert len(endpoint.requests) == 1
    assert len({one for one in told if one and "given up" in one}) == (refused != "first")
