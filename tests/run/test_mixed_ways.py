"""Panels and cascades of judges that are asked in several ways: what is kept, and what is asked."""

from __future__ import annotations

import json
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
    Cascade,
    Criterion,
    CriterionOption,
    HTTPModel,
    Judge,
    ModelJudge,
    Panel,
    RegexCriterion,
    Rubric,
    RubricDataset,
    ScaleCriterion,
)
from rubricate.judge import DocumentJudge, Explained, Probability
from rubricate.testing import JudgeRequest, Rule, ScriptedEndpoint


def unsure(request: JudgeRequest) -> Rule:
    """Sure of some items, in both modes the same."""
    labels = [label for label in request.labels if label != "CANNOT_ASSESS"]
    if not labels:
        return Rule(verdict=50)
    if request.submission == "N/A":
        return Rule(probabilities=dict.fromkeys(request.labels, 1 / len(request.labels)))
    sure = "number 1" in request.submission or "number 3" in request.submission
    if "logprobs" in request.body:
        first = 0.98 if sure else 0.6
        rest = (1 - first) / (len(labels) - 1)
        return Rule(probabilities=dict.fromkeys(labels, rest) | {min(labels): first})
    return Rule(verdict=min(labels))


def dataset(long: bool = False) -> RubricDataset:
    options = [CriterionOption(label="poor", value=0.0), CriterionOption(label="good", value=1.0)]
    rubric = Rubric(
        [
            Criterion(name="fact", requirement="Says something"),
            Criterion(name="boast", weight=-1.0, requirement="Boasts"),
            ScaleCriterion(name="percent", requirement="How much", low=0, high=100),
            Criterion(name="style", requirement="How good", options=options),
            RegexCriterion(name="digits", pattern=r"\d"),
        ]
    )
    found = RubricDataset("task", rubric)
    for n in range(5):
        body = f"## Part of number {n}\n\nfacts and matters.\n\n" * (40 if long else 1)
        found.add_item(f"Answer number {n}\n\n{body}", f"item {n}")
    return found


def panel(url: str, **counted: Any) -> Judge:
    model = HTTPModel("m", base_url=url)
    return Panel(
        [
            ModelJudge(model, name="explains"),
            ModelJudge(model, Probability(), name="chooses"),
            ModelJudge(model, Explained(criteria_per_call="all"), name="all at once"),
        ],
        **counted,
    )


def cascade(url: str, threshold: float = 0.9) -> Judge:
    model, other = HTTPModel("m", base_url=url), HTTPModel("n", base_url=url)
    first = ModelJudge(model, Probability(), name="chooses")
    both = Panel([ModelJudge(other), ModelJudge(other, Probability(permutations=1))])
    return Cascade([first, ModelJudge(model, name="explains"), both], threshold)


def in_parts(url: str, **counted: Any) -> Judge:
    model = HTTPModel("m", base_url=url)
    ways = {"explains": Explained(), "chooses": Probability()}
    judges = [ModelJudge(model, way, name=name) for name, way in ways.items()]
    return Panel([DocumentJudge(one, chunk_tokens=200) for one in judges], **counted)


MIXED: dict[str, tuple[Callable[..., Judge], list[dict[str, Any]]]] = {
    "panel": (panel, [{"strategy": "any"}, {"weights": [3, 1, 1]}, {"min_votes": 2}]),
    "cascade": (cascade, [{"threshold": 0.5}, {"threshold": 0.0}]),
    "in parts": (in_parts, [{"strategy": "any"}, {"ordinal": "median"}]),
}


def seen(result: rubricate.Result) -> list[Any]:
    return [
        (item.id, name, one.status, one.label, one.value)
        for item in result
        for name, one in item.criteria.items()
    ]


@pytest.mark.parametrize("kind", MIXED)
def test_resuming_or_counting_otherwise_asks_nothing(kind: str, tmp_path: Path) -> None:
    make, counted = MIXED[kind]
    with ScriptedEndpoint(respond=unsure) as endpoint:
        options: dict[str, Any] = {"run_dir": tmp_path / "run", "cache": None}
        data = dataset(long=kind == "in parts")
        first = rubricate.grade(data, make(endpoint.url), **options)
        assert first.failed == 0
        asked = len(endpoint.requests)
        assert first.usage.requests == asked
        again = rubricate.grade(data, make(endpoint.url), **options)
        assert seen(again) == seen(first)
        for other in counted:
            rubricate.grade(data, make(endpoint.url, **other), **options)
        assert len(endpoint.requests) == asked


def test_a_panels_judge_that_is_asked_in_another_way_asks_only_that(tmp_path: Path) -> None:
    with ScriptedEndpoint(respond=unsure) as endpoint:
        model = HTTPModel("m", base_url=endpoint.url)
        options: dict[str, Any] = {"run_dir": tmp_path / "run", "cache": None}
        explains = ModelJudge(model, name="explains")
        rubricate.grade(dataset(), Panel([explains, ModelJudge(model, Probability())]), **options)
        asked = len(endpoint.requests)
        shuffled = ModelJudge(model, Probability(shuffle=3), name="m")
        rubricate.grade(dataset(), Panel([explains, shuffled]), **options)
        new = endpoint.requests[asked:]
    assert new
    # the criterion that no token answers is asked about in the same words
    assert all("logprobs" in request.body for request in new)


def test_a_cascade_goes_on_only_with_what_its_first_way_is_not_sure_of(tmp_path: Path) -> None:
    with ScriptedEndpoint(respond=unsure) as endpoint:
        result = rubricate.grade(dataset(), cascade(endpoint.url), cache=None)
    items = sorted(result, key=lambda item: item.index)
    assert [item.criteria["fact"].stage for item in items] == [3, 1, 3, 1, 3]
    # explained by the first, without a probability
    assert [item.criteria["percent"].stage for item in items] == [3] * 5


@pytest.mark.parametrize("kind", ["cascade", "in parts"])
def test_a_killed_run_of_mixed_ways_comes_to_the_same_and_loses_little(
    kind: str, tmp_path: Path
) -> None:
    with ScriptedEndpoint(respond=unsure) as endpoint:
        whole = rubricate.grade(
            dataset(long=kind == "in parts"), MIXED[kind][0](endpoint.url), cache=None
        )
        once = len(endpoint.requests)

    def slowly(request: JudgeRequest) -> Rule:
        return unsure(request).model_copy(update={"delay": 0.01})

    program = tmp_path / "program.py"
    program.write_text(
        f"import sys, json\nsys.path.insert(0, {str(Path(__file__).parent)!r})\n"
        "import rubricate, test_mixed_ways as mixed\n"
        f"judge = mixed.MIXED[{kind!r}][0](sys.argv[1])\n"
        f"data = mixed.dataset(long={kind == 'in parts'})\n"
        "result = rubricate.grade(data, judge, run_dir='run', cache=None, concurrency=2)\n"
        "print(json.dumps(mixed.seen(result)))\n"
    )
    with ScriptedEndpoint(respond=slowly) as endpoint:
        command = [sys.executable, str(program), endpoint.url]
        process = subprocess.Popen(command, cwd=tmp_path, stdout=subprocess.DEVNULL)
        while len(endpoint.requests) < once // 2:
            assert process.poll() is None
            time.sleep(0.01)
        os.kill(process.pid, signal.SIGKILL)
        process.wait()
        done = subprocess.run(
            command, cwd=tmp_path, capture_output=True, text=True, check=True, timeout=120
        )
        asked = len(endpoint.requests)
    assert [tuple(one) for one in json.loads(done.stdout)] == seen(whole)
    # two in flight, and what had not been committed for 0.2 s
    assert once <= asked <= once + 2 + 64 // 2
