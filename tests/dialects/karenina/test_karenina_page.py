"""The programs of Karenina's page on rubrics, with `rubricate.dialects.` before its imports.

They reach a scripted endpoint through the environment's variables alone.
"""

from __future__ import annotations

import json
import subprocess
import sys

import pytest

from rubricate.dialects.karenina.schemas import ManualRubricTrait, MetricRubricTrait
from rubricate.testing import JudgeRequest, Rule

SET_UP = """
from rubricate.dialects.karenina import Benchmark
from rubricate.dialects.karenina.schemas import (
    Rubric, RubricTrait, ManualRubricTrait, MetricRubricTrait,
    ModelConfig, VerificationConfig
)

benchmark = Benchmark.create(
    name="Genomics Knowledge Benchmark",
    description="Genomics and molecular biology",
    version="1.0.0"
)

global_rubric = Rubric(
    name="General Quality Assessment",
    traits=[
        RubricTrait(
            name="Conciseness",
            description="From 1 (very verbose) to 5 (extremely concise).",
            kind="score"
        ),
        RubricTrait(
            name="Clarity",
            description="From 1 (confusing) to 5 (crystal clear).",
            kind="score"
        )
    ]
)

benchmark.set_global_rubric(global_rubric)

benchmark.add_question(
    question="How many chromosomes are in a human somatic cell?",
    raw_answer="46"
)

venetoclax_rubric = Rubric(
    name="Drug Mechanism Validation",
    traits=[
        ManualRubricTrait(
            name="Mentions BH3 Proteins",
            description="Answer must mention BH3 proteins",
            pattern=r"\\bBH3\\b",
            case_sensitive=False
        )
    ]
)

benchmark.add_question(
    question="What is the approved drug target of Venetoclax?",
    raw_answer="BCL2",
    rubric=venetoclax_rubric
)

disease_rubric = Rubric(
    name="Inflammatory Disease Classification",
    traits=[
        MetricRubricTrait(
            name="Inflammatory Disease Accuracy",
            description="Names the inflammatory lung diseases",
            metrics=["precision", "recall", "f1"],
            tp_instructions=["asthma", "bronchitis", "pneumonia", "pleurisy"],
            fp_instructions=["emphysema", "pulmonary fibrosis", "sarcoidosis"]
        )
    ]
)

benchmark.add_question(
    question="Which of the following are inflammatory lung diseases: asthma, bronchitis, "
             "pneumonia, emphysema, pulmonary fibrosis, sarcoidosis, pleurisy?",
    raw_answer="asthma, bronchitis, pneumonia, pleurisy",
    rubric=disease_rubric
)

model_config = ModelConfig(
    id="gpt-4.1-mini",
    model_provider="openai",
    model_name="gpt-4.1-mini",
    temperature=0.1,
    interface="langchain"
)
"""
COMPLETE = (
    SET_UP
    + """
benchmark.generate_all_templates(model_config=model_config)

config = VerificationConfig(
    answering_models=[model_config],
    parsing_models=[model_config]
)

results = benchmark.run_verification(config)

print(f"✓ Verification complete: {len(results)} questions evaluated")
print(f"✓ All questions assessed for: Conciseness, Clarity")
print(f"✓ Venetoclax question checked for: BH3 mention")
print(f"✓ Disease question evaluated with: Precision, Recall, F1")

benchmark.save("genomics_benchmark.jsonld")
"""
)
PRINTING = """
results = benchmark.run_verification(
    VerificationConfig(answering_models=[model_config], parsing_models=[model_config])
)

for result in results:
    print(f"\\nQuestion: {result.question.question}")

    if result.rubric_scores:
        print("  Global Rubric Scores:")
        for trait_name, score in result.rubric_scores.items():
            print(f"    {trait_name}: {score}/5")

    if result.manual_rubric_results:
        print("  Regex Trait Results:")
        for trait_name, passed in result.manual_rubric_results.items():
            status = "✓ Pass" if passed else "✗ Fail"
            print(f"    {trait_name}: {status}")

    if result.metric_rubric_results:
        print("  Metric Trait Results:")
        for trait_name, metrics in result.metric_rubric_results.items():
            print(f"    {trait_name}:")
            for metric_name, value in metrics.items():
                print(f"      {metric_name}: {value:.2f}")
"""


def test_the_complete_example_runs_as_a_program_of_its_own(endpoint, script, tmp_path):
    program = tmp_path / "program.py"
    program.write_text(COMPLETE, "utf-8")
    done = subprocess.run(
        [sys.executable, "-X", "utf8", program.name],
        cwd=tmp_path,
        capture_output=True,
        encoding="utf-8",
        check=True,
        timeout=60,
    )
    assert done.stderr == ""
    assert done.stdout.splitlines() == [
        "✓ Verification complete: 3 questions evaluated",
        "✓ All questions assessed for: Conciseness, Clarity",
        "✓ Venetoclax question checked for: BH3 mention",
        "✓ Disease question evaluated with: Precision, Recall, F1",
    ]
    assert script.asked == {"template": 3, "answer": 3, "extraction": 3, "score": 6, "metric": 1}
    assert {request.body["temperature"] for request in endpoint.requests} == {0.1}
    saved = json.loads((tmp_path / "genomics_benchmark.jsonld").read_text("utf-8"))
    assert saved["@type"] == "DataFeed"


def test_the_printing_program_prints_what_the_page_shows(endpoint, script, capsys):
    scores = {"chromosomes": "55", "BH3": "45", "asthma": "44"}  # conciseness, clarity

    def score(request: JudgeRequest) -> Rule:
        pair = next(pair for word, pair in scores.items() if word in request.submission)
        verdict = pair["crystal" in request.criterion]
        return Rule(verdict=verdict)

    script.changes["score"] = score
    exec(SET_UP + PRINTING, {})
    assert (
        capsys.readouterr().out
        == """
Question: How many chromosomes are in a human somatic cell?
  Global Rubric Scores:
    Conciseness: 5/5
    Clarity: 5/5

Question: What is the approved drug target of Venetoclax?
  Global Rubric Scores:
    Conciseness: 4/5
    Clarity: 5/5
  Regex Trait Results:
    Mentions BH3 Proteins: ✓ Pass

Question: Which of the following are inflammatory lung diseases: asthma, bronchitis, pneumonia, \
emphysema, pulmonary fibrosis, sarcoidosis, pleurisy?
  Global Rubric Scores:
    Conciseness: 4/5
    Clarity: 4/5
  Metric Trait Results:
    Inflammatory Disease Accuracy:
      precision: 1.00
      recall: 0.75
      f1: 0.86
"""
    )


TP_ONLY = """
from rubricate.dialects.karenina.schemas import MetricRubricTrait

inflammatory_trait = MetricRubricTrait(
    name="Inflammatory Disease Identification",
    description="Identify inflammatory lung diseases from a mixed list",
    metrics=["precision", "recall", "f1"],
    tp_instructions=["asthma", "bronchitis", "pneumonia", "pleurisy"],
    fp_instructions=["emphysema", "pulmonary fibrosis", "sarcoidosis"]
)
"""
FULL_MATRIX = """
from rubricate.dialects.karenina.schemas import MetricRubricTrait

classification_trait = MetricRubricTrait(
    name="Inflammatory vs Non-Inflammatory Classification",
    description="Classify diseases as inflammatory or non-inflammatory",
    metrics=["precision", "recall", "f1", "accuracy", "specificity"],
    tp_instructions=["asthma", "bronchitis", "pneumonia", "pleurisy"],
    tn_instructions=["emphysema", "pulmonary fibrosis", "sarcoidosis", "lung cancer",
                     "tuberculosis"],
    fp_instructions=["emphysema", "sarcoidosis"],
    fn_instructions=["bronchitis", "pleurisy"]
)
"""


def measured(trait: MetricRubricTrait, answer: str, script, models) -> dict[str, float]:
    from rubricate.dialects.karenina import Benchmark
    from rubricate.dialects.karenina.schemas import Rubric

    benchmark = Benchmark.create(name="Diseases")
    benchmark.add_question("Which ones?", "asthma", rubric=Rubric("Diseases", [trait]))
    script.changes["answer"] = Rule(reply=answer)
    (result,) = benchmark.run_verification(models())
    return result.metric_rubric_results[trait.name]


def test_the_worked_example_of_tp_only_comes_out(endpoint, script, models):
    namespace: dict[str, MetricRubricTrait] = {}
    exec(TP_ONLY, namespace)
    trait = namespace["inflammatory_trait"]
    assert trait.evaluation_mode == "tp_only"
    metrics = measured(trait, "asthma, bronchitis, emphysema", script, models)
    shown = {name: f"{value:.2f}" for name, value in metrics.items()}
    assert shown == {"precision": "0.67", "recall": "0.50", "f1": "0.57"}


def test_the_worked_example_of_the_full_matrix_comes_out(endpoint, script, models):
    namespace: dict[str, MetricRubricTrait] = {}
    exec(FULL_MATRIX, namespace)
    trait = namespace["classification_trait"]
    assert trait.evaluation_mode == "full_matrix"
    classes = {
        "asthma": "positive",
        "bronchitis": "positive",
        "sarcoidosis": "positive",
        "emphysema": "negative",
    }
    items = trait.criterion().items  # type: ignore[attr-defined]
    entries = [
        {"item": item, "classified": classes.get(item, "unmentioned"), "quote": ""}
        for item in items
    ]
    script.changes["metric"] = Rule(verdict={"items": entries})
    metrics = measured(trait, "Inflammatory: asthma, ...", script, models)
    shown = {name: f"{value:.2f}" for name, value in metrics.items()}
    assert shown == {
        "precision": "0.67",
        "recall": "1.00",
        "f1": "0.80",
        "accuracy": "0.75",
        "specificity": "0.50",
    }


@pytest.mark.parametrize(
    ("pattern", "case_sensitive", "text", "matches"),
    [
        (r"\bBH3\b", False, "It mimics bh3 proteins.", True),
        (r"\b[A-Z]{3,6}\d?\b", True, "It binds BCL2.", True),
        (r"https?://[^\s]+", False, "See https://example.org/x", True),
        (r"\b(basically|kinda|sorta|like\s+um)\b", False, "It is like   um easy", True),
        (r"\bcell\b", False, "multicellular", False),
        (r"\b[A-Z]{3,6}\b", True, "TP53", False),  # the page says that it matches
        (r"\bBCL2\b", False, "BCL2-family proteins", True),  # and that this does not
    ],
)
def test_a_pattern_matches_what_the_expression_says(pattern, case_sensitive, text, matches):
    for invert in (False, True):
        trait = ManualRubricTrait(
            name="t", pattern=pattern, case_sensitive=case_sensitive, invert=invert
        )
        answer = trait.criterion().compute(text).answer  # type: ignore[attr-defined]
        assert (answer == "MET") == (matches != invert)


def test_questions_added_before_the_global_rubric_are_judged_by_it(endpoint, models):
    namespace: dict[str, object] = {}
    exec(
        """
from rubricate.dialects.karenina import Benchmark
from rubricate.dialects.karenina.schemas import Rubric, RubricTrait

benchmark = Benchmark.create(name="Genomics Knowledge Benchmark")
benchmark.add_question(
    question="How many chromosomes are in a human somatic cell?",
    raw_answer="46"
)
benchmark.add_question(
    question="How many protein subunits does hemoglobin A have?",
    raw_answer="4"
)
benchmark.set_global_rubric(Rubric(name="Quality", traits=[
    RubricTrait(name="Conciseness", kind="score"),
    RubricTrait(name="Safety Concerns", kind="binary"),
]))
""",
        namespace,
    )
    results = namespace["benchmark"].run_verification(models())
    expected = {"Conciseness": 4, "Safety Concerns": True}
    assert [result.rubric_scores for result in results] == [expected, expected]
