"""The way of the plain job (a dataset, one model) to its first request has a ceiling."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

import pytest

TOOL = Path(__file__).parents[1] / "tools" / "trace_calls.py"


@pytest.mark.parametrize(
    ("options", "calls", "files"),
    [((), 229, 48), (("--shell",), 1790, 117)],
    ids=["grade", "shell"],
)
def test_the_way_to_the_first_request_grows_no_longer(
    options: tuple[str, ...], calls: int, files: int
):
    """The figures may only fall: lower them with what you remove."""
    said = subprocess.run(
        [sys.executable, TOOL, *options], capture_output=True, text=True, check=True
    ).stdout
    found = re.findall(r"(\d+) calls in (\d+) files", said)
    assert found, said
    assert int(found[-1][0]) <= calls
    assert int(found[-1][1]) <= files
