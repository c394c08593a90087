"""The released inspect's readers beside the dialect's, on some thousand cases.

What differs is named here, each with the words of its row in docs/differences.md.
"""

from __future__ import annotations

import json
import re
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

pytestmark = pytest.mark.neighbours
HERE = Path(__file__).parent
PAGE = (HERE.parents[1] / "docs" / "differences.md").read_text("utf-8")

DIFFERENT = {
    "a negative limit": r"options: .*'limit': -3.*",
    "a text for `shuffle_choices`": r"options: .*'shuffle_choices': 'x'.*",
    "true as an id": r"field: id (true|false)",
    "a list as setup": r"field: setup (list|object|texts|nested|mixed|pair|three|typed)",
    "two columns of one name": r"csv: one name twice",
    "a blank cell or text": (
        r"field: (choices|id|sandbox|metadata|files|setup) (empty|blank)|csv: empty cells"
        r"|model: Metadata empty"
    ),
    "a JSON list as the text of choices": r"field: choices JSON list|csv: JSON choices",
    "a sandbox that is an object": r"field: sandbox (typed|nested|JSON object)",
    "`shuffle_choices=True` with a seed": r"options: .*'shuffle_choices': True.*",
    "a target that is a choice's text": r"choices: (choice|empty|space|blank)",
    "`metadata=[]`": r"spec: no metadata",
    "other sequences of names": r"spec: a tuple",
    "identifiers and metadata of messages": r"message: identified",
    "NaN in metadata": r"json: nan\.jsonl?|json: digits\.jsonl|csv: line break",
    "numbers as input": r"field: input (int|zero|float|whole)",
    "options of readers after `sample_fields`": r"file: in order .*",
    "blank lines": r"json: (empty\.json|mark\.json|blank\.jsonl)|csv: large cell",
    "options of `json.loads`": r"reader: .*",
    "paths with `.` and `..`": r"place: .* (dot|up|slash|two slashes|back)",
}


def same(theirs: Any, ours: Any) -> bool:
    """Whether a program cannot tell them apart: wrong data is a ValueError here, with its place."""
    if (
        isinstance(theirs, dict)
        and isinstance(ours, dict)
        and "error" in theirs
        and "error" in ours
    ):
        return theirs["error"][0] in ours["error"] or "InputError" in ours["error"]
    return bool(theirs == ours)


@pytest.fixture(scope="module")
def found(neighbour: Callable[..., str], tmp_path_factory: Any) -> dict[str, tuple[Any, Any]]:
    """What came of each case: there, and here."""
    their_python = neighbour(
        "inspect", "inspect_ai>=0.3.285", "datasets", "-e", str(HERE.parents[1])
    )
    both = []
    for python, package in (
        (their_python, "inspect_ai"),
        (sys.executable, "rubricate.dialects.inspect_ai"),
    ):
        folder = tmp_path_factory.mktemp("cases") / "here"
        done = subprocess.run(
            [python, HERE / "inspect_cases.py", package, folder],
            capture_output=True,
            text=True,
            check=False,
        )
        assert done.returncode == 0, done.stderr
        both.append(json.loads(done.stdout))
    theirs, ours = both
    assert theirs.keys() == ours.keys()
    return {name: (theirs[name], ours[name]) for name in theirs}


def test_what_differs_from_the_released_readers_is_named(found):
    assert len(found) > 1000
    named = [re.compile(pattern) for pattern in DIFFERENT.values()]
    unnamed = [
        name
        for name, (theirs, ours) in found.items()
        if not same(theirs, ours) and not any(pattern.fullmatch(name) for pattern in named)
    ]
    assert unnamed == []


@pytest.mark.parametrize("words", DIFFERENT)
def test_a_named_difference_is_one_and_stands_on_the_page(found, words):
    cases = [both for name, both in found.items() if re.fullmatch(DIFFERENT[words], name)]
    assert any(not same(*both) for both in cases)
    assert words in PAGE


def test_a_record_functions_error_is_wrong_data_here(found):
    cases = {name: both for name, both in found.items() if name.startswith("function: ")}
    raised = {name: both for name, both in cases.items() if "error" in both[0]}
    assert raised
    assert all("InputError" in ours["error"] for _, ours in raised.values())
