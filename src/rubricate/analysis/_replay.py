"""The agreement of recorded verdicts, and of panels made from them, with people."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import asdict, dataclass
from typing import Any

from rubricate._spelling import listed
from rubricate.judge import UnknownVote
from rubricate.run.results import AgreementFigures, Summary
from rubricate.views import Cell, Column, Report, Row, Section, Table, figure, numbers, say

NAMED = 3
"""The number of unknown answers in the output; --json has all."""
SHOWN = 40
"""The number of characters of each in the output."""


@dataclass(frozen=True, slots=True)
class ReplayReport(Report):
    """The agreement of each judge, and of both panels, with the human labels.

    Attributes:
        majority: the summary of a panel with equal votes.
        weighted: the summary of the same panel with weights learnt from the votes.
        unknown: recorded answers that are not among those of their criterion, which count as
            failed, and answers on unknown criteria, which are ignored.
    """

    majority: Summary
    weighted: Summary
    unknown: tuple[UnknownVote, ...] = ()

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
            "unknown": [asdict(vote) for vote in self.unknown],
        }

    @property
    def title(self) -> str:
        return f"{self.majority.dataset or 'dataset'}: agreement with the human labels"

    def sections(self) -> Iterator[Section]:
        """One row per judge, then one per panel."""
        figures = self.to_dict()
        headings = ("weight", "failed", "tied", "accuracy", "kappa", "n")
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
        for known, lead in (
            (True, "No labels of their criteria, counted as failed"),
            (False, "On criteria that the rubric does not have, not counted"),
        ):
            votes = [vote for vote in self.unknown if vote.known is known]
            if votes:
                yield say(f"{lead}: {listed([*map(_vote, votes)], NAMED, '; ')}", "warning")


def _vote(vote: UnknownVote) -> str:
    label = vote.label if len(vote.label) <= SHOWN else f"{vote.label[:SHOWN]}..."
    return (
        f"'{label}' of {vote.judge} for {vote.criterion} ({vote.count} times, first in item "
        f"{vote.item})"
    )


def _agreement(figures: AgreementFigures | None) -> dict[str, Any]:
    if figures is None:
        return {"n": 0, "accuracy": None, "kappa": None}
    return figures.model_dump(mode="json")


def _tied(summary: Summary) -> int:
    return sum(figures.tied for figures in summary.criteria)


def _cells(row: dict[str, Any]) -> list[str]:
    return [figure(row["accuracy"], 3), figure(row["kappa"], 3), str(row["n"])]
