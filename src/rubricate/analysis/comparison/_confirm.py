"""Confirmation: the verdicts in which two runs differ are asked again, in both runs.

Most differences between two runs with one answer per verdict are noise: verdicts that the judge
would not repeat. So the verdicts that differ (the flips) are asked again first, in both runs. The
answers by which a flip was selected do not count, so that most drops that are only noise disappear
at this point, after few answers.

Confirmed flips show verdicts that were clearly lost, but miss verdicts that became slightly less
likely: few of those flip, and fewer are confirmed. So a drop must be visible in all verdicts, too.
As long as both may show a drop, further rounds ask the flips once more, and then all other
verdicts, until the mean of all answers shows the drop, or no sign of it is left.

A flip that can be asked again in one run only stays as it is: the new answers of that run would
regress to the mean, and those of the other would not.
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
"""New verdicts, by item and criterion."""
BEFORE, AFTER = "A", "B"
"""Suffixes of item ids, by run."""
MOST_WRONG = 0.2
"""The largest share of verdicts that noise is assumed to have changed. A judge that errs more often
is of no use; at half, a noisy judge's figure that is 0.15 below its threshold is not asked
again."""


def unsettled(dataset: RubricDataset, answers: GivenAnew) -> RubricDataset | None:
    """The items of a dataset with the criteria whose answers differ; None if there are none.

    Once more than half of the answers are there and equal, the others cannot outvote them. This is
    decided for each run separately, so that the procedure stays symmetric in A and B.
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
    """The flips of two runs that are to be asked again.

    Args:
        a, b: the runs.
        judge: the judge of both runs, with the same options.
        times: how often each flip is asked again, in each run.

    Attributes:
        panel: the judge, asked `times` times.
        rounds: the judge, asked once per round.
        dataset: the items of both runs, each with its flipped criteria; None if there is nothing
            to ask.
        flips: the number of verdicts that differ between the runs.
        pairs: the flips that can be asked again in both runs.

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
        """Return the pairs that can be asked again in both runs, and their items."""
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
        """The items of both runs, with all criteria that both decided and that can be asked
        again."""
        return self._whole[1]

    def with_flips(
        self, confirmation: Confirmation, first: Sequence[ItemPair], answers: GivenAnew
    ) -> Confirmation:
        """Return a confirmation with one more answer to each flip.

        Args:
            confirmation: the confirmation so far.
            first: the scores by the first answers, which do not count here.
            answers: the new answers.
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
        """Return it with one more answer to each verdict. The first answers count here, too."""
        anew, rounds = _given_anew(self._whole[0], answers), confirmation.rounds + 1
        averaged = self._averaged(confirmation.averaged or first, anew, 1 / (rounds + 1))
        return replace(confirmation, rounds=rounds, averaged=averaged)

    def _averaged(
        self, pairs: Sequence[ItemPair], anew: Reasked, share: float
    ) -> tuple[ItemPair, ...]:
        """Update mean scores; the scores by new verdicts get this share."""
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
    """Both new verdicts of each pair, without pairs in which one failed or abstained."""
    anew = {
        (pair.b.item, pair.b.criterion): (
            answers[f"{pair.a.item}/{BEFORE}"][pair.a.criterion],
            answers[f"{pair.b.item}/{AFTER}"][pair.b.criterion],
        )
        for pair in pairs
    }
    return {key: both for key, both in anew.items() if all(each.value is not None for each in both)}


class LosingVerdicts:
    """The verdicts that keep figures of a run below their thresholds, to be asked again.

    Before a build fails, each verdict that lowers such a figure is asked again, and one that the
    judge does not repeat is replaced. Noise can thus only raise a figure, and a run that is good
    enough is called *below* less often. Nothing is asked if more than a fifth of all verdicts would
    have to be wrong.

    Args:
        run: the run.
        checks: the results of its thresholds.
        judge: the judge of the run, with the same options.
        times: how often each verdict is asked again.

    Attributes:
        panels: the judge, first asked more than half of `times`, then `times` about verdicts whose
            answers differ.
        dataset: the items, each with these criteria; None if there is nothing to ask.
    """

    def __init__(
        self, run: FinishedRun, checks: Sequence[ThresholdCheck], judge: Judge, times: int
    ) -> None:
        panel = as_panel(judge)
        self.panels = tuple(panel.again(n) for n in dict.fromkeys((times // 2 + 1, times)))
        self._run = run
        declared = run.rules.declared is not None  # one score for all items, rather than their mean
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
        """The results of the thresholds with the new verdicts."""
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
    """Whether a figure is below its threshold by no more than noise can explain."""
    if check.outcome != "below" or check.figure == "worst case" or check.confidence is None:
        return False
    end = check.confidence[0 if check.figure == "confidence bound" else 1]
    return check.threshold - end <= MOST_WRONG


def _lowers(row: ResultRow, check: ThresholdCheck) -> bool:
    """Whether a figure would be higher if this verdict had the best answer."""
    if row.value is None or check.criterion not in (None, row.criterion):
        return False
    return row.value > 0 if row.weight < 0 else row.value < 1


@dataclass(frozen=True, slots=True)
class SameQuestions:
    """The verdicts of a run that a judge would be asked for in the same words.

    Attributes:
        run: the run.
        of_item: the items by id, each with the names of these criteria.
    """

    run: FinishedRun
    of_item: Mapping[str, tuple[DataItem, frozenset[str]]]

    def names(self, item: str) -> Collection[str]:
        """The names of these criteria of an item."""
        return self.of_item[item][1] if item in self.of_item else ()

    def items(self, wanted: Iterable[tuple[str, str]], side: str) -> Iterator[DataItem]:
        """Yield the items of some verdicts (item and criterion), with these criteria only."""
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
    """Find the verdicts (item and criterion) of a run that a panel would be asked for in the same
    words.

    Their answers have the journal keys that the panel would use; a key changes with everything that
    can change an answer.
    """
    by_item, of_item = _by_item(wanted), {}
    for finished in run.items if by_item else ():
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
    """The journal keys of a panel's answers; None if a judge raises an error."""
    with suppress(Exception):  # the key of a judge may be user code
        return tuple(member.judge.key(item, criterion) + member.suffix for member in members)
    return None
