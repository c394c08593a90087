"""What a statistic is given back as."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Estimate:
    """A figure with its interval.

    Attributes:
        value: the figure; None where it is undefined, never NaN.
        low, high: the interval's ends; None where there is none.
        undefined: why `value` is None or, if that is there, why it has no interval.
    """

    value: float | None
    low: float | None = None
    high: float | None = None
    undefined: str | None = None

    def within(self, lowest: float, highest: float) -> Estimate:
        """The same with its value and the ends of its interval inside what it can be.

        Args:
            lowest: the least that the figure can be.
            highest: the greatest.
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
