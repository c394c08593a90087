"""`grade`, `agrade` and the rubric's own: in scripts, in running loops, for one text or many."""

from __future__ import annotations

import asyncio
import json
import threading
from pathlib import Path
from typing import Any

import pytest

import rubricate
from rubricate import Criterion, HTTPModel, ModelJudge, PythonModel, Rubric
from rubricate.errors import InputError
from rubricate.testing import Rule, ScriptedEndpoint, aassert_rubric

MET = {"reason": "r", "evidence": [], "verdict": "MET"}
RUBRIC = Rubric(
    [
        Criterion(name="fast", weight=3.0, requirement="Says that light is rapid"),
        Criterion(name="rude", weight=-1.0, requirement="Contains insults"),
    ]
)


def met(messages: Any) -> dict[str, Any]:
    return MET


def met_again(messages: Any) -> dict[str, Any]:
    return dict(MET)


class Closing(PythonModel):
    """A model that counts how often models of its kind were closed."""

    closed = 0

    async def aclose(self) -> None:
        Closing.closed += 1


def test_grade_works_in_a_script_inside_a_running_loop_and_awaited(make_dataset, endpoint):
    async def notebook(judge: str) -> rubricate.Result:
        return rubricate.grade(make_dataset(), judge, base_url=endpoint.url)

    assert rubricate.grade(make_dataset(), "m", base_url=endpoint.url).calls == 6
    assert asyncio.run(notebook("m")).calls == 6
    awaited = asyncio.run(rubricate.agrade(make_dataset(), "m", base_url=endpoint.url))
    assert awaited.calls == 6


def test_an_error_inside_a_running_loop_is_the_same_error(make_dataset):
    async def notebook() -> None:
        rubricate.grade(make_dataset(), "opneai/m")

    with pytest.raises(rubricate.InputError, match="did you mean 'openai/m"):
        asyncio.run(notebook())


def test_a_rubric_grades_one_text_wherever_it_is_called(endpoint):
    options: Any = {"prompt": "How fast is light?", "reference": "Very.", "judge": "m"}
    options["base_url"] = endpoint.url
    item = rubricate.grade_one(RUBRIC, "Light is rapid.", **options)
    assert {name: verdict.label for name, verdict in item.criteria.items()} == {
        "fast": "MET",
        "rude": "UNMET",
    }
    assert item.score.value == 1.0
    prompt = endpoint.requests[0].prefix
    assert prompt.index("How fast is light?") < prompt.index("Very.") < prompt.index("Light is")

    async def notebook() -> Any:
        return rubricate.grade_one(RUBRIC, "Light is rapid.", **options)

    assert asyncio.run(notebook()).score.value == 1.0
    awaited = asyncio.run(rubricate.agrade_one(RUBRIC, "text", judge=met))
    assert awaited.score.value == pytest.approx(2 / 3)


def test_options_of_one_text_have_their_effect():
    def abstain(messages: Any) -> dict[str, Any]:
        return {**MET, "verdict": "CANNOT_ASSESS"}

    item = rubricate.grade_one(RUBRIC, "text", judge=abstain, cannot_assess="partial", partial=0.25)
    assert item.score.value == 0.25


def test_one_text_that_cannot_be_judged_is_failed_and_raises_nothing(monkeypatch):
    monkeypatch.setenv("RUBRICATE_API_KEY", "sk-planted-0123456789")
    with ScriptedEndpoint([Rule(status=401, message="wrong")]) as endpoint:
        item = rubricate.grade_one(RUBRIC, "text", judge="m", base_url=endpoint.url)
    assert [verdict.status for verdict in item.criteria.values()] == ["failed", "not_run"]
    assert (item.score.value, item.score.coverage) == (None, 0.0)


@pytest.mark.parametrize(
    "make",
    [met, PythonModel(met), ModelJudge(PythonModel(met))],
    ids=["callable", "model", "judge"],
)
def test_a_judge_may_be_a_callable_a_model_or_a_judge(make_dataset, make: Any):
    result = rubricate.grade(make_dataset(), make)
    assert (result.calls, result.failed) == (6, 0)
    assert result.judge == "python/met"


def test_the_number_of_second_requests_belongs_to_the_judge(make_dataset):
    calls: list[int] = []
    model = PythonModel(lambda messages: calls.append(1) or "?")
    rubricate.grade(make_dataset(1), ModelJudge(model, reasks=0))
    assert len(calls) == 2


def test_one_model_serves_one_run_after_another_and_two_threads_at_once(make_dataset):
    with ScriptedEndpoint([Rule(delay=0.02)]) as endpoint:
        model = HTTPModel("m", base_url=endpoint.url)
        failed: list[int] = []

        def work() -> None:
            failed.append(rubricate.grade(make_dataset(10), model, concurrency=2).failed)

        threads = [threading.Thread(target=work) for _ in range(2)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        work()
    assert failed == [0, 0, 0]
    assert len(endpoint.requests) == 60


def test_one_model_serves_many_texts_at_once_and_no_request_is_lost():
    """A reward is graded so: whichever text ends first must not cut off the others."""

    async def main(url: str) -> list[rubricate.ItemResult]:
        model = HTTPModel("m", base_url=url)
        try:
            return await asyncio.gather(
                *(
                    rubricate.agrade_one(RUBRIC, f"text {n}", judge=model, attempts=1)
                    for n in range(20)
                )
            )
        finally:
            await model.aclose()

    rules = [Rule(submission="text 1?$", delay=0.0, verdict="MET"), Rule(delay=0.1)]
    with ScriptedEndpoint(rules) as endpoint:
        items = asyncio.run(main(endpoint.url))
    assert [v.status for item in items for v in item.criteria.values()] == ["judged"] * 40
    assert len(endpoint.requests) == 40


@pytest.mark.parametrize("listed", [2, 1, 0])
def test_judges_that_were_given_are_not_closed_by_agrade(make_dataset: Any, listed: int):
    judges: list[Any] = [Closing(met), ModelJudge(Closing(met_again))]
    given = judges[:listed] or judges[0]

    async def all_calls() -> None:
        dataset = make_dataset(1)
        await rubricate.agrade(dataset, given)
        await rubricate.agrade(dataset, given, replicates=2)
        await aassert_rubric("Yes.", RUBRIC, judge=given, require=["fast"])
        await rubricate.acompare_pair("One.", "Other.", judge=given, rubric=RUBRIC)
        await rubricate.aestimate_pair("One.", "Other.", judge=given, rubric=RUBRIC)

    Closing.closed = 0
    asyncio.run(all_calls())
    assert Closing.closed == 0
    rubricate.grade(make_dataset(1), given)
    assert Closing.closed == max(listed, 1)


def test_of_a_list_the_judges_that_were_made_of_names_are_closed(
    make_dataset: Any, endpoint: ScriptedEndpoint, monkeypatch: pytest.MonkeyPatch
):
    closed: list[str] = []

    async def noted(model: HTTPModel) -> None:
        closed.append(model.name)

    monkeypatch.setattr(HTTPModel, "aclose", noted)
    own = HTTPModel("mine", base_url=endpoint.url)
    asyncio.run(rubricate.agrade(make_dataset(1), [own, "theirs"], base_url=endpoint.url))
    assert closed == ["theirs"]


# Data as it is at hand

SENTENCES = ["The reply says sorry.", "The reply says what happens next."]
NAMES = ["the_reply_says_sorry", "the_reply_says_what_happens"]
ROWS: list[dict[str, Any]] = [
    {"answer": "Sorry, we look into it.", "asked": "Where is it?", "tier": 1},
    {"answer": "No.", "asked": "And now?", "tier": 2},
]
COLUMNS = {"submission": "answer", "prompt": "asked"}


def says_sorry(messages: Any) -> dict[str, Any]:
    """MET where the submission says sorry."""
    is_met = "Sorry, we" in messages[-1]["content"]
    return {"reason": "r", "evidence": [], "verdict": "MET" if is_met else "UNMET"}


def as_pandas(folder: Path) -> Any:
    return pytest.importorskip("pandas").DataFrame(ROWS, index=[7, 9])


def as_polars(folder: Path) -> Any:
    return pytest.importorskip("polars").DataFrame(ROWS)


def as_arrow(folder: Path) -> Any:
    return pytest.importorskip("pyarrow").Table.from_pylist(ROWS)


def as_file(folder: Path) -> Path:
    path = folder / "answers.jsonl"
    path.write_text("".join(f"{json.dumps(row)}\n" for row in ROWS))
    return path


KINDS = [lambda folder: ROWS, as_pandas, as_polars, as_arrow, as_file]


@pytest.mark.parametrize("made", KINDS, ids=["rows", "pandas", "polars", "pyarrow", "file"])
def test_a_table_is_graded_as_it_is(made: Any, tmp_path: Path) -> None:
    data = made(tmp_path)
    result = rubricate.grade(data, says_sorry, rubric=SENTENCES, map=COLUMNS)
    assert [item.score.value for item in result.items] == [1.0, 0.0]
    assert [list(item.criteria) for item in result.items] == [NAMES, NAMES]
    assert [item.metadata for item in result.items] == [{"tier": 1}, {"tier": 2}]
    streamed = rubricate.grade_stream(data, says_sorry, rubric=SENTENCES, map=COLUMNS)
    assert [item.score for item in streamed] == [item.score for item in result.items]
    estimated = rubricate.estimate(
        data, says_sorry, rubric=SENTENCES, map="submission=answer,prompt=asked"
    )
    assert estimated.requests == 4


@pytest.mark.parametrize("made", [as_pandas, as_polars], ids=["pandas", "polars"])
def test_results_join_back_to_the_frame(made: Any, tmp_path: Path) -> None:
    frame = made(tmp_path)
    result = rubricate.grade(frame, says_sorry, rubric=SENTENCES, map=COLUMNS)
    graded = result.join(frame)
    assert list(graded.columns) == ["answer", "asked", "tier", "score", *NAMES]
    assert list(graded["score"]) == [1.0, 0.0]
    assert list(graded[NAMES[0]]) == ["MET", "UNMET"]
    assert list(frame.columns) == ["answer", "asked", "tier"]
    if made is as_pandas:
        assert list(graded.index) == [7, 9]
    with pytest.raises(InputError, match=r"1 rows, and 2 items"):
        result.join(frame.head(1))
    with pytest.raises(InputError, match="already has a column 'score'"):
        result.join(graded)


@pytest.mark.parametrize("ids", [True, False], ids=["ids", "no ids"])
@pytest.mark.parametrize("made", [as_pandas, as_polars], ids=["pandas", "polars"])
def test_results_join_the_rows_that_were_graded_and_no_others(
    made: Any, ids: bool, tmp_path: Path
) -> None:
    frame = made(tmp_path)
    columns = {**COLUMNS, "id": "tier"} if ids else COLUMNS
    result = rubricate.grade(frame, says_sorry, rubric=SENTENCES, map=columns)
    joined = result.join(frame[::-1])
    assert list(joined["tier"]) == [2, 1]
    assert list(joined["score"]) == [0.0, 1.0]
    alone = frame[["tier"]] if made is as_pandas else frame.select("tier")
    if ids:
        assert list(result.join(alone)["score"]) == [1.0, 0.0]
    else:
        with pytest.raises(InputError, match="no column of the frame has the submissions"):
            result.join(alone)
    other = as_pandas(tmp_path).assign(answer=[ROWS[0]["answer"], "x"])
    with pytest.raises(InputError, match="row 2 of the frame is not a row"):
        result.join(other)


def test_rows_with_the_same_answer_are_told_apart_by_their_prompts() -> None:
    pandas = pytest.importorskip("pandas")
    frame = pandas.DataFrame({"submission": ["no"] * 3, "prompt": ["a?", "b?", "c?"]})
    result = rubricate.grade(frame, says_sorry, rubric=SENTENCES)
    assert list(result.join(frame.iloc[[1, 0, 2]]).index) == [1, 0, 2]
    assert len(result.join(frame.drop(columns="prompt"))) == 3


def test_rows_that_nothing_tells_apart_are_joined_in_the_order_that_was_graded_only() -> None:
    pandas = pytest.importorskip("pandas")
    frame = pandas.DataFrame({"submission": ["no", "no", "yes"]})
    result = rubricate.grade(frame, says_sorry, rubric=SENTENCES)
    assert len(result.join(frame)) == 3
    with pytest.raises(InputError, match="several rows have the same texts"):
        result.join(frame.iloc[[2, 0, 1]])


def test_a_criterion_cannot_take_the_place_of_the_score_in_a_frame(tmp_path: Path) -> None:
    frame = as_pandas(tmp_path)
    rubric = Rubric([Criterion(name="score", requirement="Says sorry")])
    with pytest.raises(InputError, match="named 'score'"):
        rubricate.grade(frame, says_sorry, rubric=rubric, map=COLUMNS).join(frame)


def test_a_verdict_that_abstains_is_no_empty_cell(tmp_path: Path) -> None:
    def abstains(messages: Any) -> dict[str, Any]:
        return {"reason": "r", "evidence": [], "verdict": "CANNOT_ASSESS"}

    frame = as_pandas(tmp_path)
    graded = rubricate.grade(frame, abstains, rubric=SENTENCES, map=COLUMNS).join(frame)
    assert list(graded[NAMES[0]]) == ["CANNOT_ASSESS"] * 2
    assert graded["score"].isna().all()


def test_a_frame_with_two_columns_of_one_name_is_refused() -> None:
    pandas = pytest.importorskip("pandas")
    frame = pandas.DataFrame([["a", "b"]], columns=["submission", "submission"])
    with pytest.raises(InputError, match="'submission'"):
        rubricate.grade(frame, says_sorry, rubric=SENTENCES)


@pytest.mark.parametrize("value", [True, {"text": "x"}, [["x"]]], ids=str)
def test_an_answer_that_is_no_text_is_refused(value: object) -> None:
    with pytest.raises(InputError, match="row 2"):
        rubricate.grade([{"submission": "x"}, {"submission": value}], says_sorry, rubric=SENTENCES)


def test_a_number_is_an_answer() -> None:
    result = rubricate.grade([{"submission": 5}], says_sorry, rubric=SENTENCES)
    assert result.items[0].texts.submission == "5"


def test_a_failed_verdict_has_no_label_in_the_frame(tmp_path: Path) -> None:
    def fails(messages: Any) -> str:
        return "no JSON at all"

    pandas = pytest.importorskip("pandas")
    frame = as_pandas(tmp_path)
    graded = rubricate.grade(frame, fails, rubric=SENTENCES, map=COLUMNS).join(frame)
    assert pandas.isna(graded["score"]).all()
    assert pandas.isna(graded[NAMES]).all(axis=None)


@pytest.mark.parametrize(
    ("data", "options", "wrong"),
    [
        (ROWS, {}, "give rubric="),
        (ROWS, {"rubric": SENTENCES}, "no column is mapped to submission.*'answer', 'asked'"),
        (ROWS, {"rubric": SENTENCES, "map": {"submission": "anser"}}, "did you mean 'answer'"),
        (ROWS, {"rubric": SENTENCES, "map": "submision=answer"}, "did you mean 'submission'"),
        (ROWS, {"rubric": 5, "map": COLUMNS}, "rubric must be"),
        (ROWS, {"rubric": ["single"], "map": COLUMNS}, r"\[0\]: a criterion is a sentence"),
        (
            [*ROWS, {"answer": None}],
            {"rubric": SENTENCES, "map": COLUMNS},
            "row 3: column 'answer'",
        ),
        ([], {"rubric": SENTENCES}, "no rows to grade"),
        ([1, 2], {"rubric": SENTENCES}, "row 1: expected a dictionary, found 1"),
        (5, {"rubric": SENTENCES}, "expected a RubricDataset, a data frame"),
        ("none.csv", {"rubric": SENTENCES}, "none.csv: file not found"),
    ],
)
def test_what_is_no_table_is_said_before_anything_is_asked(
    data: Any, options: dict[str, Any], wrong: str
) -> None:
    def never(messages: Any) -> Any:
        raise AssertionError("asked")

    with pytest.raises(InputError, match=wrong):
        rubricate.grade(data, never, **options)


def test_sentences_are_criteria_named_by_their_first_words() -> None:
    twins = ["The reply says that it is late.", "The reply says that it is lost."]
    rubric = Rubric([*twins, Criterion(name="own", requirement="Is kind")])
    assert rubric.names == [
        "the_reply_says_that_it",
        "the_reply_says_that_it_is",
        "own",
    ]
    assert Rubric.from_dict([*twins, {"name": "own", "requirement": "Is kind"}]) == rubric
    with pytest.raises(InputError, match="is there twice"):
        Rubric([twins[0], twins[0]])
    one = rubricate.grade_one(SENTENCES, "Sorry, we are late.", judge=says_sorry)
    assert one.score.value == 1.0


def test_an_error_about_a_call_is_shown_at_the_call(make_dataset: Any) -> None:
    with pytest.raises(InputError) as caught:
        rubricate.grade(make_dataset(), judge="nobody/x")
    assert caught.value.__context__ is None or caught.value.__suppress_context__
    frames = [entry.path.name for entry in caught.traceback]
    assert frames == ["test_front_door.py"]


def test_an_unknown_criterion_of_a_result_suggests_the_nearest() -> None:
    item = rubricate.grade_one(RUBRIC, "rapid", judge=PythonModel(met))
    with pytest.raises(KeyError, match=r"'ruder'.*fast.*did you mean 'rude'"):
        item.criteria["ruder"]
    assert item.criteria.get("ruder") is None
