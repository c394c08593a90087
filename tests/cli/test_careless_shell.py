"""The command on a careless stranger's shell: one line that says what, where and what to do."""

from __future__ import annotations

import gzip
import json
import os
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

COMMAND = Path(sys.executable).with_name("rubricate")


def refused(done: Any) -> str:
    """What is said in the one line of a command that could not begin."""
    assert (done.returncode, done.stdout) == (1, ""), done.stderr
    assert done.stderr.startswith("Error: "), done.stderr
    assert len(done.stderr.splitlines()) == 1
    return str(done.stderr)


@pytest.mark.parametrize(
    ("name", "content", "told"),
    [
        ("data.json", b"", "data.json: file is empty"),
        ("data.json", b"\xef\xbb\xbf \r\n", "data.json: file is empty"),
        ("data.json", b"hello", "data.json:1:1: Failed to parse JSON"),
        ("data.json", b"a,b\n1,2\n", "it begins with 'a,b 1,2': is it another"),
        ("data.json", b'{\n// a note\n"a": 1}', "JSON has no comments: take them out"),
        ("data.json", '{"a": 1}'.encode("utf-16"), "is UTF-16 text; save it as UTF-8"),
        ("data.json", '{"a": 1}'.encode("utf-16-le"), "is binary, or UTF-16: save it as UTF-8"),
        ("data.jsonl", '{"a": "é"}'.encode("latin-1"), "data.jsonl:1: is not UTF-8 text"),
        ("data.yaml", b"a:\n\t- b", "data.yaml:2:1: Failed to parse YAML"),
        ("data.yaml", b"!!python/object/apply:os.getcwd []", "could not determine a constructor"),
        ("data.txt", b"hello", "data.txt: is one text, not a dataset"),
        ("data.json", b'{"prompt": "p",\n "rubric" [', "data.json:2:11: Failed to parse JSON"),
        ("data.json", b'"text"', "Expected JSON object"),
        ("data.json", b"[1, 2]", "a table has no rubric: give --rubric"),
        ("data.json", b'{"prompt": "p", "rubric": []}', "at least one criterion"),
        ("data.json", b'{"prompt": "p"}', "Missing required field: 'rubric'"),
        (
            "data.json",
            b'{"rows": [{"a": 1}]}',
            "if 'rows' has the records to grade, save that list",
        ),
        ("data.yaml", b"criteria: [The text is short]", "looks like a rubric"),
        ("data.json", b'{"@context": {}, "rating": [1]}', "karenina.Benchmark.load"),
        ("data.json", b'{"promt": "p"}', "did you mean 'prompt'"),
        ("data.json", b'{"a": None}', "JSON writes null, true and false"),
        ("data.json", b'{"a": 1}\n{"a": 2}', "a value on each line is named .jsonl"),
    ],
)
def test_a_file_that_is_no_dataset_is_one_line(
    rubricate: Any, tmp_path: Path, name: str, content: bytes, told: str
):
    (tmp_path / name).write_bytes(content)
    assert told in refused(rubricate("grade", name))


def test_records_without_a_submission_say_which_fields_there_are(rubricate: Any, tmp_path: Path):
    (tmp_path / "rubric.yaml").write_text("[The text is short]", "utf-8")
    (tmp_path / "pairs.jsonl").write_text('{"prompt": "q", "chosen": "a", "rejected": "b"}\n' * 2)
    error = refused(rubricate("grade", "pairs.jsonl", "--rubric", "rubric.yaml"))
    assert all(told in error for told in ("'chosen'", "--map submission=FIELD", "compare-pair"))


def test_a_table_that_is_compressed_or_a_link_to_itself_is_one_line(rubricate: Any, tmp_path: Path):
    (tmp_path / "rubric.yaml").write_text("[The text is short]", "utf-8")
    (tmp_path / "packed.csv").write_bytes(gzip.compress(b"submission\nA text\n"))
    (tmp_path / "loop.csv").symlink_to("loop.csv")
    for name, told in (("packed", "is compressed: name it .gz"), ("loop", "is a link to a file")):
        assert told in refused(rubricate("grade", f"{name}.csv", "--rubric", "rubric.yaml"))


@pytest.mark.parametrize(
    ("content", "told"),
    [
        (b"PK\x03\x04\x14\x00\x06\x00", "book.csv:1: is a binary file, not a table of text"),
        (b"PK\x03\x04\xff\xfe", "is a spreadsheet"),
    ],
)
def test_a_spreadsheet_that_is_called_a_table_is_one_line(
    rubricate: Any, tmp_path: Path, content: bytes, told: str
):
    (tmp_path / "rubric.json").write_text('[{"requirement": "x"}]')
    (tmp_path / "book.csv").write_bytes(content)
    assert told in refused(rubricate("grade", "book.csv", "--rubric", "rubric.json"))


@pytest.mark.parametrize(
    ("arguments", "told"),
    [
        (("grade", ""), "an argument is empty; is a variable of the shell not set?"),
        (("grade", "data.json", "--rubric", ""), "--rubric is empty"),
        (("grade", "data.json", "--run-dir="), "--run-dir is empty"),
        (("show", ""), "an argument is empty"),
        (("grade", "data.json", "--judge", "own.py:Mine"), "is given to rubricate.grade in Python"),
        (("grade", "data.json", "--limit", "0"), "limit must be at least 1, found 0"),
        (
            ("grade", "data.json", "--judge", "builtin", "--concurrency", "-1"),
            "must be at least 1, found -1",
        ),
        (("grade", "data.json", "--replicates", "9" * 20), "replicates must be at most 1,000"),
        (("grade", "data.json", "--partial", "nan"), "partial must be a finite number, found nan"),
        (("trust", "agree", "run", "--seed", "-1"), "seed must be at least 0, found -1"),
        (("compare", "run", "run", "--fail-if-worse", "nan"), "fail_if_worse must be a finite num"),
        (("compare", "run", "run", "-o", "x.txt"), "x.txt: the file's name must end in one of"),
        (("show", "no-such-run", "-o", "x"), "x: the file's name must end in one of .md, .html"),
        (("show", "run", "-o", "no/x.md"), "no/x.md: cannot be written: there is no folder no"),
        (("show", "run", "--by", "nosuch"), "there is none: a column of the table that --map does"),
        (("show", "data.json"), "data.json: no such run folder"),
        (("grade", "data.jsn"), "data.jsn: file not found; did you mean 'data.json'?"),
        (("grade", "nowhere.json"), "nowhere.json: file not found"),
        (("show", "RUN"), "RUN: no such run folder; did you mean 'run'?"),
        (("show", "ru"), "ru: no such run folder; did you mean 'run'?"),
        (("show", "."), "it has no summary.json; name one of those in it: run"),
    ],
)
def test_an_argument_that_cannot_be_meant_is_one_line(
    rubricate: Any, write_dataset: Any, arguments: tuple[str, ...], told: str
):
    write_dataset()
    assert rubricate("grade", "data.json", "--run-dir", "run", "-q").returncode == 0
    assert told in refused(rubricate(*arguments))


@pytest.mark.parametrize(
    "name", ["--help", "-", "../../x", "con", "/etc/passwd", "x" * 300, "🙂", "[/b] [red]", "a\nb"]
)
def test_criteria_may_have_any_name(rubricate: Any, write_dataset: Any, tmp_path: Path, name: str):
    items = [
        {"submission": f"Text {n}.", "description": "", "ground_truth": ["MET"]} for n in (1, 2)
    ]
    write_dataset(
        rubric=[{"name": name, "requirement": "Gives roughly 300000 kilometres"}], items=items
    )
    assert rubricate("grade", "data.json", "--run-dir", "run", "-q").returncode == 0
    for command in (
        *(("show", "run"), ("show", "run", f"--criterion={name}"), ("trust", "agree", "run")),
        *(("export", "run", "-o", "x.csv"), ("compare", "run", "run", "-o", "x.md")),
    ):
        done = rubricate(*command)
        assert (done.returncode, done.stderr) == (0, "")
    assert {path.name for path in tmp_path.iterdir()} == {"data.json", "run", "x.csv", "x.md"}


def test_a_name_that_no_file_can_hold_is_refused(rubricate: Any, write_dataset: Any):
    write_dataset(rubric=[{"name": "a\ud800b", "requirement": "x"}])
    told = refused(rubricate("grade", "data.json"))
    assert "name: holds half a character" in told
    write_dataset(items=[{"id": "\udc00", "submission": "x", "description": ""}])
    assert "items[0].id: holds half a character" in refused(rubricate("grade", "data.json"))


def test_a_run_folder_whose_rubric_is_another_is_one_line(
    rubricate: Any, write_dataset: Any, tmp_path: Path
):
    write_dataset()
    rubricate("grade", "data.json", "--run-dir", "run", "-q")
    summary = (tmp_path / "run/summary.json").read_text()
    trust = [("trust", name) for name in ("agree", "cascade", "certify", "ppi")]
    commands = (*trust, ("report",))
    for rubric in ("- {name: other, requirement: x}", "items: {a: [{name: o, requirement: x}]}"):
        (tmp_path / "run/rubric.yaml").write_text(rubric)
        for command in (*((*name, "run") for name in commands), ("compare", "run", "run")):
            assert "run/rubric.yaml: has no criterion 'speed'" in refused(rubricate(*command))
        told = refused(rubricate("show", "run", "--failed"))
        assert "run the same grade command again" in told
    assert rubricate("grade", "data.json", "--run-dir", "run", "-q").returncode == 0
    assert rubricate("trust", "agree", "run").returncode == 0
    for wrong in ('{"judge": 3, "cannot_assess": "x"}', '{"judge": "x", "partial": "y"}'):
        (tmp_path / "run/summary.json").write_text(wrong)
        assert "run/summary.json: not a run's summary" in refused(
            rubricate("compare", "run", "run")
        )
    (tmp_path / "run/summary.json").write_text(summary)


@pytest.mark.parametrize("columns", ["0", "1", "20", "60", "-5", "x"])
def test_a_narrow_terminal_cuts_no_figure(rubricate: Any, write_dataset: Any, columns: str):
    write_dataset()
    rubricate("grade", "data.json", "--run-dir", "run", "-q")
    told = (("show",), ("trust", "agree"))
    wide = [rubricate(*name, "run", COLUMNS="80").stdout for name in told]
    narrow = [rubricate(*name, "run", COLUMNS=columns).stdout for name in told]
    assert narrow == wide


@pytest.mark.skipif(os.name != "posix", reason="a shell of POSIX")
def test_closed_and_full_streams_end_without_a_traceback(write_dataset: Any, tmp_path: Path):
    write_dataset(rubric=[{"name": "größe ☃", "requirement": "Is big"}], items=ITEMS)
    script = f"""
        r() {{ {COMMAND} "$@"; }}
        r grade data.json --run-dir run >&- 2>&- <&-; echo $?
        head -c 6 run/journal.sqlite; echo
        r show run --json >&-; echo $?
        r show run 2>&- | head -n 1 | cut -c 1-3; echo $?
        r show run > /dev/full; echo $?
        PYTHONIOENCODING=ascii r show run > shown.txt; echo $?
    """
    done = subprocess.run(
        ["sh", "-c", script],
        cwd=tmp_path,
        env={**os.environ, "NO_COLOR": "1"},
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )
    assert done.stdout.split() == ["0", "SQLite", "0", "lig", "0", "1", "0"]
    assert done.stderr == "Error: [Errno 28] No space left on device\n"
    assert "gr??e ?" in (tmp_path / "shown.txt").read_text()


ITEMS = [{"submission": f"Text {number}", "description": ""} for number in range(30)]


@pytest.mark.skipif(
    os.name != "posix" or os.geteuid() != 0 or shutil.which("mount") is None,
    reason="a small file system is mounted, which takes root",
)
def test_a_full_disk_loses_nothing_that_was_judged(rubricate: Any, write_dataset: Any, tmp_path):
    items = [{"submission": f"{n} " + "x" * 2000, "description": ""} for n in range(300)]
    write_dataset(items=items)
    (tmp_path / "small").mkdir()
    mount = ["mount", "-t", "tmpfs", "-o", "size=300k", "tmpfs", str(tmp_path / "small")]
    if subprocess.run(mount, capture_output=True, check=False).returncode:
        pytest.skip("nothing can be mounted here")
    try:
        grade = ("grade", "data.json", "--run-dir", "small/run", "--no-cache", "-q")
        told = refused(rubricate(*grade))
        assert "is full; what was committed is kept: make room" in told
        subprocess.run([*mount[:3], "-o", "remount,size=9m", mount[-1]], check=True)
        assert rubricate(*grade).returncode == 0
        usage = json.loads((tmp_path / "small/run/summary.json").read_text())["usage"]
        assert usage["calls"] + usage["resumed"] == 600
        assert usage["resumed"] > 0
    finally:
        subprocess.run(["umount", mount[-1]], check=True)
