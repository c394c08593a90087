"""Words and names that are no longer used do not come back."""

from __future__ import annotations

import importlib.util
from pathlib import Path
from types import ModuleType

import pytest

TOOL = Path(__file__).parents[1] / "tools" / "retired_words.py"


@pytest.fixture(scope="module")
def tool() -> ModuleType:
    spec = importlib.util.spec_from_file_location("retired_words", TOOL)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def test_no_package_uses_more_retired_words_than_its_ceiling(tool: ModuleType):
    """`python tools/retired_words.py --list PACKAGE` shows where they are."""
    counts = tool.counts()
    assert {name: count for name, count in counts.items() if count > tool.CEILINGS[name]} == {}
    assert counts.keys() == tool.CEILINGS.keys()


def test_words_are_found_in_text_and_names_in_code(tool: ModuleType, tmp_path: Path):
    code, page = tmp_path / "a.py", tmp_path / "a.md"
    code.write_text('given = "no option was told"  # one of us\nalone = 1\n', encoding="utf-8")
    page.write_text("The run goes on.\nOne is given.\n", encoding="utf-8")
    assert [word for _, word in tool.occurrences(code)] == ["given", "told"]
    assert [*tool.occurrences(page)] == [(1, "goes on")]
