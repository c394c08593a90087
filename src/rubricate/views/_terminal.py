"""Showing sections on a terminal."""

from __future__ import annotations

import io
import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from textwrap import TextWrapper

from rich import box
from rich.console import Console, ConsoleOptions, RenderableType, RenderResult
from rich.measure import Measurement
from rich.table import Table as RichTable
from rich.text import Text

from rubricate._terminal import Lines, console, one_line
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
    Table,
    Tone,
    Words,
    explained,
)

GAP = 2
"""The number of spaces between columns."""
LONGEST_WORD = 24
"""The maximum length of words that are not broken."""
SHOWN_CHANGES = 20
"""The maximum number of changes per kind; other formats show all."""
_STYLES: dict[Tone, str] = {
    "": "",
    "strong": "bold",
    "good": "green",
    "quiet": "dim",
    "warning": "yellow",
    "error": "red",
    "alarm": "bold red",
    "quote": "italic",
    "code": "",
}


class OnTerminal:
    """Sections that rich consoles print one by one, without keeping them in memory.

    Args:
        sections: returns the sections, each time they are printed.
    """

    def __init__(self, sections: Callable[[], Iterable[Section]]) -> None:
        self._sections = sections

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> RenderResult:
        for section in explained(self._sections()):
            if isinstance(section, Table):
                yield from _tables(section, console, options)
            else:
                yield from _rendered(section)


def as_text(sections: Callable[[], Iterable[Section]], width: int = 100) -> str:
    """Return sections as text without colours, `width` characters wide."""
    text = io.StringIO()
    view = console(
        file=text,
        width=width,
        color_system=None,
        force_terminal=False,
        force_jupyter=False,  # otherwise a notebook displays it, and nothing is returned
    )
    view.print(OnTerminal(sections))
    return text.getvalue().removesuffix("\n")


def _rendered(section: Paragraph | Facts | Passage | Changes) -> Iterator[RenderableType]:
    if isinstance(section, Paragraph):
        yield _words(section.parts)
    elif isinstance(section, Facts):
        yield _facts(section)
    elif isinstance(section, Passage):
        yield Lines(_passage(section), margin=True)
    else:
        yield from _changes(section)


def _words(parts: Sequence[Words]) -> Text:
    return Text.assemble(*((part.text, _STYLES[part.tone]) for part in parts))


def _tables(table: Table, console: Console, options: ConsoleOptions) -> Iterator[RenderableType]:
    """Yield the table without its details.

    If it is too wide, its columns are closer together, then names are broken at hyphens,
    underscores and slashes. Columns that still do not fit go into a further table, which repeats
    the names of the rows.
    """
    which = range(len(table.columns) - table.details)
    if table.title is not None:  # not that of the RichTable, which is as narrow as its columns
        yield Text(table.title, style="bold")
    if table.wide:
        yield _table(table, dict.fromkeys(which), GAP)
        return
    room = options.max_width + 1  # the last column needs one space less
    sizes = {place: _size(table, place, console, options) for place in which}
    gap = GAP if sum(size.minimum + GAP for size in sizes.values()) <= room else 1
    parts = {place: _longest_part(table, place, size) for place, size in sizes.items()}
    for widths in _fitted(sizes, parts, room, gap):
        yield _table(table, widths, gap)


def _fitted(
    sizes: Mapping[int, Measurement], parts: Mapping[int, int], room: int, gap: int
) -> Iterator[dict[int, int | None]]:
    """The widths of columns, for as many tables as necessary."""
    names, *others = sizes
    pending = others
    while True:
        fitting = [names]
        for place in pending:
            if sum(parts[column] + gap for column in (*fitting, place)) > room and fitting != [
                names
            ]:
                break
            fitting.append(place)
        widths = {place: sizes[place].maximum for place in fitting}
        for least in (
            {place: sizes[place].minimum for place in fitting},
            parts,
            dict.fromkeys(fitting, 1),
        ):
            while sum(widths.values()) + gap * len(fitting) > room:
                wide = [place for place in fitting if widths[place] > least[place]]
                if not wide:
                    break
                widths[max(wide, key=widths.__getitem__)] -= 1
        yield dict(widths)
        pending = pending[len(fitting) - 1 :]
        if not pending:
            return


def _size(table: Table, place: int, console: Console, options: ConsoleOptions) -> Measurement:
    """The minimum width of a column for its words, and the maximum for its lines."""
    column = table.columns[place]
    cells = [_cell(row.cells[place], column) for row in (*table.rows, *table.totals)]
    sizes = [Measurement.get(console, options, cell) for cell in (Text(column.heading), *cells)]
    least = max(min(size.minimum, LONGEST_WORD) for size in sizes)
    most = max(size.maximum for size in sizes)
    if column.most is not None:
        least, most = min(least, column.most), min(most, column.most)
    if column.least is not None:
        least, most = max(least, column.least), max(most, column.least)
    return Measurement(least, most)


def _table(table: Table, widths: Mapping[int, int | None], gap: int) -> RichTable:
    rich_table = RichTable(
        box=box.SIMPLE_HEAD,
        show_edge=False,
        padding=(0, gap - 1, 0, 0),
        expand=table.wide,
    )
    for place, width in widths.items():
        column = table.columns[place]
        rich_table.add_column(
            column.heading,
            justify="left" if column.is_text else "right",
            overflow="fold",
            style=_STYLES[column.tone],
            width=width,
            min_width=column.least,
            max_width=column.most,
            ratio=column.share,
        )
    _add(rich_table, table.rows, table.columns, [*widths])
    if table.totals:
        rich_table.add_section()
        _add(rich_table, table.totals, table.columns, [*widths])
    return rich_table


def _add(
    rich_table: RichTable, rows: Sequence[Row], columns: Sequence[Column], which: Sequence[int]
) -> None:
    for row in rows:
        cells = [_cell(row.cells[place], columns[place]) for place in which]
        rich_table.add_row(*cells, style=_STYLES[row.tone])


class _Wrapper(TextWrapper):
    """Wraps text at spaces, hyphens, underscores and slashes, but not before a digit (dates)."""

    wordsep_re = re.compile(r"(\s+|[^\s_/-]*(?:-\d[^\s_/-]*)*[_/-]+(?!\d))")


def _longest_part(table: Table, place: int, size: Measurement) -> int:
    """The minimum width of a column for the parts of its words, if it has nothing but names."""
    cells = [row.cells[place] for row in (*table.rows, *table.totals)]
    names = [cell for cell in cells if isinstance(cell, str)]
    if len(names) < len(cells):
        return size.minimum
    texts = (table.columns[place].heading, *names)
    parts = [part for text in texts for part in _Wrapper.wordsep_re.split(text)]
    return min(size.minimum, max(map(len, parts)))


class _Names:
    """A cell whose words are broken at hyphens, underscores and slashes if they do not fit."""

    def __init__(self, text: str) -> None:
        self._text = one_line(text)  # only line breaks of ours

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> RenderResult:
        width = options.max_width
        if any(len(word) > width for word in self._text.split()):
            yield Lines(Text("\n".join(_Wrapper(width).wrap(self._text))))
        else:
            yield Text(self._text)

    def __rich_measure__(self, console: Console, options: ConsoleOptions) -> Measurement:
        return Measurement.get(console, options, Text(self._text))


def _cell(cell: Cell, column: Column) -> RenderableType:
    if isinstance(cell, str):
        return _Names(cell)
    if isinstance(cell, Words):
        return _words((cell,))
    if isinstance(cell, tuple):
        return Lines(Text("\n").join(_words((line,)) for line in cell))
    return Text(
        estimate_text(cell, sign=column.signed).replace(", ", ",")
    )  # lines break only before it


def _facts(facts: Facts) -> RichTable:
    grid = RichTable.grid(padding=(0, 2))
    grid.add_column(style="bold")
    grid.add_column(overflow="fold")
    for name, text in facts.rows:
        grid.add_row(name, Text(text))
    return grid


def _passage(passage: Passage) -> Text:
    text = Text(passage.text, style=_STYLES[passage.tone])
    for start, end in passage.marks:
        text.stylize("underline", start, end)
    return text.append(passage.more, "dim")


def _changes(section: Changes) -> Iterator[Text]:
    if section.note:
        yield Text(section.note)
    for change in section.changes[:SHOWN_CHANGES]:
        human = f" (human: {change.human_label})" if change.human_label else ""
        yield Text(f"{change.item}, {change.criterion}: {change.a} -> {change.b}{human}")
        for side, reason in (("A", change.reason_a), ("B", change.reason_b)):
            if reason:
                yield Text(f"  {side}: {' '.join(reason.split())}", style="dim")
    if len(section.changes) > SHOWN_CHANGES:
        yield Text(f"... and {len(section.changes) - SHOWN_CHANGES} more: see --json")
