"""Runs as real processes: killed, and side by side."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from collections import Counter
from pathlib import Path

import pytest

import rubricate
from rubricate.errors import JournalError
from rubricate.testing import Rule, ScriptedEndpoint

SCRIPT = """
import sys, rubricate
rubricate.grade(
    rubricate.RubricDataset.from_file(sys.argv[1]), "m",
    base_url=sys.argv[2], run_dir=sys.argv[3], concurrency=int(sys.argv[4]),
)
"""


def start(data: Path, endpoint: ScriptedEndpoint, folder: Path, concurrency: int = 8):
    command = [sys.executable, "-c", SCRIPT, data, endpoint.url, folder, concurrency]
    return subprocess.Popen(list(map(str, command)), stderr=subprocess.PIPE, text=True)


def wait_for(process: subprocess.Popen[str], endpoint: ScriptedEndpoint, requests: int) -> None:
    while len(endpoint.requests) < requests:
        assert process.poll() is None, process.communicate()
        time.sleep(0.01)


@pytest.mark.parametrize("delay", [0.002, 0.05])
def test_a_killed_run_repeats_no_finished_call(make_dataset, tmp_path, delay: float):
    data, folder = tmp_path / "data.json", tmp_path / "run"
    dataset = make_dataset(300)
    dataset.to_file(data)
    with ScriptedEndpoint([Rule(delay=delay)]) as endpoint:
        process = start(data, endpoint, folder)
        wait_for(process, endpoint, 150)
        process.send_signal(signal.SIGKILL)
        process.communicate()
        assert process.returncode == -signal.SIGKILL
        before = len(endpoint.requests)
        assert before < 600
        result = rubricate.grade(dataset, "m", base_url=endpoint.url, run_dir=folder)
        sent = Counter((r.submission, r.criterion) for r in endpoint.requests)
    assert result.failed == 0
    assert result.calls + result.resumed == len(sent) == 600
    repeated = sum(sent.values()) - len(sent)
    # What was in flight, and what was answered since the journal's last commit.
    assert repeated <= 8 + 64
    assert result.resumed >= before - (8 + 64)


def test_a_second_process_on_one_run_folder_is_refused_in_one_line(make_dataset, tmp_path):
    data, folder = tmp_path / "data.json", tmp_path / "run"
    dataset = make_dataset(300)
    dataset.to_file(data)
    with ScriptedEndpoint([Rule(delay=0.1)]) as endpoint:
        process = start(data, endpoint, folder, concurrency=1)
        try:
            wait_for(process, endpoint, 2)
            with pytest.raises(JournalError, match="another process is grading") as caught:
                rubricate.grade(dataset, "other", base_url=endpoint.url, run_dir=folder)
            assert {request.body["model"] for request in endpoint.requests} == {"m"}
        finally:
            process.kill()
            process.communicate()
    assert "journal.sqlite" in str(caught.value)
    assert len(str(caught.value).splitlines()) == 1


def test_a_folder_is_free_again_when_its_process_was_killed(make_dataset, tmp_path):
    data, folder = tmp_path / "data.json", tmp_path / "run"
    make_dataset(50).to_file(data)
    with ScriptedEndpoint([Rule(delay=0.05)]) as endpoint:
        process = start(data, endpoint, folder)
        wait_for(process, endpoint, 10)
        process.kill()
        process.communicate()
        result = rubricate.grade(make_dataset(50), "m", base_url=endpoint.url, run_dir=folder)
    assert result.failed == 0


def test_a_run_against_the_endpoint_as_a_process_of_its_own(make_dataset, tmp_path):
    rules = tmp_path / "rules.json"
    rules.write_text(json.dumps([{"submission": "Answer 1", "verdict": "MET", "reason": "ruled"}]))
    command = [sys.executable, "-m", "rubricate.testing", "--rules", str(rules)]
    process = subprocess.Popen(command, stdout=subprocess.PIPE, text=True, env={**os.environ})
    try:
        url = process.stdout.readline().strip()
        result = rubricate.grade(make_dataset(3), "m", base_url=url)
    finally:
        process.terminate()
        process.communicate()
    labels = [verdict.label for _, verdict in result.verdicts()]
    assert labels == ["MET", "MET", "MET", "MET", "UNMET", "UNMET"]
    assert result.items[1].criteria["speed"].reason == "ruled"
