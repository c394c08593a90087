"""Judge many pairs by workers on a Ray cluster of two nodes, and kill some of them.

    python benchmarks/scale/workers.py --items 20000 --kills 4
    python benchmarks/scale/workers.py --items 200000 --journal postgresql://...

An endpoint on this machine knows the right verdict of each pair. Says how many verdicts are lost or
wrong, the requests, seconds, and the most memory that the driver and a worker took.
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
from contextlib import suppress
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[2] / "tools"))
from ray_cluster import RayCluster

CRITERIA = 5
WORKERS = 2
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


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--items", type=int, default=2000)
    parser.add_argument("--kills", type=int, default=0)
    parser.add_argument("--journal", help="a PostgreSQL database; else the run folder's file")
    parser.add_argument("--latency", type=float, default=0.02)
    told = parser.parse_args()
    Endpoint.latency = told.latency
    chance = random.Random(7)
    pairs = told.items * CRITERIA
    with tempfile.TemporaryDirectory() as temporary, RayCluster() as cluster:
        folder = Path(temporary)
        write_data(folder / "data.jsonl", told.items)
        rubric = [
            {"name": f"c{n}", "requirement": f"Says thing number {n}"} for n in range(CRITERIA)
        ]
        (folder / "rubric.json").write_text(json.dumps(rubric))
        command = [sys.executable, "-c", "from rubricate.cli import main; main()", "grade"]
        command += ["data.jsonl", "--rubric", "rubric.json", "--judge", "m", "--no-cache", "-q"]
        command += ["--base-url", f"http://127.0.0.1:{serve()}/v1", "--run-dir", "run"]
        command += ["--workers", f"{WORKERS}@{cluster.address}", "--concurrency", "32"]
        command += ["--journal", told.journal] if told.journal else []
        begin = time.monotonic()
        process = subprocess.Popen(command, cwd=folder)
        killed, most = 0, {"driver": 0, "worker": 0}
        marks = sorted(chance.uniform(0.1, 0.9) * pairs for _ in range(told.kills))
        while process.poll() is None:
            time.sleep(0.2)
            alive = cluster.workers()
            most["driver"] = max(most["driver"], memory(process.pid))
            most["worker"] = max([most["worker"], *map(memory, alive)])
            if killed < len(marks) and Endpoint.count > marks[killed] and len(alive) == WORKERS:
                with suppress(ProcessLookupError):
                    os.kill(chance.choice(alive), signal.SIGKILL)
                    killed += 1
        seconds = time.monotonic() - begin
        lost = wrong = place = 0
        with (folder / "run" / "results.jsonl").open() as rows:
            for place, line in enumerate(rows):
                row = json.loads(line)
                item, criterion = divmod(place, CRITERIA)
                lost += row["status"] != "judged" or row["item"] != f"i{item}"
                wrong += row["label"] != right(item, criterion)
        shown = {
            "pairs": pairs,
            "rows": place + 1,
            "code": process.returncode,
            "kills": killed,
            "lost": lost,
            "wrong": wrong,
            "requests": Endpoint.count,
            "more": Endpoint.count - pairs,
            "at_most": killed * (32 + 64),
            "seconds": round(seconds, 1),
            "per_second": round(pairs / seconds),
            "driver_MB": most["driver"],
            "worker_MB": most["worker"],
        }
        print(json.dumps(shown))


if __name__ == "__main__":
    main()
