"""Simulate labels chosen at random, actively and by uncertainty.

It prints the tables of docs/coverage.md.

    python tools/check_labels.py [DATA] [--draws 400] [--labels 50] [--only raters]

Without DATA, it uses 1,000 items of a judge that is right in 78 % of them, less often where it is
less sure. With DATA, a folder in the format of `tools/check_promises.py`, it uses all data sets of
at least 200 pairs whose judge states its confidence. Items are ordered and weighted by the
functions of `rubricate label` and `rubricate trust`, and the first ones get their labels. A row has
the mean of the estimates, and how often the 95 % interval contained the figure of all items. The
last table has data sets of scores with two or more raters: the first stands for the judge, the
second for people.
"""

from __future__ import annotations

import argparse
import json
from collections.abc import Iterator
from pathlib import Path

import numpy as np
from check_promises import Population, read_populations

from rubricate.dataset import DataItem, Item
from rubricate.labelling import chances, label_order
from rubricate.rubric import Rubric
from rubricate.stats import (
    Estimate,
    corrected_mean,
    corrected_share,
    exact_interval,
    label_agreement,
    score_agreement,
    weights_by_chance,
)

LABELS = (20, 50, 100)
OF_SCORES = ("bias", "mae", "pearson", "krippendorff_alpha", "exact_accuracy", "people's mean")
RUBRIC = Rubric.from_dict([{"name": "c", "requirement": "x"}])


def simulated(items: int = 1000) -> Population:
    """Simulate an overconfident judge whose confidence predicts how often it is right."""
    generator = np.random.default_rng(0)
    right = generator.beta(2.2, 0.7, items)
    sure = 0.5 + right / 2
    human = (generator.random(items) < 0.4).astype(float)
    judge = np.where(generator.random(items) < right, human, 1 - human)
    return Population("simulated, 1,000 items", human, judge, sure, np.arange(items))


def estimates(
    of: Population, sample: list[int], weights: list[float] | None
) -> dict[str, Estimate]:
    """Return the estimates from the labels of a sample."""
    judge, human = ([_label(met) for met in side[sample]] for side in (of.judge, of.human))
    agreement = label_agreement(judge, human, labels=["MET", "UNMET"], weights=weights)
    known = np.full(len(of.human), np.nan)
    known[sample] = of.human[sample]
    every = None
    if weights is not None:
        by_item = dict(zip(sample, weights, strict=True))
        every = [by_item.get(n) for n in range(len(known))]
    mean = corrected_mean(list(of.judge), list(known), weights=every).prediction_powered
    return {
        "accuracy": agreement.figures["accuracy"],
        "kappa": agreement.figures["cohen_kappa"],
        "people's mean": mean,
    }


def _label(met: float) -> str:
    return "MET" if met else "UNMET"


def rows(of: Population, labels: int, draws: int) -> Iterator[str]:
    """Return a row for each way of choosing labels and each figure."""
    items = [
        Item(str(n), data=DataItem(str(n)), id=str(n), rubric=RUBRIC) for n in range(len(of.human))
    ]
    confidences = {str(n): {"c": float(sure)} for n, sure in enumerate(of.sure)}
    chance = chances(items, confidences)
    truth = of.figures()
    truth["people's mean"] = truth.pop("PPI++ mean")
    for how in ("random", "active", "uncertainty"):
        found: dict[str, list[Estimate]] = {}
        for seed in range(draws):
            order = label_order(items, how, confidences=confidences, labels={}, seed=seed)
            sample = [int(item) for item in order[:labels]]
            weights = None
            if how == "active":
                weights = weights_by_chance([chance[str(n)] for n in sample], len(items))
            for name, estimate in estimates(of, sample, weights).items():
                found.setdefault(name, []).append(estimate)
        for name, each in found.items():
            values = np.array([estimate.value for estimate in each if estimate.value is not None])
            ends = [(e.low, e.high) for e in each if e.low is not None and e.high is not None]
            held = np.mean([low <= truth[name] <= high for low, high in ends])
            wide = np.mean([high - low for low, high in ends])
            yield (
                f"| {of.name} | {how} | {name} | {truth[name]:.3f} | {values.mean():.3f} | "
                f"{values.std():.3f} | {100 * held:.0f} % | {wide:.2f} |"
            )


def carried(of: Population, labels: int, draws: int) -> str:
    """Return a row with error rates from some labels, applied to the other items, of which fewer
    are MET."""
    generator = np.random.default_rng(0)
    held, judged, wide = [], [], []
    for _ in range(draws):
        order = generator.permutation(len(of.human))
        judge, human = (side[order[:labels]] for side in (of.judge, of.human))
        rest = order[labels:]
        keep = (of.human[rest] == 0) | (generator.random(len(rest)) < 0.5)
        says, truth = of.judge[rest][keep], float(of.human[rest][keep].mean())
        if not 0 < human.sum() < labels:
            continue
        estimate = corrected_share(
            float(says.mean()),
            len(says),
            sensitivity=float(judge[human == 1].mean()),
            positive=float(human.sum()),
            specificity=float(1 - judge[human == 0].mean()),
            negative=float(labels - human.sum()),
        )
        plain = exact_interval(int(says.sum()), len(says))
        if plain.low is not None and plain.high is not None:
            judged.append(plain.low <= truth <= plain.high)
        if estimate.low is not None and estimate.high is not None:
            held.append(estimate.low <= truth <= estimate.high)
            wide.append(estimate.high - estimate.low)
    return (
        f"| {of.name} | {labels} | {100 * np.mean(judged):.0f} % | {100 * np.mean(held):.0f} % | "
        f"{np.mean(wide):.2f} |"
    )


def raters(folder: Path, draws: int) -> Iterator[str]:
    """Return a row for each data set of scores with two raters, and each number of labels."""
    yield "| data | labels | " + " | ".join(f"{name}" for name in OF_SCORES) + " |"
    yield "|---|---:|" + "---:|" * len(OF_SCORES)
    for path in sorted(folder.glob("*.jsonl")):
        scores = [
            criterion["human"][:2]
            for line in path.read_text(encoding="utf-8").splitlines()
            for criterion in json.loads(line).get("criteria", ())
            if criterion["kind"] == "score" and len(criterion["human"]) > 1
        ]
        if len(scores) < 2 * min(LABELS):
            continue
        judge, human = np.array(scores, float).T
        truth = score_agreement(judge.tolist(), human.tolist(), scale=True).figures
        for labels in (each for each in LABELS if each < len(scores)):
            generator = np.random.default_rng(0)
            held: dict[str, list[bool]] = {name: [] for name in OF_SCORES}
            for _ in range(draws):
                at = generator.permutation(len(scores))[:labels]
                figures = dict(
                    score_agreement(judge[at].tolist(), human[at].tolist(), scale=True).figures
                )
                known = np.full(len(scores), np.nan)
                known[at] = human[at]
                mean = corrected_mean(judge.tolist(), known.tolist()).prediction_powered
                for name in OF_SCORES:
                    estimate, value = figures.get(name, mean), float(human.mean())
                    if name in truth:
                        value = truth[name].value or 0.0
                    if estimate.low is not None and estimate.high is not None:
                        held[name].append(estimate.low <= value <= estimate.high)
            cells = " | ".join(
                f"{100 * np.mean(each):.0f} %" if 5 * len(each) >= draws else "no interval"
                for each in held.values()
            )
            yield f"| {path.stem} | {labels} | {cells} |"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("data", nargs="?", type=Path)
    parser.add_argument("--draws", type=int, default=400)
    parser.add_argument("--labels", type=int, default=50)
    parser.add_argument("--only", choices=["raters"])
    arguments = parser.parse_args()
    if arguments.data is not None and arguments.only:
        print("\n".join(raters(arguments.data, arguments.draws)))
        return
    print("| data, judge | choice | figure | all items | mean | sd | holds | width |")
    print("|---|---|---|---:|---:|---:|---:|---:|")
    populations = [simulated()]
    if arguments.data is not None:
        for each in read_populations(arguments.data, frozenset()):
            known = ~np.isnan(each.sure)
            if known.all() and len(known) >= 200:
                populations.append(each)
    for population in populations:
        for row in rows(population, arguments.labels, arguments.draws):
            print(row, flush=True)
    print(
        "\n| data, judge | certified labels | the judge's share holds | corrected holds | width |"
    )
    print("|---|---:|---:|---:|---:|")
    for population in populations:
        print(carried(population, 2 * arguments.labels, arguments.draws), flush=True)
    if arguments.data is not None:
        print("", *raters(arguments.data, arguments.draws), sep="\n")


if __name__ == "__main__":
    main()
