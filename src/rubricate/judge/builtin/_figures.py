"""How good probabilities are, in numbers: those of `rubricate.stats`, and the log loss."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from rubricate.stats import calibration, label_agreement, roc_auc

Array = NDArray[np.float64]


def figures(probabilities: Array, targets: Array) -> dict[str, float | None]:
    """AUC, accuracy, Cohen's kappa, expected calibration error, log loss; None where undefined.

    Both arrays have shape [n]; targets are 0 or 1.
    """
    given: list[float] = probabilities.tolist()
    truth: list[bool] = (targets >= 0.5).tolist()
    both = len(set(truth)) == 2
    agreement = label_agreement(
        [str(probability >= 0.5) for probability in given],
        [str(label) for label in truth],
        bootstrap=None,
    )
    calibrated = calibration(given, truth, bootstrap=None)
    return {
        "auc": roc_auc(given, truth).value,
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
