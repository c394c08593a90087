"""Agreement of two label sequences."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass

__all__ = ["Agreement", "agreement", "cohen_kappa"]


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


def cohen_kappa(first: Sequence[str], second: Sequence[str]) -> float | None:
    """Cohen's kappa (Cohen 1960): (p_o - p_e) / (1 - p_e).

    p_o is the share of equal pairs and p_e the share expected from the two label distributions
    alone. None where p_e is 1 (both gave one and the same label throughout) or there is no pair.

    Args:
        first, second: labels of the same things in the same order, equally many.
    """
    n = len(first)
    if n == 0:
        return None
    equal = sum(a == b for a, b in zip(first, second, strict=True))
    others = Counter(second)
    chance = sum(count * others[label] for label, count in Counter(first).items())
    if chance == n * n:
        return None
    return (n * equal - chance) / (n * n - chance)


def agreement(judge: Sequence[str], human: Sequence[str]) -> Agreement:
    """Accuracy and Cohen's kappa of a judge's labels against people's, pair by pair."""
    n = len(judge)
    if n == 0:
        return Agreement(0, None, None, "no item has both a verdict and a label")
    equal = sum(a == b for a, b in zip(judge, human, strict=True))
    kappa = cohen_kappa(judge, human)
    undefined = "judge and people gave one and the same label throughout" if kappa is None else None
    return Agreement(n, equal / n, kappa, undefined)
