"""`assert_no_worse` and `assert_not_below`: whole runs in a test."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from rubricate import Result, RubricDataset, grade
from rubricate.judge import RecordedJudge
from rubricate.testing import UnclearGate, assert_no_worse, assert_not_below

RUBRIC = [{"name": "right", "requirement": "Is right"}]


def run(met: int, items: int = 100, **options: Any) -> Result:
    """A run of which so many items meet the only criterion; below 0, that many verdicts failed."""
    data = [
        {
            "id": str(place),
            "submission": str(place),
            "description": "",
            "metadata": {"votes": {"j": {"right": "MET" if place < abs(met) else "UNMET"}}},
        }
        for place in range(items)
    ]
    if met < 0:
        for item in data[:10]:
            item["metadata"]["votes"]["j"] = {"right": None}
    dataset = RubricDataset.from_dict({"name": "d", "prompt": "", "rubric": RUBRIC, "items": data})
    return grade(dataset, RecordedJudge("j"), **options)


def test_a_run_that_is_worse_fails_the_test_and_one_that_is_not_passes(tmp_path: Path):
    before = run(90, run_dir=tmp_path / "before")
    with pytest.raises(AssertionError, match=r"Worse: the mean score changed by -0\.300"):
        assert_no_worse(run(60), before, margin=0.02)
    assert assert_no_worse(run(95), tmp_path / "before", margin=0.05).outcome == "no worse"
    with pytest.raises(AssertionError, match=r"90\.0% of the verdicts of A could be compared"):
        assert_no_worse(run(-90), before, margin=0.02)


def test_a_run_shown_to_be_below_a_threshold_fails_the_test():
    assert assert_not_below(run(90), 0.8).outcome == "passed"
    with pytest.raises(AssertionError, match=r"score 0\.60 .* is below 0\.8"):
        assert_not_below(run(60), 0.8)
    with pytest.raises(AssertionError, match="10 verdicts have no answer"):
        assert_not_below(run(-85), "right=0.8")


def test_what_the_items_cannot_tell_warns_or_fails():
    with pytest.warns(UnclearGate, match=r"may be below 0\.9 or not"):
        assert_not_below(run(90), 0.9)
    with pytest.warns(UnclearGate, match="Cannot tell"):
        assert_no_worse(run(90), run(90), margin=0.0)
    with pytest.raises(AssertionError, match="Cannot tell"):
        assert_no_worse(run(90), run(90), margin=0.0, on_unclear="fail")
