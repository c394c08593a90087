"""The plain job (a dataset, one model) has a ceiling: calls, files and lines may only fall."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

import pytest

IS_3_11 = sys.version_info[:2] == (3, 11)
TOOL = Path(__file__).parents[1] / "tools" / "trace_calls.py"


@pytest.mark.parametrize(
    ("option", "ceiling"),
    [
        (None, {"calls": 147, "files": 32}),  # to the first request of `grade()`
        ("--shell", {"calls": 684, "files": 68}),  # to the first request of `rubricate grade`
        # lines vary by 60, and from one version of Python to another
        ("--job", {"files loaded": 130, "lines executed": 11120 if IS_3_11 else 11700}),
    ],
    ids=["grade", "shell", "job"],
)
def test_the_plain_job_passes_no_more_code_than_it_did(option: str | None, ceiling: dict[str, int]):
    """Lower the figures with what you remove."""
    figures = traced(option, ceiling)
    for _ in range(2):  # on a busy machine, what is late executes more
        if any(figures[what] > most for what, most in ceiling.items()):
            figures = traced(option, ceiling)
    assert all(figures[what] <= most for what, most in ceiling.items()), figures


def traced(option: str | None, ceiling: dict[str, int]) -> dict[str, int]:
    done = subprocess.run(
        [sys.executable, TOOL, *([option] if option else [])],
        capture_output=True,
        text=True,
        check=True,
    )
    last = done.stdout.splitlines()[-1]
    figures: dict[str, int] = {}
    for what in ceiling:
        figure = re.search(rf"(\d+) {what}", last)
        assert figure is not None, last
        figures[what] = int(figure[1])
    return figures
