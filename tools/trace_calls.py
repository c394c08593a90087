"""Trace the calls of this package's functions before the first request to a model.

    python tools/trace_calls.py             one `rubricate.grade` of 1 item by 2 criteria
    python tools/trace_calls.py --shell     `rubricate grade`, until its first byte is sent
    python tools/trace_calls.py --each      also each call, in its order and depth
    python tools/trace_calls.py --job       a whole `rubricate grade` of 20 items by 3 criteria: the
                                            files loaded, and the lines executed at least once

The judge is a Python callable, or a scripted endpoint for the shell. In Python, the second run is
traced, without what is only loaded once; in the shell, calls by imports count, too.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import tempfile
import threading
from asyncio import BaseEventLoop, selector_events
from collections.abc import Callable, Iterator
from contextlib import chdir, contextmanager, redirect_stdout, suppress
from inspect import CO_OPTIMIZED
from io import StringIO
from pathlib import Path
from subprocess import PIPE
from types import FrameType
from typing import Any
from unittest.mock import patch

import rubricate

SOURCE = str(Path(rubricate.__file__).parent)


class Trace:
    """Records the calls of the package's functions until it is stopped."""

    def __init__(self) -> None:
        self.calls: list[tuple[int, str, str]] = []
        self.is_over = False
        self._depth = 0

    def begin(self) -> None:
        """Start recording."""
        sys.setprofile(self._note)

    def stop(self) -> None:
        """Stop recording."""
        sys.setprofile(None)
        self.is_over = True

    def _note(self, frame: FrameType, event: str, _: object) -> None:
        file = frame.f_code.co_filename
        if event not in ("call", "return") or not file.startswith(SOURCE):
            return
        if not file.endswith(".py"):  # code from a jinja template: one step for each of its parts
            return
        if not frame.f_code.co_flags & CO_OPTIMIZED:  # the body of a module or class
            return
        if event == "call":
            name = getattr(frame.f_code, "co_qualname", frame.f_code.co_name)
            self.calls.append((self._depth, file.removeprefix(f"{SOURCE}{os.sep}"), name))
        self._depth += 1 if event == "call" else -1


def of_python() -> Trace:
    """Trace the calls of one `grade` until the callable is called."""
    from rubricate import Criterion, Rubric, RubricDataset

    trace = Trace()

    def judge(messages: Any) -> dict[str, Any]:
        trace.stop()
        return {"reason": "r", "evidence": [], "verdict": "MET"}

    def grade(*, noted: bool) -> None:
        rubric = Rubric([Criterion(name=name, requirement=f"Is {name}") for name in "ab"])
        dataset = RubricDataset("prompt", rubric)
        dataset.add_item("submission")
        if noted:
            trace.begin()
        rubricate.grade(dataset, judge)

    grade(noted=False)
    grade(noted=True)
    return trace


@contextmanager
def endpoint() -> Iterator[str]:
    """Run a scripted endpoint in a separate process, so that this one loads none of it."""
    program = (
        "import sys; from rubricate.testing import ScriptedEndpoint\n"
        "with ScriptedEndpoint() as endpoint: print(endpoint.url, flush=True); sys.stdin.read()"
    )
    with subprocess.Popen([sys.executable, "-c", program], stdin=PIPE, stdout=PIPE) as process:
        assert process.stdin is not None
        assert process.stdout is not None
        yield process.stdout.readline().decode().strip()
        process.stdin.close()


def run_shell(url: str, criteria: str, items: int, *options: str) -> None:
    """Run `rubricate grade` quietly in this process and the current folder."""
    from rubricate.cli import main

    rubric = [{"name": name, "requirement": f"Is {name}"} for name in criteria]
    labels = ["MET"] * len(criteria)
    texts = [
        {"submission": f"text {number}", "description": "d", "ground_truth": labels}
        for number in range(items)
    ]
    data = {"prompt": "p", "rubric": rubric, "items": texts}
    Path("data.json").write_text(json.dumps(data), encoding="utf-8")
    sys.argv = ["rubricate", "grade", "data.json", "--judge", "m", "--quiet", "--no-cache"]
    sys.argv += ["--base-url", url, *options]
    with suppress(SystemExit), redirect_stdout(StringIO()):
        main()


def of_shell() -> Trace:
    """Trace the calls of `rubricate grade` until a transport gets its first bytes."""
    from rubricate.cli import main  # noqa: F401  (loading it is not counted)

    trace = Trace()
    transport: Any = selector_events._SelectorSocketTransport  # type: ignore[attr-defined]
    write: Callable[..., Any] = transport.write

    def noted(self: Any, data: Any) -> Any:
        if not trace.is_over:
            trace.stop()
        return write(self, data)

    with (
        tempfile.TemporaryDirectory() as folder,
        endpoint() as url,
        chdir(folder),
        patch.object(BaseEventLoop, "time", lambda _: 0.0),  # no timers on a slow machine
    ):
        transport.write = noted
        trace.begin()
        try:
            run_shell(url, "ab", 1)
        finally:
            transport.write = write
    return trace


def lines_of_job() -> tuple[int, int]:
    """Count the package's files that a `rubricate grade` loads, and the lines it executes."""
    lines: set[tuple[str, int]] = set()

    def of_frame(frame: FrameType, event: str, _: object) -> Any:
        if not frame.f_code.co_filename.startswith(SOURCE):
            return None
        lines.add((frame.f_code.co_filename, frame.f_lineno))
        return of_frame

    for name in [name for name in sys.modules if name.partition(".")[0] == "rubricate"]:
        del sys.modules[name]  # so that modules loaded before count, too
    with (
        tempfile.TemporaryDirectory() as folder,
        endpoint() as url,
        chdir(folder),
        patch.object(BaseEventLoop, "time", lambda _: 0.0),  # as above
    ):
        threading.settrace(of_frame)
        sys.settrace(of_frame)
        try:
            run_shell(url, "abc", 20, "--json")
        finally:
            sys.settrace(None)
            threading.settrace(None)
    loaded = [name for name in sys.modules if name.partition(".")[0] == "rubricate"]
    return len(loaded), len(lines)


def main() -> None:
    """Print the trace."""
    parser = argparse.ArgumentParser(description="Count the calls until a model is first asked.")
    parser.add_argument("--shell", action="store_true", help="of the shell, to the first byte")
    parser.add_argument("--each", action="store_true", help="print each call")
    parser.add_argument("--job", action="store_true", help="files and lines of a whole job")
    options = parser.parse_args()
    if options.job:
        print("{} files loaded, {} lines executed".format(*lines_of_job()))
        return
    trace = of_shell() if options.shell else of_python()
    if options.each:
        for depth, file, name in trace.calls:
            print(f"{'  ' * min(depth, 20)}{name}  {file}")
    files = {file for _, file, _ in trace.calls}
    print(f"{len(trace.calls)} calls in {len(files)} files")


if __name__ == "__main__":
    main()
