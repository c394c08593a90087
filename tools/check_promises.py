"""Count how often the promises of figures hold on real labels: the table of docs/coverage.md.

    python tools/check_promises.py DATA [--splits 200] [--sets kqa,ttcw] [--every] [--processes N]

DATA is a folder of JSON Lines files with one record per line: `{id, group, prompt, submission,
context, criteria: [{name, requirement, kind, options, human, judges}]}`. `human` has the label of
each person: true or false of a criterion of the kind `binary`, an option's label of `multi_choice`.
Binary criteria are used as they are (by majority of people, without ties), and options as the best
one against the others.

A data set with a judge's verdicts is a population with known figures. Labels for a part of it are
drawn repeatedly and passed to the public functions that users call. An interval keeps its promise
if it contains the population's figure; the threshold of a cascade, if the accepted verdicts agree
at least as often as it promises; and a calibration map, if it is rejected or does not make the
population's Brier score worse. Separate rows show, over all populations, how many of the accepted
maps do not make it worse.

Labels are drawn in four ways: pair by pair or in whole clusters (all criteria of a record or all
answers to a question, with as many clusters as have N labels on average), each with replacement
(items are drawn from the population) and without (the population is the items, of which some are
labelled). The judges are the built-in one, which was fitted on some of the sets and agrees better
there than elsewhere; those with published verdicts, one alone and all as a panel; and a simulated
one.
"""

from __future__ import annotations

import argparse
import itertools
import json
import math
import warnings
from collections import Counter, defaultdict
from collections.abc import Iterator, Mapping
from concurrent.futures import Future, ProcessPoolExecutor
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import stats as scipy_stats

import rubricate
from rubricate import Criterion, CriterionOption, DataItem, Rubric, RubricDataset
from rubricate.stats import (
    Estimate,
    PlattMap,
    calibration_gain,
    choose_threshold,
    corrected_mean,
    label_agreement,
)

Floats = NDArray[np.float64]
Integers = NDArray[np.int64]

SEED = 20261122
OUTPUTS = "_judge_outputs"
LABELS = (20, 50, 100)
SIGNAL = 1.5
"""The distance between the simulated judge's signals of MET and UNMET, in standard deviations."""
PROMISES = (0.8, 0.9)
RISK = 0.05
MOST = 0.9
"""The maximum share of a population to label without replacement."""
FLOOR = 0.92
"""The minimum coverage of a nominal 95 % interval: outcomes are integers, so that coverage varies
around the nominal level even for the best interval (Brown, Cai and DasGupta 2001)."""
NONE = "–"
ACCEPTED = "calibration maps that are accepted"
INTERVALS = ("accuracy", "kappa", "sensitivity", "specificity", "PPI++ mean")


@dataclass(frozen=True)
class Population:
    """All pairs of a data set that have a label and a judge's verdict.

    Attributes:
        name: the data set and the judge.
        human: 1 if people say MET, else 0.
        judge: the same for the judge.
        sure: the judge's confidence in its verdict; NaN if unknown.
        cluster: the number of each pair's cluster.
    """

    name: str
    human: Floats
    judge: Floats
    sure: Floats
    cluster: Integers

    @cached_property
    def members(self) -> list[Integers]:
        """Return the positions of each cluster's pairs."""
        return [np.flatnonzero(self.cluster == one) for one in np.unique(self.cluster)]

    def figures(self) -> dict[str, float]:
        """Return the figures that the intervals should contain."""
        table = label_agreement(_words(self.judge), _words(self.human), bootstrap=None)
        both = set(table.labels) == {"MET", "UNMET"}
        found = {
            "accuracy": table.figures["accuracy"].value,
            "kappa": table.figures["cohen_kappa"].value,
            "sensitivity": table.by_label["MET"]["recall"].value if both else None,
            "specificity": table.by_label["UNMET"]["recall"].value if both else None,
            "PPI++ mean": float(self.human.mean()),
        }
        return {name: value for name, value in found.items() if value is not None}


def _words(answers: Floats) -> list[str]:
    return ["MET" if one else "UNMET" for one in answers]


# Data


def read_populations(folder: Path, wanted: frozenset[str]) -> Iterator[Population]:
    """Return each data set with each of its judges."""
    for path in sorted(folder.glob("*.jsonl")):
        if path.stem.endswith(OUTPUTS) or (wanted and path.stem not in wanted):
            continue
        with path.open(encoding="utf-8") as lines:
            records = [json.loads(line) for line in lines]
        _add_outputs(records, path.with_name(f"{path.stem}{OUTPUTS}.jsonl"))
        pairs = [pair for record in records for pair in _pairs(record)]
        if not pairs:
            continue
        human = np.array([float(pair["met"]) for pair in pairs])
        cluster = _clusters(pairs)
        given = {"simulated": _simulated(human), "built-in": _builtin(pairs)}
        for judge, (says, sure) in (given | _published(pairs)).items():
            known = ~np.isnan(says)
            if known.any():
                yield Population(
                    f"{path.stem}, {judge}", human[known], says[known], sure[known], cluster[known]
                )


def _add_outputs(records: list[dict[str, Any]], path: Path) -> None:
    """Add the verdicts from a file of judges' outputs to the criteria, if there is one."""
    if not path.exists():
        return
    criteria = {record["id"]: record["criteria"] for record in records}
    with path.open(encoding="utf-8") as lines:
        for line in lines:
            output = json.loads(line)
            judge = f"{output['judge']} {output['run']}"
            for criterion, verdict in zip(criteria[output["id"]], output["verdicts"], strict=True):
                criterion.setdefault("judges", {})[judge] = verdict


def _pairs(record: Mapping[str, Any]) -> Iterator[dict[str, Any]]:
    """Return the parts of a record that have a binary label."""
    for criterion in record.get("criteria", ()):
        votes = Counter(criterion["human"])
        if criterion["kind"] == "binary":
            met = votes[True] - votes[False]
        elif criterion["kind"] == "multi_choice":
            best = max(criterion["options"], key=lambda option: option["value"])["label"]
            met = 2 * votes[best] - votes.total()
        else:
            continue
        if met:
            yield {"record": record, "criterion": criterion, "met": met > 0}


def _clusters(pairs: list[dict[str, Any]]) -> Integers:
    """Return clusters: records if they have several criteria, else groups."""
    records = [pair["record"]["id"] for pair in pairs]
    names = records
    if len(set(records)) == len(records):
        names = [pair["record"]["group"] for pair in pairs]
    number = {name: place for place, name in enumerate(dict.fromkeys(names))}
    return np.array([number[name] for name in names])


def _simulated(human: Floats) -> tuple[Floats, Floats]:
    """Simulate a judge with normal signals of both kinds, and its true probabilities."""
    chance = np.random.default_rng(SEED)
    share = min(0.99, max(0.01, float(human.mean())))
    signal = chance.normal(size=len(human)) + SIGNAL * human
    logit = SIGNAL * signal - SIGNAL**2 / 2 + math.log(share / (1 - share))
    met = 1 / (1 + np.exp(-logit))
    return (met > 0.5).astype(float), np.maximum(met, 1 - met)


def _builtin(pairs: list[dict[str, Any]]) -> tuple[Floats, Floats]:
    """Return the built-in judge's verdicts; NaN if it abstains."""
    items = [_item(place, pair) for place, pair in enumerate(pairs)]
    result = rubricate.grade(RubricDataset(name="promises", items=items), "builtin")
    says, sure = np.full(len(pairs), np.nan), np.full(len(pairs), np.nan)
    for item in result.items:
        verdict = item.criteria["one"]
        if verdict.status == "judged" and verdict.value is not None:
            says[int(item.id)] = float(verdict.value == 1)
            sure[int(item.id)] = np.nan if verdict.probability is None else verdict.probability
    return says, sure


def _item(place: int, pair: Mapping[str, Any]) -> DataItem:
    """Convert a pair to an item, so that each verdict is found by its position."""
    record, criterion = pair["record"], pair["criterion"]
    options = None
    if criterion["kind"] == "multi_choice":
        worths = [option["value"] for option in criterion["options"]]
        options = [
            CriterionOption(
                label=option["label"],
                value=(option["value"] - min(worths)) / (max(worths) - min(worths)),
            )
            for option in criterion["options"]
        ]
    return DataItem(
        record["submission"],
        id=str(place),
        prompt=record["prompt"],
        reference_submission=record.get("context"),
        rubric=Rubric(
            [Criterion(name="one", requirement=criterion["requirement"], options=options)]
        ),
    )


def _published(pairs: list[dict[str, Any]]) -> dict[str, tuple[Floats, Floats]]:
    """Return the judges with published verdicts: the best known alone, and all as a panel."""
    votes = [
        [
            answer
            for answer in (pair["criterion"].get("judges") or {}).values()
            if answer is not None
        ]
        for pair in pairs
    ]
    if not all(votes):
        return {}
    names = list(pairs[0]["criterion"]["judges"])
    alone = next((name for name in names if name.startswith(("gpt-4", "gpt4"))), names[0])
    one = np.array([float(pair["criterion"]["judges"][alone]) for pair in pairs])
    share = np.array([sum(map(bool, answers)) / len(answers) for answers in votes])
    panel = np.where(share == 0.5, np.nan, (share > 0.5).astype(float))
    nothing = np.full(len(pairs), np.nan)
    return {alone: (one, nothing), "panel": (panel, np.maximum(share, 1 - share))}


# Drawing of labels, and the results for users


@dataclass(frozen=True)
class Design:
    """A way of drawing labels."""

    clustered: bool
    replaced: bool

    @property
    def name(self) -> str:
        unit = "clusters" if self.clustered else "pairs"
        return f"{unit}, {'with' if self.replaced else 'without'} replacement"

    def draw(
        self, population: Population, labels: int, chance: np.random.Generator
    ) -> tuple[Integers, Integers, list[int] | None]:
        """Return the positions of the labelled and the other pairs, and their clusters, if any."""
        size = len(population.human)
        if not self.clustered:
            if self.replaced:
                return chance.integers(0, size, labels), chance.integers(0, size, size), None
            order = chance.permutation(size)
            return order[:labels], order[labels:], None
        members = population.members
        count = self.clusters_of(population, labels)
        if self.replaced:
            drawn = [members[one] for one in chance.integers(0, len(members), count + len(members))]
        else:
            drawn = [members[one] for one in chance.permutation(len(members))]
        groups = [number for number, one in enumerate(drawn) for _ in one]
        return np.concatenate(drawn[:count]), np.concatenate(drawn[count:]), groups

    def clusters_of(self, population: Population, labels: int) -> int:
        """Return how many clusters have this many labels on average."""
        return round(labels * len(population.members) / len(population.human))

    def is_possible(self, population: Population, labels: int) -> bool:
        """Whether the population is large enough, and at least two clusters are drawn."""
        if not self.replaced and labels > MOST * len(population.human):
            return False
        if not self.clustered:
            return True
        alone = len(population.members) == len(population.human)
        return not alone and self.clusters_of(population, labels) >= 2


DESIGNS = tuple(
    Design(clustered, replaced) for clustered in (False, True) for replaced in (True, False)
)


@dataclass
class Tally:
    """How often a promise was made and kept."""

    made: int = 0
    kept: int = 0

    def add(self, kept: bool | None) -> None:
        """Count a promise; None if nothing was promised."""
        if kept is not None:
            self.made += 1
            self.kept += kept


def holds(interval: Estimate, truth: float) -> bool | None:
    """Whether an interval contains the truth; None if there is no interval."""
    if interval.low is None or interval.high is None:
        return None
    return interval.low - 1e-9 <= truth <= interval.high + 1e-9


def check(population: Population, design: Design, labels: int, splits: int) -> dict[str, Tally]:
    """Draw labels repeatedly, and check each promise."""
    chance = np.random.default_rng([SEED, labels])
    truth = population.figures()
    tallies: dict[str, Tally] = defaultdict(Tally)
    for _ in range(splits):
        drawn, rest, groups = design.draw(population, labels, chance)
        for name, interval in user_intervals(population, drawn, rest, groups).items():
            if name in truth:
                tallies[name].add(holds(interval, truth[name]))
        sure = population.sure[drawn]
        if not np.isnan(population.sure).any():
            agrees = population.human == population.judge
            own = None if groups is None else groups[: len(drawn)]
            for promise in PROMISES:
                kept = _threshold_keeps(population, sure, agrees, drawn, own, promise)
                tallies[f"cascade, {promise:.0%}"].add(kept)
            helps = _map_helps(population, drawn, own)
            tallies["calibration map"].add(helps is not False)
            tallies[ACCEPTED].add(helps)
    return tallies


def user_intervals(
    population: Population, drawn: Integers, rest: Integers, groups: list[int] | None
) -> dict[str, Estimate]:
    """Return the intervals that a user with these labels sees."""
    own = None if groups is None else groups[: len(drawn)]
    found = label_agreement(
        _words(population.judge[drawn]),
        _words(population.human[drawn]),
        labels=["MET", "UNMET"],
        groups=own,
    )
    everywhere = np.concatenate([drawn, rest])
    human = [*population.human[drawn].tolist(), *[None] * len(rest)]
    corrected = corrected_mean(population.judge[everywhere].tolist(), human, groups=groups)
    return {
        "accuracy": found.figures["accuracy"],
        "kappa": found.figures["cohen_kappa"],
        "sensitivity": found.by_label["MET"]["recall"],
        "specificity": found.by_label["UNMET"]["recall"],
        "PPI++ mean": corrected.prediction_powered,
    }


def _threshold_keeps(
    population: Population,
    sure: Floats,
    agrees: NDArray[np.bool_],
    drawn: Integers,
    groups: list[int] | None,
    promise: float,
) -> bool:
    """Whether the threshold that these labels select keeps the promise; no threshold does, too."""
    choice = choose_threshold(
        sure.tolist(), agrees[drawn].tolist(), promise=promise, risk=RISK, groups=groups
    )
    if choice.chosen is None:
        return True
    stands = population.sure >= choice.chosen.threshold
    return bool(agrees[stands].mean() >= promise - 1e-9) if stands.any() else True


def _map_helps(population: Population, drawn: Integers, groups: list[int] | None) -> bool | None:
    """Whether the map fitted to these labels does not make it worse; None if it is rejected."""
    met = np.where(population.judge == 1, population.sure, 1 - population.sure)
    labels = met[drawn].tolist(), population.human[drawn].tolist()
    if len(set(labels[1])) < 2 or calibration_gain(*labels, groups=groups).why_not is not None:
        return None
    fitted = PlattMap.fit(*labels)
    logit = np.log(np.clip(met, 1e-6, 1 - 1e-6) / np.clip(1 - met, 1e-6, 1 - 1e-6))
    mapped = 1 / (1 + np.exp(-(fitted.slope * logit + fitted.intercept)))
    before, after = (float(((one - population.human) ** 2).mean()) for one in (met, mapped))
    return after <= before + 1e-9


# Tables


def _limit(name: str) -> float | None:
    """Return the minimum share of promises that must be kept."""
    if name in INTERVALS:
        return FLOOR
    return 1 - RISK if name != ACCEPTED else None


def is_broken(name: str, tally: Tally, tests: int) -> bool:
    """Whether a promise is kept less often than promised, beyond chance in this many tests."""
    limit = _limit(name)
    if limit is None or not tally.made:
        return False
    return bool(scipy_stats.binom.cdf(tally.kept, tally.made, limit) < 0.05 / tests)


def main() -> None:
    """Print how often each promise was kept."""
    options = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    options.add_argument("data", type=Path)
    options.add_argument("--splits", type=int, default=200)
    options.add_argument("--sets", default="", help="names of data sets, with commas")
    options.add_argument("--every", action="store_true", help="a row for every population, too")
    options.add_argument("--processes", type=int, default=1)
    given = options.parse_args()
    warnings.simplefilter("ignore")
    found: Found = defaultdict(dict)
    wanted = frozenset(filter(None, given.sets.split(",")))
    with ProcessPoolExecutor(given.processes) as pool:
        jobs: list[tuple[Population, Design, int, Future[dict[str, Tally]]]] = []
        for population in read_populations(given.data, wanted):
            size, clusters = len(population.human), len(population.members)
            print(f"{population.name}: {size} pairs in {clusters} clusters", flush=True)
            for design, labels in itertools.product(DESIGNS, LABELS):
                if design.is_possible(population, labels):
                    job = pool.submit(check, population, design, labels, given.splits)
                    jobs.append((population, design, labels, job))
        for population, design, labels, job in jobs:
            for name, tally in job.result().items():
                key = name, design.name, labels
                found[key][population.name] = tally
                if given.every:
                    print(_told(key, population.name, tally), flush=True)
    print_tables(found)


Found = dict[tuple[str, str, int], dict[str, Tally]]
"""The tally of each population, by promise, design and number of labels."""


def print_tables(found: Found) -> None:
    """Print the table, and the broken promises."""
    tests = sum(_limit(name) is not None for (name, _, _), of in found.items() for _ in of)
    print("\n| promise | labels drawn | 20 | 50 | 100 |\n|---|---|---:|---:|---:|")
    for name in dict.fromkeys(key[0] for key in found):
        for design in DESIGNS:
            cells = [_cell(name, found.get((name, design.name, labels), {})) for labels in LABELS]
            print(f"| {name} | {design.name} | {' | '.join(cells)} |")
    print()
    for key, of in found.items():
        for population, tally in of.items():
            if is_broken(key[0], tally, tests):
                print(f"BROKEN: {_told(key, population, tally)}")
    print(f"{tests} checks")


def _told(key: tuple[str, str, int], population: str, tally: Tally) -> str:
    name, design, labels = key
    return f"{name}; {design}; {labels} labels; {population}: {tally.kept} of {tally.made} kept"


def _cell(name: str, of: Mapping[str, Tally]) -> str:
    """Format the mean and lowest share of kept promises; for maps, share of all and number."""
    if name == ACCEPTED:
        made, kept = (
            sum(getattr(tally, what) for tally in of.values()) for what in ("made", "kept")
        )
        return f"{100 * kept / made:.1f} of {made}" if made else NONE
    shares = [100 * tally.kept / tally.made for tally in of.values() if tally.made >= 20]
    return f"{np.mean(shares):.1f} ({min(shares):.1f})" if shares else NONE


if __name__ == "__main__":
    main()
