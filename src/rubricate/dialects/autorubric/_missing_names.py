"""AutoRubric's public names that are not here, each with the way here."""

__all__ = ["EVAL_NAMES", "GRADER_NAMES", "LLM_NAMES", "METRICS_NAMES", "NAMES", "TYPE_NAMES"]

_METRICS = "result.compute_metrics(dataset).report has the figures with intervals (docs/trust.md)"
_STATS = (
    "rubricate trust agree shows bias, distances and correlations of scores; in Python "
    "rubricate.stats.score_agreement"
)
_IMPROVE = "look at a rubric's weak criteria with rubricate trust agree and trust variance"
_CASCADE = "ask a cheap judge first with rubricate.Cascade (docs/trust.md)"
_USAGE = "usage and cost are in report.token_usage, report.completion_cost and result.summary()"
_GENERATE = "grade with a rubric, or ask a rubricate.judge.HTTPModel"
_VERDICTS = "verdicts are in result.result.verdicts()"
_NOT_NEEDED = "it is a type for annotations: leave it out, or write its literals"
_RUNNER = "evaluate() runs, resumes and keeps a run folder; rubricate.agrade_stream gives items"

LLM_NAMES = {
    "GenerateResult": _GENERATE,
    "LLMClient": _GENERATE,
    "ThinkingLevelLiteral": _NOT_NEEDED,
    "ThinkingParam": _NOT_NEEDED,
    "classify_grading_error": "a failed verdict says its kind: report.error, verdict.error.kind",
    "generate": _GENERATE,
}
METRICS_NAMES = {
    **dict.fromkeys(
        (
            "BiasResult",
            "BootstrapResult",
            "BootstrapResults",
            "ConfidenceInterval",
            "CorrelationResult",
            "CriterionMetrics",
            "JudgeMetrics",
            "MetricsResult",
        ),
        _METRICS,
    ),
    **dict.fromkeys(
        (
            "DistributionResult",
            "EMDResult",
            "KSTestResult",
            "earth_movers_distance",
            "ks_test",
            "score_distribution",
            "systematic_bias",
            "wasserstein_distance",
        ),
        _STATS,
    ),
    "CannotAssessMode": _NOT_NEEDED,
    **dict.fromkeys(
        (
            "extract_verdicts_from_report",
            "filter_cannot_assess",
            "verdict_to_binary",
            "verdict_to_string",
        ),
        _VERDICTS,
    ),
}
GRADER_NAMES = {
    "Grader": "a judge of one's own derives from rubricate.judge.Judge (docs/own-judges.md)",
    "DecisionModelConfig": "a judge of one's own derives from rubricate.judge.Judge",
    "EscalationConfig": _CASCADE,
}
TYPE_NAMES = {
    **dict.fromkeys(
        (
            "AggregationStrategy",
            "CountFn",
            "ErrorCategory",
            "LLMCalls",
            "NominalAggregation",
            "OrdinalAggregation",
            "PenaltyType",
            "ScaleType",
            "ThinkingOutputDict",
            "ToGradeInput",
        ),
        _NOT_NEEDED,
    ),
    "CriterionJudgment": "a judge's reply is read by the criterion's kind; see criterion.read",
    "MultiChoiceJudgment": "a judge's reply is read by the criterion's kind; see criterion.read",
    "CriterionReport": "a report's criteria are EnsembleCriterionReport, of one judge too",
    "EvaluationReport": "a report is an EnsembleEvaluationReport, of one judge too",
    "FewShotExample": "examples are items of a labelled dataset: training_data",
    "MultiChoiceVerdict": "the verdict on options is an AggregatedMultiChoiceVerdict",
}
EVAL_NAMES = {
    "EvalConfig": _RUNNER,
    "EvalRunner": _RUNNER,
    "EvalTimingStats": "how long a run took is in result.result.seconds",
    "ExperimentManifest": "the run folder says it: summary.json (docs/results.md)",
}
NAMES = {
    **LLM_NAMES,
    **METRICS_NAMES,
    **GRADER_NAMES,
    **TYPE_NAMES,
    **EVAL_NAMES,
    **dict.fromkeys(("EscalationCurve", "EscalationPoint"), _CASCADE),
    **dict.fromkeys(("calibrate_escalation", "escalation_stats", "replay_escalation"), _CASCADE),
    **dict.fromkeys(
        (
            "ImprovementConfig",
            "ImprovementResult",
            "ImprovementRunner",
            "IssueDetail",
            "IterationResult",
            "evaluate_rubric_in_context",
            "evaluate_rubric_standalone",
            "get_in_context_meta_rubric",
            "get_standalone_meta_rubric",
            "improve_rubric",
            "meta",
        ),
        _IMPROVE,
    ),
    **dict.fromkeys(
        ("aggregate_completion_cost", "aggregate_evaluation_usage", "aggregate_token_usage"), _USAGE
    ),
    "compute_length_penalty": "LengthPenalty(...).of(text)",
    "compute_metrics": "result.compute_metrics(dataset)",
    "debug": "rubricate -v; the logger is called rubricate",
    "decision": "a judge of one's own derives from rubricate.judge.Judge",
    "escalation": _CASCADE,
    "fill_ground_truth": "label with rubricate label; a judge's verdicts are no ground truth",
    "metrics": _METRICS,
    "normalize_to_grade_input": "rubric.grade takes a text, or {thinking, output}",
    "parse_thinking_output": "rubricate.rubric.split_thinking",
    "prompts": "rubricate grade --dry-run shows what a judge is asked (docs/explaining.md)",
    "rate_limit": "limits are found from the endpoint's answers; LLMConfig(max_parallel_requests=)",
    "scoring": "rubric.compute_score(verdicts), or rubricate.rubric.score",
    "utils": "see the names themselves: from rubricate.dialects.autorubric import ...",
    "word_count": "rubricate.rubric.count_words",
}
