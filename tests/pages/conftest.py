"""A real browser, headless.

Each file has one of its own: as long as it is open, its driver's event loop counts as running in
this thread, and tests of other folders that the same worker takes could run none of theirs.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

COMMAND = Path(sys.executable).with_name("rubricate")
BROWSERS = ("chromium", "chromium-browser", "google-chrome")


def missing(why: str) -> None:
    """Leave browser tests out; where CI runs them, that is a failure."""
    if os.environ.get("CI"):
        pytest.fail(f"{why}, and CI must not leave browser tests out")
    pytest.skip(why)


@pytest.fixture(scope="module")
def browser() -> Iterator[Any]:
    """Chromium, for one file: a test of another would find the driver's event loop running."""
    path = next(filter(None, map(shutil.which, BROWSERS)), None)
    if path is None:
        missing("no Chromium here (apt-get install chromium)")
    try:
        from playwright.sync_api import sync_playwright
    except ImportError:
        missing("playwright is not installed")
    with sync_playwright() as driver:
        running = driver.chromium.launch(executable_path=path, args=["--no-sandbox"])
        yield running
        running.close()


Open = Callable[..., Any]


@pytest.fixture
def new_page(browser: Any) -> Iterator[Open]:
    """Open an address in a window of its own; what the console complains of fails the test."""
    windows, complaints = [], []

    def note(message: Any) -> None:
        refused = "status of 409" in message.text  # what the page itself says in words
        if message.type in ("error", "warning") and not refused:
            complaints.append(message.text)

    def open_page(url: str, **options: Any) -> Any:
        window = browser.new_context(**{"viewport": {"width": 1280, "height": 860}, **options})
        window.set_default_timeout(15_000)
        windows.append(window)
        page = window.new_page()
        page.on("console", note)
        page.on("pageerror", lambda error: complaints.append(str(error)))
        page.goto(url)
        page.wait_for_selector("body[data-ready]")
        return page

    yield open_page
    for window in windows:
        window.close()
    assert complaints == []


Run = Callable[..., "subprocess.CompletedProcess[str]"]


@pytest.fixture(scope="session")
def run_command() -> Run:
    """Run the installed command in a folder."""

    def run(folder: Path, *arguments: str | Path) -> subprocess.CompletedProcess[str]:
        done = subprocess.run(
            [COMMAND, *map(str, arguments)],
            cwd=folder,
            env={**os.environ, "XDG_CACHE_HOME": str(folder / "cache"), "OPENAI_API_KEY": "none"},
            capture_output=True,
            text=True,
            timeout=120,
            check=False,
        )
        assert done.returncode in (0, 2), done.stderr
        return done

    return run


Serve = Callable[..., "tuple[subprocess.Popen[str], str]"]


@pytest.fixture
def serve_page(tmp_path: Path) -> Iterator[Serve]:
    """Start a command that serves a page; gives its process and the page's address."""
    running: list[subprocess.Popen[str]] = []

    def start(*arguments: str | Path) -> tuple[subprocess.Popen[str], str]:
        process = subprocess.Popen(
            [COMMAND, *map(str, arguments), "--no-browser"],
            cwd=tmp_path,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )
        running.append(process)
        assert process.stdout is not None
        url = process.stdout.readline().strip()
        assert url.startswith("http://127.0.0.1:"), process.communicate()[1]
        return process, url

    yield start
    for process in running:
        process.kill()
        process.communicate()
