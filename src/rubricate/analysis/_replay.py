"""How judges whose verdicts are known, and panels of them, agree with people."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from rubricate.run.results import AgreementFigures, Summary
from rubricate.views import Cell, Column, Report, Row, Section, Table, figure, numbers

__all__ = ["ReplayReport"]


@dataclass(frozen=True, slots=True)
class ReplayReport(Report):
    """Agreement with the human labels: of each judge and of both panels.

    Attributes:
        majority: the summary of a panel whose votes count alike.
        weighted: that of the same judges with weights learnt from their votes.
    """

    majority: Summary
    weighted: Summary

    def to_dict(self) -> dict[str, Any]:
        pairs = zip(self.majority.judges, self.weighted.judges, strict=True)
        over = self.majority.stratified
        return {
            "dataset": self.majority.dataset,
            "stratified": None if over is None else over.model_dump(mode="json"),
            "judges": [
                {"name": judge.name, "weight": other.weight, "votes": judge.votes}
                | _agreement(judge.agreement)
                for judge, other in pairs
            ],
            "panels": [
                {"name": name, "verdicts": summary.verdicts, "tied": _tied(summary)}
                | _agreement(summary.agreement)
                for name, summary in (("majority", self.majority), ("reliability", self.weighted))
            ],
        }

    @property
    def title(self) -> str:
        return f"{self.majority.dataset or 'dataset'}: agreement with the human labels"

    def sections(self) -> Iterator[Section]:
        """A row for each judge, then one for each panel."""
        figures = self.to_dict()
        kappa = "kappa" if figures["stratified"] is None else "stratified kappa"
        headings = ("weight", "failed", "tied", "accuracy", kappa, "n")
        rows, totals = [], []
        for judge in figures["judges"]:
            failed = str(judge["votes"]["failed"])
            weight = figure(judge["weight"])
            rows.append(Row([judge["name"], weight, failed, "", *_cells(judge)]))
        for panel in figures["panels"]:
            failed, tied = str(panel["verdicts"]["failed"]), str(panel["tied"])
            cells: list[Cell] = [f"panel: {panel['name']}", "", failed, tied, *_cells(panel)]
            totals.append(Row(cells, "strong"))
        columns = [Column("judge", is_text=True), *numbers(*headings, most=10)]
        yield Table(columns, rows, self.title, totals)


def _agreement(found: AgreementFigures | None) -> dict[str, Any]:
    if found is None:
        return {"n": 0, "accuracy": None, "kappa": None}
    return found.model_dump(mode="json")


def _tied(summary: Summary) -> int:
    return sum(figures.tied for figures in summary.criteria)


def _cells(row: dict[str, Any]) -> list[str]:
    return [figure(row["accuracy"], 3), figure(row["kappa"], 3), str(row["n"])]
