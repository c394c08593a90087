"""Two runs of the same items: what changed, and how sure that is."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, Any

from rubricate.errors import InputError
from rubricate.report._groups import groups_by
from rubricate.run import FinishedRun, RowVerdict
from rubricate.stats import Bootstrap, PairedComparison, compare_paired, holm

if TYPE_CHECKING:
    from rich.console import RenderableType

__all__ = ["CriterionComparison", "Flip", "RunComparison", "compare_runs"]


@dataclass(frozen=True, slots=True)
class Flip:
    """A verdict that differs: the label (or the status, where there is none) and reason of each."""

    item: str
    criterion: str
    a: str
    b: str
    reason_a: str | None
    reason_b: str | None
    human_label: str | None


@dataclass(frozen=True, slots=True)
class CriterionComparison:
    """One criterion's values, B against A.

    Attributes:
        name: the criterion.
        weight: in run B; where it is negative a higher value is worse.
        values: the paired comparison of values in [0, 1].
        p_value: of the permutation test, corrected by Holm over the criteria.
    """

    name: str
    weight: float
    values: PairedComparison
    p_value: float | None


@dataclass(frozen=True, slots=True)
class RunComparison:
    """Run B against run A.

    Attributes:
        a, b: the run folders.
        judge_a, judge_b: who judged.
        items: items in both.
        only_a, only_b: items in one of them, which are left out.
        coverage: the share of run A's verdicts that are compared: those that are decided in both
            runs. A's abstentions are not counted.
        not_compared: how many of the others there are, by cause.
        groups: the field of the metadata that says which items belong together; None for none.
        score: the paired comparison of the items' scores.
        criteria: those in both, in run B's order.
        flips: verdicts that differ, in run B's order.
    """

    a: str
    b: str
    judge_a: str
    judge_b: str
    items: int
    only_a: int
    only_b: int
    coverage: float
    not_compared: Mapping[str, int]
    groups: str | None
    score: PairedComparison
    criteria: tuple[CriterionComparison, ...]
    flips: tuple[Flip, ...]

    def is_worse(self, by: float) -> bool:
        """Whether B's mean score is more than `by` below A's, on the items that both scored."""
        difference = self.score.difference.value
        return difference is not None and difference < -by - 1e-12

    def to_dict(self) -> dict[str, Any]:
        """The figures as JSON values."""
        return asdict(self)

    def to_markdown(self) -> str:
        """The report as Markdown."""
        from rubricate.report._markdown import comparison_markdown

        return comparison_markdown(self)

    def __rich__(self) -> RenderableType:
        from rubricate.report._trust_views import comparison_view

        return comparison_view(self)


def compare_runs(
    a: FinishedRun,
    b: FinishedRun,
    *,
    margin: float | None = None,
    groups: str | None = None,
    bootstrap: Bootstrap | None = None,
) -> RunComparison:
    """Compare two runs on the items that both have, by id.

    Args:
        a: the run before.
        b: the run after.
        margin: how much worse B may be and still count as no worse (non-inferiority).
        groups: a field of the items' metadata (run B's), such as the document that they come from:
            items of one value belong together. Default: each item by itself.
        bootstrap: how bootstrap intervals are made. Default: 2,000 resamples, 95 %.

    Raises:
        InputError: no item has a score in both runs, or an item lacks the field to group by.
    """
    bootstrap = bootstrap or Bootstrap()
    scores_a, scores_b = a.item_scores, b.item_scores
    common = [item for item in scores_b if item in scores_a]
    if not common:
        raise InputError(
            f"{a.path} and {b.path} have no item in common: items are matched by their id"
        )
    if not any(scores_a[item] is not None and scores_b[item] is not None for item in common):
        scored = {
            run.path: sum(run.item_scores[item] is not None for item in common) for run in (a, b)
        }
        told = ", ".join(f"{path} has a score for {count}" for path, count in scored.items())
        raise InputError(
            f"of the {len(common)} items that both runs have none has a score in both: {told}; "
            "see what failed with: rubricate show RUN --failed"
        )
    rows_a, rows_b = _by_place(a), _by_place(b)
    pairs = {place: (rows_a[place], row) for place, row in rows_b.items() if place in rows_a}
    by_name: dict[str, list[tuple[RowVerdict, RowVerdict]]] = {}
    for (_, name), pair in pairs.items():
        by_name.setdefault(name, []).append(pair)
    group_of = groups_by(b, groups)
    compared: list[tuple[str, float, PairedComparison]] = []
    for name, both in by_name.items():
        found = compare_paired(
            [one.value for one, _ in both],
            [other.value for _, other in both],
            groups=_grouped(group_of, groups, [other.item for _, other in both]),
            bootstrap=bootstrap,
        )
        compared.append((name, both[0][1].weight, found))
    counts = Counter(_fate(row, rows_b.get(place)) for place, row in rows_a.items())
    relevant = counts.total() - counts[ABSTAINED_BEFORE]
    corrected = holm([found.permutation.p_value for _, _, found in compared])
    return RunComparison(
        a=str(a.path),
        b=str(b.path),
        judge_a=a.judge,
        judge_b=b.judge,
        items=len(common),
        only_a=len(scores_a) - len(common),
        only_b=len(scores_b) - len(common),
        coverage=counts[COMPARED] / relevant if relevant else 0.0,
        not_compared={
            fate: count
            for fate, count in sorted(counts.items())
            if fate not in (COMPARED, ABSTAINED_BEFORE)
        },
        groups=groups,
        score=compare_paired(
            [scores_a[item] for item in common],
            [scores_b[item] for item in common],
            margin=margin,
            groups=_grouped(group_of, groups, common),
            bootstrap=bootstrap,
        ),
        criteria=tuple(
            CriterionComparison(*one, p_value)
            for one, p_value in zip(compared, corrected, strict=True)
        ),
        flips=tuple(
            Flip(
                item=after.item,
                criterion=after.criterion,
                a=_answer(before),
                b=_answer(after),
                reason_a=before.reason or before.error,
                reason_b=after.reason or after.error,
                human_label=after.human_label,
            )
            for before, after in pairs.values()
            if _answer(before) != _answer(after)
        ),
    )


COMPARED = "compared"
ABSTAINED_BEFORE = "abstained in A"


def _fate(before: RowVerdict, after: RowVerdict | None) -> str:
    """What becomes of one of run A's verdicts in the comparison."""
    if before.status == "abstained":
        return ABSTAINED_BEFORE
    if before.status == "failed":
        return "failed in A"
    if after is None:
        return "not in B"
    return f"{after.status} in B" if after.status in ("failed", "abstained") else COMPARED


def _grouped(
    group_of: Mapping[str, Any], groups: str | None, items: Sequence[str]
) -> list[Any] | None:
    return None if groups is None else [group_of[item] for item in items]


def _by_place(run: FinishedRun) -> Mapping[tuple[str, str], RowVerdict]:
    return {(row.item, row.criterion): row for row in run.rows}


def _answer(row: RowVerdict) -> str:
    return row.label if row.label is not None else row.status
