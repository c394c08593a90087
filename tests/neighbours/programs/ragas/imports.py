import os, asyncio, warnings

warnings.simplefilter("ignore")
ADDRESS = os.environ["ADDRESS"]
from ragas.llms.base import BaseRagasLLM, LangchainLLMWrapper, llm_factory
from ragas.llms import BaseRagasLLM as B
from ragas.metrics.base import (
    MetricType,
    MetricOutputType,
    MetricWithLLM,
    SingleTurnMetric,
    MultiTurnMetric,
    Metric,
)
from ragas.metrics import RubricsScore, InstanceRubrics, MetricWithLLM as M2
from ragas.metrics._domain_specific_rubrics import RubricsScore as R2
from ragas.metrics._instance_specific_rubrics import InstanceRubrics as I2
from ragas.dataset_schema import EvaluationResult

r = RubricsScore()
print(
    isinstance(r, (MetricWithLLM)),
    isinstance(r, SingleTurnMetric),
    isinstance(r, MultiTurnMetric),
    isinstance(r, Metric),
    issubclass(InstanceRubrics, SingleTurnMetric),
    B is BaseRagasLLM,
    R2 is RubricsScore,
)
print(r.name, r.output_type, r.max_retries, sorted(r.rubrics), r.llm)
print(MetricType.SINGLE_TURN.value, MetricOutputType.DISCRETE.value)
