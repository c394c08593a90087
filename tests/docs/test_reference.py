"""The reference is whole: every public name, every command, every page; and it is short."""

from __future__ import annotations

import inspect
import re
import runpy
from importlib import import_module
from pathlib import Path
from typing import Any

import pytest
import yaml

import rubricate

ROOT = Path(__file__).parents[2]
DOCS = ROOT / "docs"
DOORS = ("rubricate", "rubricate.stats", "rubricate.testing")
"""Modules whose every public name has its place in the reference."""
ENTRIES = {
    name: page
    for page in sorted((DOCS / "api").glob("*.md"))
    for name in re.findall(r"^::: (\S+)$", page.read_text("utf-8"), re.MULTILINE)
}


def _pages(part: Any) -> list[str]:
    if isinstance(part, str):
        return [part]
    inner = part.values() if isinstance(part, dict) else part
    return [page for one in inner for page in _pages(one)]


SITE = yaml.safe_load((ROOT / "mkdocs.yml").read_text("utf-8"))
SECTIONS = {name: _pages(pages) for section in SITE["nav"] for name, pages in section.items()}

PROSE = [page for name in ("How-to", "Explanation") for page in SECTIONS[name]]


def test_the_page_of_commands_is_the_tools_own() -> None:
    tool = runpy.run_path(str(ROOT / "tools" / "commands_page.py"))
    written = (DOCS / "commands.md").read_text("utf-8")
    assert tool["page"]() == written, "write it anew: python tools/commands_page.py"


def test_language_models_find_every_page() -> None:
    listed = re.findall(r"\]\((.*?)/\)", (DOCS / "llms.txt").read_text("utf-8"))
    there = [page.removesuffix(".md") for pages in SECTIONS.values() for page in pages]
    missing = {*there, "."} - {*listed, "index"}
    assert not missing, f"python tools/llms_page.py adds {missing}"


def test_the_site_does_not_repeat_the_options() -> None:
    tool = runpy.run_path(str(ROOT / "tools" / "own_docstrings.py"))
    shown = tool["without_options"](inspect.getdoc(rubricate.grade))
    assert "dataset:" in shown
    assert "(../options.md)" in shown
    assert "max_cost" not in shown


def test_the_diagrams_are_the_tools_own() -> None:
    tool = runpy.run_path(str(ROOT / "tools" / "diagrams.py"))
    for name, diagram in tool["DIAGRAMS"].items():
        written = (DOCS / "images" / f"{name}.svg").read_text("utf-8")
        assert tool["picture"](diagram) == written, "draw it anew: python tools/diagrams.py"
        for box in diagram[1].values():
            assert max(map(len, box.text.split("\n"))) <= 30, "a line is wider than its box"


def test_every_page_is_on_the_site_once() -> None:
    there = {str(page.relative_to(DOCS)) for page in DOCS.rglob("*.md")}
    listed = [page for pages in SECTIONS.values() for page in pages]
    assert sorted(listed) == sorted(there)


@pytest.mark.parametrize("door", DOORS)
def test_every_public_name_is_in_the_reference(door: str) -> None:
    module = import_module(door)
    missing = [
        name
        for name in module.__all__
        if (inspect.isclass(one := getattr(module, name)) or inspect.isfunction(one))
        and f"{door}.{name}" not in ENTRIES
        and f"rubricate.{name}" not in ENTRIES
    ]
    assert missing == []


def test_a_name_of_the_reference_says_what_it_takes() -> None:
    for name in ENTRIES:
        module, _, own = name.rpartition(".")
        one = getattr(import_module(module), own)
        said = inspect.getdoc(one) or ""
        assert said, name
        for parameter in inspect.signature(one).parameters if inspect.isfunction(one) else ():
            assert re.search(rf"\b{parameter}\b", said), f"{name}: {parameter}"


def test_the_glossary_has_few_words_of_our_own() -> None:
    words = (DOCS / "glossary.md").read_text("utf-8").partition("\n## ")[0]
    assert 10 < len(re.findall(r"^\| (?!word \|)[^|-]", words, re.M)) <= 18


def test_a_page_ends_with_where_to_go_next() -> None:
    for page in PROSE:
        last = (DOCS / page).read_text("utf-8").strip().splitlines()[-1]
        assert last.startswith("Next: ["), page
