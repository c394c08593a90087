"""One thing to measure, in a process of its own: `python task.py TASK FILE`.

Prints the CPU seconds of the call itself, imports left out.
"""

from __future__ import annotations

import sys
import time
from pathlib import Path
from typing import Any

NAMES = ["topic", "level", "note"]


def _iterated(dataset: Any) -> None:
    characters = 0
    for sample in dataset:
        characters += len(sample.target)


def ours(task: str, file: str) -> float:
    from rubricate.dataset import FieldSpec, csv_dataset, json_dataset

    fields = FieldSpec(metadata=NAMES) if file.endswith(".csv") else None
    reader: Any = csv_dataset if file.endswith(".csv") else json_dataset
    start = time.process_time()
    if task == "limit":
        reader(file, fields, limit=10)
    elif task == "open":
        reader(file, fields)
    elif task == "iterate":
        _iterated(reader(file, fields))
    return time.process_time() - start


def inspect(task: str, file: str) -> float:
    from inspect_ai.dataset import FieldSpec, csv_dataset, json_dataset

    fields = FieldSpec(metadata=NAMES) if file.endswith(".csv") else None
    reader: Any = csv_dataset if file.endswith(".csv") else json_dataset
    start = time.process_time()
    if task == "limit":
        reader(file, fields, limit=10)
    elif task == "iterate":
        _iterated(reader(file, fields))
    return time.process_time() - start


def bare(task: str, file: str) -> float:
    start = time.process_time()
    if task == "orjson":
        import orjson

        with Path(file).open("rb") as lines:
            for line in lines:
                orjson.loads(line)
    elif task == "csv":
        import csv

        with Path(file).open(newline="", encoding="utf-8") as text:
            for _ in csv.reader(text):
                pass
    elif task == "polars":
        import polars

        _ = polars.read_csv(file) if file.endswith(".csv") else polars.read_ndjson(file)
    return time.process_time() - start


if __name__ == "__main__":
    who, what, where = sys.argv[1:]
    print({"ours": ours, "inspect": inspect, "bare": bare}[who](what, where))
