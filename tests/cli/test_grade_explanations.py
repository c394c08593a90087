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


def test_a_prompt_that_cannot_be_used_is_one_line_before_anything_is_sent(
    rubricate, write_dataset, endpoint, tmp_path
):
    prompt = tmp_path / "own.jinja"
    options = ["grade", write_dataset(), "--base-url", endpoint.url, "--judge-prompt", prompt]
    prompt.write_text(OWN.replace("{{ prompt }}", "{{ promt }}"))
    done = rubricate(*options, "--judge", "m")
    assert done.returncode == 1
    assert done.stderr.startswith(
        f"Error: {prompt}:4: unknown variable 'promt': did you mean 'prompt'? (known: submission, "
    )
    assert len(done.stderr.splitlines()) == 1
    prompt.write_text(OWN)
    done = rubricate(*options, "--judge", "m", "--criteria-per-call", "2")
    assert "a judge prompt asks about one criterion" in done.stderr
    assert not endpoint.requests


def test_notes_context_and_conversations_of_a_table_reach_the_judge(rubricate, endpoint, tmp_path):
    rubric = [{"name": "speed", "requirement": "Gives the speed", "note": "In any unit."}]
    (tmp_path / "rubric.json").write_text(json.dumps(rubric))
    chat = [{"role": "user", "content": "How fast?"}, {"role": "assistant", "content": "Very."}]
    rows = [{"talk": chat, "passages": ["One.", {"title": "Two", "text": "two"}]}]
    (tmp_path / "talks.json").write_text(json.dumps(rows))
    done = rubricate(
        *("grade", "talks.json", "--rubric", "rubric.json", "--judge", "m"),
        *("--base-url", endpoint.url, "--map", "submission=talk,context=passages", "--json"),
        *("--length-penalty", "free_budget=0,max_cap=1,penalty_type=OUTPUT_ONLY"),
    )
    assert json.loads(done.stdout)["score"]["penalty"] == 0.5
    assert endpoint.requests[0].submission == "user: How fast?\nassistant: Very."
    message = user_messages(endpoint)[0]
    assert "Note on this criterion:\nIn any unit." in message
    assert "Title: Two\ntwo" in message
