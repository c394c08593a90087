"""The compliance score: weighted verdicts over the positive weights, not clamped."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from math import fsum

__all__ = ["Compliance", "axis_compliance", "compliance", "mean_bounds"]


@dataclass(frozen=True, slots=True)
class Compliance:
    """A compliance score and what it was made of.

    Attributes:
        value: `sum(w s) / sum(w+)` over the judged criteria, where w+ are the positive weights;
            it may be below 0. 0.0 where no criterion has a positive weight. None where none was
            judged of those that have one or, where none has one, of all.
        lowest, highest: the least and the most it could be if any of the missing verdicts came,
            with any answer; `value` lies between them, and both equal it where none is missing.
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
    gains = sorted(weight for weight in missing if weight > 0)
    faults = fsum(weight for weight in missing if weight < 0)
    if not positive and not gains:
        value = None if missing and not known else 0.0
        return Compliance(value, 0.0, 0.0, len(known), len(missing))
    value = raw / positive if positive else None
    total = positive + fsum(gains)
    # What is missed of a gain draws a sum above 0 down and one below it up: all of them come, or
    # as few as can be.
    least = positive or gains[0]
    ends = [(raw + faults) / total, (raw + faults) / least, (raw + fsum(gains)) / total]
    if value is not None:
        ends.append(value)
    return Compliance(value, min(ends), max(ends), len(known), len(missing))


def axis_compliance(pairs: Iterable[tuple[float, float | None]]) -> Compliance:
    """The compliance of a part of a report's criteria.

    As `compliance`; but where the part has faults only, it is the share of their weight that does
    not apply: 1 without a fault, 0 with all. By the formula it would be 0 with and without.
    """
    entries = list(pairs)
    if any(weight > 0 for weight, _ in entries) or all(weight == 0 for weight, _ in entries):
        return compliance(entries)
    avoided = compliance(
        (-weight, None if score is None else 1.0 - score) for weight, score in entries if weight
    )
    weightless = [score for weight, score in entries if not weight]
    return Compliance(
        avoided.value,
        avoided.lowest,
        avoided.highest,
        avoided.judged + sum(score is not None for score in weightless),
        avoided.missing + sum(score is None for score in weightless),
    )


def mean_bounds(scores: Sequence[Compliance], mean: float | None) -> tuple[float, float]:
    """The least and the most that the mean of those with a value could be.

    That is if any of the missing verdicts came, with any answer: a report without a value then gets
    one, and counts.

    Args:
        scores: one or more.
        mean: of those that have a value; it is within the bounds, however it was rounded.
    """
    ends = [] if mean is None else [mean]
    for sign in (1.0, -1.0):
        known = [one.lowest if sign > 0 else one.highest for one in scores if one.value is not None]
        new = [one.lowest if sign > 0 else one.highest for one in scores if one.value is None]
        ends.append(sign * _least_mean([sign * v for v in known], [sign * v for v in new]))
    return min(ends), max(ends)


def _least_mean(known: Sequence[float], optional: Sequence[float]) -> float:
    """The least mean of numbers and any of some more: the smallest as long as they lower it."""
    smallest = sorted(optional)
    taken = list(known) or [smallest.pop(0)]
    for value in smallest:
        if value * len(taken) >= fsum(taken):
            break
        taken.append(value)
    return fsum(taken) / len(taken)
