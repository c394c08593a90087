"""From verdicts to a score: the one scorer, for live runs, replays and ground truth alike.

The score of judged criteria with weights w and values v is `clamp(sum(w v) / sum(w+), 0, 1)`,
where w+ are the positive weights; where only negative weights are left it is
`clamp(1 + sum(w v) / sum(|w|), 0, 1)`; where nothing is left there is none.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Literal, get_args

from rubricate._documents import suggestion
from rubricate.errors import InputError
from rubricate.rubric._criterion import Criterion
from rubricate.rubric._verdict import Verdict

__all__ = ["CannotAssess", "Score", "Tally", "check_cannot_assess", "score", "tally"]

CannotAssess = Literal["skip", "zero", "partial", "fail"]
"""What an abstention or a not-applicable answer does to the score.

`skip`: leaves numerator and denominator. `zero`: counts 0 and stays in the denominator.
`partial`: a given fraction of a positive weight, 0 for a negative one. `fail`: the worst outcome
by the weight's sign.
"""


@dataclass(frozen=True, slots=True)
class Score:
    """One item's score and what it was made of.

    Attributes:
        value: in [0, 1]; None where no criterion could be scored.
        lowest, highest: the least and the most the score could have been had the missing
            verdicts (abstained or failed) come; both equal `value` when none is missing, None
            when every criterion was not applicable.
        raw: the weighted sum before division, in units of the weights.
        coverage: the share of the applicable criteria that were judged, in [0, 1].
    """

    value: float | None
    lowest: float | None
    highest: float | None
    raw: float
    coverage: float


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
    near = suggestion(strategy, known)
    hint = f"; did you mean '{near}'?" if near else ""
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
    lowest: list[tuple[float, float]] = []
    highest: list[tuple[float, float]] = []
    judged = applicable = 0
    for criterion, verdict in zip(criteria, verdicts, strict=True):
        weight = criterion.weight
        value = verdict.value if verdict.status == "judged" else None
        if verdict.status in ("abstained", "not_applicable"):
            value = _stand_in(weight, cannot_assess, partial)
        if value is not None:
            known.append((weight, value))
        if verdict.status in ("abstained", "failed"):
            low, high = criterion.value_range
            lowest.append((weight, low if weight > 0 else high))
            highest.append((weight, high if weight > 0 else low))
        elif value is not None:
            lowest.append((weight, value))
            highest.append((weight, value))
        judged += verdict.status == "judged"
        applicable += verdict.status != "not_applicable"
    result = tally(known)
    value = result.normalized
    # What is missing may also never come, so the range takes in the value as it is.
    reachable = [
        number
        for number in (tally(lowest).normalized, value, tally(highest).normalized)
        if number is not None
    ]
    return Score(
        value=value,
        lowest=min(reachable, default=None),
        highest=max(reachable, default=None),
        raw=result.raw,
        coverage=judged / applicable if applicable else 0.0,
    )


def _stand_in(weight: float, strategy: CannotAssess, partial: float) -> float | None:
    """The value that an answer outside the score gets under a strategy; None to leave it out."""
    if strategy == "skip":
        return None
    if strategy == "partial" and weight > 0:
        return partial
    if strategy == "fail" and weight < 0:
        return 1.0
    return 0.0
