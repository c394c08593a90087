"""Every code block of README.md and docs/ runs, and prints what the page says it prints."""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
import yaml

from rubricate import Rubric, RubricDataset
from rubricate.testing import ScriptedEndpoint

ROOT = Path(__file__).parents[2]
PAGES = [ROOT / "README.md", *sorted((ROOT / "docs").glob("*.md"))]
FENCE = re.compile(r"^```(\w*)\n(.*?)^```$", re.MULTILINE | re.DOTALL)
INSTALLS = ("pip install", "git clone", "pytest", "python tools/")
"""Commands that a test cannot repeat from inside the suite; `.ci/run` runs them."""


def same_but_for_times(text: str) -> str:
    """Text without what differs from run to run."""
    text = re.sub(r"^(seconds\s+)[\d.]+\s*$", r"\g<1>N", text, flags=re.MULTILINE)
    return "\n".join(line.rstrip() for line in text.strip().splitlines())


def run_shell(command: str, folder: Path, address: str) -> str:
    environment = {
        **os.environ,
        "PATH": f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}",
        "OPENAI_API_KEY": "not-a-key",
        "OPENAI_BASE_URL": address,
        "COLUMNS": "80",
        "NO_COLOR": "1",
    }
    done = subprocess.run(
        ["bash", "-c", command],
        cwd=folder,
        env=environment,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        timeout=120,
        check=False,
    )
    return done.stdout


def check_console(block: str, folder: Path, address: str) -> None:
    for part in re.split(r"^\$ ", block, flags=re.MULTILINE)[1:]:
        command, _, expected = part.partition("\n")
        command = " && ".join(
            piece for piece in command.split(" && ") if not piece.startswith(INSTALLS)
        )
        if not command:
            continue
        printed = run_shell(command, folder, address)
        assert "Traceback" not in printed
        if expected.strip():
            assert same_but_for_times(printed) == same_but_for_times(expected)


def check_data(language: str, block: str) -> None:
    data = json.loads(block) if language == "json" else yaml.safe_load(block)
    if isinstance(data, dict) and "prompt" in data:
        RubricDataset.from_dict(data)
    else:
        Rubric.from_dict(data)


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_every_code_block_of_the_page_works(page, tmp_path, monkeypatch):
    shutil.copytree(ROOT / "examples", tmp_path / "examples")
    monkeypatch.chdir(tmp_path)
    namespace: dict[str, object] = {"__name__": "page"}
    with ScriptedEndpoint() as endpoint:
        monkeypatch.setenv("OPENAI_API_KEY", "not-a-key")
        monkeypatch.setenv("OPENAI_BASE_URL", endpoint.url)
        for language, block in FENCE.findall(page.read_text("utf-8")):
            if language == "python":
                exec(compile(block, str(page), "exec"), namespace)
            elif language == "console":
                check_console(block, tmp_path, endpoint.url)
            elif language == "bash":
                lines = [line for line in block.splitlines() if not line.startswith(INSTALLS)]
                printed = run_shell("set -e\n" + "\n".join(lines), tmp_path, endpoint.url)
                assert "Error" not in printed
            elif language in ("json", "yaml"):
                check_data(language, block)
            else:
                assert language == "text", f"{page.name}: a block in '{language}' is not tested"
