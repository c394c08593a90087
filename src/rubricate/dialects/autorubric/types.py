"""`autorubric.types`: criteria, their answers, and reports."""

from rubricate.dialects import names_elsewhere
from rubricate.dialects.autorubric._criteria import (
    Criterion as Criterion,
    CriterionOption as CriterionOption,
    CriterionVerdict as CriterionVerdict,
    LengthPenalty as LengthPenalty,
)
from rubricate.dialects.autorubric._reports import (
    AggregatedMultiChoiceVerdict as AggregatedMultiChoiceVerdict,
    EnsembleCriterionReport as EnsembleCriterionReport,
    EnsembleEvaluationReport as EnsembleEvaluationReport,
    JudgeVote as JudgeVote,
    MultiChoiceJudgeVote as MultiChoiceJudgeVote,
    TokenUsage as TokenUsage,
)
from rubricate.dialects.autorubric.graders import (
    AggregationStrategy as AggregationStrategy,
    CannotAssessConfig as CannotAssessConfig,
    CannotAssessStrategy as CannotAssessStrategy,
    FewShotConfig as FewShotConfig,
    LLMCalls as LLMCalls,
    NominalAggregation as NominalAggregation,
    OrdinalAggregation as OrdinalAggregation,
)

CriterionReport = EnsembleCriterionReport
EvaluationReport = EnsembleEvaluationReport
MultiChoiceVerdict = AggregatedMultiChoiceVerdict

names_elsewhere(__name__)
