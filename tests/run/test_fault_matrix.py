"""The fault matrix of docs/reliability.md: nothing lost, wrong, paid twice or leaked."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from postgres import tool

fault_matrix, NoServer = tool("fault_matrix"), tool("postgres_server").NoServer
ROWS: dict[str, Callable[[Path], Any]] = fault_matrix.rows()


@pytest.mark.parametrize("fault", ROWS)
def test_a_fault_loses_nothing_invents_nothing_and_shows_no_key(fault: str, tmp_path: Path):
    try:
        outcome = ROWS[fault](tmp_path)
    except NoServer as error:
        if os.environ.get("CI") == "true":
            raise
        pytest.skip(f"needs PostgreSQL: {error}")
    assert outcome.held, outcome
