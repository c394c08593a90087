"""What to use instead of the names of other systems that are not here.

For each system, its name and rules in order. A rule is a pattern, searched in the path of a name
below the system (`metrics.Faithfulness`, `Benchmark.get_template`) whatever its case, and half a
sentence; "" where there is nothing to say.
"""

from __future__ import annotations

_CASCADE = "ask a cheap judge first with rubricate.Cascade (docs/trust.md)"
_FIGURES = "result.compute_metrics(dataset).report and rubricate trust agree have the figures"
_WEAK = "look at a rubric's weak criteria with rubricate trust agree"
_DATA = "templates are data here: Template(fields=[TemplateField(...)])"
_AGENTS = "no agent runs here: log what it did with TaskEval, and judge that"
_CLIENT = "the engine's own client reaches all models: give ModelConfig"
_RESULT = "a VerificationResult has answer, correct, rubric_scores, failures and rows()"
_FOLDER = "run_dir keeps every answer, and rubricate compare sets two runs side by side"

WAYS: dict[str, tuple[str, dict[str, str]]] = {
    "autorubric": (
        "autorubric",
        {
            r"error": "a failed verdict says its kind: report.error, verdict.error.kind",
            r"escalation": _CASCADE,
            r"improve|iteration|issue|meta|evaluate_rubric": _WEAK,
            r"usage|completion_cost|LLMCalls": "usage and cost are in report.token_usage, "
            "report.completion_cost and result.summary()",
            r"metric|bootstrap|confidence|bias|correlation|emd|kstest|ks_test|distance|distrib":
                _FIGURES,
            r"fill_ground": "label with rubricate label; a judge's verdicts are no ground truth",
            r"verdict|cannot_assess": "verdicts are in result.result.verdicts()",
            r"judgment|report": "reports are EnsembleEvaluationReport and EnsembleCriterionReport, "
            "of one judge too",
            r"EvalConfig|EvalRunner|EvalTiming|experiment": "evaluate() runs, resumes and keeps a "
            "run folder; result.result has its time and figures",
            r"generate|LLMClient": "grade with a rubric, or ask a rubricate.judge.HTTPModel",
            r"FewShot": "examples are items of a labelled dataset: training_data",
            r"decision|grader": "derive a judge from rubricate.judge.Judge (docs/own-judges.md)",
            r"parse_thinking|word_count|length_penalty|normalize|scoring|utils": "rubricate.rubric "
            "has split_thinking, count_words, LengthPenalty and score",
            r"debug": "rubricate -v; the logger is called rubricate",
            r"prompts": "rubricate grade --dry-run shows what a judge is asked",
            r"rate_limit": "limits are learned; LLMConfig has max_parallel_requests",
            r"[a-z][A-Z]": "it is a type for annotations: leave it out, or write its literals",
        },
    ),
    "inspect_ai": (
        "inspect_ai",
        {
            r"^dataset\.": "its examples come with inspect_ai; read files with file_dataset",
            r"^model\.": "name a judge in grade(judge=...) or in the scorer: openai/gpt-4.1-mini",
            r"^scorer\.": "import it from inspect_ai.scorer",
            r"^(?!tool)": "import it from inspect_ai: datasets, messages and a scorer are here",
        },
    ),
    "karenina": (
        "Karenina",
        {
            r"^(benchmark\.)?(core|task_eval|verification|utils)$": "it is in "
            "rubricate.dialects.karenina",
            r"^Benchmark\.\w*template": f"{_DATA}; generate_all_templates writes those that are "
            "missing",
            r"^Benchmark\.\w*finish": "every question is asked: leave out of the benchmark what is "
            "not finished",
            r"^Benchmark\.\w*custom_property": "extra has what else the file has; set a Question's "
            "keywords for your own labels",
            r"^Benchmark\.get_questions_with_rubric": "iterate over the benchmark: each Question "
            "has its rubric",
            r"^Benchmark\.get_question_": "get_question(id) is the Question",
            r"^Benchmark\.(check_readiness|get_health_report|get_progress)": "run_verification "
            "says in one line what cannot be verified, before anything is sent",
            r"^Benchmark": "",
            r"^VerificationResult\.deep_judgment": "a result has evidence, reasons and "
            "traits_without_valid_excerpts",
            r"^VerificationResult\.(metadata|template|rubric)$": "question, answer, correct, "
            "extracted, rubric_scores and the other trait results are the result's own",
            r"^VerificationResult\.": "",
            r"adapters|ports|infrastructure": _CLIENT,
            r"agent|middleware|summarization|ToolRetry": _AGENTS,
            r"DeepJudgment": "VerificationConfig has deep_judgment_rubric_mode, and takes dicts "
            "for deep judgment",
            r"FewShot": "put the examples into the question or the system_prompt",
            r"PromptConfig": "say it in a trait's description",
            r"Retry|Caching": "the engine retries requests, and lets providers cache prompts",
            r"identity": "results name models by the ids of their ModelConfig",
            r"metadata|VerificationResult|result_comp": _RESULT,
            r"DynamicRubric": "every trait is judged; its description can say when it applies",
            r"scenario": "log the turns with TaskEval, and judge the whole",
            r"storage": "give run_verification a run_dir, and save the benchmark",
            r"cli|server": "the shell is rubricate's: rubricate grade, rubricate report",
            r"optimization": "compare runs with rubricate trust compare",
            r"schemas|domain|integrations": _DATA,
        },
    ),
    "ragas": (
        "Ragas",
        {
            r"MetricResult|metrics\.result": "MetricResult is in "
            "rubricate.dialects.ragas.metrics.collections",
            r"metrics.*(critic|simple|discrete|numeric)": "a criterion with options, a scale or a "
            "yes or no is one (docs/rubrics.md)",
            r"metrics.*ranking": "rubricate.compare_pair sets two answers side by side",
            r"metrics.*(metric|base|multi|single)": "derive a criterion or a judge of your own "
            "(docs/architecture.md)",
            r"metrics.*(bleu|chrf|rouge|string|match|distance|nonllm|idbased|compy|quoted|similarity"
            r"|toolcall)": "compare texts by code: a criterion of the kind code or regex "
            "(docs/rubrics.md)",
            r"metrics": "write what it measures as a rubric, for RubricsScore or rubricate.grade",
            r"^prompt": "PydanticPrompt with examples is the prompt of a metric",
            r"^llms.*(base|instructor)": "derive a model from rubricate.Model, or give a callable",
            r"^llms": "name the model, such as llm='openai/gpt-4.1-mini', or give llm_factory or a "
            "callable",
            r"retry": "requests are sent again by the engine: give RunConfig",
            r"message": "a message is a HumanMessage, an AIMessage or a ToolMessage",
            r"annotation": "people label with rubricate label, and trust agree compares",
            r"EvaluationResult": "it is in rubricate.dialects.ragas.evaluation",
            r"cache": "give evaluate run_dir or cache: stored answers are reused",
            r"experiment|backends": _FOLDER,
            r"DataTable|dataset$|Dataset$": "EvaluationDataset has the samples",
            r"testset": "write items to a file and read them with EvaluationDataset.from_jsonl",
            r"cost|callbacks": "tokens and cost are in result.result.usage; rubricate show RUN "
            "--item 0 --prompt shows every request",
            r"embedding": "no metric here uses embeddings",
            r"exceptions": "the errors are in rubricate.errors, each a RubricateError",
            r"optimizers|losses|config": _WEAK,
            r"integrations": "give the dataset and the llm; both may be other libraries'",
            r"[Tt]oken|utils|validation|executor|BaseSample|\.T$": "it is a part of Ragas' engine; "
            "rubricate has its own",
        },
    ),
    "researchrubrics": (
        "ResearchRubrics",
        {
            r"calculate_metrics": "import calculate_compliance_score from here, or from the shell: "
            "rubricate researchrubrics --rescore FILE",
            r"evaluate_rubrics": "import its modules and functions from here",
            r"prompts": "prompts are rubricate's; rubricate show RUN --prompt prints them",
        },
    ),
}  # fmt: skip
