"""Programs as users of AutoRubric and Ragas write them print what they do with those packages.

The outputs beside the programs are those of the released packages; `pytest -m neighbours` runs the
packages themselves. The clients of openai and langchain are stand-ins here (`clients.py`).
"""

from __future__ import annotations

import json
import os
import re
import runpy
import subprocess
import sys
from pathlib import Path

import pytest

from rubricate.testing import ScriptedEndpoint

PROGRAMS = Path(__file__).parents[1] / "neighbours" / "programs"
ANSWERS = runpy.run_path(str(PROGRAMS / "answers.py"))
DRIVER = """
import contextlib, io, json, os, runpy, sys, tempfile, traceback
runpy.run_path(sys.argv[2])
outputs = {}
for name, program in json.load(sys.stdin).items():
    os.chdir(tempfile.mkdtemp(dir=sys.argv[1]))
    printed = io.StringIO()
    with contextlib.redirect_stdout(printed):
        try:
            exec(compile(program, name, "exec"), {"__name__": "__main__"})
        except BaseException:
            traceback.print_exc(file=printed)
    outputs[name] = [line for line in printed.getvalue().splitlines() if line.strip()]
json.dump(outputs, sys.stdout)
"""


@pytest.mark.parametrize(
    ("system", "respond"), [("autorubric", "of_criteria"), ("ragas", "of_scores")]
)
def test_programs_print_what_they_do_with_the_released_package(
    system: str, respond: str, tmp_path: Path
) -> None:
    expected = json.loads((PROGRAMS / f"{system}.json").read_text("utf-8"))
    programs = {
        name: re.sub(
            rf"\b(from|import) {system}\b",
            rf"\1 rubricate.dialects.{system}",
            (PROGRAMS / system / f"{name}.py").read_text("utf-8"),
        )
        for name in expected
    }
    with ScriptedEndpoint(respond=ANSWERS[respond]) as endpoint:
        addresses = dict.fromkeys(("ADDRESS", "OPENAI_API_BASE", "OPENAI_BASE_URL"), endpoint.url)
        done = subprocess.run(
            [
                sys.executable,
                "-W",
                "ignore",
                "-c",
                DRIVER,
                str(tmp_path),
                str(PROGRAMS / "clients.py"),
            ],
            input=json.dumps(programs),
            capture_output=True,
            text=True,
            check=True,
            env={**os.environ, **addresses, "OPENAI_API_KEY": "none"},
        )
    assert json.loads(done.stdout) == expected
