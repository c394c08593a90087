"""Print the table of docs/measurements.md on planted biases and what remains of them.

    python tools/bias_tables.py

The judges are scripts with known biases, not models. The table shows the effect of orders and
corrections on such biases, and says nothing about the bias of any model.
"""

from __future__ import annotations

import collections
import itertools
import math
import random
import re
from collections.abc import Iterator, Sequence
from typing import Any

import rubricate
from rubricate import Criterion, PythonModel, Rubric, RubricDataset
from rubricate.judge import Completion
from rubricate.stats import calibration

ITEMS = 400
PLACE = 1.5
"""The increase of the log-odds of the first option."""
LIKING = 1.5
"""The increase of the log-odds of MET for all questions."""
HEAD = """| planted bias | asked | accuracy | said MET | Brier | calibration error |
|---|---|---:|---:|---:|---:|"""
PROBABILITY: dict[str, Any] = {"mode": "probability"}
WAYS: dict[str, dict[str, Any]] = {
    "explained, one order": {},
    "explained, `permutations=2`": {"permutations": 2},
    "probability, one order, `correct_prior=False`": {
        **PROBABILITY,
        "permutations": 1,
        "correct_prior": False,
    },
    "probability, `correct_prior=False`": {**PROBABILITY, "correct_prior": False},
    "probability": PROBABILITY,
    "probability, no logprobs": PROBABILITY,
}
BIASES = {"none": (0.0, 0.0), "first place": (PLACE, 0.0), "MET": (0.0, LIKING)}
BIASES["first place and MET"] = (PLACE, LIKING)


def dataset() -> tuple[RubricDataset, list[bool]]:
    """Create texts that state how probable it is that people label them MET, and their labels."""
    chance = random.Random(0)
    found = RubricDataset("t", Rubric([Criterion(name="c", requirement="x")]))
    outcomes = []
    for number in range(ITEMS):
        log_odds = chance.gauss(0.0, 2.0)
        outcomes.append(chance.random() < 1 / (1 + math.exp(-log_odds)))
        found.add_item(f"{number}: {log_odds:.6f}", str(number))
    return found, outcomes


def judge(place_bias: float, liking: float, *, logprobs: bool) -> PythonModel:
    """Create a script that knows the probability, apart from its biases."""
    times: dict[str, Iterator[int]] = collections.defaultdict(itertools.count)

    def answer(messages: Any) -> Any:
        material, _, question = messages[1]["content"].partition("Criterion:")
        said = re.search(r"\d+: (-?[\d.]+)\n", material)
        log_odds = float(said.group(1)) if said else 0.0
        listed = re.findall(r"^- (?:([A-Z])\. )?(\w+)", question, re.MULTILINE)
        weights = {}
        for number, (_, label) in enumerate(listed):
            mine = {"MET": log_odds + liking, "UNMET": 0.0}.get(label, -20.0)
            weights[label] = math.exp(mine + (place_bias if number == 0 else 0.0))
        total = sum(weights.values())
        if not listed[0][0]:
            best = max(weights, key=lambda label: weights[label])
            return {"reason": "by script", "evidence": [], "verdict": best}
        shares = {token: weights[label] / total for token, label in listed}
        text = messages[1]["content"]
        chance = random.Random(f"{next(times[text])} {text}")  # in any order of requests
        drawn = chance.choices([*shares], [*shares.values()])[0]
        return Completion(drawn, probabilities=shares if logprobs else None)

    return PythonModel(answer, name="script")


def rows(biases: Sequence[str] = tuple(BIASES), ways: Sequence[str] = tuple(WAYS)) -> Iterator[str]:
    """Return all rows of the table, or some."""
    data, outcomes = dataset()
    for bias, way in itertools.product(biases, ways):
        (place, liking), options = BIASES[bias], WAYS[way]
        logprobs = "no logprobs" not in way
        result = rubricate.grade(data, judge(place, liking, logprobs=logprobs), **options)
        verdicts = [item.criteria["c"] for item in result]
        said = [verdict.label == "MET" for verdict in verdicts]
        right = sum(one == other for one, other in zip(said, outcomes, strict=True)) / ITEMS
        figures = ["–", "–"]
        if options.get("mode"):
            shares = [(verdict.detail or {})["probabilities"]["MET"] for verdict in verdicts]
            found = calibration(shares, outcomes, bootstrap=None)
            figures = [
                f"{found.brier.value:.3f}",
                f"{found.expected_calibration_error.value:.3f}",
            ]
        cells = (bias, way, f"{right:.3f}", f"{sum(said) / ITEMS:.3f}", *figures)
        yield f"| {' | '.join(cells)} |"


if __name__ == "__main__":
    print(HEAD)
    for row in rows():
        print(row)
