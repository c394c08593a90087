"""Simulate the gate: how often it is wrong about systems with a known truth, and what it detects.

    python tools/check_gate.py [--pairs 400] [--only same]
    python tools/check_gate.py --data FOLDER [--pairs 200]

Prints the tables of docs/coverage.md. It takes about ten minutes for 400 pairs of runs per cell.
With a folder of real labels (see check_promises.py), the gate and the plan are only checked on
these.
"""

from __future__ import annotations

import argparse
from collections.abc import Callable, Iterator
from dataclasses import replace
from functools import partial
from itertools import product
from pathlib import Path

import numpy as np
from check_promises import Design, Population, read_populations

from rubricate.analysis import DOUBT, Confirmation, ItemPair, plan_report
from rubricate.analysis.comparison._anchors import ERROR as ANCHOR_ERROR
from rubricate.analysis.comparison._anchors import FURTHER, MORE
from rubricate.analysis.comparison._gate import GateOutcome, gate
from rubricate.analysis.comparison._sequential import ERROR, GateHistory, Push
from rubricate.stats import (
    BoundTest,
    bound_e_value,
    bound_test,
    changed_answers_test,
    paired_power,
    permutation_test,
)

SEED = 20261123
Chance = np.random.Generator
Runs = tuple[np.ndarray, np.ndarray]
"""The verdicts of two runs: items by criteria or, with several answers each, answers by items by
criteria."""
TIMES = 5
"""The number of answers with `--confirm` in the tables."""
MOST_LOST = 0.5
"""The largest drop that `runs` can simulate: more would leave too few MET verdicts."""
GROUP = 4
"""The number of items in a group, if there are groups."""


def runs(
    chance: Chance, items: int, criteria: int, flips: float, drop: float = 0.0, size: int = 1
) -> Runs:
    """Draw the verdicts of two runs, truly 70 % MET, of which a share `flips` differ only due to
    the judge.

    Args:
        chance: the random generator.
        items, criteria: their numbers.
        flips: the share of verdicts that differ between two runs of an unchanged system.
        drop: how much lower the true mean of the second is.
        size: the number of items in a group, which share truth and errors.
    """
    a, b = answers(chance, items, criteria, flips, drop, size, 1)
    return a[0], b[0]


def answers(
    chance: Chance,
    items: int,
    criteria: int,
    flips: float,
    drop: float,
    size: int,
    times: int,
    *,
    tossed: bool = False,
) -> Runs:
    """Draw several answers for each verdict; otherwise like `runs`.

    With `tossed`, the judge is sure of most verdicts, and the others are random.
    """
    error = (1 - np.sqrt(1 - 2 * flips)) / 2  # two runs differ in 2 * error * (1 - error)
    shape = (items // size, criteria)
    if tossed:
        error = np.where(chance.random(shape) < 2 * flips, 0.5, 0.0)
    met = chance.random(shape) < 0.7
    gone = drop / (0.7 * (1 - 2 * error)) if drop else 0.0
    lost = met & (chance.random(shape) < gone)
    a, b = (truth ^ (chance.random((times, *shape)) < error) for truth in (met, met & ~lost))
    return np.repeat(a, size, axis=1), np.repeat(b, size, axis=1)


def confirmed(verdicts: Runs, margin: float, size: int = 1) -> tuple[GateOutcome, float]:
    """Return the gate's outcome for two runs with `--confirm`, and the answers per verdict that it
    took for one run."""
    a, b = verdicts
    flip = a[0] != b[0]

    def pairs(differences: np.ndarray) -> tuple[ItemPair, ...]:
        means = differences.mean(1).tolist()
        return tuple(
            ItemPair(str(i), str(i // size), 0, mean, None) for i, mean in enumerate(means)
        )

    change = b * 1.0 - a
    first, confirmation, calls = pairs(change[0]), Confirmation(int(flip.sum())), 1.0
    decision = gate(first, margin)
    if not decision.is_open:
        return decision.outcome, calls
    for number in range(1, TIMES + 1):
        of_flips = pairs(np.where(flip, change[1 : 1 + number].mean(0), 0))
        confirmation = replace(confirmation, times=number, scored=of_flips)
        calls += float(flip.mean())
        decision = gate(first, margin, confirmation=confirmation)
        if not decision.is_open:
            break
        averaged = pairs(change[: 1 + number].mean(0))
        confirmation = replace(confirmation, rounds=number, averaged=averaged)
        calls += float((~flip).mean())
        decision = gate(first, margin, confirmation=confirmation)
        if not decision.is_open:
            break
    return decision.outcome, calls


def decide(verdicts: Runs, margin: float, size: int = 1) -> BoundTest:
    """Return the gate's outcome for two runs."""
    difference = verdicts[1].mean(1) - verdicts[0].mean(1)
    return bound_test(
        difference.tolist(),
        -margin,
        groups=(np.arange(len(difference)) // size).tolist(),
        limits=(-1.0, 1.0),
        differences=True,
        distance=margin or None,
    )


def shares(pairs: int, test: Callable[[Chance], BoundTest]) -> tuple[float, float]:
    """Return how often a gate says worse, and how often no worse."""
    chance = np.random.default_rng(SEED)
    sides = [test(chance).side for _ in range(pairs)]
    return sides.count("below") / pairs, sides.count("not below") / pairs


def same(pairs: int) -> Iterator[str]:
    """An unchanged system: the highest share of *worse* over criteria and flips."""
    yield "| items | each by itself, margin 0 | in groups of 4, margin 0 | margin 0.02 |"
    yield "|---|---|---|---|"
    worst = 0.0
    for items in (20, 50, 100, 200):
        cells = []
        for margin, size in ((0.0, 1), (0.0, GROUP), (0.02, 1)):
            cell = [
                shares(pairs, lambda c: decide(runs(c, items, k, f, size=size), margin, size))[0]  # noqa: B023
                for k, f in product((1, 2, 3), (0.0, 0.05, 0.1, 0.2))
            ]
            cells.append(f"{100 * max(cell):.1f} %")
            worst = max(worst, *cell)
        yield f"| {items} | {' | '.join(cells)} |"
    yield f"\nThe highest of all cells: {100 * worst:.1f} %."


def grouped(pairs: int) -> Iterator[str]:
    """An unchanged system, several answers per question: how often p < 0.05 for the score."""
    yield "| questions x answers | correlation in a question | each answer by itself | by prompt |"
    yield "|---|---|---|---|"
    chance = np.random.default_rng(SEED)
    for questions, size, correlation in product((10, 25), (4, 8), (0.3, 0.6)):
        prompts = np.repeat(np.arange(questions), size)
        found = np.zeros(2)
        for _ in range(pairs):
            shared, own = (
                chance.choice([-1.0, 0.0, 1.0], len(prompts), p=[0.15, 0.7, 0.15]) for _ in "ab"
            )
            is_shared = chance.random(len(prompts)) < correlation**0.5
            difference = np.where(is_shared, shared[prompts * size], own)
            for place, groups in enumerate((None, prompts.tolist())):
                p_value = permutation_test(difference.tolist(), groups=groups, rounds=999).p_value
                found[place] += p_value is not None and p_value < 0.05
        cells = " | ".join(f"{100 * share:.0f} %" for share in found / pairs)
        yield f"| {questions} x {size} | {correlation} | {cells} |"


def same_confirmed(pairs: int) -> Iterator[str]:
    """An unchanged system and --confirm 5: the highest share of *worse* over criteria and flips."""
    yield "| items | margin 0 | in groups of 4 | coins are tossed | the same in groups |"
    yield "|---|---|---|---|---|"
    for items in (20, 50, 100, 200):
        cells = []
        for tossed, size in product((False, True), (1, GROUP)):
            shares = []
            for criteria, flips in product((1, 2, 3), (0.0, 0.05, 0.1, 0.2)):
                chance = np.random.default_rng(SEED)
                outcomes = [
                    confirmed(
                        answers(
                            chance, items, criteria, flips, 0.0, size, 1 + TIMES, tossed=tossed
                        ),
                        0.0,
                        size,
                    )[0]
                    for _ in range(pairs)
                ]
                shares.append(outcomes.count("worse") / pairs)
            cells.append(f"{100 * max(shares):.1f} %")
        yield f"| {items} | {' | '.join(cells)} |"


def power_confirmed(pairs: int) -> Iterator[str]:
    """*Worse* with one answer, with --confirm 5, and with 6 answers for everything; margin 0.02."""
    yield "| items | criteria | flips | lost | one answer | --confirm 5 | 6 answers each | calls |"
    yield "|---|---|---|---|---|---|---|---|"
    cells = [
        *product((50,), (1, 3), (0.05, 0.1, 0.2), (0.15,)),
        *product((100,), (1, 3), (0.05, 0.1, 0.2), (0.1,)),
        *product((200,), (1, 3), (0.05, 0.1, 0.2), (0.07,)),
    ]
    for items, criteria, flips, drop in cells:
        chance = np.random.default_rng(SEED)
        single = held = fixed = 0
        calls = []
        for _ in range(pairs):
            verdicts = answers(chance, items, criteria, flips, drop, 1, 1 + TIMES)
            first = verdicts[0][0], verdicts[1][0]
            single += decide(first, 0.02).side == "below"
            outcome, asked = confirmed(verdicts, 0.02)
            held += outcome == "worse"
            fixed += decide((verdicts[0].mean(0), verdicts[1].mean(0)), 0.02).side == "below"
            calls.append(asked / (1 + TIMES))
        shares = " | ".join(f"{100 * count / pairs:.0f} %" for count in (single, held, fixed))
        share = f"{100 * np.mean(calls):.0f} %"
        yield f"| {items} | {criteria} | {100 * flips:.0f} % | {drop:g} | {shares} | {share} |"


def offset(pairs: int) -> Iterator[str]:
    """Some verdicts are lost for good, and others become more likely MET, so that the mean falls by
    exactly the margin. *Worse* with one answer, and with --confirm 5."""
    yield "| items | criteria | flips | lost | margin | one answer | --confirm 5 |"
    yield "|---|---|---|---|---|---|---|"
    cells = [(50, 1, 0.15), (100, 1, 0.1), (100, 3, 0.1), (200, 1, 0.07)]
    for (items, criteria, lost), flips, margin in product(cells, (0.05, 0.2), (0.0, 0.02)):
        chance = np.random.default_rng(SEED)
        single = held = 0
        for _ in range(pairs):
            verdicts = _partly_won(chance, items, criteria, flips, lost, lost - margin)
            single += decide((verdicts[0][0], verdicts[1][0]), margin).side == "below"
            held += confirmed(verdicts, margin)[0] == "worse"
        shares = " | ".join(f"{100 * count / pairs:.1f} %" for count in (single, held))
        yield f"| {items} | {criteria} | {100 * flips:.0f} % | {lost:g} | {margin:g} | {shares} |"


def _partly_won(
    chance: Chance, items: int, criteria: int, flips: float, lost: float, won: float
) -> Runs:
    """Draw six answers for each verdict: a share is lost for good, as in `answers`, and the same
    part of all other verdicts that are not MET is won, which raises the mean by `won`."""
    error = (1 - np.sqrt(1 - 2 * flips)) / 2
    shape, lost = (items, criteria), lost / (0.7 * (1 - 2 * error))
    met = chance.random(shape) < 0.7
    gone = met & (chance.random(shape) < lost)
    before = np.where(met, 1 - error, error)
    room = 0.7 * (1 - lost) * error + 0.3 * (1 - error)
    after = np.where(gone, error, before + won / room * (1 - before))
    a, b = (chance.random((1 + TIMES, *shape)) < probability for probability in (before, after))
    return a, b


def changed(pairs: int) -> Iterator[str]:
    """Systems that lost 0.05 and nothing: the gate's outcomes with a margin of 0.02."""
    yield "| items | flips | lost | worse | no worse | cannot tell |"
    yield "|---|---|---|---|---|---|"
    for items, flips, drop in product((50, 200, 1000), (0.02, 0.1), (0.0, 0.02, 0.05, 0.15)):
        worse, fine = shares(pairs, lambda c: decide(runs(c, items, 1, flips, drop), 0.02))  # noqa: B023
        rest = 1 - worse - fine
        numbers = " | ".join(f"{100 * share:.0f} %" for share in (worse, fine, rest))
        yield f"| {items} | {100 * flips:.0f} % | {drop:g} | {numbers} |"


def power(pairs: int) -> Iterator[str]:
    """The drop from `trust plan comparison` for a power of 0.8: how often it is detected."""
    yield "| items | items that differ | drop planned | found |"
    yield "|---|---|---|---|"
    for items, differing in product((50, 100, 200), (0.1, 0.2, 0.4)):
        plan = plan_report("comparison", items=items, differing=differing, power=0.8)
        drop = plan.answers[0].difference
        if drop is None:
            yield f"| {items} | {100 * differing:.0f} % | none | |"
            continue
        chances = [(differing + drop) / 2, (differing - drop) / 2, 1 - differing]

        def draw(chance: Chance, items: int = items, chances: list[float] = chances) -> BoundTest:
            values = chance.choice([-1.0, 1.0, 0.0], items, p=chances)
            return bound_test(values.tolist(), 0.0, limits=(-1.0, 1.0), differences=True)

        found = shares(pairs, draw)[0]
        yield f"| {items} | {100 * differing:.0f} % | {drop:.3f} | {100 * found:.0f} % |"


def own(pairs: int) -> Iterator[str]:
    """The drop that a gate on two unchanged runs itself claims to detect with a power of 0.8."""
    yield "| items | criteria | flips | drop named, mean | found |"
    yield "|---|---|---|---|---|"
    for items, criteria, flips in product((20, 50, 200), (1, 3), (0.05, 0.2)):
        chance = np.random.default_rng(SEED)
        named, found = [], 0
        for _ in range(pairs):
            drop = 0.02 + (decide(runs(chance, items, criteria, flips), 0.02).detectable or 1)
            if drop < MOST_LOST:
                named.append(drop)
                found += decide(runs(chance, items, criteria, flips, drop), 0.02).side == "below"
        share = f"{100 * found / len(named):.0f} %"
        yield f"| {items} | {criteria} | {100 * flips:.0f} % | {np.mean(named):.3f} | {share} |"


def sequential(pairs: int) -> Iterator[str]:
    """200 pushes against one baseline: the sequences that ever get *worse*, and when."""
    yield "| items | flips | lost from push 20 on | ever worse | pushes until then, median |"
    yield "|---|---|---|---|---|"
    for items, flips, drop in product((50, 200), (0.05, 0.2), (0.0, 0.1, 0.2)):
        chance = np.random.default_rng(SEED)
        alarms = []
        for _ in range(pairs):
            error = (1 - np.sqrt(1 - 2 * flips)) / 2
            met = chance.random(items) < 0.7
            lost = met & (chance.random(items) < drop / (0.7 * (1 - 2 * error)))
            baseline = met ^ (chance.random(items) < error)
            history = GateHistory(baseline="", margin=0.0)
            for number in range(1, 201):
                truth = met & ~lost if number >= 20 else met
                difference = (truth ^ (chance.random(items) < error)) * 1.0 - baseline
                change = float(difference.mean())
                value = bound_e_value(difference.tolist(), 0.0)
                push = Push(run=str(number), e_value=value, change=change, items=items)
                history = history.model_copy(update={"pushes": (*history.pushes, push)})
                if value > 1 and history.evidence >= 1 / ERROR and change < 0:
                    alarms.append(number - 19)
                    break
        when = f"{np.median(alarms):.0f}" if alarms and drop else ""
        share = f"{100 * len(alarms) / pairs:.1f} %"
        yield f"| {items} | {100 * flips:.0f} % | {drop:g} | {share} | {when} |"


def anchors(pairs: int) -> Iterator[str]:
    """Anchors: an unchanged judge, and a judge that changed 15 % of its verdicts, found changed by
    30 anchors; and the number that detects it in 80 %."""
    yield "| errors | answers kept | unchanged | changed | by 30 answers alone | asked | for 80 % |"
    yield "|---|---|---|---|---|---|---|"
    for error, kept in product((0.0, 0.01, 0.02, 0.05), (5, 10)):
        same, _, asked = _looks(pairs, 30, error, kept, 0.0)
        found, alone, more = _looks(pairs, 30, error, kept, 0.15)
        enough = next(n for n in MORE if _looks(pairs, n, error, kept, 0.15)[0] >= 0.8)
        cells = f"{100 * same:.1f} % | {100 * found:.1f} % | {100 * alone:.0f} %"
        yield f"| {100 * error:g} % | {kept} | {cells} | {(asked + more) / 2:.0f} | {enough} |"


def _looks(
    pairs: int, count: int, error: float, kept: int, changed: float
) -> tuple[float, float, float]:
    """Return how often a change is found, also by the first look alone, and the answers needed."""
    chance = np.random.default_rng(SEED)
    further = min(FURTHER, kept // 2)
    said = first = asked = 0
    for _ in range(pairs):
        before = chance.random((count, kept)) < error
        flipped = chance.random(count) < changed
        after = (chance.random((count, 1 + further)) < error) ^ flipped[:, None]
        for times in (1, 1 + further):
            asked += count * (times if times == 1 else further)
            _, p = changed_answers_test(_counts(before), _counts(after[:, :times]))
            first += times == 1 and 2 * p < ANCHOR_ERROR
            if 2 * p < ANCHOR_ERROR or p > DOUBT:
                break
        said += 2 * p < ANCHOR_ERROR
    return said / pairs, first / pairs, asked / pairs


def _counts(met: np.ndarray) -> list[dict[str, int]]:
    return [{"MET": int(row.sum()), "UNMET": int((~row).sum())} for row in met]


def real(folder: Path, pairs: int) -> Iterator[str]:
    """Real labels: people's verdicts as run A, a judge's as run B, with resampled items."""
    yield "| items | drawn | populations | below | not below | unchanged, worse | plan off |"
    yield "|---|---|---|---|---|---|---|"
    populations = [each for each in read_populations(folder, frozenset()) if len(each.human) > 100]
    for items, clustered in product((20, 50, 100), (False, True)):
        design, rows = Design(clustered, replaced=True), []
        for each in populations:
            if design.is_possible(each, items):
                rows.append(_on_real_labels(each, design, items, pairs))
        shares = [
            f"{100 * np.mean(column):.1f} % ({100 * max(column):.1f} %)"
            for column in list(zip(*rows, strict=True))[:3]
        ]
        off = [row[3] for row in rows]
        plan = f"{100 * min(off):+.0f} to {100 * max(off):+.0f} points"
        unit = "clusters" if clustered else "pairs"
        plan = "" if clustered else plan
        yield f"| {items} | {unit} | {len(rows)} | {' | '.join(shares)} | {plan} |"


def _on_real_labels(
    population: Population, design: Design, items: int, pairs: int
) -> tuple[float, float, float, float]:
    """Return how often a gate at the true difference says *below* and *not below*, how often it
    says *below* for randomly exchanged runs, and the error of the plan's power."""
    chance = np.random.default_rng(SEED)
    values = population.judge - population.human
    truth, up = float(values.mean()), values.mean() > 0
    below = fine = worse = found = 0
    for _ in range(pairs):
        drawn, _, groups = design.draw(population, items, chance)
        groups = None if groups is None else groups[: len(drawn)]
        change = values[drawn]
        tested = partial(bound_test, groups=groups, limits=(-1.0, 1.0), differences=True)
        side = tested(change.tolist(), truth).side
        below, fine = below + (side == "below"), fine + (side == "not below")
        units = np.arange(len(drawn)) if groups is None else np.array(groups)
        signs = chance.choice([-1.0, 1.0], units.max() + 1)[units]
        worse += tested((signs * change).tolist(), 0.0).side == "below"
        p_value = permutation_test(change.tolist(), groups=groups, rounds=999).p_value or 1
        found += p_value < 0.05 and (change.sum() > 0) == up
    differing = float((values != 0).mean())
    planned = paired_power(items, truth, float(values.std()), differing=differing)
    return below / pairs, fine / pairs, worse / pairs, planned - found / pairs


PARTS = {
    "same": same,
    "grouped": grouped,
    "same-confirmed": same_confirmed,
    "power-confirmed": power_confirmed,
    "offset": offset,
    "changed": changed,
    "power": power,
    "own": own,
    "sequential": sequential,
    "anchors": anchors,
}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--pairs", type=int, default=400)
    parser.add_argument("--only", choices=PARTS)
    parser.add_argument("--data", type=Path)
    options = parser.parse_args()
    if options.data is not None:
        print(f"### {real.__doc__}\n")
        for line in real(options.data, options.pairs):
            print(line, flush=True)
        return
    for name, part in PARTS.items():
        if options.only in (None, name):
            print(f"### {part.__doc__}\n")
            for line in part(options.pairs):
                print(line, flush=True)
            print()


if __name__ == "__main__":
    main()
