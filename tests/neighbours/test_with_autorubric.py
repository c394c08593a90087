"""The released AutoRubric beside the dialect: each reads what the other writes."""

from __future__ import annotations

import json
import os
import runpy
import subprocess
import sys
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from rubricate.dialects.autorubric import RubricDataset
from rubricate.testing import ScriptedEndpoint

pytestmark = pytest.mark.neighbours
HERE = Path(__file__).parent
RECORDED = HERE.parent / "dialects" / "autorubric"


@pytest.fixture(scope="module")
def theirs(neighbour: Callable[..., str]) -> Callable[..., Any]:
    """Run a program in AutoRubric's environment; what it prints, as JSON."""
    python = neighbour("autorubric", "autorubric>=1.6,<2")

    def run(program: Path | str, *arguments: str) -> Any:
        done = subprocess.run(
            [python, str(program), *arguments],
            capture_output=True,
            text=True,
            check=False,
            env={**os.environ, "LITELLM_LOCAL_MODEL_COST_MAP": "True"},
        )
        assert done.returncode == 0, done.stderr
        return json.loads(done.stdout.splitlines()[-1])

    return run


def test_the_everyday_program_finds_the_same_there_and_here(theirs, tmp_path, monkeypatch):
    monkeypatch.setenv("OPENAI_API_KEY", "none")
    respond = runpy.run_path(str(HERE / "autorubric_answers.py"))["respond"]
    with ScriptedEndpoint(respond=respond) as endpoint:
        there = theirs(HERE / "autorubric_program.py", endpoint.url, str(tmp_path / "there"))
        asked = len(endpoint.requests)
        here = run_here(endpoint.url, tmp_path / "here")
        assert len(endpoint.requests) - asked == asked
    assert here == there
    assert there == json.loads((RECORDED / "program.json").read_text("utf-8"))


def run_here(address: str, folder: Path) -> Any:
    """The same program with the dialect's names in place of AutoRubric's."""
    text = (HERE / "autorubric_program.py").read_text("utf-8")
    text = text.replace("from autorubric", "from rubricate.dialects.autorubric")
    done = subprocess.run(
        [sys.executable, "-c", text, address, str(folder)],
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


def test_what_it_writes_is_what_was_recorded(theirs, tmp_path):
    facts = theirs(HERE / "autorubric_files.py", "write", str(tmp_path))
    assert facts == json.loads((RECORDED / "facts.json").read_text("utf-8"))
    for path in (RECORDED / "files").glob("*.json"):
        assert json.loads((tmp_path / path.name).read_text("utf-8")) == json.loads(
            path.read_text("utf-8")
        )


def test_it_reads_what_the_dialect_writes_of_its_files(theirs, tmp_path):
    for path in (RECORDED / "files").glob("*.json"):
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            RubricDataset.from_file(path).to_file(tmp_path / path.name)
    facts = theirs(HERE / "autorubric_files.py", "read", str(tmp_path))
    assert facts == json.loads((RECORDED / "facts.json").read_text("utf-8"))
