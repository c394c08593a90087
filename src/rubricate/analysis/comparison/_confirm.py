"""The flips of two runs, asked about again in both: which of them hold.

A comparison of two runs of one answer each is mostly noise: verdicts that the judge would not give
twice. So the verdicts that differ (the flips) are asked about first, in both runs. Most drops that
are noise end here, for few answers, because those that selected a flip do not count.

Flips that hold show verdicts that were lost, but hardly those that became a little likelier: few of
these flip, and fewer hold. So a drop must be seen in all verdicts, too. As long as both may show
one, round after round, the flips are asked once more, then the others, until the mean of all
answers to all verdicts shows the drop, or no longer a sign of it.

A flip that could be asked about in one run alone is left as it is: the run that is asked again
would regress to its mean, and the other would not.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

from rubricate.analysis._finished import FinishedRun
from rubricate.analysis.comparison._gate import Confirmation, ItemPair
from rubricate.analysis.comparison._scored_alike import (
    COMPARED,
    AlikeRuns,
    Reasked,
    VerdictPair,
    scored_alike,
)
from rubricate.dataset import DataItem, Item, RubricDataset
from rubricate.errors import InputError
from rubricate.judge import Judge, Member, Panel, as_panel
from rubricate.rubric import Criterion, Rubric, Verdict
from rubricate.run.results import ResultRow, ThresholdCheck
from rubricate.stats import bound_test

GivenAnew = Mapping[str, Mapping[str, Verdict]]
"""Verdicts that were given anew, by item and criterion."""
BEFORE, AFTER = "A", "B"
"""What the ids of items end in, by run."""
MOST_WRONG = 0.2
"""The share of verdicts that noise may have turned. A judge that errs in more is no judge; at half,
a figure that is .15 below by a noisy judge is not asked about."""


def unsettled(dataset: RubricDataset, answers: GivenAnew) -> RubricDataset | None:
    """The items of a dataset with the criteria whose answers are not all alike; None if all are.

    If more than half of the answers are given, and alike, the others cannot outvote them. Whether
    they are is seen in each run by itself, so that A and B could still be exchanged.
    """
    items = []
    for item in dataset.items:
        assert item.rubric is not None
        verdicts = answers[item.id]
        kept = [each for each in item.rubric if not _is_settled(verdicts[each.name])]
        if kept:
            rubric = Rubric(kept, guidelines=item.rubric.guidelines)
            items.append(replace(item, rubric=rubric))
    return RubricDataset(items=items, name=dataset.name) if items else None


def _is_settled(verdict: Verdict) -> bool:
    return verdict.value is not None and len({vote.label for vote in verdict.votes}) <= 1


class Recheck:
    """The flips of two runs that are to be asked about again.

    Args:
        a, b: the runs.
        judge: who judged them, with the same options.
        times: how often each flip is asked about again, in each run.

    Attributes:
        panel: the judge, asked all these times.
        rounds: the same once at a time.
        dataset: the items of both runs, each with the criteria that flipped there; None where
            there is nothing to ask.
        flips: how many verdicts differ in the two runs.
        pairs: those that can be asked about in both.

    Raises:
        InputError: the judge cannot be asked again, or gave none of these verdicts.
    """

    def __init__(self, a: FinishedRun, b: FinishedRun, judge: Judge, times: int) -> None:
        self._panel = panel = as_panel(judge)
        self.panel = panel.again(times)
        last = max(member.replicate for member in panel.members)
        self.rounds = tuple(panel.again(1, after=number * last) for number in range(times))
        self._runs = a, b
        self._given, self._repeated = Counter[tuple[str, str]](), Counter[tuple[str, str]]()
        self._compared = [pair for pair in scored_alike(a, b).pairs if pair.fate == COMPARED]
        every = [pair for pair in self._compared if pair.is_flip]
        self.flips = len(every)
        self.pairs, self.dataset = self._asked(every)
        if every and not self.pairs:
            raise InputError(
                f"none of the {self.flips} flips can be asked about again: {judge.name} with these "
                "options would not be asked what the runs asked. Name their judge, and the options "
                "of asking that they had; criteria that were asked together cannot be asked again"
            )

    def _asked(
        self, pairs: Sequence[VerdictPair]
    ) -> tuple[tuple[VerdictPair, ...], RubricDataset | None]:
        """Those of some pairs that can be asked about in both runs, and their items."""
        a, b = (
            same_questions(run, ((row.item, row.criterion) for row in rows), self._panel)
            for run, rows in zip(
                self._runs,
                ([pair.a for pair in pairs], [pair.b for pair in pairs]),
                strict=True,
            )
        )
        same = tuple(
            pair
            for pair in pairs
            if pair.a.criterion in a.names(pair.a.item) and pair.b.criterion in b.names(pair.b.item)
        )
        items = [
            *a.items(((pair.a.item, pair.a.criterion) for pair in same), BEFORE),
            *b.items(((pair.b.item, pair.b.criterion) for pair in same), AFTER),
        ]
        return same, RubricDataset(items=items, name="confirm") if same else None

    @cached_property
    def _whole(self) -> tuple[tuple[VerdictPair, ...], RubricDataset | None]:
        return self._asked(self._compared)

    @property
    def whole(self) -> RubricDataset | None:
        """The items of both runs, with all criteria that both decided and can be asked about."""
        return self._whole[1]

    def with_flips(
        self, confirmation: Confirmation, first: Sequence[ItemPair], answers: GivenAnew
    ) -> Confirmation:
        """A confirmation with one more answer to the flips.

        Args:
            confirmation: so far.
            first: the scores by the first answers, which do not count here.
            answers: the new ones.
        """
        anew, times = _given_anew(self.pairs, answers), confirmation.times + 1
        self._given.update(anew.keys())
        for pair in self.pairs:
            key = pair.b.item, pair.b.criterion
            if key in anew and [v.label for v in anew[key]] == [pair.a.label, pair.b.label]:
                self._repeated[key] += 1
        return replace(
            confirmation,
            times=times,
            asked_again=len(self._given),
            held=sum(2 * self._repeated[key] > count for key, count in self._given.items()),
            scored=self._averaged(confirmation.scored or first, anew, 1 / times),
        )

    def with_round(
        self, confirmation: Confirmation, first: Sequence[ItemPair], answers: GivenAnew
    ) -> Confirmation:
        """The same with one more answer to all verdicts, beside the first, which count here."""
        anew, rounds = _given_anew(self._whole[0], answers), confirmation.rounds + 1
        averaged = self._averaged(confirmation.averaged or first, anew, 1 / (rounds + 1))
        return replace(confirmation, rounds=rounds, averaged=averaged)

    def _averaged(
        self, pairs: Sequence[ItemPair], anew: Reasked, share: float
    ) -> tuple[ItemPair, ...]:
        """Mean scores so far, of which those by new verdicts become this share."""
        scores = scored_alike(*self._runs, reasked=anew).scores
        return tuple(
            replace(
                pair,
                a=pair.a + share * (scores[pair.item][0] - pair.a),
                b=pair.b + share * (scores[pair.item][1] - pair.b),
                noise=None,
            )
            for pair in pairs
        )


def _given_anew(pairs: Sequence[VerdictPair], answers: GivenAnew) -> Reasked:
    """Both verdicts of each pair that were given anew; one that failed or abstained is left out."""
    anew = {
        (pair.b.item, pair.b.criterion): (
            answers[f"{pair.a.item}/{BEFORE}"][pair.a.criterion],
            answers[f"{pair.b.item}/{AFTER}"][pair.b.criterion],
        )
        for pair in pairs
    }
    return {key: both for key, both in anew.items() if all(each.value is not None for each in both)}


class LosingVerdicts:
    """The verdicts that keep figures of a run below their thresholds, to be asked about again.

    Before a build fails by them: each that lowers a figure, and could not do better. One that the
    judge does not repeat counts as it is given anew, so that a figure can only rise by noise, and
    *below* is said less often of a run that is not. Nothing is asked where more than a fifth of all
    verdicts would have to be wrong.

    Args:
        run: the run.
        checks: what its thresholds came to.
        judge: who judged it, with the same options.
        times: how often each verdict is asked about again.

    Attributes:
        panels: the judge, asked more often than half of `times`; then asked `times`, about what
            was not answered alike.
        dataset: the items, each with these criteria; None where there is nothing to ask.
    """

    def __init__(
        self, run: FinishedRun, checks: Sequence[ThresholdCheck], judge: Judge, times: int
    ) -> None:
        panel = as_panel(judge)
        self.panels = tuple(panel.again(n) for n in dict.fromkeys((times // 2 + 1, times)))
        self._run = run
        declared = run.rules.declared is not None  # a score of all items, and not their mean
        self._checks = [
            check
            for check in checks
            if _may_be_noise(check) and not (declared and check.criterion is None)
        ]
        losing = [row for row in run.rows if any(_lowers(row, each) for each in self._checks)]
        same = same_questions(run, ((row.item, row.criterion) for row in losing), panel)
        self._rows = [row for row in losing if row.criterion in same.names(row.item)]
        self.dataset = None
        if self._rows:
            wanted = ((row.item, row.criterion) for row in self._rows)
            self.dataset = RubricDataset(items=[*same.items(wanted, AFTER)], name="confirm")

    def outcomes(
        self,
        checks: Sequence[ThresholdCheck],
        answers: GivenAnew,
        groups: Mapping[str, Any] | None,
    ) -> list[ThresholdCheck]:
        """What the thresholds come to by the verdicts that were given anew."""
        anew: dict[tuple[str, str], tuple[Verdict, Verdict]] = {}
        for row in self._rows:
            verdict = answers[f"{row.item}/{AFTER}"][row.criterion]
            if verdict.value is not None:
                anew[row.item, row.criterion] = row, verdict
        alike = scored_alike(self._run, self._run, reasked=anew)
        return [
            self._confirmed(check, alike, anew, groups) if check in self._checks else check
            for check in checks
        ]

    def _confirmed(
        self,
        check: ThresholdCheck,
        alike: AlikeRuns,
        anew: Reasked,
        groups: Mapping[str, Any] | None,
    ) -> ThresholdCheck:
        pairs = alike.scores if check.criterion is None else alike.values(check.criterion)
        values = {item: both[1] for item, both in pairs.items()}
        test = bound_test(
            list(values.values()),
            check.threshold,
            groups=None if groups is None else [groups[item] for item in values],
            limits=(0.0, 1.0) if all(0 <= value <= 1 for value in values.values()) else None,
        )
        is_below = test.side == "below"
        if check.figure == "confidence bound":
            is_below = test.low is None or test.low < check.threshold
        own = [row for row in self._rows if _lowers(row, check)]
        repeated = [
            anew[row.item, row.criterion] for row in own if (row.item, row.criterion) in anew
        ]
        update = {
            "outcome": "below" if is_below else "cannot tell",
            "asked_again": len(repeated),
            "held": sum(before.label == after.label for before, after in repeated),
        }
        return check.model_copy(update=update)


def _may_be_noise(check: ThresholdCheck) -> bool:
    """Whether a figure is below its threshold, and by no more than noise could make."""
    if check.outcome != "below" or check.figure == "worst case" or check.confidence is None:
        return False
    end = check.confidence[0 if check.figure == "confidence bound" else 1]
    return check.threshold - end <= MOST_WRONG


def _lowers(row: ResultRow, check: ThresholdCheck) -> bool:
    """Whether a figure would be higher had a verdict the best answer."""
    if row.value is None or check.criterion not in (None, row.criterion):
        return False
    return row.value > 0 if row.weight < 0 else row.value < 1


@dataclass(frozen=True, slots=True)
class SameQuestions:
    """What of a run's verdicts a judge would be asked in the same words.

    Attributes:
        run: the run.
        of_item: its items by id, with the names of these criteria.
    """

    run: FinishedRun
    of_item: Mapping[str, tuple[DataItem, frozenset[str]]]

    def names(self, item: str) -> Collection[str]:
        """The criteria of an item."""
        return self.of_item[item][1] if item in self.of_item else ()

    def items(self, wanted: Iterable[tuple[str, str]], side: str) -> Iterator[DataItem]:
        """The items of some verdicts (item and criterion), each with these criteria alone."""
        rubrics: dict[tuple[int, tuple[str, ...]], Rubric] = {}
        for item, names in _by_item(wanted).items():
            rubric, chosen = self.run.rubric_of(item), tuple(names)
            key = id(rubric), chosen
            if key not in rubrics:
                rubrics[key] = Rubric(
                    [
                        rubric.by_name[name].model_copy(update={"requires": (), "name": name})
                        for name in chosen
                    ],
                    guidelines=rubric.guidelines,
                )
            data = self.of_item[item][0]
            yield DataItem(
                data.submission,
                data.description,
                rubric=rubrics[key],
                reference_submission=data.reference_submission,
                id=f"{item}/{side}",
                prompt=data.prompt,
                context=data.context,
                metadata=data.metadata,
            )


def same_questions(
    run: FinishedRun, wanted: Iterable[tuple[str, str]], panel: Panel
) -> SameQuestions:
    """Which of a run's verdicts (item and criterion) a panel would be asked for in the same words.

    Those whose answers have the keys that it would give them: the keys change with everything that
    could change an answer.
    """
    by_item, of_item = _by_item(wanted), {}
    for finished in run.items() if by_item else ():
        if finished.item not in by_item or finished.submission is None:
            continue
        data = finished.data()
        item = Item.of(
            data,
            run.rubric_of(finished.item),
            id=finished.item,
            prompt=finished.prompt or "",
            reference=finished.reference,
        )
        kept = {row.criterion: row.keys for row in finished.rows}
        names = frozenset(
            name
            for name in by_item[finished.item]
            if _keys(item, item.rubric.by_name[name], panel.members) == kept[name]
        )
        if names:
            of_item[finished.item] = data, names
    return SameQuestions(run, of_item)


def _by_item(wanted: Iterable[tuple[str, str]]) -> dict[str, dict[str, None]]:
    by_item: dict[str, dict[str, None]] = {}
    for item, name in wanted:
        by_item.setdefault(item, {})[name] = None
    return by_item


def _keys(item: Item, criterion: Criterion, members: Sequence[Member]) -> tuple[str, ...] | None:
    """The journal's keys of a panel's answers; None where a judge raises instead."""
    with suppress(Exception):  # a judge's key is the user's code
        return tuple(member.judge.key(item, criterion) + member.suffix for member in members)
    return None
