"""The score of labels that are given, such as a dataset's ground truth."""

from __future__ import annotations

from collections.abc import Sequence

from rubricate.errors import InputError
from rubricate.rubric import CriterionVerdict, Rubric, tally

__all__ = ["weighted_score"]


def weighted_score(
    verdicts: Sequence[CriterionVerdict | str], rubric: Rubric, *, normalize: bool
) -> float:
    """The score of one item's labels; see `RubricDataset.compute_weighted_score`."""
    if len(verdicts) != len(rubric):
        raise InputError(f"{len(verdicts)} verdicts for a rubric of {len(rubric)} criteria")
    pairs: list[tuple[float, float]] = []
    for index, (criterion, label) in enumerate(zip(rubric, verdicts, strict=True)):
        if criterion.is_multi_choice and isinstance(label, CriterionVerdict):
            raise InputError(
                f"Criterion {index} is multi-choice but got CriterionVerdict; "
                "expected option label string"
            )
        try:
            value = criterion.value(label)
        except InputError as error:
            raise InputError(f"Criterion {index}: {error}") from None
        if value is not None:
            pairs.append((criterion.weight, value))
    sums = tally(pairs)
    if not normalize:
        return sums.raw
    return (sums.normalized or 0.0) if sums.positive > 0 else 0.0
