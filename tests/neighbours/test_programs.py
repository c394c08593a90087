"""Programs as users of AutoRubric and Ragas write them: they print the same there and here."""

from __future__ import annotations

import os
import re
import runpy
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from rubricate.testing import ScriptedEndpoint

pytestmark = pytest.mark.neighbours
PROGRAMS = Path(__file__).parent / "programs"
ANSWERS = runpy.run_path(str(PROGRAMS / "answers.py"))
SYSTEMS = {
    "autorubric": ("of_criteria", ("autorubric>=1.6,<2",)),
    "ragas": ("of_scores", ("ragas==0.4.3", "langchain-community<0.4", "langchain-openai")),
}


def printed(python: str, program: str, address: str, folder: Path) -> str:
    """What a program prints, without the lines of libraries."""
    folder.mkdir()
    done = subprocess.run(
        [python, "-W", "ignore", "-c", program],
        capture_output=True,
        text=True,
        check=False,
        cwd=folder,
        env={
            **os.environ,
            **dict.fromkeys(("ADDRESS", "OPENAI_API_BASE", "OPENAI_BASE_URL"), address),
            "OPENAI_API_KEY": "none",
            "LITELLM_LOCAL_MODEL_COST_MAP": "True",
            "RAGAS_DO_NOT_TRACK": "true",
        },
    )
    assert done.returncode == 0, done.stderr
    lines = [line for line in done.stdout.splitlines() if line.strip()]
    return "\n".join(line for line in lines if "Provider List" not in line)


@pytest.mark.parametrize(
    "program", sorted(PROGRAMS.glob("*/*.py")), ids=lambda path: f"{path.parent.name}-{path.stem}"
)
def test_a_program_prints_the_same_there_and_here(
    program: Path, neighbour: Callable[..., str], tmp_path: Path
) -> None:
    system = program.parent.name
    respond, requirements = SYSTEMS[system]
    python = neighbour(system, *requirements)
    theirs = program.read_text("utf-8")
    ours = re.sub(rf"\b(from|import) {system}\b", rf"\1 rubricate.dialects.{system}", theirs)
    if system == "ragas":  # the clients that its users have
        [packages] = Path(python).parent.parent.glob("lib/python*/site-packages")
        ours = f"import sys; sys.path.append({str(packages)!r})\n{ours}"
    with ScriptedEndpoint(respond=ANSWERS[respond]) as endpoint:
        there = printed(python, theirs, endpoint.url, tmp_path / "there")
        here = printed(sys.executable, ours, endpoint.url, tmp_path / "here")
    assert here == there
