"""Exact means of numbers in any order."""

from __future__ import annotations

from math import fsum

from rubricate.rubric import Score, least_ratio


class Mean:
    """The exactly rounded mean of numbers, independent of their order.

    The partial sums are those of Shewchuk, "Adaptive Precision Floating-Point Arithmetic", 1997.
    """

    def __init__(self) -> None:
        self.count = 0
        self._partials: list[float] = []

    def add(self, number: float | None) -> None:
        """Add a number; None is ignored."""
        if number is None:
            return
        self.count += 1
        if not number:
            return
        partials = self._partials
        if len(partials) == 1:  # whole numbers, halves and so on, whose sum is exact
            (partial,) = partials
            total = partial + number
            if total - partial == number and total - number == partial:
                partials[0] = total
                return
        kept = 0
        for partial in partials:
            larger, smaller = (number, partial) if abs(number) > abs(partial) else (partial, number)
            number = larger + smaller
            if rest := smaller - (number - larger):
                partials[kept] = rest
                kept += 1
        partials[kept:] = [number]

    @property
    def total(self) -> float:
        return fsum(self._partials)

    @property
    def value(self) -> float | None:
        return self.total / self.count if self.count else None


class BoundedMean:
    """The mean of scores, with bounds that hold whatever the missing verdicts are.

    A missing score may or may not exist in the end, so it counts only if it makes the bounds wider.
    """

    def __init__(self) -> None:
        self._values, self._lowest, self._highest = Mean(), Mean(), Mean()
        self._optional: list[tuple[float, float]] = []

    def add(self, score: Score) -> None:
        """Add a score."""
        low, high = score.lowest, score.highest
        if score.value is None:
            if low is not None and high is not None:
                self._optional.append((low, high))
            return
        self._values.add(score.value)
        self._lowest.add(score.value if low is None else low)
        self._highest.add(score.value if high is None else high)

    @property
    def count(self) -> int:
        """How many scores there are."""
        return self._values.count

    @property
    def value(self) -> float | None:
        return self._values.value

    @property
    def lowest(self) -> float | None:
        """The lowest value that the mean could take."""
        ends = [(1.0, low) for low, _ in self._optional]
        return least_ratio(self._lowest.total, float(self.count), ends)

    @property
    def highest(self) -> float | None:
        """The highest value that the mean could take."""
        ends = [(1.0, -high) for _, high in self._optional]
        least = least_ratio(-self._highest.total, float(self.count), ends)
        return None if least is None else -least
