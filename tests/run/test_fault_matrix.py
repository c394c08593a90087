"""The fault matrix of docs/reliability.md: nothing lost, wrong, paid twice or leaked."""

from __future__ import annotations

import importlib.util
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

sys.path.insert(0, str(Path(__file__).parents[2] / "tools"))
TOOL = Path(__file__).parents[2] / "tools" / "fault_matrix.py"
_spec = importlib.util.spec_from_file_location("fault_matrix", TOOL)
assert _spec is not None
assert _spec.loader is not None
fault_matrix = importlib.util.module_from_spec(_spec)
sys.modules["fault_matrix"] = fault_matrix
_spec.loader.exec_module(fault_matrix)
ROWS: dict[str, Callable[[Path], Any]] = fault_matrix.rows()


@pytest.mark.parametrize("fault", ROWS)
def test_a_fault_loses_nothing_invents_nothing_and_shows_no_key(fault: str, tmp_path: Path):
    outcome = ROWS[fault](tmp_path)
    assert outcome.held, outcome
