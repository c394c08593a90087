"""What a shell offers as values, and that each command names the next one."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from rubricate.testing import Rule, ScriptedEndpoint

RUBRICATE = Path(sys.executable).with_name("rubricate")


@pytest.mark.parametrize(
    ("words", "offered"),
    [
        ("rubricate grade --mode ", ["explained", "probability"]),
        ("rubricate grade --cannot-assess p", ["partial"]),
        ("rubricate grade --judge openr", ["openrouter/"]),
        ("rubricate show ", ["runs/one"]),
        ("rubricate grade ans", ["answers.csv"]),
    ],
)
def test_values_are_completed(tmp_path: Path, words: str, offered: list[str]) -> None:
    (tmp_path / "runs" / "one").mkdir(parents=True)
    (tmp_path / "runs" / "one" / "run.json").write_text("{}")
    (tmp_path / "answers.csv").write_text("submission\n")
    count = len(words.split()) - (not words.endswith(" "))
    done = subprocess.run(
        [RUBRICATE],
        cwd=tmp_path,
        env={
            **os.environ,
            "_RUBRICATE_COMPLETE": "complete_bash",
            "COMP_WORDS": words,
            "COMP_CWORD": str(count),
        },
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.stdout.split() == offered, done.stderr


def test_a_quiet_command_still_warns_of_its_figures(rubricate, write_dataset) -> None:
    rules = [Rule(verdict="MET", evidence=["this is not in the submission"])]
    with ScriptedEndpoint(rules) as judge:
        options = ("--judge", "m", "--base-url", judge.url, "--run-dir", "run", "--quiet")
        done = rubricate("grade", write_dataset(), *options)
    assert done.stdout == ""
    assert "quotes are not in the submission" in done.stderr


def test_the_last_line_is_the_next_command(rubricate, write_dataset) -> None:
    graded = rubricate("grade", write_dataset(), "--run-dir", "my run")
    next_line = graded.stdout.splitlines()[-1]
    assert next_line.endswith("rubricate trust agree 'my run'")
    assert rubricate("trust", "agree", "my run").returncode == 0
    assert "Next" not in rubricate("show", "my run", "--json").stdout
    assert "Next" not in rubricate("grade", write_dataset(), "--run-dir", "q", "--quiet").stdout


def test_init_starts_from_a_table_of_yours(rubricate, tmp_path: Path) -> None:
    (tmp_path / "mine.csv").write_text("ID,userQuery,bot_reply,of\n1,Where?,Here it is.,north\n")
    done = rubricate("init", "start", "--from", "mine.csv")
    assert done.stdout.splitlines()[-1] == "Next: rubricate grade --config start/run.yaml"
    graded = rubricate("grade", "--config", "start/run.yaml", "--json")
    assert graded.returncode == 0, graded.stderr
    [item] = rubricate_items(tmp_path / "start" / "run")
    assert (item["item"], item["prompt"], item["submission"]) == ("1", "Where?", "Here it is.")


@pytest.mark.parametrize(
    ("names", "mapped", "missing"),
    [
        (("TicketNo", "Customer", "Reply"), "submission=Reply,prompt=Customer,id=TicketNo", ()),
        (("ticket_id", "user_message", "bot_message"), "bot_message,prompt=user_message,id=", ()),
        (("shop_id", "Agent", "bot_response"), "map: submission=bot_response\n", ("prompt", "id")),
    ],
)
def test_init_maps_columns_by_name_and_content(rubricate, tmp_path, names, mapped, missing) -> None:
    rows = ["1,Where is my parcel?,On its way to you.", "2,Can I return it?,Not this lamp."]
    if missing:  # an id that is not distinct, and names of people
        rows = ["1,Ann,On its way to you.", "1,Bob,Not this lamp."]
    (tmp_path / "mine.csv").write_text("\n".join([",".join(names), *rows, ""]))
    done = rubricate("init", "start", "--from", "mine.csv")
    assert mapped in (tmp_path / "start" / "run.yaml").read_text()
    assert [f"add {role}=COLUMN" in done.stdout for role in ("prompt", "id")] == [
        role in missing for role in ("prompt", "id")
    ]


def test_init_names_the_columns_where_none_looks_like_answers(rubricate, tmp_path: Path) -> None:
    (tmp_path / "odd.csv").write_text("a,b\n1,2\n")
    done = rubricate("init", "start", "--from", "odd.csv")
    assert "--map submission=COLUMN" in done.stderr
    assert not (tmp_path / "start").exists()
    assert rubricate("init", "start", "--from", "odd.csv", "--map", "submission=c").returncode == 1
    assert rubricate("init", "--map", "submission=b").returncode == 1
    done = rubricate("init", "start", "--from", "odd.csv", "--map", "submission=b,id=a")
    assert done.returncode == 0, done.stderr
    assert "map: submission=b,id=a" in (tmp_path / "start" / "run.yaml").read_text()


def test_init_says_that_a_table_has_another_delimiter(rubricate, tmp_path: Path) -> None:
    (tmp_path / "odd.csv").write_text("answer;question\nParis;Where?\n")
    done = rubricate("init", "start", "--from", "odd.csv")
    assert "';'" in done.stderr
    assert not (tmp_path / "start").exists()


def rubricate_items(run: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in (run / "items.jsonl").read_text().splitlines()]
