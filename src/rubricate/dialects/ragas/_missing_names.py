"""Ragas' public names that are not here, by the module that has them, each with the way here."""

from __future__ import annotations

__all__ = [
    "COLLECTION_NAMES",
    "LLM_NAMES",
    "MESSAGE_NAMES",
    "METRIC_NAMES",
    "NAMES",
    "PROMPT_NAMES",
    "RUN_NAMES",
    "SCHEMA_NAMES",
]

_RETRIEVAL = "write what it measures as a rubric, for RubricsScore or rubricate.grade"
_LEXICAL = "compare texts by code: a criterion of the kind code or regex (docs/rubrics.md)"
_LABELLED = "a criterion with options, a scale or a yes or no is one (docs/rubrics.md)"
_OWN = "derive a criterion or a judge of your own (docs/architecture.md)"
_TESTSET = "write items to a file and read them with EvaluationDataset.from_jsonl"
_RUN_FOLDER = "run_dir keeps every answer, and rubricate compare sets two runs side by side"
_CACHE = "give evaluate run_dir or cache: stored answers are reused"
_MODELS = "name the model, such as llm='openai/gpt-4.1-mini', or give llm_factory or a callable"
_EMBEDDINGS = "no metric here uses embeddings"
_IMPROVE = "look at a rubric's weak criteria with rubricate trust agree"
_USAGE = "tokens and cost are in result.result.usage"
_TRACES = "every request and reply is in the run folder: rubricate show RUN --item 0 --prompt"
_INTERNAL = "it is a part of Ragas' engine; rubricate has its own"
_PROMPTS = "PydanticPrompt with examples is the prompt of a metric"

NAMES = {
    **dict.fromkeys(("BaseTokenizer", "HuggingFaceTokenizer", "TiktokenWrapper"), _INTERNAL),
    **dict.fromkeys(("get_tokenizer", "tokenizers", "utils", "validation", "executor"), _INTERNAL),
    **dict.fromkeys(("CacheInterface", "DiskCacheBackend", "cacher", "cache"), _CACHE),
    **dict.fromkeys(("DataTable", "Dataset", "dataset"), "EvaluationDataset has the samples"),
    **dict.fromkeys(("Experiment", "experiment", "version_experiment"), _RUN_FOLDER),
    **dict.fromkeys(("optimizers", "losses", "config"), _IMPROVE),
    "backends": _RUN_FOLDER,
    "callbacks": _TRACES,
    "cost": _USAGE,
    "embeddings": _EMBEDDINGS,
    "exceptions": "the errors are in rubricate.errors, each a RubricateError",
    "integrations": "give the dataset and the llm; both may be other libraries' (docs/ragas.md)",
    "testset": _TESTSET,
}
SCHEMA_NAMES = {
    **dict.fromkeys(("BaseSample", "RagasDataset", "T"), _INTERNAL),
    **dict.fromkeys(
        (
            "MetricAnnotation",
            "PromptAnnotation",
            "SampleAnnotation",
            "SingleMetricAnnotation",
        ),
        "people label with rubricate label, and trust agree compares",
    ),
    "EvaluationResult": "it is in rubricate.dialects.ragas.evaluation",
}
MESSAGE_NAMES = {"Message": "a message is a HumanMessage, an AIMessage or a ToolMessage"}
RUN_NAMES = dict.fromkeys(
    ("add_async_retry", "add_retry"), "requests are sent again by the engine: give RunConfig"
)
LLM_NAMES = {
    **dict.fromkeys(
        ("BaseRagasLLM", "InstructorBaseRagasLLM", "InstructorLLM", "InstructorTypeVar", "base"),
        "a model of your own derives from rubricate.Model, or is a callable",
    ),
    **dict.fromkeys(
        (
            "HaystackLLMWrapper",
            "LiteLLMStructuredLLM",
            "LlamaIndexLLMWrapper",
            "OCIGenAIWrapper",
            "oci_genai_factory",
        ),
        _MODELS,
    ),
}
PROMPT_NAMES = dict.fromkeys(
    (
        "BasePrompt",
        "BoolIO",
        "DynamicFewShotPrompt",
        "ExampleStore",
        "FewShotPydanticPrompt",
        "ImageTextPrompt",
        "ImageTextPromptValue",
        "InMemoryExampleStore",
        "InputModel",
        "OutputModel",
        "Prompt",
        "PromptMixin",
        "SimpleExampleStore",
        "SimpleInMemoryExampleStore",
        "StringIO",
        "StringPrompt",
    ),
    _PROMPTS,
)
_BY_A_MODEL = (
    "AgentGoalAccuracy",
    "AgentGoalAccuracyWithReference",
    "AgentGoalAccuracyWithoutReference",
    "AnswerAccuracy",
    "AnswerCorrectness",
    "AnswerRelevancy",
    "ContextEntityRecall",
    "ContextPrecision",
    "ContextPrecisionWithReference",
    "ContextPrecisionWithoutReference",
    "ContextRecall",
    "ContextRelevance",
    "ContextUtilization",
    "FactualCorrectness",
    "Faithfulness",
    "FaithfulnesswithHHEM",
    "LLMContextPrecisionWithReference",
    "LLMContextPrecisionWithoutReference",
    "LLMContextRecall",
    "LLMSQLEquivalence",
    "MultiModalFaithfulness",
    "MultiModalRelevance",
    "NoiseSensitivity",
    "ResponseGroundedness",
    "ResponseRelevancy",
    "SQLSemanticEquivalence",
    "SummarizationScore",
    "SummaryScore",
    "TopicAdherence",
    "TopicAdherenceScore",
    "answer_correctness",
    "answer_relevancy",
    "context_precision",
    "context_recall",
    "faithfulness",
)
_BY_CODE = (
    "AnswerSimilarity",
    "BleuScore",
    "CHRFScore",
    "ChrfScore",
    "DataCompyScore",
    "DistanceMeasure",
    "ExactMatch",
    "IDBasedContextRecall",
    "NonLLMContextRecall",
    "NonLLMStringSimilarity",
    "QuotedSpansAlignment",
    "RougeScore",
    "SemanticSimilarity",
    "StringPresence",
    "ToolCallAccuracy",
    "ToolCallF1",
)
COLLECTION_NAMES = {
    **dict.fromkeys(_BY_A_MODEL, _RETRIEVAL),
    **dict.fromkeys(_BY_CODE, _LEXICAL),
    "BaseMetric": _OWN,
}
METRIC_NAMES = {
    **COLLECTION_NAMES,
    **dict.fromkeys(
        (
            "AspectCritic",
            "SimpleCriteriaScore",
            "DiscreteMetric",
            "NumericMetric",
            "discrete_metric",
            "numeric_metric",
        ),
        _LABELLED,
    ),
    **dict.fromkeys(
        (
            "LLMMetric",
            "Metric",
            "MetricWithEmbeddings",
            "MetricWithLLM",
            "MultiTurnMetric",
            "SingleTurnMetric",
        ),
        _OWN,
    ),
    **dict.fromkeys(
        ("RankingMetric", "ranking_metric"), "rubricate.compare_pair sets two answers side by side"
    ),
    "MetricResult": "it is in rubricate.dialects.ragas.metrics.collections",
    "base": "MetricType and MetricOutputType are in rubricate.dialects.ragas.metrics",
    "result": "MetricResult is in rubricate.dialects.ragas.metrics.collections",
    "discrete": _LABELLED,
    "numeric": _LABELLED,
    "ranking": "rubricate.compare_pair sets two answers side by side",
}
