"""The flips of two runs, asked about again in both: which of them hold.

A comparison of two runs of one answer each is mostly noise: verdicts that the judge would not give
twice. Only those that differ (the flips) can move it, so only they are asked about again, in both
runs. A flip then counts as the answers say that it is given anew, in each run by itself; those that
selected it no longer count. Of an unchanged system, what is asked and answered is the same with
A and B exchanged, so that the test by flipping signs stays exact.

A flip that could be asked about in one run alone is left as it is: the run that is asked again
would regress to its mean, and the other would not.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass

from rubricate.analysis._finished import FinishedItem, FinishedRun
from rubricate.analysis.comparison._gate import Confirmation
from rubricate.analysis.comparison._scored_alike import Reasked, scored_alike
from rubricate.dataset import DataItem, Item, RubricDataset, read_context
from rubricate.errors import InputError
from rubricate.judge import Judge, Member, Panel, as_panel
from rubricate.rubric import Criterion, Rubric, Verdict
from rubricate.run import ItemResult

BEFORE, AFTER = "A", "B"
"""What the ids of items end in, by run."""


class Recheck:
    """The flips of two runs that are to be asked about again.

    Args:
        a, b: the runs.
        judge: who judged them, with the same options.
        times: how often each flip is asked about again, in each run.

    Attributes:
        panel: the judge, asked so often.
        dataset: the items of both runs, each with the criteria that flipped there; None where
            there is nothing to ask.
        flips: how many verdicts differ in the two runs.
        pairs: those that can be asked about in both.

    Raises:
        InputError: the judge cannot be asked again, or gave none of these verdicts.
    """

    def __init__(self, a: FinishedRun, b: FinishedRun, judge: Judge, times: int) -> None:
        panel = as_panel(judge)
        self.panel = panel.again(times)
        self._times = times
        every = [pair for pair in scored_alike(a, b).pairs if pair.is_flip]
        self.flips = len(every)
        same_a = same_questions(a, ((pair.a.item, pair.a.criterion) for pair in every), panel)
        same_b = same_questions(b, ((pair.b.item, pair.b.criterion) for pair in every), panel)
        self.pairs = tuple(
            pair
            for pair in every
            if pair.a.criterion in same_a.names(pair.a.item)
            and pair.b.criterion in same_b.names(pair.b.item)
        )
        if every and not self.pairs:
            raise InputError(
                f"none of the {self.flips} flips can be asked about again: {judge.name} with these "
                "options would not be asked what the runs asked. Name their judge, and the options "
                "of asking that they had; criteria that were asked together cannot be asked again"
            )
        self.dataset = None
        if self.pairs:
            items = [
                *same_a.items(((pair.a.item, pair.a.criterion) for pair in self.pairs), BEFORE),
                *same_b.items(((pair.b.item, pair.b.criterion) for pair in self.pairs), AFTER),
            ]
            self.dataset = RubricDataset(items=items, name="confirm")

    def outcome(self, results: Iterable[ItemResult]) -> tuple[Reasked, Confirmation]:
        """The verdicts that were given anew, in both runs, and how many repeat the flip."""
        answers = {result.id: result.criteria for result in results}
        anew: dict[tuple[str, str], tuple[Verdict, Verdict]] = {}
        held = 0
        for pair in self.pairs:
            a = answers[f"{pair.a.item}/{BEFORE}"][pair.a.criterion]
            b = answers[f"{pair.b.item}/{AFTER}"][pair.b.criterion]
            if a.value is None or b.value is None:  # failed or abstained: the flip stays as it is
                continue
            anew[pair.b.item, pair.b.criterion] = a, b
            held += (a.label, b.label) == (pair.a.label, pair.b.label)
        return anew, Confirmation(self._times, self.flips, len(anew), held)


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
        data = _data_item(finished)
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


def _data_item(finished: FinishedItem) -> DataItem:
    return DataItem(
        finished.submission or "",
        finished.description,
        reference_submission=finished.reference,
        prompt=finished.prompt or "",
        context=read_context(list(finished.context)),
        metadata=dict(finished.rows[0].metadata),
    )


def _keys(item: Item, criterion: Criterion, members: Sequence[Member]) -> tuple[str, ...] | None:
    """The journal's keys of a panel's answers; None where a judge raises instead."""
    with suppress(Exception):  # a judge's key is the user's code
        return tuple(member.judge.key(item, criterion) + member.suffix for member in members)
    return None
