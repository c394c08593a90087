"""The result of a statistic."""

from __future__ import annotations

from collections.abc import Callable
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
        return self.mapped(lambda number: min(highest, max(lowest, number)))

    def mapped(self, increasing: Callable[[float], float]) -> Estimate:
        """The estimate of an increasing function of the figure.

        Args:
            increasing: is applied to the value and the ends.
        """
        value, low, high = (
            None if number is None else increasing(number)
            for number in (self.value, self.low, self.high)
        )
        return Estimate(value, low, high, self.undefined)

    def __str__(self) -> str:
        if self.value is None:
            return "–"
        if self.low is None or self.high is None:
            return f"{self.value:.3f}"
        return f"{self.value:.3f} [{self.low:.3f}, {self.high:.3f}]"
