"""`karenina.schemas.entities`: questions, rubrics and their traits."""

from typing import TYPE_CHECKING

from rubricate.dialects._missing import missing
from rubricate.dialects.karenina.schemas import (
    CallableRubricTrait,
    CallableTrait,
    LLMRubricTrait,
    ManualRubricTrait,
    MetricRubricTrait,
    Question,
    RegexRubricTrait,
    RegexTrait,
    Rubric,
    RubricTrait,
)

__all__ = [
    "CallableRubricTrait",
    "CallableTrait",
    "LLMRubricTrait",
    "ManualRubricTrait",
    "MetricRubricTrait",
    "Question",
    "RegexRubricTrait",
    "RegexTrait",
    "Rubric",
    "RubricTrait",
]

if not TYPE_CHECKING:  # for type checkers what is not here is an error of its own
    __getattr__ = missing(__name__)
