"""Try the ways of asking on a real model behind an OpenAI-compatible server, and print a table.

    python tools/real_model.py http://localhost:8080/v1 MODEL [--items 10] [--data DATASET]

The human labels of items show how well each way agrees with people. The last test is the server's
response to a prompt that does not fit. Nothing is cached: each row asks anew. docs/measurements.md
has the figures of one small model.
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import rubricate
from rubricate import Criterion, Result, Rubric, RubricDataset, RunStopped
from rubricate.rubric import Verdict

PHYSICS = Path(__file__).parents[1] / "examples" / "physics.json"
WAYS: dict[str, dict[str, Any]] = {
    "each criterion by itself": {},
    "all criteria in one request": {"criteria_per_call": "all"},
    "both orders of the answers, votes": {"permutations": 2},
    "probability": {"mode": "probability"},
    "probability, one order, no correction": {
        "mode": "probability",
        "permutations": 1,
        "correct_prior": False,
    },
}
HEAD = """| asked | judged | abstained | failed | accuracy | kappa | n | requests each | seconds |
|---|---:|---:|---:|---:|---:|---:|---:|---:|"""


def main() -> None:
    """Ask in each way, and print a row for each."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("base_url")
    parser.add_argument("model")
    parser.add_argument("--data", type=Path, default=PHYSICS)
    parser.add_argument("--items", type=int, default=10)
    parser.add_argument("--max-tokens", type=int, default=400)
    parser.add_argument("--timeout", type=float, default=600.0)
    parser.add_argument("--concurrency", type=int, default=2)
    arguments = parser.parse_args()
    dataset = RubricDataset.from_file(arguments.data)
    options = {
        "base_url": arguments.base_url,
        "limit": arguments.items,
        "deadline": 6 * arguments.timeout,
    }
    options |= {"max_tokens": arguments.max_tokens, "timeout": arguments.timeout}
    options |= {"concurrency": arguments.concurrency}
    print(HEAD, flush=True)
    causes: dict[str, str] = {}
    for name, way in WAYS.items():
        begin = time.monotonic()
        try:
            result = rubricate.grade(dataset, arguments.model, **options, **way)
        except RunStopped as stopped:
            causes[name] = f"stopped: {stopped}"
            if stopped.result is None:
                continue
            result = stopped.result
        print(row(name, result, time.monotonic() - begin), flush=True)
        if (error := result.summary().first_error) is not None:
            causes.setdefault(name, error)
        if "permutations" in way and "mode" not in way:
            causes[f"{name}: verdicts that changed with the order"] = changed(result)
    print(f"\nA prompt that does not fit: {too_long(arguments.base_url, arguments.model)}\n")
    for name, cause in causes.items():
        print(f"- {name}: {cause}")


def row(name: str, result: Result, seconds: float) -> str:
    """Return a row of the table."""
    summary = result.summary()
    counts, figures = summary.verdicts, summary.agreement
    verdicts = sum(counts.values())
    agreed = "– | – | 0"
    if figures is not None and figures.n:
        kappa = "–" if figures.kappa is None else f"{figures.kappa:.2f}"
        agreed = f"{figures.accuracy:.2f} | {kappa} | {figures.n}"
    judged = verdicts - counts["abstained"] - counts["failed"]
    a_judgement = summary.usage.requests / verdicts
    return (
        f"| {name} | {judged} | {counts['abstained']} | {counts['failed']} | {agreed} "
        f"| {a_judgement:.1f} | {seconds:.0f} |"
    )


def changed(result: Result) -> str:
    """Count the verdicts that differ between the two orders, among those with both."""
    both = [labels(verdict) for _, verdict in result.verdicts()]
    both = [pair for pair in both if len(pair) == 2]
    return f"{sum(first != second for first, second in both)} of {len(both)}"


def labels(verdict: Verdict) -> Sequence[str]:
    """Return the votes in each order."""
    return [vote.label for vote in verdict.votes if vote.label is not None]


def too_long(base_url: str, model: str) -> str:
    """Return the response to a prompt of about 200,000 tokens, and how it is understood."""
    dataset = RubricDataset("Is it fast?", Rubric([Criterion(name="c", requirement="Says so")]))
    dataset.add_item("light is fast " * 60_000)
    try:
        result = rubricate.grade(dataset, model, base_url=base_url, max_tokens=5)
    except RunStopped as stopped:
        return f"stopped the run: {stopped}"
    error = result.items[0].criteria["c"].error
    return "was taken" if error is None else f"{error.kind}: {error.message}"


if __name__ == "__main__":
    main()
