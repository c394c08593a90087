"""Sections as HTML with all text escaped: as part of a notebook, or as a complete page."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from html import escape

from rubricate.views._format import estimate_text
from rubricate.views._page_parts import page_part, page_policy
from rubricate.views._sections import (
    Cell,
    Column,
    Facts,
    Paragraph,
    Passage,
    Row,
    Section,
    Table,
    Words,
    changes_last,
)

HELP = {
    "score": "the mean of the items' scores; an item's score is the share of the weights that it "
    "met, less its penalties",
    "interval": "in 95 % of such samples it has the mean over many more texts like these",
    "coverage": "the share of the criteria that was judged; what abstained or failed is in no mean",
    "value": "the mean value of the answers, from 0 to 1",
    "abstained": "verdicts in which the judge said that it cannot tell",
    "failed": "verdicts without a usable answer; no figure counts them",
    "accuracy": "how often the judge gives the label that people gave",
    "kappa": "agreement beyond chance: 1 is perfect, 0 is chance",
    "AUC": "how often what people call MET has the higher probability: 0.5 is chance",
    "Brier": "the mean squared error of the probabilities: 0 is perfect, 0.25 is a coin's",
    "calibration error": "how far the probabilities are from how often people say MET",
    "false pos": "of what people call UNMET, how much the judge calls MET",
    "false neg": "of what people call MET, how much the judge calls UNMET",
    "mean error": "how far the judge's number is from people's, on average",
    "bias": "the judge's number minus people's, on average",
}
"""Explanations of figures by column heading, which a page shows on demand."""


def as_html(sections: Iterable[Section]) -> str:
    """Render the sections with changes last, without a page around them."""
    return "".join(map(_block, changes_last(sections)))


def as_page(title: str, front: Sequence[Sequence[Paragraph]], sections: Iterable[Section]) -> str:
    """Render a page that loads nothing and runs nothing; `front` has blocks of lines."""
    style = page_part("base.css") + page_part("document.css")
    head = "".join(f"<p>{'<br>'.join(_words(line.parts) for line in block)}</p>" for block in front)
    return (
        '<!doctype html>\n<html lang="en"><head><meta charset="utf-8">'
        f'<meta http-equiv="Content-Security-Policy" content="{page_policy("", style)}">'
        '<meta name="viewport" content="width=device-width, initial-scale=1">'
        f"<title>{escape(title)}</title><style>{style}</style></head>\n"
        f"<body><main><h1>{escape(title)}</h1>{head}{as_html(sections)}</main></body></html>\n"
    )


def _block(section: Section) -> str:
    if isinstance(section, Paragraph):
        return f"<p>{_words(section.parts)}</p>" if section.text else ""
    if isinstance(section, Table):
        return _table(section)
    if isinstance(section, Facts):
        rows = (
            f"<tr><th>{escape(name)}</th><td>{escape(t)}</td></tr>" for name, t in section.flowing
        )
        return f'<table class="facts"><tbody>{"".join(rows)}</tbody></table>'
    if isinstance(section, Passage):
        return f"<blockquote>{_passage(section)}</blockquote>"
    table = _table(section.table) if section.changes else ""
    return f"<h2>{escape(section.heading)}</h2>{table}"


def _words(parts: Iterable[Words]) -> str:
    return "".join(
        f'<span class="{part.tone}">{escape(part.text)}</span>' if part.tone else escape(part.text)
        for part in parts
    )


def _table(table: Table) -> str:
    places = [*range(len(table.columns))]
    front = len(places) - table.details
    text = _columns(table, places[:front], table.title)
    if table.details:
        others = _columns(table, [0, *places[front:]])
        text += f"<details><summary>More figures</summary>{others}</details>"
    return text + number_help(column.heading for column in table.columns)


def _columns(table: Table, places: Sequence[int], title: str | None = None) -> str:
    """Render some of a table's columns by position."""
    caption = f"<caption>{escape(title)}</caption>" if title else ""
    head = "".join(
        f"<th{_cell_class(column)}>{escape(column.heading)}</th>" if column.heading else "<td></td>"
        for column in (table.columns[place] for place in places)
    )
    body = "".join(_row(row, table.columns, places) for row in table.rows)
    foot = "".join(_row(row, table.columns, places) for row in table.totals)
    foot = f"<tfoot>{foot}</tfoot>" if foot else ""
    return f"<table>{caption}<thead><tr>{head}</tr></thead><tbody>{body}</tbody>{foot}</table>"


def number_help(headings: Iterable[str]) -> str:
    """Render explanations of figures by heading, to unfold; empty if none is needed."""
    lines = "".join(
        f"<div><dt>{escape(heading)}</dt><dd>{HELP[heading]}</dd></div>"
        for heading in dict.fromkeys(headings)
        if heading in HELP
    )
    summary = "<summary>What the numbers mean</summary>"
    return f"<details>{summary}<dl>{lines}</dl></details>" if lines else ""


def _cell_class(column: Column) -> str:
    return "" if column.is_text else ' class="n"'


def _row(row: Row, columns: Sequence[Column], places: Sequence[int]) -> str:
    cells = "".join(
        f'<td{_cell_class(column)} data-of="{escape(column.heading)}">{_cell(cell, column)}</td>'
        for cell, column in ((row.cells[place], columns[place]) for place in places)
    )
    return f'<tr class="{row.tone}">{cells}</tr>' if row.tone else f"<tr>{cells}</tr>"


def _cell(cell: Cell, column: Column) -> str:
    if isinstance(cell, str):
        return escape(cell)
    if isinstance(cell, Words):
        return _words((cell,))
    if isinstance(cell, tuple):
        return "<br>".join(_words((line,)) for line in cell)
    return escape(estimate_text(cell, sign=column.signed))


def _passage(passage: Passage) -> str:
    bits, at = [], 0
    for begin, end in sorted(passage.marks):
        start = max(begin, at)  # marks can overlap
        if start < end:
            bits += [escape(passage.text[at:start]), f"<u>{escape(passage.text[start:end])}</u>"]
            at = end
    return "".join(bits) + escape(passage.text[at:] + passage.more)
