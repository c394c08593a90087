"""`evaluate` and batch scoring: results, failures, resume, bounds."""

from __future__ import annotations

import asyncio
import io
import math
import sys
from collections.abc import Callable
from typing import Any

import pytest

from rubricate import HTTPModel, PythonModel, RunStopped
from rubricate.dialects.ragas import (
    EvaluationDataset,
    EvaluationResult,
    RubricsScore,
    RunConfig,
    SingleTurnSample,
    aevaluate,
    evaluate,
)
from rubricate.dialects.ragas.evaluation import EvaluateCall
from rubricate.dialects.ragas.metrics import (
    DEFAULT_WITH_REFERENCE_RUBRICS,
    MetricOutputType,
)
from rubricate.errors import InputError, NoScoreError
from rubricate.testing import JudgeRequest, Rule, ScriptedEndpoint

DATASET = EvaluationDataset(
    [
        SingleTurnSample(user_input="q", response="good answer"),
        SingleTurnSample(user_input="q", response="broken answer"),
        SingleTurnSample(user_input="q", response="poor answer"),
    ],
    name="answers",
)
SCORES = {"good": 5, "poor": 2}
SAMPLE = SingleTurnSample(user_input="q", response="a")
REPLY = '{"feedback": "f", "score": 4}'


def respond(request: JudgeRequest) -> Rule:
    """5 for what is good, 2 for what is poor, an error for what is broken."""
    material = request.body["messages"][1]["content"]
    for word, score in SCORES.items():
        if word in material:
            return Rule(reply=f'{{"feedback": "It is {word}.", "score": {score}}}')
    return Rule(status=400, message="cannot do that")


def model(endpoint: ScriptedEndpoint) -> HTTPModel:
    return HTTPModel("m", base_url=endpoint.url)


@pytest.fixture
def evaluated() -> EvaluationResult:
    with ScriptedEndpoint(respond=respond) as endpoint:
        return evaluate(DATASET, [RubricsScore(name="quality")], model(endpoint))


def test_a_failed_row_is_a_failed_row_and_in_no_mean(evaluated):
    assert [evaluated["quality"][index] for index in (0, 2)] == [5, 2]
    assert math.isnan(evaluated["quality"][1])  # as Ragas has it; of ours, a failed verdict
    assert math.isnan(evaluated.scores[1]["quality"])
    assert evaluated.result.items[1].criteria["quality"].value is None
    mean = evaluated.means["quality"]
    assert (mean.mean, mean.scored, mean.failed, mean.abstained) == (3.5, 2, 1, 0)
    assert repr(evaluated) == "{'quality': 3.5000 (2 of 3 scored, 1 failed)}"


def test_the_table_has_scores_feedback_and_failures_in_columns_of_their_own(evaluated):
    table = evaluated.to_pandas(details=True)
    assert list(table.columns) == [
        "user_input",
        "response",
        "quality",
        "quality_feedback",
        "quality_status",
        "quality_error",
    ]
    assert list(table["quality_feedback"]) == ["It is good.", None, "It is poor."]
    assert list(table["quality_status"]) == ["judged", "failed", "judged"]
    assert table["quality_error"][1] == "bad_request: HTTP 400: cannot do that"
    assert table["quality_error"][0] is None
    assert str(table["quality"].dtype) == "Int64"
    assert list(table["quality"].isna()) == [False, True, False]


def test_an_abstention_is_counted_apart(make_judge):
    judge = make_judge("<reason>who knows</reason><verdict>CANNOT_ASSESS</verdict>")
    result = evaluate(DATASET, [RubricsScore(name="quality")], judge)
    assert repr(result) == "{'quality': no mean (0 of 3 scored, 3 abstained)}"
    assert list(result.to_pandas(details=True)["quality_status"]) == ["abstained"] * 3


@pytest.mark.parametrize(
    ("output_type", "dtype", "scores", "mean"),
    [
        (MetricOutputType.DISCRETE, "int64", [1, 0, 1], 2 / 3),
        (MetricOutputType.CONTINUOUS, "float64", [1.0, 0.0, 1.0], 2 / 3),
        (MetricOutputType.BINARY, "bool", [True, False, True], 2 / 3),
    ],
)
def test_the_output_type_is_the_type_of_the_column(output_type, dtype, scores, mean, make_judge):
    metric = RubricsScore("m", {"0": "no", "1": "yes"}, make_judge(1, 0, 1), None, output_type)
    result = evaluate(DATASET, [metric], concurrency=1)
    column = result.to_pandas()["m"]
    assert str(column.dtype) == dtype
    assert column.tolist() == scores
    assert result.means["m"].mean == pytest.approx(mean)


def test_every_metric_scores_with_its_own_rubric_prompt_and_llm(make_judge):
    one, two = make_judge(1), make_judge(2)
    metrics = [
        RubricsScore(name="free"),
        RubricsScore(name="reference", rubrics=DEFAULT_WITH_REFERENCE_RUBRICS, llm=two),
    ]
    result = evaluate(DATASET, metrics, one)
    assert result.scores == [{"free": 1, "reference": 2}] * 3
    assert DEFAULT_WITH_REFERENCE_RUBRICS["score5_description"] in two.system
    assert DEFAULT_WITH_REFERENCE_RUBRICS["score5_description"] not in one.system


@pytest.mark.parametrize(
    ("dataset", "metrics", "problem"),
    [
        (DATASET, [RubricsScore(), RubricsScore()], r"metrics\[1\]: the name 'domain_specific_rub"),
        (DATASET, [RubricsScore("a"), RubricsScore("a_feedback")], "taken by metrics"),
        (DATASET, [RubricsScore("response")], "taken by a column of the samples"),
        (DATASET, [], "at least one RubricsScore"),
        (DATASET, RubricsScore(), "expected a list"),
        (DATASET, ["quality"], r"metrics\[0\]: expected a RubricsScore, found"),
        ([], [RubricsScore()], "the dataset has no samples"),
        ([{"respnse": "a"}], [RubricsScore()], r"samples\[0\].*did you mean 'response'"),
        (["answer"], [RubricsScore()], r"samples\[0\]: expected an object, found \"answer\""),
        ([SingleTurnSample()], [RubricsScore()], r"samples\[0\]: has no field"),
    ],
)
def test_what_cannot_be_evaluated_is_an_error_before_anything_is_sent(
    dataset: Any, metrics: Any, problem: str, make_judge: Callable[..., Any]
):
    judge = make_judge()
    with pytest.raises(InputError, match=problem):
        evaluate(dataset, metrics, judge)
    assert judge.asked == []


@pytest.mark.parametrize(
    ("given", "problem"),
    [
        (
            {"callbacks": [print]},
            "evaluate takes no callbacks: give run_dir, which keeps every request",
        ),
        ({"embeddings": object()}, "evaluate takes no embeddings: no metric here uses any"),
        ({"return_executor": True}, "evaluate takes no return_executor: "),
        ({"run_config": {"timeout": 3}}, "run_config must be an instance of RunConfig, found {"),
        ({"batch_size": 0}, "batch_size must be at least 1, found 0"),
    ],
)
def test_what_ragas_takes_and_this_does_not_is_one_line_with_the_way_here(
    given, problem, make_judge
):
    judge = make_judge()
    with pytest.raises(InputError, match=problem):
        evaluate(DATASET, [RubricsScore()], judge, **given)
    assert judge.asked == []


def test_an_argument_of_ragas_that_says_nothing_is_no_error(make_judge):
    result = evaluate(
        DATASET,
        [RubricsScore("q")],
        make_judge(4),
        callbacks=None,
        embeddings=None,
        allow_nest_asyncio=False,
        return_executor=False,
    )
    assert result["q"] == [4, 4, 4]


@pytest.mark.parametrize(
    ("given", "concurrency", "attempts"),
    [
        ({}, 32, 6),
        ({"run_config": RunConfig()}, 16, 10),
        ({"run_config": RunConfig(max_workers=3, max_retries=2), "batch_size": 2}, 2, 2),
        ({"run_config": RunConfig(max_workers=3), "concurrency": 8, "attempts": 1}, 8, 1),
        ({"batch_size": 4}, 4, 6),
    ],
)
def test_a_run_configuration_is_the_runs_where_nothing_else_is_given(given, concurrency, attempts):
    options = EvaluateCall(DATASET, [RubricsScore()], **given).options()
    assert (options.concurrency, options.attempts) == (concurrency, attempts)


def test_the_timeout_of_a_run_configuration_is_a_requests(monkeypatch):
    with ScriptedEndpoint([Rule(fault="hang")]) as endpoint:
        monkeypatch.setenv("OPENAI_BASE_URL", endpoint.url)
        monkeypatch.setenv("OPENAI_API_KEY", "not-a-key")
        config = RunConfig(timeout=0.2, max_retries=1)
        with pytest.raises(RunStopped, match=r"0\.2 s"):
            evaluate([SAMPLE], [RubricsScore("q")], "openai/m", run_config=config, max_outage=0.0)


@pytest.mark.parametrize("wrong", [{"timeout": 0}, {"max_workers": -1}, {"max_retries": True}])
def test_a_run_configuration_of_nothing_is_refused(wrong):
    with pytest.raises(InputError, match=r"RunConfig: .* must be more than 0"):
        RunConfig(**wrong)


def test_a_failure_can_be_an_error_once_all_are_judged(make_judge):
    judge = make_judge(4, 9, 9, 4)
    with pytest.raises(
        NoScoreError, match=r"samples\[1\]: q: no score: unreadable_reply"
    ) as caught:
        evaluate(DATASET, [RubricsScore("q")], judge, raise_exceptions=True, concurrency=1)
    assert caught.value.verdict.status == "failed"
    assert len(judge.asked) == 4


class Terminal(io.StringIO):
    """Standard error that is a terminal."""

    def isatty(self) -> bool:
        return True


@pytest.mark.parametrize(("shows", "told"), [(True, "\rEvaluating: 3 of 3\n"), (False, "")])
def test_progress_is_a_line_on_a_terminal_unless_it_is_not_wanted(
    shows, told, make_judge, monkeypatch
):
    heard = []
    monkeypatch.setattr(sys, "stderr", Terminal())
    evaluate(
        DATASET,
        [RubricsScore("q")],
        make_judge(4),
        show_progress=shows,
        on_progress=lambda progress: heard.append(progress.done),
    )
    assert sys.stderr.getvalue().endswith(told)
    assert ("\r" in sys.stderr.getvalue()) is shows
    assert max(heard) == 3


def test_a_second_evaluation_into_the_folder_asks_only_for_what_failed(tmp_path):
    with ScriptedEndpoint(respond=respond) as endpoint:
        evaluate(DATASET, [RubricsScore()], model(endpoint), run_dir=tmp_path)
        before = len(endpoint.requests)
        again = evaluate(DATASET, [RubricsScore()], model(endpoint), run_dir=tmp_path)
        asked = endpoint.requests[before:]
    assert {"broken" in str(request.body["messages"]) for request in asked} == {True}
    assert again.result.resumed == 2
    assert list(again.to_pandas(details=True)["domain_specific_rubrics_feedback"]) == [
        "It is good.",
        None,
        "It is poor.",
    ]


@pytest.mark.parametrize("change", ["rubrics", "instruction", "reference"])
def test_whatever_could_change_the_score_is_asked_again(change, tmp_path, make_judge):
    judge = make_judge(4)
    evaluate(DATASET[:1], [RubricsScore()], PythonModel(judge, "one"), run_dir=tmp_path)
    metric, dataset = RubricsScore(), DATASET[:1]
    if change == "rubrics":
        metric.rubrics = {"1": "bad", "5": "good"}
    elif change == "instruction":
        own = type(metric.single_turn_prompt)(instruction="Otherwise.")
        metric.single_turn_prompt = own
    else:
        dataset = [dataset[0].model_copy(update={"reference": "r"})]
    evaluate(dataset, [metric], PythonModel(judge, "one"), run_dir=tmp_path)
    assert len(judge.asked) == 2


def test_another_name_or_more_retries_ask_nothing_again(tmp_path, make_judge):
    judge = make_judge(4)
    evaluate(DATASET, [RubricsScore()], judge, run_dir=tmp_path)
    asked = len(judge.asked)
    result = evaluate(DATASET, [RubricsScore("b", max_retries=3)], judge, run_dir=tmp_path)
    assert (len(judge.asked), result["b"]) == (asked, [4, 4, 4])


def test_evaluations_can_be_awaited_and_called_in_a_running_loop(make_judge):
    metric = RubricsScore("m", llm=make_judge(4))

    async def notebook() -> list[EvaluationResult]:
        return [
            await aevaluate(DATASET, [metric]),
            evaluate(DATASET, [metric]),
            await metric.abatch_score(DATASET),
            metric.batch_score(DATASET),
        ]

    assert [result["m"] for result in asyncio.run(notebook())] == [[4, 4, 4]] * 4
