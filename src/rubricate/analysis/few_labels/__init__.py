"""What a few labels are good for: corrected means, thresholds, calibrated probabilities."""

from rubricate.analysis.few_labels._cascade import labelled_confidences as labelled_confidences
