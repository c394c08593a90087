"""Aggregates: the score of a dataset from the scores of its items, with the source of each.

An aggregate converts the scores of items to numbers (most leave them unchanged), takes their mean,
and may clip it. Its bounds hold whatever answers the missing verdicts get, and also if they get
none.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from math import fsum
from typing import NamedTuple

from rubricate._spelling import unknown_word
from rubricate.errors import InputError


class Scored(NamedTuple):
    """An input of an aggregate: an item's score, or its part for a tag.

    Attributes:
        value: None if there is none.
        lowest, highest: the range it could still take if verdicts are missing; None if no answer
            could have given a score.
        pair: identifies items that share one reference, over which intervals are computed; without
            references, the item.
        is_reference: whether the item is that reference.
        certain: whether there will be a value whatever the missing verdicts are.
        groups: the groups of the item, outermost first; empty if the aggregate has none.
        reach: the most that one answer can change the value; 0 if unknown.
    """

    value: float | None
    lowest: float | None
    highest: float | None
    pair: str = ""
    is_reference: bool = False
    certain: bool = True
    groups: tuple[str, ...] = ()
    reach: float = 0.0


@dataclass(frozen=True, slots=True)
class Aggregated:
    """The score of several items together.

    Attributes:
        value: the score; None if no item has one.
        lowest, highest: the range it could still take if verdicts are missing.
        values: the numbers whose mean it is; for an aggregate in groups, those directly inside the
            outermost groups.
        pairs: the pair of each of these numbers.
        strata: the outermost group of each of these numbers.
        reach: the most that one answer can change one of these numbers, on average; 0 if unknown.
        n: items with a score; for an aggregate in pairs, without the references.
        without: items without a score.
    """

    value: float | None
    lowest: float | None
    highest: float | None
    values: tuple[float, ...]
    pairs: tuple[str, ...]
    strata: tuple[str, ...]
    reach: float
    n: int
    without: int


@dataclass(frozen=True, slots=True)
class Aggregate:
    """A formula for the score of several items.

    Attributes:
        name: its name in files.
        formula: the formula, in a few words.
        source: the publication; empty for the plain mean.
        limits: the range to clip the mean to; None for no clipping.
        in_pairs: whether items are compared with a reference.
        in_groups: whether each group counts with its mean.
    """

    name: str
    formula: str
    source: str = ""
    limits: tuple[float, float] | None = None
    in_pairs: bool = False
    in_groups: bool = False

    def of(self, scores: Sequence[Scored]) -> Aggregated:
        """The score of these items, in any order."""
        numbers = against_references(scores) if self.in_pairs else list(scores)
        inner = means_of_groups(numbers, 1) if self.in_groups else numbers
        mean = _mean(means_of_groups(inner, 0) if self.in_groups else inner)
        known = [score for score in inner if score.value is not None]
        return Aggregated(
            value=self.clipped(mean.value),
            lowest=self.clipped(mean.lowest),
            highest=self.clipped(mean.highest),
            values=tuple(score.value for score in known if score.value is not None),
            pairs=tuple(score.pair for score in known),
            strata=tuple("".join(score.groups[:1]) for score in known),
            reach=fsum(score.reach for score in inner) / max(1, len(inner)),
            n=sum(score.value is not None for score in numbers),
            without=sum(score.value is None for score in numbers),
        )

    def clipped(self, mean: float | None) -> float | None:
        """A mean, clipped to the limits."""
        if mean is None or self.limits is None:
            return mean
        return min(self.limits[1], max(self.limits[0], mean))


def against_references(scores: Sequence[Scored]) -> list[Scored]:
    """`t / (t + r)` for each item's score t and the score r of its reference.

    It rises with t and falls with r, so its bounds follow from theirs. If both are 0 there is none.
    """
    references = {score.pair: score for score in scores if score.is_reference}
    nothing = Scored(None, None, None)
    return [
        _against(score, references.get(score.pair, nothing))
        for score in scores
        if not score.is_reference
    ]


def _against(target: Scored, reference: Scored) -> Scored:
    if None in (target.lowest, target.highest, reference.lowest, reference.highest):
        return Scored(None, None, None, target.pair)
    least = _share(target.lowest, reference.highest)
    most = _share(target.highest, reference.lowest)
    if least is None:  # the one at 0 and the other never above it: whatever t has is all
        least = _share(target.highest, reference.highest)
    if most is None:
        most = _share(target.highest, reference.highest)
    return Scored(
        _share(target.value, reference.value),
        least,
        most,
        target.pair,
        certain=bool(target.lowest or reference.lowest),
    )


def _share(target: float | None, reference: float | None) -> float | None:
    if target is None or reference is None or not target + reference:
        return None
    return target / (target + reference)


def means_of_groups(scores: Sequence[Scored], level: int) -> list[Scored]:
    """The mean of each outermost group, computed from the means of the groups inside it.

    Args:
        scores: the scores with their groups.
        level: 0 for the outermost groups; 1 for what is directly inside them.
    """
    depth = max((len(score.groups) for score in scores), default=0)
    for length in range(depth, level, -1):
        groups: dict[tuple[str, ...], list[Scored]] = {}
        for score in scores:
            groups.setdefault(score.groups[:length], []).append(score)
        scores = [_mean(of_group, name) for name, of_group in groups.items()]
    return list(scores)


def _mean(scores: Sequence[Scored], groups: tuple[str, ...] = ()) -> Scored:
    """The mean of those with a value, and the range that it could take."""
    known = [score.value for score in scores if score.value is not None]
    mean = fsum(known) / len(known) if known else None
    least, most = _least_mean(scores, 1), _least_mean(scores, -1)
    ends = [end for end in (mean, least, None if most is None else -most) if end is not None]
    certain = any(score.certain and score.value is not None for score in scores)
    return Scored(
        mean, min(ends, default=None), max(ends, default=None), certain=certain, groups=groups
    )


def _least_mean(scores: Sequence[Scored], sign: int) -> float | None:
    """The lowest possible mean (sign 1), or that of the negated values (-1).

    Items without a value may get one. None if no answers could give a mean.
    """
    ends = [(score, score.lowest if sign > 0 else score.highest) for score in scores]
    fixed = [
        sign * end
        for score, end in ends
        if end is not None and score.value is not None and score.certain
    ]
    optional = [
        (1.0, sign * end)
        for score, end in ends
        if end is not None and (score.value is None or not score.certain)
    ]
    return least_ratio(fsum(fixed), float(len(fixed)), optional)


AGGREGATES: Mapping[str, Aggregate] = {
    aggregate.name: aggregate
    for aggregate in (
        Aggregate("mean", "the mean of the items' scores"),
        Aggregate(
            "clipped_mean",
            "the mean of the items' scores, clipped to [0, 1]",
            "HealthBench (Arora et al. 2025, arXiv:2505.08775)",
            limits=(0.0, 1.0),
        ),
        Aggregate(
            "against_reference",
            "the mean of t / (t + r), of each item's score t and its reference's r",
            "DeepResearch Bench, RACE (Du et al. 2025, arXiv:2506.11763)",
            in_pairs=True,
        ),
        Aggregate(
            "macro_mean",
            "the mean of the groups' means",
            "ProfBench (Wang et al. 2025, arXiv:2510.18941)",
            in_groups=True,
        ),
    )
}
"""The aggregates by name. PaperBench (Starace et al. 2025, arXiv:2504.01848) uses the mean over the
trees of its papers."""


def aggregate_named(name: str) -> Aggregate:
    """The aggregate with a name. Raises `InputError` with a suggestion for an unknown one."""
    if name not in AGGREGATES:
        raise InputError(unknown_word("aggregate", name, AGGREGATES))
    return AGGREGATES[name]


def least_ratio(raw: float, total: float, optional: Sequence[tuple[float, float]]) -> float | None:
    """The lowest `(raw + sum(w v)) / (total + sum(w))` over all subsets of (w, v), with w > 0.

    It takes the smallest values as long as they are below the ratio. None if there is nothing to
    divide by. The highest is `-least_ratio(-raw, total, [(w, -v)])`.
    """
    if not total and not raw:
        return min((value for _, value in optional), default=None)
    if not total:
        return _least_of_some(raw, optional)
    for weight, value in sorted(optional, key=lambda pair: pair[1]):
        if value * total < raw:
            raw, total = raw + weight * value, total + weight
    return raw / total


def _least_of_some(raw: float, optional: Sequence[tuple[float, float]]) -> float | None:
    """The lowest `(raw + sum(w v)) / sum(w)` over all nonempty subsets of (w, v).

    A value above the lowest ratio is in the subset only if it is alone, because the ratio would be
    lower without it. So the subset is a single pair, or all of the smallest values up to some
    point."""
    ratios = [raw / weight + value for weight, value in optional]
    total = 0.0
    for weight, value in sorted(optional, key=lambda pair: pair[1]):
        raw, total = raw + weight * value, total + weight
        ratios.append(raw / total)
    return min(ratios, default=None)
