"""Ragas' names: `ragas` becomes `rubricate.dialects.ragas` in import lines.

`RubricsScore` and `evaluate` on the core's engine: journal, retries and failures are as everywhere
in rubricate.
"""

from typing import TYPE_CHECKING

from rubricate.dialects._missing import missing
from rubricate.dialects.ragas.dataset_schema import (
    EvaluationDataset,
    MultiTurnSample,
    SingleTurnSample,
)
from rubricate.dialects.ragas.evaluation import (
    EvaluationResult,
    MeanScore,
    aevaluate,
    evaluate,
)
from rubricate.dialects.ragas.metrics import RubricsScore
from rubricate.dialects.ragas.run_config import RunConfig

__all__ = [
    "EvaluationDataset",
    "EvaluationResult",
    "MeanScore",
    "MultiTurnSample",
    "RubricsScore",
    "RunConfig",
    "SingleTurnSample",
    "aevaluate",
    "evaluate",
]

if not TYPE_CHECKING:  # for type checkers what is not here is an error of its own
    __getattr__ = missing(__name__)
