"""Orders of the answers: balanced, drawn by a seed, recorded, and each with its own key."""

from __future__ import annotations

import asyncio
import json
import re
from collections import Counter
from typing import Any

import pytest

import rubricate
from rubricate import (
    Criterion,
    CriterionOption,
    InputError,
    MetricCriterion,
    Panel,
    PythonModel,
    Rubric,
    ScaleCriterion,
    Verdict,
)
from rubricate.dataset import Item
from rubricate.judge import Explained, Model, ModelJudge, Request
from rubricate.judge.asking._orders import answer_order
from rubricate.rubric import confidence

CASE = Item("A text", "A task")
BINARY = Criterion(name="b", requirement="x")
CHOICE = Criterion(
    name="c",
    requirement="y",
    options=tuple(CriterionOption(label=f"o{n}", value=n / 4) for n in range(4)),
    scale_type="nominal",
)


def labels_shown(messages: Any) -> list[str]:
    listed = messages[-1]["content"].rpartition("Possible verdicts:\n")[2]
    return re.findall(r"^- (\w+)", listed, re.MULTILINE)


def prefers_the_first(messages: Any) -> dict[str, Any]:
    """A judge that always takes what stands first."""
    return {"reason": "r", "evidence": [], "verdict": labels_shown(messages)[0]}


async def send(model: Model, request: Request) -> Any:
    return await model.complete(request)


@pytest.mark.parametrize("criterion", [BINARY, CHOICE, ScaleCriterion(name="s", requirement="z")])
def test_turns_show_every_answer_at_every_place_equally_often(criterion: Criterion) -> None:
    question = criterion.ask()
    count = len(question.answers)
    orders = [answer_order(question, CASE, turn, seed) for seed in (None, 7) for turn in range(6)]
    assert len(set(orders[:6])) == 6
    assert all(sorted(order) == list(range(count)) for order in orders)
    all_turns = [answer_order(question, CASE, turn) for turn in range(2 * count)]
    for place in range(count):
        assert set(Counter(order[place] for order in all_turns).values()) == {2}
    first, second = all_turns[:2]
    assert first == tuple(range(count))
    assert second == (*reversed(range(count - 1)), count - 1)  # CANNOT_ASSESS stays last


def test_a_seed_draws_another_order_for_each_item_and_criterion_and_keeps_it() -> None:
    def orders(seed: int) -> list[tuple[int, ...]]:
        cases = [Item(f"text {n}") for n in range(40)]
        return [
            answer_order(one.ask(), case, 0, seed) for case in cases for one in (BINARY, CHOICE)
        ]

    assert orders(1) == orders(1)
    assert orders(1) != orders(2)
    firsts = Counter(order[0] for order in orders(1)[::2])
    assert set(firsts) == {0, 1, 2}
    assert min(firsts.values()) > 5


def test_a_shuffled_order_is_shown_recorded_and_part_of_the_key() -> None:
    model = PythonModel(prefers_the_first)
    plain, shuffled, other = (ModelJudge(model, Explained(shuffle=seed)) for seed in (None, 1, 2))
    cases = [Item(f"text {n}") for n in range(8)]
    found = [asyncio.run(shuffled.judge(case, CHOICE, send)) for case in cases]
    for verdict in found:
        assert verdict.order is not None
        assert verdict.order["answers"][0] == (verdict.label or "CANNOT_ASSESS")
        assert sorted(verdict.order["answers"]) == ["CANNOT_ASSESS", "o0", "o1", "o2", "o3"]
    assert len({verdict.label for verdict in found}) > 2
    assert asyncio.run(plain.judge(CASE, CHOICE, send)).order is None
    keys = {judge.key(case, CHOICE) for judge in (plain, shuffled, other) for case in cases}
    assert len(keys) > 2 * len(cases)
    schema = shuffled.prompting.request(cases[0], CHOICE).schema["properties"]["verdict"]["enum"]
    assert schema == labels_shown(shuffled.prompting.request(cases[0], CHOICE).messages)


def test_the_prompt_before_the_criterion_is_the_same_bytes_in_every_order() -> None:
    judge = ModelJudge(PythonModel(prefers_the_first), Explained(shuffle=3))
    requests = [
        judge.in_turn(t).prompting.request(CASE, one) for t in range(6) for one in (BINARY, CHOICE)
    ]
    beginnings = {(request.messages[0]["content"], request.shared) for request in requests}
    assert len(beginnings) == 1
    assert all(request.messages[1]["content"].startswith(request.shared) for request in requests)


def test_permutations_vote_and_a_liking_for_the_first_place_cancels() -> None:
    rubric = Rubric([BINARY, CHOICE, ScaleCriterion(name="s", requirement="z")])
    one = rubricate.grade_one(rubric, "a", judge=prefers_the_first)
    assert (one.criteria["b"].label, one.criteria["s"].value) == ("MET", 0.0)
    two = rubricate.grade_one(rubric, "a", judge=prefers_the_first, permutations=2)
    votes = two.criteria["b"].votes
    assert [vote.label for vote in votes] == ["MET", "UNMET"]
    assert (two.criteria["b"].tied, two.criteria["b"].label) == (True, "UNMET")
    assert two.criteria["s"].value == 0.5
    assert [vote.order for vote in votes] == [
        None,
        {"answers": ["UNMET", "MET", "CANNOT_ASSESS"]},
    ]
    assert [vote.judge for vote in votes][1].endswith(", order 2")  # type: ignore[union-attr]
    six = rubricate.grade_one(rubric, "a", judge=prefers_the_first, permutations=6)
    assert Counter(vote.label for vote in six.criteria["b"].votes) == {
        "MET": 2,
        "UNMET": 2,
        "CANNOT_ASSESS": 2,
    }


METRIC = MetricCriterion(name="m", requirement="Names the cities", tp_instructions=("Rome",))


def reads(messages: Any) -> dict[str, Any]:
    """A judge that finds Rome, where it is asked for cities."""
    if "cities" not in messages[-1]["content"]:
        return prefers_the_first(messages)
    entry = {"item": "Rome", "classified": "positive", "quote": "Rome"}
    return {"reason": "r", "verdict": {"items": [entry], "others": []}}


def test_one_answer_is_one_vote_however_many_orders_are_asked_for() -> None:
    told: list[tuple[int, int]] = []
    dataset = rubricate.RubricDataset("", Rubric([METRIC, BINARY]))
    dataset.add_item("Rome")
    result = rubricate.grade(
        dataset,
        [PythonModel(reads, name="reads")],
        permutations=3,
        on_progress=lambda now: told.append((now.done, now.total)),
    )
    verdict, binary = (result.items[0].criteria[name] for name in "mb")
    assert (verdict.status, len(verdict.votes), len(binary.votes)) == ("judged", 1, 3)
    assert confidence(verdict) is None
    assert result.calls == 4
    assert told[-1] == (4, 4)
    assert rubricate.estimate(dataset, reads, permutations=3).verdicts == 4


def test_replicates_of_what_has_no_order_are_votes_of_their_own() -> None:
    rubric = Rubric([METRIC])
    verdict = rubricate.grade_one(
        rubric, "Rome", judge=reads, permutations=2, replicates=2
    ).criteria["m"]
    assert [vote.judge for vote in verdict.votes] == ["python/reads", "python/reads #2"]


def test_a_quorum_is_not_reached_by_one_answer_and_the_error_says_why() -> None:
    item = rubricate.grade_one(
        Rubric([METRIC, BINARY]), "Rome", judge=reads, permutations=3, min_votes=3
    )
    error = item.criteria["m"].error
    assert item.criteria["b"].status == "judged"
    assert error is not None
    assert error.kind == "quorum"
    assert "1 of 1 votes decide, 3 needed; its answers have no order" in error.message


def test_one_answer_to_several_orders_goes_on_to_the_next_stage() -> None:
    strong = PythonModel(reads, name="strong")
    stages = [rubricate.Panel([reads], permutations=3), strong]
    verdict = rubricate.grade_one(
        Rubric([METRIC]), "Rome", judge=rubricate.Cascade(stages, 0.9)
    ).criteria["m"]
    assert verdict.stage == 2
    assert [vote.judge for vote in verdict.votes] == ["python/reads", "strong"]


def test_weights_are_learnt_where_a_judge_has_no_vote_of_its_own() -> None:
    judges = [PythonModel(reads, name="one"), PythonModel(reads, name="two")]
    dataset = rubricate.RubricDataset("", Rubric([BINARY, METRIC]))
    for text in ("Rome", "Rome again", "Rome and Paris"):
        dataset.add_item(text)
    result = rubricate.grade(dataset, judges, permutations=2, weights="reliability")
    assert [len(item.criteria["b"].votes) for item in result] == [4, 4, 4]
    assert [len(item.criteria["m"].votes) for item in result] == [2, 2, 2]


def test_permutations_of_several_criteria_in_one_call_vote_as_well(endpoint: Any) -> None:
    rubric = Rubric([BINARY, CHOICE])
    options: Any = {"base_url": endpoint.url, "criteria_per_call": "all", "permutations": 2}
    item = rubricate.grade_one(rubric, "a", judge="m", **options)
    assert [len(verdict.votes) for verdict in item.criteria.values()] == [2, 2]
    shown = [[part.labels for part in request.criteria] for request in endpoint.requests]
    assert shown[0] == [
        ("MET", "UNMET", "CANNOT_ASSESS"),
        ("o0", "o1", "o2", "o3", "CANNOT_ASSESS"),
    ]
    assert shown[1] == [
        ("UNMET", "MET", "CANNOT_ASSESS"),
        ("o3", "o2", "o1", "o0", "CANNOT_ASSESS"),
    ]


def test_more_permutations_ask_only_for_the_new_ones(tmp_path: Any) -> None:
    asked: list[Any] = []

    def counted(messages: Any) -> dict[str, Any]:
        asked.append(messages)
        return prefers_the_first(messages)

    judge = PythonModel(counted, name="counted")
    dataset = rubricate.RubricDataset("t", Rubric([BINARY, CHOICE]), name="d")
    dataset.add_item("a", "a")
    for permutations, calls in ((None, 2), (2, 4), (3, 6), (3, 6)):
        rubricate.grade(dataset, judge, permutations=permutations, run_dir=tmp_path / "run")
        assert len(asked) == calls


def test_criteria_of_one_call_are_shuffled_and_each_gets_its_own_answer() -> None:
    criteria = [Criterion(name=f"c{n}", requirement=f"requirement {n}") for n in range(6)]
    prompts: list[str] = []

    def answer(messages: Any) -> str:
        text = messages[-1]["content"]
        prompts.append(text)
        numbers = re.findall(r"^requirement (\d)$", text, re.MULTILINE)
        entry = {
            str(place): {
                "reason": f"about {number}",
                "evidence": [],
                "verdict": "MET" if int(number) % 2 else "UNMET",
            }
            for place, number in enumerate(numbers, start=1)
        }
        return json.dumps(entry)

    def judged(seed: int | None) -> list[Verdict]:
        judge = ModelJudge(PythonModel(answer), Explained(shuffle=seed, criteria_per_call="all"))
        keys = judge.keys(CASE, criteria)
        assert len(set(keys)) == 6
        return asyncio.run(judge.judge_group(CASE, criteria, send))

    plain, shuffled = judged(None), judged(4)
    assert [v.label for v in plain] == [v.label for v in shuffled] == ["UNMET", "MET"] * 3
    assert [v.reason for v in shuffled] == [f"about {n}" for n in range(6)]
    order = shuffled[0].order["criteria"]  # type: ignore[index]
    assert order != [c.name for c in criteria]
    assert re.findall(r"^requirement (\d)$", prompts[1], re.MULTILINE) == [n[1] for n in order]
    assert plain[0].order is None
    one, other = (
        ModelJudge(PythonModel(answer), Explained(shuffle=seed, criteria_per_call="all"))
        for seed in (4, None)
    )
    assert not set(one.keys(CASE, criteria)) & set(other.keys(CASE, criteria))


@pytest.mark.parametrize(
    ("judge", "options", "message"),
    [
        (prefers_the_first, {"permutations": 0}, "at least 1, found 0"),
        (prefers_the_first, {"permutations": 7}, "a number from 1 to 6, found 7"),
        (None, {"permutations": 2}, "permutations are for a language model; builtin is none"),
        (None, {"shuffle": 1}, "shuffle is for language models; builtin is none"),
        (Panel(["builtin"]), {"shuffle": 1}, "shuffle is for judges that are listed"),
    ],
)
def test_orders_that_cannot_be_are_refused(judge: Any, options: Any, message: str) -> None:
    with pytest.raises(InputError, match=re.escape(message)):
        rubricate.grade_one(Rubric([BINARY]), "a", judge=judge, **options)
