"""Agreement of counted answers, for figures that are added up during a run."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from math import fsum
from typing import Any

from rubricate.errors import InputError
from rubricate.stats._inputs import brief, count_of, is_missing, listed, number_of

ONE_LABEL = "judge and people gave one and the same label throughout"
NO_ITEM = "no item has both a verdict and a label"
ONE_PAIR = "one pair cannot show agreement beyond chance: label more items"
NO_KAPPA = "no criterion has a kappa"
SAME_STEP = 0.5
"""Numbers on a scale are equal if they are less than this apart: they may be means."""


@dataclass(frozen=True, slots=True)
class Agreement:
    """The agreement of a judge and people.

    Attributes:
        n: the number of pairs in which both gave an answer.
        accuracy: the share of equal pairs, in [0, 1]; None for n = 0.
        kappa: Cohen's kappa, in [-1, 1]; None if it is undefined.
        undefined: why `kappa` is None.
    """

    n: int
    accuracy: float | None
    kappa: float | None
    undefined: str | None = None


Pairs = Mapping[tuple[str, str], int] | Mapping[tuple[float, float], int]
"""The count of each pair of answers (the judge's, a person's)."""


def agreement_of_counts(pairs: Pairs) -> Agreement:
    """Accuracy and kappa of counted pairs (the judge's answer, a person's).

    For labels, kappa (Cohen 1960) is (p_o - p_e) / (1 - p_e): p_o is the share of equal pairs and
    p_e the share expected from the two label distributions alone. Numbers are steps of a scale, or
    means of steps: kappa then has squared distances (Cohen 1968), and two numbers are equal if they
    are less than half a step apart. Kappa is None if p_e is 1 (both gave the same answer
    throughout) or there is no pair. A pair with a missing answer (None, NaN) does not count. If
    some answers are labels and others numbers, all are labels.

    `label_agreement` and `score_agreement` give more figures, with intervals; this function needs
    no numpy, and counts can be added up during a run.

    Args:
        pairs: the count of each pair (the judge's answer, a person's), 0 or more.

    Returns:
        Accuracy (0 to 1), kappa (at most 1, 0 for chance) and the number of pairs that count.

    Raises:
        InputError: no mapping of pairs of answers to whole numbers from 0 on.

    Example:
        >>> agreement_of_counts({("yes", "yes"): 4, ("no", "no"): 4, ("yes", "no"): 2})
        Agreement(n=10, accuracy=0.8, kappa=0.6153846153846154, undefined=None)
    """
    if not isinstance(pairs, Mapping):
        raise InputError(
            f"pairs: a mapping of pairs to their counts is needed, found {brief(pairs)}"
        )
    counted = [(_pair(pair), count_of(count, "pairs: a count")) for pair, count in pairs.items()]
    known = [(pair, count) for pair, count in counted if count and not any(map(is_missing, pair))]
    n = sum(count for _, count in known)
    if n == 0:
        return Agreement(0, None, None, NO_ITEM)
    if any(isinstance(answer, str) for pair, _ in known for answer in pair):
        return _of_labels(known, n)
    counts: Counter[tuple[float, float]] = Counter()
    for (first, second), count in known:
        counts[number_of(first, "pairs"), number_of(second, "pairs")] += count
    return _of_steps(counts, n)


def _pair(pair: Any) -> tuple[Any, Any]:
    if not (isinstance(pair, tuple) and len(pair) == 2):
        raise InputError(f"pairs: {brief(pair)} is not a pair (the judge's answer, a person's)")
    return pair


def _of_labels(pairs: Sequence[tuple[tuple[object, object], int]], n: int) -> Agreement:
    equal = sum(count for (first, second), count in pairs if first == second)
    judge: Counter[object] = Counter()
    human: Counter[object] = Counter()
    for (first, second), count in pairs:
        judge[first] += count
        human[second] += count
    chance = sum(count * human[label] for label, count in judge.items())
    if chance == n * n or n == 1:
        return Agreement(n, equal / n, None, ONE_LABEL if chance == n * n else ONE_PAIR)
    return Agreement(n, equal / n, (n * equal - chance) / (n * n - chance))


def _of_steps(pairs: Mapping[tuple[float, float], int], n: int) -> Agreement:
    equal = sum(
        count for (first, second), count in pairs.items() if abs(first - second) < SAME_STEP
    )
    numbers = {number for pair in pairs for number in pair}
    if len(numbers) == 1 or n == 1:
        return Agreement(n, equal / n, None, ONE_LABEL if len(numbers) == 1 else ONE_PAIR)
    middle = fsum(count * (first + second) for (first, second), count in pairs.items()) / (2 * n)
    apart = fsum(count * (first - second) ** 2 for (first, second), count in pairs.items())
    squares = fsum(
        count * ((first - middle) ** 2 + (second - middle) ** 2)
        for (first, second), count in pairs.items()
    )
    sums = [fsum(count * (pair[side] - middle) for pair, count in pairs.items()) for side in (0, 1)]
    return Agreement(n, equal / n, 1 - n * apart / (n * squares - 2 * sums[0] * sums[1]))


def stratified(strata: Sequence[Agreement]) -> Agreement:
    """The agreement over several criteria, each with its chance agreement.

    The accuracy is that of all pairs. Kappa is stratified: the mean of the strata's kappas,
    weighted by their numbers of pairs (Barlow, Lai and Azen 1991, "A comparison of methods for
    calculating a stratified kappa"). Strata without a kappa are left out, and so are those of one
    pair, whose kappa can only be 0 or undefined. A kappa of all pairs together would count it as
    agreement that both sides know which criterion is met more often.

    Args:
        strata: the agreement of each criterion.

    Returns:
        Accuracy (0 to 1) and kappa (at most 1) over all of them.

    Raises:
        InputError: a value in `strata` is no `Agreement`.

    Example:
        >>> stratified([Agreement(10, 0.9, 0.8), Agreement(30, 0.7, 0.4)]).kappa
        0.5
    """
    every = listed(strata, "strata")
    for index, stratum in enumerate(every):
        if not isinstance(stratum, Agreement):
            raise InputError(f"strata: {brief(stratum)} at position {index} is no Agreement")
        count_of(stratum.n, "strata: n")
    parts = [stratum for stratum in every if stratum.n and not is_missing(stratum.accuracy)]
    n = sum(stratum.n for stratum in parts)
    if not n:
        return Agreement(0, None, None, NO_ITEM)
    equal = fsum(stratum.n * stratum.accuracy for stratum in parts if stratum.accuracy is not None)
    known = [
        (stratum.n, stratum.kappa)
        for stratum in parts
        if stratum.kappa is not None and not is_missing(stratum.kappa) and stratum.n > 1
    ]
    if not known:
        return Agreement(n, equal / n, None, NO_KAPPA)
    kappa = fsum(count * kappa for count, kappa in known) / sum(count for count, _ in known)
    return Agreement(n, equal / n, kappa)
