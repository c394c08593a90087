"""Anchors: stored verdicts that show whether a judge still answers as it used to.

When a provider changes a model behind its name, the change looks like a change of the texts that it
judges. So before two runs are compared, the judge is asked again about some verdicts with stored
answers. Several answers are stored for each, because a single one does not show how often the judge
contradicts itself.

An anchor file is a dataset: items with their criteria, and the answers as metadata.
"""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import Any

from rubricate.analysis._finished import FinishedRun
from rubricate.analysis.comparison._confirm import same_questions
from rubricate.analysis.comparison._gate import AnchorCheck
from rubricate.dataset import DataItem, RubricDataset
from rubricate.errors import InputError, NamedPart, errors_within
from rubricate.judge import Judge, Panel, as_panel
from rubricate.run import ItemResult
from rubricate.run.results import ResultRow

ANSWERS = "answers"
"""Metadata key of an item: how often each answer was given, by criterion."""
JUDGE = "anchors_of"
"""Metadata key of the dataset: the name and fingerprint of the judge."""
ERROR = 0.01
"""The probability of reporting a change of an unchanged judge, split evenly over both looks."""
DOUBT = 0.3
"""If the p-value of the first answers is at most this, each anchor is asked again. At 0.5, changes
of a noisy judge are found equally often, with a sixth more answers."""
FURTHER = 4
"""The number of further answers per anchor in case of doubt. A change of 15 % of the verdicts of a
judge that errs in 5 % is found in 74 % of cases with 2, in 84 % with 4, and no more often with
6."""
CHANGED = 0.15
"""The share of changed verdicts for which power is computed."""
ENOUGH = 0.8
"""The target power for the recommended number of anchors."""
MORE = (30, 40, 50, 60, 80, 100, 150, 200)
"""Candidates for the recommended number of anchors."""
DRAWS = 200
"""Simulated judges per candidate. The standard error of the power is at most 0.03."""
Counts = dict[tuple[str, str], Counter[str]]
"""The number of times each answer was given, by item and criterion."""


def one_judge(judge: Judge) -> Panel:
    """Return the judge as a panel, which consists of itself or its replicates.

    Raises:
        InputError: there are several judges.
    """
    panel = as_panel(judge)
    if len({id(member.judge) for member in panel.members}) > 1:
        raise InputError(f"{judge.name} is several judges: keep anchors of each by itself")
    return panel


class AnchorChoice:
    """A random sample of a run's verdicts, to become anchors.

    Args:
        run: the run.
        judge: the judge of the run, with the same options.
        count: the number of anchors; from different items if there are enough.
        answers: the number of answers to store for each; those that the run lacks are requested.
        seed: the seed of the sample.

    Attributes:
        panel: the judge, set up to give the missing answers; None if none are missing.
        dataset: the items, each with the sampled criteria.

    Raises:
        InputError: the judge cannot be asked again, or gave none of the run's verdicts.
    """

    def __init__(
        self, run: FinishedRun, judge: Judge, *, count: int, answers: int, seed: int = 0
    ) -> None:
        panel = one_judge(judge)
        decided = [row for row in run.rows if row.label is not None and row.keys]
        random.Random(seed).shuffle(decided)
        seen: Counter[str] = Counter()
        turns = {}
        for row in decided:
            turns[id(row)] = seen[row.item]
            seen[row.item] += 1
        decided.sort(key=lambda row: turns[id(row)])  # the sort is stable: one of each item first
        same = same_questions(run, ((row.item, row.criterion) for row in decided), panel)
        chosen = [row for row in decided if row.criterion in same.names(row.item)][:count]
        if not chosen:
            raise InputError(
                f"{judge.name} with these options gave none of the verdicts of {run.path}: name "
                "its judge, and the options of asking that it had"
            )
        self._judge = panel.members[0].judge
        self._kept = {(row.item, row.criterion): _answers(row) for row in chosen}
        missing = answers - min(counts.total() for counts in self._kept.values())
        each = len(panel.members)
        self.panel = panel.again(-(-missing // each)) if missing > 0 else None
        wanted = ((row.item, row.criterion) for row in chosen)
        items = list(same.items(wanted, "anchor"))
        self.dataset = RubricDataset(items=items, name="anchors")

    def kept(self, results: Iterable[ItemResult]) -> RubricDataset:
        """Return the anchors as a dataset, with the answers of the run and the further ones."""
        asked_for = counted(results)
        for item in self.dataset.items:
            assert item.rubric is not None
            item.metadata[ANSWERS] = {
                name: dict(
                    self._kept[item.id.removesuffix("/anchor"), name]
                    + asked_for.get((item.id, name), Counter())
                )
                for name in item.rubric.names
            }
        self.dataset.metadata[JUDGE] = [self._judge.name, self._judge.fingerprint()]
        return self.dataset


def _answers(row: ResultRow) -> Counter[str]:
    votes = [vote.label for vote in row.votes if vote.label is not None]
    return Counter(votes or [str(row.label)])


def counted(results: Iterable[ItemResult]) -> Counts:
    """Count the answers by item and criterion, without failed ones."""
    return {
        (result.id, name): Counter(
            vote.label for vote in verdict.votes or (verdict,) if vote.label is not None
        )
        for result in results
        for name, verdict in result.criteria.items()
    }


def read_anchors(file: str | Path, judge: Judge) -> RubricDataset:
    """Read an anchor file.

    Raises:
        InputError: it is not an anchor file, or belongs to another judge.
    """
    with errors_within(NamedPart("the anchors of rubricate trust anchors")):
        anchors = RubricDataset.from_file(file)
    kept = anchors.metadata.get(JUDGE)
    if not (isinstance(kept, list) and len(kept) == 2) or not anchors.items:
        raise InputError("has no anchors: make them with rubricate trust anchors RUN", file=file)
    for item in anchors.items:
        if not _is_counts(item.metadata.get(ANSWERS), item):
            raise InputError(
                f"the item {item.id} has no answers of its criteria under metadata", file=file
            )
    if kept[1] != judge.fingerprint():
        raise InputError(
            f"has the anchors of {kept[0]}, asked with other options or another prompt than "
            f"{judge.name} now: that is another judge by itself. Make new ones with rubricate "
            "trust anchors RUN",
            file=file,
        )
    return anchors


def _is_counts(value: Any, item: DataItem) -> bool:
    return (
        isinstance(value, Mapping)
        and item.rubric is not None
        and {*value} == {*item.rubric.names}
        and all(
            isinstance(counts, Mapping)
            and all(type(count) is int and count > 0 for count in counts.values())
            for counts in value.values()
        )
    )


def check_answers(
    anchors: RubricDataset, judge: Judge, results: Iterable[ItemResult]
) -> AnchorCheck:
    """Compare the new answers to anchors with the stored ones.

    The p-value is doubled for the two looks: after the first answers, and after further ones.
    """
    from rubricate.stats import changed_answers_test

    now = counted(results)
    pairs = [
        (counts, now[item.id, name])
        for item in anchors.items
        for name, counts in item.metadata[ANSWERS].items()
        if now.get((item.id, name))
    ]
    unusual, p = changed_answers_test([a for a, _ in pairs], [b for _, b in pairs])
    p = min(1.0, 2 * p)
    answers = sum(late.total() for _, late in pairs)
    return AnchorCheck(judge.name, len(pairs), answers, unusual, p, p < ERROR)


def further_answers(anchors: RubricDataset) -> int:
    """The number of further answers per anchor in case of doubt.

    At most half as many as are stored, so that the most frequent stored answer stays the most
    frequent.
    """
    return min(FURTHER, min(sum(counts.values()) for counts in _kept(anchors)) // 2)


def _kept(anchors: RubricDataset) -> list[Mapping[str, int]]:
    return [counts for item in anchors.items for counts in item.metadata[ANSWERS].values()]


def power_of_anchors(anchors: RubricDataset) -> tuple[float, int | None]:
    """The power to detect a change of 15 % of a judge's verdicts.

    The power is simulated for a judge that contradicts itself on every anchor as often as this one
    does on average. If a judge is certain about most anchors and guesses on the others, the true
    power is higher.

    Returns:
        The power, and the number of such anchors for a power of 80 %; None if 200 are too few.
    """
    kept = _kept(anchors)
    totals = [sum(counts.values()) for counts in kept]
    error = 1 - sum(max(counts.values()) for counts in kept) / sum(totals)
    power = partial(_power, totals=totals, error=error, further=further_answers(anchors))
    own = power(len(kept))
    if own >= ENOUGH:
        return own, len(kept)
    return own, next((n for n in MORE if n > len(kept) and power(n) >= ENOUGH), None)


def _power(count: int, *, totals: Sequence[int], error: float, further: int) -> float:
    from rubricate.stats import changed_answers_test

    chance, detected = random.Random(count), 0

    def answers(times: int, error: float) -> list[str]:
        return ["another" if chance.random() < error else "usual" for _ in range(times)]

    for _ in range(DRAWS):
        before = [Counter(answers(times, error)) for times in chance.choices(totals, k=count)]
        after = [
            answers(1 + further, 1 - error if chance.random() < CHANGED else error)
            for _ in range(count)
        ]
        for times in (1, 1 + further):
            _, p = changed_answers_test(before, [Counter(late[:times]) for late in after])
            if 2 * p < ERROR or p > DOUBT:
                break
        detected += 2 * p < ERROR
    return detected / DRAWS
