"""Agreement of counted labels, for figures that are added up while a run is on."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass

__all__ = ["Agreement", "agreement_of_counts"]


@dataclass(frozen=True, slots=True)
class Agreement:
    """How far a judge and people agree.

    Attributes:
        n: the number of pairs in which both gave a label.
        accuracy: the share of equal pairs, in [0, 1]; None for n = 0.
        kappa: Cohen's kappa, in [-1, 1]; None where it is undefined.
        undefined: why `kappa` is None.
    """

    n: int
    accuracy: float | None
    kappa: float | None
    undefined: str | None = None


Pairs = Mapping[tuple[str, str], int]
"""How often each pair of labels (the first one's, the second one's) came."""


def agreement_of_counts(pairs: Pairs) -> Agreement:
    """Accuracy and Cohen's kappa of counted pairs (the judge's label, a person's).

    Kappa (Cohen 1960) is (p_o - p_e) / (1 - p_e): p_o is the share of equal pairs and p_e the share
    expected from the two label distributions alone. It is None where p_e is 1 (both gave one and
    the same label throughout) or there is no pair. `label_agreement` gives more figures, with
    intervals; this needs no numpy and adds up as a run goes on.
    """
    n = sum(pairs.values())
    if n == 0:
        return Agreement(0, None, None, "no item has both a verdict and a label")
    equal = sum(count for (one, other), count in pairs.items() if one == other)
    judge: Counter[str] = Counter()
    human: Counter[str] = Counter()
    for (one, other), count in pairs.items():
        judge[one] += count
        human[other] += count
    chance = sum(count * human[label] for label, count in judge.items())
    if chance == n * n:
        undefined = "judge and people gave one and the same label throughout"
        return Agreement(n, equal / n, None, undefined)
    return Agreement(n, equal / n, (n * equal - chance) / (n * n - chance))
