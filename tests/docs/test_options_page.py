"""docs/options.md is made of the declarations."""

from __future__ import annotations

import runpy
from pathlib import Path

REPOSITORY = Path(__file__).parents[2]


def test_the_page_of_options_is_the_tools_own() -> None:
    tool = runpy.run_path(str(REPOSITORY / "tools" / "options_page.py"))
    written = (REPOSITORY / "docs" / "options.md").read_text("utf-8")
    assert tool["page"]() == written, "write it anew: python tools/options_page.py"
