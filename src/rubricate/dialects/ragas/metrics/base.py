"""`ragas.metrics.base`: kinds of metrics."""

from rubricate.dialects.ragas._metric import (
    Metric as Metric,
    MetricWithLLM as MetricWithLLM,
    MultiTurnMetric as MultiTurnMetric,
    SingleTurnMetric as SingleTurnMetric,
)
from rubricate.dialects.ragas._rubrics import (
    MetricOutputType as MetricOutputType,
    MetricType as MetricType,
)
