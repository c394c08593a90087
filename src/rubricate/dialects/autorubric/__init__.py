"""AutoRubric's names: `autorubric` becomes `rubricate.dialects.autorubric` in import lines.

Criteria, rubrics and datasets are the core's, with AutoRubric's defaults and file formats. Graders
create the core's judges and run on the core's engine, so that journal, retries and failures work as
everywhere in rubricate.
"""

from typing import TYPE_CHECKING

from rubricate.dialects import names_elsewhere
from rubricate._lazy import lazy_door

if TYPE_CHECKING:
    from rubricate.dialects.autorubric.dataset import (
        DataItem as DataItem,
        RubricDataset as RubricDataset,
    )
    from rubricate.dialects.autorubric.eval import (
        EvalConfig as EvalConfig,
        EvalResult as EvalResult,
        EvalRunner as EvalRunner,
        EvalTimingStats as EvalTimingStats,
        ItemResult as ItemResult,
        evaluate as evaluate,
    )
    from rubricate.dialects.autorubric.graders import (
        CriterionGrader as CriterionGrader,
        JudgeSpec as JudgeSpec,
    )
    from rubricate.dialects.autorubric.llm import (
        LLMConfig as LLMConfig,
        ThinkingConfig as ThinkingConfig,
        ThinkingLevel as ThinkingLevel,
    )
    from rubricate.dialects.autorubric.metrics import (
        BiasResult as BiasResult,
        BootstrapResults as BootstrapResults,
        ConfidenceInterval as ConfidenceInterval,
        CorrelationResult as CorrelationResult,
        CriterionMetrics as CriterionMetrics,
        DistributionResult as DistributionResult,
        EMDResult as EMDResult,
        KSTestResult as KSTestResult,
        MetricsResult as MetricsResult,
        compute_metrics as compute_metrics,
        earth_movers_distance as earth_movers_distance,
        extract_verdicts_from_report as extract_verdicts_from_report,
        filter_cannot_assess as filter_cannot_assess,
        ks_test as ks_test,
        score_distribution as score_distribution,
        systematic_bias as systematic_bias,
        verdict_to_binary as verdict_to_binary,
        verdict_to_string as verdict_to_string,
        wasserstein_distance as wasserstein_distance,
    )
    from rubricate.dialects.autorubric.rubric import (
        Rubric as Rubric,
    )
    from rubricate.dialects.autorubric.types import (
        AggregationStrategy as AggregationStrategy,
        AggregatedMultiChoiceVerdict as AggregatedMultiChoiceVerdict,
        CannotAssessConfig as CannotAssessConfig,
        CannotAssessStrategy as CannotAssessStrategy,
        Criterion as Criterion,
        CriterionOption as CriterionOption,
        CriterionReport as CriterionReport,
        CriterionVerdict as CriterionVerdict,
        EnsembleCriterionReport as EnsembleCriterionReport,
        EnsembleEvaluationReport as EnsembleEvaluationReport,
        EvaluationReport as EvaluationReport,
        FewShotConfig as FewShotConfig,
        JudgeVote as JudgeVote,
        LengthPenalty as LengthPenalty,
        LLMCalls as LLMCalls,
        MultiChoiceJudgeVote as MultiChoiceJudgeVote,
        MultiChoiceVerdict as MultiChoiceVerdict,
        NominalAggregation as NominalAggregation,
        OrdinalAggregation as OrdinalAggregation,
        TokenUsage as TokenUsage,
    )
    from rubricate.dialects.autorubric.utils import (
        aggregate_completion_cost as aggregate_completion_cost,
        aggregate_evaluation_usage as aggregate_evaluation_usage,
        aggregate_token_usage as aggregate_token_usage,
        compute_length_penalty as compute_length_penalty,
        fill_ground_truth as fill_ground_truth,
        normalize_to_grade_input as normalize_to_grade_input,
        parse_thinking_output as parse_thinking_output,
        word_count as word_count,
    )
else:
    __getattr__, __dir__ = lazy_door(__name__)

names_elsewhere(__name__)
