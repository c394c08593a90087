"""AutoRubric's everyday program on this engine, and what it finds there."""

from __future__ import annotations

import asyncio
import json
import runpy
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

import rubricate
from rubricate import InputError, RunStopped
from rubricate.analysis import agreement_report, read_run
from rubricate.dialects import autorubric
from rubricate.dialects.autorubric import (
    CannotAssessConfig,
    Criterion,
    CriterionGrader,
    CriterionOption,
    EvalResult,
    FewShotConfig,
    JudgeSpec,
    LengthPenalty,
    LLMConfig,
    Rubric,
    RubricDataset,
    ThinkingConfig,
    evaluate,
    fill_ground_truth,
    graders,
)
from rubricate.dialects.autorubric.llm import thinking_options
from rubricate.testing import JudgeRequest, Rule, ScriptedEndpoint

HERE = Path(__file__).parent
THERE = HERE.parents[1] / "neighbours"
RUBRIC = Rubric([Criterion(name="a", requirement="x"), Criterion(name="b", requirement="yy")])


@pytest.fixture
def endpoint() -> Iterator[ScriptedEndpoint]:
    with ScriptedEndpoint(
        [Rule(criterion="yy", verdict="CANNOT_ASSESS"), Rule(verdict="MET")]
    ) as e:
        yield e


def config(endpoint: ScriptedEndpoint, model: str = "m", **more: Any) -> LLMConfig:
    return LLMConfig(model, api_base=endpoint.url, **more)


def grade(rubric: Rubric, grader: CriterionGrader, text: Any = "text", **more: Any) -> Any:
    return asyncio.run(rubric.grade(to_grade=text, grader=grader, **more))


def data(*labels: list[str]) -> RubricDataset:
    dataset = RubricDataset("p", RUBRIC, name="d")
    for index, each in enumerate(labels):
        dataset.add_item(f"text {index}", f"item {index}", each, ground_truth_reasons=["why", None])
    return dataset


LABELLED = data(["MET", "UNMET"], ["UNMET", "MET"], ["MET", "MET"])


def test_the_everyday_program_finds_what_it_finds_with_the_released_package(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setitem(sys.modules, "autorubric", autorubric)
    monkeypatch.setitem(sys.modules, "autorubric.graders", graders)
    program = runpy.run_path(str(THERE / "autorubric_program.py"))
    respond = runpy.run_path(str(THERE / "autorubric_answers.py"))["respond"]
    with ScriptedEndpoint(respond=respond) as endpoint:
        found = asyncio.run(program["main"](endpoint.url, str(tmp_path)))
    assert json.loads(json.dumps(found)) == json.loads((HERE / "program.json").read_text("utf-8"))


def test_a_failed_verdict_is_none_with_its_cause_and_never_unmet(tmp_path: Path) -> None:
    rules = [Rule(criterion="yy", verdict="MET"), Rule(reply="I cannot say.")]
    with ScriptedEndpoint(rules) as endpoint:
        report = grade(RUBRIC, CriterionGrader(llm_config=config(endpoint)))
        assert report.report[0].final_verdict is None
        assert report.report[0].votes[0].verdict is None
        assert report.report[0].error.startswith("parse: unreadable_reply: ")
        assert (report.score, report.error) == (1.0, None)
        assert (report.result.score.lowest, report.result.score.highest) == (0.5, 1.0)
        alone = Rubric([RUBRIC[0]])
        report = grade(alone, CriterionGrader(llm_config=config(endpoint)))
        assert (report.score, report.raw_score) == (None, None)
        assert report.error.startswith("Every criterion's judgment failed: parse: ")
        dataset = RubricDataset("p", alone)
        dataset.add_item("x", "d", ["MET"])
        done = asyncio.run(evaluate(dataset, CriterionGrader(llm_config=config(endpoint))))
        assert (done.failed_items, done.get_scores(), done.filter_successful()) == (1, [], [])
        assert done.errors == [(0, done.filter_failed()[0].error)]
        grader = CriterionGrader(llm_config=config(endpoint))
        with pytest.raises(
            RunStopped, match="a verdict failed, and fail_fast is set: item 0, criterion"
        ):
            asyncio.run(evaluate(dataset, grader, fail_fast=True))


def test_a_named_experiment_is_a_run_folder_that_goes_on(endpoint: Any, tmp_path: Path) -> None:
    grader = CriterionGrader(llm_config=config(endpoint))
    told: dict[str, Any] = {"experiment_name": "e", "experiments_dir": tmp_path}
    first = asyncio.run(evaluate(LABELLED, grader, **told))
    asked = len(endpoint.requests)
    assert (asked, (tmp_path / "e" / "summary.json").exists()) == (6, True)
    again = asyncio.run(evaluate(LABELLED, grader, **told))
    assert len(endpoint.requests) == asked
    assert again.get_scores() == first.get_scores()
    assert (again.experiment_name, again.experiment_dir) == ("e", tmp_path / "e")
    read = EvalResult.from_experiment(tmp_path / "e")
    assert [item.to_dict() for item in read.item_results] == [
        item.to_dict() for item in again.item_results
    ]
    metrics = [done.compute_metrics(LABELLED).model_dump() for done in (read, again)]
    assert metrics[0] == metrics[1]
    asyncio.run(evaluate(LABELLED, grader, resume=False, **told))
    assert len(endpoint.requests) == 2 * asked


def test_metrics_are_of_the_labels_that_the_dataset_has_now(endpoint: Any) -> None:
    grader = CriterionGrader(llm_config=config(endpoint))
    done = asyncio.run(evaluate(data(["UNMET", "MET"]), grader))
    assert done.compute_metrics(data(["UNMET", "MET"])).criterion_accuracy == 0.0
    metrics = done.compute_metrics(data(["MET", "MET"]), cannot_assess="as_category")
    assert [one.accuracy for one in metrics.per_criterion] == [1.0, 0.0]
    assert "against labels of 1 item\n" in metrics.summary()
    with pytest.raises(InputError, match="an abstention is not UNMET"):
        done.compute_metrics(data(["MET", "MET"]), cannot_assess="as_unmet")
    with pytest.raises(InputError, match="has no item"):
        done.compute_metrics(RubricDataset("p", RUBRIC))


@pytest.mark.parametrize(
    ("strategy", "score"), [("skip", 1.0), ("zero", 0.5), ("partial", 0.625), ("fail", 0.5)]
)
def test_what_an_abstention_scores_is_said_with_the_config(
    endpoint: Any, strategy: str, score: float
) -> None:
    told = CannotAssessConfig(strategy=strategy, partial_credit=0.25)
    grader = CriterionGrader(llm_config=config(endpoint), cannot_assess_config=told)
    report = grade(RUBRIC, grader)
    assert (report.score, report.cannot_assess_count, report.report[1].is_na) == (score, 1, True)


def test_examples_are_shown_with_reasons_where_that_is_wanted(endpoint: Any) -> None:
    for wanted in (True, False):
        few = FewShotConfig(n_examples=2, include_reason=wanted)
        grader = CriterionGrader(
            llm_config=config(endpoint), training_data=LABELLED, few_shot_config=few
        )
        grade(RUBRIC, grader)
        shown = endpoint.requests[-1].prefix
        assert ("Reason: why" in shown) == wanted
        assert shown.count("Submission: text") == 2


def test_a_whole_rubric_may_be_asked_about_in_one_request(endpoint: Any) -> None:
    grader = CriterionGrader(llm_config=config(endpoint), llm_calls="per_item", normalize=False)
    report = grade(RUBRIC, grader, query="q", reference_submission="r")
    assert (report.score, len(endpoint.requests)) == (10.0, 1)
    text = json.dumps(endpoint.requests[0].body)
    assert "\\nq\\n" in text
    assert "\\nr\\n" in text


def test_options_are_shown_in_a_drawn_order_unless_that_is_not_wanted(endpoint: Any) -> None:
    options = [CriterionOption(label=f"o{n}", value=n / 9) for n in range(10)]
    rubric = Rubric([Criterion(name="m", requirement="m", options=options)])
    for shuffled in (True, False):
        grader = CriterionGrader(llm_config=config(endpoint), shuffle_options=shuffled, seed=3)
        grade(rubric, grader)
        labels = [label for label in endpoint.requests[-1].labels if label[0] == "o"]
        assert (labels == [one.label for one in options]) is not shuffled


def test_length_costs_what_autorubrics_penalty_says(endpoint: Any) -> None:
    penalty = LengthPenalty(
        free_budget=0,
        max_cap=4,
        penalty_at_cap=1.0,
        exponent=1,
        count_fn=len,
        penalty_type="OUTPUT_ONLY",
    )
    grader = CriterionGrader(llm_config=config(endpoint), length_penalty=penalty)
    text = "<thinking>a long thought</thinking><output>ab</output>"
    assert grade(RUBRIC, grader, text).score == 0.5
    assert grade(RUBRIC, grader, {"thinking": "a long thought", "output": "abc"}).score == 0.25
    with pytest.raises(InputError, match="remove normalize=False"):
        CriterionGrader(llm_config=config(endpoint), length_penalty=penalty, normalize=False)


def test_one_model_under_several_ids_is_asked_several_times(endpoint: Any) -> None:
    same = config(endpoint, temperature=1.0)
    specs = [JudgeSpec(same, name, weight=2.0) for name in ("a", "b", "c")]
    report = grade(RUBRIC, CriterionGrader(judges=specs, aggregation="weighted"))
    votes = report.report[0].votes
    assert [(vote.judge_id, vote.weight) for vote in votes] == [("a", 2.0), ("b", 2.0), ("c", 2.0)]
    assert len(endpoint.requests) == 6
    assert report.judge_scores == {"a": 1.0, "b": 1.0, "c": 1.0}


@pytest.mark.filterwarnings("ignore::UserWarning")
def test_a_run_of_what_only_the_dialect_takes_is_read_back(tmp_path: Path) -> None:
    options = [{"label": "Yes", "value": 1.0}, {"label": "No", "value": 0.0}]
    last = [{"label": "CANNOT_ASSESS", "value": 3}, {"label": "none", "na": True}]
    rubric = Rubric([RUBRIC[0], RUBRIC[0], {"requirement": "?", "options": [*options, *last]}])
    dataset = RubricDataset("p", rubric)
    dataset.add_item("Yes", "d", ["MET", "MET", "yes "])
    with ScriptedEndpoint() as endpoint:
        grader = CriterionGrader(llm_config=config(endpoint))
        done = asyncio.run(evaluate(dataset, grader, experiment_name="e", experiments_dir=tmp_path))
        again = rubricate.grade(dataset, "m", base_url=endpoint.url, rubric=rubric)
    assert agreement_report(read_run(tmp_path / "e")).whole[2] == 3
    assert done.compute_metrics(dataset).n_criteria == 3
    assert again.items[0].labels["criterion_3"].label == "Yes"


def test_a_computed_criterion_is_no_judges_vote(endpoint: Any) -> None:
    rubric = Rubric([RUBRIC[0], {"name": "r", "kind": "regex", "pattern": "x", "requirement": "x"}])
    report = grade(rubric, CriterionGrader(llm_config=config(endpoint)), "x")
    found = report.report[1]
    assert (found.final_verdict, found.votes, found.agreement) == ("MET", [], 1.0)
    assert found.final_reason == found.verdict.reason
    assert (report.score, len(endpoint.requests)) == (1.0, 1)


def test_what_a_model_is_told_is_sent(endpoint: Any) -> None:
    told = config(
        endpoint, top_p=0.5, seed=4, max_tokens=99, thinking="high", extra_params={"k": 1}
    )
    grade(RUBRIC, CriterionGrader(llm_config=told))
    body = endpoint.requests[-1].body
    assert body.items() >= {"top_p": 0.5, "seed": 4, "reasoning_effort": "high", "k": 1}.items()
    assert body["max_tokens"] == 99
    assert "temperature" not in body


@pytest.mark.parametrize(
    ("model", "thinking", "sent"),
    [
        ("openai/gpt-5", "low", {"reasoning_effort": "low"}),
        (
            "claude-x",
            ThinkingConfig("high", 9),
            {"thinking": {"type": "enabled", "budget_tokens": 9}},
        ),
    ],
)
def test_thinking_is_said_in_the_providers_words(model: str, thinking: Any, sent: Any) -> None:
    assert thinking_options(model, thinking) == sent


M = LLMConfig("m")
GRADER = CriterionGrader(llm_config=M)


def evaluated(grader: Any, **options: Any) -> Any:
    return asyncio.run(evaluate(LABELLED, grader, **options))


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (CriterionGrader, "Must provide either judge_model_config or judges"),
        (JudgeSpec, "needs an LLMConfig and a judge_id"),
        (lambda: CriterionGrader(llm_config=M, judges=[]).configs, "Cannot provide both"),
        (lambda: CriterionGrader(judges=[JudgeSpec(M, "a")] * 2).configs, "two judges are called"),
        (lambda: CriterionGrader(escalation="x"), "not support escalation: .*rubricate.Cascade"),
        (lambda: CriterionGrader(llm_calls="all"), "per_criterion or per_item, found 'all'"),
        (lambda: LLMConfig("m", extra_headers={"a": "b"}), "does not support extra_headers"),
        (
            lambda: LLMConfig("m", api_base="http://x/v1", api_key="sk-1").to_model(),
            "keys are only read from the environment; set RUBRICATE_API_KEY",
        ),
        (lambda: asyncio.run(GRADER.grade("x", RUBRIC, guidelines="g")), "belong to the rubric"),
        (lambda: evaluated("m"), "grader: expected a CriterionGrader, found"),
        (lambda: evaluated(GRADER, experiment_name="../x"), 'name of a folder, found "../x"'),
        (lambda: evaluated(GRADER, max_concurrent_items=0), "must be at least 1, found 0"),
    ],
)
def test_what_cannot_be_used_is_one_line_before_anything_is_sent(make: Any, message: str) -> None:
    with pytest.raises(InputError, match=message) as caught:
        make()
    assert "\n" not in str(caught.value)
    assert "sk-1" not in str(caught.value)


@pytest.mark.parametrize(
    "make",
    [
        lambda: LLMConfig("m", prompt_caching=False),
        lambda: LLMConfig("m", retry_max_wait=1.0),
        lambda: CriterionGrader(llm_config=LLMConfig("m"), auto_na_option=False),
        lambda: FewShotConfig(balance_verdicts=False).examples(LABELLED),
    ],
)
def test_what_has_no_effect_gives_a_warning(make: Any) -> None:
    with pytest.warns(UserWarning, match="is ignored: "):
        make()


def test_scores_of_labels_are_the_graders_own() -> None:
    rubric = Rubric([Criterion(name="a", requirement="x"), Criterion(weight=-5, requirement="y")])
    assert rubric.compute_score(["MET", "MET"]) == 0.5
    assert rubric.compute_score(["MET", "MET"], normalize=False) == 5.0
    assert rubric.compute_score(["CANNOT_ASSESS", "CANNOT_ASSESS"]) is None
    assert rubric.compute_score(["CANNOT_ASSESS", "UNMET"], True, "partial", 0.3) == 0.3
    with pytest.raises(InputError, match="1 verdicts for a rubric of 2 criteria"):
        rubric.compute_score(["MET"])


def test_a_failed_option_that_does_not_apply_scores_as_in_autorubric() -> None:
    """0.6889 and 12.4 are what AutoRubric 1.6.1 prints."""
    values = {"low": 0.3, "mid": 0.6, "high": 1.0}
    options = [CriterionOption(label=label, value=value) for label, value in values.items()]
    options.append(CriterionOption(label="na", value=0.0, na=True))
    plain = Criterion(name="p", weight=10.0, requirement="x")
    ordinal = Criterion(
        name="q", weight=8.0, requirement="y", scale_type="ordinal", options=options
    )
    rubric = Rubric([plain, ordinal])
    assert rubric.compute_score(["MET", "na"], True, "fail") == pytest.approx(12.4 / 18)
    assert rubric.compute_score(["MET", "na"], False, "fail") == pytest.approx(12.4)


def test_importing_the_dialect_loads_nothing_heavy() -> None:
    program = (
        "import sys, rubricate.dialects.autorubric\n"
        "print([n for n in ('numpy', 'scipy', 'aiohttp', 'litellm') if n in sys.modules])"
    )
    done = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, check=True
    )
    assert done.stdout.strip() == "[]"


def test_a_config_shows_no_key():
    config = LLMConfig(model="openai/gpt-4.1-mini", api_key="sk-secret")
    assert "secret" not in f"{config!r} {config}"
    assert "gpt-4.1-mini" in repr(config)


def test_an_own_prompt_is_shown_to_the_judge_before_the_guidelines(endpoint: Any) -> None:
    told = Rubric([*RUBRIC], guidelines="Be fair.")
    grade(told, CriterionGrader(llm_config=config(endpoint), system_prompt="You grade essays."))
    text = json.dumps(endpoint.requests[0].body["messages"])
    assert "You grade essays.\\n\\nBe fair." in text


def test_a_criterion_without_a_name_has_none_in_reports_too(endpoint: Any) -> None:
    rubric = Rubric([Criterion(requirement="x"), Criterion(name="b", requirement="z")])
    report = grade(rubric, CriterionGrader(llm_config=config(endpoint)))
    assert [entry.criterion.name for entry in report.report] == [None, "b"]
    assert [criterion.name for criterion in rubric.rubric] == [None, "b"]
    assert f"{report.report[0].final_verdict}" == "CriterionVerdict.MET"
    assert report.report[0].final_verdict == "MET"
    again = Rubric(list(rubric.rubric))
    assert again.names == ["criterion_1", "b"]


def test_each_judge_of_several_is_compared_with_people() -> None:
    def respond(request: JudgeRequest) -> Rule:
        return Rule(verdict="UNMET" if request.body["model"] == "two" else "MET")

    with ScriptedEndpoint(respond=respond) as endpoint:
        judges = [JudgeSpec(config(endpoint, name), name) for name in ("one", "two", "three")]
        done = asyncio.run(evaluate(LABELLED, CriterionGrader(judges=judges)))
    metrics = done.compute_metrics(LABELLED, per_judge=True, bootstrap=True)
    assert metrics.per_judge is not None
    accuracy = {name: alone.criterion_accuracy for name, alone in metrics.per_judge.items()}
    assert accuracy == {"one": 4 / 6, "two": 2 / 6, "three": 4 / 6}
    assert metrics.confusion_matrix.matrix == [[4, 0], [2, 0]]
    assert (metrics.n_samples, metrics.bootstrap.n_bootstrap) == (6, 1000)
    table = metrics.to_dataframe()
    assert list(table["level"]) == ["aggregate", *["criterion"] * 2, *["judge"] * 3]


def test_a_model_labels_what_nobody_labelled(endpoint: Any) -> None:
    dataset = data(["MET", "UNMET"])
    dataset.add_item("text 9", "without labels")
    grader = CriterionGrader(llm_config=config(endpoint))
    filled = asyncio.run(fill_ground_truth(dataset, grader))
    labels = [[label.value for label in item.ground_truth] for item in filled]
    assert labels == [["MET", "UNMET"], ["MET", "CANNOT_ASSESS"]]
    assert dataset.items[1].ground_truth is None
    assert len(endpoint.requests) == 2
