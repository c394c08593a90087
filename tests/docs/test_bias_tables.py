"""The table of planted biases in docs/measurements.md is the one that its tool prints."""

from __future__ import annotations

import runpy
from pathlib import Path

REPOSITORY = Path(__file__).parents[2]


def test_the_table_of_planted_biases_is_the_tools_own() -> None:
    tool = runpy.run_path(str(REPOSITORY / "tools" / "bias_tables.py"))
    page = (REPOSITORY / "docs" / "measurements.md").read_text()
    assert tool["HEAD"] in page
    ways = ["probability", "probability, no logprobs"]
    rows = tool["rows"](biases=["first place and MET"], ways=ways)
    assert [row in page for row in rows] == [True, True]
