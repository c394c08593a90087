"""Judges whose verdicts are already in the dataset: published ones, or another program's."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import orjson

from rubricate.dataset import DataItem, Item, RubricDataset
from rubricate.errors import InputError
from rubricate.judge._judge import Judge
from rubricate.judge.models import Send
from rubricate.rubric import Criterion, Failure, Verdict

VOTES = "votes"
"""The key of an item's metadata for recorded verdicts: `{judge: {criterion: label}}`."""


class RecordedJudge(Judge):
    """Reads the labels in the items' metadata under `votes`; sends no request.

    A label that is missing, null, or not valid for the criterion is a `failed` verdict.

    Args:
        name: the judge that gave the labels.
    """

    def __init__(self, name: str) -> None:
        self.name = name

    def key(self, item: Item, criterion: Criterion) -> str:
        identity = [self.name, item.submission, criterion.requirement, self._label(item, criterion)]
        return hashlib.blake2b(orjson.dumps(identity, default=repr), digest_size=16).hexdigest()

    async def judge(self, item: Item, criterion: Criterion, send: Send) -> Verdict:
        label = self._label(item, criterion)
        name = criterion.name
        problem = "no verdict of this judge is recorded"
        if label is not None:
            try:
                verdict = criterion.verdict(label)
            except InputError as error:
                problem = error.message
            else:
                return Verdict(name, verdict.status, verdict.label, verdict.value, judge=self.name)
        return Verdict(name, "failed", error=Failure("not_recorded", problem), judge=self.name)

    def _label(self, item: Item, criterion: Criterion) -> object:
        labels = _votes(item.data).get(self.name)
        return labels.get(criterion.name) if isinstance(labels, Mapping) else None


def recorded_judges(dataset: RubricDataset) -> list[RecordedJudge]:
    """The judges whose verdicts a dataset contains, in order of their first appearance.

    Raises:
        InputError: it contains none.
    """
    names = dict.fromkeys(name for item in dataset.items for name in _votes(item))
    if not names:
        raise InputError(
            "no verdicts are recorded: an item's metadata holds them as "
            "{votes: {JUDGE: {CRITERION: LABEL}}}"
        )
    return [RecordedJudge(name) for name in names]


@dataclass(frozen=True, slots=True)
class UnknownVote:
    """A recorded answer that is invalid for its criterion, or about a criterion outside the rubric.

    Attributes:
        judge, criterion, label: its judge, its criterion, and the answer.
        known: whether the rubric has the criterion.
        count: the number of items with it.
        item: the first of these items.
    """

    judge: str
    criterion: str
    label: str
    known: bool
    count: int
    item: str


def unknown_votes(dataset: RubricDataset, judges: Sequence[RecordedJudge]) -> list[UnknownVote]:
    """The recorded answers of these judges that count for nothing, in the order of the items."""
    items_by_answer: dict[tuple[str, str, str, bool], list[str]] = {}
    for item in dataset.to_grade():
        criteria, votes = item.rubric.by_name, _votes(item.data)
        for judge in judges:
            labels = votes.get(judge.name)
            for name, label in labels.items() if isinstance(labels, Mapping) else ():
                criterion = criteria.get(name)
                if label is None or (criterion is not None and _is_answer(criterion, label)):
                    continue
                what = judge.name, str(name), str(label), criterion is not None
                items_by_answer.setdefault(what, []).append(item.id)
    return [UnknownVote(*what, len(items), items[0]) for what, items in items_by_answer.items()]


def _is_answer(criterion: Criterion, label: Any) -> bool:
    try:
        criterion.verdict(label)
    except InputError:
        return False
    return True


def _votes(item: DataItem) -> Mapping[str, Any]:
    votes = item.metadata.get(VOTES)
    return votes if isinstance(votes, Mapping) else {}
