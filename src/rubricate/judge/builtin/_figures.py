"""How good probabilities are, in numbers: those of `rubricate.stats`, and two that it lacks."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from rubricate.stats import calibration, label_agreement

Array = NDArray[np.float64]


def figures(probabilities: Array, targets: Array) -> dict[str, float | None]:
    """AUC, accuracy, Cohen's kappa, expected calibration error, log loss; None where undefined.

    Both arrays have shape [n]; targets are 0 or 1.
    """
    truth = targets >= 0.5
    both = bool(truth.any()) and not bool(truth.all())
    agreement = label_agreement(
        [str(verdict) for verdict in probabilities >= 0.5],
        [str(label) for label in truth],
        bootstrap=None,
    )
    calibrated = calibration([*map(float, probabilities)], [*map(bool, truth)], bootstrap=None)
    return {
        "auc": area(probabilities, targets) if both else None,
        "accuracy": agreement.figures["accuracy"].value,
        "kappa": agreement.figures["cohen_kappa"].value if both else None,
        "ece": calibrated.expected_calibration_error.value,
        "log_loss": float(log_losses(probabilities, targets).mean()),
    }


def log_losses(probabilities: Array, targets: Array) -> Array:
    """The log loss of each probability, in nats."""
    clipped = np.clip(probabilities, 1e-6, 1 - 1e-6)
    loss = -(targets * np.log(clipped) + (1 - targets) * np.log(1 - clipped))
    return np.asarray(loss, dtype=np.float64)


def area(scores: Array, targets: Array) -> float:
    """Area under the ROC curve, by ranks with ties shared (Mann and Whitney 1947)."""
    _, place, size = np.unique(scores, return_inverse=True, return_counts=True)
    ranks = (np.cumsum(size) - (size - 1) / 2)[place]
    positive = targets >= 0.5
    count = int(positive.sum())
    above = ranks[positive].sum() - count * (count + 1) / 2
    return float(above / (count * (len(targets) - count)))
