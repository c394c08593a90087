"""How judges whose verdicts are known, and panels of them, agree with people."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from rubricate.views import figure

if TYPE_CHECKING:
    from rich.table import Table

    from rubricate.run.results import AgreementFigures, Summary

__all__ = ["replay_figures", "replay_view"]


def replay_figures(majority: Summary, weighted: Summary) -> dict[str, Any]:
    """Agreement with the human labels, as JSON values: of each judge and of both panels.

    Args:
        majority: the summary of a panel whose votes count alike.
        weighted: that of the same judges with weights learnt from their votes.
    """
    judges = [
        {"name": judge.name, "weight": other.weight, "votes": judge.votes, **_with(judge.agreement)}
        for judge, other in zip(majority.judges, weighted.judges, strict=True)
    ]
    panels = [
        {"name": name, "verdicts": summary.verdicts, "tied": _tied(summary)}
        | _with(summary.agreement)
        for name, summary in (("majority", majority), ("reliability", weighted))
    ]
    over = majority.stratified
    return {
        "dataset": majority.dataset,
        "stratified": None if over is None else over.model_dump(mode="json"),
        "judges": judges,
        "panels": panels,
    }


def replay_view(majority: Summary, weighted: Summary) -> Table:
    """The same as a table."""
    from rich.text import Text

    from rubricate.views import plain_table

    figures = replay_figures(majority, weighted)
    table = plain_table(f"{figures['dataset'] or 'dataset'}: agreement with the human labels")
    table.add_column("judge", overflow="fold")
    kappa = "kappa" if majority.stratified is None else "stratified kappa"
    for heading in ("weight", "failed", "tied", "accuracy", kappa, "n"):
        table.add_column(heading, justify="right", max_width=10)
    for judge in figures["judges"]:
        failed = str(judge["votes"]["failed"])
        table.add_row(Text(judge["name"]), figure(judge["weight"]), failed, "", *_cells(judge))
    table.add_section()
    for panel in figures["panels"]:
        failed, tied = str(panel["verdicts"]["failed"]), str(panel["tied"])
        table.add_row(f"panel: {panel['name']}", "", failed, tied, *_cells(panel), style="bold")
    return table


def _with(agreement: AgreementFigures | None) -> dict[str, Any]:
    if agreement is None:
        return {"n": 0, "accuracy": None, "kappa": None}
    return agreement.model_dump(mode="json")


def _tied(summary: Summary) -> int:
    return sum(figures.tied for figures in summary.criteria)


def _cells(row: dict[str, Any]) -> list[str]:
    return [figure(row["accuracy"], 3), figure(row["kappa"], 3), str(row["n"])]
