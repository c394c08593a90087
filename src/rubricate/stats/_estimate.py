"""The result of a statistic."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Estimate:
    """A figure with its interval.

    Attributes:
        value: the figure; None if it is undefined, never NaN.
        low, high: the ends of the interval; None if there is no interval.
        undefined: why `value` is None or, if it is not None, why it has no interval.

    Example:
        >>> print(Estimate(0.8, 0.7, 0.9))
        0.800 [0.700, 0.900]
    """

    value: float | None
    low: float | None = None
    high: float | None = None
    undefined: str | None = None

    def within(self, lowest: float, highest: float) -> Estimate:
        """The same estimate, with its value and ends clipped to the range of the figure.

        Args:
            lowest: the least that the figure can be.
            highest: the greatest that it can be.
        """

        def inside(number: float | None) -> float | None:
            return None if number is None else min(highest, max(lowest, number))

        return Estimate(inside(self.value), inside(self.low), inside(self.high), self.undefined)

    def __str__(self) -> str:
        if self.value is None:
            return "–"
        if self.low is None or self.high is None:
            return f"{self.value:.3f}"
        return f"{self.value:.3f} [{self.low:.3f}, {self.high:.3f}]"
