"""Karenina's documented names: here, or one line that says what there is instead."""

from __future__ import annotations

import copy
import pickle

import pytest

from rubricate.dialects.karenina import Benchmark, TaskEval
from rubricate.dialects.karenina.schemas import RegexTrait
from rubricate.errors import InputError

SCHEMAS = "rubricate.dialects.karenina.schemas"


@pytest.mark.parametrize(
    "line",
    [
        "from rubricate.dialects.karenina import Benchmark, TaskEval",
        "from rubricate.dialects.karenina.benchmark import Benchmark",
        "from rubricate.dialects.karenina.adapters.manual import ManualTraces",
        f"from {SCHEMAS} import LLMRubricTrait, RegexRubricTrait, CallableRubricTrait, Rubric",
        f"from {SCHEMAS}.entities import LLMRubricTrait, RegexTrait, MetricRubricTrait",
        f"from {SCHEMAS}.entities.rubric import CallableTrait, LLMRubricTrait, RegexTrait, Rubric",
        f"from {SCHEMAS}.config import ModelConfig",
        f"from {SCHEMAS}.config.models import ModelConfig",
        f"from {SCHEMAS}.verification.config import VerificationConfig",
        f"from {SCHEMAS}.entities.question import Question",
        f"from {SCHEMAS}.verification import VerificationConfig, VerificationResult",
        f"from {SCHEMAS}.results import VerificationResultSet",
    ],
)
def test_the_current_documentations_imports_work(line):
    exec(line)


def test_a_method_of_a_benchmark_that_is_not_here_says_the_way():
    made = Benchmark.create("Any")
    for name, says in {
        "update_template": "templates are data here",
        "mark_finished_batch": "every question is asked",
        "get_question_custom_property": "extra has what else the file has",
        "get_question_metadata": "is the Question",
        "get_questions_with_rubric": "iterate over the benchmark",
        "get_progress": "run_verification says in one line",
    }.items():
        with pytest.raises(AttributeError, match=f"Karenina's {name} is not here: .*{says}"):
            getattr(made, name)
        assert not hasattr(Benchmark, name)


def test_a_benchmark_is_copied_and_pickled_as_ever():
    made = Benchmark.create("Any")
    made.add_question("q", "a")
    assert pickle.loads(pickle.dumps(made)) == made == copy.deepcopy(made)
    with pytest.raises(AttributeError, match="Benchmark: no attribute 'colour'"):
        made.colour  # noqa: B018


def test_a_benchmark_answers_what_is_asked_of_it_by_its_documented_names():
    made = Benchmark(name="Any")
    question = made.add_question(question="What is 2+2?", raw_answer="4")
    assert made.question_count == 1
    assert made.get_question_ids() == [question.id]
    assert made.get_question(question.id) is question
    assert made.has_template(question.id) is False
    assert made.get_global_rubric() is None
    with pytest.raises(InputError, match="the benchmark has no question with the id 'q9'"):
        made.get_question("q9")


def test_traits_are_added_one_by_one_and_names_stay_unique():
    made = Benchmark.create("Any")
    question = made.add_question("q", "a")
    made.add_global_rubric_trait(RegexTrait(name="Cites", pattern="x"))
    made.add_question_rubric_trait(question.id, RegexTrait(name="Own", pattern="x"))
    made.add_question_rubric_trait(question, RegexTrait(name="Other", pattern="x"))
    assert [trait.name for trait in question.rubric] == ["Own", "Other"]
    for add in (
        lambda trait: made.add_question_rubric_trait(question, trait),
        made.add_global_rubric_trait,
    ):
        with pytest.raises(InputError, match="'Cites'"):
            add(RegexTrait(name="Cites", pattern="y"))
    with pytest.raises(InputError, match="trait 2 is a str"):
        made.add_global_rubric_trait("Cites")


def test_logging_takes_the_current_names_and_tells_of_those_that_are_not_here():
    task = TaskEval(task_id="agent", metadata=None)
    task.log_trace([{"role": "assistant", "content": "BCL2."}], level=None)
    assert (task.task_id, len(task)) == ("agent", 1)
    with pytest.raises(InputError, match="log takes no step_id: make a TaskEval for each step"):
        task.log("x", step_id="retrieval")
    with pytest.raises(InputError, match="TaskEval takes no merge_strategy: each output is judged"):
        TaskEval(merge_strategy="traces_only")
