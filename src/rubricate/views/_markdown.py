"""Sections as Markdown, for a pull request or a notebook."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence

from rubricate._terminal import clean
from rubricate.views._format import estimate_text
from rubricate.views._sections import (
    Cell,
    Changes,
    Column,
    Facts,
    Paragraph,
    Passage,
    Row,
    Section,
    Words,
    changes_last,
)

STRONG = ("strong", "alarm")
FENCE = "    "
"""The prefix of lines of other people's text: in a code block, nothing counts as markup."""


def as_markdown(
    title: str, front: Sequence[Sequence[Paragraph]], sections: Iterable[Section]
) -> str:
    """Render a document without control characters, because it may be shown on a terminal.

    Args:
        title: its heading.
        front: blocks of lines before the sections.
        sections: its contents; changes come last, because there can be many.
    """
    lines = [f"# {markdown_text(title)}", ""]
    for block in front:
        lines += ["  \n".join(_words(line.parts) for line in block), ""]
    for section in changes_last(sections):
        lines += _block(section)
    return clean("\n".join(lines).rstrip() + "\n")


def markdown_text(text: str) -> str:
    """Escape text, so that it can neither leave its line nor contain markup."""
    safe = " ".join(text.split()).replace("&", "&amp;").replace("<", "&lt;")
    for mark in "\\|`*_[]":
        safe = safe.replace(mark, f"\\{mark}")
    return safe


def _block(section: Section) -> list[str]:
    if isinstance(section, Paragraph):
        return [_words(section.parts), ""] if section.text else []
    if isinstance(section, Facts):
        return [*(f"- **{name}**: {markdown_text(text)}" for name, text in section.flowing), ""]
    if isinstance(section, Passage):
        return [*(FENCE + line for line in f"{section.text}{section.more}".splitlines()), ""]
    if isinstance(section, Changes):
        table = _block(section.table) if section.changes else []
        return [f"## {markdown_text(section.heading)}", "", *table]
    title = [f"**{markdown_text(section.title)}**", ""] if section.title else []
    rows = [*section.rows, *section.totals]
    return [*title, *_head(section.columns), *(_row(row, section.columns) for row in rows), ""]


def _words(parts: Iterable[Words]) -> str:
    return "".join(map(_part, parts))


def _part(part: Words) -> str:
    """Render a part of a line with the spaces around it."""
    text = part.text
    if part.tone == "code" and "`" not in text:
        return f"`{' '.join(text.split())}`"
    escaped = markdown_text(text)
    if part.tone in STRONG:
        escaped = f"**{escaped}**"
    return f"{' ' * text.startswith(' ')}{escaped}{' ' * text.endswith(' ')}"


def _head(columns: Sequence[Column]) -> Iterator[str]:
    yield _line([markdown_text(column.heading) for column in columns])
    yield f"|{'|'.join('---' if column.is_text else '---:' for column in columns)}|"


def _row(row: Row, columns: Sequence[Column]) -> str:
    cells = [_cell(cell, column) for cell, column in zip(row.cells, columns, strict=True)]
    if row.tone == "strong":
        cells[0] = f"**{cells[0]}**"
    return _line(cells)


def _line(cells: Sequence[str]) -> str:
    return f"|{'|'.join(f' {cell} ' if cell else ' ' for cell in cells)}|"


def _cell(cell: Cell, column: Column) -> str:
    if isinstance(cell, str):
        return markdown_text(cell)
    if isinstance(cell, Words):
        return markdown_text(cell.text)
    if isinstance(cell, tuple):
        return "<br>".join(markdown_text(line.text) for line in cell)
    return estimate_text(cell, sign=column.signed)
