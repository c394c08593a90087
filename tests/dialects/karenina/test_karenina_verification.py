"""Verification: answers, templates, judgements; what fails, what resumes."""

from __future__ import annotations

import asyncio
import copy
import json
import pickle

import pytest

import rubricate
from rubricate import InputError, MissingKeyError, RunStopped
from rubricate.dialects.karenina import Benchmark, TaskEval
from rubricate.dialects.karenina.schemas import (
    ManualRubricTrait,
    MetricRubricTrait,
    ModelConfig,
    RegexTrait,
    Rubric,
    RubricTrait,
    Template,
    TemplateField,
    VerificationConfig,
)
from rubricate.testing import Rule

QUALITY = Rubric(
    "Quality",
    [
        RubricTrait(name="Clarity", description="How clear it is", kind="score"),
        RubricTrait(name="Rambles", kind="binary", higher_is_better=False),
        ManualRubricTrait(name="Number", pattern=r"\d+"),
    ],
)


def benchmark(*, rubric: Rubric | None = QUALITY) -> Benchmark:
    made = Benchmark.create("Genomics")
    made.add_question("How many chromosomes are in a human somatic cell?", "46")
    made.add_question("What is the approved drug target of Venetoclax?", "BCL2")
    made.set_global_rubric(rubric)
    return made


def test_every_answering_model_meets_every_parsing_model(endpoint, script, models):
    made = benchmark()
    script.changes["two answer"] = Rule(reply="In other words: 46, and BCL2.")
    results = made.run_verification(models("one two", "three four five"))
    pairs = [(result.answering_model, result.parsing_model) for result in results]
    assert len(results) == 2 * 2 * 3
    assert pairs[:6] == [(a, p) for a in ("one", "two") for p in ("three", "four", "five")]
    assert script.asked == {"answer": 4, "score": 12, "binary": 12}
    assert len(results.rows()) == 12 * 3
    assert made.results is results


def test_a_result_has_scores_reasons_evidence_and_cost(endpoint, script, models):
    made = benchmark()
    made.generate_all_templates(model_config=models().answering_models[0])
    result = made.run_verification(models())[0]
    assert result.answer == "A human somatic cell has 46 chromosomes."
    assert result.rubric_scores == {"Clarity": 4, "Rambles": True}
    assert result.manual_rubric_results == {"Number": True}
    assert result.metric_rubric_results == {}
    assert result.correct is True
    assert result.extracted == {"answer": {"extracted": 46.0, "expected": 46, "right": True}}
    assert result.reasons["Clarity"] == "scripted"
    assert [(e.quote, e.start) for e in result.evidence["Number"]] == [("46", 25)]
    assert result.failures == {}
    assert result.usage.requests == 4  # the answer, its extraction, two traits
    assert result.cost is None  # nobody knows what the model 'mini' costs
    assert result.score.value == pytest.approx((0.75 - 1 + 1) / 2)  # rambling is a fault


def test_the_answering_model_is_told_the_question_and_nothing_else(endpoint, models):
    made = benchmark()
    made.generate_all_templates(models().answering_models[0])
    made.run_verification(models())
    asked = [r.body["messages"] for r in endpoint.requests]
    answering = [m for m in asked if m[0]["content"].startswith("Answer the question")]
    assert [m[1]["content"] for m in answering] == [q.question for q in made]
    extraction = [m[1]["content"] for m in asked if "gives as its answer" in m[1]["content"]]
    assert extraction
    assert all('"BCL2"' not in text and "expected" not in text for text in extraction)


@pytest.mark.parametrize(
    ("reply", "answer"),
    [
        ("It has 46.", "It has 46."),
        ("<think>46 or 48?</think>\n46", "46"),
        ('{"count": 46}', '{"count": 46}'),
        ("```python\nprint(46)\n```", "```python\nprint(46)\n```"),
    ],
)
def test_an_answer_is_free_text_without_what_was_thought_before_it(
    reply, answer, endpoint, script, models, tmp_path
):
    script.changes["answer"] = Rule(reply=reply)
    for _ in range(2):  # asked for, then from the journal
        results = benchmark(rubric=None).run_verification(models(), run_dir=tmp_path)
        assert results[0].answer == answer
    answering = [r.body for r in endpoint.requests if "Answer the question." in str(r.body)]
    assert answering
    assert all("response_format" not in body and "JSON" not in str(body) for body in answering)


def test_a_failing_answering_model_fails_alone_and_with_its_cause(endpoint, script, models):
    script.changes["broken answer"] = Rule(status=404, message="no such model")
    results = benchmark().run_verification(models("mini broken", "judge"))
    assert [result.answer is None for result in results] == [False, True, False, True]
    good, bad = results[0], results[1]
    assert good.failures == {}
    assert bad.rubric_scores == bad.manual_rubric_results == bad.metric_rubric_results == {}
    assert set(bad.failures) == {"Clarity", "Rambles", "Number"}
    assert bad.failures["Clarity"].kind == "no_answer"
    assert "no such model" in bad.failures["Clarity"].message
    assert bad.score.value is None
    assert list(results.stopped) == ["answering broken"]
    assert script.asked["score"] == 2  # nothing was judged in place of an answer


def test_where_no_model_answers_the_run_stops(endpoint, script, models):
    script.changes["answer"] = Rule(status=401, message="bad key")
    with pytest.raises(RunStopped, match="bad key"):
        benchmark().run_verification(models("one two"))
    assert script.asked == {"answer": 2}


def test_a_failing_parsing_model_keeps_the_answers(endpoint, script, models):
    script.changes["bad score"] = Rule(status=401, message="bad key")
    results = benchmark().run_verification(models("mini", "bad good"))
    bad, good = results[0], results[1]
    assert bad.answer == good.answer is not None
    assert bad.failures["Clarity"].kind == "auth"
    assert set(good.failures) == set()
    assert "bad key" in results.stopped["parsing bad"]
    assert "bad key" in results[2].failures["Clarity"].message  # not run, and why


def test_a_trait_that_fails_is_no_score(endpoint, script, models):
    script.changes["score"] = Rule(verdict="6")
    result = benchmark().run_verification(models())[0]
    assert result.rubric_scores == {"Rambles": True}
    assert result.failures["Clarity"].kind == "unreadable_reply"
    assert "from 1 to 5" in result.failures["Clarity"].message


def test_an_abstention_is_neither_a_score_nor_a_failure(endpoint, script, models):
    script.changes["score"] = Rule(verdict="CANNOT_ASSESS")
    result = benchmark().run_verification(models())[0]
    assert (result.rubric_scores, result.failures) == ({"Rambles": True}, {})
    assert result.abstained == ["Clarity"]


# Templates


def test_an_unusable_template_is_asked_for_again_then_failed(endpoint, script, models):
    field = '{"name": "n", "comparison": "number", "expected": "many"}'
    script.changes["template"] = Rule(reply=f'{{"fields": [{field}]}}')
    made = benchmark()
    failures = made.generate_all_templates(models().answering_models[0])
    assert script.asked["template"] == 2 * 3
    assert set(failures) == {question.id for question in made}
    assert "must be a number" in made.questions[0].template_failure.message
    result = made.run_verification(models())[0]
    assert result.correct is None
    assert result.failures["answer template"].kind == "unreadable_reply"


def test_templates_are_written_only_where_there_are_none(endpoint, script, models):
    made = benchmark()
    field = TemplateField(name="target", comparison="normalized", expected="BCL2")
    made.questions[1].template = Template(fields=[field])
    made.generate_all_templates(models().answering_models[0])
    assert script.asked["template"] == 1
    assert made.generate_all_templates(models().answering_models[0]) == {}


def test_a_wrong_answer_is_incorrect(endpoint, script, models):
    script.changes["extraction"] = Rule(verdict={"answer": None})
    made = benchmark(rubric=None)
    made.generate_all_templates(models().answering_models[0])
    results = made.run_verification(models())
    assert [result.correct for result in results] == [False, False]
    assert [row["trait"] for row in results.rows()] == [None, None]


# Before anything is sent


def test_bad_input_sends_nothing(endpoint, monkeypatch, models):
    made = benchmark()
    with pytest.raises(InputError, match="the benchmark 'Empty' has no questions"):
        Benchmark.create("Empty").run_verification(models())
    with pytest.raises(InputError, match="answering_models: at least one model"):
        made.run_verification(VerificationConfig(parsing_models=models().parsing_models))
    config = VerificationConfig(
        answering_models=models().answering_models,
        parsing_models=[ModelConfig(model_provider="groq", model_name="llama")],
    )
    with pytest.raises(InputError, match="concurrency must be at least 1, found 0"):
        made.run_verification(models(), concurrency=0)
    with pytest.raises(MissingKeyError, match="GROQ_API_KEY"):
        made.run_verification(config)
    assert endpoint.requests == []


def test_a_trait_in_both_rubrics_is_an_error_that_names_both():
    made = benchmark()
    own = Rubric("Own", [RubricTrait(name="Clarity", kind="binary")])
    expected = (
        "the trait 'Clarity' is in both the rubric 'Quality' and the rubric 'Own' of the "
        "question 'Which?': rename one of them"
    )
    with pytest.raises(InputError) as caught:
        made.add_question("Which?", "This", rubric=own)
    assert str(caught.value) == expected
    made.set_global_rubric(None)
    made.add_question("Which?", "This", rubric=own)
    with pytest.raises(InputError) as caught:
        made.set_global_rubric(QUALITY)
    assert str(caught.value) == expected


def test_what_is_no_question_is_refused():
    made = Benchmark.create("Genomics")
    core = rubricate.Rubric([rubricate.Criterion(requirement="r")])
    with pytest.raises(InputError, match=r"rubric: expected a Rubric of .*schemas, found a rubric"):
        made.add_question("Which?", "This", rubric=core)
    with pytest.raises(InputError, match="rubric: expected a Rubric of"):
        made.set_global_rubric(core)
    with pytest.raises(InputError, match="raw_answer: expected text, found 46"):
        made.add_question("How many?", 46)
    with pytest.raises(InputError, match="a benchmark needs a name"):
        Benchmark.create("")


def test_the_same_question_twice_has_two_identifiers():
    made = benchmark()
    made.add_question("How many chromosomes are in a human somatic cell?", "46")
    assert len({question.id for question in made}) == 3
    with pytest.raises(InputError, match="already"):
        made.add_question("Another?", "Yes", id=made.questions[0].id)


# Resuming


def test_a_second_run_into_the_same_folder_asks_nothing(endpoint, script, models, tmp_path):
    def run() -> list[object]:
        made = benchmark()
        made.generate_all_templates(models().answering_models[0], run_dir=tmp_path)
        results = made.run_verification(models("one two", "three"), run_dir=tmp_path)
        return [(r.answer, r.correct, r.rubric_scores, r.score) for r in results]

    first = run()
    asked = script.asked.copy()
    assert run() == first
    assert script.asked == asked


def test_changed_weights_are_scored_again_without_a_request(endpoint, script, models, tmp_path):
    made = benchmark()
    before = made.run_verification(models(), run_dir=tmp_path)
    asked = script.asked.copy()
    made.set_global_rubric(
        Rubric("Heavier", [QUALITY.traits[0].model_copy(update={"weight": 3.0})])
    )
    after = made.run_verification(models(), run_dir=tmp_path)
    assert script.asked == asked
    assert before[0].score.value != after[0].score.value == 0.75


def test_it_works_inside_a_running_loop(endpoint, models):
    async def notebook() -> tuple[int, int]:
        made = benchmark()
        return len(await made.arun_verification(models())), len(made.run_verification(models()))

    assert asyncio.run(notebook()) == (2, 2)


# Results as tables


def test_results_become_csv_json_and_a_table(endpoint, script, models, tmp_path):
    script.changes["score"] = Rule(reply="?")
    script.changes["binary"] = Rule(verdict="MET", evidence=["asthma"])
    made = Benchmark.create("Diseases")
    trait = MetricRubricTrait(name="Found", metrics=["recall"], tp_instructions=["asthma", "flu"])
    made.add_question("Which are inflammatory?", "asthma", rubric=Rubric("Own", [trait]))
    made.set_global_rubric(QUALITY)
    results = made.run_verification(models())
    rows = json.loads(results.to_json(tmp_path / "results.json"))
    assert rows == json.loads((tmp_path / "results.json").read_text("utf-8")) == results.rows()
    assert [(row["trait"], row["result"]) for row in rows] == [
        ("Clarity", None),
        ("Rambles", True),
        ("Number", False),
        ("Found", 0.5),
    ]
    assert rows[0]["error_kind"] == "unreadable_reply"
    assert (rows[3]["recall"], rows[3]["precision"]) == (0.5, None)
    assert rows[1]["evidence"] == ["asthma"]
    text = results.to_csv(tmp_path / "results.csv")
    assert (tmp_path / "results.csv").read_bytes().decode() == text
    assert len(text.splitlines()) == 1 + 4
    frame = results.to_pandas()
    assert list(frame["trait"]) == [row["trait"] for row in rows]
    assert list(frame.columns) == text.splitlines()[0].split(",")


# Logged outputs


def test_logged_outputs_are_judged_without_a_benchmark(endpoint, script, models):
    task = TaskEval("agent", QUALITY)
    task.add_rubric(Rubric("More", [ManualRubricTrait(name="Searches", pattern=r"calls search")]))
    field = TemplateField(name="answer", comparison="number", expected=46)
    task.log("46 chromosomes", task="How many?", template=Template(fields=[field]), model="agent")
    call = {"function": {"name": "search", "arguments": '{"q": "BCL2"}'}}
    task.log(
        [
            {"role": "user", "content": "What does it target?"},
            {"role": "assistant", "content": None, "tool_calls": [call]},
            {"role": "tool", "content": [{"type": "text", "text": "BCL2"}]},
            {"role": "assistant", "content": "BCL2."},
        ]
    )
    results = task.evaluate(models())
    assert script.asked == {"extraction": 1, "score": 2, "binary": 2}
    assert [result.correct for result in results] == [True, None]
    assert [result.manual_rubric_results["Searches"] for result in results] == [False, True]
    assert [result.answering_model for result in results] == ["agent", "logged"]
    assert results[1].answer == (
        "[user]\nWhat does it target?\n\n"
        '[assistant]\n[calls search] {"q": "BCL2"}\n\n'
        "[tool]\nBCL2\n\n"
        "[assistant]\nBCL2."
    )


@pytest.mark.parametrize(
    ("output", "message"),
    [
        (" ", "the output is empty"),
        ([], "the output is empty"),
        ([{"role": "user"}], "message 1: a chat message has a role and a content"),
        (["hello"], "message 1"),
        (46, "expected text or a list of messages, found 46"),
    ],
)
def test_what_is_no_output_is_refused_when_it_is_logged(output, message):
    with pytest.raises(InputError, match=message):
        TaskEval(rubric=QUALITY).log(output)


def test_an_evaluation_needs_outputs_and_traits(models):
    with pytest.raises(InputError, match="no output is logged"):
        TaskEval(rubric=QUALITY).evaluate(models())
    task = TaskEval()
    task.log("46")
    with pytest.raises(InputError, match="add a rubric first"):
        task.evaluate(models())
    task.add_rubric(QUALITY)
    with pytest.raises(InputError, match="'Clarity' is in both"):
        task.add_rubric(QUALITY)


# A benchmark's other methods


def test_a_benchmark_is_copied_and_pickled():
    made = benchmark()
    assert pickle.loads(pickle.dumps(made)) == made == copy.deepcopy(made)


def test_a_benchmark_answers_by_its_documented_names():
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
