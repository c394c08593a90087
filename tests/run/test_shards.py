"""Shards: several processes judge one run, each a part of it, and one puts it together."""

from __future__ import annotations

import json
import signal
import subprocess
import sys
import threading
import time
from collections import Counter
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

import rubricate
from rubricate import Criterion, Rubric, RubricDataset
from rubricate.errors import InputError, JournalError
from rubricate.run import Shard
from rubricate.run.journal import open_journal
from rubricate.testing import Rule, ScriptedEndpoint

JOURNALS = ("file", "database")


def place(kind: str, request: pytest.FixtureRequest) -> dict[str, str]:
    """The options of a journal of a kind."""
    return {"journal": request.getfixturevalue("postgres")} if kind == "database" else {}


def of_run(options: dict[str, Any]) -> Any:
    """Where a run's journal is, by the options of a call."""
    from rubricate.run import RunOptions
    from rubricate.run.results import journal_place

    return journal_place(RunOptions(**options))


@pytest.mark.parametrize(
    "text", ["0/4", "5/4", "a/b", "1", "1/0", "-1/4", "1/4/2", "١/٤", "1 /4", ""]
)
def test_what_is_no_shard_is_refused(make_dataset, text: str):
    with pytest.raises(InputError, match="K/N"):
        rubricate.grade(make_dataset(), lambda m: "x", shard=text)


def test_a_shard_needs_a_journal_and_does_not_begin_anew(make_dataset, tmp_path):
    with pytest.raises(InputError, match="run_dir"):
        rubricate.grade(make_dataset(), lambda m: "x", shard="1/2")
    with pytest.raises(InputError, match="fresh and shard"):
        rubricate.grade(make_dataset(), lambda m: "x", shard="1/2", fresh=True, run_dir=tmp_path)
    with pytest.raises(InputError, match="workers and shard"):
        rubricate.grade(make_dataset(), lambda m: "x", shard="1/2", workers=2, run_dir=tmp_path)


def test_every_item_is_in_one_shard_and_equal_items_in_the_same(make_dataset):
    from rubricate.run import RunOptions
    from rubricate.run._plan import Plan

    dataset = make_dataset(60)
    for item in list(dataset)[:20]:
        dataset.add_item(item.submission, f"again {item.description}")
    plans = [Plan(dataset, RunOptions(shard=f"{number}/4")) for number in range(1, 5)]
    seen = [[item.submission for item in plan] for plan in plans]
    assert sorted(text for part in seen for text in part) == sorted(
        item.submission for item in dataset
    )
    for one, other in ((a, b) for a in range(4) for b in range(a)):
        assert not {*seen[one]} & {*seen[other]}
    assert [plan.items for plan in plans] == [len(part) for part in seen]


@pytest.mark.parametrize("kind", JOURNALS)
def test_shards_are_put_together_with_no_request_to_what_one_process_gives(
    make_dataset, tmp_path, endpoint, kind, request
):
    options = {"base_url": endpoint.url, "run_dir": tmp_path / "run", **place(kind, request)}
    for number in range(1, 5):
        rubricate.grade(make_dataset(30), "m", shard=f"{number}/4", **options)
    sent = len(endpoint.requests)
    whole = rubricate.grade(make_dataset(30), "m", **options)
    alone = rubricate.grade(make_dataset(30), "m", base_url=endpoint.url)
    assert (sent, whole.calls, whole.resumed, whole.failed) == (60, 0, 60, 0)
    assert [item.score for item in whole.items] == [item.score for item in alone.items]
    assert [item.id for item in whole.items] == [item.id for item in alone.items]


def test_a_shard_without_items_ends_well(make_dataset, tmp_path, rubricate, write_dataset):
    write_dataset()
    codes = [
        rubricate("grade", "data.json", "--run-dir", "run", "--shard", f"{k}/9").returncode
        for k in range(1, 10)
    ]
    assert codes == [0] * 9
    summaries = [json.loads(path.read_text()) for path in tmp_path.glob("run/*/summary.json")]
    assert 0 in {found["items"] for found in summaries}
    assert {found["judge"] for found in summaries} == {"builtin"}


@pytest.mark.parametrize("kind", JOURNALS)
def test_who_has_a_run_keeps_away_whom_it_must(make_dataset, tmp_path, kind, request):
    options = {"run_dir": tmp_path, **place(kind, request)}
    where = of_run(options)
    first, second, other = Shard(1, 4), Shard(2, 4), Shard(1, 3)
    refusals = {
        "alone": ("alone", "driver", first),
        "driver": ("alone", "driver", first),
        first: ("alone", "driver", first, other),
    }
    for has, refused in refusals.items():
        with closing(open_journal(where, access=has)):
            for access in refused:
                with pytest.raises(JournalError, match="process"):
                    open_journal(where, access=access)
    with closing(open_journal(where, access=first)), closing(open_journal(where, access=second)):
        pass
    with closing(open_journal(where, access="driver")) as driver:
        with closing(open_journal(where, access="worker")) as worker:
            worker.put("a", {"status": "judged", "label": "MET"})
        assert driver.get_many(["a"])
    with closing(open_journal(where, access=other)):
        pass


@pytest.mark.parametrize("before", [None, 3])
@pytest.mark.parametrize("kind", JOURNALS)
def test_all_shards_of_a_run_can_begin_at_once(tmp_path, kind, request, before):
    where = of_run({"run_dir": tmp_path, **place(kind, request)})
    if before:
        with closing(open_journal(where, access=Shard(1, before))):
            pass
    failed, all_have = [], threading.Barrier(8)

    def begin(number: int) -> None:
        try:
            with closing(open_journal(where, access=Shard(number, 8))):
                all_have.wait()
        except JournalError as error:
            failed.append(error)
            all_have.abort()
        except threading.BrokenBarrierError:
            pass

    threads = [threading.Thread(target=begin, args=(number,)) for number in range(1, 9)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert failed == []


def test_a_dataset_is_shared_out_alike_whichever_process_asks(tmp_path):
    program = (
        "from rubricate import RubricDataset, Rubric, Criterion\n"
        "from rubricate.run import RunOptions\nfrom rubricate.run._plan import Plan\n"
        "data = RubricDataset('p', Rubric([Criterion(requirement='r')]))\n"
        "for n in range(50): data.add_item(f's{n}', str(n))\n"
        "print([item.submission for item in Plan(data, RunOptions(shard='2/3'))])\n"
    )
    found = {
        subprocess.run(
            [sys.executable, "-c", program],
            env={"PYTHONHASHSEED": seed},
            capture_output=True,
            text=True,
            check=True,
        ).stdout
        for seed in ("1", "2")
    }
    assert len(found) == 1


def test_people_are_asked_when_the_shards_are_put_together(make_dataset, tmp_path):
    from rubricate.judge import Cascade, People

    judge = Cascade([lambda m: "x", People(tmp_path / "people.jsonl")], 0.5)
    with pytest.raises(InputError, match="when the shards are put together"):
        rubricate.grade(make_dataset(), judge, shard="1/2", run_dir=tmp_path / "run")


@pytest.mark.parametrize(("kind", "shards"), [("file", 2), ("database", 4)])
def test_of_several_shards_one_that_is_killed_is_repeated_and_nothing_is_lost_or_asked_twice(
    tmp_path, kind, shards, request
):
    data = {
        "prompt": "p",
        "rubric": [{"name": f"c{n}", "requirement": f"criterion c{n}"} for n in range(2)],
        "items": [{"submission": f"text i{n}"} for n in range(100)],
    }
    data["items"] += data["items"][:10]
    (tmp_path / "data.json").write_text(json.dumps(data))
    asked: Counter[tuple[str, str]] = Counter()
    lock = threading.Lock()

    def respond(judged: Any) -> Rule:
        with lock:
            asked[judged.submission, judged.criterion] += 1
        return Rule(verdict="MET", delay=0.05)

    with ScriptedEndpoint(respond=respond) as endpoint:
        command = [sys.executable, "-m", "rubricate", "grade", "data.json", "--judge", "m"]
        command += ["--base-url", endpoint.url, "--run-dir", "run", "--no-cache"]
        command += [
            part for pair in place(kind, request).items() for part in ("--" + pair[0], pair[1])
        ]

        def begin(*more: str) -> subprocess.Popen[bytes]:
            return subprocess.Popen(
                [*command, "--concurrency", "4", *more],
                cwd=tmp_path,
                stdout=subprocess.PIPE,
                stderr=subprocess.STDOUT,
            )

        parts = [begin("--shard", f"{number}/{shards}") for number in range(1, shards + 1)]
        while sum(asked.values()) < 80:
            assert all(process.poll() is None for process in parts)
            time.sleep(0.01)
        parts[1].send_signal(signal.SIGKILL)
        told = [process.communicate(timeout=60)[0] for process in parts]
        codes = [process.returncode for process in parts]
        assert codes == [-9 if index == 1 else 0 for index in range(shards)], told
        again = begin("--shard", f"2/{shards}")
        assert again.communicate(timeout=60)[0] is not None
        assert again.returncode == 0
        before = sum(asked.values())
        whole = begin()
        output = whole.communicate(timeout=60)[0].decode()
    assert whole.returncode == 0, output
    assert len(asked) == 200
    assert sum(asked.values()) == before <= 200 + 64 + 4
    rows = [
        json.loads(line) for line in (tmp_path / "run" / "results.jsonl").read_text().splitlines()
    ]
    assert [row["status"] for row in rows] == ["judged"] * 220
    assert (tmp_path / "run" / f"shard-2-of-{shards}" / "summary.json").exists()
    assert f"shard 1/{shards}" in told[0].decode()


def test_of_a_shard_a_conversation_can_be_shown(make_dataset, tmp_path, endpoint, run_here):
    rubricate.grade(
        make_dataset(4), "m", base_url=endpoint.url, run_dir=tmp_path / "run", shard="1/1"
    )
    shown = run_here(
        tmp_path, "show", "run/shard-1-of-1", "--criterion", "speed", "--prompt", "--json"
    )
    assert "messages" in shown.stdout, shown.stderr


def test_a_part_is_not_held_to_what_is_said_of_the_whole(rubricate, write_dataset):
    write_dataset()
    done = rubricate("grade", "data.json", "--shard", "1/2", "--fail-under", "0.5")
    assert done.returncode == 1
    assert "--fail-under is about all items" in done.stderr


def test_of_gated_criteria_and_of_documents_a_shard_asks_as_the_whole_does(tmp_path, endpoint):
    gated = Rubric(
        [
            Criterion(name="a", requirement="Gives roughly 300000 kilometres"),
            Criterion(name="b", requirement="Praises itself shamelessly", requires="a"),
        ]
    )
    dataset = RubricDataset("p", gated, name="gated")
    for number in range(12):
        dataset.add_item(f"Roughly 300000 kilometres {number % 8}", f"i{number}")
    options = {"base_url": endpoint.url, "run_dir": tmp_path / "run"}
    for number in (1, 2):
        rubricate.grade(dataset, "m", shard=f"{number}/2", **options)
    assert rubricate.grade(dataset, "m", **options).calls == 0
    assert len(endpoint.requests) == 16


def test_the_folder_of_a_run_is_its_owners_alone(make_dataset, tmp_path: Path):
    rubricate.grade(
        make_dataset(2),
        lambda m: {"reason": "r", "evidence": [], "verdict": "MET"},
        run_dir=tmp_path / "run",
        shard="1/2",
    )
    modes = {path.stat().st_mode & 0o777 for path in (tmp_path / "run").rglob("*") if path.is_dir()}
    assert modes == {0o700}
    assert (tmp_path / "run").stat().st_mode & 0o777 == 0o700
