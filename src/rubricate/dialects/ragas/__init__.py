"""Ragas' names: `ragas` becomes `rubricate.dialects.ragas` in import lines.

`RubricsScore` and `evaluate` run on the core's engine, so that journal, retries and failures work
as everywhere in rubricate.
"""

from rubricate.dialects import names_elsewhere
from rubricate.dialects.ragas.dataset_schema import (
    EvaluationDataset as EvaluationDataset,
    MultiTurnSample as MultiTurnSample,
    SingleTurnSample as SingleTurnSample,
)
from rubricate.dialects.ragas.evaluation import (
    EvaluationResult as EvaluationResult,
    MeanScore as MeanScore,
    aevaluate as aevaluate,
    evaluate as evaluate,
)
from rubricate.dialects.ragas.metrics import RubricsScore as RubricsScore
from rubricate.dialects.ragas.run_config import RunConfig as RunConfig

names_elsewhere(__name__)
