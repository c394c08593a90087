"""A call: what a judge is asked about an item at once, and the keys of its answers."""

from __future__ import annotations

from typing import NamedTuple

from rubricate.dataset import Item
from rubricate.judge import Judge, checked_key
from rubricate.rubric import Criterion, Failure, Verdict
from rubricate.run._failing import Raises, unkeyed

Group = list[Criterion]
"""Criteria that are asked about together."""


class Question(NamedTuple):
    """A criterion to be judged, and the key of the answer."""

    criterion: Criterion
    key: str


class Call(NamedTuple):
    """The criteria of an item that a judge is asked about together, mostly one.

    Attributes:
        voter: the judge's index among all of the run.
        judge: who is asked.
        suffix: what the keys of its replicate end in.
        questions: the criteria, with the keys of the answers.
        keys: these keys.
        failed_before: whether it failed in an earlier run.
    """

    voter: int
    judge: Judge
    suffix: str
    questions: list[Question]
    keys: list[str]
    failed_before: bool = False

    def about(self, questions: list[Question], *, failed_before: bool = False) -> Call:
        """The same call about some of its questions."""
        keys = [question.key for question in questions]
        return Call(self.voter, self.judge, self.suffix, questions, keys, failed_before)

    @property
    def needs_judge(self) -> bool:
        """Whether a judge is asked; if not, the verdict is computed."""
        return self.questions[0].criterion.needs_judge

    def failed(self, question: Question, failure: Failure) -> Verdict:
        """The verdict on one of its criteria where there is no usable answer."""
        name = question.criterion.name
        return Verdict(name, "failed", error=failure, judge=self.judge.name)


def calls_about(
    voter: int, judge: Judge, suffix: str, item: Item, group: Group, wanted: Group
) -> list[Call]:
    """The call about those criteria of a group that are wanted.

    If the judge raises instead of giving their keys, each criterion gets a call of its own, and
    what has no key even then fails.
    """
    try:
        if len(group) == 1:
            key = judge.key(item, group[0])
            if not (isinstance(key, str) and key.isascii()):
                key = checked_key(judge, key)
            key += suffix
            return [Call(voter, judge, suffix, [Question(group[0], key)], [key])]
        keys = [checked_key(judge, key) + suffix for key in judge.keys(item, group)]
        pairs = zip(group, keys, strict=True)
        questions = [Question(criterion, key) for criterion, key in pairs if criterion in wanted]
        return [Call(voter, judge, suffix, questions, [key for _, key in questions])]
    except BaseException as error:
        if len(group) > 1:
            return [
                call
                for criterion in wanted
                for call in calls_about(voter, judge, suffix, item, [criterion], [criterion])
            ]
        key = unkeyed(judge, item, group[0]) + suffix
        return [Call(voter, Raises(judge, error), suffix, [Question(group[0], key)], [key])]
