"""`rubricate grade` with what explains the rubric: own prompts, notes, context, conversations."""

from __future__ import annotations

import json

OWN = """---
variables: [prompt, submission, criterion]
---
{{ prompt }}
{{ submission }}

Own question: {{ criterion }}
"""


def user_messages(endpoint):
    return [request.body["messages"][1]["content"] for request in endpoint.requests]


def test_a_prompt_of_ones_own_is_used_resumed_and_named_in_the_record(
    rubricate, write_dataset, endpoint, tmp_path
):
    prompt = tmp_path / "own.jinja"
    prompt.write_text(OWN)
    options = ["grade", write_dataset(), "--judge", "m", "--base-url", endpoint.url, "--no-cache"]
    options += ["--json", "--judge-prompt", prompt]
    summary = json.loads(rubricate(*options).stdout)
    assert summary["prompt_version"].startswith("own.jinja ")
    assert summary["run_dir"] == "runs/data-m-own"
    assert all("Own question: " in message for message in user_messages(endpoint))
    assert len(endpoint.requests) == 4
    again = json.loads(rubricate(*options).stdout)
    assert (again["usage"]["calls"], again["usage"]["resumed"]) == (0, 4)
    assert rubricate("trust", "certify", summary["run_dir"]).returncode == 0
    prompt.write_text(OWN + "Be strict.")
    options += ["--certificate", "certificate.json"]
    changed = json.loads(rubricate(*options).stdout)
    assert (changed["usage"]["calls"], changed["prompt_version"]) != (
        0,
        summary["prompt_version"],
    )
    assert "certified is own.jinja" in changed["certificate"]["differences"][0]
