"""How good probabilities are, in numbers. All arrays have shape [n]; targets are 0 or 1."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

Array = NDArray[np.float64]


def figures(probabilities: Array, targets: Array) -> dict[str, float | None]:
    """AUC, accuracy, Cohen's kappa, expected calibration error, log loss; None where undefined."""
    both = len(set(targets)) == 2
    verdicts = probabilities >= 0.5
    truth = targets >= 0.5
    agreed = float((verdicts == truth).mean())
    chance = float(verdicts.mean() * truth.mean() + (1 - verdicts.mean()) * (1 - truth.mean()))
    clipped = np.clip(probabilities, 1e-6, 1 - 1e-6)
    loss = -(targets * np.log(clipped) + (1 - targets) * np.log(1 - clipped))
    return {
        "auc": area(probabilities, targets) if both else None,
        "accuracy": agreed,
        "kappa": (agreed - chance) / (1 - chance) if both and chance < 1 else None,
        "ece": calibration_error(probabilities, targets),
        "log_loss": float(loss.mean()),
    }


def area(scores: Array, targets: Array) -> float:
    """Area under the ROC curve, by ranks with ties shared (Mann and Whitney 1947)."""
    _, place, size = np.unique(scores, return_inverse=True, return_counts=True)
    ranks = (np.cumsum(size) - (size - 1) / 2)[place]
    positive = targets >= 0.5
    count = int(positive.sum())
    above = ranks[positive].sum() - count * (count + 1) / 2
    return float(above / (count * (len(targets) - count)))


def calibration_error(probabilities: Array, targets: Array, bins: int = 10) -> float:
    """Expected calibration error over bins of equal width (Naeini et al. 2015)."""
    place = np.minimum((probabilities * bins).astype(int), bins - 1)
    error = 0.0
    for number in range(bins):
        inside = place == number
        if inside.any():
            error += inside.mean() * abs(
                float(probabilities[inside].mean() - targets[inside].mean())
            )
    return float(error)
