"""Commands on an event loop and with modules as Windows has them, emulated here."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

WINDOWS = """
import asyncio.unix_events, os, signal, sys

def absent(*_, **__):
    raise NotImplementedError

loop = asyncio.unix_events._UnixSelectorEventLoop
loop.add_signal_handler = loop.remove_signal_handler = absent

class Absent:
    def find_spec(self, name, path=None, target=None):
        if name in ("fcntl", "resource", "pwd", "grp", "termios", "tty"):
            raise ImportError(f"No module named {name!r}")

sys.meta_path.insert(0, Absent())
for name in ("fcntl", "resource", "pwd", "grp", "termios", "tty"):
    sys.modules.pop(name, None)
for name in ("fork", "register_at_fork", "O_DIRECTORY"):
    if hasattr(os, name):
        delattr(os, name)
for name in ("SIGHUP", "siginterrupt"):
    delattr(signal, name)
from rubricate.cli import main
main()
"""
pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="this is no emulation there")


def begin(folder: Path, *arguments: str) -> subprocess.Popen[str]:
    without_names = {
        name: value
        for name, value in os.environ.items()
        if name not in ("LOGNAME", "USER", "LNAME", "USERNAME")
    }
    return subprocess.Popen(
        [sys.executable, "-c", WINDOWS, *arguments],
        cwd=folder,
        env=without_names,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
    )


def test_commands_that_judge_end_as_elsewhere(tmp_path, write_dataset: Any):
    dataset = str(write_dataset())
    for command in (["grade", dataset], ["grade", dataset, "--json"]):
        process = begin(tmp_path, *command, "--no-cache", "--run-dir", "run")
        said, _ = process.communicate(timeout=60)
        assert process.returncode == 0, said
        assert "Traceback" not in said


def test_an_interrupted_command_ends_cleanly(tmp_path, write_dataset: Any):
    process = begin(tmp_path, "label", str(write_dataset()), "--no-browser", "--annotator", "a")
    assert process.stdout is not None
    begun = process.stdout.readline()
    assert "http://127.0.0.1" in begun, begun
    process.send_signal(signal.SIGINT)
    said, _ = process.communicate(timeout=30)
    assert process.returncode in (0, 130), said
    assert "Traceback" not in said


def test_a_user_without_a_name_may_label(tmp_path):
    (tmp_path / "data.json").write_text(
        json.dumps({"prompt": "p", "rubric": ["Says it."], "items": [{"submission": "s"}]})
    )
    process = begin(tmp_path, "label", "data.json", "--no-browser")
    assert process.stdout is not None
    begun = process.stdout.readline()
    process.kill()
    process.communicate()
    assert "http://127.0.0.1" in begun
