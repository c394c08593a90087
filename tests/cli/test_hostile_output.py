"""What other people wrote does nothing to a terminal: no command prints it raw."""

from __future__ import annotations

import io
import json
import re
import unicodedata

import pytest

from rubricate import Criterion, Rubric
from rubricate._terminal import clean, console, one_line
from rubricate.errors import JudgementError
from rubricate.testing import Rule, ScriptedEndpoint, assert_rubric

HOSTILE = (
    "\x1b]0;title\x07\x1b[2J\x9b31m\rFORGED\b\x7f\u202e\u2066\u200b\ufeff\u2028"
    "\U000e0041\U000e0042[red]x[/red][link=http://e.com]y[/link]"
)
FORGED = "\nscore   1.00   bounds 1.00 to 1.00\n"


def unsafe(text: str) -> set[str]:
    """The characters of an output that a terminal should not get."""
    return {
        letter
        for letter in text
        if letter != "\n" and unicodedata.category(letter) in ("Cc", "Cf", "Zl", "Zp", "Cs")
    }


@pytest.fixture
def hostile_run(rubricate, tmp_path):
    """A run in which everything that can be somebody else's text is hostile."""
    name = f"crit{HOSTILE}{FORGED}"
    items = [
        {
            "submission": f"light {number} {HOSTILE}{FORGED}",
            "id": f"id{number}{HOSTILE}{FORGED}",
            "description": f"what {HOSTILE}{FORGED}",
            "ground_truth": ["MET", "UNMET"],
            "metadata": {"group": f"g{number % 2}{HOSTILE}"},
        }
        for number in range(6)
    ]
    data = {
        "name": f"data{HOSTILE}{FORGED}",
        "prompt": f"How fast? {HOSTILE}",
        "rubric": [
            {"name": name, "weight": 1.0, "requirement": f"Says it {HOSTILE}"},
            {"name": "other", "weight": 1.0, "requirement": "Praises other things"},
        ],
        "items": items,
    }
    (tmp_path / "data.json").write_text(json.dumps(data), encoding="utf-8")
    rules = [
        Rule(submission="light 3", reply=f"nonsense {HOSTILE}"),
        Rule(submission="light 4", status=400, message=f"no {HOSTILE}"),
        Rule(
            submission="light 0", verdict="UNMET", reason=f"why {HOSTILE}{FORGED}", evidence=["no"]
        ),
        Rule(verdict="MET", reason=f"why {HOSTILE}{FORGED}", evidence=[f"quote {HOSTILE}{FORGED}"]),
    ]
    with ScriptedEndpoint(rules) as endpoint:
        options = ("--judge", f"m{HOSTILE}", "--base-url", endpoint.url, "--no-cache")
        yield (
            [
                rubricate("grade", "data.json", *options, "--run-dir", "run", "-vv"),
                rubricate("grade", "data.json", *options, "--run-dir", "other"),
            ],
            options,
        )


COMMANDS = (
    ("show", "run"),
    ("show", "run", "--json"),
    ("show", "run", "--criterion", "other"),
    ("show", "run", "--criterion", "other", "--prompt"),
    ("show", "run", "--criterion", "other", "--prompt", "--json"),
    ("show", "run", "--failed"),
    ("show", "run", "--item", f"nobody {HOSTILE}{FORGED}"),
    ("compare", "run", "other"),
    ("compare", "run", "other", "--json"),
    ("trust", "agree", "run"),
    ("trust", "agree", "run", "--json"),
    ("report", "run"),
    ("trust", "certify", "run", "-o", "c.json"),
    ("trust", "plan", "ppi", "run"),
    ("trust", "plan", "mean", f"run{HOSTILE}"),
    ("trust", "ppi", "run"),
    ("export", "run", "-o", "run.csv"),
    ("trust", "cascade", "run"),
    ("trust", "calibrate", "run", "-o", "map.json", "--force"),
    ("trust", "variance", "run", "other"),
    ("grade", f"nowhere {HOSTILE}.json"),
    ("grade", "data.json", "--limit", "2", "--dry-run"),
    ("judges", f"{HOSTILE}"),
    (f"command{HOSTILE}",),
)


def test_no_command_prints_a_control_character_of_somebody_else(hostile_run, rubricate, tmp_path):
    runs, options = hostile_run
    printed = [(done.args, done.stdout, done.stderr) for done in runs]
    for arguments in COMMANDS:
        more = options if "--dry-run" in arguments else ()
        done = rubricate(*arguments, *more)
        printed.append((arguments, done.stdout, done.stderr))
    for arguments, out, err in printed:
        assert not unsafe(out), arguments
        assert not unsafe(err), arguments
        assert "Traceback" not in err, (arguments, err)
        lines = [line.strip() for line in (out + err).splitlines()]
        if "--prompt" not in arguments:  # which prints texts as they are
            assert FORGED.strip() not in lines, arguments


REPORTS = (
    ("compare", "run", "other"),
    ("trust", "agree", "run"),
    ("trust", "variance", "run", "other"),
    ("trust", "certify", "run"),
)


@pytest.mark.usefixtures("hostile_run")
@pytest.mark.parametrize("command", REPORTS, ids=" ".join)
def test_no_report_in_markdown_has_one_either(rubricate, tmp_path, command):
    done = rubricate(*command, "-o", "report.md")
    assert done.returncode == 0, done.stderr
    text = (tmp_path / "report.md").read_text(encoding="utf-8")
    assert not unsafe(text)
    assert FORGED.strip() not in [line.strip() for line in text.splitlines()]


def test_markup_in_somebody_elses_text_is_text(hostile_run, rubricate):
    shown = rubricate("show", "run", "--failed", FORCE_COLOR="1", COLUMNS="4000")
    assert "[red]x[/red][link=http://e.com]y[/link]" in shown.stdout
    assert "]8;" not in shown.stdout


def test_json_stays_exact(hostile_run, rubricate, tmp_path):
    (item, *_) = json.loads(rubricate("show", "run", "--criterion", "other", "--json").stdout)[
        "items"
    ]
    assert item["item"] == f"id0{HOSTILE}{FORGED}"
    assert item["submission"] == f"light 0 {HOSTILE}{FORGED}"
    assert item["verdicts"][0]["reason"] == f"why {HOSTILE}{FORGED}"


def test_a_screen_gets_its_own_colours_and_no_other():
    file = io.StringIO()
    shown = console(file=file, force_terminal=True, color_system="standard", width=200)
    shown.print("\x1b[31mred\x1b[0m", style="bold")
    assert re.findall(r"\x1b\[[\d;]*m", file.getvalue()) == ["\x1b[1m", "\x1b[0m"]
    assert "\\u001b[31mred\\u001b[0m" in file.getvalue()


def test_all_that_does_something_is_escaped_and_the_rest_stays():
    for point in (*range(32), *range(0x7F, 0xA0), 0xAD, *range(0x202A, 0x202F), 0x2060, 0xE0041):
        letter = chr(point)
        if letter != "\n":
            assert clean(f"a{letter}b").isprintable()
            assert json.loads(f'"{clean(f"a{letter}b")}"') == f"a{letter}b"
    for text in ("Ärger, naïve, 中文", "می‌خواهم", "👩‍👩‍👧", "❤️", "a\nb", "क्‍ष", "100 €"):
        assert clean(text) == text
    assert clean("ev\u200dil") == "ev\\u200dil"
    assert clean("a\U000e0100\U000e0101\U000e0102") == "a\U000e0100\\udb40\\udd01\\udb40\\udd02"
    assert one_line("a\nb\u2028c") == "a\\nb\\u2028c"


def test_pairs_attacks_and_reports_print_none_either(rubricate, tmp_path):
    criteria = [{"name": f"c{HOSTILE}{FORGED}", "weight": 1, "requirement": f"Says {HOSTILE}"}]
    (tmp_path / "rubric.json").write_text(json.dumps(criteria))
    rows = [
        {"n": f"i{n}{HOSTILE}{FORGED}", "q": "?", "old": f"old {n}", "new": f"new {n}{HOSTILE}"}
        for n in range(3)
    ]
    (tmp_path / "both.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    task = {
        "prompt": f"Write {HOSTILE}",
        "domain": f"d{HOSTILE}{FORGED}",
        "sample_id": f"s{HOSTILE}{FORGED}",
        "rubrics": [{"criterion": "Says it", "axis": f"a{HOSTILE}{FORGED}", "weight": 1.0}],
    }
    other = {**task, "sample_id": "known"}
    (tmp_path / "tasks.jsonl").write_text(json.dumps(task) + "\n" + json.dumps(other) + "\n")
    folder = tmp_path / "agent_responses"
    folder.mkdir()
    (folder / "known.md").write_text(f"Text {HOSTILE}")
    (folder / "stray\x1b[2J\u202e\nscore 1.00.md").write_text("Text")
    pair = ("compare-pair", "both.jsonl", "--columns", "old,new", "--map", "prompt=q,id=n")
    for rule in (
        Rule(verdict="MET", reason=f"why {HOSTILE}{FORGED}"),
        Rule(reply=f"nonsense {HOSTILE}{FORGED}"),
        Rule(status=400, message=f"no {HOSTILE}{FORGED}"),
    ):
        with ScriptedEndpoint([rule]) as endpoint:
            judge = ("--judge", f"m{HOSTILE}", "--base-url", endpoint.url, "--no-cache", "--fresh")
            for command in (
                (*pair, "--rubric", "rubric.json", "--run-dir", "pairs", *judge),
                ("redteam", "--limit", "1", "--run-dir", "attacks", *judge),
                ("researchrubrics", "--tasks", "tasks.jsonl", "--run-dir", "graded", *judge),
            ):
                shown = [rubricate(*command, "-v"), rubricate(*command, "--json")]
                shown.append(rubricate("show", command[command.index("--run-dir") + 1]))
                for done in shown:
                    assert done.stdout + done.stderr
                    assert not unsafe(done.stdout), done.args
                    assert not unsafe(done.stderr), done.args
                    assert "Traceback" not in done.stderr, done.stderr
                    lines = [line.strip() for line in (done.stdout + done.stderr).splitlines()]
                    assert FORGED.strip() not in lines, done.args
                    assert "score 1.00.md" not in lines, done.args


@pytest.mark.parametrize("reply", [{"verdict": "UNMET", "reason": f"why {HOSTILE}{FORGED}"}, "?"])
def test_a_failing_assertion_prints_none(reply):
    rubric = Rubric([Criterion(name=f"c{HOSTILE}{FORGED}", requirement=f"Says {HOSTILE}")])
    answer = reply if isinstance(reply, str) else {"evidence": ["quote\x1b[2J"], **reply}
    with pytest.raises((AssertionError, JudgementError)) as caught:
        assert_rubric("light", rubric, judge=lambda messages: answer)
    assert not unsafe(str(caught.value))
    assert FORGED.strip() not in [line.strip() for line in str(caught.value).splitlines()]
