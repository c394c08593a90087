"""The way through: the calls of this package's functions until a model is first asked.

    python tools/trace_calls.py             one `rubricate.grade` of 1 item by 2 criteria
    python tools/trace_calls.py --shell     `rubricate grade`, until its first byte is sent
    python tools/trace_calls.py --each      also each call, in its order and depth

The judge is a Python callable, or a scripted endpoint for the shell. What is loaded once (imports)
is left out: of Python, a second run is looked at.
"""

from __future__ import annotations

import argparse
import json
import os
import sys
import tempfile
from asyncio import selector_events
from collections.abc import Callable
from pathlib import Path
from types import FrameType
from typing import Any

import rubricate
from rubricate import Criterion, Rubric, RubricDataset

SOURCE = str(Path(rubricate.__file__).parent)


class Trace:
    """Notes the calls of the package's functions, until it is told to stop."""

    def __init__(self) -> None:
        self.calls: list[tuple[int, str, str]] = []
        self.is_over = False
        self._depth = 0

    def begin(self) -> None:
        """Note calls from here on."""
        sys.setprofile(self._note)

    def stop(self) -> None:
        """Note no more."""
        sys.setprofile(None)
        self.is_over = True

    def _note(self, frame: FrameType, event: str, _: object) -> None:
        file = frame.f_code.co_filename
        if event not in ("call", "return") or not file.startswith(SOURCE):
            return
        if frame.f_code.co_name == "<module>":
            return
        if event == "call":
            name = getattr(frame.f_code, "co_qualname", frame.f_code.co_name)
            self.calls.append((self._depth, file.removeprefix(f"{SOURCE}{os.sep}"), name))
        self._depth += 1 if event == "call" else -1


def of_python() -> Trace:
    """The calls of one `grade`, until the callable is asked."""
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


def of_shell() -> Trace:
    """The calls of `rubricate grade`, until a transport is given its first bytes."""
    from rubricate.cli import main
    from rubricate.testing import ScriptedEndpoint

    trace = Trace()
    transport: Any = selector_events._SelectorSocketTransport  # type: ignore[attr-defined]
    write: Callable[..., Any] = transport.write

    def noted(self: Any, data: Any) -> Any:
        if not trace.is_over:
            trace.stop()
        return write(self, data)

    with tempfile.TemporaryDirectory() as folder, ScriptedEndpoint() as endpoint:
        os.chdir(folder)
        rubric = [{"name": name, "requirement": f"Is {name}"} for name in "ab"]
        items = [{"submission": "s", "description": "d"}]
        data = {"prompt": "p", "rubric": rubric, "items": items}
        Path("data.json").write_text(json.dumps(data), encoding="utf-8")
        sys.argv = ["rubricate", "grade", "data.json", "--judge", "m", "--quiet", "--no-cache"]
        sys.argv += ["--base-url", endpoint.url]
        transport.write = noted
        trace.begin()
        try:
            main()
        except SystemExit:
            pass
        finally:
            transport.write = write
            os.chdir("/")
    return trace


def main() -> None:
    """Print the trace."""
    parser = argparse.ArgumentParser(description="Count the calls until a model is first asked.")
    parser.add_argument("--shell", action="store_true", help="of the shell, to the first byte")
    parser.add_argument("--each", action="store_true", help="print each call")
    told = parser.parse_args()
    trace = of_shell() if told.shell else of_python()
    if told.each:
        for depth, file, name in trace.calls:
            print(f"{'  ' * min(depth, 20)}{name}  {file}")
    files = {file for _, file, _ in trace.calls}
    print(f"{len(trace.calls)} calls in {len(files)} files")


if __name__ == "__main__":
    main()
