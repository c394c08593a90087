"""Results as they get done: nothing is held that nobody needs."""

from __future__ import annotations

import asyncio
import csv
import gc
import json
import subprocess
import sys
import threading
import time
from pathlib import Path
from typing import Any

import pytest

import rubricate
from rubricate import InputError, PythonModel, Rubric, RubricDataset, RunStopped
from rubricate.dataset import Survey, read_table
from rubricate.run import _executor
from rubricate.testing import Rule, ScriptedEndpoint

MET = {"reason": "r", "evidence": [], "verdict": "MET"}


def met(messages: Any) -> dict[str, Any]:
    return MET


def test_the_pace_of_garbage_collection_is_the_same_after_runs_as_before(make_dataset):
    end = time.monotonic() + 60
    while _executor._THRESHOLDS:  # a run that a test before this one has left
        assert time.monotonic() < end, "a test has left a run behind that does not end"
        time.sleep(0.01)
    before = gc.get_threshold()
    during: list[int] = []

    def judge(messages: Any) -> dict[str, Any]:
        during.append(gc.get_threshold()[0])
        return MET

    async def main() -> None:
        await asyncio.gather(*[rubricate.agrade(make_dataset(3), judge) for _ in range(3)])

    asyncio.run(main())
    assert min(during) > before[0]
    assert gc.get_threshold() == before


def test_every_item_comes_once_and_the_figures_are_those_of_grade(make_dataset, endpoint):
    async def main() -> tuple[list[int], Any]:
        stream = rubricate.agrade_stream(make_dataset(20), "m", base_url=endpoint.url)
        async with stream:
            indices = [item.index async for item in stream]
        return indices, stream.summary()

    indices, streamed = asyncio.run(main())
    assert sorted(indices) == list(range(20))
    whole = rubricate.grade(make_dataset(20), "m", base_url=endpoint.url).summary()
    assert streamed.usage.calls == whole.usage.calls == 40
    assert streamed.model_copy(update={"usage": whole.usage}) == whole


def test_an_item_comes_when_it_is_done_and_waits_for_no_other(make_dataset):
    with ScriptedEndpoint([Rule(submission="Answer 1:", delay=1.0)]) as endpoint:
        for item in rubricate.grade_stream(make_dataset(9), "m", base_url=endpoint.url):
            last = item.index
    assert last == 1


def test_the_results_of_grade_and_the_file_are_in_the_datasets_order(make_dataset, tmp_path, rows):
    with ScriptedEndpoint([Rule(submission="Answer 1:", delay=0.3)]) as endpoint:
        result = rubricate.grade(make_dataset(9), "m", base_url=endpoint.url, run_dir=tmp_path)
    assert [item.index for item in result] == list(range(9))
    assert [row["description"] for row in rows(tmp_path)] == [
        f"answer {index}" for index in range(9) for _ in range(2)
    ]


def test_results_are_in_the_file_before_the_run_ends(make_dataset, tmp_path, rows):
    seen: list[int] = []
    dataset = make_dataset(200)
    for _ in rubricate.grade_stream(dataset, met, run_dir=tmp_path, concurrency=1):
        lines = (tmp_path / "results.jsonl").read_bytes().split(b"\n")[:-1]
        seen.append(len([json.loads(line) for line in lines]))
    assert any(0 < count < 400 for count in seen)
    assert len(rows(tmp_path)) == 400


def test_judging_waits_for_a_consumer_who_is_slow(make_dataset):
    calls: list[int] = []

    async def main() -> None:
        stream = rubricate.agrade_stream(
            make_dataset(1000), lambda messages: calls.append(1) or MET, concurrency=4
        )
        async with stream:
            await anext(stream)
            for _ in range(50):
                await asyncio.sleep(0.01)
            assert len(calls) <= 2 * (64 + 4 + 1)
            assert len([item async for item in stream]) == 999

    asyncio.run(main())
    assert len(calls) == 2000


def test_a_stream_that_is_closed_early_ends_the_run_and_leaves_a_whole_folder(
    make_dataset, tmp_path, rows
):
    calls: list[int] = []
    judge = PythonModel(lambda messages: calls.append(1) or MET, "judge")
    for item in rubricate.grade_stream(make_dataset(500), judge, run_dir=tmp_path, concurrency=1):
        assert item.index == 0
        break
    assert len(calls) < 500
    assert len(rows(tmp_path)) == 1000
    summary = json.loads((tmp_path / "summary.json").read_text())
    assert summary["stopped"] == "cancelled"
    assert summary["items"] == 500
    assert rubricate.grade(make_dataset(500), judge, run_dir=tmp_path).failed == 0


async def _breaks(start: Any) -> None:
    async for _ in start():
        break


async def _breaks_and_keeps_the_stream(start: Any) -> Any:
    stream = start()
    async for _ in stream:
        break
    return stream


async def _falls_over(start: Any) -> None:
    try:
        async for _ in start():
            raise LookupError
    except LookupError:
        pass


async def _forgets_the_stream(start: Any) -> None:
    stream = start()
    await anext(stream)
    del stream


async def _leaves_a_cycle(start: Any) -> None:
    stream = start()
    stream.itself = stream
    await anext(stream)
    del stream
    gc.collect()


async def _is_cancelled_in_the_loop(start: Any) -> None:
    async def take() -> None:
        async for _ in start():
            await asyncio.sleep(60)

    task = asyncio.create_task(take())
    await asyncio.sleep(0.1)
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task


async def _is_cancelled_while_it_waits(start: Any) -> None:
    stream = start()
    taking = asyncio.create_task(anext(stream))
    await asyncio.sleep(0)
    taking.cancel()
    with pytest.raises(asyncio.CancelledError):
        await taking


async def _closes_behind_the_loop(start: Any) -> None:
    stream = start()
    async for _ in stream:
        break
    await stream.aclose()
    await stream.aclose()
    assert stream.outcome.stopped == "cancelled"


LEAVING = [
    _breaks,
    _breaks_and_keeps_the_stream,
    _falls_over,
    _forgets_the_stream,
    _leaves_a_cycle,
    _is_cancelled_in_the_loop,
    _is_cancelled_while_it_waits,
    _closes_behind_the_loop,
]


@pytest.mark.parametrize("program_ends", [False, True])
@pytest.mark.parametrize("leave", LEAVING)
def test_a_run_ends_with_whoever_takes_its_results(
    make_dataset, tmp_path, rows, caplog, leave: Any, program_ends: bool
):
    calls: list[int] = []

    async def judge(messages: Any) -> dict[str, Any]:
        calls.append(1)
        await asyncio.sleep(0.001)
        return MET

    model = rubricate.PythonModel(judge, name="one")

    async def main() -> None:
        options: Any = {"run_dir": tmp_path, "concurrency": 2}
        kept = await leave(lambda: rubricate.agrade_stream(make_dataset(300), model, **options))
        if not program_ends:
            for _ in range(100):
                await asyncio.sleep(0.01)
                if len(asyncio.all_tasks()) == 1:
                    break
            assert asyncio.all_tasks() == {asyncio.current_task()}
        del kept

    asyncio.run(main())
    gc.collect()
    assert len(calls) < 600
    assert caplog.records == []
    assert len(rows(tmp_path)) == 600
    assert json.loads((tmp_path / "summary.json").read_text())["stopped"] == "cancelled"
    whole = rubricate.grade(make_dataset(300), model, run_dir=tmp_path)
    assert whole.failed == 0
    assert whole.resumed >= len(calls) - whole.calls - 2  # but for what was in flight


def test_a_loop_in_a_with_block_may_be_left_and_entered_again(make_dataset):
    async def main() -> list[int]:
        async with rubricate.agrade_stream(make_dataset(20), met) as stream:
            first = [item.index async for item in _taken(stream, 3)]
            return first + [item.index async for item in stream]

    async def _taken(stream: Any, count: int) -> Any:
        async for item in stream:
            yield item
            count -= 1
            if not count:
                break

    assert sorted(asyncio.run(main())) == list(range(20))


def test_an_error_of_a_run_is_raised_once(make_dataset):
    def fall_over(progress: rubricate.Progress) -> None:
        raise LookupError("my own bug")

    async def main() -> None:
        async with rubricate.agrade_stream(make_dataset(3), met, on_progress=fall_over) as stream:
            with pytest.raises(LookupError, match="my own bug"):
                await anext(stream)

    asyncio.run(main())


def test_a_plain_loop_that_is_left_ends_the_run(make_dataset, tmp_path, rows):
    calls: list[int] = []

    async def judge(messages: Any) -> dict[str, Any]:
        calls.append(1)
        await asyncio.sleep(0.001)
        return MET

    def take() -> None:
        for _ in rubricate.grade_stream(make_dataset(300), judge, run_dir=tmp_path, concurrency=2):
            raise LookupError

    threads = threading.active_count()
    with pytest.raises(LookupError):
        take()
    assert threading.active_count() == threads
    assert len(calls) < 600
    assert len(rows(tmp_path)) == 600
    items = rubricate.grade_stream(make_dataset(300), judge, run_dir=tmp_path, concurrency=2)
    next(items)
    del items
    assert threading.active_count() == threads


def test_a_stream_that_is_stopped_gives_all_items_and_then_says_so(make_dataset):
    async def main() -> list[str]:
        stop = asyncio.Event()
        calls: list[int] = []

        def judge(messages: Any) -> dict[str, Any]:
            calls.append(1)
            if len(calls) == 6:
                stop.set()
            return MET

        items: list[rubricate.ItemResult] = []

        async def take_all() -> None:
            async for item in stream:
                items.append(item)

        stream = rubricate.agrade_stream(make_dataset(10), judge, stop=stop, concurrency=1)
        with pytest.raises(RunStopped) as caught:
            await take_all()
        assert (caught.value.interrupted, caught.value.result) == (True, None)
        assert stream.summary().not_run == 14
        return [verdict.status for item in items for verdict in item.criteria.values()]

    assert asyncio.run(main()) == ["judged"] * 6 + ["not_run"] * 14


def test_what_the_journal_has_is_in_the_results_of_a_run_that_cannot_go_on(
    make_dataset, tmp_path, rows
):
    def respond(request: Any) -> Rule:
        return Rule(status=401) if "Another" in (request.submission or "") else Rule(verdict="MET")

    changed = make_dataset(5)
    changed.items[0].submission = "Another answer"
    with ScriptedEndpoint(respond=respond) as endpoint:
        options = {"base_url": endpoint.url, "run_dir": tmp_path, "concurrency": 1}
        rubricate.grade(make_dataset(5), "m", **options)
        with pytest.raises(RunStopped) as caught:
            rubricate.grade(changed, "m", **options)
    assert [row["status"] for row in rows(tmp_path)].count("judged") == 8
    statuses = [verdict.status for _, verdict in caught.value.result.verdicts()]
    assert statuses == ["failed", "not_run"] + ["judged"] * 8


def test_a_dataset_of_ones_own_is_graded_item_by_item(make_dataset):
    class Endless:
        """Items that exist only while they are judged."""

        name = "endless"
        given = 0

        def survey(self, limit: int | None = None) -> Survey:
            return make_dataset(300).survey(limit)

        def to_grade(self, limit: int | None = None) -> Any:
            for item in make_dataset(300).to_grade(limit):
                Endless.given += 1
                yield item

    stream = rubricate.grade_stream(Endless(), met, concurrency=2)
    next(stream)
    assert Endless.given <= 64 + 2 + 2
    assert len(list(stream)) == 299


def test_an_option_that_is_misspelt_is_an_error(make_dataset):
    with pytest.raises(TypeError, match="'concurency'; did you mean 'concurrency'"):
        rubricate.agrade_stream(make_dataset(), met, concurency=3)  # type: ignore[call-arg]


@pytest.mark.parametrize("call", [rubricate.grade, rubricate.estimate])
def test_a_misspelt_judge_is_told_apart_from_a_missing_one(make_dataset, call):
    with pytest.raises(TypeError, match="'jugde'; did you mean 'judge'"):
        call(make_dataset(), jugde="openai/gpt-4.1-mini")


def test_an_error_before_anything_is_sent_comes_from_the_first_item(make_dataset, endpoint):
    dataset = make_dataset(2)
    dataset.items[1].ground_truth = ["MET"]
    stream = rubricate.grade_stream(dataset, "m", base_url=endpoint.url)
    with pytest.raises(InputError, match=r"items\[1\].ground_truth: Ground truth has 1 values"):
        next(stream)
    assert endpoint.requests == []


SCRIPT = """
import resource, sys, rubricate
from rubricate.dataset import read_table

def judge(messages):
    return '{"reason": "r", "evidence": [], "verdict": "MET"}'

table = read_table(sys.argv[1], rubricate.Rubric.from_file(sys.argv[2]))
count = sum(1 for item in rubricate.grade_stream(table, judge, run_dir=sys.argv[3]))
print(count, resource.getrusage(resource.RUSAGE_SELF).ru_maxrss)
"""


def graded_in_a_process(folder: Path, n: int) -> int:
    """Grade `n` rows of about 10,000 characters; gives the peak memory in KiB."""
    with (folder / f"{n}.csv").open("w", newline="") as file:
        writer = csv.writer(file)
        writer.writerow(["id", "submission", "label.speed"])
        writer.writerows([index, f"{index} {'word ' * 2000}", "MET"] for index in range(n))
    arguments = [folder / f"{n}.csv", folder / "rubric.yaml", folder / f"run-{n}"]
    done = subprocess.run(
        [sys.executable, "-c", SCRIPT, *map(str, arguments)],
        capture_output=True,
        text=True,
        check=True,
    )
    count, peak = map(int, done.stdout.split())
    assert count == n
    return peak


def test_memory_does_not_grow_with_the_dataset(make_dataset, tmp_path):
    Rubric(make_dataset(1).rubric[:1]).to_file(tmp_path / "rubric.yaml")
    small, large = (graded_in_a_process(tmp_path, n) for n in (200, 1700))
    # 1,500 more rows of 10,000 characters, with their prompts, would be over 30 MB.
    assert large - small < 6 * 1024


def _table(path: Path, rows: list[dict[str, Any]], rubric: Rubric, **options: Any) -> Any:
    path.write_text("".join(json.dumps(row) + "\n" for row in rows))
    return read_table(str(path), rubric, **options)


def test_a_table_is_checked_to_its_end_before_anything_is_sent(make_dataset, tmp_path, endpoint):
    rows = [{"id": str(n), "submission": f"text {n}"} for n in range(3000)]
    rubric = make_dataset(1).rubric
    for last, message in (
        ({"id": "0", "submission": "x"}, "items share an id: '0'"),
        ({"id": "x", "submission": None}, r"t\.jsonl:3001: record 3001: column 'submission'"),
        ({"id": "x", "submission": "x", "label.speed": "perhaps"}, "no label 'perhaps'"),
    ):
        table = _table(tmp_path / "t.jsonl", [*rows, last], rubric)
        with pytest.raises(InputError, match=message):
            rubricate.grade(table, "m", base_url=endpoint.url)
    assert endpoint.requests == []


def test_empty_text_is_a_submission_and_missing_text_is_not(make_dataset, tmp_path):
    rubric = make_dataset(1).rubric
    rows = [{"submission": text} for text in ("", "x", None)] + [{"prompt": "no answer"}]
    table = _table(tmp_path / "t.jsonl", rows, rubric, on_error="skip")
    item, _ = rubricate.grade(table, met)
    assert item.criteria["speed"].label == "MET"
    assert [skipped.record for skipped in table.skipped] == [3, 4]


def test_a_table_and_the_same_items_in_memory_give_the_same_results(make_dataset, tmp_path):
    texts = ["one", "two", "one", "", "one"]
    rubric = make_dataset(1).rubric
    rows = [{"submission": text, "label.speed": "yes"} for text in texts]
    streamed = rubricate.grade(_table(tmp_path / "t.jsonl", rows, rubric), met)
    dataset = RubricDataset("", rubric)
    for text in texts:
        dataset.add_item(text, ground_truth=["MET", None])
    held = rubricate.grade(dataset, met)
    assert [item.id for item in streamed] == [item.id for item in held]
    assert [item.labels for item in streamed] == [item.labels for item in held]


def test_rows_beyond_the_limit_are_not_read(make_dataset, tmp_path):
    path = tmp_path / "t.jsonl"
    path.write_text('{"submission": "a"}\n{"submission": "b"}\nthis is no JSON\n')
    assert len(rubricate.grade(read_table(str(path), make_dataset(1).rubric), met, limit=2)) == 2
