"""`ragas.metrics`."""

from typing import TYPE_CHECKING

from rubricate.dialects._missing import missing
from rubricate.dialects.ragas.metrics._domain_specific_rubrics import (
    DEFAULT_REFERENCE_FREE_RUBRICS,
    DEFAULT_WITH_REFERENCE_RUBRICS,
    InstanceRubrics,
    MetricOutputType,
    MetricType,
    MultiTurnInputWithoutRubric,
    MultiTurnPrompt,
    PydanticPrompt,
    RubricsScore,
    ScoreFeedback,
    SingleTurnInputWithoutRubric,
    SingleTurnPrompt,
)

__all__ = [
    "DEFAULT_REFERENCE_FREE_RUBRICS",
    "DEFAULT_WITH_REFERENCE_RUBRICS",
    "InstanceRubrics",
    "MetricOutputType",
    "MetricType",
    "MultiTurnInputWithoutRubric",
    "MultiTurnPrompt",
    "PydanticPrompt",
    "RubricsScore",
    "ScoreFeedback",
    "SingleTurnInputWithoutRubric",
    "SingleTurnPrompt",
]

if not TYPE_CHECKING:  # for type checkers what is not here is an error of its own
    __getattr__ = missing(__name__)
