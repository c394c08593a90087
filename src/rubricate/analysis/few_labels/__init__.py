"""Uses of a few labels: corrected means, thresholds, calibrated probabilities."""
