"""What a few labels are good for: corrected means, thresholds, calibrated probabilities."""
