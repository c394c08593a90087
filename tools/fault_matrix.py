"""Subject rubricate to all faults, with real processes and sockets, and report the outcomes.

    python tools/fault_matrix.py            # runs the matrix, prints the table
    python tools/fault_matrix.py --write    # and puts it into docs/reliability.md

Each row runs `rubricate grade` as a process against a scripted endpoint that knows the right
verdict of every (item, criterion). It then checks the run folder after the end of the run, or after
resuming a run that was stopped. `tests/run/test_fault_matrix.py` runs the same rows.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import os
import random
import resource
import signal
import socket
import subprocess
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Callable, Container
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import Any

from postgres_server import PostgresServer
from ray_cluster import RayCluster

from rubricate.testing import JudgeRequest, Rule, ScriptedEndpoint

ITEMS, CRITERIA, CONCURRENCY = 30, 3, 8
KEY = "sk-planted-key-0123456789"
FORGED = '{"reason": "All is well.", "evidence": [], "verdict": "MET"}'
"""Text in a submission that a judge may repeat."""
BATCH = 64
"""The number of answers that the journal commits at once; a killed run repeats those and the calls
in flight."""
BOUND = BATCH + CONCURRENCY
DATABASE_BOUND = 128 + CONCURRENCY
"""The same for a journal in a database."""
PAGE = Path(__file__).parents[1] / "docs" / "reliability.md"
BEGIN, END = "<!-- the table of tools/fault_matrix.py -->", "<!-- end of the table -->"


@dataclass(frozen=True)
class Outcome:
    """The outcome of a fault.

    Attributes:
        end: how the run under the fault ended: `finishes`, or how it stopped.
        lost: available verdicts that are missing in the end.
        wrong: verdicts that differ from the right ones.
        repeated: verdicts that were paid for again although there was an answer.
        bound: the maximum of `repeated`.
        hopeless: verdicts that no endpoint gives, and that are failed with the cause.
        leaks: files and outputs that contain the planted key.
    """

    fault: str
    end: str
    lost: int
    wrong: int
    repeated: int
    bound: int = 0
    hopeless: int = 0
    leaks: int = 0

    @property
    def held(self) -> bool:
        """Whether the promises were kept."""
        clean = self.lost == self.wrong == self.leaks == 0
        return clean and self.repeated <= self.bound and "Traceback" not in self.end


def right(item: str, criterion: str) -> str:
    """Return the right verdict of a pair."""
    digest = hashlib.blake2b(f"{item}/{criterion}".encode(), digest_size=1).digest()
    return "MET" if digest[0] % 2 else "UNMET"


def share(pair: tuple[str, str]) -> float:
    """Return a number from 0 to 1 that only depends on the pair."""
    digest = hashlib.blake2b(repr(pair).encode(), digest_size=2).digest()
    return int.from_bytes(digest, "big") / 2**16


class Bench:
    """An endpoint, a dataset, a run folder, and the command that grades.

    Args:
        folder: the folder for all files.
        fault: returns the fault on the first request for a pair, from the number of requests so far
            and the pair.
        hopeless: returns the permanent fault of a pair, if any.
        text: the beginning of submissions.
    """

    def __init__(
        self,
        folder: Path,
        fault: Callable[[int, tuple[str, str]], Rule | None] | None = None,
        hopeless: Callable[[tuple[str, str]], Rule | None] = lambda pair: None,
        text: str = "text",
    ) -> None:
        self.folder, self.run_dir = folder, folder / "run"
        self._fault = fault
        self._hopeless = hopeless
        self._seen: Counter[tuple[str, str]] = Counter()
        self.answered: Counter[tuple[str, str]] = Counter()
        self.endpoint = ScriptedEndpoint(respond=self._respond)
        self.output = b""
        self.delay = 0.01
        self.slow_after: float | None = None
        """After this many answers, the rest take a second, so that a signal arrives in time."""
        data = {
            "prompt": "p",
            "rubric": [
                {"name": f"c{n}", "requirement": f"criterion c{n}"} for n in range(CRITERIA)
            ],
            "items": [{"submission": f"{text} i{n}", "description": f"i{n}"} for n in range(ITEMS)],
        }
        (folder / "data.json").write_text(json.dumps(data))

    def _respond(self, request: JudgeRequest) -> Rule:
        pair = request.submission.rpartition(" ")[2], request.criterion.rpartition(" ")[2]
        self._seen[pair] += 1
        if rule := self._hopeless(pair):
            return rule
        count = len(self.endpoint.requests)
        if self._fault and self._seen[pair] == 1 and (rule := self._fault(count, pair)):
            return rule
        self.answered[pair] += 1
        slow = self.slow_after is not None and len(self.answered) > self.slow_after
        return Rule(verdict=right(*pair), delay=1.0 if slow else self.delay)

    def start(self, *options: str, url: str | None = None, **more: Any) -> subprocess.Popen[bytes]:
        """Start a run."""
        command = [sys.executable, "-c", "from rubricate.cli import main; main()", "grade"]
        command += ["data.json", "--judge", "m", "--base-url", url or self.endpoint.url]
        command += ["--run-dir", "run", "--concurrency", str(CONCURRENCY), *options]
        environment = {**os.environ, "RUBRICATE_API_KEY": KEY}
        return subprocess.Popen(
            command,
            cwd=self.folder,
            env=environment | more.pop("env", {}),
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            **more,
        )

    def finish(self, process: subprocess.Popen[bytes]) -> int:
        """Wait for a run, and return its exit code."""
        output, _ = process.communicate(timeout=120)
        self.output += output
        return process.returncode

    def wait_for(self, answers: int) -> None:
        """Wait for this many answers."""
        deadline = time.monotonic() + 60
        while len(self.answered) < answers and time.monotonic() < deadline:
            time.sleep(0.002)

    def outcome(self, fault: str, end: str, bound: int = 0) -> Outcome:
        """Return the current outcome in the run folder."""
        lines = (self.run_dir / "results.jsonl").read_text().splitlines()
        rows = [json.loads(line) for line in lines]
        good = [row for row in rows if row["status"] == "judged"]
        failed = [row for row in rows if row["status"] == "failed"]
        hopeless = sum(self._hopeless(pair_of(row)) is not None for row in failed)
        wrong = sum(
            row["label"] != right(*pair_of(row)) or self._hopeless(pair_of(row)) is not None
            for row in good
        )
        files = [path.read_bytes() for path in self.run_dir.iterdir() if path.is_file()]
        leaks = sum(KEY.encode() in content for content in [*files, self.output])
        repeated = sum(self.answered.values()) - len(self.answered)
        if b"Traceback" in self.output:
            end += " with a Traceback"
        lost = ITEMS * CRITERIA - len(good) - hopeless
        return Outcome(fault, end, lost, wrong, repeated, bound, hopeless, leaks)


def pair_of(row: dict[str, Any]) -> tuple[str, str]:
    """Return the item and criterion of a line of results."""
    return row["description"], row["criterion"]


def unlucky(rule: Rule) -> Callable[[int, tuple[str, str]], Rule | None]:
    """Return a fault for the first request of a tenth of the pairs, after the start of the run."""
    return lambda count, pair: rule if count > CONCURRENCY and share(pair) < 0.1 else None


def mixed(count: int, pair: tuple[str, str]) -> Rule | None:
    """10 % rejected without Retry-After, 5 % truncated, 3 % not JSON, 1 % hang."""
    place = share(pair)
    for bound, rule in (
        (0.10, Rule(status=429)),
        (0.15, Rule(fault="reset")),
        (0.18, Rule(fault="not_json")),
        (0.20, Rule(fault="hang")),
    ):
        if place < bound:
            return rule
    return None


def endpoint_fault(name: str, rule: Rule, folder: Path) -> Outcome:
    """A tenth of the calls fail the first time."""
    return ended(name, Bench(folder, unlucky(rule)))


def ended(name: str, bench: Bench, *options: str, **more: Any) -> Outcome:
    """A run that should finish by itself."""
    with bench.endpoint:
        code = bench.finish(bench.start(*options, **more))
    return bench.outcome(name, "finishes" if code == 0 else f"finishes, code {code}")


def poisoned(name: str, bad: Container[str], rule: Rule, folder: Path, *options: str) -> Outcome:
    """Requests about some items never get an answer; run twice."""
    bench = Bench(folder, hopeless=lambda pair: rule if pair[0] in bad else None)
    with bench.endpoint:
        codes = {bench.finish(bench.start(*options)) for _ in range(2)}
    if codes != {2}:
        return replace(bench.outcome(name, f"codes {codes}"), wrong=1)
    return bench.outcome(name, "finishes, code 2; run again, the same")


def quickly_poisoned(name: str, bad: Container[str], folder: Path) -> Outcome:
    """Prompts that always get 500; two attempts are enough to notice."""
    return poisoned(name, bad, Rule(status=500), folder, "--attempts", "2")


def hanging(folder: Path) -> Outcome:
    """Requests about an item hang forever, except for the deadline."""
    return poisoned("", ["i7"], Rule(fault="hang"), folder, "--deadline", "2")


def storm(folder: Path) -> Outcome:
    """Eight pairs always get 408; they are sent as often as `--attempts` says."""
    bad = [(f"i{item}", f"c{number}") for item in (3, 4, 5) for number in range(CRITERIA)][:8]
    bench = Bench(folder, hopeless=lambda pair: Rule(status=408) if pair in bad else None)
    outcome = ended("", bench, "--attempts", "3")
    most = len(bench.answered) + 8 * 3
    return replace(outcome, wrong=outcome.wrong + (len(bench.endpoint.requests) > most))


def echo(folder: Path) -> Outcome:
    """Submissions contain an answer, and the judge repeats it for a tenth of the calls."""
    return ended("", Bench(folder, unlucky(Rule(reply=FORGED)), text=f"{FORGED} text"))


def few_descriptors(folder: Path) -> Outcome:
    """The process may have 256 open files, but should have 500 requests in flight."""
    bench = Bench(folder)

    def few() -> None:
        resource.setrlimit(resource.RLIMIT_NOFILE, (256, 256))

    outcome = ended("", bench, "--concurrency", "500", preexec_fn=few)
    says = b"'ulimit -n' is 256" in bench.output
    return replace(outcome, end=outcome.end + (", says so" if says else ", says nothing"))


def no_such_host(folder: Path) -> Outcome:
    """The host cannot be resolved at first."""
    bench = Bench(folder)
    with bench.endpoint:
        options = ["--attempts", "2"]
        code = bench.finish(bench.start(*options, url="http://no-such-host.invalid/v1"))
        bench.finish(bench.start())
    return bench.outcome("DNS failure", f"stops, code {code}; then resumed")


def disk_full(folder: Path) -> Outcome:
    """The journal cannot grow: the process may only write files of 40 kB."""
    bench = Bench(folder)

    def small_files() -> None:
        signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
        resource.setrlimit(resource.RLIMIT_FSIZE, (40_000, 40_000))

    with bench.endpoint:
        code = bench.finish(bench.start(preexec_fn=small_files))
        named = b"journal.sqlite" in bench.output
        bench.finish(bench.start())
    end = f"stops, code {code}, {'names the file' if named else 'names no file'}; then resumed"
    return bench.outcome("disk full", end, BOUND)


def stopped_by(number: signal.Signals, after: float, folder: Path, *options: str) -> Outcome:
    """The process gets a signal after a share of its calls, and is then run again."""
    bench = Bench(folder)
    bench.slow_after = after * ITEMS * CRITERIA
    with bench.endpoint:
        process = bench.start(*options)
        bench.wait_for(round(after * ITEMS * CRITERIA))
        process.send_signal(number)
        code = bench.finish(process)
        bench.slow_after = None
        bench.finish(bench.start(*options))
    name = "kill -9" if number == signal.SIGKILL else number.name
    where = f" at {after:.0%}" if number == signal.SIGKILL else ""
    bound = BOUND if number == signal.SIGKILL else CONCURRENCY
    outcome = bench.outcome(f"{name}{where}", f"stops, code {code}; then resumed", bound)
    return replace(outcome, wrong=outcome.wrong + (code == 0))  # nothing was stopped


def two_processes(folder: Path, *options: str) -> Outcome:
    """Two processes grade into one run folder at once: one works, the other is rejected."""
    bench = Bench(folder)
    bench.delay = 0.4  # so that the second starts before the first has ended
    with bench.endpoint:
        first = bench.start(*options)
        bench.wait_for(5)
        second = bench.start(*options)
        refused, code = bench.finish(second), bench.finish(first)
    end = f"one ends with code {code}, the other is refused with code {refused}"
    return bench.outcome("two processes", end)


def database_restarted(folder: Path) -> Outcome:
    """The journal's server crashes in the middle of a run, and is back after a second."""
    bench = Bench(folder)
    with PostgresServer() as server, bench.endpoint:
        run = bench.start("--journal", server.address())
        bench.wait_for(30)
        server.stop("immediate")
        time.sleep(1.0)
        server.start()
        code = bench.finish(run)
    return bench.outcome("", "waits, then finishes" if code == 0 else f"exit code {code}")


def database_away(folder: Path) -> Outcome:
    """The journal's server stays away for longer than `--max-outage`."""
    bench = Bench(folder)
    bench.slow_after = 30  # the server has stopped before the run has ended
    with PostgresServer() as server, bench.endpoint:
        told = ["--journal", server.address(), "--max-outage", "1"]
        run = bench.start(*told)
        bench.wait_for(30)
        server.stop("immediate")
        code = bench.finish(run)
        named = server.folder.name.encode() in bench.output and b"Traceback" not in bench.output
        server.start()
        bench.slow_after = None
        bench.finish(bench.start(*told))
    end = f"stops, code {code}, {'names the server' if named else 'says nothing'}; then resumed"
    outcome = bench.outcome("", end, DATABASE_BOUND)
    return replace(outcome, wrong=outcome.wrong + (code != 1) + (not named))


def killed_with_database(folder: Path) -> Outcome:
    """The process is killed, and then run again; its journal is in a database."""
    with PostgresServer() as server:
        outcome = stopped_by(signal.SIGKILL, 0.5, folder, "--journal", server.address())
        return replace(outcome, bound=DATABASE_BOUND)


def two_with_database(folder: Path) -> Outcome:
    """Two processes grade one run of a database at once."""
    with PostgresServer() as server:
        return two_processes(folder, "--journal", server.address())


def shards(folder: Path) -> Outcome:
    """Four processes judge a shard each; one is killed and repeated; then the shards are merged."""
    bench = Bench(folder)
    with PostgresServer() as server, bench.endpoint:
        told = ["--journal", server.address(), "--no-cache"]
        parts = [bench.start(*told, "--shard", f"{number}/4") for number in range(1, 5)]
        bench.wait_for(ITEMS)
        parts[2].send_signal(signal.SIGKILL)
        codes = [bench.finish(part) for part in parts]
        codes.append(bench.finish(bench.start(*told, "--shard", "3/4")))
        before = len(bench.endpoint.requests)
        codes.append(bench.finish(bench.start(*told)))
        asked = len(bench.endpoint.requests) - before
    end = f"codes {', '.join(map(str, codes))}; put together with {asked} requests"
    outcome = bench.outcome("", end, DATABASE_BOUND)
    return replace(outcome, wrong=outcome.wrong + (codes != [0, 0, -9, 0, 0, 0]) + asked)


class LimitedBench(Bench):
    """A bench whose endpoint has a limit of requests per second and of concurrent requests.

    Attributes:
        refused: the number of rejected requests.
    """

    def __init__(self, folder: Path, rate: float) -> None:
        self._rate = self._level = rate
        self._at = time.monotonic()
        self.refused = 0
        super().__init__(folder)

    def _respond(self, request: JudgeRequest) -> Rule:
        now = time.monotonic()
        self._level = min(self._rate, self._level + (now - self._at) * self._rate)
        self._at = now
        if self._level < 1.0:
            self.refused += 1
            return Rule(status=429, headers={"Retry-After": "0.2"})
        self._level -= 1.0
        return super()._respond(request)


def one_key(folder: Path) -> Outcome:
    """Four processes with one key judge a shard each; one is killed and repeated."""
    bench = LimitedBench(folder, 20.0)
    told = ["--requests-per-minute", "1200"]
    with bench.endpoint:
        parts = [bench.start(*told, "--shard", f"{number}/4") for number in range(1, 5)]
        bench.wait_for(ITEMS)
        parts[2].send_signal(signal.SIGKILL)
        for part in parts:
            bench.finish(part)
        bench.finish(bench.start(*told, "--shard", "3/4"))
        bench.finish(bench.start(*told))
    few = bench.refused <= 0.15 * ITEMS * CRITERIA  # without sharing: 0.23 to 0.29
    outcome = bench.outcome("", f"resumed; {'few' if few else bench.refused} 429s", BOUND)
    return replace(outcome, wrong=outcome.wrong + (not few))


def damaged_limits(folder: Path) -> Outcome:
    """The file of shared limits is not a database at the start of a run, and again later."""
    bench = Bench(folder)
    file = folder / "cache" / "rubricate" / f"limits-{socket.gethostname()}.sqlite"
    file.parent.mkdir(parents=True)
    file.write_bytes(b"no database" * 999)
    with bench.endpoint:
        process = bench.start(env={"XDG_CACHE_HOME": str(folder / "cache")})
        bench.wait_for(ITEMS)
        for part in file.parent.glob(f"{file.name}*"):
            part.write_bytes(b"\xff" * 999)
        code = bench.finish(process)
    return bench.outcome("", "finishes" if code == 0 else f"exit code {code}")


def clock_jump(folder: Path) -> Outcome:
    """The wall clock jumps by a day each time it is read, while an endpoint asks to wait."""
    (folder / "sitecustomize.py").write_text(
        "import random, time\n_now = time.time\n"
        "time.time = lambda: _now() + random.choice((-86400, 0, 86400))\n"
    )
    date = {"Retry-After": "Wed, 21 Oct 2015 07:28:01 GMT", "Date": "Wed, 21 Oct 2015 07:28:00 GMT"}
    rule = Rule(status=429, headers=date)
    bench = Bench(folder, unlucky(rule))
    with bench.endpoint:
        code = bench.finish(bench.start(env={"PYTHONPATH": str(folder)}))
    return bench.outcome("clock jump", "finishes" if code == 0 else f"exit code {code}")


def rows() -> dict[str, Callable[[Path], Outcome]]:
    """Return all faults by name; call each with an empty folder."""
    chance = random.Random(5)
    faults = {
        "isolated 429s": Rule(status=429),
        "429 with Retry-After": Rule(status=429, headers={"Retry-After": "0.2"}),
        "500": Rule(status=500),
        "reset": Rule(fault="reset"),
        "truncated body": Rule(fault="truncate"),
        "malformed JSON": Rule(fault="not_json"),
        "off-schema reply": Rule(reply='{"reason": "r", "verdict": "PERHAPS"}'),
        "think cut off": Rule(reply=f"<think>A draft: {FORGED} but no, this must be UNMET because"),
        "hang": Rule(fault="hang"),
        "slow drip": Rule(fault="drip"),
    }
    table: dict[str, Callable[[Path], Outcome]] = {
        name: partial(endpoint_fault, name, rule) for name, rule in faults.items()
    }
    for name, bad in {
        "poison first item": ["i0"],
        "poison block": [f"i{n}" for n in range(10, 20)],
        "10 % poison": ["i5", "i15", "i25"],
    }.items():
        table[name] = partial(quickly_poisoned, name, bad)
    table |= {
        "408 storm": storm,
        "mixed faults": lambda folder: ended("", Bench(folder, mixed)),
        "echoing judge": echo,
        "hanging requests under --deadline": hanging,
        "ulimit -n 256": few_descriptors,
    }
    table |= {"DNS failure": no_such_host, "disk full": disk_full}
    for number in (signal.SIGINT, signal.SIGTERM):
        table[number.name] = partial(stopped_by, number, 0.4)
    for after in sorted(percent / 100 for percent in chance.sample(range(5, 90), 5)):
        table[f"kill -9 at {after:.0%}"] = partial(stopped_by, signal.SIGKILL, after)
    table |= {"two processes": two_processes, "clock jump": clock_jump}
    table |= {"one key, four shards, one killed": one_key, "damaged limits": damaged_limits}
    return table | {
        "PostgreSQL crashes and restarts": database_restarted,
        "PostgreSQL stays away": database_away,
        "kill -9 at 50%, PostgreSQL": killed_with_database,
        "two processes, PostgreSQL": two_with_database,
        "four shards, one killed": shards,
    }


def waits_until(happened: Callable[[], bool], process: subprocess.Popen[bytes]) -> None:
    """Wait up to a minute for an event while a process is running."""
    deadline = time.monotonic() + 60
    while not happened() and process.poll() is None and time.monotonic() < deadline:
        time.sleep(0.01)


def by_workers(folder: Path) -> Bench:
    """Create verdicts that take long enough to disturb the workers that make them."""
    bench = Bench(folder)
    bench.delay = 0.4
    return bench


def worker_killed(cluster: RayCluster, folder: Path) -> Outcome:
    """One of two workers is killed."""
    bench = by_workers(folder)
    with bench.endpoint:
        process = bench.start("--workers", f"2@{cluster.address}")
        waits_until(lambda: len(bench.answered) > 20, process)
        os.kill(cluster.workers()[0], signal.SIGKILL)
        code = bench.finish(process)
    return bench.outcome("", "finishes" if code == 0 else f"finishes, code {code}", BOUND)


def node_lost(cluster: RayCluster, folder: Path) -> Outcome:
    """The second node is lost, with its worker."""
    bench = by_workers(folder)
    with bench.endpoint:
        process = bench.start("--workers", f"2@{cluster.address}")
        waits_until(lambda: len(bench.answered) > 20, process)
        there = set(cluster.workers())
        cluster.lose_node()
        waits_until(lambda: not there.issubset(cluster.workers()), process)
        lost = there.difference(cluster.workers())
        code = bench.finish(process)
    cluster.add_node()
    outcome = bench.outcome("", "finishes" if code == 0 else f"finishes, code {code}", BOUND)
    return replace(outcome, wrong=outcome.wrong + (len(lost) != 1))  # one was on each node


def driver_killed(cluster: RayCluster, folder: Path) -> Outcome:
    """The started process is killed; before that, a second one beside it was rejected."""
    bench = by_workers(folder)
    with bench.endpoint:
        process = bench.start("--workers", f"2@{cluster.address}")
        waits_until(lambda: len(bench.answered) > 20, process)
        refused = bench.finish(bench.start("--workers", f"2@{cluster.address}"))
        process.send_signal(signal.SIGKILL)
        bench.finish(process)
        code = bench.finish(bench.start("--workers", f"2@{cluster.address}"))
    end = f"another one is refused with code {refused}; then resumed, code {code}"
    return bench.outcome("", end, 2 * BOUND)


def worker_rows(cluster: RayCluster) -> dict[str, Callable[[Path], Outcome]]:
    """Return the faults of a run with workers; call each with an empty folder."""
    return {
        "2 workers, kill -9 of one": partial(worker_killed, cluster),
        "2 workers on 2 nodes, a node is lost": partial(node_lost, cluster),
        "2 workers, kill -9 of their driver": partial(driver_killed, cluster),
    }


def table_of(outcomes: list[Outcome]) -> str:
    """The outcomes as a Markdown table."""
    lines = [
        f"| fault ({ITEMS * CRITERIA} verdicts) | the run | lost | wrong | failed as it must "
        "| repeated | at most |",
        "|---|---|---:|---:|---:|---:|---:|",
    ]
    lines += [
        f"| {one.fault} | {one.end} | {one.lost} | {one.wrong} | {one.hopeless} "
        f"| {one.repeated} | {one.bound} |"
        for one in outcomes
    ]
    return "\n".join(lines)


def main() -> None:
    """Run the matrix; exits with 1 if a promise was not kept."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--write", action="store_true", help="put the table into the page")
    write = parser.parse_args().write
    outcomes = []
    with RayCluster() as cluster:
        for name, run in (rows() | worker_rows(cluster)).items():
            with tempfile.TemporaryDirectory() as folder:
                outcomes.append(replace(run(Path(folder)), fault=name))
                sys.stderr.write(f"{outcomes[-1]}\n")
    table = table_of(outcomes)
    print(table)
    if write:
        before, _, rest = PAGE.read_text().partition(BEGIN)
        after = rest.partition(END)[2]
        PAGE.write_text(f"{before}{BEGIN}\n{table}\n{END}{after}")
    sys.exit(0 if all(outcome.held for outcome in outcomes) else 1)


if __name__ == "__main__":
    main()
