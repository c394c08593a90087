"""Every code block of README.md and docs/ runs, and prints what the page says it prints.

The model answers by the rules in `examples/model.yaml`, and by keywords where none applies.

Where that is to change (a word, a figure), renew the pages and read the diff:

    pytest -n 0 tests/docs/test_code_blocks.py --renew-snapshots
"""

from __future__ import annotations

import io
import json
import math
import os
import re
import shlex
import shutil
import subprocess
import sys
from collections.abc import Iterator
from contextlib import redirect_stdout
from pathlib import Path
from textwrap import dedent, indent
from typing import Any

import pytest
import yaml

from rubricate import Rubric, RubricDataset
from rubricate.errors import MissingExtraError
from rubricate.testing import ScriptedEndpoint, load_rules

ROOT = Path(__file__).parents[2]
PAGES = [ROOT / "README.md", *sorted((ROOT / "docs").rglob("*.md"))]
FENCE = re.compile(r"^( *)```(\w*)\n(.*?)^\1```$", re.MULTILINE | re.DOTALL)
"""A block; in a list or a tab it is indented."""
BLOCKS = {
    page: [(kind, dedent(block)) for _, kind, block in FENCE.findall(page.read_text("utf-8"))]
    for page in PAGES
}
PROGRAM = re.compile(
    r"^( *)```python\n(.*?)^\1```\n\n\1```text\n(?!\$)(.*?)^\1```$", re.MULTILINE | re.DOTALL
)
PRINTED = {
    page: {dedent(block): dedent(out) for _, block, out in PROGRAM.findall(page.read_text("utf-8"))}
    for page in PAGES
}
"""What a page shows below a program: all that it prints, or the lines that matter."""
OURS = re.compile(r"(?!.*\|\|)rubricate (?P<arguments>[^;&|<>`]+?)(?P<rest> [|>][^;&]*)?")
"""A line that runs our command, and what is done with its output."""
PRINTS = re.compile(r"^ *print\(.*\)  # ([\[\d].*)$", re.MULTILINE)
"""What a line of Python prints, if its comment begins as a list or a number does."""
INSTALLS = ("python -m venv", ". .venv", "pip install", "git clone", "pytest", "python tools/")
"""Commands that a test cannot repeat from inside the suite; `.ci/run` runs them."""


def same_but_for_times(text: str) -> str:
    """Text without what differs from run to run, such as the progress of one that took long."""
    text = re.sub(r"^judged \d+ of \d+, .*\n", "", text, flags=re.MULTILINE)
    text = re.sub(r"\d{4}-\d\d-\d\d[T ]\d\d:\d\d(:\d\d)?", "TIME", text)
    text = re.sub(r"^(seconds\s+)[\d.]+\s*$", r"\g<1>N", text, flags=re.MULTILINE)
    text = re.sub(r"\d+ kB", "N kB", text)
    text = re.sub(r"  \$0\.\d{4}(?= +\d)", "  $N", text)  # a judge's cost, with what was cached
    if re.search(r"\(\d+ cached\)", text):  # which request is the first to be cached differs
        text = re.sub(r"\(\d+ cached\)", "(N cached)", text)
        text = re.sub(r"^((?:cost|price)\s+)\$.*$", r"\g<1>N", text, flags=re.MULTILINE)
    return "\n".join(line.rstrip() for line in text.strip().splitlines())


class OpenPage:
    """A page whose blocks are run one after the other, in one folder and against one endpoint."""

    def __init__(self, page: Path, folder: Path, run_here: Any, *, is_renewed: bool) -> None:
        self.page, self._folder, self._run_here = page, folder, run_here
        self._is_renewed = is_renewed
        self._blocks = BLOCKS[page]
        self._next = 0
        self._names: dict[str, object] = {"__name__": "page"}
        self._endpoint = ScriptedEndpoint(load_rules(ROOT / "examples" / "model.yaml"))
        self._endpoint.__enter__()
        shutil.copytree(ROOT / "examples", folder / "examples")

    def close(self) -> None:
        self._endpoint.__exit__(None, None, None)

    def run(self, number: int, monkeypatch: pytest.MonkeyPatch) -> None:
        """Run a block, and before it those that have not been run here, as a reader would."""
        monkeypatch.chdir(self._folder)
        for name in ("OPENAI", "ANTHROPIC"):
            monkeypatch.setenv(f"{name}_API_KEY", "not-a-key")
            monkeypatch.setenv(f"{name}_BASE_URL", self._endpoint.url)
        monkeypatch.setenv("XDG_CACHE_HOME", str(self._folder / "cache"))
        monkeypatch.setenv("COLUMNS", "80")
        monkeypatch.setenv("NO_COLOR", "1")
        while self._next <= number:
            self._next += 1
            self._run(*self._blocks[self._next - 1])

    def _run(self, language: str, block: str) -> None:
        # What is out at the end of a block has an answer when the reader comes back.
        batches = self._endpoint.batches
        is_first = "--no-wait" in block and not batches.batches
        batches.script.seconds = math.inf if is_first else 0.0
        if language == "python":
            printed = io.StringIO()
            with redirect_stdout(printed):
                exec(compile(block, str(self.page), "exec"), self._names)
            assert set(PRINTS.findall(block)) <= set(printed.getvalue().splitlines())
            check_printed(PRINTED[self.page].get(block, ""), printed.getvalue())
        elif language == "console":
            self._check_console(block)
        elif language == "bash":
            lines = [line for line in block.splitlines() if not line.startswith(INSTALLS)]
            assert "Error" not in self._shell("\n".join(lines))
        elif language in ("json", "yaml"):
            check_data(language, block)
        else:
            assert language == "text", f"a block in '{language}' is not tested"

    def _check_console(self, block: str) -> None:
        for part in re.split(r"^\$ ", block, flags=re.MULTILINE)[1:]:
            command, _, expected = part.partition("\n")
            command = " && ".join(
                piece for piece in command.split(" && ") if not piece.startswith(INSTALLS)
            )
            if not command:
                continue
            printed = self._shell(command)
            assert "Traceback" not in printed
            if not expected.strip() or same_but_for_times(printed) == same_but_for_times(expected):
                continue
            if not self._is_renewed:
                assert same_but_for_times(printed) == same_but_for_times(expected)
            lines = [line.rstrip() for line in printed.strip().splitlines()]
            anew = "\n".join([part.removesuffix(expected).rstrip("\n"), *lines, ""])
            text = self.page.read_text("utf-8")
            for margin in ("", "    "):  # a block in a list or a tab is indented
                text = text.replace(indent(f"$ {part}", margin), indent(f"$ {anew}", margin))
            self.page.write_text(text, "utf-8")

    def _shell(self, script: str) -> str:
        printed = self._printed(script)
        if needs := re.search(r"^Error: (.*) needs an extra: .*\[(\w+)\]", printed, re.MULTILINE):
            raise MissingExtraError(needs[1], needs[2])
        return printed

    def _printed(self, script: str) -> str:
        """What a script prints; lines that are nothing but our command are run in this process."""
        lines = script.replace("\\\n", " ").splitlines()
        found = [OURS.fullmatch(line) for line in lines]
        printed = ""
        if all(found):
            for match in found:
                assert match is not None
                printed += self._ours(match["arguments"], match["rest"])
            return printed
        return self._bash(f"set -e\n{script}")

    def _ours(self, arguments: str, rest: str | None) -> str:
        given = shlex.split(os.path.expandvars(arguments))
        done = self._run_here(self._folder, *given, together=not rest, COLUMNS="80")
        assert done.returncode in (0, 1, 2, 8)
        return done.stderr + (self._bash(f"cat {rest}", done.stdout) if rest else done.stdout)

    def _bash(self, script: str, given: str = "") -> str:
        path = f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"
        done = subprocess.run(
            ["bash", "-c", script],
            cwd=self._folder,
            env={**os.environ, "PATH": path},
            input=given,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            timeout=120,
            check=False,
        )
        return done.stdout


def check_printed(expected: str, printed: str) -> None:
    """The lines of a page are printed, in any order, because streams have none; `...` is for those
    that it leaves out."""
    lines = same_but_for_times(printed).splitlines()
    for line in same_but_for_times(expected).splitlines():
        assert line == "..." or line in lines, f"{line!r} is not printed there: {printed}"


def check_data(language: str, block: str) -> None:
    data = json.loads(block) if language == "json" else yaml.safe_load(block)
    if isinstance(data, dict) and "prompt" in data:
        RubricDataset.from_dict(data)
    else:
        Rubric.from_dict(data)


@pytest.fixture(scope="module")
def open_page(
    run_here: Any, tmp_path_factory: pytest.TempPathFactory, request: pytest.FixtureRequest
) -> Iterator[Any]:
    """Open a page at its beginning, or give the one that is open."""
    now: list[OpenPage] = []

    def give(page: Path) -> OpenPage:
        if not now or now[0].page != page:
            for one in now:
                one.close()
            folder = tmp_path_factory.mktemp(page.stem)
            is_renewed = request.config.getoption("renew_snapshots")
            now[:] = [OpenPage(page, folder, run_here, is_renewed=is_renewed)]
        return now[0]

    yield give
    for one in now:
        one.close()


CASES = [(page, number) for page, blocks in BLOCKS.items() for number in range(len(blocks))]


@pytest.mark.parametrize(
    ("page", "number"), CASES, ids=[f"{page.name}-{number + 1}" for page, number in CASES]
)
def test_a_code_block_works_after_those_before_it(open_page, monkeypatch, page, number):
    open_page(page).run(number, monkeypatch)
