"""Measure reading datasets: process time, wall time and peak memory, as medians, in one table.

    ./setup.sh
    python run.py [--records 10000 100000 1000000] [--repeat 5] [--tasks iterate open]

Every measurement is a process of its own, from its start to its end; the kernel counts its CPU time
(user and system) and its peak resident memory. Rounds go over all tasks in turn, so that what else
the machine does falls on all alike. Needs rubricate in the running interpreter.
"""

from __future__ import annotations

import argparse
import os
import statistics
import subprocess
import sys
import time
from pathlib import Path
from typing import NamedTuple

from make_files import make_files

HERE = Path(__file__).parent
PYTHONS = {
    "rubricate": sys.executable,
    "inspect_ai": str(HERE / ".venv-inspect/bin/python"),
    "polars": str(HERE / ".venv-polars/bin/python"),
    "bare": sys.executable,
}


class Task(NamedTuple):
    """What is measured: its row's name, whose interpreter, and the arguments of `task.py`."""

    label: str
    python: str
    arguments: tuple[str, str]
    suffix: str


TASKS = (
    Task("inspect_ai, loaded and iterated", "inspect_ai", ("inspect", "iterate"), "jsonl"),
    Task("rubricate, loaded and iterated", "rubricate", ("ours", "iterate"), "jsonl"),
    Task("rubricate, opened", "rubricate", ("ours", "open"), "jsonl"),
    Task("inspect_ai, limit=10", "inspect_ai", ("inspect", "limit"), "jsonl"),
    Task("rubricate, limit=10", "rubricate", ("ours", "limit"), "jsonl"),
    Task("inspect_ai, import", "inspect_ai", ("inspect", "import"), "jsonl"),
    Task("rubricate, import", "rubricate", ("ours", "import"), "jsonl"),
    Task("orjson by line", "bare", ("bare", "orjson"), "jsonl"),
    Task("polars", "polars", ("bare", "polars"), "jsonl"),
    Task("inspect_ai, loaded and iterated", "inspect_ai", ("inspect", "iterate"), "csv"),
    Task("rubricate, loaded and iterated", "rubricate", ("ours", "iterate"), "csv"),
    Task("rubricate, limit=10", "rubricate", ("ours", "limit"), "csv"),
    Task("csv.reader", "bare", ("bare", "csv"), "csv"),
    Task("polars", "polars", ("bare", "polars"), "csv"),
)


class Measured(NamedTuple):
    """One process: CPU seconds, CPU seconds of the call alone, wall seconds, peak MB."""

    process: float
    call: float
    wall: float
    memory: float


def measure(task: Task, file: Path) -> Measured:
    """Run one task to its end."""
    start = time.perf_counter()
    command = [PYTHONS[task.python], str(HERE / "task.py"), *task.arguments, str(file)]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        call = float(process.stdout.read())
        _, status, usage = os.wait4(process.pid, 0)
        process.returncode = os.waitstatus_to_exitcode(status)
    wall = time.perf_counter() - start
    return Measured(usage.ru_utime + usage.ru_stime, call, wall, usage.ru_maxrss / 1024)


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("--records", type=int, nargs="+", default=[10_000, 100_000, 1_000_000])
    parser.add_argument("--repeat", type=int, default=5)
    known = list(dict.fromkeys(task.arguments[1] for task in TASKS))
    parser.add_argument("--tasks", nargs="+", choices=known, default=known)
    parser.add_argument("--folder", type=Path, default=HERE / "files")
    options = parser.parse_args()
    tasks = [task for task in TASKS if task.arguments[1] in {"iterate", *options.tasks}]
    print("| records | file | what | process s | call s | wall s | peak MB | time | memory |")
    print("|---:|---|---|---:|---:|---:|---:|---:|---:|")
    for count in options.records:
        make_files(options.folder, count)
        found: dict[Task, list[Measured]] = {task: [] for task in tasks}
        for _ in range(options.repeat):
            for task in tasks:
                found[task].append(measure(task, options.folder / f"{count}.{task.suffix}"))
        base = {task.suffix: task for task in reversed(TASKS) if task.arguments[1] == "iterate"}
        base |= {task.suffix: task for task in TASKS if task.arguments == ("inspect", "iterate")}
        for task in tasks:
            columns = zip(*found[task], strict=True)
            median = Measured(*(statistics.median(column) for column in columns))
            theirs = found[base[task.suffix]]
            time_ratio = median.process / statistics.median(one.process for one in theirs)
            memory_ratio = median.memory / statistics.median(one.memory for one in theirs)
            print(
                f"| {count} | {task.suffix} | {task.label} | {median.process:.2f} "
                f"| {median.call:.3f} | {median.wall:.2f} | {median.memory:.0f} "
                f"| {time_ratio:.3f} | {memory_ratio:.2f} |",
                flush=True,
            )


if __name__ == "__main__":
    main()
