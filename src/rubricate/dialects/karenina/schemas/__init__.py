"""`karenina.schemas`: rubrics and their traits, models, templates, results."""

from typing import TYPE_CHECKING

from rubricate.dialects._missing import missing
from rubricate.dialects.karenina._callable import CallableRubricTrait
from rubricate.dialects.karenina._models import ModelConfig, VerificationConfig
from rubricate.dialects.karenina._question import Question
from rubricate.dialects.karenina._results import VerificationResult, VerificationResults
from rubricate.dialects.karenina._template import Template, TemplateField
from rubricate.dialects.karenina._traits import (
    ManualRubricTrait,
    MetricRubricTrait,
    RegexRubricTrait,
    Rubric,
    RubricTrait,
    StoredTrait,
)

LLMRubricTrait = RubricTrait
RegexTrait = RegexRubricTrait
CallableTrait = CallableRubricTrait
VerificationResultSet = VerificationResults

__all__ = [
    "CallableRubricTrait",
    "CallableTrait",
    "LLMRubricTrait",
    "ManualRubricTrait",
    "MetricRubricTrait",
    "ModelConfig",
    "Question",
    "RegexRubricTrait",
    "RegexTrait",
    "Rubric",
    "RubricTrait",
    "StoredTrait",
    "Template",
    "TemplateField",
    "VerificationConfig",
    "VerificationResult",
    "VerificationResultSet",
    "VerificationResults",
]

if not TYPE_CHECKING:  # for type checkers what is not here is an error of its own
    __getattr__ = missing(__name__)
