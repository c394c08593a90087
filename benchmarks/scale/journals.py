"""One process with its journal in a file and in PostgreSQL, in turns: CPU a judgement, and speed.

    python benchmarks/scale/journals.py [RUNS [ITEMS]]

The model is in memory and answers at once, so that nothing but rubricate and the journals is
measured. Each run is then taken up again, with every answer known. The server is one of its own.
"""

from __future__ import annotations

import asyncio
import gc
import json
import random
import statistics
import sys
import tempfile
import time
from collections import defaultdict
from pathlib import Path
from typing import Any

import rubricate
from rubricate import Criterion, Rubric, RubricDataset, Usage
from rubricate.judge import Completion, Model, ModelJudge, Request

sys.path.append(str(Path(__file__).parents[2] / "tools"))
from postgres_server import PostgresServer

CRITERIA = 10
REPLY = json.dumps({"reason": "The first sentence says so.", "evidence": [], "verdict": "MET"})


class InMemory(Model):
    """A model that answers at once."""

    name, endpoint, repeatable = "m", "http://x", False

    def fingerprint(self) -> dict[str, Any]:
        return {"m": 1}

    async def complete(self, request: Request) -> Completion:
        await asyncio.sleep(0)
        return Completion(REPLY, Usage(input_tokens=500, output_tokens=40, requests=1))

    async def aclose(self) -> None:
        return None


def main() -> None:
    """Run, and print medians."""
    runs, items = (int(given) for given in [*sys.argv[1:], "5", "1000"][:2])
    chance = random.Random(1)
    words = [f"word{number}" for number in range(3000)]
    rubric = Rubric(
        [Criterion(name=f"c{n}", requirement=f"criterion {n}") for n in range(CRITERIA)]
    )
    dataset = RubricDataset("q", rubric, name="journals")
    for number in range(items):
        dataset.add_item(f"{number} {' '.join(chance.choices(words, k=300))}", f"item {number}")
    found = defaultdict(list)
    with PostgresServer(fsync="on", full_page_writes="on") as server:
        for number in range(runs):
            for kind in ("file", "PostgreSQL"):
                address = f"{server.address()}&run=r{number}"
                journal = address if kind == "PostgreSQL" else None
                with tempfile.TemporaryDirectory() as folder:
                    for what in ("new", "again"):
                        gc.collect()
                        cpu, wall = time.process_time(), time.perf_counter()
                        rubricate.grade(
                            dataset,
                            ModelJudge(InMemory()),
                            concurrency=100,
                            run_dir=Path(folder) / "run",
                            journal=journal,
                        )
                        found[kind, what].append(
                            (time.process_time() - cpu, time.perf_counter() - wall)
                        )
    count = items * CRITERIA
    for (kind, what), times in found.items():
        cpu, wall = (statistics.median(values) for values in zip(*times, strict=True))
        print(
            f"{what:6} {kind:10} {cpu / count * 1e3:.3f} ms CPU, {count / wall:6.0f} judgements/s"
        )


if __name__ == "__main__":
    main()
