"""The contents of a report as sections, which every format shows in order."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal, TypeAlias

from rubricate._spelling import listed
from rubricate.views._format import NONE

if TYPE_CHECKING:
    from rubricate.stats import Estimate

Tone: TypeAlias = Literal[
    "", "strong", "good", "quiet", "warning", "error", "alarm", "quote", "code"
]
"""The meaning of words, shown by a colour or font weight."""


@dataclass(frozen=True, slots=True)
class Words:
    """Text with a tone."""

    text: str
    tone: Tone = ""


STATUSES = {
    "judged": Words("judged"),
    "abstained": Words("abstained", "warning"),
    "not_applicable": Words("not applicable", "quiet"),
    "failed": Words("failed", "alarm"),
    "skipped": Words("skipped", "quiet"),
    "not_run": Words("not run", "warning"),
}
"""The text and tone of each status of a verdict, in the order of all views."""


def without_value(counts: Mapping[str, int]) -> list[str]:
    """The statuses of verdicts without a value: the usual ones, and others that occur in
    `counts`."""
    usual = ("abstained", "failed")
    return [s for s in STATUSES if s in usual or (counts.get(s) and s in ("skipped", "not_run"))]


def status_counts(counts: Mapping[str, int], statuses: Collection[str]) -> str:
    """Count the verdicts by these statuses, if any: `1 failed, 39 not run`."""
    shown = [status for status in STATUSES if status in statuses and counts.get(status)]
    return ", ".join(f"{counts[status]} {STATUSES[status].text}" for status in shown)


def count_cell(status: str, count: int, of: int) -> Words:
    """A cell with the number of verdicts with a status, toned if it means missing answers.

    For `not run`, the total is shown, too.
    """
    text = f"{count}/{of}" if count and status == "not_run" else str(count)
    is_missing = count and status in ("failed", "not_run")
    return Words(text, STATUSES[status].tone if is_missing else "")


Cell: TypeAlias = "str | Words | Estimate | tuple[Words, ...]"
"""A cell of a table: text, a figure with its interval, or lines of text."""


@dataclass(frozen=True, slots=True)
class Paragraph:
    """A paragraph."""

    parts: tuple[Words, ...]

    @property
    def text(self) -> str:
        """The text of all words."""
        return "".join(part.text for part in self.parts)


def say(text: str, tone: Tone = "") -> Paragraph:
    """Return a paragraph with one tone."""
    return Paragraph((Words(text, tone),))


def notes(*texts: str) -> list[Paragraph]:
    """Return paragraphs without a tone."""
    return [say(text) for text in texts]


NAMED = 3
"""How many rows a note below a table names: more would be longer than the table."""
GAP = Paragraph((Words(""),))
"""An empty line on a terminal; nothing elsewhere."""


@dataclass(frozen=True, slots=True)
class Passage:
    """A text by somebody else, which is shown so that it cannot pass for ours.

    Attributes:
        text: the text, or its beginning.
        marks: the underlined ranges, with exclusive ends.
        left_out: the number of omitted characters after it.
        tone: the tone.
    """

    text: str
    marks: tuple[tuple[int, int], ...] = ()
    left_out: int = 0
    tone: Tone = ""

    @property
    def more(self) -> str:
        """A note that it continues, if it does."""
        return f" … ({self.left_out} characters more)" if self.left_out else ""


@dataclass(frozen=True, slots=True)
class Column:
    """A column of a table.

    Attributes:
        heading: the heading.
        is_text: whether it has text, aligned left; else figures, aligned right.
        signed: whether its estimates are differences, shown with a sign.
        tone: the tone of its cells.
        least, most: the minimum and maximum width on a terminal, in characters.
        share: its share of the remaining width, in a table over the whole width.
    """

    heading: str
    is_text: bool = False
    signed: bool = False
    tone: Tone = ""
    least: int | None = None
    most: int | None = None
    share: int | None = None


def numbers(*headings: str, most: int | None = None, least: int | None = None) -> list[Column]:
    """Return columns of figures."""
    return [Column(heading, most=most, least=least) for heading in headings]


@dataclass(frozen=True, slots=True)
class Row:
    """A row of a table; `strong` for totals and choices, `warning` for what needs attention."""

    cells: Sequence[Cell]
    tone: Tone = ""


@dataclass(frozen=True, slots=True)
class Table:
    """A table.

    Attributes:
        columns: the columns.
        rows: the rows.
        title: the title.
        totals: rows below a line.
        details: the number of last columns that a terminal omits; documents show them.
        wide: whether it fills the whole width.
    """

    columns: Sequence[Column]
    rows: Sequence[Row]
    title: str | None = None
    totals: Sequence[Row] = ()
    details: int = 0
    wide: bool = False


def explained(sections: Iterable[Section]) -> Iterator[Section]:
    """Yield sections; below a table, why some of its estimates have no value or no interval."""
    for section in sections:
        yield section
        if not isinstance(section, Table):
            continue
        rows = [*section.rows, *section.totals]
        lacking: dict[tuple[str, str], list[str]] = {}
        for place, column in enumerate(section.columns):
            reasons: dict[str, list[str]] = {}
            for row in rows:
                if (reason := getattr(row.cells[place], "undefined", None)) is not None:
                    reasons.setdefault(reason, []).append(str(row.cells[0]))
            for reason, names in reasons.items():
                where = "" if len(names) == len(rows) else f" ({listed(names, NAMED)})"
                lacking.setdefault((reason, where), []).append(column.heading)
        for (reason, where), headings in lacking.items():
            why = reason.removeprefix("no interval: ")
            lacks = "a value" if why == reason else "an interval"
            yield say(f"Without {lacks}: {', '.join(headings)}{where}: {why}")


@dataclass(frozen=True, slots=True)
class Facts:
    """Names with facts; three spaces separate the parts of a fact."""

    rows: tuple[tuple[str, str], ...]

    @property
    def flowing(self) -> tuple[tuple[str, str], ...]:
        """The facts with commas, for formats that collapse spaces."""
        return tuple((name, text.replace("   ", ", ")) for name, text in self.rows)


@dataclass(frozen=True, slots=True)
class Change:
    """An answer that differs between A and B, with both reasons and the human label."""

    item: str
    criterion: str
    a: str
    b: str
    reason_a: str | None
    reason_b: str | None
    human_label: str | None


@dataclass(frozen=True, slots=True)
class Changes:
    """A list of changes. A terminal shows the first ones; documents show all, at the end.

    Attributes:
        heading: the heading.
        changes: the changes.
        note: a line above them on a terminal; may be empty.
    """

    heading: str
    changes: Sequence[Change]
    note: str = ""

    @property
    def table(self) -> Table:
        """All changes as a table, for documents."""
        headings = ("item", "criterion", "A", "B", "human")
        return Table(
            [Column(heading, is_text=True) for heading in headings],
            [
                Row(
                    [
                        change.item,
                        change.criterion,
                        _with_reason(change.a, change.reason_a),
                        _with_reason(change.b, change.reason_b),
                        change.human_label or NONE,
                    ]
                )
                for change in self.changes
            ],
        )


def _with_reason(answer: str, reason: str | None) -> Cell:
    return (Words(answer), Words(reason, "quiet")) if reason else answer


def changes_last(sections: Iterable[Section]) -> Iterator[Section]:
    """Yield sections in the order of a document: changes, of which there can be many, come last."""
    held = []
    for section in explained(sections):
        if isinstance(section, Changes):
            held.append(section)
        else:
            yield section
    yield from held


Section: TypeAlias = Paragraph | Passage | Table | Facts | Changes
