"""How much a run may cost, and how long it may take."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from rubricate.errors import InputError

if TYPE_CHECKING:
    from rubricate.run._progress import Progress

__all__ = ["Budget"]


@dataclass(frozen=True, slots=True)
class Budget:
    """Bounds of a run; None is none.

    Attributes:
        max_cost: US dollars that this run may spend, failed judgements and repeated requests
            included. A call is begun if it fits together with those in flight, each taken for as
            dear as a call has been on average.
        max_time: seconds that this run may take. Calls in flight are broken off.

    Raises:
        InputError: a bound is not more than 0.
    """

    max_cost: float | None = None
    max_time: float | None = None

    def __post_init__(self) -> None:
        for name, bound in (("cost", self.max_cost), ("time", self.max_time)):
            if bound is not None and not bound > 0:
                raise InputError(f"the greatest {name} must be more than 0, found {bound:g}")

    def cost_reached(self, progress: Progress, more: int = 1) -> str | None:
        """Why no further call, about so many criteria, may begin; None where it may."""
        asked = progress.calls + progress.parts
        if self.max_cost is None or not asked:
            return None
        spent = progress.usage.cost
        if spent is None:
            return "the greatest cost cannot be kept, because the price of this model is not known"
        next_ones = (progress.in_flight + more) * spent / asked
        if spent + next_ones > self.max_cost * (1 + 1e-9):
            return f"the greatest cost of ${self.max_cost:g} is reached"
        return None
