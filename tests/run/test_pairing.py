"""Pairs of two datasets: paired as they should be, one after the other, and none is held."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Iterator
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

import rubricate
from rubricate import (
    Criterion,
    DataItem,
    InputError,
    PythonModel,
    Rubric,
    RubricDataset,
    RunStopped,
)
from rubricate.analysis import PairReport
from rubricate.choosing import chosen_dataset
from rubricate.dataset import Item, Survey
from rubricate.pairing import pairs_of
from rubricate.testing import Rule, ScriptedEndpoint

RUBRIC = Rubric([Criterion(name="speed", requirement="Gives roughly 300000 kilometres")])
NAMES = [f"n{number}" for number in range(12)]


def equal(messages: Any) -> dict[str, str]:
    return {"reason": "r", "verdict": "EQUAL"}


JUDGE = PythonModel(equal, name="one")


def side(what: str, names: list[str]) -> RubricDataset:
    items = [DataItem(f"{what} {name}", id=name) for name in names]
    return RubricDataset("p", RUBRIC, items)


def paired(items: Iterator[Item]) -> list[tuple[str, str]]:
    """What is shown first and second in each item."""
    return [(item.submission, item.data.metadata["second"]) for item in items]


@given(st.permutations(NAMES), st.integers(1, len(NAMES)))
def test_pairs_have_the_order_of_the_first_whatever_that_of_the_second(names, limit):
    pairs = pairs_of(side("old", NAMES), side("new", names))
    both = [(f"old {name}", f"new {name}") for name in NAMES]
    expected = [shown for old, new in both for shown in ((old, new), (new, old))]
    assert paired(pairs.to_grade()) == expected
    assert pairs.survey().items == 2 * len(NAMES)
    limited = pairs_of(side("old", NAMES), side("new", names), limit=limit)
    assert paired(limited.to_grade()) == expected[: 2 * limit]


def test_items_that_only_one_side_has_are_named_whichever_it_is():
    for one, other in ((NAMES[:9], NAMES), (NAMES, NAMES[:9])):
        with pytest.raises(InputError, match="'n9', 'n10', 'n11'; the two of a pair need the same"):
            pairs_of(side("old", one), side("new", other)).survey()
    with pytest.raises(InputError, match=r"'n4' and 8 more"):
        pairs_of(side("old", NAMES), side("new", ["x"])).survey()
    with pytest.raises(InputError, match="nothing to compare"):
        pairs_of(side("old", NAMES), side("new", [])).survey()
    some = pairs_of(side("old", NAMES), side("new", NAMES[:3]), limit=3)
    assert some.survey().items == 6


def test_what_is_no_dataset_is_one_clear_error():
    with pytest.raises(InputError, match="row 1: expected a dictionary"):
        rubricate.compare_pair(["a"], ["b"], judge=JUDGE)  # type: ignore[arg-type]
    with pytest.raises(TypeError, match="'jugde'; did you mean 'judge'"):
        rubricate.compare_pair("a", "b", rubric=RUBRIC, jugde=JUDGE)  # type: ignore[call-arg]


class Counted:
    """Items that exist only while they are judged, and how many were given to a run."""

    name = "counted"

    def __init__(self, what: str, count: int) -> None:
        self.given = 0
        self._what = what
        self._count = count

    def survey(self, limit: int | None = None) -> Survey:
        count = self._count if limit is None else min(limit, self._count)
        return Survey(count, count, count, RUBRIC)

    def to_grade(self, limit: int | None = None) -> Iterator[Item]:
        for number in range(self.survey(limit).items):
            self.given += 1
            item = DataItem(f"{self._what} {number}", id=str(number))
            yield Item.of(item, RUBRIC, id=item.id, prompt="p", reference=None)


def test_pairs_come_as_they_get_done_and_are_read_as_they_are_needed():
    async def main() -> tuple[int, int]:
        sides = Counted("old", 300), Counted("new", 300)
        async with rubricate.acompare_pair_stream(*sides, judge=JUDGE, concurrency=2) as stream:
            checked = sides[0].given
            await anext(stream)
            read = sides[0].given - checked
            return read, len([pair async for pair in stream])

    read, rest = asyncio.run(main())
    assert read <= 64 + 2 + 2
    assert rest == 299


def test_streamed_pairs_and_figures_are_those_of_the_report(tmp_path):
    def respond(request: Any) -> Rule:
        if "n3" in (request.submission or ""):
            return Rule(reply="no JSON")
        return Rule(verdict="FIRST" if "old" in (request.submission or "") else "SECOND")

    async def main(options: Any) -> tuple[list[Any], Any]:
        async with rubricate.acompare_pair_stream(*sides, **options) as stream:
            pairs = [pair async for pair in stream]
        return pairs, stream.summary()

    sides = side("old", NAMES), side("new", NAMES[::-1])
    with ScriptedEndpoint(respond=respond) as endpoint:
        folder = tmp_path / "run"
        options: Any = {"judge": "m", "base_url": endpoint.url, "run_dir": folder}
        pairs, figures = asyncio.run(main(options))
        report = rubricate.compare_pair(*sides, **{**options, "run_dir": None})
    assert sorted(pairs, key=lambda pair: pair.index) == report.results
    assert [pair.id for pair in report.results] == NAMES
    same = {"run_dir": None, "usage": report.usage}  # but for the seconds
    assert PairReport.of(figures, pairs).model_copy(update=same) == report
    lines = (folder / "pairs.jsonl").read_text().splitlines()
    assert list(map(json.loads, lines)) == report.model_dump(mode="json")["results"]
    assert (report.overall.first, report.failed, report.not_run) == (11, 2, 0)
    assert report.errors == {"unreadable_reply": 2}


def test_a_comparison_that_ends_early_has_what_was_judged_in_its_error_and_folder(tmp_path):
    asked: list[int] = []

    async def main() -> RunStopped:
        stop = asyncio.Event()

        def judge(messages: Any) -> dict[str, str]:
            asked.append(1)
            if len(asked) == 5:
                stop.set()
            return equal(messages)

        with pytest.raises(RunStopped) as caught:
            await rubricate.acompare_pair(
                *(side("old", NAMES), side("new", NAMES)),
                **{"judge": PythonModel(judge, "one"), "stop": stop, "concurrency": 1},
                run_dir=tmp_path,
            )
        return caught.value

    stopped = asyncio.run(main())
    report = stopped.report
    assert stopped.interrupted
    assert isinstance(report, PairReport)
    assert (report.stopped, report.pairs, report.usage.calls) == ("interrupted", 12, len(asked))
    assert (report.failed, report.not_run) == (0, 24 - len(asked))
    assert (report.overall.tie, report.overall.not_run) == (len(asked) // 2, 12 - len(asked) // 2)
    assert report.first_error is None
    assert "Stopped early: interrupted" in str(report)
    lines = (tmp_path / "pairs.jsonl").read_text().splitlines()
    assert [json.loads(line)["id"] for line in lines] == NAMES
    whole = rubricate.compare_pair(
        side("old", NAMES), side("new", NAMES), judge=JUDGE, run_dir=tmp_path
    )
    assert (whole.stopped, whole.overall.tie) == (None, 12)


def test_a_comparison_that_nobody_follows_to_its_end_leaves_its_pairs(tmp_path):
    (tmp_path / "pairs.jsonl").write_text("of an earlier run")
    stream = rubricate.compare_pair_stream(
        side("old", NAMES), side("new", NAMES), judge=JUDGE, run_dir=tmp_path, concurrency=1
    )
    next(stream)
    assert not (tmp_path / "pairs.jsonl").exists()
    stream.close()  # type: ignore[attr-defined]
    lines = (tmp_path / "pairs.jsonl").read_text().splitlines()
    assert [json.loads(line)["id"] for line in lines] == NAMES


def test_nothing_is_written_for_what_cannot_be_compared(tmp_path):
    with pytest.raises(InputError, match="only one"):
        rubricate.compare_pair(
            side("old", NAMES), side("new", ["x"]), judge=JUDGE, run_dir=tmp_path / "run"
        )
    assert not (tmp_path / "run").exists()


def test_the_table_keeps_its_columns_with_many_pairs_and_long_names():
    asks = "Gives roughly 300000 kilometres, says of what, and where the figure comes from " * 2
    rubric = Rubric(
        [Criterion(name="speed", requirement="r"), Criterion(name=asks, requirement=asks)]
    )
    report = rubricate.compare_pair("a", "b", rubric=rubric, judge=JUDGE)
    many = report.overall.model_copy(update={"tie": 1_000_000, "disagreed": 1_000_000})
    lines = str(report.model_copy(update={"overall": many})).splitlines()
    assert max(map(len, lines)) <= 100
    figures = [line.split() for line in lines if line.endswith("–")]
    assert [row[-7:-1] for row in figures[:2]] == [["0", "0", "1", "0", "0", "0"]] * 2
    assert figures[2] == ["all", "0", "0", "1000000", "1000000", "0", "0", "–"]


def first_that_is_good(request: Any) -> Rule:
    """Names the submission with the word excellent; without one, what is shown first."""
    text = request.body["messages"][-1]["content"]
    at = [text.rfind(word) for word in ("excellent", "mediocre")]
    return Rule(verdict="FIRST" if -1 in at or at[0] < at[1] else "SECOND")


def test_outcomes_are_compared_with_what_people_call_better(tmp_path):
    rows = [
        ("excellent", "mediocre", "A>B"),  # right
        ("mediocre", "excellent", "B>A"),  # right
        ("excellent", "mediocre", "model_b"),  # wrong in both orders
        ("same", "same", "first"),  # the order decides, so that it is wrong
    ]
    sides = [
        RubricDataset(
            "p",
            RUBRIC,
            [
                DataItem(row[side], id=str(n), metadata={"label": row[2]})
                for n, row in enumerate(rows)
            ],
        )
        for side in (0, 1)
    ]
    with ScriptedEndpoint(respond=first_that_is_good) as endpoint:
        told = {"judge": "m", "base_url": endpoint.url, "run_dir": tmp_path / "run"}
        report = rubricate.compare_pair(*sides, better="label", **told)
        assert report.labels is not None
        assert (report.labels.n, report.labels.right, report.labels.accuracy) == (4, 2, 0.5)
        assert "2 of 4 pairs, the same in both orders" in " ".join(str(report).split())
        assert [pair.label for pair in report.results] == ["first", "second", "second", "first"]
        lines = (tmp_path / "run/pairs.jsonl").read_text("utf-8").splitlines()
        assert [json.loads(line)["label"] for line in lines] == [p.label for p in report.results]
        asked = len(endpoint.requests)
        chosen = rubricate.compare_pair(*sides, better="first", **told)
        assert chosen.labels is not None
        assert (chosen.labels.right, len(endpoint.requests)) == (2, asked)
    assert rubricate.compare_pair(*sides, judge=JUDGE).labels is None
    with pytest.raises(InputError, match="'id' says which is better: found"):
        rubricate.compare_pair(*sides, better="id", judge=JUDGE)


@pytest.mark.parametrize("frame", [False, True])
def test_the_chosen_answer_has_to_beat_every_one_that_was_rejected(tmp_path, frame):
    rows = [
        {
            "id": "a",
            "chosen": ["excellent"],
            "rejected": ["mediocre 1", "mediocre 2", "mediocre 3"],
        },
        {"id": "b", "chosen": ["excellent"], "rejected": ["mediocre", "excellent too"]},
        {
            "id": "ties",
            "chosen": ["excellent", "excellent 2"],
            "rejected": ["mediocre", "mediocre 2"],
        },
    ]
    rows = [{**row, "prompt": "p"} for row in rows]
    data: Any = tmp_path / "data.jsonl"
    data.write_text("".join(json.dumps(row) + "\n" for row in rows), "utf-8")
    if frame:
        pandas = pytest.importorskip("pandas")
        pandas.DataFrame(rows).to_parquet(tmp_path / "data.parquet")
        data = pandas.read_parquet(tmp_path / "data.parquet")  # has arrays in place of lists
    sides = [
        chosen_dataset(data, RUBRIC, {"submission": column, "id": "id"})
        for column in ("chosen", "rejected")
    ]
    with ScriptedEndpoint(respond=first_that_is_good) as endpoint:
        report = rubricate.compare_pair(*sides, better="first", judge="m", base_url=endpoint.url)
    assert [pair.id for pair in report.results] == [
        *("a/1", "a/2", "a/3", "b/1", "b/2", "ties/1", "ties/2", "ties/3", "ties/4")
    ]
    assert "mediocre 3" not in json.dumps(endpoint.requests[0].body)
    assert report.labels is not None
    assert (report.labels.n, report.labels.right, report.labels.left_out) == (3, 2, 0)
    assert report.overall.first == 8
    assert "2 of 3 tasks" in str(report)
    with pytest.raises(InputError, match="the list is empty"):
        chosen_dataset([{"prompt": "p", "rejected": []}], RUBRIC, {"submission": "rejected"})
