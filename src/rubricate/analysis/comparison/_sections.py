"""What a comparison of two runs says."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from rubricate.views import (
    NONE,
    Apart,
    Cell,
    Change,
    Changes,
    Column,
    Row,
    Section,
    Table,
    ends,
    figure,
    notes,
    numbers,
    p_text,
    percent,
    say,
)

if TYPE_CHECKING:
    from rubricate.analysis.comparison._comparison import Flip, RunComparison
    from rubricate.stats import Estimate, PairedComparison

SHOWN_DIFFERENCES = 6

OTHER_HEADINGS = ("bootstrap", "q", "Wilcoxon", "exact McNemar", "detectable")
"""What `other_texts` tells."""


def other_texts(found: PairedComparison, q_value: float | None) -> tuple[str, ...]:
    """A difference by other ways: see `OTHER_HEADINGS`."""
    other = found.bootstrapped
    return (
        ends(other.low, other.high, sign=True) or NONE,
        p_text(q_value),
        p_text(found.wilcoxon.p_value),
        NONE if found.mcnemar is None else p_text(found.mcnemar.p_value),
        figure(found.smallest_detectable or None, 3),
    )


@dataclass(frozen=True, slots=True)
class ComparisonRow:
    """The score, or a criterion, of a comparison, as every view shows it."""

    name: str
    is_penalty: bool
    a: str
    b: str
    difference: Estimate
    p: str
    n: str
    flips: str
    others: tuple[str, ...]
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
        name: str,
        weight: float,
        values: PairedComparison,
        p: float | None,
        q: float | None,
        flips: int,
    ) -> ComparisonRow:
        return ComparisonRow(
            name,
            weight < 0,
            figure(values.mean_a, 3),
            figure(values.mean_b, 3),
            values.difference,
            p_text(p),
            str(values.n),
            str(flips),
            other_texts(values, q),
        )

    score = found.score
    return [
        row("score", 1.0, score, score.permutation.p_value, None, len(found.flips)),
        *(
            row(one.name, one.weight, one.values, one.p_value, one.q_value, one.flips)
            for one in found.criteria
        ),
    ]


def _notes(found: RunComparison) -> list[str]:
    found_notes = []
    if found.differences:
        told, more = found.differences[:SHOWN_DIFFERENCES], len(found.differences)
        more -= len(told)
        found_notes.append(
            "Both are scored as B is. Not the same in A and B: "
            + "; ".join([*told, *([f"and {more} more"] if more > 0 else [])])
            + "."
        )
    if found.only_a or found.only_b:
        found_notes.append(f"Left out: {found.only_a} items only in A, {found.only_b} only in B.")
    if found.not_compared:
        found_notes.append(_coverage(found))
    if found.not_covered:
        found_notes.append(f"Nothing to compare on: {', '.join(found.not_covered)}.")
    return found_notes


def _method(found: RunComparison) -> str:
    score, by = found.score, found.groups or "item"
    text = (
        f"n: items on which both decided. Intervals: 95 %, t, by {by}. p: permutation test by {by}"
        "; criteria corrected by Holm, q by Benjamini and Hochberg. Wilcoxon's and McNemar's p are "
        "not corrected, and take items as independent. Detectable: the smallest difference found "
        "with a power of 0.8."
    )
    if score.margin is None or score.not_worse is None:
        return text
    shown = "is shown" if score.not_worse else "is not shown"
    return f"{text} That B is no more than {score.margin:g} worse {shown}."


def _coverage(found: RunComparison) -> str:
    share = percent(found.coverage)
    return f"Compared: {share} of the verdicts of A; of the others {found.causes}."


def comparison_sections(found: RunComparison) -> Iterator[Section]:
    """The score, every criterion, and every flip with both reasons."""
    texts = comparison_texts(found)
    before = int(bool(found.differences))
    yield from notes(*texts.notes[:before])
    yield Table(
        [
            Column("", is_text=True),
            *numbers("A", "B"),
            Column("B minus A", signed=True),
            *numbers("p", "n", "flips", *OTHER_HEADINGS),
        ],
        [Row(_cells(row), "" if place else "strong") for place, row in enumerate(texts.rows)],
        f"{found.b} (B) against {found.a} (A): {found.score.n} items scored in both",
        apart=Apart("Other tests", len(OTHER_HEADINGS)),
    )
    yield from parts_tables(found)
    yield _changes("answers changed", found.flips)
    if found.one_sided:
        heading = "verdicts that only one run decided"
        yield _changes(heading, found.one_sided, "Only one run decided:")
    yield from notes(*texts.notes[before:])
    yield say(texts.method, "quiet")


def parts_tables(found: RunComparison) -> Iterator[Table]:
    """A table for each field that scores are told by, and one for the groups of a tree."""
    for field in dict.fromkeys(part.field for part in found.parts):
        rows = [
            Row(
                [
                    part.name,
                    figure(part.scores.mean_a, 3),
                    figure(part.scores.mean_b, 3),
                    part.scores.difference,
                    p_text(part.p_value),
                    str(part.scores.n),
                ]
            )
            for part in found.parts
            if part.field == field
        ]
        columns = [
            Column(field, is_text=True),
            *numbers("A", "B"),
            Column("B minus A", signed=True),
            *numbers("p", "n"),
        ]
        yield Table(columns, rows, f"by {field}")


def _cells(row: ComparisonRow) -> list[Cell]:
    name = row.name + (" (penalty)" if row.is_penalty else "")
    return [name, row.a, row.b, row.difference, row.p, row.n, row.flips, *row.others]


def _changes(heading: str, flips: Sequence[Flip], told: str = "") -> Changes:
    return Changes(
        f"{len(flips)} {heading}",
        [
            Change(f.item, f.criterion, f.a, f.b, f.reason_a, f.reason_b, f.human_label)
            for f in flips
        ],
        told,
    )
