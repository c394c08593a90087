"""The compliance score: weighted verdicts over the positive weights, not clamped."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from math import fsum

__all__ = ["Compliance", "compliance"]


@dataclass(frozen=True, slots=True)
class Compliance:
    """A compliance score and what it was made of.

    Attributes:
        value: `sum(w s) / sum(w+)` over the judged criteria, where w+ are the positive weights;
            it may be below 0. 0.0 where no criterion has a positive weight. None where criteria
            have one but none of those was judged.
        lowest, highest: the least and the most it could have been had the missing verdicts come;
            `value` lies between them, and both equal it where none is missing.
        judged: criteria with a score.
        missing: criteria whose judging failed, or that the judge could not tell.
    """

    value: float | None
    lowest: float
    highest: float
    judged: int
    missing: int


def compliance(pairs: Iterable[tuple[float, float | None]]) -> Compliance:
    """The compliance score of pairs of weight and score (0 to 1; None for a missing one)."""
    entries = list(pairs)
    known = [(weight, score) for weight, score in entries if score is not None]
    missing = [weight for weight, score in entries if score is None]
    raw = fsum(weight * score for weight, score in known)
    positive = fsum(weight for weight, _ in known if weight > 0)
    total = positive + fsum(weight for weight in missing if weight > 0)
    if not total:
        return Compliance(0.0, 0.0, 0.0, len(known), len(missing))
    value = raw / positive if positive else None
    ends = [
        (raw + fsum(weight for weight in missing if weight < 0)) / total,
        (raw + fsum(weight for weight in missing if weight > 0)) / total,
    ]
    if value is not None:
        ends.append(value)
    return Compliance(value, min(ends), max(ends), len(known), len(missing))
