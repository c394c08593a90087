"""A comparison of two runs as Markdown, for a pull request."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from rubricate.views import NONE, ends, estimate_text, figure, p_text, percent

if TYPE_CHECKING:
    from rubricate.analysis._comparison import Flip, RunComparison
    from rubricate.stats import PairedComparison

__all__ = [
    "OTHER_HEADINGS",
    "ComparisonTexts",
    "comparison_markdown",
    "comparison_texts",
    "other_texts",
]

SHOWN_DIFFERENCES = 6

OTHER_HEADINGS = ("bootstrap interval", "Wilcoxon", "exact McNemar", "detectable")
"""What `other_texts` tells."""


def other_texts(found: PairedComparison) -> tuple[str, str, str, str]:
    """A difference by other ways: see `OTHER_HEADINGS`."""
    other = found.bootstrapped
    return (
        ends(other.low, other.high, sign=True) or NONE,
        p_text(found.wilcoxon.p_value),
        NONE if found.mcnemar is None else p_text(found.mcnemar.p_value),
        figure(found.smallest_detectable or None, 3),
    )


@dataclass(frozen=True, slots=True)
class ComparisonRow:
    """The score, or a criterion, of a comparison, as every view shows it."""

    name: str
    is_fault: bool
    a: str
    b: str
    difference: str
    p: str
    n: str
    flips: str
    others: tuple[str, str, str, str]
    """By other ways: see `OTHER_HEADINGS`."""


@dataclass(frozen=True, slots=True)
class ComparisonTexts:
    """What a comparison says, in the words that every view has.

    Attributes:
        rows: the score, then every criterion.
        notes: what should be known before the figures are believed.
        method: how the figures were made, and whether B is shown to be no worse.
    """

    rows: tuple[ComparisonRow, ...]
    notes: tuple[str, ...]
    method: str


def comparison_texts(found: RunComparison) -> ComparisonTexts:
    """A comparison in words."""
    return ComparisonTexts(tuple(_rows(found)), tuple(_notes(found)), _method(found))


def _rows(found: RunComparison) -> list[ComparisonRow]:

    def row(
        name: str, weight: float, values: PairedComparison, p: float | None, flips: int
    ) -> ComparisonRow:
        return ComparisonRow(
            name,
            weight < 0,
            figure(values.mean_a, 3),
            figure(values.mean_b, 3),
            estimate_text(values.difference, sign=True),
            p_text(p),
            str(values.n),
            str(flips),
            other_texts(values),
        )

    score = found.score
    return [
        row("score", 1.0, score, score.permutation.p_value, len(found.flips)),
        *(row(one.name, one.weight, one.values, one.p_value, one.flips) for one in found.criteria),
    ]


def _notes(found: RunComparison) -> list[str]:
    notes = []
    if found.differences:
        told, more = found.differences[:SHOWN_DIFFERENCES], len(found.differences)
        more -= len(told)
        notes.append(
            "Both are scored as B is. Not the same in A and B: "
            + "; ".join([*told, *([f"and {more} more"] if more > 0 else [])])
            + "."
        )
    if found.only_a or found.only_b:
        notes.append(f"Left out: {found.only_a} items only in A, {found.only_b} only in B.")
    if found.not_compared:
        notes.append(_coverage(found))
    if found.not_covered:
        notes.append(f"Nothing to compare on: {', '.join(found.not_covered)}.")
    return notes


def _method(found: RunComparison) -> str:
    score, by = found.score, found.groups or "item"
    text = (
        f"n: items on which both decided. Intervals: 95 %, t, by {by}. p: permutation test by {by}"
        "; criteria corrected by Holm. Wilcoxon's and McNemar's p are not corrected, and take "
        "items as independent. Detectable: the smallest difference found with a power of 0.8."
    )
    if score.margin is None or score.not_worse is None:
        return text
    shown = "is shown" if score.not_worse else "is not shown"
    return f"{text} That B is no more than {score.margin:g} worse {shown}."


def _coverage(found: RunComparison) -> str:
    share = percent(found.coverage)
    return f"Compared: {share} of the verdicts of A; of the others {found.causes}."


def comparison_markdown(found: RunComparison) -> str:
    """The report: the score, every criterion, and every flip with both reasons."""
    lines = [
        "# Comparison of two runs",
        "",
        f"A: `{found.a}`, judged by {found.judge_a}  ",
        f"B: `{found.b}`, judged by {found.judge_b}",
        "",
        f"{found.items} items in both; {found.score.n} scored in both.",
        "",
        f"| | A | B | B minus A | p | n | flips | {' | '.join(OTHER_HEADINGS)} |",
        "|---|---:|---:|---:|---:|---:|---:|---:|---:|---:|---:|",
    ]
    texts = comparison_texts(found)
    for place, row in enumerate(texts.rows):
        name = _cell(row.name) + (" (fault)" if row.is_fault else "") if place else "**score**"
        figures = (row.a, row.b, row.difference, row.p, row.n, row.flips, *row.others)
        lines.append(f"| {name} | {' | '.join(figures)} |")
    lines.append("")
    for text in (*texts.notes, texts.method):
        lines += [_cell(text), ""]
    for heading, flips in (
        ("answers changed", found.flips),
        ("verdicts that only one run decided", found.one_sided),
    ):
        if not flips and flips is not found.flips:
            continue
        lines += [f"## {len(flips)} {heading}", ""]
        if flips:
            lines += ["| item | criterion | A | B | human |", "|---|---|---|---|---|"]
            lines += [*map(_flip_line, flips), ""]
    return "\n".join(lines).rstrip() + "\n"


def _flip_line(flip: Flip) -> str:
    a, b = (
        _cell(f"{answer}: {reason}" if reason else answer)
        for answer, reason in ((flip.a, flip.reason_a), (flip.b, flip.reason_b))
    )
    human = _cell(flip.human_label or "–")
    return f"| {_cell(flip.item)} | {_cell(flip.criterion)} | {a} | {b} | {human} |"


def _cell(text: str) -> str:
    """Text that cannot leave its cell of the table, nor bring markup of its own."""
    safe = " ".join(text.split()).replace("&", "&amp;").replace("<", "&lt;")
    for mark in "\\|`*_[]":
        safe = safe.replace(mark, f"\\{mark}")
    return safe
