"""`rubricate compare --confirm`: flips are asked about again in both runs, and nothing else is."""

from __future__ import annotations

import json
import random
from collections import Counter
from pathlib import Path
from typing import Any

import pytest

import rubricate as package
from rubricate import Criterion, Judge, RubricDataset, Verdict
from rubricate.analysis import compare_runs, read_run
from rubricate.errors import InputError
from rubricate.rubric import Usage
from rubricate.run.journal import Answers
from rubricate.testing import Rule, ScriptedEndpoint

GOOD, BAD = "Roughly 300000 kilometres a second.", "It is quite fast."
ITEMS = 30
CRITERIA = [
    {"name": "speed", "requirement": "Gives roughly 300000 kilometres"},
    {"requirement": "Mentions a second", "weight": 2.0},
]


def dataset(folder: Path, name: str, worse: int = 0) -> Path:
    """Texts of which the first so many are bad, by the same ids."""
    items = [
        {"id": f"i{place}", "submission": f"{place}. {BAD if place < worse else GOOD}"}
        for place in range(ITEMS)
    ]
    rubric = {"guidelines": "Be strict.", "criteria": CRITERIA}
    data = {"name": name, "prompt": "How fast is light?", "rubric": rubric, "items": items}
    (folder / f"{name}.json").write_text(json.dumps(data))
    return folder / f"{name}.json"


@pytest.fixture
def runs(rubricate: Any, tmp_path: Path, endpoint: ScriptedEndpoint) -> Any:
    """Two runs, of which the second has twelve bad texts; `compare` them."""
    asking = ("--judge", "m", "--base-url", endpoint.url, "--no-cache")
    for name, worse in (("a", 0), ("b", 12)):
        done = rubricate("grade", dataset(tmp_path, name, worse), *asking, "--run-dir", name)
        assert done.returncode == 0, done.stderr

    def compare(*more: str, judge: tuple[str, ...] = asking) -> Any:
        return rubricate("compare", "a", "b", *judge, "--confirm", "3", *more)

    return compare


def test_only_flips_are_asked_again_in_both_runs_and_only_once(
    runs: Any, endpoint: ScriptedEndpoint, tmp_path: Path
) -> None:
    before = len(endpoint.requests)
    done = runs("--fail-if-worse", "0.02", "--json")
    report = json.loads(done.stdout)
    assert (done.returncode, report["decision"]["outcome"]) == (3, "worse"), done.stderr
    flips = len(report["flips"])
    assert 12 <= flips <= 24
    assert len(endpoint.requests) == before + 2 * flips  # they hold, and all verdicts show the drop
    figures = report["confirmation"]
    assert (figures["times"], figures["flips"], figures["asked_again"], figures["held"]) == (
        *(1, flips, flips),
        flips,
    )
    assert report["decision"]["confirmed"]["side"] == "below"
    assert {request.submission for request in endpoint.requests[before:]} == {
        f"{place}. {text}" for place in range(12) for text in (GOOD, BAD)
    }
    assert runs("--fail-if-worse", "0.02").returncode == 3
    assert len(endpoint.requests) == before + 2 * flips  # the answers are kept in b/confirm-a
    assert json.loads((tmp_path / "b/confirm-a/summary.json").read_text())["items"] == 24


def test_the_answers_are_replicates(
    runs: Any, rubricate: Any, endpoint: ScriptedEndpoint, tmp_path: Path
) -> None:
    shared = ("--judge", "m", "--base-url", endpoint.url, "--cache", "shared")
    rubricate("grade", "b.json", *shared, "--run-dir", "c")
    runs(judge=shared)
    before = len(endpoint.requests)
    asked = json.loads(runs("--json", judge=shared).stdout)["confirmation"]["asked_again"]
    done = rubricate("grade", "b.json", *shared, "--run-dir", "d", "--replicates", "4")
    assert done.returncode == 0, done.stderr
    every = ITEMS * len(CRITERIA)
    assert len(endpoint.requests) == before + 3 * every - 3 * asked


def test_a_drop_that_is_noise_does_not_hold(rubricate: Any, tmp_path: Path) -> None:
    rule = [Rule(criterion="kilometres", submission="indeed", verdict="UNMET", times=11)]
    for name in ("a", "b"):
        dataset(tmp_path, name)
    texts = (tmp_path / "b.json").read_text().replace(GOOD, f"{GOOD} Yes, indeed.")
    (tmp_path / "b.json").write_text(texts)
    with ScriptedEndpoint(rule) as endpoint:
        asking = ("--judge", "m", "--base-url", endpoint.url, "--no-cache")
        for name in ("a", "b"):
            rubricate("grade", f"{name}.json", *asking, "--run-dir", name)
        alone = rubricate("compare", "a", "b", "--fail-if-worse", "0.02")
        done = rubricate("compare", "a", "b", *asking, "--confirm", "3", "--fail-if-worse", "0.02")
    assert (alone.returncode, done.returncode) == (3, 0), done.stderr
    assert "Of 11 flips, 0 held when asked once more." in " ".join(done.stdout.split())


def test_a_dry_run_sends_nothing_and_a_budget_ends_it(
    runs: Any, endpoint: ScriptedEndpoint, tmp_path: Path
) -> None:
    before = len(endpoint.requests)
    estimate = json.loads(runs("--dry-run", "--json").stdout)
    assert len(endpoint.requests) == before
    assert not (tmp_path / "b/confirm-a").exists()
    assert (estimate["items"], estimate["requests"]) == (24, estimate["verdicts"])
    once = estimate["requests"] // 3
    (tmp_path / "prices.json").write_text(json.dumps({"m": {"input": 1000, "output": 1000}}))
    done = runs("--max-cost", "0.8", "--prices", "prices.json", "--fail-if-worse", "0.02")
    assert done.returncode == 1
    assert "the same command resumes it" in done.stderr
    assert 0 < len(endpoint.requests) - before < once
    done = runs("--fail-if-worse", "0.02")
    assert done.returncode == 3
    assert len(endpoint.requests) == before + once


def test_where_no_drop_is_seen_nothing_is_asked(
    runs: Any, rubricate: Any, endpoint: ScriptedEndpoint
) -> None:
    before = len(endpoint.requests)
    asking = ("--judge", "m", "--base-url", endpoint.url, "--no-cache", "--confirm", "3")
    done = rubricate("compare", "b", "a", *asking, "--fail-if-worse", "0.02")
    assert done.returncode == 0
    assert done.stderr.startswith("Nothing is asked again: ")
    assert len(endpoint.requests) == before


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (("--temperature", "0.7"), "none of the"),
        (("--judge", "other"), "none of the"),
        (("--mode", "probability"), "cannot be asked again"),
    ],
)
def test_another_judge_is_refused(
    runs: Any, endpoint: ScriptedEndpoint, options: tuple[str, ...], message: str
) -> None:
    before = len(endpoint.requests)
    done = runs(*options)
    assert done.returncode == 1
    assert message in done.stderr
    assert len(endpoint.requests) == before


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (("--judge", "m"), "--judge is for --confirm and --anchors"),
        (("--max-cost", "1"), "--max-cost is for --confirm and --anchors"),
        (("--dry-run",), "--dry-run is for --confirm and --anchors"),
        (("--confirm", "3"), "--confirm 5 --judge"),
        (("--confirm", "0", "--judge", "m"), "confirm"),
        (
            ("--confirm", "3", "--judge", "m", "--fail-if-worse", "0", "--sequential", "s"),
            "--confirm and --sequential exclude each other",
        ),
    ],
)
def test_options_that_go_together(rubricate: Any, options: tuple[str, ...], message: str) -> None:
    done = rubricate("compare", "a", "b", *options)
    assert done.returncode == 1
    assert message in done.stderr


@pytest.fixture
def tired(tmp_path: Path) -> Any:
    """An endpoint that is wrong about the first fourteen good texts, once each."""
    rules = [
        Rule(criterion="kilometres", submission=f"^{n}\\. ", verdict="UNMET", times=1)
        for n in range(14)
    ]
    dataset(tmp_path, "a")
    with ScriptedEndpoint(rules) as running:
        yield running


def test_a_threshold_that_noise_misses_does_not_fail(
    rubricate: Any, tired: ScriptedEndpoint, tmp_path: Path
) -> None:
    asking = ("--judge", "m", "--base-url", tired.url, "--no-cache", "--run-dir", "a", "--json")
    limits = ("--fail-under", "speed=0.8")
    assert rubricate("grade", "a.json", *asking, *limits).returncode == 6
    before = len(tired.requests)
    done = rubricate("grade", "a.json", *asking, *limits, "--confirm", "3")
    check = json.loads(done.stdout)["thresholds"]["checks"][0]
    assert done.returncode == 0, done.stderr
    assert (check["outcome"], check["asked_again"], check["held"]) == ("cannot tell", 14, 0)
    assert len(tired.requests) == before + 2 * 14
    assert rubricate("grade", "a.json", *asking, *limits, "--confirm", "3").returncode == 0
    assert len(tired.requests) == before + 2 * 14
    assert json.loads((tmp_path / "a/summary.json").read_text())["thresholds"]["checks"] == [check]


def test_a_threshold_that_is_missed_still_fails(
    rubricate: Any, endpoint: ScriptedEndpoint, tmp_path: Path
) -> None:
    dataset(tmp_path, "b", 14)
    asking = ("--judge", "m", "--base-url", endpoint.url, "--no-cache", "--run-dir", "b", "--json")
    done = rubricate("grade", "b.json", *asking, "--fail-under", "speed=0.8", "--confirm", "3")
    check = json.loads(done.stdout)["thresholds"]["checks"][0]
    assert (done.returncode, check["asked_again"], check["held"]) == (6, 14, 14)
    before = len(endpoint.requests)
    done = rubricate("grade", "b.json", *asking, "--fail-under", "speed=1", "--confirm", "3")
    assert (done.returncode, len(endpoint.requests)) == (6, before)  # too far below for noise
    done = rubricate("grade", "b.json", *asking, "--confirm", "3")
    assert done.stderr == "Error: --confirm is for --fail-under: give both\n"


def test_where_the_cost_so_far_is_unknown_a_budget_lets_nothing_be_asked_again(
    run_here: Any, tmp_path: Path, endpoint: ScriptedEndpoint, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(Answers, "run_usage", lambda self: Usage(cost=None))
    dataset(tmp_path, "b", 14)
    (tmp_path / "prices.json").write_text(json.dumps({"m": {"input": 1, "output": 1}}))
    asking = ("--judge", "m", "--base-url", endpoint.url, "--no-cache", "--prices", "prices.json")
    limits = ("--fail-under", "speed=0.8", "--confirm", "3", "--max-cost", "9")
    done = run_here(tmp_path, "grade", "b.json", *asking, "--run-dir", "b", *limits)
    assert done.returncode == 6
    assert "Nothing is asked again: what the run has cost is not known." in done.stderr
    assert len(endpoint.requests) == ITEMS * len(CRITERIA)


class Noisy(Judge):
    """A judge that errs in a tenth of its verdicts."""

    name = "noisy"

    def __init__(self, seed: int) -> None:
        self._chance = random.Random(seed)
        self.calls: Counter[str] = Counter()

    def key(self, item: Any, criterion: Any) -> str:
        return f"noisy {item.submission} {criterion.name}"

    async def judge(self, item: Any, criterion: Any, send: Any) -> Verdict:
        self.calls[item.submission] += 1
        met = ("good" in item.submission) ^ (self._chance.random() < 0.1)
        return Verdict(criterion.name, "judged", "MET" if met else "UNMET")


def test_in_python_flips_that_hold_decide(tmp_path: Path) -> None:
    rubric = [Criterion(name=name, requirement=name) for name in ("c1", "c2")]
    judge = Noisy(1)
    for name, bad in (("a", 0), ("b", 24)):
        items = [
            {"id": str(place), "submission": f"{place} {'bad' if place < bad else 'good'} {name}"}
            for place in range(80)
        ]
        data = RubricDataset.from_dict(
            {"name": "d", "prompt": "", "rubric": [c.to_dict() for c in rubric], "items": items}
        )
        package.grade(data, judge, run_dir=tmp_path / name)
    a, b = read_run(tmp_path / "a"), read_run(tmp_path / "b")
    comparison = package.confirm(a, b, judge, margin=0.05)
    assert comparison.confirmation is not None
    flips = len(compare_runs(a, b).flips)
    asked = judge.calls.total() - 2 * 160
    assert asked == 2 * flips  # of which enough hold
    assert 30 <= comparison.confirmation.held <= 44
    gate = comparison.gate(margin=0.05)
    assert (gate.outcome, gate.averaged) == ("worse", None)
    assert gate.confirmed is not None
    assert gate.confirmed.value == pytest.approx(-0.2, abs=0.07)  # by one more answer each
    assert package.confirm(a, b, judge, margin=0.05).gate(0.05) == gate
    assert judge.calls.total() == 2 * 160 + asked


class Likely(Noisy):
    """A judge for which a text says how likely it is MET."""

    async def judge(self, item: Any, criterion: Any, send: Any) -> Verdict:
        self.calls[item.submission] += 1
        met = self._chance.random() < float(item.submission.split()[1])
        return Verdict(criterion.name, "judged", "MET" if met else "UNMET")


def likely_runs(folder: Path, judge: Judge, others: float) -> tuple[Any, Any]:
    """Two runs of 80 items, of which 12 are lost for good; the others are MET with 0.1, then so."""
    for name, lost, rest in (("a", 1.0, 0.1), ("b", 0.0, others)):
        items = [
            {"id": str(n), "submission": f"{n} {lost if n < 12 else rest} {name}"}
            for n in range(80)
        ]
        criterion = {"name": "c", "requirement": "c"}
        data = {"name": "d", "prompt": "", "rubric": [criterion], "items": items}
        package.grade(RubricDataset.from_dict(data), judge, run_dir=folder / name)
    return read_run(folder / "a"), read_run(folder / "b")


def test_flips_that_hold_are_not_worse_where_as_much_is_won_elsewhere(tmp_path: Path) -> None:
    judge = Likely(3)
    a, b = likely_runs(tmp_path, judge, others=0.28)
    asked_before = judge.calls.total()
    comparison = package.confirm(a, b, judge, times=5)
    gate = comparison.gate(0.0)
    assert gate.confirmed is not None
    assert (gate.confirmed.side, gate.outcome) == ("below", "cannot tell")
    assert comparison.confirmation is not None
    assert comparison.confirmation.rounds < 5
    assert gate.averaged is not None
    assert gate.averaged.value == pytest.approx(-0.003, abs=0.05)
    asked = judge.calls.total()
    assert asked - asked_before == 2 * 80 * comparison.confirmation.rounds
    assert package.confirm(a, b, judge, times=5).gate(0.0) == gate
    assert judge.calls.total() == asked  # the answers are kept


def test_all_verdicts_are_asked_until_their_mean_shows_the_drop(tmp_path: Path) -> None:
    judge = Likely(4)
    comparison = package.confirm(*likely_runs(tmp_path, judge, others=0.1), judge, times=5)
    gate = comparison.gate(0.0)
    assert (gate.test.side, gate.outcome) == ("cannot tell", "worse")
    assert comparison.confirmation is not None
    assert 1 <= comparison.confirmation.rounds < 5


@pytest.mark.parametrize("margin", [-0.1, 1.5, float("nan"), "0.02", None, True])
def test_a_margin_that_is_no_number_from_0_to_1_is_refused(tmp_path: Path, margin: Any) -> None:
    a, b = likely_runs(tmp_path, Likely(1), others=0.1)
    with pytest.raises(InputError, match="margin must be from 0 to 1"):
        compare_runs(a, b).gate(margin)
