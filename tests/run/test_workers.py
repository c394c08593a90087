"""Workers: blocks are judged elsewhere, and the run is as if one process had judged them.

Here the workers are in this process; `test_workers_on_ray.py` has real ones.
"""

from __future__ import annotations

import asyncio
import json
import logging
import sqlite3
import threading
from collections import Counter
from contextlib import closing, nullcontext
from dataclasses import fields, replace
from pathlib import Path
from typing import Any

import pytest

import rubricate
from rubricate import Criterion, Group, InputError, Rubric, RubricDataset, RunStopped
from rubricate.dataset import Item
from rubricate.errors import JournalError, MissingExtraError
from rubricate.judge import Endpoint, Judge, named_judge
from rubricate.options import GradingOptions
from rubricate.run import Progress
from rubricate.run.journal import open_journal, to_json
from rubricate.run.workers import _driving, _ray, _worker
from rubricate.run.workers._blocks import Blocks, Numbered, block_size
from rubricate.run.workers._options import Fleet, resources_of
from rubricate.run.workers._ray import usable_cores
from rubricate.run.workers._worker import Job, Report, State, Worker, WorkerDied
from rubricate.settings import options_of
from rubricate.testing import Rule, ScriptedEndpoint

# A worker that dies closes nothing, of which Python 3.13 warns.
pytestmark = pytest.mark.filterwarnings("ignore:unclosed database:ResourceWarning")

POISON = "poison"
TWENTY = [f"text {n}" for n in range(20)]


class LocalMember:
    """A worker in this process; it dies of items that have the word in their text.

    The first to be given an item that is in `freezing` answers nothing more until it is ended.
    """

    begun = 0
    freezing = ""

    def __init__(self, job: Job, deadly: str) -> None:
        self._job = job
        self._deadly = deadly
        self._worker: Worker | None = None
        self._under_way: set[asyncio.Task[Report]] = set()
        self._frozen: asyncio.Event | None = None

    async def ready(self) -> None:
        if self._worker is None:
            LocalMember.begun += 1
            self._worker = Worker(self._job)

    async def grade(self, items: list[Item]) -> Report:
        if self._worker is None:
            raise WorkerDied("it is dead")
        if LocalMember.freezing and any(LocalMember.freezing in one.submission for one in items):
            LocalMember.freezing = ""
            await asyncio.sleep(0.05)  # it has answered before
            self._frozen = asyncio.Event()
        await self._answering()
        task = asyncio.ensure_future(self._worker.grade(items))
        self._under_way.add(task)
        if any(self._deadly in one.submission for one in items):
            for one in self._under_way:
                one.cancel()
            self._worker = None
        try:
            return await task
        except asyncio.CancelledError:
            raise WorkerDied("killed") from None
        finally:
            self._under_way.discard(task)

    async def _answering(self) -> None:
        if self._frozen is not None:
            await self._frozen.wait()
            raise WorkerDied("it was ended")

    async def state(self) -> State:
        await self._answering()
        if self._worker is None:
            raise WorkerDied("it is dead")
        return self._worker.state()

    async def stop(self) -> None:
        await self._answering()
        if self._worker is not None:
            self._worker.stop()

    def end(self, cause: str) -> None:
        assert cause.startswith("no sign of life for")
        assert self._frozen is not None
        self._frozen.set()
        self._frozen = self._worker = None


class LocalCrew:
    """Workers in this process, in place of those on Ray."""

    deadly = POISON

    def __init__(self, job: Job) -> None:
        count = Fleet.parse(job.options.workers or 1).count or 1
        self.members = [LocalMember(job, self.deadly) for _ in range(count)]

    async def __aenter__(self) -> LocalCrew:
        return self

    async def __aexit__(self, *error: object) -> None:
        for member in self.members:
            if member._worker is not None:
                await member._worker.aclose()


@pytest.fixture(autouse=True)
def _local(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(_ray, "Crew", LocalCrew)
    monkeypatch.setattr(LocalMember, "begun", 0)
    monkeypatch.setattr(LocalMember, "freezing", "")
    monkeypatch.setattr(_driving, "block_size", lambda items, workers: 4)
    monkeypatch.setattr(_worker, "find_spec", lambda name: object())
    # One that "dies" here leaves no process behind, and would never put it back.
    monkeypatch.setattr(_worker, "rarer_collections", nullcontext)


def dataset_of(texts: list[str]) -> RubricDataset:
    rubric = Rubric([Criterion(name=f"c{n}", requirement=f"Says c{n}") for n in range(2)])
    dataset = RubricDataset("p", rubric, name="d")
    for index, text in enumerate(texts):
        dataset.add_item(text, f"i{index}")
    return dataset


OF_THE_ENDPOINT = ("seconds", "cached_tokens", "saved_cached_tokens", "run_dir")


def plain(found: Any) -> Any:
    """JSON without what the endpoint's clock and cache make of it."""
    if isinstance(found, dict):
        return {name: plain(one) for name, one in found.items() if name not in OF_THE_ENDPOINT}
    return [plain(one) for one in found] if isinstance(found, list) else found


def lines(folder: Path) -> list[dict[str, Any]]:
    return [plain(json.loads(one)) for one in (folder / "results.jsonl").read_text().splitlines()]


def summary(folder: Path) -> Any:
    return plain(json.loads((folder / "summary.json").read_text()))


def plain_item(item: Any) -> Any:
    """All that a result says, but for the endpoint's clock and cache."""
    found = {one.name: getattr(item, one.name) for one in fields(item)}
    assert found.pop("rubric") is not None
    found["item"] = item.texts
    return plain(json.loads(to_json(found | {"scoring": str(found["scoring"])})))


def by_workers(
    texts: list[str], folder: Path, *rules: Rule, workers: int = 2, **options: Any
) -> tuple[rubricate.Result, ScriptedEndpoint]:
    """What workers make of items with these texts, and the endpoint that they asked."""
    with ScriptedEndpoint(rules) as endpoint:
        run = {"base_url": endpoint.url, "run_dir": folder, "workers": workers, **options}
        return rubricate.grade(dataset_of(texts), "m", **run), endpoint


def both(dataset: RubricDataset, tmp_path: Path, *rules: Rule, **options: Any) -> None:
    """Grade in this process, and by workers: verdicts, figures and requests are the same."""
    asked = []
    with ScriptedEndpoint(rules) as endpoint:
        for name, workers in (("one", None), ("many", 2)):
            endpoint.requests.clear()
            run = {"base_url": endpoint.url, "run_dir": tmp_path / name, **options}
            rubricate.grade(dataset, "m", workers=workers, **run)
            asked.append(Counter((one.submission, one.criterion) for one in endpoint.requests))
    assert lines(tmp_path / "many") == lines(tmp_path / "one")
    assert summary(tmp_path / "many") == summary(tmp_path / "one")
    assert asked[0] == asked[1]


def test_a_run_by_workers_says_what_one_process_says(tmp_path):
    unmet = Rule(submission="text 3", criterion="c1", verdict="UNMET")
    both(dataset_of([f"text {n}" for n in range(30)]), tmp_path, unmet)
    assert LocalMember.begun == 2


@pytest.mark.parametrize("has_a_past", [False, True])
def test_a_driver_makes_no_keys_and_looks_up_nothing(tmp_path, has_a_past):
    """It takes a fraction of what workers do, however many there are."""
    made: Counter[str] = Counter()

    class Constant(Judge):
        name = "constant"

        def key(self, item, criterion):
            made[f"{item.submission} {criterion.name}"] += 1
            return f"constant {item.submission} {criterion.name}"

        async def judge(self, item, criterion, send):
            return rubricate.Verdict(criterion.name, "judged", "MET", 1.0)

    dataset = dataset_of([f"text {n}" for n in range(20)])
    run = {"run_dir": tmp_path, "workers": 2}
    if has_a_past:
        rubricate.grade(dataset, Constant(), limit=6, **run)
        made.clear()
    result = rubricate.grade(dataset, Constant(), **run)
    assert (result.calls, result.resumed) == ((28, 12) if has_a_past else (40, 0))
    counts = [made[f"text {n} c{m}"] for n in range(20) for m in range(2)]
    both = 2 * 4 if has_a_past else 0  # it looks for the first block that is not known
    assert sum(counts) == 40 + both
    assert min(counts) == 1


def test_equal_items_are_asked_about_once_wherever_they_stand(tmp_path):
    texts = ["a", "b", "a", "c", "d", "e", "f", "g", "a", "b", "h", "h", "c", "a"]
    result, endpoint = by_workers(texts, tmp_path, workers=3)
    assert len(endpoint.requests) == 2 * len({*texts})
    assert len(result.items) == len(texts)
    assert result.usage.requests == len(endpoint.requests)


def test_failures_are_those_of_one_process(tmp_path):
    # Each process learns by itself that a form of replies does not work.
    form = {"structured": "schema"}
    dataset = dataset_of([f"text {n}" for n in range(9)])
    both(dataset, tmp_path, Rule(criterion="c1", reply="?"), **form)


def test_panels_cascades_and_gates_go_through_workers(tmp_path):
    rubric = Rubric(
        [
            Criterion(name="first", requirement="Says first"),
            Criterion(name="second", requirement="Says second", requires="first"),
        ]
    )
    dataset = RubricDataset("p", rubric, name="d")
    for index in range(10):
        dataset.add_item(f"text {index}", f"i{index}")
    unmet = Rule(submission="text 4", criterion="first", verdict="UNMET")
    both(dataset, tmp_path, unmet, replicates=3)


@pytest.mark.parametrize("by", ["tags", ()])
@pytest.mark.parametrize(
    ("judge", "options"),
    [
        ("m", {}),
        (["m", "k", "l"], {}),
        (["m", "k", "l"], {"weights": "reliability"}),
        ("m", {"replicates": 3}),
    ],
    ids=["one", "panel", "learnt", "replicates"],
)
def test_labels_tags_trees_and_panels_have_the_results_of_one_process(tmp_path, judge, options, by):
    parts = [Criterion(name=f"p{n}", requirement=f"Says p{n}", tags=(f"t{n}",)) for n in range(2)]
    whole = Criterion(name="whole", weight=2.0, requirement="Says it all")
    dataset = RubricDataset("p", Rubric([whole, Group(name="parts", criteria=parts)]), name="d")
    for n in range(14):
        labels = ["MET", "UNMET", "MET"] if n % 3 else None
        metadata = {"model": "k", "n": n, "long": "x" * 999, "tags": [f"i{n % 2}"]}
        dataset.add_item(f"text {n}", f"i{n}", labels, metadata=metadata)
    unmet = [Rule(submission="text 4", verdict="UNMET")]
    found: list[list[Any]] = []
    with ScriptedEndpoint(unmet) as endpoint:
        for name, workers in (("one", None), ("many", 2)):
            run = {"base_url": endpoint.url, "run_dir": tmp_path / name, "workers": workers}
            result = rubricate.grade(dataset, judge, by=by, cache=None, **run, **options)
            found.append([plain_item(item) for item in result])
    assert found[0] == found[1]
    assert lines(tmp_path / "many") == lines(tmp_path / "one")
    assert summary(tmp_path / "many") == summary(tmp_path / "one")


def test_an_earlier_run_is_gone_on_with_and_what_failed_is_asked_again(tmp_path):
    dataset = dataset_of([f"text {n}" for n in range(12)])
    bad = Rule(submission="text 5", reply="?")
    with ScriptedEndpoint([bad]) as endpoint:
        run = {"base_url": endpoint.url, "run_dir": tmp_path}
        rubricate.grade(dataset, "m", limit=8, **run)
        endpoint.requests.clear()
        endpoint._rules.clear()
        result = rubricate.grade(dataset, "m", workers=2, **run)
        asked = {one.submission for one in endpoint.requests}
        assert asked == {"text 5", *(f"text {n}" for n in range(8, 12))}
        assert (result.resumed, result.calls) == (14, 10)
        LocalMember.begun = 0
        again = rubricate.grade(dataset, "m", workers=2, **run)
    assert again.resumed == 24
    assert LocalMember.begun == 0  # nothing was left for them


def test_an_item_of_which_every_worker_dies_is_failed_and_no_other(tmp_path):
    texts = [f"text {n}" for n in range(20)]
    texts[7] = f"a {POISON}"
    result, _ = by_workers(texts, tmp_path)
    failed = [one.id for one in result if any(v.status == "failed" for v in one.criteria.values())]
    assert failed == [result.items[7].id]
    error = result.items[7].criteria["c0"].error
    assert error is not None
    assert error.kind == "worker"
    assert "every worker that judged this item died: killed" in error.message


@pytest.mark.parametrize("workers", [1, 3])
def test_a_worker_without_a_sign_of_life_is_ended_and_its_blocks_are_judged(
    tmp_path, monkeypatch, workers
):
    monkeypatch.setattr(_driving, "TICK", 0.01)
    monkeypatch.setattr(_driving, "SILENCE", 0.1)
    monkeypatch.setattr(LocalMember, "freezing", "text 7")
    lost = []
    options: Any = {"on_progress": lambda now: lost.append(now.workers_lost)}
    result, _ = by_workers(TWENTY, tmp_path, workers=workers, **options)
    assert (result.calls, result.failed, lost[-1]) == (40, 0, 1)
    assert LocalMember.begun == workers + 1


def test_a_listener_that_raises_between_results_ends_a_run_by_workers(tmp_path, monkeypatch):
    """Else nobody would ask workers how they are any more, and they would cut off each block."""
    monkeypatch.setattr(_driving, "TICK", 0.01)

    def raises(now: Any) -> None:
        if now.workers and now.in_flight:
            raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        by_workers(["text"], tmp_path, Rule(delay=3600), workers=1, on_progress=raises)


@pytest.mark.parametrize("times", [3, 99])
def test_blocks_that_a_silent_driver_has_cut_are_handed_out_again_but_not_for_ever(
    tmp_path, monkeypatch, times
):
    async def grade(self: LocalMember, items: list[Item]) -> Report:
        report = await judge(self, items)
        cut.append(any("text 7" in one.submission for one in items))
        return replace(report, is_cut=cut[-1] and sum(cut) <= times)

    cut: list[bool] = []
    judge = LocalMember.grade
    monkeypatch.setattr(LocalMember, "grade", grade)
    result, endpoint = by_workers(TWENTY, tmp_path)
    assert len(endpoint.requests) == 40
    assert not result.failed
    assert sum(cut) == min(times, 10) + 1


def test_a_run_that_is_stopped_waits_for_no_silent_worker(tmp_path, monkeypatch):
    monkeypatch.setattr(_driving, "TICK", 0.01)
    monkeypatch.setattr(LocalMember, "freezing", "text")

    async def stopped() -> None:
        stop, loop = asyncio.Event(), asyncio.get_running_loop()
        loop.call_later(0.5, stop.set)
        run = {"base_url": "http://127.0.0.1:9/v1", "run_dir": tmp_path, "workers": 1}
        with pytest.raises(RunStopped) as error:
            await rubricate.agrade(dataset_of(["text"]), "m", stop=stop, **run)
        assert error.value.interrupted

    monkeypatch.setattr(_driving, "PATIENCE", 3600.0)
    asyncio.run(asyncio.wait_for(stopped(), 60))


def test_a_journal_waits_until_a_worker_that_is_frozen_in_a_commit_is_ended(tmp_path):
    with closing(open_journal(tmp_path / "journal.sqlite", access="driver")) as journal:
        (milliseconds,) = journal._database.execute("PRAGMA busy_timeout").fetchone()
    assert milliseconds / 1000 > _worker.SILENCE + 7  # Ray takes 5 s to kill it, and is asked late


def test_a_worker_whose_driver_is_silent_sends_nothing_more(tmp_path, monkeypatch):
    monkeypatch.setattr(_worker, "LOOK", 0.01)
    options: Any = GradingOptions(concurrency=2)
    items = [*dataset_of([f"text {n}" for n in range(9)]).to_grade()]

    async def judged() -> tuple[Report, int]:
        worker = Worker(Job(judge, options, tmp_path / "journal.sqlite"))
        grading = asyncio.ensure_future(worker.grade(items))
        while len(endpoint.requests) < 2:  # noqa: ASYNC110 (the endpoint tells no event)
            await asyncio.sleep(0.01)
        monkeypatch.setattr(_worker, "SILENCE", 0.0)
        before = len(endpoint.requests)
        worker.state()  # the driver is there again, and may have given the items to others
        report = await grading
        await worker.aclose()
        return report, len(endpoint.requests) - before

    with ScriptedEndpoint([Rule(delay=0.2)]) as endpoint:
        judge = named_judge("m", Endpoint(base_url=endpoint.url))
        with closing(open_journal(tmp_path / "journal.sqlite", access="driver")):
            report, more = asyncio.run(judged())
    assert (report.is_cut, report.stopped) == (True, None)
    assert more <= 2  # those that were on their way


def test_a_journal_that_has_lost_the_answers_of_a_block_fails_none_of_them(tmp_path, monkeypatch):
    """As where a database goes on from a copy that lags behind."""

    async def grade(self: LocalMember, items: list[Item]) -> Report:
        report = await judge(self, items)
        if any("text 7" in one.submission for one in items) and not lost:
            with sqlite3.connect(tmp_path / "journal.sqlite") as journal:
                lost.append(journal.execute("DELETE FROM records").rowcount)
        return report

    lost: list[int] = []
    judge = LocalMember.grade
    monkeypatch.setattr(LocalMember, "grade", grade)
    result, _ = by_workers(TWENTY, tmp_path)
    assert lost[0] >= 8
    assert not result.failed


@pytest.mark.parametrize(
    ("error", "told"),
    [
        (JournalError("postgresql://h/d: connection refused"), "postgresql://h/d: connection refu"),
        (TypeError("two\nlines"), "what a worker needs cannot be opened: TypeError: two lines"),
    ],
)
def test_a_worker_that_cannot_begin_is_told_of_and_the_others_go_on(
    tmp_path, monkeypatch, caplog, error, told
):
    async def ready(self: LocalMember) -> None:
        if self._worker is None and LocalMember.begun:
            raise error
        await begin(self)

    begin = LocalMember.ready
    monkeypatch.setattr(LocalMember, "ready", ready)
    result, _ = by_workers(TWENTY, tmp_path / "one")
    assert (result.calls, result.failed) == (40, 0)
    assert f"a worker cannot work: {told}" in caplog.text
    LocalMember.begun = 0
    with pytest.raises((InputError, JournalError)) as raised:  # the only one dies
        by_workers([*TWENTY[:18], POISON, TWENTY[19]], tmp_path / "none")
    assert str(raised.value).startswith(told)
    assert len(str(raised.value).splitlines()) == 1
    judged = sum(row["status"] == "judged" for row in lines(tmp_path / "none"))
    assert judged >= 16  # all but three blocks


def test_workers_without_room_are_told_of_and_the_others_go_on(tmp_path, monkeypatch, caplog):
    async def ready(self: LocalMember) -> None:
        if LocalMember.begun:
            await asyncio.Event().wait()
        await begin(self)

    async def grade(self: LocalMember, items: list[Item]) -> Report:
        while "have not started yet" not in caplog.text:  # noqa: ASYNC110 (logging tells no event)
            await asyncio.sleep(0.01)
        return await judge(self, items)

    begin, judge = LocalMember.ready, LocalMember.grade
    monkeypatch.setattr(LocalMember, "ready", ready)
    monkeypatch.setattr(LocalMember, "grade", grade)
    monkeypatch.setattr(_driving, "ROOM", 0.1)
    result, _ = by_workers(TWENTY, tmp_path, workers=3)
    assert (result.calls, result.failed) == (40, 0)
    assert "2 of 3 workers have not started yet" in caplog.text
    assert caplog.text.count("have not started yet") == 1


def test_a_run_that_ends_while_a_worker_is_started_again_leaves_nothing_behind(
    tmp_path, monkeypatch, caplog
):
    waiting: list[asyncio.Task[Any] | None] = []

    async def ready(self: LocalMember) -> None:
        if LocalMember.begun:
            waiting.append(asyncio.current_task())
            await asyncio.sleep(60)
        await begin(self)

    async def leave(self: LocalCrew, *error: object) -> None:
        left.extend(one for one in waiting if one is not None and not one.done())

    left: list[asyncio.Task[Any]] = []
    begin = LocalMember.ready
    monkeypatch.setattr(LocalMember, "ready", ready)
    monkeypatch.setattr(LocalCrew, "__aexit__", leave)
    run = {"base_url": "http://127.0.0.1:9/v1", "run_dir": tmp_path, "max_time": 1}
    with pytest.raises(RunStopped, match="maximum time"):
        rubricate.grade(dataset_of([POISON]), "m", workers=1, **run)
    assert waiting
    assert not left


def test_where_all_workers_die_all_the_time_the_run_ends(tmp_path, monkeypatch):
    monkeypatch.setattr(LocalCrew, "deadly", "text")
    dataset = dataset_of([f"text {n}" for n in range(40)])
    run = {"base_url": "http://127.0.0.1:9/v1", "run_dir": tmp_path, "workers": 2}
    with pytest.raises(RunStopped, match="workers died 11 times with nothing judged in between"):
        rubricate.grade(dataset, "m", **run)


def test_a_run_by_workers_ends_in_time_and_keeps_what_was_judged(tmp_path):
    dataset = dataset_of([f"text {n}" for n in range(40)])
    slow = Rule(submission="text 3", delay=30)
    with ScriptedEndpoint([slow]) as endpoint:
        run = {"base_url": endpoint.url, "run_dir": tmp_path}
        with pytest.raises(RunStopped, match="the maximum time of 1 s is reached") as stopped:
            rubricate.grade(dataset, "m", workers=2, max_time=1, **run)
        done = stopped.value.result.calls
        assert 0 < done <= 80
        endpoint.requests.clear()
        endpoint._rules.clear()
        rubricate.grade(dataset, "m", workers=2, **run)
        assert len(endpoint.requests) == 80 - done


def test_a_run_by_workers_ends_where_all_together_have_spent_enough(tmp_path, monkeypatch):
    monkeypatch.setattr(_driving, "TICK", 0.01)
    dataset = dataset_of([f"text {n}" for n in range(40)])
    prices = tmp_path / "prices.yaml"
    prices.write_text("m: {input: 1000, output: 1000}\n")
    with ScriptedEndpoint([Rule(delay=0.05)]) as endpoint:
        run = {"base_url": endpoint.url, "run_dir": tmp_path / "run", "concurrency": 2}
        with pytest.raises(RunStopped, match=r"the maximum cost of \$5 is reached"):
            rubricate.grade(dataset, "m", workers=2, max_cost=5.0, prices=prices, **run)
        assert len(endpoint.requests) < 40
        run |= {"prices": prices}
        for workers in (2, None, 3):  # one account, whoever spends
            before = len(endpoint.requests)
            with pytest.raises(RunStopped, match="is reached") as caught:
                rubricate.grade(dataset, "m", workers=workers, max_cost=5.0, **run)
            assert len(endpoint.requests) <= before + 1
            assert caught.value.result.run_usage.cost <= 5.0 + 1.0
        before = len(endpoint.requests)
        with pytest.raises(RunStopped, match=r"the maximum cost of \$10 is reached"):
            rubricate.grade(dataset, "m", workers=2, max_cost=10.0, **run)
        assert before < len(endpoint.requests) < 2.5 * before
        result = rubricate.grade(dataset, "m", workers=2, **run)
        assert len(endpoint.requests) == 80
        assert result.run_usage.requests == 80


LIMITS: dict[str, tuple[float, int]] = {
    "max_cost": (5.0, 14),  # a request costs some $0.5
    "max_time": (1.0, 30),  # each of two workers has one request in flight, which takes 0.1 s
    "requests_per_minute": (30.0, 1),
    "tokens_per_minute": (3000.0, 1),
}
"""Limits that count across processes, and the most requests of 80 that one of this size allows in
a second: if each worker counted by itself, there would be more."""


def test_every_limit_across_processes_is_tried_here():
    """A new limit says how far it counts, or that it bounds a single request or process."""
    limits = {
        name: option
        for name, option in options_of(GradingOptions).items()
        if option.group == "Limits"
    }
    bounds = {name for name, option in limits.items() if (option.ge, option.gt) != (None, None)}
    scopes = {name: option.across_processes for name, option in limits.items()}
    shared = {name for name in bounds if scopes[name] in ("run", "endpoint")}
    assert shared == LIMITS.keys()
    assert {name for name in bounds if scopes[name] == "worker"} == {"concurrency"}
    of_a_request = {"attempts", "deadline", "timeout"}
    assert bounds - {name for name in bounds if scopes[name]} == of_a_request | {"max_outage"}


@pytest.mark.parametrize("name", LIMITS)
def test_a_limit_across_processes_holds_for_two_workers_together(tmp_path, name, monkeypatch):
    monkeypatch.setattr(_driving, "TICK", 0.01)
    limit, most = LIMITS[name]
    prices = tmp_path / "prices.yaml"
    prices.write_text("m: {input: 1000, output: 1000}\n")
    seconds = 30.0 if name == "max_cost" else 1.0
    options: Any = {"max_time": seconds, "prices": prices, "concurrency": 1, name: limit}
    options |= {"run_dir": tmp_path / "run", "workers": 2}
    dataset = dataset_of([f"text {n}" for n in range(40)])
    with ScriptedEndpoint([Rule(delay=0.1)]) as endpoint:
        with pytest.raises(RunStopped, match=r"the maximum (cost|time)"):
            rubricate.grade(dataset, "m", base_url=endpoint.url, **options)
        assert len(endpoint.requests) <= most


def test_a_refused_key_ends_a_run_by_workers(tmp_path):
    with pytest.raises(RunStopped, match="401"):
        by_workers(["a", "b"], tmp_path, Rule(status=401))


def test_stopping_a_run_by_workers_keeps_what_was_judged(tmp_path):
    dataset = dataset_of([f"text {n}" for n in range(40)])

    async def stopped() -> int:
        stop = asyncio.Event()

        def stop_soon(progress: Progress) -> None:
            if progress.done:
                stop.set()

        with ScriptedEndpoint([Rule(delay=0.05)]) as endpoint:
            run = {"base_url": endpoint.url, "run_dir": tmp_path, "concurrency": 2}
            with pytest.raises(RunStopped) as error:
                await rubricate.agrade(
                    dataset, "m", workers=2, stop=stop, on_progress=stop_soon, **run
                )
        assert error.value.interrupted
        assert error.value.result.resumed == 0
        return error.value.result.calls

    done = asyncio.run(stopped())
    assert 0 < done < 80
    assert sum(row["status"] == "judged" for row in lines(tmp_path)) == done


def test_a_run_that_is_stopped_before_a_worker_is_there_has_every_item_as_not_run(tmp_path):
    async def stopped() -> RunStopped:
        stop = asyncio.Event()
        stop.set()
        run = {"base_url": "http://127.0.0.1:9/v1", "run_dir": tmp_path, "workers": 2}
        with pytest.raises(RunStopped) as error:
            await rubricate.agrade(dataset_of(["a", "b"]), "m", stop=stop, **run)
        return error.value

    error = asyncio.run(stopped())
    assert error.interrupted
    assert {row["error"]["kind"] for row in lines(tmp_path)} == {"not_run"}


def test_progress_counts_workers_and_those_that_died(tmp_path, monkeypatch):
    monkeypatch.setattr(_driving, "TICK", 0.01)
    seen = []

    def look(now: rubricate.Progress) -> None:
        seen.append((now.done, now.workers, now.workers_lost))

    by_workers([*TWENTY, POISON], tmp_path, Rule(delay=0.02), on_progress=look)
    assert max(workers for _, workers, _ in seen) == 2
    assert seen[-1][2] >= 1
    assert len({done for done, _, _ in seen}) > 5  # also within blocks
    assert max(done for done, _, _ in seen) == 42


def test_workers_warn_once(tmp_path, caplog):
    class Warning_(rubricate.judge.Judge):
        name = "warns"

        def key(self, item, criterion):
            return f"warns {item.submission} {criterion.name}"

        async def judge(self, item, criterion, send):
            logging.getLogger("rubricate.test").warning("something is odd")
            return rubricate.Verdict(criterion.name, "judged", "MET", 1.0)

    rubricate.grade(
        dataset_of([f"{n}" for n in range(20)]), Warning_(), run_dir=tmp_path, workers=2
    )
    told = [one for one in caplog.records if one.name.endswith("_driving")]
    assert [one.getMessage() for one in told] == ["something is odd"]


def test_a_worker_that_has_ended_or_could_not_begin_hears_of_no_warning(tmp_path):
    logger = logging.getLogger("rubricate")
    before = [*logger.handlers]
    by_workers(["a", "b"], tmp_path)
    options: Any = rubricate.options.GradingOptions()
    (tmp_path / "no").write_text("no journal")
    with pytest.raises(JournalError):
        Worker(Job(rubricate.judge.named_judge("builtin"), options, tmp_path / "no"))
    assert logger.handlers == before


def test_without_ray_it_is_said_what_to_install(tmp_path, monkeypatch):
    monkeypatch.setattr(_worker, "find_spec", lambda name: None)
    with pytest.raises(MissingExtraError, match=r"pip install .*\[ray\]"):
        rubricate.grade(
            dataset_of(["a"]), "m", base_url="http://127.0.0.1:9/v1", run_dir=tmp_path, workers=2
        )


def test_a_judge_that_cannot_be_sent_is_named_before_anything_is_asked():
    pytest.importorskip("ray")
    lock = threading.Lock()

    def judge(messages: Any) -> str:
        with lock:
            return "MET"

    options: Any = rubricate.options.GradingOptions(run_dir="x", workers=2)
    job = Job(rubricate.judge.named_judge(judge), options, Path("x"))
    with pytest.raises(InputError, match=r"the judge cannot be sent to workers: TypeError: .*lock"):
        _ray._dumped(job)


@pytest.mark.parametrize(
    ("given", "fleet"),
    [
        (8, Fleet(8, None)),
        ("8", Fleet(8, None)),
        ("auto", Fleet(None, "auto")),
        ("ray://head:10001", Fleet(None, "ray://head:10001")),
        ("3@auto", Fleet(3, "auto")),
        ("16@ray://10.0.0.1:10001", Fleet(16, "ray://10.0.0.1:10001")),
        ("2@[::1]:6379", Fleet(2, "[::1]:6379")),
    ],
)
def test_workers_are_a_number_an_address_or_both(given, fleet):
    assert Fleet.parse(given) == fleet


@pytest.mark.parametrize(
    "given", [0, -1, "", "0", "eight", "8@", "http://head:1", "ray://head", "@auto", "0@auto"]
)
def test_workers_of_another_form_are_refused(given):
    with pytest.raises(InputError, match="workers must be a number"):
        Fleet.parse(given)


def test_what_a_worker_takes_is_read_from_text():
    assert resources_of(None) == {"num_cpus": 1.0}
    assert resources_of("num_gpus=1, num_cpus=.5") == {"num_gpus": 1.0, "num_cpus": 0.5}
    for wrong in ("", "num_gpus", "num_gpus=-1", "a=1,,b=2"):
        with pytest.raises(InputError, match="worker_resources must be like"):
            resources_of(wrong)
    for wrong, right in {"gpu=1": "num_gpus", "GPU=1": "num_gpus", "num_cpu=2": "num_cpus"}.items():
        with pytest.raises(InputError, match=f"it is {right}, not"):
            resources_of(wrong)


@pytest.mark.parametrize(
    ("files", "quota"),
    [
        ({}, None),
        ({"proc/self/cgroup": "0::/\n", "sys/fs/cgroup/cpu.max": "max 100000\n"}, None),
        ({"proc/self/cgroup": "0::/\n", "sys/fs/cgroup/cpu.max": "150000 100000\n"}, 2),
        (
            {
                "proc/self/cgroup": "1:name=systemd:/\n0::/pod/one\n",
                "sys/fs/cgroup/pod/one/cpu.max": "max 100000\n",
                "sys/fs/cgroup/pod/cpu.max": "50000 100000\n",
            },
            1,
        ),
        (
            {
                "sys/fs/cgroup/cpu/cpu.cfs_quota_us": "300000\n",
                "sys/fs/cgroup/cpu/cpu.cfs_period_us": "100000\n",
            },
            3,
        ),
    ],
)
def test_usable_cores_are_those_of_the_process_and_its_container(
    tmp_path, monkeypatch, files, quota
):
    monkeypatch.setattr("os.sched_getaffinity", lambda pid: {*range(16)}, raising=False)
    for name, text in files.items():
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text(text)
    assert usable_cores(tmp_path) == (quota or 16)


@pytest.mark.parametrize(
    ("workers", "cores", "begun", "told"),
    [
        ("auto", 3, 3, "in no Ray cluster: 3 on this machine"),
        ("2@auto", 3, 2, "in no Ray cluster: 2 on this machine"),
        (8, 2, 8, "8 workers on 2 usable cores: more workers than cores make a run slower"),
        (2, 2, 2, ""),
    ],
)
def test_workers_on_this_machine_are_as_many_as_cores_or_it_is_said(
    tmp_path, monkeypatch, caplog, workers, cores, begun, told
):
    pytest.importorskip("ray")

    def connect(self: Any) -> None:
        if self._fleet.address == "auto":
            raise InputError("no workers at auto: Ray says: Could not find any running Ray ins")

    crews = []
    monkeypatch.undo()
    monkeypatch.setattr(_ray.Crew, "_connect", connect)
    monkeypatch.setattr(_ray.Crew, "_room", lambda self: self._fleet.count)
    monkeypatch.setattr(_ray.Crew, "_begin", lambda self, count: crews.append(count))
    monkeypatch.setattr(_ray, "usable_cores", lambda: cores)
    options: Any = GradingOptions(run_dir="x", workers=workers)

    async def opened() -> None:
        async with _ray.Crew(Job(named_judge("builtin"), options, Path("x"))):
            pass

    asyncio.run(opened())
    assert crews == [begun]
    assert [told in one.getMessage() for one in caplog.records] == [True] * bool(told)


def numbered(texts: str) -> list[Numbered]:
    return [Numbered(number, Item(text)) for number, text in enumerate(texts)]


def test_blocks_are_small_where_there_are_few_items():
    assert block_size(1_000_000, 8) == 256
    assert block_size(1000, 8) == 15
    assert block_size(3, 8) == 1


def test_blocks_have_equal_items_together_or_at_the_end():
    blocks = Blocks(lambda: numbered("abaacdeafbggh"), 13, size=4)
    shown = [[one.item.submission for one in block] for block in blocks.first()]
    assert shown == [list("abaa"), list("cdef"), list("ggh")]
    assert [[one.number for one in block] for block in blocks.last()] == [[7, 9]]


def test_every_item_is_in_one_block_whatever_is_equal():
    texts = "".join(chr(97 + n * n % 23) for n in range(500))
    blocks = Blocks(lambda: numbered(texts), 500, size=7)
    given = [one.number for part in (blocks.first(), blocks.last()) for b in part for one in b]
    assert sorted(given) == list(range(500))
