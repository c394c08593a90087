"""`rubricate grade --mode probability`, and orders, as a user gives them."""

from __future__ import annotations

import json

from rubricate.testing import ScriptedEndpoint


def test_why_replies_were_sampled_is_said_once_for_the_run(rubricate, write_dataset, tmp_path):
    with ScriptedEndpoint(logprobs="ignored") as endpoint:
        command = ["grade", write_dataset(), "--judge", "m", "--base-url", endpoint.url]
        done = rubricate(*command, "--run-dir", "run", "--no-cache", "--mode", "probability")
    assert done.returncode == 0, done.stderr
    told = " ".join((done.stdout + done.stderr).split())
    assert told.count("Replies were sampled: the endpoint gives no logprobs") == 1
    row = json.loads((tmp_path / "run/results.jsonl").read_text().splitlines()[0])
    assert row["detail"]["obtained"] == "replicates"
    assert row["detail"]["sampled"] == "the endpoint gives no logprobs"
