"""The engine against a scripted endpoint: everything is judged, once, and never again."""

from __future__ import annotations

import asyncio
from collections import Counter
from typing import Any

import pytest

import rubricate
from rubricate import (
    Criterion,
    CriterionOption,
    DataItem,
    InputError,
    PythonModel,
    Rubric,
    RubricDataset,
)
from rubricate.judge import Explained, ModelJudge
from rubricate.testing import Rule, ScriptedEndpoint

MET = {"reason": "r", "evidence": [], "verdict": "MET"}


def asked(endpoint: ScriptedEndpoint) -> Counter[tuple[str, str]]:
    return Counter((request.submission, request.criterion) for request in endpoint.requests)


def labels(result: rubricate.Result) -> list[str | None]:
    return [verdict.label for _, verdict in result.verdicts()]


def test_every_item_is_judged_by_every_criterion_once(make_dataset, endpoint):
    dataset = make_dataset(20)
    result = rubricate.grade(dataset, "m", base_url=endpoint.url)
    pairs = {
        (item.submission, criterion.requirement) for item in dataset for criterion in dataset.rubric
    }
    assert asked(endpoint) == dict.fromkeys(pairs, 1)
    assert (result.calls, result.resumed, result.failed) == (40, 0, 0)
    assert [item.description for item in result] == [f"answer {n}" for n in range(20)]


def test_a_program_of_another_event_loop_can_grade(make_dataset, endpoint):
    uvloop = pytest.importorskip("uvloop")

    async def graded() -> rubricate.Result:
        return await rubricate.agrade(make_dataset(20), "m", base_url=endpoint.url)

    with asyncio.Runner(loop_factory=uvloop.new_event_loop) as runner:
        result = runner.run(graded())
    assert (result.calls, result.failed) == (40, 0)
    assert sum(asked(endpoint).values()) == 40


def test_verdicts_and_scores_are_those_of_the_endpoint(make_dataset, endpoint):
    result = rubricate.grade(make_dataset(2), "m", base_url=endpoint.url)
    assert labels(result) == ["MET", "MET", "UNMET", "UNMET"]
    assert [item.score.value for item in result] == [0.5, 0.0]
    assert result.items[0].criteria["speed"].value == 1.0
    assert result.items[0].criteria["speed"].reason == "judged by keywords"


def test_the_order_of_answers_does_not_change_the_order_of_results(make_dataset):
    rules = [Rule(submission="Answer 0", delay=0.15), Rule(submission="Answer 1", delay=0.05)]
    with ScriptedEndpoint(rules) as endpoint:
        result = rubricate.grade(make_dataset(3), "m", base_url=endpoint.url)
    assert [item.description for item in result] == ["answer 0", "answer 1", "answer 2"]
    assert labels(result) == ["MET", "MET", "UNMET", "UNMET", "UNMET", "UNMET"]


def test_calls_go_out_item_by_item(make_dataset, endpoint):
    dataset = make_dataset(5)
    rubricate.grade(dataset, "m", base_url=endpoint.url, concurrency=1)
    sent = [request.submission for request in endpoint.requests]
    assert sent == [item.submission for item in dataset for _ in dataset.rubric]


def test_the_first_request_of_a_run_goes_alone(make_dataset):
    flying: list[int] = []

    async def judge(messages: Any) -> dict[str, Any]:
        flying.append(1)
        await asyncio.sleep(0.1 if len(flying) == 1 else 0)
        counts.append(len(flying))
        return MET

    counts: list[int] = []
    rubricate.grade(make_dataset(5), judge)
    assert counts[0] == 1
    assert len(counts) == 10


def test_multi_choice_goes_from_the_prompt_to_the_score(endpoint):
    options = (
        CriterionOption(label="poor", value=0.0),
        CriterionOption(label="fair", value=0.25, description="readable"),
        CriterionOption(label="n/a", na=True),
        CriterionOption(label="good", value=1.0),
    )
    rubric = Rubric([Criterion(name="style", requirement="How is the style?", options=options)])
    dataset = RubricDataset("Write.", rubric)
    for text in ("a fair text", "a good text", "an n/a text", "a text"):
        dataset.add_item(text, ground_truth=["fair"])
    result = rubricate.grade(dataset, "m", base_url=endpoint.url)
    verdicts = [item.criteria["style"] for item in result]
    assert [verdict.label for verdict in verdicts] == ["fair", "good", "n/a", "poor"]
    assert [verdict.value for verdict in verdicts] == [0.25, 1.0, None, 0.0]
    assert [verdict.status for verdict in verdicts][2] == "not_applicable"
    assert [item.score.value for item in result] == [0.25, 1.0, None, 0.0]
    assert endpoint.requests[0].labels == ("poor", "fair", "n/a", "good", "CANNOT_ASSESS")
    assert result.items[0].human_score.value == 0.25


def test_an_abstention_is_neither_a_value_nor_a_failure(make_dataset):
    with ScriptedEndpoint([Rule(criterion="kilometres", verdict="CANNOT_ASSESS")]) as endpoint:
        result = rubricate.grade(make_dataset(1), "m", base_url=endpoint.url)
    verdict = result.items[0].criteria["speed"]
    assert (verdict.status, verdict.label, verdict.value) == ("abstained", "CANNOT_ASSESS", None)
    assert (result.failed, result.items[0].score.coverage) == (0, 0.5)


def test_an_item_with_its_own_rubric_and_prompt_is_judged_by_them(make_dataset, endpoint):
    dataset = make_dataset(1)
    own = Rubric([Criterion(name="own", requirement="Mentions bananas somewhere")])
    dataset.add_item("Bananas somewhere.", rubric=own, prompt="What fruit?")
    result = rubricate.grade(dataset, "m", base_url=endpoint.url)
    assert list(result.items[1].criteria) == ["own"]
    assert "What fruit?" in endpoint.requests[-1].prefix


def test_text_that_utf8_cannot_hold_is_graded_all_the_same(tmp_path, endpoint, rows):
    dataset = RubricDataset("p", Rubric([Criterion(name="a", requirement="Says broken")]))
    dataset.add_item("broken \ud83d", "half \ud83d")
    result = rubricate.grade(dataset, "m", base_url=endpoint.url, run_dir=tmp_path / "run")
    assert result.failed == 0
    assert rows(tmp_path / "run")[0]["description"] == "half ?"


def test_a_reply_with_half_a_surrogate_pair_does_not_end_the_run(tmp_path, make_dataset, rows):
    reply = r'So: {"reason": "good \ud83d", "evidence": ["\ud83d"], "verdict": "MET"}'
    result = rubricate.grade(make_dataset(1), lambda messages: reply, run_dir=tmp_path / "run")
    assert result.failed == 0
    assert [row["reason"] for row in rows(tmp_path / "run")] == ["good ?", "good ?"]


# Resume


def test_a_second_run_into_the_same_folder_sends_nothing(tmp_path, make_dataset, endpoint):
    options = {"base_url": endpoint.url, "run_dir": tmp_path / "run"}
    first = rubricate.grade(make_dataset(4), "m", **options)
    results = (tmp_path / "run" / "results.jsonl").read_text()
    endpoint.requests.clear()
    second = rubricate.grade(make_dataset(4), "m", **options)
    assert endpoint.requests == []
    assert (second.calls, second.resumed) == (0, 8)
    assert labels(second) == labels(first)
    assert all(verdict.resumed for _, verdict in second.verdicts())
    resumed = (tmp_path / "run" / "results.jsonl").read_text()
    assert resumed == results.replace('"resumed":false', '"resumed":true')


def test_answers_from_the_journal_cost_nothing(tmp_path, make_dataset):
    usage = rubricate.Usage(requests=1, input_tokens=10, cost=0.5)

    def judge(messages: Any) -> Any:
        from rubricate.judge import Completion

        return Completion('{"reason": "r", "verdict": "MET"}', usage)

    first = rubricate.grade(make_dataset(2), judge, run_dir=tmp_path / "run")
    second = rubricate.grade(make_dataset(2), judge, run_dir=tmp_path / "run")
    assert (first.usage.cost, first.usage.requests) == (2.0, 4)
    assert second.usage == rubricate.Usage()


@pytest.mark.parametrize("options", [{}, {"criteria_per_call": "all"}, {"replicates": 3}])
def test_items_that_are_the_same_are_asked_about_once(make_dataset, tmp_path, options):
    dataset = make_dataset(2)
    for _ in range(9):
        dataset.add_item(dataset[1].submission, "the same again")
    with ScriptedEndpoint([Rule(verdict="MET", delay=0.05)]) as endpoint:
        options = {"base_url": endpoint.url, **options}
        foretold = rubricate.estimate(dataset, "m", **options).requests
        result = rubricate.grade(dataset, "m", run_dir=tmp_path, **options)
        assert len(endpoint.requests) == foretold == result.usage.requests
        expected = 2 if "criteria_per_call" in options else 4 * options.get("replicates", 1)
        assert foretold == expected
    assert result.failed == 0
    assert len({str(item.criteria["speed"].label) for item in result.items[1:]}) == 1


def test_progress_tells_of_items_that_took_the_answers_to_others(make_dataset):
    dataset = make_dataset(1)
    dataset.add_item(dataset[0].submission, "the same again")
    told: list[int] = []
    with ScriptedEndpoint([Rule(verdict="MET", delay=0.05)]) as endpoint:
        rubricate.grade(
            dataset, "m", base_url=endpoint.url, on_progress=lambda now: told.append(now.done)
        )
        assert len(endpoint.requests) == 2
    assert told[-1] == 4


def test_an_item_that_is_the_same_as_one_that_fails_is_asked_about_itself(make_dataset):
    dataset = make_dataset(1)
    dataset.add_item(dataset[0].submission, "the same again")
    unreadable = Rule(criterion="kilometres", reply="?", delay=0.05, times=3)
    with ScriptedEndpoint([unreadable]) as endpoint:
        result = rubricate.grade(dataset, "m", base_url=endpoint.url, concurrency=8)
    assert result.failed == 1


@pytest.mark.parametrize("leader_first", [False, True])
def test_many_that_are_the_same_and_fail_are_each_asked_about_once(leader_first: bool):
    asked: list[int] = []

    async def judge(messages: Any) -> Any:
        asked.append(1)
        await asyncio.sleep(0.001)
        return "?"

    dataset = RubricDataset("", Rubric([Criterion(requirement=one) for one in "abc"]))
    for _ in range(4):
        dataset.add_item("The same text.")
    options: Any = {"leader_first": leader_first, "concurrency": 5, "max_time": 30}
    result = rubricate.grade(dataset, judge, **options)
    assert (result.stopped, result.failed, len(asked)) == (None, 12, 36)


@pytest.mark.parametrize("concurrency", [1, 4, 32])
@pytest.mark.parametrize("leader_first", [False, True])
def test_what_items_with_their_own_rubrics_share_is_asked_once(
    tmp_path, leader_first: bool, concurrency: int
):
    """A call that waits behind its item's first one takes what another has asked meanwhile."""
    names = ["a", "b", "c", "d"]
    criteria = {name: Criterion(name=name, requirement=f"Is it {name}?") for name in names}
    dataset = RubricDataset("", Rubric([criteria["a"]]))
    for rubric in ("ab", "ba", "bc", "cab", "dcba"):
        dataset.add_item("The same text.", rubric=Rubric([criteria[name] for name in rubric]))
    answers = iter(["MET", "UNMET"] * 20)  # asked again, it would answer something else

    async def judge(messages: Any) -> dict[str, Any]:
        await asyncio.sleep(0.001)
        return {**MET, "verdict": next(answers)}

    options = {"run_dir": tmp_path / "run", "leader_first": leader_first}
    first = rubricate.grade(dataset, judge, concurrency=concurrency, **options)
    assert first.usage.requests == first.calls == 4
    assert rubricate.estimate(dataset, judge).requests == 4
    for name in names:
        labels = [item.criteria[name].label for item in first if name in item.criteria]
        assert len(set(labels)) == 1
    again = rubricate.grade(dataset, judge, **options)
    assert again.calls == 0
    assert [item.score.value for item in again] == [item.score.value for item in first]


def test_a_changed_submission_is_judged_again_and_no_other(tmp_path, make_dataset, endpoint):
    options = {"base_url": endpoint.url, "run_dir": tmp_path / "run"}
    rubricate.grade(make_dataset(4), "m", **options)
    endpoint.requests.clear()
    changed = make_dataset(4)
    changed.items[2].submission = "Another answer."
    result = rubricate.grade(changed, "m", **options)
    assert set(asked(endpoint)) == {
        ("Another answer.", criterion.requirement) for criterion in changed.rubric
    }
    assert (result.calls, result.resumed) == (2, 6)


def test_a_changed_weight_scores_again_without_a_request(tmp_path, make_dataset, endpoint):
    options = {"base_url": endpoint.url, "run_dir": tmp_path / "run"}
    dataset = make_dataset(1)
    first = rubricate.grade(dataset, "m", **options)
    endpoint.requests.clear()
    changed = dataset.rubric[1].model_copy(update={"weight": -0.5})
    rubric = Rubric([dataset.rubric[0], changed])
    second = rubricate.grade(dataset, "m", rubric=rubric, **options)
    assert endpoint.requests == []
    assert (first.items[0].score.value, second.items[0].score.value) == (0.5, 0.75)


def choice(value: float | None) -> Rubric:
    options = (
        CriterionOption(label="low", value=0.0),
        CriterionOption(label="fair", value=value, na=value is None),
        CriterionOption(label="high", value=1.0),
    )
    return Rubric([Criterion(name="style", requirement="Style?", options=options)])


@pytest.mark.parametrize(("before", "after"), [(0.25, None), (None, 0.25)])
def test_an_option_moved_out_of_the_score_or_into_it_reads_as_in_a_new_run(
    tmp_path, endpoint, before: float | None, after: float | None
):
    dataset = RubricDataset("p", choice(before))
    dataset.add_item("fair enough")
    options = {"base_url": endpoint.url}
    rubricate.grade(dataset, "m", run_dir=tmp_path / "run", **options)
    resumed = rubricate.grade(
        dataset, "m", rubric=choice(after), run_dir=tmp_path / "run", **options
    )
    fresh = rubricate.grade(dataset, "m", rubric=choice(after), **options)
    assert len(endpoint.requests) == 2
    assert resumed.items[0].score == fresh.items[0].score
    (old,), (new,) = resumed.items[0].criteria.values(), fresh.items[0].criteria.values()
    assert (old.status, old.value) == (new.status, new.value)


def test_a_renamed_criterion_is_not_judged_again(tmp_path, make_dataset, endpoint):
    options = {"base_url": endpoint.url, "run_dir": tmp_path / "run"}
    dataset = make_dataset(1)
    rubricate.grade(dataset, "m", **options)
    endpoint.requests.clear()
    renamed = [one.model_copy(update={"name": f"new {one.name}"}) for one in dataset.rubric]
    result = rubricate.grade(dataset, "m", rubric=Rubric(renamed), **options)
    assert endpoint.requests == []
    assert list(result.items[0].criteria) == ["new speed", "new boasting"]
    assert result.items[0].criteria["new speed"].criterion == "new speed"


def test_failed_verdicts_are_asked_again_on_resume_and_no_other(
    tmp_path, make_dataset, monkeypatch
):
    broken = [True]

    def judge(messages: Any) -> Any:
        asked.append(messages[-1]["content"])
        if broken[0] and "Answer 1:" in messages[-1]["content"]:
            raise ValueError("out of order")
        return MET

    asked: list[str] = []
    first = rubricate.grade(make_dataset(3), judge, run_dir=tmp_path / "run")
    assert first.failed == 2
    broken[0] = False
    asked.clear()
    second = rubricate.grade(make_dataset(3), judge, run_dir=tmp_path / "run")
    assert second.failed == 0
    assert len(asked) == 2
    assert all("Answer 1:" in text for text in asked)


def test_another_model_into_the_same_folder_is_asked_itself(tmp_path, make_dataset):
    def judge(messages: Any) -> Any:
        return MET

    one, two = PythonModel(judge, "one"), PythonModel(judge, "two")
    rubricate.grade(make_dataset(2), one, run_dir=tmp_path / "run")
    result = rubricate.grade(make_dataset(2), [one, two], run_dir=tmp_path / "run")
    assert (result.calls, result.resumed) == (4, 4)


def test_results_of_another_dataset_judge_or_rubric_are_not_replaced(tmp_path, make_dataset):
    def model(name: str) -> PythonModel:
        def judge(messages: Any) -> Any:
            asked.append(name)
            return MET

        return PythonModel(judge, name)

    def unnamed(*texts: str, **criteria: str) -> RubricDataset:
        asks = criteria or {"speed": "Gives a speed"}
        rubric = Rubric([Criterion(name=name, requirement=text) for name, text in asks.items()])
        return RubricDataset("How fast?", rubric, [DataItem(text) for text in texts])

    asked: list[str] = []
    kept: Any = {"run_dir": tmp_path / "run"}
    rubricate.grade(unnamed("one", "two"), model("a"), **kept)
    before = (tmp_path / "run/results.jsonl").read_bytes()
    asked.clear()
    for dataset, name, differs in (
        (unnamed("three"), "a", "dataset"),
        (unnamed("one", "two"), "b", "judge"),
        (unnamed("one", "two", place="Names a place"), "a", "rubric"),
        (unnamed("three", place="Names a place"), "b", "dataset, judge, rubric"),
    ):
        with pytest.raises(InputError, match=f"a run that differs in {differs}: choose another"):
            rubricate.grade(dataset, model(name), **kept)
    assert (tmp_path / "run/results.jsonl").read_bytes() == before
    assert asked == []
    result = rubricate.grade(unnamed("zero", "two", "three"), model("a"), **kept)
    assert (result.calls, result.resumed) == (2, 1)
    result = rubricate.grade(unnamed("three"), model("b"), fresh=True, **kept)
    assert (result.calls, len(result.items)) == (1, 1)


def test_a_longer_dataset_asks_only_for_what_is_new(tmp_path, make_dataset, endpoint):
    options = {"base_url": endpoint.url, "run_dir": tmp_path / "run"}
    rubricate.grade(make_dataset(2), "m", **options)
    result = rubricate.grade(make_dataset(5), "m", **options)
    assert (result.calls, result.resumed, len(endpoint.requests)) == (6, 4, 10)


def test_criteria_that_go_together_are_one_request_and_what_is_known_is_not_asked(
    make_dataset, tmp_path
):
    def reply(messages: Any) -> dict[str, Any]:
        return {"1": MET, "2": MET}

    def judge() -> ModelJudge:
        return ModelJudge(PythonModel(reply, name="grouped"), Explained(criteria_per_call="all"))

    first = rubricate.grade(make_dataset(2), judge(), run_dir=tmp_path)
    assert (first.calls, first.usage.requests, first.failed) == (4, 2, 0)
    again = rubricate.grade(make_dataset(2), judge(), run_dir=tmp_path)
    assert (again.calls, again.resumed) == (0, 4)
    estimated = rubricate.estimate(make_dataset(3), judge(), run_dir=tmp_path)
    assert (estimated.known, estimated.requests) == (4, 1)
