"""Anchors: verdicts that a judge gave several times, by which it is known again.

A model that changes behind its name looks like a change of what it judges. Before runs are
compared, the judge is asked about some verdicts whose earlier answers were kept. They are kept
several times each, because a single one does not say how often the judge contradicts itself.

An anchor file is a dataset: items with the criteria asked about, and the answers as metadata.
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
from rubricate.errors import InputError
from rubricate.judge import Judge, Panel, as_panel
from rubricate.run import ItemResult
from rubricate.run.results import ResultRow

ANSWERS = "answers"
"""The key of an item's metadata with how often each answer was given, by criterion."""
JUDGE = "anchors_of"
"""The key of a file's metadata with the judge's name and fingerprint."""
ERROR = 0.01
"""The probability that an unchanged judge is called changed; each of the two looks has one half."""
DOUBT = 0.3
"""Up to this p, the first answers leave a doubt, and each anchor is asked about again. At .5, a
noisy judge that has changed is found as often, for a sixth more answers."""
FURTHER = 4
"""Answers to each anchor that are asked for in doubt. With 2, a judge that errs in 5 % of verdicts
and changed in 15 % is found in 74 % of cases, with 4 in 84 %, with 6 in no more."""
CHANGED = 0.15
"""The share of changed verdicts for which the power of anchors is computed."""
ENOUGH = 0.8
"""The power for which the number of anchors is computed."""
MORE = (30, 40, 50, 60, 80, 100, 150, 200)
"""The numbers of anchors that are considered."""
DRAWS = 200
"""Simulated judges of each number: the power is within 0.03."""
Counts = dict[tuple[str, str], Counter[str]]
"""How often each answer was given, by item and criterion."""


def one_judge(judge: Judge) -> Panel:
    """A judge as a panel, which is it alone or its replicates.

    Raises:
        InputError: it is several judges.
    """
    panel = as_panel(judge)
    if len({id(member.judge) for member in panel.members}) > 1:
        raise InputError(f"{judge.name} is several judges: keep anchors of each by itself")
    return panel


class AnchorChoice:
    """Verdicts of a run that become anchors, chosen at random.

    Args:
        run: the run.
        judge: who judged it, with the same options.
        count: how many anchors; of different items where there are enough.
        answers: how many answers are kept of each; what the run does not have is asked for.
        seed: of the random choice.

    Attributes:
        panel: the judge, asked for the answers that are missing; None where none is.
        dataset: the items, each with the criteria that were chosen.

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
        decided.sort(key=lambda row: turns[id(row)])  # stable: one of each item first
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
        """The anchors as a dataset, with the answers of the run and those that were asked for."""
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
    """The answers that items were given; those that failed are left out."""
    return {
        (result.id, name): Counter(
            vote.label for vote in verdict.votes or (verdict,) if vote.label is not None
        )
        for result in results
        for name, verdict in result.criteria.items()
    }


def read_anchors(file: str | Path, judge: Judge) -> RubricDataset:
    """The anchors of a file.

    Raises:
        InputError: it is no anchor file, or one of another judge.
    """
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
    """Compare what anchors are answered now with what they were answered.

    The p-value is doubled, for two looks: after the first answers, and after further ones.
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
    """How many answers to each anchor are asked for in doubt.

    With half as many as were kept, the answer that was usual then is usual still.
    """
    return min(FURTHER, min(sum(counts.values()) for counts in _kept(anchors)) // 2)


def _kept(anchors: RubricDataset) -> list[Mapping[str, int]]:
    return [counts for item in anchors.items for counts in item.metadata[ANSWERS].values()]


def power_of_anchors(anchors: RubricDataset) -> tuple[float, int | None]:
    """How often a judge is found that changed 15 % of its verdicts.

    By simulation of a judge that contradicts itself on each anchor as often as this one does on
    average. If it is sure of most anchors, and tosses a coin for the others, it is found oftener.

    Returns:
        The probability, and how many such anchors find it in 80 %; None if 200 do not.
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
