"""What other people wrote does nothing to a terminal: no command prints it raw."""

from __future__ import annotations

import io
import json
import re
import unicodedata

import pytest

from rubricate._terminal import clean, console, one_line
from rubricate.testing import Rule, ScriptedEndpoint

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
    ("agree", "run"),
    ("agree", "run", "--json"),
    ("report", "run"),
    ("certify", "run", "-o", "c.json"),
    ("few-labels", "run"),
    ("export", "run", "-o", "run.csv"),
    ("cascade", "run"),
    ("calibrate", "run", "-o", "map.json"),
    ("variance", "run", "other"),
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
