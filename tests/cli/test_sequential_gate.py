"""`rubricate compare --sequential`: many pushes against one baseline have one error rate."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from rubricate import RubricDataset, grade
from rubricate.judge import RecordedJudge

ITEMS = 100
Push = Callable[[str, int], Path]


@pytest.fixture
def push(tmp_path: Path) -> Push:
    """Make a run folder in which the first so many of a hundred items are UNMET."""

    def push(name: str, unmet: int) -> Path:
        items = [
            {
                "id": f"i{place}",
                "submission": f"text {place}",
                "description": "",
                "metadata": {"votes": {"judge": {"right": "UNMET" if place < unmet else "MET"}}},
            }
            for place in range(ITEMS)
        ]
        rubric = [{"name": "right", "requirement": "Is right"}]
        data = RubricDataset.from_dict(
            {"name": "d", "prompt": "", "rubric": rubric, "items": items}
        )
        grade(data, RecordedJudge("judge"), run_dir=tmp_path / name)
        return tmp_path / name

    return push


def compared(rubricate: Any, a: Path, b: Path, *more: str) -> Any:
    return rubricate("compare", str(a), str(b), "--fail-if-worse", "0", "--sequential", *more)


def pushes(file: Path) -> list[str]:
    return [entry["run"] for entry in json.loads(file.read_text())["pushes"]]


def test_a_large_drop_is_found_at_once_and_a_small_one_by_the_evidence_of_several(
    push: Push, rubricate: Any, tmp_path: Path
) -> None:
    baseline = push("baseline", 10)
    large = compared(rubricate, baseline, push("large", 60), "large.json")
    assert (large.returncode, large.stdout.startswith("Worse: ")) == (3, True), large.stderr
    codes = [
        compared(rubricate, baseline, push(f"small{n}", 20 + n), "small.json").returncode
        for n in range(4)
    ]
    assert codes[0] == 0
    assert codes[-1] == 3


def test_a_drop_that_is_worse_by_itself_is_not_yet_in_a_sequence(
    push: Push, rubricate: Any
) -> None:
    baseline, other = push("baseline", 10), push("other", 18)
    alone = rubricate("compare", str(baseline), str(other), "--fail-if-worse", "0")
    assert alone.returncode == 3
    among = compared(rubricate, baseline, other, "s.json")
    assert among.returncode == 0
    assert among.stdout.startswith("Cannot tell: ")


def test_the_same_run_counts_once(push: Push, rubricate: Any, tmp_path: Path) -> None:
    baseline, other = push("baseline", 10), push("other", 18)
    for _ in range(3):
        compared(rubricate, baseline, other, "s.json")
    assert len(pushes(tmp_path / "s.json")) == 1


def test_another_baseline_or_margin_is_refused_and_the_state_stays(
    push: Push, rubricate: Any, tmp_path: Path
) -> None:
    baseline, other = push("baseline", 10), push("other", 18)
    compared(rubricate, baseline, other, "s.json")
    before = (tmp_path / "s.json").read_bytes()
    for done in (
        compared(rubricate, other, baseline, "s.json"),
        compared(rubricate, baseline, other, "s.json", "--fail-if-worse", "0.1"),
    ):
        assert done.returncode == 1
        assert done.stderr.startswith("Error: s.json: has pushes with another ")
    assert (tmp_path / "s.json").read_bytes() == before


@pytest.mark.parametrize(
    "text", ["", "{", "[]", '{"version": 2}', '{"pushes": [{"e_value": "x"}]}']
)
def test_a_damaged_state_is_one_line_and_is_kept(
    push: Push, rubricate: Any, tmp_path: Path, text: str
) -> None:
    file = tmp_path / "s.json"
    file.write_text(text)
    done = compared(rubricate, push("baseline", 10), push("other", 18), "s.json")
    assert done.returncode == 1
    assert done.stderr.startswith("Error: s.json")
    assert len(done.stderr.splitlines()) == 1
    assert file.read_text() == text


def test_pushes_of_processes_at_once_are_all_counted(push: Push, tmp_path: Path) -> None:
    baseline = push("baseline", 10)
    runs = [push(f"push{n}", 10 + n) for n in range(4)]
    command = (sys.executable, "-m", "rubricate", "compare", str(baseline))
    gate = ("--fail-if-worse", "0", "--sequential", "s.json")
    processes = [
        subprocess.Popen(
            [*command, str(run), *gate],
            cwd=tmp_path,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
        )
        for run in runs
    ]
    assert {process.wait() for process in processes} <= {0, 3}
    assert len(set(pushes(tmp_path / "s.json"))) == len(runs)


def test_it_is_for_a_gate_only(push: Push, rubricate: Any) -> None:
    baseline = push("baseline", 10)
    done = rubricate("compare", str(baseline), str(baseline), "--sequential", "s.json")
    assert done.returncode == 1
    assert "--fail-if-worse" in done.stderr
