"""What a verification is told: replicates, deep judgment, modes, and answers given by hand."""

from __future__ import annotations

import pytest

from rubricate import InputError
from rubricate.dialects.karenina import Benchmark, TaskEval
from rubricate.dialects.karenina.adapters.manual import ManualTraces
from rubricate.dialects.karenina.schemas import (
    LLMRubricTrait,
    ModelConfig,
    RegexTrait,
    Rubric,
    Template,
    TemplateField,
    VerificationConfig,
)
from rubricate.testing import Rule

CHROMOSOMES = "How many chromosomes are in a human somatic cell?"
HEMOGLOBIN = "How many protein subunits does hemoglobin A have?"
RUBRIC = Rubric(
    llm_traits=[LLMRubricTrait(name="Warns", kind="boolean")],
    regex_traits=[RegexTrait(name="Number", pattern=r"\d")],
)


@pytest.fixture(autouse=True)
def _right(script) -> None:
    """Every answer gives 46."""
    script.changes["extraction"] = Rule(verdict={"answer": 46})


def benchmark() -> Benchmark:
    made = Benchmark.create("Small")
    made.set_global_rubric(RUBRIC)
    fields = [TemplateField(name="answer", comparison="number", expected=46)]
    made.add_question(CHROMOSOMES, "46", template=Template(fields=fields))
    made.add_question(HEMOGLOBIN, "4")
    return made


def config(**settings) -> VerificationConfig:
    model = ModelConfig(id="mini", model_provider="openai", model_name="mini")
    return VerificationConfig(
        **{"answering_models": [model], "parsing_models": [model], **settings}
    )


def by_hand(made: Benchmark) -> ModelConfig:
    traces = ManualTraces(made)
    traces.register_traces({CHROMOSOMES: "46, of course.", HEMOGLOBIN: "four"}, map_to_id=True)
    return ModelConfig(interface="manual", manual_traces=traces)


# Replicates


def test_each_replicate_is_answered_and_judged_anew(endpoint, script):
    numbers = iter(range(100))
    script.changes["answer"] = lambda request: Rule(reply=f"answer {next(numbers)}, four, 46")
    results = benchmark().run_verification(config(replicate_count=3))
    places = [(one.question.question, one.replicate) for one in results]
    assert places == [(question, n) for question in (CHROMOSOMES, HEMOGLOBIN) for n in (1, 2, 3)]
    assert len({one.answer for one in results}) == 6
    assert script.asked == {"answer": 6, "extraction": 3, "binary": 6}
    assert [row["replicate"] for row in results.rows()] == [1, 1, 2, 2, 3, 3] * 2
    assert results.usage.requests == 15


def test_more_replicates_ask_only_for_the_further_ones(endpoint, script, tmp_path):
    benchmark().run_verification(config(), run_dir=tmp_path)
    before = sum(script.asked.values())
    results = benchmark().run_verification(config(replicate_count=2), run_dir=tmp_path)
    assert sum(script.asked.values()) == 2 * before
    benchmark().run_verification(config(replicate_count=2), run_dir=tmp_path)
    assert sum(script.asked.values()) == 2 * before
    assert len(results) == 4


def test_replicates_come_back_from_a_file(endpoint, tmp_path):
    made = benchmark()
    made.run_verification(config(replicate_count=2))
    made.save(tmp_path / "b.jsonld")
    again = Benchmark.load(tmp_path / "b.jsonld")
    assert [one.replicate for one in again.results] == [1, 2, 1, 2]
    assert again == made


# Modes


@pytest.mark.parametrize(
    ("mode", "correct", "traits"),
    [
        (None, [True, None], ["Warns", "Number"]),
        ("template_and_rubric", [True, None], ["Warns", "Number"]),
        ("template_only", [True, None], []),
        ("rubric_only", [None, None], ["Warns", "Number"]),
    ],
)
def test_a_mode_says_what_answers_are_judged_by(mode, correct, traits, endpoint):
    results = benchmark().run_verification(config(evaluation_mode=mode))
    assert [one.correct for one in results] == correct
    assert [list(one.verdicts) for one in results] == [traits] * 2
    assert all(not one.failures for one in results)


def test_only_the_traits_that_are_named_are_judged(endpoint, script):
    results = benchmark().run_verification(config(rubric_trait_names=["Number"]))
    assert [list(one.verdicts) for one in results] == [["Number"]] * 2
    with pytest.raises(InputError, match=r"there is no trait 'Numbre'; did you mean 'Number'"):
        benchmark().run_verification(config(rubric_trait_names=["Numbre"]))
    assert script.asked["binary"] == 0


@pytest.mark.parametrize(
    ("settings", "given", "concurrency"),
    [
        ({}, {}, 32),
        ({"async_max_workers": 3}, {}, 3),
        ({"async_enabled": False, "async_max_workers": 3}, {}, 1),
        ({"async_max_workers": 3}, {"concurrency": 8}, 8),
    ],
)
def test_the_number_of_workers_is_the_runs(settings, given, concurrency):
    from rubricate.dialects.karenina._verification import VerificationCall

    assert VerificationCall(config(**settings), **given).running().concurrency == concurrency


# Models


def test_an_answering_model_is_told_its_own_prompt_and_limit(endpoint, script):
    script.changes["m literal"] = Rule(reply="46")
    told = ModelConfig(
        model_provider="openai", model_name="m", system_prompt="Be terse.", max_tokens=77
    )
    made = benchmark()
    made.questions.pop()
    made.run_verification(config(answering_models=[told]))
    (asked,) = [one for one in endpoint.requests if one.body["model"] == "m"]
    assert asked.body["messages"][0]["content"] == "Be terse."
    assert asked.body["max_tokens"] == 77


def test_answers_given_by_hand_are_judged_and_nobody_is_asked_for_one(endpoint, script):
    made = benchmark()
    results = made.run_verification(config(answering_models=[by_hand(made)]))
    assert [(one.answer, one.answering_model) for one in results] == [
        ("46, of course.", "manual"),
        ("four", "manual"),
    ]
    assert results[0].correct is True
    assert [one.manual_rubric_results for one in results] == [{"Number": True}, {"Number": False}]
    assert script.asked["answer"] == 0


def test_an_answer_by_hand_that_is_missing_is_told_before_anything_is_sent(endpoint, script):
    made = benchmark()
    traces = ManualTraces(made)
    traces.register_trace(CHROMOSOMES, "46", map_to_id=True)
    model = ModelConfig(interface="manual", manual_traces=traces)
    with pytest.raises(InputError, match="1 of 2 questions have no answer, first: 'How many prot"):
        made.run_verification(config(answering_models=[model]))
    with pytest.raises(InputError, match="the model 'manual' has its answers by hand"):
        made.run_verification(config(parsing_models=[model]))
    assert not script.asked


@pytest.mark.parametrize(
    ("question", "trace", "by_text", "problem"),
    [
        (CHROMOSOMES, "46", False, "with this hash; give its text with map_to_id=True"),
        ("Who?", "me", True, r"the benchmark has no question 'Who\?'"),
        (CHROMOSOMES, " ", True, "is empty"),
    ],
)
def test_an_answer_to_no_question_is_refused(question, trace, by_text, problem):
    with pytest.raises(InputError, match=problem):
        ManualTraces(benchmark()).register_trace(question, trace, by_text)


def test_the_right_answer_reaches_the_judge_of_the_trait_that_asks_for_it(endpoint):
    made = benchmark()
    made.set_global_rubric(
        Rubric(
            llm_traits=[
                LLMRubricTrait(name="Agrees", kind="boolean", include_ground_truth=True),
                LLMRubricTrait(name="Clear", kind="boolean"),
            ]
        )
    )
    made.run_verification(config(evaluation_mode="rubric_only"))
    texts = [str(one.body["messages"]) for one in endpoint.requests if "MET" in one.labels]
    shown = ["The right answer to the question is: " in text for text in texts]
    assert sorted(shown) == [False, False, True, True]
    assert sum("right answer to the question is: 46" in text for text in texts) == 1


def test_a_logged_output_has_no_right_answer_to_be_judged_by(endpoint, script):
    task = TaskEval(
        rubric=Rubric(
            llm_traits=[LLMRubricTrait(name="Agrees", kind="boolean", include_ground_truth=True)]
        )
    )
    task.log("An output.")
    with pytest.raises(InputError, match="the trait 'Agrees' is judged by the right answer"):
        task.evaluate(config())
    assert not script.asked


def test_some_of_the_questions_are_verified(endpoint, script):
    made = benchmark()
    (id, _) = made.get_question_ids()
    results = made.run_verification(config(), question_ids=[id])
    assert [one.question.id for one in results] == [id]
    with pytest.raises(InputError, match="the benchmark has no question with the id 'q9'"):
        made.run_verification(config(), question_ids=["q9"])
    assert script.asked["answer"] == 1
