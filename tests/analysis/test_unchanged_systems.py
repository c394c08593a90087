"""The gate on real runs of a judge that contradicts itself: what tools/check_gate.py simulates."""

from __future__ import annotations

import random
from typing import Any

import pytest
from scipy import stats

import rubricate
from rubricate import Criterion, Judge, Rubric, RubricDataset, Verdict
from rubricate.analysis import compare_runs
from rubricate.stats import bound_test

ITEMS, GROUP, PAIRS = 24, 4, 20
NAMES = ("c1", "c2", "c3")


class Noisy(Judge):
    """Answers by the item's group, and turns a tenth of its verdicts."""

    name = "noisy"

    def __init__(self, seed: int) -> None:
        self._seed = seed

    def key(self, item: Any, criterion: Any) -> str:
        return f"noisy {self._seed} {item.submission} {criterion.name}"

    async def judge(self, item: Any, criterion: Any, send: Any) -> Verdict:
        right = random.Random(f"{item.submission} {criterion.name}").random() < 0.7
        met = right ^ (random.Random(self.key(item, criterion)).random() < 0.1)
        return Verdict(criterion.name, "judged", "MET" if met else "UNMET")


@pytest.mark.parametrize("groups", [None, "question"])
def test_two_runs_of_one_system_are_seldom_called_worse(groups: str | None) -> None:
    data = RubricDataset("task", Rubric([Criterion(name=n, requirement=n) for n in NAMES]))
    for place in range(ITEMS):
        data.add_item(f"text {place}", metadata={"question": place // GROUP})
    worse = 0
    for pair in range(PAIRS):
        results = [rubricate.grade(data, Noisy(2 * pair + k)) for k in (0, 1)]
        decision = compare_runs(*results, groups=groups).gate(0.0)
        worse += decision.outcome == "worse"
        a, b = ([item.score.value for item in result.items] for result in results)
        found = bound_test(
            [after - before for before, after in zip(a, b, strict=True)],
            0.0,
            groups=None if groups is None else [place // GROUP for place in range(ITEMS)],
            limits=(-1.0, 1.0),
            differences=True,
        )
        assert (decision.test.side, decision.test.p_value) == (found.side, found.p_value)
        assert decision.test.high == pytest.approx(found.high)
    assert worse <= stats.binom.ppf(0.999, PAIRS, 0.05)
