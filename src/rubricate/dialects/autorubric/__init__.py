"""AutoRubric's names: `autorubric` becomes `rubricate.dialects.autorubric` in import lines.

Criteria, rubrics and datasets are the core's, with AutoRubric's defaults and the forms that its
files have. Graders make the core's judges, and run on the core's engine: journal, retries and
failures are as everywhere in rubricate.
"""

from typing import TYPE_CHECKING

from rubricate.dialects._missing import missing
from rubricate.dialects.autorubric._reports import (
    AggregatedMultiChoiceVerdict,
    EnsembleCriterionReport,
    EnsembleEvaluationReport,
    JudgeVote,
    MultiChoiceJudgeVote,
    TokenUsage,
)
from rubricate.dialects.autorubric.dataset import DataItem, RubricDataset
from rubricate.dialects.autorubric.eval import EvalResult, ItemResult, evaluate
from rubricate.dialects.autorubric.graders import (
    CannotAssessConfig,
    CannotAssessStrategy,
    CriterionGrader,
    FewShotConfig,
    JudgeSpec,
)
from rubricate.dialects.autorubric.llm import LLMConfig, ThinkingConfig, ThinkingLevel
from rubricate.dialects.autorubric.rubric import Rubric
from rubricate.dialects.autorubric.types import (
    Criterion,
    CriterionOption,
    CriterionVerdict,
    LengthPenalty,
)

__all__ = [
    "AggregatedMultiChoiceVerdict",
    "CannotAssessConfig",
    "CannotAssessStrategy",
    "Criterion",
    "CriterionGrader",
    "CriterionOption",
    "CriterionVerdict",
    "DataItem",
    "EnsembleCriterionReport",
    "EnsembleEvaluationReport",
    "EvalResult",
    "FewShotConfig",
    "ItemResult",
    "JudgeSpec",
    "JudgeVote",
    "LLMConfig",
    "LengthPenalty",
    "MultiChoiceJudgeVote",
    "Rubric",
    "RubricDataset",
    "ThinkingConfig",
    "ThinkingLevel",
    "TokenUsage",
    "evaluate",
]

if not TYPE_CHECKING:
    __getattr__ = missing(__name__)
