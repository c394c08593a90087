"""What the embedded judge reaches on public data that it was not made with.

Neither its weights nor the choice of its features has seen these. The summary of a run, the README
and the documentation say these figures, and no others of it: those of `tools/train_builtin.py` are
of data that the choices were made on.
"""

from __future__ import annotations

from typing import NamedTuple

__all__ = ["CALIBRATION_ERROR", "KAPPA", "UNSEEN", "Unseen", "unseen_figures"]


class Unseen(NamedTuple):
    """A set of human labels of binary criteria: its name, how many, and the AUC on them."""

    name: str
    labels: int
    auc: float


UNSEEN = (
    Unseen("physicians' claims", 293, 0.736),
    Unseen("physics", 112, 0.791),
    Unseen("short answers", 1112, 0.766),
    Unseen("open short answers", 634, 0.638),
)
KAPPA = (0.12, 0.37)
"""The lowest and the highest kappa of these sets."""
CALIBRATION_ERROR = (0.10, 0.24)
"""The lowest and the highest calibration error."""


def unseen_figures() -> str:
    """The figures in one sentence."""
    areas = [one.auc for one in UNSEEN]
    return (
        f"On {len(UNSEEN)} public data sets that it has not seen: "
        f"AUC {min(areas):.2f} to {max(areas):.2f} (mean {sum(areas) / len(areas):.2f}), "
        f"kappa {KAPPA[0]:.2f} to {KAPPA[1]:.2f}, "
        f"calibration error {CALIBRATION_ERROR[0]:.2f} to {CALIBRATION_ERROR[1]:.2f}."
    )
