"""From verdicts to scores, for live runs, replays and ground truth alike.

The score of judged criteria with weights w and values v is `clamp(sum(w v) / sum(w+), 0, 1)`,
where w+ are the positive weights. If only negative weights remain, it is
`clamp(1 + sum(w v) / sum(|w|), 0, 1)`; if nothing remains, there is none. A rubric can declare that
scores are not clamped (`ItemScoring`).

In a tree, a group's score is its value among its siblings: the same formula at every
level. A group without a score is left out. A list of criteria is a tree of one level.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, NamedTuple

from rubricate.errors import InputError
from rubricate.rubric._aggregates import AGGREGATES, Aggregate, least_ratio
from rubricate.rubric._criterion import Criterion
from rubricate.rubric._declared import CLAMPED, CannotAssess, DeclaredScoring, ItemScoring
from rubricate.rubric._group import Group, Node, placed
from rubricate.rubric._verdict import UNANSWERED, Status, Verdict

if TYPE_CHECKING:
    from rubricate.rubric._penalty import LengthPenalty


@dataclass(frozen=True, slots=True)
class Score:
    """The score of an item, or of a group of its criteria, with details.

    Attributes:
        value: the score, in [0, 1], or any number if the rubric declares raw scores; None if no
            criterion could be scored.
        lowest, highest: the range that the score could take if the missing verdicts (abstained or
            failed) were there: any of them, with any answer. Both equal `value` if none is missing;
            None if no answer could have given a score.
        raw: the weighted sum before division, in units of the weights; for a tree, on its first
            level.
        coverage: the share of the applicable criteria that were judged, in [0, 1]. In a tree, all
            criteria count equally. A criterion whose gate does not hold is not applicable.
        faults_only: whether only penalty criteria are left, because those that give points are
            missing (abstained or failed); in a tree, also if that is so in one of its groups. An
            absent fault then gives a full score, although the missing answers could have given
            none.
        penalty: the length penalty that was subtracted, in [0, 1].
        before_penalty: the value before it; None without a length penalty.
    """

    value: float | None
    lowest: float | None = None
    highest: float | None = None
    raw: float = 0.0
    coverage: float = 0.0
    faults_only: bool = False
    penalty: float = 0.0
    before_penalty: float | None = None

    if not TYPE_CHECKING:

        def __lt__(self, *other: object) -> bool:
            raise TypeError("a Score is no number: take its value, which is None without a score")

        __gt__ = __le__ = __ge__ = __float__ = __lt__

    def less(self, penalty: float) -> Score:
        """The score after a length penalty from 0 to 1, which lowers its value and bounds."""
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


@dataclass(frozen=True, slots=True)
class Tally:
    """Sums over (weight, value) pairs."""

    raw: float = 0.0
    positive: float = 0.0
    negative: float = 0.0

    def share(self, scoring: ItemScoring) -> float | None:
        """The declared score; None if there is no weight to divide by."""
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
    """The scoring rules of a run, from its options and from its rubric.

    Attributes:
        cannot_assess: how abstentions and not-applicable answers count (see `CannotAssess`). A
            failed verdict never enters the value; it shows in the bounds and the coverage.
        partial: the fraction of a positive weight for `partial`, in [0, 1].
        penalty: the length penalty, if any. `score` leaves it to its caller, who has the text.
        declared: the declared scoring of the rubric or the dataset, if any.
    """

    cannot_assess: CannotAssess = "skip"
    partial: float = 0.5
    penalty: LengthPenalty | None = None
    declared: DeclaredScoring | None = None

    @property
    def of_items(self) -> ItemScoring:
        """The declared scoring of items."""
        return CLAMPED if self.declared is None else self.declared.of_items

    @property
    def aggregate(self) -> Aggregate:
        """The aggregate over items."""
        return AGGREGATES["mean"] if self.declared is None else self.declared.formula


USUAL = ScoringRules()


def score(nodes: Sequence[Node], verdicts: Sequence[Verdict], rules: ScoringRules = USUAL) -> Score:
    """The score of one item; see `score_with_groups`."""
    return score_with_groups(nodes, verdicts, rules)[0]


def score_with_groups(
    nodes: Sequence[Node], verdicts: Sequence[Verdict], rules: ScoringRules = USUAL
) -> tuple[Score, dict[str, Score]]:
    """The score of an item, and the scores of its groups by name, outer groups first.

    Args:
        nodes: the criteria and groups of the first level: `Rubric.tree`.
        verdicts: one for each criterion, in the same order; for a tree depth-first.
        rules: the scoring rules. Default: the usual ones.

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
    """How criteria without a judged value count."""

    cannot_assess: CannotAssess
    partial: float
    scoring: ItemScoring
    gated: bool = False
    """Whether all of these criteria have gates, which may skip missing ones."""


_Range = tuple[float, float, float]
"""A weight with the lowest and the highest possible value."""


@dataclass(slots=True, eq=False)
class _Level:
    """The sums at one level of a tree.

    `known` has the weights and values of the score. Those in `certain` count whatever the missing
    verdicts are; those in `optional` may also stay out. `judged` and `missing` count criteria,
    including those in groups. `stays` says whether there will be a score in any case.
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
        """Add a verdict without a value."""
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
            if rules.gated or criterion.requires:  # its gates may still skip it
                counts = rules.scoring.skipped == "zero"
                stays, low = stays and counts, min(low, 0.0) if counts else low
            (self.certain if stays else self.optional).append((weight, low, high))
            self.points_missing |= value is None and weight > 0
        elif value is not None:
            self.certain.append((weight, value, value))

    def add_group(self, weight: float, inner: _Level, score: Score) -> None:
        """Add a group, which counts as certain if its score is."""
        self.judged += inner.judged
        self.missing += inner.missing
        low, high = score.lowest, score.highest
        if low is None or high is None:  # no answer could give a score
            return
        if score.value is None:
            self.points_missing |= weight > 0
        else:
            self.known.append((weight, score.value))
            self.faults_only |= score.faults_only and weight > 0
        (self.certain if inner.stays else self.optional).append((weight, low, high))

    def score(self, scoring: ItemScoring, nodes: Sequence[Node]) -> Score:
        """The score of these nodes from the sums."""
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
    """The sums of these nodes, after scoring the groups below; None for too few verdicts."""
    level = _Level()
    known, certain = level.known, level.certain
    for node in nodes:
        if type(node) is Group:
            groups[node.name] = NO_SCORE  # so that it comes before the groups inside it
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
    """The lowest scores (sign 1) or highest (-1), with and without positive weights among them.

    Values in `certain` always count; those in `optional` may also stay out of the score.
    """

    def outermost(ranges: Sequence[_Range]) -> list[tuple[float, float]]:
        return [(weight, low if sign * weight > 0 else high) for weight, low, high in ranges]

    sums = tally(outermost(certain))
    good = [(weight, sign * value) for weight, value in outermost(optional) if weight > 0]
    bad = [(-weight, -sign * value) for weight, value in outermost(optional) if weight < 0]
    # If there are positive weights, a negative one changes only the numerator.
    shift = sum(min(0.0, weight * value) for weight, value in bad)
    ends = [(0.0, least_ratio(sign * sums.raw + shift, sums.positive, good))]
    if not sums.positive and scoring.avoids:
        ends.append((1.0, least_ratio(sign * sums.raw, sums.negative, bad)))
    scores = [base + sign * ratio for base, ratio in ends if ratio is not None]
    return scores if scoring.raw else [min(1.0, max(0.0, end)) for end in scores]


def _stand_in(criterion: Criterion, status: Status, rules: _Rules) -> float | None:
    """The value used for an answer without one; None to leave it out."""
    if status == "skipped":
        return 0.0 if rules.scoring.skipped == "zero" else None
    strategy = rules.cannot_assess
    if strategy == "skip":
        return None
    if strategy == "fail":  # the worst answer, which need not have the value 0
        return criterion.value_range[criterion.weight < 0]
    return rules.partial if strategy == "partial" and criterion.weight > 0 else 0.0
