"""`karenina.schemas`: rubrics and their traits, models, templates, results."""

from rubricate.dialects.karenina._models import ModelConfig, VerificationConfig
from rubricate.dialects.karenina._question import Question
from rubricate.dialects.karenina._results import VerificationResult, VerificationResults
from rubricate.dialects.karenina._template import Template, TemplateField
from rubricate.dialects.karenina._traits import (
    ManualRubricTrait,
    MetricRubricTrait,
    Rubric,
    RubricTrait,
    StoredTrait,
)

__all__ = [
    "ManualRubricTrait",
    "MetricRubricTrait",
    "ModelConfig",
    "Question",
    "Rubric",
    "RubricTrait",
    "StoredTrait",
    "Template",
    "TemplateField",
    "VerificationConfig",
    "VerificationResult",
    "VerificationResults",
]
