"""Print the coverage tables of docs/trust.md: how often intervals hold the truth, by simulation.

    python tools/coverage_tables.py [--sets 2000]

Every interval is made by the public function that users call; about two minutes for 2,000 sets.
"""

from __future__ import annotations

import argparse
from collections import Counter

import numpy as np

from rubricate.stats import Estimate, clustered_mean, clustered_share, corrected_mean

SEED = 20261121
CLUSTERED = [
    (clusters, size, share, correlation)
    for clusters in (50, 200)
    for size, share, correlation in (
        (5, 0.5, 0.2),
        (5, 0.8, 0.3),
        (5, 0.9, 0.3),
        (3, 0.7, 0.5),
        (10, 0.9, 0.2),
    )
]
"""Clusters, outcomes in each, the share of successes, and their correlation within a cluster."""
CORRECTED = [
    (labelled, share, sensitivity, specificity)
    for labelled in (50, 200)
    for share, sensitivity, specificity in (
        (0.5, 0.8, 0.8),
        (0.6, 0.9, 0.75),
        (0.8, 0.95, 0.7),
        (0.9, 0.9, 0.8),
        (0.2, 0.7, 0.95),
    )
]
"""Labelled items of 1,000, the true share, and the judge's sensitivity and specificity."""
ITEMS = 1000


def holds(interval: Estimate, truth: float) -> bool:
    """Whether an interval is there and has the truth in it."""
    low, high = interval.low, interval.high
    return low is not None and high is not None and low <= truth <= high


def clustered(sets: int, chance: np.random.Generator) -> None:
    """Beta-binomial clusters: the share of each is drawn, so that outcomes in it correlate."""
    print("| clusters x size, p, r | t | as given |\n|---|---:|---:|")
    for clusters, size, share, correlation in CLUSTERED:
        groups = np.repeat(np.arange(clusters), size).tolist()
        spread = (1 - correlation) / correlation
        held: Counter[str] = Counter()
        for _ in range(sets):
            shares = chance.beta(share * spread, (1 - share) * spread, clusters)
            outcomes = (chance.random((clusters, size)) < shares[:, None]).ravel()
            by_t = clustered_mean(outcomes.astype(float).tolist(), groups=groups).mean
            held["t"] += holds(by_t, share)
            held["given"] += holds(clustered_share(outcomes.tolist(), groups=groups), share)
        t, given = (f"{100 * held[name] / sets:.1f}" for name in ("t", "given"))
        print(f"| {clusters} x {size}, {share}, {correlation} | {t} | {given} |", flush=True)


def corrected(sets: int, chance: np.random.Generator) -> None:
    """A judge that errs at random, and a random sample of its items labelled."""
    names = ("naive", "labelled_only", "prediction_powered", "rogan_gladen")
    print("\n| labelled, p, sensitivity, specificity | judge's own | labels alone | PPI++", end="")
    print(" | Rogan-Gladen | none |\n|---|---:|---:|---:|---:|---:|")
    for labelled, share, sensitivity, specificity in CORRECTED:
        held: Counter[str] = Counter()
        for _ in range(sets):
            truth = chance.random(ITEMS) < share
            says = chance.random(ITEMS) < np.where(truth, sensitivity, 1 - specificity)
            human = [float(one) if place < labelled else None for place, one in enumerate(truth)]
            found = corrected_mean(says.astype(float).tolist(), human)
            for name in names:
                held[name] += holds(getattr(found, name), share)
            held["none"] += found.rogan_gladen.low is None
        figures = " | ".join(f"{100 * held[name] / sets:.1f}" for name in (*names, "none"))
        print(f"| {labelled}, {share}, {sensitivity}, {specificity} | {figures} |", flush=True)


def main() -> None:
    """Print both tables."""
    options = argparse.ArgumentParser()
    options.add_argument("--sets", type=int, default=2000)
    sets = options.parse_args().sets
    chance = np.random.default_rng(SEED)
    clustered(sets, chance)
    corrected(sets, chance)


if __name__ == "__main__":
    main()
