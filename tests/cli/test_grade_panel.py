"""`rubricate grade` with several judges, and with a length penalty, as a user gives them."""

from __future__ import annotations

import json

import pytest
import yaml


def test_judges_given_several_times_vote_and_another_one_asks_only_itself(
    rubricate, write_dataset, endpoint, tmp_path
):
    options = ["grade", write_dataset(), "--base-url", endpoint.url, "--no-cache", "--json"]
    done = rubricate(*options, "--judge", "m", "--judge", "n", "--min-votes", "2")
    summary = json.loads(done.stdout)
    assert (summary["judge"], summary["strategies"]["min_votes"]) == ("m + n", 2)
    assert [judge["name"] for judge in summary["judges"]] == ["m", "n"]
    assert summary["run_dir"] == "runs/data-panel"
    assert len(endpoint.requests) == 8
    more = ["--judge", "m", "--judge", "n", "--judge", "builtin", "--strategy", "any"]
    summary = json.loads(rubricate(*options, *more).stdout)
    assert len(endpoint.requests) == 8
    assert (summary["usage"]["calls"], summary["usage"]["resumed"]) == (4, 8)
    shown = rubricate("show", "runs/data-panel").stdout
    assert all(f"\n{judge} " in shown for judge in ("m", "n", "builtin"))
    assert "votes" in shown


def test_a_configuration_file_has_all_of_a_panel(rubricate, write_dataset, endpoint, tmp_path):
    settings = {
        "data": str(write_dataset()),
        "judge": ["m", "builtin"],
        "base_url": endpoint.url,
        "weights": {"m": 3, "builtin": 1},
        "ordinal": "median",
        "replicates": 2,
        "length_penalty": {"free_budget": 1, "max_cap": 3},
        "author_key": "writer",
        "json": True,
    }
    (tmp_path / "run.yaml").write_text(yaml.safe_dump(settings))
    done = rubricate("grade", "--config", "run.yaml")
    summary = json.loads(done.stdout)
    weights = {judge["name"]: judge["weight"] for judge in summary["judges"]}
    assert weights == {"m": 3.0, "m #2": 3.0, "builtin": 1.0, "builtin #2": 1.0}
    assert summary["strategies"]["ordinal"] == "median"
    assert summary["strategies"]["binary"] == "weighted"
    assert summary["score"]["penalty"] == 0.5


def test_weights_and_a_length_penalty_can_stand_on_the_command_line(
    rubricate, write_dataset, endpoint
):
    options = ["grade", write_dataset(), "--judge", "m", "--judge", "n", "--base-url", endpoint.url]
    options += ["--json", "--length-penalty", "free_budget=1,max_cap=3,penalty_type=ALL"]
    summary = json.loads(rubricate(*options, "--weights", "2,1").stdout)
    assert [judge["weight"] for judge in summary["judges"]] == [2.0, 1.0]
    assert summary["score"]["penalty"] == 0.5
    summary = json.loads(rubricate(*options, "--weights", "n=0.7, m=0.3").stdout)
    assert [judge["weight"] for judge in summary["judges"]] == [0.3, 0.7]
    refused = rubricate(*options, "--weights", "m=1,nn=2")
    assert (refused.returncode, "unknown judge 'nn'" in refused.stderr) == (1, True)
    summary = json.loads(rubricate(*options, "--weights", "reliability").stdout)
    assert [judge["weight"] for judge in summary["judges"]] == pytest.approx([1.0, 1.0])


@pytest.mark.parametrize(
    "given", ["reasoning_effort=high,seed=7", '{"reasoning_effort": "high", "seed": 7}']
)
def test_model_options_are_pairs_or_json_and_another_effort_is_another_run(
    rubricate, write_dataset, endpoint, tmp_path, given
):
    options = ["grade", write_dataset(), "--judge", "m", "--base-url", endpoint.url, "--no-cache"]
    options += ["--json"]
    assert json.loads(rubricate(*options).stdout)["run_dir"] == "runs/data-m"
    plain = len(endpoint.requests)
    other = json.loads(rubricate(*options, "--model-options", given).stdout)["run_dir"]
    assert other.startswith("runs/data-m-")
    assert json.loads(rubricate(*options, "--model-options", given).stdout)["run_dir"] == other
    assert len(endpoint.requests) == 2 * plain
    (tmp_path / "run.yaml").write_text("model_options: {reasoning_effort: high, seed: 7}\n")
    assert json.loads(rubricate(*options, "--config", "run.yaml").stdout)["run_dir"] == other
    assert len(endpoint.requests) == 2 * plain
    assert all(request.body["seed"] == 7 for request in endpoint.requests[plain:])


@pytest.mark.parametrize(
    ("given", "message"),
    [
        (["--model-options", "high"], "'high' is not of the form reasoning_effort=high"),
        (["--model-options", "seed=1,seed=2"], "'seed' is given twice"),
        (["--model-options", '{"seed": 1'], "model_options: Failed to parse JSON"),
        (["--model-options", "stream=true"], "'stream' is set by the judge"),
        (["--strategy", "majorty"], "did you mean 'majority'?"),
        (["--min-votes", "3"], "min_votes is 3, but there are only 2 votes"),
        (["--weights", "much"], "neither reliability, nor numbers"),
        (["--length-penalty", "max_cap=10"], "max_cap must be above free_budget, found 10 and"),
        (["--length-penalty", "10"], "'10' is not of the form free_budget=6000"),
        (["--length-penalty", "max_cup=10"], "did you mean 'max_cap'?"),
    ],
)
def test_bad_input_is_one_line_before_anything_is_sent(
    rubricate, write_dataset, endpoint, given, message
):
    options = ["--judge", "m", "--judge", "n", "--base-url", endpoint.url, *given]
    done = rubricate("grade", write_dataset(), *options)
    assert done.returncode == 1
    assert done.stderr.count("\n") == 1
    assert message in done.stderr
    assert endpoint.requests == []
