"""`ragas.metrics`."""

from rubricate.dialects.ragas.metrics._domain_specific_rubrics import (
    DEFAULT_REFERENCE_FREE_RUBRICS as DEFAULT_REFERENCE_FREE_RUBRICS,
    DEFAULT_WITH_REFERENCE_RUBRICS as DEFAULT_WITH_REFERENCE_RUBRICS,
    InstanceRubrics as InstanceRubrics,
    MetricOutputType as MetricOutputType,
    MetricType as MetricType,
    MultiTurnInputWithoutRubric as MultiTurnInputWithoutRubric,
    MultiTurnPrompt as MultiTurnPrompt,
    PydanticPrompt as PydanticPrompt,
    RubricsScore as RubricsScore,
    ScoreFeedback as ScoreFeedback,
    SingleTurnInputWithoutRubric as SingleTurnInputWithoutRubric,
    SingleTurnPrompt as SingleTurnPrompt,
)
