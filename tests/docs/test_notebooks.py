"""The notebooks in examples/ run from the first cell to the last."""

from __future__ import annotations

import json
import os
import shutil
from pathlib import Path
from typing import Any

import nbformat
import pytest

EXAMPLES = Path(__file__).parents[2] / "examples"
NOTEBOOKS = sorted((EXAMPLES / "notebooks").glob("*.ipynb"))


def executed(path: Path, folder: Path, monkeypatch: pytest.MonkeyPatch) -> Any:
    """A notebook run by a kernel in a copy of the examples; an error in a cell is one here."""
    from nbclient import NotebookClient

    monkeypatch.setenv("PYTHONWARNINGS", "default")  # the kernel's own are not ours
    monkeypatch.setenv("IPYTHONDIR", str(folder / "ipython"))
    monkeypatch.setenv("JUPYTER_PLATFORM_DIRS", "1")
    for name in [one for one in os.environ if one.endswith("_API_KEY")]:
        monkeypatch.delenv(name)
    shutil.copytree(EXAMPLES, folder / "examples")
    where = {"metadata": {"path": str(folder / "examples" / "notebooks")}}
    found = nbformat.read(path, as_version=4)
    return NotebookClient(found, timeout=120, resources=where, kernel_name="python3").execute()


@pytest.mark.filterwarnings("ignore::DeprecationWarning")
@pytest.mark.filterwarnings("ignore::ResourceWarning")
@pytest.mark.parametrize("path", NOTEBOOKS, ids=lambda path: path.stem)
def test_a_notebook_runs(path: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    done = executed(path, tmp_path, monkeypatch)
    shown = json.dumps([cell.outputs for cell in done.cells if cell.cell_type == "code"])
    assert "text/html" in shown
    assert "Traceback" not in shown


def test_notebooks_are_kept_without_outputs() -> None:
    assert len(NOTEBOOKS) == 3
    for path in NOTEBOOKS:
        for cell in nbformat.read(path, as_version=4).cells:
            assert not cell.get("outputs")
            assert cell.get("execution_count") is None


def test_a_slow_run_shows_a_bar_in_the_cell_that_runs_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    source = """
import time
import rubricate
from rubricate import Criterion, PythonModel, Rubric, RubricDataset

def judge(messages):
    time.sleep(0.3)
    return '{"reason": "r", "evidence": [], "verdict": "MET"}'

dataset = RubricDataset("Why?", Rubric([Criterion(name="a", requirement="r")]))
for number in range(4):
    dataset.add_item(f"because {number}")
rubricate.grade(dataset, PythonModel(judge), concurrency=1)
"""
    cell = nbformat.v4.new_code_cell(source)
    path = tmp_path / "slow.ipynb"
    nbformat.write(nbformat.v4.new_notebook(cells=[cell]), path)
    done = executed(path, tmp_path, monkeypatch)
    bars = [
        one["data"]["text/html"]
        for one in done.cells[0].outputs
        if "progress of a run" in one.get("data", {}).get("text/plain", "")
    ]
    assert len(bars) == 1
    assert 'value="4" max="4"' in bars[0]
    assert "judged 4 of 4, 0 failed" in bars[0]
