"""Real workers: processes on a Ray cluster of two nodes, which are killed."""

from __future__ import annotations

import asyncio
import gc
import json
import os
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Callable
from concurrent.futures import Future
from pathlib import Path
from typing import Any

import pytest
from test_fault_matrix import fault_matrix
from test_workers import lines, summary

from rubricate import InputError
from rubricate.judge import named_judge
from rubricate.options import GradingOptions
from rubricate.run.workers import _ray
from rubricate.run.workers._worker import Job
from rubricate.testing import JudgeRequest, Rule, ScriptedEndpoint

pytest.importorskip("ray")
PAID = 0.5
"""US dollars for a request of 500 tokens at 1,000 dollars a million."""
ROWS = ("kill -9 of one", "a node is lost", "kill -9 of their driver")


@pytest.mark.parametrize("fault", ROWS)
def test_a_fault_of_workers_loses_nothing_and_invents_nothing(fault, ray_cluster, tmp_path):
    rows = fault_matrix.worker_rows(ray_cluster)
    (row,) = [one for name, one in rows.items() if name.endswith(fault)]
    outcome = row(tmp_path)
    assert outcome.held, outcome
    assert "code 2" not in outcome.end


def start(folder: Path, url: str, *options: str) -> subprocess.Popen[str]:
    command = [sys.executable, "-c", "from rubricate.cli import main; main()", "grade"]
    command += ["data.json", "--judge", "m", "--base-url", url, "--no-cache", *options]
    return subprocess.Popen(
        command,
        cwd=folder,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        start_new_session=True,
    )


def write_data(folder: Path, texts: list[str]) -> None:
    rubric = [{"name": f"c{n}", "requirement": f"Says c{n}"} for n in range(3)]
    items = [{"submission": text, "description": f"i{n}"} for n, text in enumerate(texts)]
    data = {"prompt": "p", "rubric": rubric, "items": items}
    (folder / "data.json").write_text(json.dumps(data))


def test_nodes_share_a_database_and_say_what_one_process_says(ray_cluster, postgres, tmp_path):
    texts = [f"text {n if n % 10 else n // 2}" for n in range(120)]
    write_data(tmp_path, texts)
    unmet = [Rule(submission=f"text {n}", criterion="c1", verdict="UNMET") for n in (3, 17, 50)]
    with ScriptedEndpoint(unmet) as endpoint:
        many = ["--run-dir", "many", "--journal", postgres]
        many += ["--workers", f"2@{ray_cluster.client}"]
        for _ in range(3):
            process = start(tmp_path, endpoint.url, *many, "--json")
            shown, _ = process.communicate(timeout=120)
            if "Starting Ray client server failed" not in shown:  # Ray's: its port was taken
                break
        assert process.returncode == 0, shown
        assert json.loads(shown[shown.index("{") :])["verdicts"]["judged"] == 360
        assert "ray" not in shown.lower()
        assert len(endpoint.requests) == 3 * len({*texts})
        one = start(tmp_path, endpoint.url, "--run-dir", "one", "-q")
        assert one.communicate(timeout=60)[0] == ""
        again = start(tmp_path, endpoint.url, *many, "-q")
        shown, _ = again.communicate(timeout=60)
        assert (again.returncode, shown) == (0, "")
        assert len(endpoint.requests) == 6 * len({*texts})
    found, expected = summary(tmp_path / "many"), summary(tmp_path / "one")
    assert found["verdicts"] == expected["verdicts"]
    assert found["criteria"] == expected["criteria"]
    for row, other in zip(lines(tmp_path / "many"), lines(tmp_path / "one"), strict=True):
        assert row | {"resumed": 0, "usage": 0} == other | {"resumed": 0, "usage": 0}


def soon(holds: Callable[[], bool]) -> None:
    """Wait until it holds; on a busy machine a node takes its time."""
    deadline = time.monotonic() + 120
    while not holds():
        assert time.monotonic() < deadline
        time.sleep(0.05)


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_a_signal_ends_workers_cleanly(number, ray_cluster, tmp_path):
    write_data(tmp_path, [f"text {n}" for n in range(200)])
    before = {*ray_cluster.workers()}
    with ScriptedEndpoint([Rule(delay=0.3)]) as endpoint:
        process = start(
            *(tmp_path, endpoint.url, "--run-dir", "run", "--concurrency", "4"),
            *("--workers", f"2@{ray_cluster.address}"),
        )
        soon(lambda: len(endpoint.requests) >= 30 or process.poll() is not None)
        own = {*ray_cluster.workers()} - before
        os.killpg(process.pid, number)
        shown, _ = process.communicate(timeout=120)
    assert process.returncode == 130, shown
    assert "the same command resumes it.\n" in shown
    assert not [one for one in shown.splitlines() if "ray" in one.lower() or "Traceback" in one]
    assert own
    soon(lambda: own.isdisjoint(ray_cluster.workers()))  # their node ends them in its own time
    judged = sum(row["status"] == "judged" for row in lines(tmp_path / "run"))
    assert 30 - 16 <= judged < 600


@pytest.mark.parametrize("place", ["file", "database"])
def test_drivers_that_are_killed_and_started_again_spend_one_bound(
    place: str, ray_cluster, postgres, tmp_path
):
    write_data(tmp_path, [f"text {n}" for n in range(100)])
    (tmp_path / "prices.yaml").write_text("m: {input: 1000, output: 1000}\n")
    options = ["--run-dir", "run", "--prices", "prices.yaml", "--max-cost", "20", "-q"]
    options += ["--concurrency", "4", "--workers", f"2@{ray_cluster.address}"]
    options += ["--journal", postgres] if place == "database" else []
    billed = 0.0

    def respond(request: JudgeRequest) -> Rule:
        nonlocal billed
        billed += PAID
        body = {"prompt_tokens": 400, "completion_tokens": 100, "total_tokens": 500}
        return Rule(verdict="MET", delay=0.05, body={"usage": body})

    with ScriptedEndpoint(respond=respond) as endpoint:
        process = start(tmp_path, endpoint.url, *options)
        soon(lambda: len(endpoint.requests) >= 8 or process.poll() is not None)
        os.killpg(process.pid, signal.SIGKILL)
        process.communicate(timeout=120)
        for _ in range(2):
            again = start(tmp_path, endpoint.url, *options)
            shown, _ = again.communicate(timeout=120)
            assert again.returncode == 1, shown
            assert "the maximum cost of $20 is reached" in shown
        assert 0.7 * 20 <= billed <= 20 + PAID
        assert summary(tmp_path / "run")["usage"]["run_cost"] >= billed - 1e-9


def run_script(folder: Path, script: str, *arguments: str) -> subprocess.CompletedProcess[str]:
    (folder / "script.py").write_text(script)
    command = [sys.executable, "script.py", *arguments]
    return subprocess.run(
        command, cwd=folder, capture_output=True, text=True, timeout=120, check=False
    )


SCRIPT = """
import os, sys
import rubricate
from rubricate import Criterion, Rubric, RubricDataset

def judge(messages):
    if "poison" in str(messages):
        os._exit(1)
    return {"reason": "r", "evidence": [], "verdict": "MET"}

dataset = RubricDataset("p", Rubric([Criterion(name="c", requirement="Says c")]), name="d")
for number in range(20):
    dataset.add_item("poison" if number == 7 else f"text {number}", f"i{number}")
result = rubricate.grade(dataset, judge, run_dir="run", workers=sys.argv[1])
print([(one.description, one.criteria["c"].error.kind) for one in result
       if one.criteria["c"].status == "failed"])
"""


def test_a_callable_of_a_script_goes_to_workers_and_fails_only_what_it_dies_of(
    ray_cluster, tmp_path
):
    done = run_script(tmp_path, SCRIPT, f"2@{ray_cluster.address}")
    assert done.stdout == "[('i7', 'worker')]\n", done.stderr
    said = [line for line in done.stderr.splitlines() if "workers have not started yet" not in line]
    assert said == []  # but that a busy machine starts them late


GROWING = """
import os, sys, time
import ray
import rubricate
from rubricate import Criterion, Rubric, RubricDataset
from rubricate.run.workers import _ray

_ray.GROWTH = 0.2
here = os.getcwd()

def judge(messages):
    with open(f"{here}/{os.getpid()}", "w"):
        pass
    while not os.path.exists(f"{here}/enough"):
        time.sleep(0.02)
    return {"reason": "r", "evidence": [], "verdict": "MET"}

ray.init(sys.argv[1], logging_level="CRITICAL", log_to_driver=False)
while sum(one["Alive"] for one in ray.nodes()) > 1:
    time.sleep(0.1)
ray.shutdown()
dataset = RubricDataset("p", Rubric([Criterion(name="c", requirement="Says c")]), name="d")
for number in range(400):
    dataset.add_item(f"text {number}")
print(rubricate.grade(dataset, judge, run_dir="run", workers=sys.argv[2]).failed)
"""


def test_nodes_that_join_later_are_used(ray_cluster, tmp_path):
    (tmp_path / "script.py").write_text(GROWING)

    def at_work() -> int:
        return sum(path.name.isdecimal() for path in tmp_path.iterdir())

    ray_cluster.lose_node()
    try:
        process = subprocess.Popen(
            [sys.executable, "script.py", ray_cluster.address, ray_cluster.client],
            cwd=tmp_path,
            stdout=subprocess.PIPE,
            text=True,
        )
        soon(lambda: at_work() == 2 or process.poll() is not None)
    finally:
        ray_cluster.add_node()
    soon(lambda: at_work() == 4 or process.poll() is not None)
    (tmp_path / "enough").touch()
    assert process.communicate(timeout=120)[0].endswith("0\n")
    assert at_work() == 4


CONNECTED = """
import sys
import ray
import rubricate
from rubricate import Criterion, Rubric, RubricDataset

address, client = sys.argv[1:]
dataset = RubricDataset("p", Rubric([Criterion(name="c", requirement="Says c")]), name="d")
dataset.add_item("text")
ray.init(address, logging_level="CRITICAL", log_to_driver=False)
for options in (
    {"workers": "auto"},
    {"workers": address},
    {"workers": client},
    {"workers": "127.0.0.1:9"},
    {"workers": 1, "worker_env": {"env_vars": {"A": "1"}}},
):
    try:
        print(rubricate.grade(dataset, run_dir="run", fresh=True, **options).failed)
    except rubricate.InputError as error:
        print(error)
    assert ray.is_initialized()
"""


def test_an_address_in_a_program_that_is_connected_is_obeyed_or_refused(ray_cluster, tmp_path):
    done = run_script(tmp_path, CONNECTED, ray_cluster.address, ray_cluster.client)
    auto, address, *refused = [one for one in done.stdout.splitlines() if "raylet" not in one]
    assert (auto, address) == ("0", "0"), done
    assert [line.partition(": this program is connected to ")[0] for line in refused] == [
        f"workers='{ray_cluster.client}'",
        "workers='127.0.0.1:9'",
        "worker_env",
    ]


def test_a_module_beside_the_script_reaches_workers_by_worker_env(ray_cluster, tmp_path):
    module = 'MET = {"reason": "r", "evidence": [], "verdict": "MET"}\n'
    (tmp_path / "beside_it.py").write_text(module)
    script = SCRIPT.replace("import rubricate\n", "import beside_it, rubricate\n", 1)
    script = script.replace(
        'return {"reason": "r", "evidence": [], "verdict": "MET"}', "return beside_it.MET"
    )
    script = script.replace('"poison" in', '"none" in').replace("argv[1])", "argv[1], **ENV)")
    for environment, found in (("{}", "1"), ('{"worker_env": "env.json"}', "0")):
        (tmp_path / "env.json").write_text('{"py_modules": ["beside_it.py"]}')
        done = run_script(tmp_path, f"ENV = {environment}\n{script}", f"2@{ray_cluster.client}")
        assert str(done.returncode) == found, done
        has_hint = "No module named 'beside_it'; worker_env (--worker-env) takes" in done.stderr
        assert has_hint == (found == "1")


@pytest.mark.parametrize("mode", ["", "token"])
def test_a_cluster_that_refuses_says_what_to_do_about_its_token(monkeypatch, mode):
    def init(**options: Any) -> None:
        raise ConnectionError("Failed to connect")

    monkeypatch.setattr("ray.init", init)
    monkeypatch.setenv("RAY_AUTH_MODE", mode)
    with socket.create_server(("127.0.0.1", 0)) as server:
        workers = f"127.0.0.1:{server.getsockname()[1]}"
        options: Any = GradingOptions(run_dir="x", workers=workers)
        crew = _ray.Crew(Job(named_judge("builtin"), options, Path("x")))
        with pytest.raises(InputError, match="Ray says: Failed to connect") as raised:
            crew._connect()
    assert ("set RAY_AUTH_MODE=token" in str(raised.value)) == (not mode)


FREEZE = """
import signal
import rubricate
from rubricate.run.workers import _driving

_driving.SILENCE = SECONDS
FOLDER, died = os.getcwd(), set()

def freeze():
    try:
        os.close(os.open(FOLDER + "/frozen", os.O_CREAT | os.O_EXCL))
    except FileExistsError:
        return
    os.kill(os.getpid(), signal.SIGSTOP)
"""


@pytest.mark.parametrize(
    ("trouble", "silence"),
    # A busy machine stalls for seconds, too: the longer one has room for that.
    [("freeze()", 4.0), ("import time; time.sleep(14)", 10.0)],
)
def test_a_frozen_worker_is_replaced_and_one_whose_judge_blocks_its_loop_is_not(
    ray_cluster, tmp_path, trouble, silence
):
    freeze = FREEZE.replace("SECONDS", str(silence))
    script = SCRIPT.replace("import rubricate\n", freeze, 1).replace("os._exit(1)", trouble)
    script = script.replace(
        "run_dir=", "on_progress=lambda now: died.add(now.workers_lost), run_dir="
    )
    done = run_script(tmp_path, script + "print(max(died))\n", f"2@{ray_cluster.client}")
    assert done.stdout == f"[]\n{int(trouble == 'freeze()')}\n", done.stderr


class Slow:
    """An actor whose answers come when they are told to."""

    def __init__(self) -> None:
        self.answer: Future[object] = Future()

    def __getattr__(self, name: str) -> Slow:
        return self

    def remote(self) -> Slow:
        return self

    def future(self) -> Future[object]:
        return self.answer


@pytest.mark.parametrize("answer", [None, RuntimeError("late")])
def test_an_answer_that_nobody_waits_for_any_more_may_still_come(answer, caplog):
    """Ray's client sets it in a thread of its own: of a cancelled one that is a traceback."""

    async def leave(actor: Slow) -> None:
        waiting = asyncio.create_task(_ray.Member(actor, None, print).state())
        await asyncio.sleep(0)
        waiting.cancel()
        await asyncio.wait([waiting])
        if answer is None:
            actor.answer.set_result(None)
        else:
            actor.answer.set_exception(answer)
        await asyncio.sleep(0.01)

    asyncio.run(leave(Slow()))
    gc.collect()
    assert not caplog.records
