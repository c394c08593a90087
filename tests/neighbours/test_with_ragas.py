"""The released Ragas beside the dialect: one program, the same scores; each reads the other."""

from __future__ import annotations

import json
import os
import subprocess
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from rubricate.dialects.ragas import EvaluationDataset
from rubricate.testing import JudgeRequest, Rule, ScriptedEndpoint

pytestmark = pytest.mark.neighbours
HERE = Path(__file__).parent
RECORDED = HERE.parent / "dialects" / "data" / "ragas"


@pytest.fixture(scope="module")
def theirs(neighbour: Callable[..., str]) -> Callable[..., Any]:
    """Run a program in Ragas' environment; what it prints, as JSON."""
    python = neighbour("ragas", "ragas==0.4.3", "langchain-community<0.4", "langchain-openai")

    def run(*arguments: object) -> Any:
        done = subprocess.run(
            [python, *map(str, arguments)],
            capture_output=True,
            text=True,
            check=False,
            env={**os.environ, "RAGAS_DO_NOT_TRACK": "true"},
        )
        assert done.returncode == 0, done.stderr
        return json.loads(done.stdout.splitlines()[-1])

    return run


def respond(request: JudgeRequest) -> Rule:
    """1 for what is flat, else 3; 0 and 2 by a rubric of their own."""
    text = "\n".join(str(message["content"]) for message in request.body["messages"])
    score = 1 if "It is flat." in text else 3
    if "off-topic" in text:
        score = 0
    elif "faster" in text:
        score = 2
    return Rule(reply=json.dumps({"feedback": "by words", "score": score}))


def test_the_documented_program_finds_what_was_recorded(theirs):
    with ScriptedEndpoint(respond=respond) as endpoint:
        found = theirs(HERE / "ragas_program.py", endpoint.url)
    assert found == json.loads((RECORDED / "program.json").read_text("utf-8"))


def test_its_files_are_what_was_recorded_and_it_reads_ours(theirs, tmp_path):
    written = theirs(HERE / "ragas_files.py", "write", tmp_path)
    for name in ("single", "multi"):
        now = (tmp_path / f"{name}.jsonl").read_text("utf-8")
        assert now == (RECORDED / f"{name}.jsonl").read_text("utf-8")
        ours = EvaluationDataset.from_jsonl(tmp_path / f"{name}.jsonl")
        ours.to_jsonl(tmp_path / f"{name}.jsonl")
    assert theirs(HERE / "ragas_files.py", "read", tmp_path) == written
