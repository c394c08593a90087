"""AutoRubric's names: `autorubric` becomes `rubricate.dialects.autorubric` in import lines.

They clash with nothing and are the core's own.
"""

from rubricate.dataset import DataItem, RubricDataset
from rubricate.rubric import Criterion, CriterionOption, CriterionVerdict, Rubric

__all__ = [
    "Criterion",
    "CriterionOption",
    "CriterionVerdict",
    "DataItem",
    "Rubric",
    "RubricDataset",
]
