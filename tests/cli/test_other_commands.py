"""`rubricate show`, `init`, `judges` and the command itself."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from importlib.util import find_spec
from pathlib import Path

import pytest


def test_show_prints_the_run_again_and_as_json_its_summary(
    rubricate, write_dataset, endpoint, tmp_path
):
    judge = ("--judge", "m", "--base-url", endpoint.url, "--run-dir", "run")
    graded = rubricate("grade", write_dataset(), *judge)
    shown = rubricate("show", "run")
    assert (shown.returncode, shown.stdout) == (0, graded.stdout)
    summary = json.loads(rubricate("show", "run", "--json").stdout)
    assert summary == json.loads((tmp_path / "run" / "summary.json").read_text())


def test_show_of_no_run_is_one_line(rubricate, tmp_path):
    assert rubricate("show", "nowhere").stderr.startswith("Error: nowhere: no such run ")
    assert "not a run folder" in rubricate("show", ".").stderr


def test_show_of_a_run_that_was_killed_says_how_to_go_on(rubricate, tmp_path):
    (tmp_path / "journal.sqlite").write_bytes(b"")
    done = rubricate("show", ".")
    assert done.returncode == 1
    assert "has not ended" in done.stderr


def test_output_that_cannot_be_written_is_one_line():
    full = Path("/dev/full")
    if not full.exists():
        pytest.skip("needs /dev/full")
    command = [sys.executable, "-c", "from rubricate.cli import main; main()", "judges"]
    with full.open("w") as output:
        done = subprocess.run(
            command, check=False, stdout=output, stderr=subprocess.PIPE, text=True
        )
    assert done.returncode == 1
    assert done.stderr == "Error: [Errno 28] No space left on device\n"


def test_init_writes_files_that_grade(rubricate, tmp_path):
    done = rubricate("init", "start")
    assert done.returncode == 0, done.stderr
    graded = rubricate("grade", "--config", "start/run.yaml")
    assert graded.returncode == 0, graded.stderr
    assert "plants eat soil" in graded.stdout
    assert (tmp_path / "start" / "run" / "summary.json").exists()


def test_init_leaves_files_that_are_there(rubricate, tmp_path):
    (tmp_path / "rubric.yaml").write_text("mine")
    done = rubricate("init")
    assert done.returncode == 1
    assert "rubric.yaml already there" in done.stderr
    assert (tmp_path / "rubric.yaml").read_text() == "mine"
    assert rubricate("init", "--force").returncode == 0
    assert (tmp_path / "rubric.yaml").read_text() != "mine"


def test_judges_says_which_keys_are_set_and_never_shows_them(rubricate):
    done = rubricate("judges", GROQ_API_KEY="planted-key-1234")
    assert done.returncode == 0
    lines = {line.split()[0]: line for line in done.stdout.splitlines() if "API_KEY" in line}
    assert "set" in lines["groq/MODEL"]
    assert "missing" in lines["openai/MODEL"]
    assert "optional" in lines["ollama/MODEL"]
    assert "planted-key-1234" not in done.stdout
    here = "installed" if find_spec("pandas") else "not installed"
    assert f"extra pandas: {here}" in done.stdout
    told = json.loads(rubricate("judges", "--json", MISTRAL_API_KEY="k").stdout)
    keys = {row["judge"]: row["key_set"] for row in told["judges"]}
    assert (keys["mistral/MODEL"], keys["deepseek/MODEL"]) == (True, False)
    assert told["extras"]["pandas"] is (find_spec("pandas") is not None)


def test_without_a_command_it_shows_its_help_and_its_version_is_the_packages(installed):
    import rubricate as package

    done = installed()
    assert done.returncode == 0
    told = " ".join(done.stdout.split())
    assert "grade Judge every item of a dataset by every criterion. show" in told
    assert "..." not in told.split("Commands:")[1]  # every line is whole at 80 columns
    assert "redteam Test a judge" in told
    assert installed("--version").stdout == f"rubricate {package.__version__}\n"


def test_the_help_of_a_command_with_many_options_has_each_once_in_a_group(rubricate):
    told = rubricate("grade", "--help-all", COLUMNS="80").stdout
    sections = dict(re.findall(r"^(\S.*):\n((?:  .*\n)+)", told, re.M))
    found = {
        title: re.findall(r"^  (?:-., )?--([a-z-]+)", text, re.M)
        for title, text in sections.items()
    }
    assert found["Output"] == ["json", "quiet", "verbose", "help-all", "help"]
    assert "max-cost" in found["Limits"]
    names = [name for names in found.values() for name in names]
    assert len(names) == len(set(names)) > 50
    assert "Options:" in rubricate("trust", "agree", "--help").stdout


@pytest.mark.parametrize("command", ["grade", "compare-pair", "redteam", "researchrubrics"])
def test_the_help_of_a_command_with_many_options_shows_those_of_everyday_use(rubricate, command):
    short, whole = (rubricate(command, option).stdout for option in ("-h", "--help-all"))
    names = re.findall(r"^  (?:-., )?--([a-z-]+)", short, re.M)
    assert {"judge", "run-dir", "max-cost", "json", "help-all"} <= set(names)
    assert len(names) < 20
    assert set(names) < set(re.findall(r"^  (?:-., )?--([a-z-]+)", whole, re.M))


@pytest.mark.parametrize("wrong", ["--fail-if-worse", "--no-such-option", "a"])
def test_wrong_arguments_name_the_help_of_their_command(rubricate, wrong):
    assert "(see rubricate compare --help)" in rubricate("compare", wrong).stderr


def test_the_shell_is_also_a_module_and_completes_its_words():
    told = [sys.executable, "-m", "rubricate"]
    shown = subprocess.run([*told, "-h"], capture_output=True, text=True, check=True)
    assert "grade" in shown.stdout
    words = {
        "_RUBRICATE_COMPLETE": "complete_bash",
        "COMP_WORDS": "rubricate tr",
        "COMP_CWORD": "1",
    }
    found = subprocess.run(
        [Path(sys.executable).with_name("rubricate")],
        env={**os.environ, **words, "_RUBRICATE_COMPLETE": "complete_bash"},
        capture_output=True,
        text=True,
        check=True,
    )
    assert found.stdout.split() == ["trust"]


def test_a_command_that_is_not_there_is_told_with_the_one_that_is_near(rubricate):
    for given, near in (("gade", "grade"), ("agree", "trust agree")):
        done = rubricate(given)
        assert done.returncode == 1
        assert f"no such command '{given}'; did you mean '{near}'?" in done.stderr


EVERY_COMMAND = """
import runpy, sys
from contextlib import suppress
from typer.main import get_command
from rubricate.cli._app import app

def names(command, path):
    yield path
    for name in getattr(command, "list_commands", lambda context: [])(None):
        yield from names(command.get_command(None, name), [*path, name])

root = get_command(app)
for path in names(root, []):
    sys.argv = ["rubricate", *path, "--help"]
    with suppress(SystemExit):
        runpy.run_module("rubricate", run_name="__main__")
sys.argv = ["rubricate", "grade", DATASET, "--judge", "builtin", "--fresh"]
runpy.run_module("rubricate", run_name="__main__")
"""


def test_every_command_is_the_same_without_docstrings_and_assertions(write_dataset):
    program = EVERY_COMMAND.replace("DATASET", repr(str(write_dataset())))
    plain, bare = (
        subprocess.run(
            [sys.executable, *flags, "-c", program],
            env={**os.environ, "COLUMNS": "100", "NO_COLOR": "1"},
            capture_output=True,
            text=True,
            check=False,
        )
        for flags in ([], ["-OO"])
    )
    assert plain.stdout.count("Usage: ") > 20
    # The summary says how long it took, which differs from run to run.
    shown, expected = (
        re.sub(r"(?m)^( *seconds +)\d+\.\d", r"\1N", done.stdout) for done in (bare, plain)
    )
    assert expected != plain.stdout
    assert (bare.returncode, shown) == (0, expected)
    assert bare.stderr == plain.stderr
