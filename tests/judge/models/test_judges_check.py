"""`rubricate judges --check`: what each interface is seen to do, and how a failure shows."""

from __future__ import annotations

import json
from typing import Any

import pytest
from test_openai_responses import ResponsesEndpoint

from rubricate.testing import Rule, ScriptedEndpoint

UNREACHABLE = "http://127.0.0.1:9/v1"


def checked(rubricate: Any, *arguments: str, **variables: str) -> tuple[int, dict[str, Any]]:
    """The exit code and the rows, by judge."""
    done = rubricate("judges", "--check", "--json", *arguments, **variables)
    return done.returncode, {row["judge"]: row for row in json.loads(done.stdout)["checked"]}


@pytest.mark.parametrize(
    ("judge", "endpoint", "variable", "expected"),
    [
        ("openai/gpt-4o-mini", ScriptedEndpoint(), "OPENAI", ("json_schema", True, 0.15, 0.6)),
        (
            "openai-responses/gpt-5-pro",
            ResponsesEndpoint(),
            "OPENAI",
            ("json_schema", False, 15.0, 120.0),
        ),
        (
            "anthropic/claude-sonnet-4-5",
            ScriptedEndpoint(),
            "ANTHROPIC",
            ("json_schema", False, 3.0, 15.0),
        ),
        ("gemini/gemini-2.5-flash", ScriptedEndpoint(), "GEMINI", ("json_schema", True, 0.3, 2.5)),
        (
            "vllm/own",
            ScriptedEndpoint(formats=["json_object", "text"]),
            "VLLM",
            ("json_object", True, 0.0, 0.0),
        ),
        (
            "ollama/own",
            ScriptedEndpoint(formats=["text"], logprobs="ignored"),
            "OLLAMA",
            ("text", False, 0.0, 0.0),
        ),
    ],
)
def test_a_check_shows_what_an_interface_does(rubricate, judge, endpoint, variable, expected):
    with endpoint:
        url = endpoint.gemini_url if variable == "GEMINI" else endpoint.url
        keys = {f"{variable}_API_KEY": "sk-0123456789", f"{variable}_BASE_URL": url}
        code, rows = checked(rubricate, "--judge", judge, **keys)
        prompts = len(endpoint.requests)
    row = rows[judge]
    names = ("structured", "probabilities", "input_price", "output_price")
    assert (code, row["error"]) == (0, None)
    assert tuple(row[name] for name in names) == expected
    assert row["cached_tokens"] > 1000
    assert row["seconds"] > 0
    assert row["cost"] > 0 or expected[2] == 0
    assert prompts <= 6


def test_a_failure_is_a_row_with_its_reason_and_an_exit_code(rubricate):
    with ScriptedEndpoint([Rule(status=401, message="wrong key")]) as refuses:
        names = ["openai/a", "groq/b", "nobody/c", "builtin"]
        arguments = [part for name in names for part in ("--judge", name)]
        variables = {"OPENAI_API_KEY": "sk-0123456789", "OPENAI_BASE_URL": refuses.url}
        code, rows = checked(rubricate, *arguments, **variables)
        done = rubricate("judges", "--check", *arguments, **variables)
    assert (code, done.returncode, list(rows)) == (2, 2, names)
    for name, part in zip(names, ("wrong key", "GROQ_API_KEY", "nobody", None), strict=True):
        assert (part in rows[name]["error"]) if part else rows[name]["error"] is None
        assert name in done.stdout
        assert (part or "") in done.stdout
    assert done.stdout.count("failed") == 3


def test_a_settings_file_names_the_judges_and_where_they_are(rubricate, tmp_path):
    with ScriptedEndpoint() as endpoint:
        (tmp_path / "run.yaml").write_text(
            f"judge: [m, n]\nescalate_to: [o, people.jsonl]\nbase_url: {endpoint.url}\n"
        )
        assert checked(rubricate, "--config", "run.yaml")[1].keys() == {"m", "n", "o"}
        assert checked(rubricate, "--config", "run.yaml", "--judge", "p")[1].keys() == {"p", "o"}
        assert checked(rubricate, "--judge", "m", "--base-url", UNREACHABLE)[0] == 2


@pytest.mark.parametrize(
    ("arguments", "part"),
    [
        (["--check"], "--judge"),
        (["--judge", "openai/a"], "--check"),
        (["--base-url", UNREACHABLE], "--check"),
        (["--check", "--config", "no.yaml"], "no.yaml"),
    ],
)
def test_options_that_do_not_go_together_are_one_line(rubricate, arguments, part):
    done = rubricate("judges", *arguments)
    assert (done.returncode, done.stdout, len(done.stderr.splitlines())) == (1, "", 1)
    assert part in done.stderr
