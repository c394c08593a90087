"""`rubricate grade --mode probability`, and orders, as a user gives them."""

from __future__ import annotations

import json

import yaml

from rubricate.testing import Rule, ScriptedEndpoint


def test_the_built_in_judge_has_probabilities_and_agree_reads_them(
    rubricate, write_dataset, tmp_path
):
    done = rubricate("grade", write_dataset(), "--mode", "probability", "--json")
    assert done.returncode == 0, done.stderr
    folder = json.loads(done.stdout)["run_dir"]
    assert folder.endswith("-probability")
    rows = (tmp_path / folder / "results.jsonl").read_text().splitlines()
    assert json.loads(rows[0])["detail"]["obtained"] == "model"
    report = json.loads(rubricate("trust", "agree", folder, "--json").stdout)
    assert report["probabilities"]["n"] == 4
    assert report["criteria"][0]["probabilities"]["calibration"]["brier"]["value"] < 0.5
    assert "probabilities of MET" in rubricate("trust", "agree", folder).stdout


def test_a_language_model_over_http_with_every_option(rubricate, write_dataset, tmp_path):
    def respond(request):
        even = dict.fromkeys(request.labels, 1 / len(request.labels))
        share = {"MET": 0.7, "UNMET": 0.2, "CANNOT_ASSESS": 0.1}
        return Rule(probabilities=even if request.submission == "N/A" else share)

    with ScriptedEndpoint(respond=respond) as endpoint:
        command = ["grade", write_dataset(), "--judge", "m", "--base-url", endpoint.url, "--json"]
        command += ["--run-dir", "run", "--no-cache", "--mode", "probability"]
        summary = json.loads(rubricate(*command).stdout)
        # one question without content serves both criteria
        assert summary["usage"]["requests"] == 2 * 2 * 2 + 2
        assert json.loads(rubricate(*command).stdout)["usage"]["requests"] == 0
        options = ["--permutations", "4", "--shuffle", "7", "--no-correct-prior"]
        options += ["--run-dir", "new"]
        summary = json.loads(rubricate(*command, *options).stdout)
        assert summary["usage"]["requests"] == 2 * 2 * 4
    settings = {"data": str(write_dataset()), "judge": "m", "json": True, "cache": "cache"}
    settings |= {"mode": "probability", "permutations": 1, "shuffle": 3, "correct_prior": False}
    settings |= {"samples": 2, "concurrency": 1}
    with ScriptedEndpoint(logprobs="refused") as endpoint:
        (tmp_path / "run.yaml").write_text(yaml.safe_dump({**settings, "base_url": endpoint.url}))
        summary = json.loads(rubricate("grade", "--config", "run.yaml").stdout)
        assert summary["usage"]["requests"] == 2 * 2 * 2 + 1
        assert summary["verdicts"]["failed"] == 0


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
