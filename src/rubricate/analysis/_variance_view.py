"""Variance components on a terminal."""

from __future__ import annotations

from typing import TYPE_CHECKING

from rich.console import Group, RenderableType
from rich.text import Text

from rubricate.stats import Estimate
from rubricate.views import estimate_text, percent, plain_table

if TYPE_CHECKING:
    from rubricate.analysis._variance import VarianceReport

__all__ = ["variance_view"]


def variance_view(report: VarianceReport) -> RenderableType:
    """Each criterion's shares, and which criteria are unstable."""
    prompts = f" x {len(report.prompts)} prompts" if report.prompts else ""
    table = plain_table(
        f"Shares of the spread: {len(report.judges)} judges{prompts} x {report.replicates} answers"
    )
    sources = [*dict.fromkeys(name for one in report.criteria for name in one.found.shares)]
    table.add_column("criterion", overflow="fold")
    table.add_column("n", justify="right")
    for source in sources:
        table.add_column(source, justify="right")
    table.add_column("items that differ", justify="right")
    for one in report.criteria:
        shares = [one.found.shares.get(source, Estimate(None)) for source in sources]
        table.add_row(
            Text(one.name),
            str(one.found.n),
            *(estimate_text(share).replace(", ", ",") for share in shares),
            percent(one.differ),
            style="yellow" if one.unstable else "",
        )
    told = "Unstable (less than half of the spread is the items'): "
    told += ", ".join(report.unstable) or "none"
    left_out = {one.name: one.found.left_out for one in report.criteria if one.found.left_out}
    parts: list[RenderableType] = [table, Text(f"{told}.")]
    if left_out:
        causes = ", ".join(f"{name} {count}" for name, count in left_out.items())
        parts.append(Text(f"Items left out for an answer that is missing: {causes}."))
    by = report.groups or "item"
    note = f"Analysis of variance, random effects; intervals: 95 %, bootstrap by {by}."
    return Group(*parts, Text(note, style="dim"))
