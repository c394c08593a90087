"""How long a page of many items takes in Chromium, from an input until its result is painted.

    python benchmarks/view/speed.py [--items 10000] [--criteria 10] [--repeat 20] [--run FOLDER]

Needs Chromium and the extra `dev`. For each kind of input, the medians and the worst of all
repetitions, in milliseconds: on the clock, which counts other programs too, and of CPU time of the
page's thread, which does not.
"""

from __future__ import annotations

import argparse
import random
import shutil
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from playwright.sync_api import Page, sync_playwright

import rubricate

SYLLABLES = [first + second for first in "bcdfglmnprst" for second in "aeiou"]
UNTIL_PAINTED = """async (input) => {
  const start = performance.now();
  await eval(input);
  await new Promise((painted) => requestAnimationFrame(() => setTimeout(painted)));
  return performance.now() - start;
}"""
"""A task that a frame starts runs when the frame is painted."""
TYPE = "at('search').value = {!r}; at('search').dispatchEvent(new Event('input'));" + (
    "new Promise(requestAnimationFrame)"
)
CHOOSE = "at({!r}).selectedIndex = {}; at({!r}).dispatchEvent(new Event('change'))"
HEAD = "document.querySelectorAll('#grid thead button')[{}].click()"


def grade(folder: Path, items: int, criteria: int) -> None:
    """Grade random texts of 1,500 characters by a random judge."""
    some = random.Random(7)
    words = ["".join(some.choices(SYLLABLES, k=some.randint(1, 4))) for _ in range(20_000)]

    def text(count: int) -> str:
        return " ".join(some.choices(words, k=count))

    def judge(_: Any) -> dict[str, Any]:
        verdict = some.choices(["MET", "UNMET", "CANNOT_ASSESS"], [60, 35, 5])[0]
        return {"verdict": verdict, "reason": text(25), "evidence": []}

    rows = [
        {
            "id": f"item-{number}",
            "description": text(6),
            "prompt": text(20),
            "submission": text(250),
            "metadata": {"field": words[number % 50], "source": text(12), "number": number},
        }
        for number in range(items)
    ]
    rubric = [f"{text(2)} {number}" for number in range(criteria)]
    rubricate.grade(rows, judge, rubric=rubric, run_dir=folder, cache=None)


@contextmanager
def served(folder: Path) -> Iterator[str]:
    """Serve the page of a run, and return its address."""
    command = [sys.executable, "-m", "rubricate", "view", str(folder), "--no-browser"]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        try:
            yield process.stdout.readline().strip()
        finally:
            process.terminate()


def inputs(page: Page, repeat: int) -> Iterator[tuple[str, str]]:
    """The inputs of a kind each, as JavaScript."""
    some = random.Random(8)
    words = ["".join(some.choices(SYLLABLES, k=1 + number % 3)) for number in range(repeat)]
    for word in words:
        yield "search", TYPE.format(word)
    yield "", TYPE.format("")
    columns = page.locator("#grid thead button").count()
    for number in range(repeat):
        yield "sort", HEAD.format(number % columns)
    yield "", "at('clear').click()"
    for number in range(repeat):
        field = ("verdict", "criterion", "only", "field")[number % 4]
        yield "filter", CHOOSE.format(field, f"1 + {number // 4} % 3", field)
        if number % 4 == 3:
            yield "clear", "at('clear').click()"
    yield "", "at('clear').click()"
    for number in range(repeat):
        yield "next page", f"at('grid').scrollTop = {number + 1} * at('grid').clientHeight"
    for number in range(repeat):
        yield "open item", f"go('items', {{ item: entries[{number * 487} % entries.length].id }})"
        yield "all items", "go('items', { item: '' })"


def measure(page: Page, repeat: int) -> dict[str, list[tuple[float, float]]]:
    """The times of each kind of input: on the clock, and of the page's thread."""
    times: dict[str, list[tuple[float, float]]] = {}
    devtools = page.context.new_cdp_session(page)
    devtools.send("Performance.enable", {"timeDomain": "threadTicks"})

    def busy() -> float:
        metrics = devtools.send("Performance.getMetrics")["metrics"]
        return next(1000 * one["value"] for one in metrics if one["name"] == "TaskDuration")

    for kind, script in inputs(page, repeat):
        before = busy()
        clock = page.evaluate(UNTIL_PAINTED, script)
        times.setdefault(kind, []).append((clock, busy() - before))
    times.pop("")
    return times


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--items", type=int, default=10_000)
    parser.add_argument("--criteria", type=int, default=10)
    parser.add_argument("--repeat", type=int, default=20)
    parser.add_argument("--run", type=Path, help="the run folder; it is created if there is none")
    options = parser.parse_args()
    chromium = next(filter(None, map(shutil.which, ("chromium", "chromium-browser"))))
    with tempfile.TemporaryDirectory() as name, sync_playwright() as driver:
        folder = options.run or Path(name) / "run"
        if not folder.exists():
            grade(folder, options.items, options.criteria)
        browser = driver.chromium.launch(executable_path=chromium, args=["--no-sandbox"])
        with served(folder) as url:
            page = browser.new_page(viewport={"width": 1280, "height": 860}, bypass_csp=True)
            start = time.perf_counter()
            page.goto(f"{url}#/items", wait_until="commit")
            page.wait_for_selector("#items #grid tr[data-id]", timeout=120_000)
            print(f"first rows after {time.perf_counter() - start:.1f} s, ", end="")
            page.wait_for_function("texts.length === entries.length", timeout=120_000)
            print(f"texts after {time.perf_counter() - start:.1f} s")
            print("| input | n | median ms | worst ms | median CPU ms | worst CPU ms |")
            print("|---|---:|---:|---:|---:|---:|")
            for kind, pairs in measure(page, options.repeat).items():
                clock, cpu = zip(*pairs, strict=True)
                figures = [f(some) for some in (clock, cpu) for f in (statistics.median, max)]
                print(f"| {kind} | {len(pairs)} |", " | ".join(f"{ms:.0f}" for ms in figures), "|")
        browser.close()


if __name__ == "__main__":
    main()
