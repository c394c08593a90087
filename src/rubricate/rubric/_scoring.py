"""From verdicts to a score: the one scorer, for live runs, replays and ground truth alike.

The score of judged criteria with weights w and values v is `clamp(sum(w v) / sum(w+), 0, 1)`,
where w+ are the positive weights; where only negative weights are left it is
`clamp(1 + sum(w v) / sum(|w|), 0, 1)`; where nothing is left there is none. A rubric can declare
that scores are not clamped (`ItemScoring`).

In a tree, a group's score is its value among its siblings: the same formula at every
level. A group without a score is left out. A list of criteria is a tree of one level.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, NamedTuple

from rubricate._frozen import quickly_made
from rubricate.errors import InputError
from rubricate.rubric._aggregates import AGGREGATES, Aggregate, least_ratio
from rubricate.rubric._criterion import Criterion
from rubricate.rubric._declared import CLAMPED, CannotAssess, DeclaredScoring, ItemScoring
from rubricate.rubric._group import Group, Node, placed
from rubricate.rubric._verdict import UNANSWERED, Status, Verdict

if TYPE_CHECKING:
    from rubricate.rubric._penalty import LengthPenalty


@quickly_made
@dataclass(frozen=True, slots=True)
class Score:
    """The score of an item, or of a group of its criteria, and what it was made of.

    Attributes:
        value: in [0, 1], or of any size where the rubric declares raw scores; None where no
            criterion could be scored.
        lowest, highest: the least and the most the score could have been had the missing
            verdicts (abstained or failed) come: any of them, with any answer. Both equal `value`
            when none is missing; None when no answer could have given a score.
        raw: the weighted sum before division, in units of the weights; of a tree, that of its first
            level.
        coverage: the share of the applicable criteria that were judged, in [0, 1]. Of a tree, all
            criteria count alike; what was not asked because its gate does not hold is not
            applicable.
        faults_only: whether criteria that give points are missing (abstained or failed) so that
            only penalty criteria are left, in a tree also where that is so in one of its groups: a
            fault that is absent then gives a full score, where the worst answer to what is missing
            would have given none.
        penalty: what was subtracted for length, in [0, 1].
        before_penalty: the value before that; None where length does not count.
    """

    value: float | None
    lowest: float | None = None
    highest: float | None = None
    raw: float = 0.0
    coverage: float = 0.0
    faults_only: bool = False
    penalty: float = 0.0
    before_penalty: float | None = None

    def less(self, penalty: float) -> Score:
        """The score after a penalty for length, from 0 to 1: its value and bounds are lower."""
        ends = (self.value, self.lowest, self.highest)
        value, lowest, highest = (None if end is None else max(0.0, end - penalty) for end in ends)
        return replace(
            self,
            value=value,
            lowest=lowest,
            highest=highest,
            penalty=penalty,
            before_penalty=self.value,
        )


NO_SCORE = Score(None, None, None, 0.0, 0.0)


@quickly_made
@dataclass(frozen=True, slots=True)
class Tally:
    """Sums over (weight, value) pairs."""

    raw: float = 0.0
    positive: float = 0.0
    negative: float = 0.0

    def share(self, scoring: ItemScoring) -> float | None:
        """The score as it is declared, None where there is no weight to divide by."""
        if self.positive > 0:
            share = self.raw / self.positive
            return share if scoring.raw else min(1.0, max(0.0, share))
        if self.negative > 0 and scoring.avoids:
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


@dataclass(frozen=True, slots=True)
class ScoringRules:
    """What verdicts are worth: what a run was asked for, and what its rubric declares.

    Attributes:
        cannot_assess: what abstentions and not-applicable answers do (see `CannotAssess`). A failed
            verdict never enters the value: it shows in the bounds and the coverage.
        partial: the fraction of a positive weight that `partial` gives, in [0, 1].
        penalty: what length costs; None where it costs nothing. `score` leaves it to its caller,
            who has the text.
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


USUAL = ScoringRules()


def score(nodes: Sequence[Node], verdicts: Sequence[Verdict], rules: ScoringRules = USUAL) -> Score:
    """The score of one item; see `score_with_groups`."""
    return score_with_groups(nodes, verdicts, rules)[0]


def score_with_groups(
    nodes: Sequence[Node], verdicts: Sequence[Verdict], rules: ScoringRules = USUAL
) -> tuple[Score, dict[str, Score]]:
    """The score of an item, and that of each group by name, a group before those in it.

    Of a list of criteria there are no groups.

    Args:
        nodes: the criteria and groups of the first level: `Rubric.tree`.
        verdicts: one a criterion, in the same order, of a tree depth-first.
        rules: what abstentions count, and what the rubric declares. Default: the usual way.

    Returns:
        The item's score, and the groups' scores by name.

    Raises:
        InputError: the numbers of criteria and verdicts differ.
    """
    groups: dict[str, Score] = {}
    pending = iter(verdicts)
    inner = _Rules(rules.cannot_assess, rules.partial, rules.of_items)
    level = _level(nodes, pending, inner, groups)
    if level is None or next(pending, None) is not None:
        criteria = sum(not isinstance(node, Group) for _, node in placed(nodes))
        raise InputError(f"{len(verdicts)} verdicts for {criteria} criteria")
    return level.score(inner.scoring, nodes), groups


class _Rules(NamedTuple):
    """What counts in place of what was not judged."""

    cannot_assess: CannotAssess
    partial: float
    scoring: ItemScoring
    gated: bool = False
    """Whether all that is looked at has gates, which may skip what is missing."""


_Range = tuple[float, float, float]
"""A weight with the least and the greatest value that it may get."""


@dataclass(slots=True, eq=False)
class _Level:
    """What counts of nodes at one level of a tree.

    `known` are the weights and values that make the value; those in `certain` count however the
    missing verdicts come, those in `optional` may also stay out. `judged` and `missing` count
    criteria, also those in groups. `stays` says, once there is a score, whether there is one
    however the missing verdicts come.
    """

    known: list[tuple[float, float]] = field(default_factory=list)
    certain: list[_Range] = field(default_factory=list)
    optional: list[_Range] = field(default_factory=list)
    judged: int = 0
    missing: int = 0
    points_missing: bool = False
    faults_only: bool = False
    stays: bool = False

    def add_unjudged(self, criterion: Criterion, status: Status, rules: _Rules) -> None:
        """Count in a verdict without a value."""
        weight = criterion.weight
        stand_in = _stand_in(criterion, status, rules)
        value = None if status in UNANSWERED else stand_in
        if value is not None:
            self.known.append((weight, value))
        if status in UNANSWERED or status == "abstained":
            self.missing += 1
            low, high = criterion.value_range
            if stand_in is not None:
                low, high = min(low, stand_in), max(high, stand_in)
            stays = value is not None
            if rules.gated or criterion.requires:  # its gates may come to skip it
                counts = rules.scoring.skipped == "zero"
                stays, low = stays and counts, min(low, 0.0) if counts else low
            (self.certain if stays else self.optional).append((weight, low, high))
            self.points_missing |= value is None and weight > 0
        elif value is not None:
            self.certain.append((weight, value, value))

    def add_group(self, weight: float, inner: _Level, score: Score) -> None:
        """Count in a group, which keeps a value where it has one that is certain."""
        self.judged += inner.judged
        self.missing += inner.missing
        low, high = score.lowest, score.highest
        if low is None or high is None:  # no answer could give it a score
            return
        if score.value is None:
            self.points_missing |= weight > 0
        else:
            self.known.append((weight, score.value))
            self.faults_only |= score.faults_only and weight > 0
        (self.certain if inner.stays else self.optional).append((weight, low, high))

    def score(self, scoring: ItemScoring, nodes: Sequence[Node]) -> Score:
        """The score of all that was counted in of some nodes."""
        if scoring.raw and scoring.avoids and any(node.weight > 0 for node in nodes):
            scoring = ItemScoring(raw=True, avoids=False)
        result = tally(self.known)
        value = result.share(scoring)
        lowest = highest = value
        self.stays = value is not None
        if self.missing:
            self.stays = (
                tally((weight, low) for weight, low, _ in self.certain).share(scoring) is not None
            )
            reachable = [
                *_extremes(self.certain, self.optional, 1, scoring),
                *_extremes(self.certain, self.optional, -1, scoring),
                *(() if value is None else (value,)),
            ]
            lowest, highest = min(reachable, default=None), max(reachable, default=None)
        no_points = self.points_missing and value is not None and not result.positive
        return Score(
            value=value,
            lowest=lowest,
            highest=highest,
            raw=result.raw,
            coverage=self.judged / (self.judged + self.missing) if self.judged else 0.0,
            faults_only=self.faults_only or no_points,
        )


def _level(
    nodes: Sequence[Node], verdicts: Iterator[Verdict], rules: _Rules, groups: dict[str, Score]
) -> _Level | None:
    """What counts of nodes, once the groups below are scored; None for too few verdicts."""
    level = _Level()
    known, certain = level.known, level.certain
    for node in nodes:
        if type(node) is Group:
            groups[node.name] = NO_SCORE  # so that it is listed before those in it
            below = rules._replace(gated=True) if node.requires else rules
            inner = _level(node.criteria, verdicts, below, groups)
            if inner is None:
                return None
            groups[node.name] = inner.score(rules.scoring, node.criteria)
            level.add_group(node.weight, inner, groups[node.name])
            continue
        verdict = next(verdicts, None)
        if verdict is None:
            return None
        if verdict.status != "judged":
            level.add_unjudged(node, verdict.status, rules)
            continue
        level.judged += 1
        weight, value = node.weight, verdict.value
        if value is not None:
            known.append((weight, value))
            certain.append((weight, value, value))
    return level


def _extremes(
    certain: Sequence[_Range], optional: Sequence[_Range], sign: int, scoring: ItemScoring
) -> list[float]:
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
    if not sums.positive and scoring.avoids:
        ends.append((1.0, least_ratio(sign * sums.raw, sums.negative, bad)))
    scores = [base + sign * ratio for base, ratio in ends if ratio is not None]
    return scores if scoring.raw else [min(1.0, max(0.0, end)) for end in scores]


def _stand_in(criterion: Criterion, status: Status, rules: _Rules) -> float | None:
    """The value that an answer outside the score gets; None to leave it out."""
    if status == "skipped":
        return 0.0 if rules.scoring.skipped == "zero" else None
    strategy = rules.cannot_assess
    if strategy == "skip":
        return None
    if strategy == "fail":  # the worst answer; of options that need not be worth 0
        return criterion.value_range[criterion.weight < 0]
    return rules.partial if strategy == "partial" and criterion.weight > 0 else 0.0
