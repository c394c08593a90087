"""Judge many pairs by workers on a Ray cluster of two nodes, and kill some of them.

    python benchmarks/scale/workers.py --items 20000 --kills 4
    python benchmarks/scale/workers.py --items 20000 --postgres --workers 2     # 0: one process
    python benchmarks/scale/workers.py --items 200000 --journal postgresql://...

An endpoint on this machine knows the right verdict of each pair. Says how many verdicts are lost or
wrong, the requests, seconds, the most memory that the driver and a worker took, and the
microseconds of CPU that each judgement takes of the driver, the workers and the database (with
`--postgres`, which starts a server). These are measured between 10 and 90 % of the requests, so
that no start and no end is in them.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import os
import random
import re
import signal
import subprocess
import sys
import tempfile
import threading
import time
import zlib
from contextlib import ExitStack, suppress
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[2] / "tools"))
from postgres_server import PostgresServer
from ray_cluster import RayCluster

CRITERIA = 5
TICKS = os.sysconf("SC_CLK_TCK")
"""Units of CPU time a second, as the kernel counts it."""
WORDS = "some more words about things of all kinds " * 12
PAIR = re.compile(rb"Submission (\d+):.*Says thing number (\d)", re.DOTALL)


def right(item: int, criterion: int) -> str:
    """The right verdict of a pair."""
    return "MET" if zlib.crc32(f"{item}/{criterion}".encode()) % 2 else "UNMET"


class Endpoint(asyncio.Protocol):
    """Answers chat completions after a time, and counts them."""

    count = 0
    latency = 0.02

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self._transport = transport
        self._rest = b""

    def data_received(self, data: bytes) -> None:
        self._rest += data
        while (end := self._rest.find(b"\r\n\r\n")) >= 0:
            head = self._rest[:end].lower()
            length = int(head[head.index(b"content-length:") + 15 :].split(b"\r\n")[0])
            if len(self._rest) < end + 4 + length:
                return
            body = self._rest[end + 4 : end + 4 + length]
            self._rest = self._rest[end + 4 + length :]
            Endpoint.count += 1
            loop = asyncio.get_running_loop()
            loop.call_later(self.latency, self._answer, body)

    def _answer(self, body: bytes) -> None:
        found = PAIR.search(body)
        assert found is not None, body
        verdict = right(int(found[1]), int(found[2]))
        reply = json.dumps({"reason": "it says so", "evidence": [], "verdict": verdict})
        message = {"message": {"role": "assistant", "content": reply}, "finish_reason": "stop"}
        usage = {"prompt_tokens": 400, "completion_tokens": 20}
        answer = json.dumps({"choices": [message], "usage": usage}).encode()
        head = b"HTTP/1.1 200 OK\r\ncontent-type: application/json\r\ncontent-length: %d\r\n\r\n"
        self._transport.write(head % len(answer) + answer)  # type: ignore[attr-defined]


def serve() -> int:
    """Begin the endpoint in a thread; its port."""
    begun: list[int] = []
    ready = threading.Event()

    async def main() -> None:
        server = await asyncio.get_running_loop().create_server(Endpoint, "127.0.0.1", 0)
        begun.append(server.sockets[0].getsockname()[1])
        ready.set()
        await server.serve_forever()

    threading.Thread(target=lambda: asyncio.run(main()), daemon=True).start()
    ready.wait()
    return begun[0]


def write_data(file: Path, items: int) -> None:
    """A table with an item in each row."""
    with file.open("w") as out:
        for number in range(items):
            row = {"submission": f"Submission {number}: {WORDS}", "id": f"i{number}"}
            out.write(json.dumps(row) + "\n")


def memory(pid: int) -> int:
    """Resident memory of a process in MB; 0 if it is gone."""
    with suppress(OSError):
        for line in Path(f"/proc/{pid}/status").read_text().splitlines():
            if line.startswith("VmRSS"):
                return int(line.split()[1]) // 1000
    return 0


class CPU:
    """The CPU time of each part of a run, as it was when it was looked at.

    Args:
        driver: the process that was started.
        cluster: has the workers.
        server: the database, if it is here.
    """

    def __init__(self, driver: int, cluster: RayCluster, server: PostgresServer | None) -> None:
        self._driver = driver
        self._cluster = cluster
        self._server = server
        self._of: dict[str, dict[int, float]] = {}  # by part and process, also of those that ended
        self.first: tuple[int, dict[str, float]] | None = None
        self.last: tuple[int, dict[str, float]] | None = None

    def look(self, answered: int) -> None:
        """Note the time that all have taken by now, when so many requests were answered."""
        database = []
        if self._server is not None:
            note = self._server.folder / "data" / "postmaster.pid"
            keeper = int(note.read_text().split()[0])
            database = [keeper, *_children(keeper)]
        found = {
            "driver": self._seconds("driver", [self._driver]),
            "workers": self._seconds("workers", self._cluster.workers()),
            "database": self._seconds("database", database),
        }
        self.first = self.first or (answered, found)
        self.last = answered, found

    def _seconds(self, part: str, processes: list[int]) -> float:
        known = self._of.setdefault(part, {})
        for pid in processes:
            with suppress(OSError):
                fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
                known[pid] = sum(map(int, fields[11:13])) / TICKS
        return sum(known.values())

    def each(self) -> dict[str, float]:
        """Microseconds a judgement."""
        if self.first is None or self.last is None or self.last[0] == self.first[0]:
            return {}
        judged = self.last[0] - self.first[0]
        parts = {
            name: round((self.last[1][name] - self.first[1][name]) / judged * 1e6, 1)
            for name in self.first[1]
        }
        return {**parts, "all": round(sum(parts.values()), 1)}


def _children(parent: int) -> list[int]:
    file = Path(f"/proc/{parent}/task/{parent}/children")
    return [*map(int, file.read_text().split())] if file.exists() else []


def checked(results: Path) -> tuple[int, int, int]:
    """How many rows a run has written, how many verdicts are lost, and how many are wrong."""
    lost = wrong = count = 0
    with results.open() as rows:
        for place, line in enumerate(rows):
            row = json.loads(line)
            item, criterion = divmod(place, CRITERIA)
            lost += row["status"] != "judged" or row["item"] != f"i{item}"
            wrong += row["label"] != right(item, criterion)
            count += 1
    return count, lost, wrong


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--items", type=int, default=2000)
    parser.add_argument("--kills", type=int, default=0)
    parser.add_argument("--workers", type=int, default=2, help="0: one process judges")
    parser.add_argument("--postgres", action="store_true", help="a server for the journal")
    parser.add_argument("--concurrency", type=int, default=32)
    parser.add_argument("--journal", help="a PostgreSQL database; else the run folder's file")
    parser.add_argument("--latency", type=float, default=0.02)
    told = parser.parse_args()
    Endpoint.latency = told.latency
    chance = random.Random(7)
    pairs = told.items * CRITERIA
    with ExitStack() as stack:
        folder = Path(stack.enter_context(tempfile.TemporaryDirectory()))
        cluster = stack.enter_context(RayCluster())
        server = stack.enter_context(PostgresServer()) if told.postgres else None
        journal = told.journal or (server.database("run") if server is not None else None)
        write_data(folder / "data.jsonl", told.items)
        rubric = [
            {"name": f"c{n}", "requirement": f"Says thing number {n}"} for n in range(CRITERIA)
        ]
        (folder / "rubric.json").write_text(json.dumps(rubric))
        command = [sys.executable, "-c", "from rubricate.cli import main; main()", "grade"]
        command += ["data.jsonl", "--rubric", "rubric.json", "--judge", "m", "--no-cache", "-q"]
        command += ["--base-url", f"http://127.0.0.1:{serve()}/v1", "--run-dir", "run"]
        command += ["--concurrency", str(told.concurrency)]
        command += ["--workers", f"{told.workers}@{cluster.address}"] if told.workers else []
        command += ["--journal", journal] if journal else []
        begin = time.monotonic()
        process = subprocess.Popen(command, cwd=folder)
        cpu = CPU(process.pid, cluster, server)
        killed, most = 0, {"driver": 0, "worker": 0}
        marks = sorted(chance.uniform(0.1, 0.9) * pairs for _ in range(told.kills))
        while process.poll() is None:
            time.sleep(0.2)
            alive = cluster.workers()
            if 0.1 * pairs < Endpoint.count < 0.9 * pairs:
                cpu.look(Endpoint.count)
            most["driver"] = max(most["driver"], memory(process.pid))
            most["worker"] = max([most["worker"], *map(memory, alive)])
            there = len(alive) == told.workers
            if there and killed < len(marks) and Endpoint.count > marks[killed]:
                with suppress(ProcessLookupError):
                    os.kill(chance.choice(alive), signal.SIGKILL)
                    killed += 1
        seconds = time.monotonic() - begin
        rows, lost, wrong = checked(folder / "run" / "results.jsonl")
        shown = {
            "pairs": pairs,
            "rows": rows,
            "code": process.returncode,
            "kills": killed,
            "lost": lost,
            "wrong": wrong,
            "requests": Endpoint.count,
            "more": Endpoint.count - pairs,
            "at_most": killed * (told.concurrency + 64),
            "seconds": round(seconds, 1),
            "per_second": round(pairs / seconds),
            "driver_MB": most["driver"],
            "worker_MB": most["worker"],
            "cpu_us": cpu.each(),
        }
        print(json.dumps(shown))


if __name__ == "__main__":
    main()
