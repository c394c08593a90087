"""What is shown while a run is on."""

from __future__ import annotations

import io
import re
from dataclasses import replace

import pytest
from rich.console import Console

from rubricate._terminal import console
from rubricate.cli._progress import ProgressView
from rubricate.rubric import Usage
from rubricate.run import Progress, progress_state

HALFWAY = Progress(
    total=200,
    done=100,
    failed=3,
    resumed=20,
    calls=80,
    in_flight=8,
    usages=[Usage(80, 30_000, 0, 2_000, 0.25)],
)


def shown(*, terminal: bool, quiet: bool = False, updates: int = 1) -> str:
    file = io.StringIO()
    console = Console(file=file, force_terminal=terminal, quiet=quiet, width=200)
    with ProgressView(console) as view:
        for _ in range(updates):
            view.update(HALFWAY)
    return file.getvalue()


def test_the_state_has_failures_rates_what_was_saved_and_the_cost():
    assert progress_state(HALFWAY, 10.0) == (
        "3 failed, 8 in flight, 8.0 calls/s, 3200 tokens/s, 20 stored answers, $0.2500"
    )
    assert "cost unknown" in progress_state(Progress(total=1, usages=[Usage(cost=None)]), 1.0)


def test_the_state_has_the_parts_of_long_documents_read_and_those_that_were_known():
    assert "parts" not in progress_state(Progress(total=1), 1.0)
    assert (
        "7 parts of long documents read, " in progress_state(Progress(total=1, parts=7), 1.0) + ", "
    )
    both = progress_state(Progress(total=1, parts=7, parts_known=40), 1.0)
    assert "7 parts of long documents read (40 more known)" in both


def test_a_terminal_shows_one_live_line():
    line = shown(terminal=True)
    assert "100/200" in line
    assert "3 failed, 8 in flight" in line
    assert "left" in line


@pytest.mark.parametrize(("interval", "lines"), [(0.0, 5), (3600.0, 0)])
def test_elsewhere_there_is_a_plain_line_now_and_then(monkeypatch, interval, lines):
    monkeypatch.setattr("rubricate.cli._progress.LINE_INTERVAL", interval)
    text = shown(terminal=False, updates=5)
    assert len(text.splitlines()) == lines
    if lines:
        assert text.startswith("judged 100 of 200, 3 failed, 8 in flight, ")
        assert " left" in text
        assert "\x1b" not in text


def test_the_first_trouble_is_told_at_once_and_later_ones_with_the_next_line(monkeypatch):
    monkeypatch.setattr("rubricate.cli._progress.LINE_INTERVAL", 3600.0)
    file = io.StringIO()
    with ProgressView(Console(file=file, width=200)) as view:
        for trouble in (None, "HTTP 429: later", "HTTP 429: again"):
            view.update(Progress(total=200, trouble=trouble))
    assert [line.partition(", retrying: ")[2] for line in file.getvalue().splitlines()] == [
        "HTTP 429: later"
    ]


def drawn(width: int, progress: Progress) -> str:
    """The last line that a terminal of this width shows, without its codes."""
    file = io.StringIO()
    screen = console(file=file, force_terminal=True, width=width)
    with ProgressView(screen) as view:
        view.update(Progress(total=progress.total))
        view.update(progress)
    plain = re.sub(r"\x1b\[[0-9;?]*[A-Za-z]", "", file.getvalue().replace("\r", "\n"))
    return [line for line in plain.splitlines() if line.strip()][-1]


@pytest.mark.parametrize("width", [200, 100, 80, 60, 40])
def test_bar_count_and_time_left_are_there_at_any_width(width):
    long = replace(HALFWAY, total=20_000, done=10_000, trouble="HTTP 429: " + "later " * 40)
    line = drawn(width, long)
    assert len(line) <= width
    assert "10000/20000 left " in line
    assert re.search(r"left (-|\d):", line)
    assert "━" in line
    assert ("3 failed, " in line) == (width >= 80)
    assert ("tokens/s" in line) == (width >= 200)


def test_trouble_is_told_above_a_line_that_has_no_room_for_it():
    file = io.StringIO()
    screen = console(file=file, force_terminal=True, width=80)
    with ProgressView(screen) as view:
        for _ in range(3):
            view.update(replace(HALFWAY, trouble="HTTP 429: [red]wait\nscore 1.00\x1b[2J"))
    assert file.getvalue().count("retrying: HTTP 429: [red]wait\\nscore 1.00\\u001b[2J") == 1


def test_a_quiet_run_shows_nothing(monkeypatch):
    monkeypatch.setattr("rubricate.cli._progress.LINE_INTERVAL", 0.0)
    assert shown(terminal=False, quiet=True) == shown(terminal=True, quiet=True) == ""
