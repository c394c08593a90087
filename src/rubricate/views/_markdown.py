"""Sections as Markdown, for a pull request or a notebook."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence

from rubricate._terminal import clean
from rubricate.views._format import NONE, estimate_text
from rubricate.views._sections import (
    Cell,
    Change,
    Changes,
    Column,
    Facts,
    Paragraph,
    Passage,
    Row,
    Section,
    Table,
    Words,
)

STRONG = ("strong", "alarm")
FENCE = "    "
"""Before each line of other people's text: in a block of code nothing is markup."""


def as_markdown(
    title: str, front: Sequence[Sequence[Paragraph]], sections: Iterable[Section]
) -> str:
    """A document, without control characters: it may be shown on a terminal.

    Args:
        title: its heading.
        front: blocks of lines before the sections.
        sections: what it says; changes, which can be many, come last.
    """
    lines = [f"# {markdown_text(title)}", ""]
    for block in front:
        lines += ["  \n".join(_words(line.parts) for line in block), ""]
    last: list[Changes] = []
    for section in sections:
        if isinstance(section, Changes):
            last.append(section)
        else:
            lines += _block(section)
    for changes in last:
        lines += _changes(changes)
    return clean("\n".join(lines).rstrip() + "\n")


def markdown_text(text: str) -> str:
    """Text that cannot leave its line, nor bring markup."""
    safe = " ".join(text.split()).replace("&", "&amp;").replace("<", "&lt;")
    for mark in "\\|`*_[]":
        safe = safe.replace(mark, f"\\{mark}")
    return safe


def _block(section: Paragraph | Passage | Table | Facts) -> list[str]:
    if isinstance(section, Paragraph):
        return [_words(section.parts), ""] if section.text else []
    if isinstance(section, Facts):
        return [*(f"- **{name}**: {markdown_text(text)}" for name, text in section.flowing), ""]
    if isinstance(section, Passage):
        more = f" … ({section.left_out} characters more)" if section.left_out else ""
        return [*(FENCE + line for line in f"{section.text}{more}".splitlines()), ""]
    title = [f"**{markdown_text(section.title)}**", ""] if section.title else []
    rows = [*section.rows, *section.totals]
    return [*title, *_head(section.columns), *(_row(row, section.columns) for row in rows), ""]


def _words(parts: Iterable[Words]) -> str:
    return "".join(map(_part, parts))


def _part(part: Words) -> str:
    """Part of a line: with the spaces around it."""
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


def _changes(section: Changes) -> Iterator[str]:
    yield from (f"## {markdown_text(section.heading)}", "")
    if section.changes:
        yield from ("| item | criterion | A | B | human |", "|---|---|---|---|---|")
        yield from (_line(_change(change)) for change in section.changes)
        yield ""


def _change(change: Change) -> list[str]:
    sides = ((change.a, change.reason_a), (change.b, change.reason_b))
    cells = [f"{answer}: {reason}" if reason else answer for answer, reason in sides]
    return [
        markdown_text(text)
        for text in (change.item, change.criterion, *cells, change.human_label or NONE)
    ]
