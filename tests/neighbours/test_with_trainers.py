"""`rubricate.ray.shared_reward` in the reward workers of the released verl and OpenRLHF."""

from __future__ import annotations

import json
import os
import subprocess
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from rubricate.testing import Rule, ScriptedEndpoint

pytestmark = pytest.mark.neighbours
HERE = Path(__file__).parent
ROOT = HERE.parents[1]
RULES = [
    Rule(submission="300000", criterion="300000", verdict="MET"),
    Rule(submission="shamelessly", criterion="shamelessly", verdict="MET"),
    Rule(verdict="UNMET"),
]
UNREADABLE = Rule(submission="praises itself shamelessly . .", reply="?")
EXPECTED = [1.0, 0.0, 1.0] * 4


@pytest.fixture(scope="module")
def trainers(neighbour: Callable[..., str]) -> str:
    """An interpreter with both; OpenRLHF without what needs a GPU."""
    python = neighbour("trainers", "verl==0.9.1", "torch", "sympy", f"{ROOT}[ray]")
    command = ["pip", "install", "-q", "--no-deps", "openrlhf==0.11.2", "pylatexenc"]
    subprocess.run([python, "-m", *command], check=True)
    return python


@pytest.fixture
def run(trainers: str, tmp_path: Path) -> Callable[..., Any]:
    """What a trainer makes of the reward, with rules before the usual ones."""

    def run(which: str, *rules: Rule) -> tuple[Any, int]:
        with ScriptedEndpoint([*rules, *RULES]) as endpoint:
            done = subprocess.run(
                [trainers, str(HERE / "trainers_program.py"), which, endpoint.url, str(tmp_path)],
                capture_output=True,
                text=True,
                check=False,
                env={**os.environ, "PYTHONPATH": str(ROOT / "src")},
            )
            assert done.returncode == 0, done.stderr
            return json.loads(done.stdout.splitlines()[-1]), len(endpoint.requests)

    return run


def test_verl_scores_a_batch_in_its_workers(run):
    assert run("verl") == (EXPECTED, 24)


def test_in_verl_a_completion_without_a_score_ends_the_step_with_its_cause(run):
    found, _ = run("verl", UNREADABLE)
    assert "RewardError: 1 of 1 completions have no score" in found
    assert "unreadable_reply" in found


def test_openrlhf_has_a_reward_for_each_answer(run):
    assert run("openrlhf") == ([[score] for score in EXPECTED], 24)


def test_in_openrlhf_a_completion_without_a_score_has_none_and_no_zero(run):
    found, _ = run("openrlhf", UNREADABLE)
    unread = [None if index in (7, 10) else [score] for index, score in enumerate(EXPECTED)]
    assert found == unread
