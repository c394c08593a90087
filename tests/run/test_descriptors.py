"""A run asks for no more connections than there are file descriptors."""

from __future__ import annotations

import json
import subprocess
import sys
from typing import Any

import pytest

import rubricate
from rubricate.errors import ModelError
from rubricate.run import Limits
from rubricate.run.sending._limiter import bounded
from rubricate.testing import Rule, ScriptedEndpoint

resource = pytest.importorskip("resource")
COMMAND = (sys.executable, "-c", "from rubricate.cli import main; main()", "grade", "data.json")


def test_concurrency_is_bounded_by_the_descriptors_that_there_are(tmp_path):
    items = [{"submission": f"text {n}", "description": f"i{n}"} for n in range(150)]
    rubric = [{"name": "a", "requirement": "Says something"}]
    data = {"prompt": "p", "rubric": rubric, "items": items}
    (tmp_path / "data.json").write_text(json.dumps(data))
    options = ["--run-dir", "run", "--no-cache", "--concurrency", "500"]
    with ScriptedEndpoint([Rule(verdict="MET", delay=0.1)]) as endpoint:
        done = subprocess.run(
            [*COMMAND, "--judge", "m", "--base-url", endpoint.url, *options],
            cwd=tmp_path,
            capture_output=True,
            text=True,
            check=False,
            preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_NOFILE, (80, 80)),
        )
        assert len(endpoint.requests) == 150
    assert done.returncode == 0, done.stderr
    assert "requests at once: 'ulimit -n' is 80" in done.stderr


def test_what_fits_is_not_bounded():
    assert bounded(Limits(concurrency=1)) == (Limits(concurrency=1), None)


def test_a_connection_without_a_descriptor_is_tried_again_and_is_no_outage(make_dataset):
    asked: list[int] = []

    def judge(messages: Any) -> dict[str, Any]:
        asked.append(1)
        if len(asked) % 3 == 2:
            raise ModelError("files", "no connection can be opened: Too many open files")
        return {"reason": "r", "evidence": [], "verdict": "MET"}

    result = rubricate.grade(make_dataset(10), judge, attempts=1, max_outage=0.1, concurrency=20)
    assert result.failed == 0
