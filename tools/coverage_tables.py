"""Print the coverage tables of docs/statistics.md: how often simulated intervals hold the truth.

    python tools/coverage_tables.py [--sets 2000] [--only shares,kappas,together]

Every interval is made by the public function that users call; about half an hour for 2,000 sets.
"""

from __future__ import annotations

import argparse
from collections import Counter

import numpy as np

from rubricate.stats import (
    Estimate,
    clustered_mean,
    clustered_share,
    corrected_mean,
    label_agreement,
    score_agreement,
    stratified_agreement,
)

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
KAPPAS = (0.0, 0.3, 0.6, 0.8, 0.9)
SHARES = (0.5, 0.7, 0.9)
"""Of MET, by the judge as by people."""
LABELLED = [
    (20, 1, 0.0),
    (50, 1, 0.0),
    (200, 1, 0.0),
    (3, 7, 0.2),
    (7, 3, 0.2),
]
"""Clusters, pairs in each, and how far the pairs of one hang together."""
TOGETHER = [(3, 20), (3, 47), (10, 20), (40, 10)]
"""Criteria, and items that have a label on each."""
CORRELATIONS = [(20, 1), (50, 1), (200, 1), (3, 7), (7, 3), (10, 5)]
"""Clusters, and pairs of numbers in each."""


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


def cells(kappa: float, share: float) -> list[float]:
    """The shares of (MET, MET), (MET, UNMET), (UNMET, MET), (UNMET, UNMET)."""
    expected = share**2 + (1 - share) ** 2
    apart = (1 - kappa) * (1 - expected) / 2
    return [share - apart, apart, apart, 1 - share - apart]


def kappas(sets: int, chance: np.random.Generator) -> None:
    """Pairs of labels, those of one cluster with shares of their own."""
    heads = " | ".join(f"{kappa:g}" for kappa in KAPPAS)
    print(f"\n| clusters x size, r | {heads} |\n|---|{'---:|' * len(KAPPAS)}")
    judge, human = np.array(["MET", "MET", "UNMET", "UNMET"]), np.array(["MET", "UNMET"] * 2)
    for clusters, size, correlation in LABELLED:
        groups = np.repeat(np.arange(clusters), size).tolist() if size > 1 else None
        row = []
        for kappa in KAPPAS:
            held = []
            for share in SHARES:
                even = np.array(cells(kappa, share))
                known: list[bool] = []
                for _ in range(sets):
                    of = np.tile(even, (clusters, 1))
                    if correlation:
                        of = chance.dirichlet(even * (1 - correlation) / correlation, clusters)
                    drawn = np.concatenate([chance.choice(4, size, p=one) for one in of])
                    found = label_agreement(
                        judge[drawn].tolist(), human[drawn].tolist(), groups=groups
                    ).figures["cohen_kappa"]
                    if found.value is not None:
                        known.append(holds(found, kappa))
                held.append(100 * np.mean(known))
            row.append(f"{min(held):.1f} to {max(held):.1f}")
        print(f"| {clusters} x {size}, {correlation} | {' | '.join(row)} |", flush=True)


def together(sets: int, chance: np.random.Generator) -> None:
    """Kappa over several criteria, and correlations of numbers."""
    heads = " | ".join(f"{kappa:g}" for kappa in KAPPAS)
    print(f"\n| criteria x items | {heads} |\n|---|{'---:|' * len(KAPPAS)}")
    judge, human = np.array(["MET", "MET", "UNMET", "UNMET"]), np.array(["MET", "UNMET"] * 2)
    for criteria, items in TOGETHER:
        strata, groups = np.arange(criteria).repeat(items), np.tile(np.arange(items), criteria)
        row = []
        for kappa in KAPPAS:
            held = 0
            of = [cells(kappa, (0.3, 0.5, 0.7, 0.8)[one % 4]) for one in range(criteria)]
            for _ in range(sets):
                drawn = np.concatenate([chance.choice(4, items, p=one) for one in of])
                pairs = judge[drawn].tolist(), human[drawn].tolist()
                found = stratified_agreement(*pairs, strata.tolist(), groups=groups.tolist())
                held += holds(found.kappa, kappa)
            row.append(f"{100 * held / sets:.1f}")
        print(f"| {criteria} x {items} | {' | '.join(row)} |", flush=True)
    names = ("pearson", "spearman", "icc_2_1", "krippendorff_alpha", "mae")
    print(f"\n| clusters x size | {' | '.join(names)} |\n|---|{'---:|' * len(names)}")
    truth = _numbers(200_000, 1, chance)
    exact = {name: score_agreement(*truth, bootstrap=None).figures[name].value for name in names}
    for clusters, size in CORRELATIONS:
        groups = np.repeat(np.arange(clusters), size)
        counts: Counter[str] = Counter()
        for _ in range(sets):
            numbers = score_agreement(*_numbers(clusters, size, chance), groups=groups.tolist())
            for name in names:
                counts[name] += holds(numbers.figures[name], exact[name] or 0.0)
        figures = " | ".join(
            f"{100 * counts[name] / sets:.1f}" if counts[name] else "no interval" for name in names
        )
        print(f"| {clusters} x {size} | {figures} |", flush=True)


def _numbers(clusters: int, size: int, chance: np.random.Generator) -> tuple[list[float], ...]:
    """Normal numbers of a person and of a judge that correlate by 0.8, by 0.4 within a cluster."""
    shared = np.repeat(chance.normal(size=(clusters, 2)), size, axis=0)
    human, other = (0.4**0.5 * shared + 0.6**0.5 * chance.normal(size=shared.shape)).T
    return (0.8 * human + 0.6 * other).tolist(), human.tolist()


def shares(sets: int, chance: np.random.Generator) -> None:
    """Shares, and means corrected by a few labels."""
    clustered(sets, chance)
    corrected(sets, chance)


TABLES = {
    "shares": shares,
    "kappas": kappas,
    "together": together,
}


def main() -> None:
    """Print the tables."""
    options = argparse.ArgumentParser()
    options.add_argument("--sets", type=int, default=2000)
    options.add_argument("--only", default=",".join(TABLES))
    given = options.parse_args()
    for name in given.only.split(","):
        TABLES[name](given.sets, np.random.default_rng(SEED))


if __name__ == "__main__":
    main()
