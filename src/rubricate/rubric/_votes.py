"""Combines the votes of several judges on a criterion into one verdict.

Abstentions and failed votes are left out; the remaining votes decide. A tie goes to the answer that
scores lower, and is flagged.
"""

from __future__ import annotations

import math
import statistics
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Any, NamedTuple

from rubricate._usage import Usage
from rubricate.errors import InputError
from rubricate.rubric._criterion import STRATEGIES, Criterion, check_strategy
from rubricate.rubric._question import ABSTENTION
from rubricate.rubric._verdict import Failure, Verdict


@dataclass(frozen=True, slots=True)
class Aggregation:
    """How votes become a verdict.

    Attributes:
        binary: `majority`, `weighted`, `unanimous` (MET only if all votes are) or `any` (MET if one
            vote is).
        ordinal: for scales and ordered options: `mean`, `median`, `weighted_mean`, `mode`, `min` or
            `max` of the votes' values. The score uses that value; the label is the nearest one.
        nominal: for unordered options: `mode`, `weighted_mode` or `unanimous` (abstains if votes
            differ).
        numeric: for metric criteria: `mean`, `median` or `weighted_mean`.
        min_votes: the minimum number of deciding votes; with fewer, the verdict is `failed`.

    Raises:
        InputError: a strategy is unknown, or `min_votes` is below 1.
    """

    binary: str = "majority"
    ordinal: str = "mean"
    nominal: str = "mode"
    numeric: str = "mean"
    min_votes: int = 1

    def __post_init__(self) -> None:
        for measurement in STRATEGIES:
            check_strategy(measurement, getattr(self, measurement))
        if self.min_votes < 1:
            raise InputError(f"min_votes must be at least 1, found {self.min_votes}")

    @property
    def is_weighted(self) -> bool:
        """Whether any of the strategies uses weights."""
        return any("weighted" in getattr(self, measurement) for measurement in STRATEGIES)

    def of(self, criterion: Criterion) -> Aggregation:
        """The same, with the strategy that a criterion sets itself."""
        if criterion.aggregation is None:
            return self
        strategy: dict[str, Any] = {criterion.measurement: criterion.aggregation}
        return replace(self, **strategy)


class _Ballot(NamedTuple):
    """A deciding vote and its weight."""

    vote: Verdict
    weight: float


class _Outcome(NamedTuple):
    label: str
    value: float | None
    tied: bool = False


def aggregate(
    criterion: Criterion,
    votes: Sequence[Verdict],
    aggregation: Aggregation,
    weights: Sequence[float] | None = None,
    *,
    judge: str | None = None,
) -> Verdict:
    """One verdict from the votes on a criterion.

    A criterion does not apply if more than half of the deciding votes say so. If all votes
    abstained, so does the verdict. Its reason and evidence come from the first vote that agrees
    with it, or is nearest to it. It has no probability unless there is a single vote, because the
    probabilities of votes could only be combined if judges erred independently.

    Args:
        criterion: the criterion.
        votes: one verdict for each judge; they are kept in the result.
        aggregation: how to combine them.
        weights: the weights of the votes, all above 0, for weighted strategies. Default: equal.
        judge: the name for all voters together.

    Returns:
        The verdict; `failed` (`quorum`) with fewer than `aggregation.min_votes` votes.

    Raises:
        InputError: the number of weights is wrong, or they are not positive numbers.
    """
    weights = check_weights(weights, len(votes))
    strategy = getattr(aggregation, criterion.measurement)
    if "weighted" not in strategy:
        weights = [1.0] * len(votes)
    ballots = [
        _Ballot(vote, weight)
        for vote, weight in zip(votes, weights, strict=True)
        if vote.status in ("judged", "not_applicable")
    ]
    verdict = Verdict(
        criterion=criterion.name,
        status="failed",
        usage=Usage.total(vote.usage for vote in votes),
        judge=judge,
        resumed=bool(votes) and all(vote.resumed for vote in votes),
        votes=tuple(votes),
    )
    if len(ballots) < aggregation.min_votes:
        abstained = [vote for vote in votes if vote.status == "abstained"]
        if not ballots and len(abstained) >= aggregation.min_votes:
            return replace(_abstained(verdict), reason=abstained[0].reason)
        return replace(verdict, error=_no_quorum(len(ballots), votes, aggregation.min_votes))
    outcome = _decided(criterion, ballots, strategy)
    if outcome is None:
        return _abstained(verdict)
    speaker = min(
        (ballot.vote for ballot in ballots),
        key=lambda vote: (vote.label != outcome.label, _distance(vote.value, outcome.value)),
    )
    return replace(
        verdict,
        status="not_applicable" if outcome.value is None else "judged",
        label=outcome.label,
        value=outcome.value,
        probability=speaker.probability if len(votes) == 1 else None,
        reason=speaker.reason,
        evidence=speaker.evidence,
        tied=outcome.tied,
    )


def check_weights(weights: Sequence[float] | None, count: int) -> list[float]:
    """The weights of `count` judges; all 1 by default."""
    if weights is None:
        return [1.0] * count
    if len(weights) != count:
        raise InputError(f"{len(weights)} weights for {count} judges")
    for weight in weights:
        if not (math.isfinite(weight) and weight > 0):
            raise InputError(f"a judge's weight must be a number above 0, found {weight}")
    return list(weights)


def _abstained(verdict: Verdict) -> Verdict:
    return replace(verdict, status="abstained", label=ABSTENTION)


def _no_quorum(count: int, votes: Sequence[Verdict], needed: int) -> Failure:
    message = f"{count} of {len(votes)} votes decide, {needed} needed"
    for vote in votes:
        if vote.error is not None:
            message += f"; the first that failed: {vote.error.kind}: {vote.error.message}"
            break
    return Failure("quorum", message)


def _distance(first: float | None, second: float | None) -> float:
    return 0.0 if first is None or second is None else abs(first - second)


def _decided(criterion: Criterion, ballots: list[_Ballot], strategy: str) -> _Outcome | None:
    """The outcome of the ballots; None if they must agree and do not."""
    if strategy == "unanimous" and criterion.measurement == "nominal":
        first = ballots[0].vote
        same = all(ballot.vote.label == first.label for ballot in ballots)
        return _Outcome(first.label or "", first.value) if same else None
    apart = [ballot for ballot in ballots if ballot.vote.status == "not_applicable"]
    scoring = [ballot for ballot in ballots if ballot.vote.status == "judged"]
    for_it, against_it = _total(apart), _total(scoring)
    even = bool(apart) and _same(for_it, against_it)
    if not even and for_it > against_it:
        return _Outcome(_most(apart, lambda vote: 0.0)[0].label or "", None)
    outcome = _COUNTS[strategy](criterion, scoring)
    return outcome._replace(tied=outcome.tied or even)


def _total(ballots: Sequence[_Ballot]) -> float:
    return math.fsum(ballot.weight for ballot in ballots)


def _same(first: float, second: float) -> bool:
    """Whether two sums of weights are equal, apart from rounding."""
    return math.isclose(first, second, rel_tol=1e-9)


def _most(ballots: Sequence[_Ballot], value: Callable[[Verdict], float]) -> tuple[Verdict, bool]:
    """A vote for the label with the most weight (in a tie, the lowest value), and whether it
    tied."""
    first: dict[str, Verdict] = {}
    for ballot in ballots:
        first.setdefault(ballot.vote.label or "", ballot.vote)
    totals = {
        label: _total([ballot for ballot in ballots if (ballot.vote.label or "") == label])
        for label in first
    }
    most = max(totals.values())
    leading = [vote for label, vote in first.items() if _same(totals[label], most)]
    return min(leading, key=value), len(leading) > 1


def _mode(criterion: Criterion, ballots: Sequence[_Ballot]) -> _Outcome:
    sign = -1.0 if criterion.weight < 0 else 1.0
    vote, tied = _most(ballots, lambda vote: sign * (vote.value or 0.0))
    return _Outcome(vote.label or "", vote.value, tied)


def _at(
    choose: Callable[[Sequence[_Ballot]], float], criterion: Criterion, ballots: Sequence[_Ballot]
) -> _Outcome:
    """The value that `choose` computes from the ballots, and the nearest label."""
    value = min(1.0, max(0.0, choose(ballots)))
    for ballot in ballots:
        if ballot.vote.value is not None and math.isclose(
            ballot.vote.value, value, rel_tol=0.0, abs_tol=1e-12
        ):
            return _Outcome(ballot.vote.label or "", ballot.vote.value)
    return _Outcome(criterion.nearest_label(value), value)


def _values(ballots: Sequence[_Ballot]) -> list[float]:
    return [ballot.vote.value for ballot in ballots if ballot.vote.value is not None]


def _weighted_mean(ballots: Sequence[_Ballot]) -> float:
    weighted = [
        value * ballot.weight for value, ballot in zip(_values(ballots), ballots, strict=True)
    ]
    return math.fsum(weighted) / _total(ballots)


def _met_if(
    holds: Callable[[list[bool]], bool], criterion: Criterion, ballots: Sequence[_Ballot]
) -> _Outcome:
    met = holds([ballot.vote.label == "MET" for ballot in ballots])
    return _Outcome("MET" if met else "UNMET", 1.0 if met else 0.0)


_Count = Callable[[Criterion, Sequence[_Ballot]], _Outcome]
_COUNTS: dict[str, _Count] = {
    "majority": _mode,
    "weighted": _mode,
    "unanimous": partial(_met_if, all),
    "any": partial(_met_if, any),
    "mode": _mode,
    "weighted_mode": _mode,
    "mean": partial(_at, _weighted_mean),
    "weighted_mean": partial(_at, _weighted_mean),
    "median": partial(_at, lambda ballots: statistics.median(_values(ballots))),
    "min": partial(_at, lambda ballots: min(_values(ballots))),
    "max": partial(_at, lambda ballots: max(_values(ballots))),
}
