"""What a run gives back."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from rubricate.rubric import CannotAssess, Rubric, Score, Usage, Verdict, score

if TYPE_CHECKING:
    import pandas

    from rubricate.report import Summary

__all__ = ["ItemResult", "Result"]


@dataclass(frozen=True, slots=True)
class ItemResult:
    """One graded item.

    Attributes:
        id: the item's identifier.
        description: the item's description.
        rubric: the rubric it was judged by.
        criteria: the judge's verdicts by criterion name.
        score: the score of these verdicts.
        labels: the human verdicts by criterion name, where there are any.
        human_score: the score of the human verdicts, where every criterion has one.
    """

    id: str
    description: str
    rubric: Rubric
    criteria: dict[str, Verdict]
    score: Score
    labels: dict[str, Verdict]
    human_score: Score | None

    @classmethod
    def scored(
        cls,
        *,
        id: str,
        description: str,
        rubric: Rubric,
        criteria: dict[str, Verdict],
        labels: dict[str, Verdict],
        cannot_assess: CannotAssess,
        partial: float,
    ) -> ItemResult:
        """Build an item's result from its verdicts."""

        def scored(verdicts: dict[str, Verdict]) -> Score:
            ordered = [verdicts[name] for name in rubric.names]
            return score(rubric.criteria, ordered, cannot_assess=cannot_assess, partial=partial)

        complete = bool(labels) and all(name in labels for name in rubric.names)
        return cls(
            id,
            description,
            rubric,
            criteria,
            scored(criteria),
            labels,
            scored(labels) if complete else None,
        )


@dataclass(frozen=True, repr=False)
class Result:
    """A graded dataset.

    Attributes:
        items: one result per item, in the dataset's order.
        judge: the judge's name.
        note: what the judge says of itself, if anything.
        dataset: the dataset's name, if it has one.
        usage: what this run took; answers from the journal cost nothing.
        calls: judgements made in this run.
        resumed: judgements read from the journal instead.
        seconds: how long the run took.
        cannot_assess, partial: how abstentions were scored.
        run_dir: the run folder, if there is one.
        stopped: why the run ended early, if it did.
    """

    items: list[ItemResult]
    judge: str
    note: str | None
    dataset: str | None
    usage: Usage
    calls: int
    resumed: int
    seconds: float
    cannot_assess: CannotAssess
    partial: float
    run_dir: Path | None = None
    stopped: str | None = None

    def __repr__(self) -> str:
        state = f", stopped: {self.stopped}" if self.stopped else ""
        return f"<Result: {len(self.items)} items judged by {self.judge}{state}>"

    def __len__(self) -> int:
        return len(self.items)

    def __iter__(self) -> Iterator[ItemResult]:
        return iter(self.items)

    def verdicts(self) -> Iterator[tuple[ItemResult, Verdict]]:
        """Every verdict with its item, item by item."""
        for item in self.items:
            for verdict in item.criteria.values():
                yield item, verdict

    @property
    def failed(self) -> int:
        """How many verdicts failed, those not run included."""
        return sum(verdict.status == "failed" for _, verdict in self.verdicts())

    def summary(self) -> Summary:
        """The figures of the run: `print(result.summary())` shows them as a table."""
        from rubricate.report import summarize

        return summarize(self)

    def to_pandas(self) -> pandas.DataFrame:
        """One row a verdict (extra `pandas`); the columns are those of `results.jsonl`."""
        from rubricate.report import to_pandas

        return to_pandas(self)
