"""What a statistic is given back as."""

from __future__ import annotations

from dataclasses import dataclass

__all__ = ["Estimate"]


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

    def __str__(self) -> str:
        if self.value is None:
            return "–"
        if self.low is None or self.high is None:
            return f"{self.value:.3f}"
        return f"{self.value:.3f} [{self.low:.3f}, {self.high:.3f}]"
