"""A cascade's thresholds on a terminal."""

from __future__ import annotations

from typing import TYPE_CHECKING

from rich.console import Group, RenderableType
from rich.text import Text

from rubricate.views import dollars, estimate_text, percent, plain_table

if TYPE_CHECKING:
    from rubricate.analysis._cascade import CascadeReport

__all__ = ["cascade_view"]


def cascade_view(report: CascadeReport) -> RenderableType:
    """A line a threshold, and which one keeps the promise."""
    name = report.judge if report.next_judge is None else f"{report.judge} > {report.next_judge}"
    table = plain_table(
        f"{name}: {report.verdicts} verdicts, {report.confident} of them with a confidence, "
        f"{report.labelled} of those with a label"
    )
    table.add_column("threshold", justify="right")
    headings = ["stand", "they agree"]
    headings += [] if report.next_judge is None else ["all agree"]
    for heading in (*headings, "cost"):
        table.add_column(heading, justify="right")
    chosen = report.choice.chosen
    for point in report.points:
        is_chosen = chosen is not None and point.threshold == chosen.threshold
        threshold = f"{point.threshold:g}" if point.threshold is not None else "none stands"
        figures = [point.coverage, point.agreement]
        figures += [] if point.overall is None else [point.overall]
        table.add_row(
            f"* {threshold}" if is_chosen else threshold,
            *(estimate_text(figure).replace(", ", ",") for figure in figures),
            dollars(point.cost),
            style="bold" if is_chosen else "",
        )
    choice = report.choice
    promise = f"agreement of {percent(choice.promise)} or more, at a risk of {percent(choice.risk)}"
    if chosen is None:
        told = f"No threshold keeps the promise ({promise}): {choice.why}."
    else:
        told = (
            f"* Threshold {chosen.threshold:g} keeps the promise: {promise}, of the verdicts that "
            f"stand ({choice.tried} thresholds tried, {choice.labelled} labels)."
        )
    note = (
        "Stand: verdicts with this confidence or more; the others go on. Intervals: 95 %, by "
        "item. The promise is by fixed-sequence testing; it is for items like these."
    )
    return Group(table, Text(told, style="bold"), Text(note, style="dim"))
