"""AutoRubric's names: `autorubric` becomes `rubricate.dialects.autorubric` in import lines.

Criteria, rubrics and datasets are the core's, with AutoRubric's defaults and the forms that its
files have. Graders make the core's judges, and run on the core's engine: journal, retries and
failures are as everywhere in rubricate.
"""

from rubricate.dialects.autorubric._reports import (
    AggregatedMultiChoiceVerdict as AggregatedMultiChoiceVerdict,
    EnsembleCriterionReport as EnsembleCriterionReport,
    EnsembleEvaluationReport as EnsembleEvaluationReport,
    JudgeVote as JudgeVote,
    MultiChoiceJudgeVote as MultiChoiceJudgeVote,
    TokenUsage as TokenUsage,
)
from rubricate.dialects.autorubric.dataset import (
    DataItem as DataItem,
    RubricDataset as RubricDataset,
)
from rubricate.dialects.autorubric.eval import (
    EvalResult as EvalResult,
    ItemResult as ItemResult,
    evaluate as evaluate,
)
from rubricate.dialects.autorubric.graders import (
    CannotAssessConfig as CannotAssessConfig,
    CannotAssessStrategy as CannotAssessStrategy,
    CriterionGrader as CriterionGrader,
    FewShotConfig as FewShotConfig,
    JudgeSpec as JudgeSpec,
)
from rubricate.dialects.autorubric.llm import (
    LLMConfig as LLMConfig,
    ThinkingConfig as ThinkingConfig,
    ThinkingLevel as ThinkingLevel,
)
from rubricate.dialects.autorubric.rubric import Rubric as Rubric
from rubricate.dialects.autorubric.types import (
    Criterion as Criterion,
    CriterionOption as CriterionOption,
    CriterionVerdict as CriterionVerdict,
    LengthPenalty as LengthPenalty,
)
