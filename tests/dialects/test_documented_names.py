"""Every name that a system's documentation imports is imported from its dialect, too."""

from __future__ import annotations

import importlib

import pytest

TRAITS = """
    CallableRubricTrait CallableTrait LLMRubricTrait ManualRubricTrait MetricRubricTrait
    RegexRubricTrait RegexTrait Rubric RubricTrait
"""
DOCUMENTED = {
    "autorubric": {
        "": """
            CannotAssessConfig Criterion CriterionGrader CriterionOption CriterionVerdict DataItem
            FewShotConfig JudgeSpec LLMConfig LengthPenalty Rubric RubricDataset ThinkingConfig
            CannotAssessStrategy EvalConfig EvalResult EvalRunner EvaluationReport MetricsResult
            compute_metrics earth_movers_distance evaluate fill_ground_truth ks_test
            score_distribution systematic_bias word_count
        """,
        ".dataset": "DataItem RubricDataset",
        ".eval": "EvalConfig EvalResult EvalRunner EvalTimingStats evaluate",
        ".graders": "CriterionGrader JudgeSpec",
        ".graders.criterion_grader": "CriterionGrader JudgeSpec",
        ".llm": "LLMConfig",
        ".rubric": "Rubric",
        ".metrics": "CriterionMetrics MetricsResult compute_metrics filter_cannot_assess ks_test",
        ".types": """
            CannotAssessConfig CannotAssessStrategy Criterion CriterionOption CriterionReport
            CriterionVerdict EvaluationReport FewShotConfig JudgeVote LengthPenalty TokenUsage
        """,
        ".utils": """
            aggregate_token_usage compute_length_penalty fill_ground_truth parse_thinking_output
            word_count
        """,
    },
    "inspect_ai": {
        ".dataset": """
            Dataset FieldSpec MemoryDataset RecordToSample Sample csv_dataset file_dataset
            hf_dataset json_dataset
        """,
        ".model": "ChatMessage ChatMessageUser Content ContentImage ContentText",
        ".tool": "ToolCall",
    },
    "karenina": {
        "": "Benchmark TaskEval",
        ".adapters.manual": "ManualTraces",
        ".benchmark": "Benchmark",
        ".schemas": f"{TRAITS} ModelConfig Question VerificationConfig VerificationResult",
        ".schemas.config": "ModelConfig",
        ".schemas.config.models": "ModelConfig",
        ".schemas.entities": TRAITS,
        ".schemas.entities.question": "Question",
        ".schemas.entities.rubric": TRAITS,
        ".schemas.results": "VerificationResultSet",
        ".schemas.verification": "VerificationConfig VerificationResult",
        ".schemas.verification.config": "VerificationConfig",
    },
    "ragas": {
        "": "EvaluationDataset MultiTurnSample RunConfig SingleTurnSample aevaluate evaluate",
        ".dataset_schema": """
            EvaluationDataset EvaluationResult MultiTurnSample Sample SingleTurnSample
        """,
        ".evaluation": "EvaluationResult evaluate",
        ".llms": "BaseRagasLLM LangchainLLMWrapper llm_factory",
        ".llms.base": "BaseRagasLLM LangchainLLMWrapper llm_factory",
        ".messages": "AIMessage HumanMessage ToolCall ToolMessage",
        ".metrics": "InstanceRubrics MetricOutputType MetricType PydanticPrompt RubricsScore",
        ".metrics._instance_specific_rubrics": "InstanceRubrics",
        ".metrics.base": "Metric MetricType MetricWithLLM MultiTurnMetric SingleTurnMetric",
        ".metrics._domain_specific_rubrics": """
            DEFAULT_REFERENCE_FREE_RUBRICS DEFAULT_WITH_REFERENCE_RUBRICS MultiTurnPrompt
            RubricsScore ScoreFeedback SingleTurnPrompt
        """,
        ".metrics.collections": """
            DomainSpecificRubrics InstanceSpecificRubrics RubricsScoreWithReference
            RubricsScoreWithoutReference
        """,
        ".prompt": "PydanticPrompt",
        ".run_config": "RunConfig",
    },
    "researchrubrics": {
        "": "RubricEvaluator calculate_compliance_score evaluate_reports_batch",
        ".evaluate_single_report": "RubricEvaluator evaluate_task_rubrics",
    },
}
"""By system and module, the names."""


@pytest.mark.parametrize("system", DOCUMENTED)
def test_a_systems_documented_imports_work(system):
    for module, names in DOCUMENTED[system].items():
        loaded = importlib.import_module(f"rubricate.dialects.{system}{module}")
        assert set(names.split()) <= set(dir(loaded)), module
