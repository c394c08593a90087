"""Compliance, leaderboard and agreement on a terminal."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING

from rubricate.dialects.researchrubrics._figures import AgreementFigures, Figures, GroupFigures

if TYPE_CHECKING:
    from rich.console import RenderableType
    from rich.table import Table

__all__ = ["figures_view"]

_NONE = "–"


def figures_view(figures: Figures) -> RenderableType:
    """The tables of a batch."""
    from rich.console import Group
    from rich.text import Text

    parts: list[RenderableType] = [_reports(figures), Text()]
    for heading, groups in (("axis", figures.axes), ("domain", figures.domains)):
        if groups:
            parts += [_groups(heading, groups), Text()]
    if figures.systems:
        parts += [_groups("system", figures.systems), Text(), _differences(figures), Text()]
    if figures.agreement:
        parts += [_agreement(figures.agreement), Text(_CONVENTIONS, style="dim"), Text()]
    return Group(*parts[:-1])


_CONVENTIONS = (
    "F1 is macro-F1: the mean over the verdicts that either side gave; F1(0) counts a verdict that "
    "neither gave as 0. By task: the mean over tasks of each task's own."
)


def _table(*headings: str) -> Table:
    from rich import box
    from rich.table import Table

    table = Table(box=box.SIMPLE_HEAD, show_edge=False, padding=(0, 1, 0, 0))
    for number, heading in enumerate(headings):
        table.add_column(heading, justify="right" if number else "left", overflow="fold")
    return table


def _add_row(table: Table, *cells: str) -> None:
    """Add a row of texts, in which square brackets are nothing but that."""
    from rich.text import Text

    table.add_row(*map(Text, cells))


def _reports(figures: Figures) -> Table:
    table = _table("report", "domain", "compliance", "lowest", "highest", "judged", "missing")
    for one in figures.reports:
        score = one.compliance
        name = f"{one.system}/{one.sample_id}" if one.system else one.sample_id
        _add_row(
            table,
            name,
            one.domain,
            _number(score.value),
            _number(score.lowest),
            _number(score.highest),
            str(score.judged),
            str(score.missing),
        )
    return table


def _groups(heading: str, groups: Iterable[GroupFigures]) -> Table:
    table = _table(
        heading, "compliance [95 %]", "lowest", "highest", "reports", "without", "missing"
    )
    for one in groups:
        _add_row(
            table,
            one.name,
            str(one.mean),
            _number(one.lowest),
            _number(one.highest),
            str(one.reports),
            str(one.without),
            str(one.missing),
        )
    return table


def _differences(figures: Figures) -> Table:
    table = _table("difference", "by [95 %]", "p", "tasks")
    for one in figures.differences:
        found = one.comparison
        p = found.permutation.p_value
        _add_row(
            table,
            f"{one.b} - {one.a}",
            str(found.bootstrapped),
            _NONE if p is None else "<0.001" if p < 0.001 else f"{p:.3f}",
            str(found.n),
        )
    return table


def _agreement(parts: Iterable[AgreementFigures]) -> Table:
    table = _table(
        "with people", "n", "F1 [95 %]", "F1(0)", "F1 by task", "F1(0) by task", "pooled kappa"
    )
    for one in parts:
        _add_row(
            table,
            one.name,
            str(one.agreement.n),
            str(one.macro_f1),
            _number(one.macro_f1_zero),
            _number(one.macro_f1_by_task),
            _number(one.macro_f1_zero_by_task),
            str(one.pooled_kappa),
        )
    return table


def _number(value: float | None) -> str:
    return _NONE if value is None else f"{value:.3f}"
