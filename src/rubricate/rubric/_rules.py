"""The rules that make a run's scores of its verdicts."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from rubricate.rubric._aggregates import AGGREGATES, Aggregate
from rubricate.rubric._declared import CLAMPED, CannotAssess, DeclaredScoring, ItemScoring
from rubricate.rubric._group import Node
from rubricate.rubric._penalty import LengthPenalty
from rubricate.rubric._scoring import Score, score_with_groups
from rubricate.rubric._verdict import Verdict


@dataclass(frozen=True, slots=True)
class ScoringRules:
    """What verdicts are worth in a run: what it was told, and what its rubric declares.

    Attributes:
        cannot_assess: what an abstention or an N/A answer does.
        partial: the fraction of a positive weight that `partial` gives.
        penalty: what length costs; None where it costs nothing.
        declared: the declaration of the rubric or the dataset; None where there is none.
    """

    cannot_assess: CannotAssess = "skip"
    partial: float = 0.5
    penalty: LengthPenalty | None = None
    declared: DeclaredScoring | None = None

    @property
    def of_items(self) -> ItemScoring:
        """What an item scores, as it is declared."""
        return CLAMPED if self.declared is None else self.declared.of_items

    @property
    def aggregate(self) -> Aggregate:
        """What all items score together."""
        return AGGREGATES["mean"] if self.declared is None else self.declared.formula

    def score(self, nodes: Sequence[Node], verdicts: Sequence[Verdict]) -> Score:
        """Score verdicts on criteria, or on a tree of them; see `score`. Length costs nothing."""
        return self.score_with_groups(nodes, verdicts)[0]

    def score_with_groups(
        self, nodes: Sequence[Node], verdicts: Sequence[Verdict]
    ) -> tuple[Score, dict[str, Score]]:
        """The same with the score of each group of a tree."""
        return score_with_groups(
            nodes,
            verdicts,
            cannot_assess=self.cannot_assess,
            partial=self.partial,
            declared=self.declared,
        )
