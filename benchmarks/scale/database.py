"""What a journal's database costs: by what it holds, over a distance, in connections and in bytes.

    python benchmarks/scale/database.py known [--sizes 5000 20000 80000] [--others 1000000]
    python benchmarks/scale/database.py link [--delay 20] [--judgements 6000]
    python benchmarks/scale/database.py connections [--processes 40] [--most 60]
    python benchmarks/scale/database.py bytes [--judgements 20000]

`known`: runs in a database that holds the answers of other runs, and whose statistics are older
than the run; new, then again with every answer known and the items in another order. `link`: one
process behind a proxy that adds a round trip, as a plain run, a shard and a worker. `connections`:
workers in processes of their own on a server of few connections. `bytes`: what a judgement takes.
The model is in memory. The server is one of its own, with `fsync` on.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import multiprocessing
import os
import random
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import psycopg

import rubricate
from rubricate import Criterion, Rubric, RubricDataset, Usage
from rubricate.judge import Completion, Model, ModelJudge, Request
from rubricate.options import GradingOptions
from rubricate.run.journal import Database
from rubricate.run.workers._driving import LANES
from rubricate.run.workers._worker import Job, Worker

sys.path.append(str(Path(__file__).parents[2] / "tools"))
from postgres_server import PostgresServer

TICKS = os.sysconf("SC_CLK_TCK") if hasattr(os, "sysconf") else 100
REASON = 350
"""Characters of a reason."""
Line = dict[str, Any]


class InMemory(Model):
    """A model that answers after a time."""

    name, endpoint, repeatable = "m", "http://x", False

    def __init__(self, latency: float = 0.0) -> None:
        self._latency = latency
        self._words = random.Random(1)

    def fingerprint(self) -> dict[str, Any]:
        return {"m": 1}

    async def complete(self, request: Request) -> Completion:
        await asyncio.sleep(self._latency)
        reason = f"{self._words.random()} The first sentence says so."
        reply = {"reason": reason.ljust(REASON, "x"), "evidence": [], "verdict": "MET"}
        return Completion(json.dumps(reply), Usage(1, 500, 0, 40))

    async def aclose(self) -> None:
        return None


def dataset(judgements: int, criteria: int = 5, first: int = 0) -> RubricDataset:
    """Different items by so many criteria."""
    asked = [Criterion(name=f"c{n}", requirement=f"criterion {n}") for n in range(criteria)]
    found = RubricDataset("q", Rubric(asked), name="database")
    for number in range(first, first + judgements // criteria):
        found.add_item(f"{number} some words of a text", f"item {number}")
    return found


def shuffled(given: RubricDataset) -> RubricDataset:
    """The same items in another order."""
    items = [*given.items]
    random.Random(2).shuffle(items)
    found = RubricDataset("q", given.rubric, name="database")
    for item in items:
        found.add_item(item.submission, item.id)
    return found


def cpu(server: PostgresServer) -> float:
    """Seconds that a server and its processes have taken."""
    top, ticks = int((server.folder / "data" / "postmaster.pid").read_text().split()[0]), 0
    for stat in Path("/proc").glob("[0-9]*/stat"):
        try:
            fields = stat.read_text().rpartition(")")[2].split()
        except OSError:
            continue
        if int(stat.parent.name) == top:
            ticks += sum(map(int, fields[11:15]))  # with those of its processes that have ended
        elif int(fields[1]) == top:
            ticks += int(fields[11]) + int(fields[12])
    return ticks / TICKS


def query(address: str, text: str) -> list[Any]:
    with psycopg.connect(address, autocommit=True) as connection:
        cursor = connection.execute(text.encode())
        return cursor.fetchall() if cursor.description else []


def graded(given: RubricDataset, address: str | None, folder: Path, **options: Any) -> Any:
    latency = options.pop("latency", 0.0)
    options = {"concurrency": 100, "share_limits": address or "none", **options}
    return rubricate.grade(
        given, ModelJudge(InMemory(latency)), journal=address, run_dir=folder, **options
    )


def known(told: argparse.Namespace) -> Iterator[Line]:
    """What a run costs beside the answers of others."""
    with PostgresServer(fsync="on", full_page_writes="on", autovacuum="off") as server:
        with tempfile.TemporaryDirectory() as folder:
            graded(dataset(5), f"{server.address()}&run=first", Path(folder) / "run")
        query(
            server.address(),
            "INSERT INTO rubricate_records (run, key, record, checksum) SELECT 100 + mod(n, 5),"
            " convert_to(md5(n::text), 'UTF8'), convert_to(repeat(md5(n::text), 12), 'UTF8'), 0"
            f" FROM generate_series(1, {told.others}) n",
        )
        query(server.address(), "VACUUM ANALYZE")
        for judgements in told.sizes:
            address, items = f"{server.address()}&run=r{judgements}", dataset(judgements)
            with tempfile.TemporaryDirectory() as folder:
                for what in ("new", "again"):
                    query(server.address(), "CHECKPOINT")
                    begin, own, of_server = time.perf_counter(), time.process_time(), cpu(server)
                    graded(items, address, Path(folder) / what)
                    yield {
                        "judgements": judgements,
                        "run": what,
                        "seconds": round(time.perf_counter() - begin, 2),
                        "us own CPU": round((time.process_time() - own) / judgements * 1e6),
                        "us database CPU": round((cpu(server) - of_server) / judgements * 1e6),
                    }
                    items = shuffled(items)
                    address = f"{server.address()}&run=r{judgements}"


async def _proxy(port: int, delay: float, ready: Any) -> None:
    async def passed(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        loop = asyncio.get_running_loop()
        while data := await reader.read(1 << 16):
            loop.call_later(delay, writer.write, data)
        loop.call_later(delay, writer.close)

    async def connected(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        there, back = await asyncio.open_connection("127.0.0.1", port)
        await asyncio.gather(passed(reader, back), passed(there, writer), return_exceptions=True)

    server = await asyncio.start_server(connected, "127.0.0.1", 0)
    ready.send(server.sockets[0].getsockname()[1])
    await server.serve_forever()


def _proxying(port: int, delay: float, ready: Any) -> None:
    asyncio.run(_proxy(port, delay, ready))


@contextmanager
def far(server: PostgresServer, delay: float) -> Iterator[str]:
    """The address of a server behind a link with a round trip of so many seconds."""
    here, there = multiprocessing.Pipe()
    process = multiprocessing.Process(target=_proxying, args=(server.port, delay / 2, there))
    process.start()
    try:
        port = here.recv()
        yield server.tcp_address().replace(f":{server.port}/", f":{port}/")
    finally:
        process.terminate()
        process.join()


def _work(items: RubricDataset, address: str, run: str, latency: float, at_once: int) -> None:
    """Judge items as a worker does: in blocks, several at a time."""

    async def work() -> None:
        options = GradingOptions(concurrency=at_once, share_limits=address)
        worker = Worker(Job(ModelJudge(InMemory(latency)), options, Database(address, run)))
        texts = [*items.to_grade()]
        blocks = iter([texts[start : start + 256] for start in range(0, len(texts), 256)])

        async def lane() -> None:
            for block in blocks:
                worker.state()
                await worker.grade(block)

        await asyncio.gather(*(lane() for _ in range(LANES)))
        await worker.aclose()

    asyncio.run(work())


def link(told: argparse.Namespace) -> Iterator[Line]:
    """How many judgements a second a process makes at a distance from its database."""
    latency, at_once, count = 0.05, 32, told.judgements
    # A run of a few judgements takes what comes before the first request and after the last answer.
    with PostgresServer(fsync="on") as server, tempfile.TemporaryDirectory() as folder:
        graded(dataset(5), server.tcp_address() + "?run=first", Path(folder) / "first")
        with far(server, told.delay / 1e3) as address:
            run = {"latency": latency, "concurrency": at_once}
            for what in ("file", "plain", "resumed", "shard", "worker"):
                seconds = []
                for number, size in enumerate((at_once * 5, count)):
                    items, name = dataset(size), f"{what}{number}"
                    place, path = f"{address}?run={name}", Path(folder) / name
                    if what == "resumed":
                        graded(dataset(5, first=10**9), f"{server.tcp_address()}?run={name}", path)
                        path = Path(folder) / f"{name} again"
                    begin = time.perf_counter()
                    if what == "worker":
                        _work(items, address, name, latency, at_once)
                    else:
                        how = run | ({"shard": "1/1"} if what == "shard" else {})
                        graded(items, None if what == "file" else place, path, **how)
                    seconds.append(time.perf_counter() - begin)
                made = (count - at_once * 5) / (seconds[1] - seconds[0])
                yield {
                    "run": what,
                    "ms round trip": told.delay,
                    "judgements/s": round(made),
                    "of ideal": round(made * latency / at_once, 2),
                    "seconds around it": round(seconds[0] - 5 * latency, 2),
                }


def connections(told: argparse.Namespace) -> Iterator[Line]:
    """Workers in processes of their own on a server of few connections."""
    with PostgresServer(max_connections=str(told.most)) as server:
        address, begin = server.tcp_address(), time.perf_counter()
        each = told.judgements // told.processes
        parts = [dataset(each, first=n * each) for n in range(told.processes)]
        workers = [
            multiprocessing.Process(target=_work, args=(part, address, "run", 0.05, 4))
            for part in parts
        ]
        for worker in workers:
            worker.start()
        most = 0
        while any(worker.is_alive() for worker in workers):
            try:
                [(now,)] = query(
                    server.address(),
                    "SELECT count(*) FROM pg_stat_activity WHERE application_name = 'rubricate'",
                )
                most = max(most, now)
            except psycopg.OperationalError:
                most = told.most
            time.sleep(0.05)
        [(found,)] = query(server.address(), "SELECT count(*) FROM rubricate_records")
        yield {
            "processes": told.processes,
            "max_connections": told.most,
            "most at once": most,
            "ended well": sum(worker.exitcode == 0 for worker in workers),
            "answers": f"{found} of {each * told.processes}",
            "seconds": round(time.perf_counter() - begin, 1),
        }


def measured_bytes(told: argparse.Namespace) -> Iterator[Line]:
    """What a judgement takes in the database."""
    sizes = (
        "SELECT pg_table_size('rubricate_records'), pg_indexes_size('rubricate_records'),"
        " pg_total_relation_size('rubricate_texts')"
    )
    with PostgresServer() as server, tempfile.TemporaryDirectory() as folder:
        graded(dataset(5), f"{server.address()}&run=first", Path(folder) / "first")
        [before] = query(server.address(), sizes)
        graded(dataset(told.judgements), f"{server.address()}&run=r", Path(folder) / "run")
        [after] = query(server.address(), sizes)
        [(record, exchanges)] = query(
            server.address(),
            "SELECT avg(length(record)), avg(length(exchanges)) FROM rubricate_records",
        )
        rows, index, texts = (
            round((now - then) / told.judgements) for now, then in zip(after, before, strict=True)
        )
        yield {
            "characters of a reason": REASON,
            "bytes a judgement": rows + index + texts,
            "rows": rows,
            "index": index,
            "texts": texts,
            "of a row: record": round(record),
            "exchange": round(exchanges),
        }


def main() -> None:
    """Measure, and print a table."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("what", choices=["known", "link", "connections", "bytes"])
    parser.add_argument("--sizes", type=int, nargs="+", default=[5_000, 20_000, 80_000])
    parser.add_argument("--others", type=int, default=1_000_000)
    parser.add_argument("--delay", type=float, default=20.0, help="milliseconds")
    parser.add_argument("--judgements", type=int, default=6_000)
    parser.add_argument("--processes", type=int, default=40)
    parser.add_argument("--most", type=int, default=60)
    told = parser.parse_args()
    ways = {"known": known, "link": link, "connections": connections, "bytes": measured_bytes}
    for number, line in enumerate(ways[told.what](told)):
        if not number:
            print(f"| {' | '.join(line)} |\n|{'---|' * len(line)}", flush=True)
        print(f"| {' | '.join(map(str, line.values()))} |", flush=True)


if __name__ == "__main__":
    main()
