"""From verdicts to a score: the one scorer, for live runs, replays and ground truth alike.

The score of judged criteria with weights w and values v is `clamp(sum(w v) / sum(w+), 0, 1)`,
where w+ are the positive weights; where only negative weights are left it is
`clamp(1 + sum(w v) / sum(|w|), 0, 1)`; where nothing is left there is none.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Literal, get_args

from rubricate._documents import did_you_mean
from rubricate._frozen import quickly_made
from rubricate.errors import InputError
from rubricate.rubric._criterion import Criterion
from rubricate.rubric._verdict import Verdict

__all__ = ["CannotAssess", "Score", "Tally", "check_cannot_assess", "least_ratio", "score", "tally"]

CannotAssess = Literal["skip", "zero", "partial", "fail"]
"""What an abstention or a not-applicable answer does to the score.

`skip`: leaves numerator and denominator. `zero`: counts 0 and stays in the denominator.
`partial`: a given fraction of a positive weight, 0 for a negative one. `fail`: the worst outcome
by the weight's sign.
"""


@quickly_made
@dataclass(frozen=True, slots=True)
class Score:
    """One item's score and what it was made of.

    Attributes:
        value: in [0, 1]; None where no criterion could be scored.
        lowest, highest: the least and the most the score could have been had the missing
            verdicts (abstained or failed) come: any of them, with any answer. Both equal `value`
            when none is missing; None when no answer could have given a score.
        raw: the weighted sum before division, in units of the weights.
        coverage: the share of the applicable criteria that were judged, in [0, 1].
        faults_only: whether criteria that give points are missing (abstained or failed) so that
            only penalty criteria are left: a fault that is absent then gives a full score, where
            the worst answer to what is missing would have given none.
        penalty: what was subtracted for length, in [0, 1].
        before_penalty: the value before that; None where length does not count.
    """

    value: float | None
    lowest: float | None
    highest: float | None
    raw: float
    coverage: float
    faults_only: bool = False
    penalty: float = 0.0
    before_penalty: float | None = None


@quickly_made
@dataclass(frozen=True, slots=True)
class Tally:
    """Sums over (weight, value) pairs."""

    raw: float = 0.0
    positive: float = 0.0
    negative: float = 0.0

    @property
    def normalized(self) -> float | None:
        """The score in [0, 1], None where there is no weight to divide by."""
        if self.positive > 0:
            return min(1.0, max(0.0, self.raw / self.positive))
        if self.negative > 0:
            return min(1.0, max(0.0, 1.0 + self.raw / self.negative))
        return None


def tally(pairs: Iterable[tuple[float, float]]) -> Tally:
    """Sum weight times value, and the weights by sign."""
    raw = positive = negative = 0.0
    for weight, value in pairs:
        raw += weight * value
        if weight > 0:
            positive += weight
        else:
            negative -= weight
    return Tally(raw, positive, negative)


def check_cannot_assess(strategy: str, partial: float) -> CannotAssess:
    """The strategy by its name in any case, or an `InputError` that suggests the right one."""
    known = get_args(CannotAssess)
    for name in known:
        if strategy.casefold() == name:
            if not 0.0 <= partial <= 1.0:
                raise InputError(f"partial must be between 0 and 1, found {partial}")
            return name  # type: ignore[no-any-return]
    hint = did_you_mean(strategy, known)
    raise InputError(f"unknown strategy '{strategy}' (known: {', '.join(known)}){hint}")


def score(
    criteria: Sequence[Criterion],
    verdicts: Sequence[Verdict],
    *,
    cannot_assess: CannotAssess = "skip",
    partial: float = 0.5,
) -> Score:
    """Score one item.

    Args:
        criteria: the rubric's criteria.
        verdicts: one for each criterion, in the same order.
        cannot_assess: what abstentions and not-applicable answers do (see `CannotAssess`).
            A failed verdict never enters the value: it shows in the bounds and the coverage.
        partial: the fraction of a positive weight that `partial` gives, in [0, 1].

    Raises:
        InputError: the numbers of criteria and verdicts differ.
    """
    if len(criteria) != len(verdicts):
        raise InputError(f"{len(verdicts)} verdicts for {len(criteria)} criteria")
    known: list[tuple[float, float]] = []
    certain: list[_Range] = []
    optional: list[_Range] = []
    judged = applicable = missing = 0
    points_missing = False
    for criterion, verdict in zip(criteria, verdicts, strict=True):
        weight, status = criterion.weight, verdict.status
        if status == "judged":
            judged += 1
            value = verdict.value
        else:
            stand_in = _stand_in(weight, cannot_assess, partial)
            value = None if status == "failed" else stand_in
        if value is not None:
            known.append((weight, value))
        if status in ("abstained", "failed"):
            missing += 1
            low, high = criterion.value_range
            if stand_in is not None:
                low, high = min(low, stand_in), max(high, stand_in)
            (optional if value is None else certain).append((weight, low, high))
            points_missing |= value is None and weight > 0
        elif value is not None:
            certain.append((weight, value, value))
        applicable += status != "not_applicable"
    result = tally(known)
    value = result.normalized
    reachable = []
    if missing:
        reachable = [*_extremes(certain, optional, 1), *_extremes(certain, optional, -1)]
    if value is not None:
        reachable.append(value)
    return Score(
        value=value,
        lowest=min(reachable, default=None),
        highest=max(reachable, default=None),
        raw=result.raw,
        coverage=judged / applicable if applicable else 0.0,
        faults_only=points_missing and value is not None and not result.positive,
    )


_Range = tuple[float, float, float]
"""A weight with the least and the greatest value that it may get."""


def _extremes(certain: Sequence[_Range], optional: Sequence[_Range], sign: int) -> list[float]:
    """The least scores (sign 1), or the greatest (-1), with and without positive weights in them.

    Values in `certain` count in any case; those in `optional` may also stay out of the score.
    """

    def outermost(ranges: Sequence[_Range]) -> list[tuple[float, float]]:
        return [(weight, low if sign * weight > 0 else high) for weight, low, high in ranges]

    sums = tally(outermost(certain))
    good = [(weight, sign * value) for weight, value in outermost(optional) if weight > 0]
    bad = [(-weight, -sign * value) for weight, value in outermost(optional) if weight < 0]
    # Beside positive weights a negative one moves only the numerator.
    shift = sum(min(0.0, weight * value) for weight, value in bad)
    ends = [(0.0, least_ratio(sign * sums.raw + shift, sums.positive, good))]
    if not sums.positive:
        ends.append((1.0, least_ratio(sign * sums.raw, sums.negative, bad)))
    return [min(1.0, max(0.0, base + sign * ratio)) for base, ratio in ends if ratio is not None]


def least_ratio(raw: float, total: float, optional: Sequence[tuple[float, float]]) -> float | None:
    """The least `(raw + sum(w v)) / (total + sum(w))` over all subsets of (w, v), all w > 0.

    From a given start it pays to take the smallest values as long as they are below the ratio.
    None if there is nothing to divide by. The greatest is `-least_ratio(-raw, total, [(w, -v)])`.
    """
    if not total and not raw:
        return min((value for _, value in optional), default=None)
    if not total:
        starts = [
            least_ratio(raw + weight * value, weight, [*optional[:index], *optional[index + 1 :]])
            for index, (weight, value) in enumerate(optional)
        ]
        return min((ratio for ratio in starts if ratio is not None), default=None)
    for weight, value in sorted(optional, key=lambda pair: pair[1]):
        if value * total < raw:
            raw, total = raw + weight * value, total + weight
    return raw / total


def _stand_in(weight: float, strategy: CannotAssess, partial: float) -> float | None:
    """The value that an answer outside the score gets under a strategy; None to leave it out."""
    if strategy == "skip":
        return None
    if strategy == "partial" and weight > 0:
        return partial
    if strategy == "fail" and weight < 0:
        return 1.0
    return 0.0
