"""`autorubric.dataset`."""

from rubricate.dataset import DataItem, RubricDataset

__all__ = ["DataItem", "RubricDataset"]
