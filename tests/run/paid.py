"""A run whose every request costs a cent, and is counted in a file where it is sent.

Called by tests, and by a program of its own where they kill it.
"""

from __future__ import annotations

import asyncio
import json
import sys
from pathlib import Path
from typing import Any

import rubricate
from rubricate import Criterion, PythonModel, Rubric, RubricDataset, Usage
from rubricate.errors import RunStopped
from rubricate.judge import Completion

PRICE = 0.01
MET = '{"reason": "r", "evidence": [], "verdict": "MET"}'


def paid_dataset(items: int) -> RubricDataset:
    dataset = RubricDataset("p", Rubric([Criterion(name="c", requirement="criterion c")]))
    for number in range(items):
        dataset.add_item(f"text {number}", f"i{number}")
    return dataset


_now: dict[str, Any] = {}  # no part of the judge, whose answers come again with another delay


async def judge(messages: Any) -> Completion:
    with _now["bill"].open("ab", buffering=0) as file:
        file.write(b".")
    await asyncio.sleep(_now["delay"])
    return Completion(MET, Usage(requests=1, cost=PRICE))


def graded(options: dict[str, Any], bill: Path, items: int, delay: float) -> str:
    """Why it ended."""
    _now.update(bill=bill, delay=delay)
    try:
        rubricate.grade(paid_dataset(items), PythonModel(judge, name="paid"), **options)
    except RunStopped as error:
        return str(error)
    return "finished"


def main() -> None:
    print(graded(json.loads(sys.argv[1]), Path(sys.argv[2]), int(sys.argv[3]), float(sys.argv[4])))
