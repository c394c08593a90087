"""What a notebook shows of results: HTML in which every text is escaped."""

from __future__ import annotations

from html import escape
from typing import TYPE_CHECKING

from rubricate.views import figure

if TYPE_CHECKING:
    from rubricate.rubric import Verdict
    from rubricate.run.results._results import ItemResult

__all__ = ["item_html"]

_HEAD = "<tr><th>criterion</th><th>weight</th><th>verdict</th><th>reason</th></tr>"


def item_html(item: ItemResult) -> str:
    """An item's score, and a row for each criterion."""
    score = item.score
    shown = "no score" if score.value is None else f"score {figure(score.value)}"
    if score.value is not None and score.lowest != score.highest:
        shown += f" (between {figure(score.lowest)} and {figure(score.highest)})"
    rows = "".join(
        _row(name, f"{criterion.weight:g}", _told(item.criteria[name]), item.criteria[name].reason)
        for name, criterion in zip(item.rubric.names, item.rubric.criteria, strict=True)
    )
    return f"<p>{escape(item.id)}: {shown}</p><table>{_HEAD}{rows}</table>"


def _told(verdict: Verdict) -> str:
    if verdict.error is not None:
        return f"failed: {verdict.error.kind}: {verdict.error.message}"
    return str(verdict.label or verdict.status)


def _row(*cells: str | None) -> str:
    inner = "".join(f"<td>{escape(cell or '')}</td>" for cell in cells)
    return f"<tr>{inner}</tr>"
