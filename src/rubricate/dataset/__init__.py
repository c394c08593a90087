"""What is graded: items, datasets, their files and splits."""

from rubricate.dataset._item import DataItem, GroundTruth
from rubricate.dataset._rubric_dataset import RubricDataset

__all__ = ["DataItem", "GroundTruth", "RubricDataset"]
