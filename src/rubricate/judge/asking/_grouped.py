"""Several criteria of an item in one call: fewer requests, at the price of judging less apart."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import replace
from typing import Literal

from rubricate.errors import InputError, ModelError, UnreadableReply
from rubricate.judge._case import Case
from rubricate.judge.asking._examples import Examples
from rubricate.judge.asking._model_judge import ModelJudge
from rubricate.judge.asking._orders import criteria_order
from rubricate.judge.asking._prompts import render_group
from rubricate.judge.asking._replies import Reply, answer_of, failure_of, read_group
from rubricate.judge.asking._required import asked_again, unsupported
from rubricate.judge.models import Completion, Message, Model, Request, Send
from rubricate.rubric import Criterion, Usage, Verdict

__all__ = ["CriteriaPerCall", "GroupedModelJudge", "check_criteria_per_call"]

CriteriaPerCall = int | Literal["all"]
"""How many criteria of an item are judged in one call."""


def check_criteria_per_call(given: CriteriaPerCall) -> CriteriaPerCall:
    """The number of criteria a call, if it is one; `InputError` if not."""
    if given == "all" or (isinstance(given, int) and not isinstance(given, bool) and given >= 1):
        return given
    raise InputError(f"criteria per call must be a number from 1, or 'all', found {given!r}")


class GroupedModelJudge(ModelJudge):
    """A language model that is asked about several criteria of an item at once.

    A criterion that the reply lacks, has twice or answers in another form is asked again without
    the others.

    Args:
        model: the model.
        criteria_per_call: how many criteria go together, in the rubric's order; `all` for all.
        reasks: how often what was not answered is asked again.
        examples: labelled examples to be shown, if any.
        shuffle: a seed that draws the order of the criteria of a call and of their answers, for
            each item. Default: the rubric's own order.
        require_evidence: as for `ModelJudge`.
    """

    def __init__(
        self,
        model: Model,
        *,
        criteria_per_call: CriteriaPerCall = "all",
        reasks: int = 2,
        examples: Examples | None = None,
        shuffle: int | None = None,
        require_evidence: bool | None = None,
    ) -> None:
        super().__init__(
            model,
            reasks=reasks,
            examples=examples,
            shuffle=shuffle,
            require_evidence=require_evidence,
        )
        self._size = check_criteria_per_call(criteria_per_call)
        if self._size != 1:
            self.mode = f"explained, {self._size} criteria a request"

    def groups(self, criteria: Sequence[Criterion]) -> list[list[int]]:
        places = range(len(criteria))
        size = max(1, len(criteria)) if self._size == "all" else self._size
        return [list(places[start : start + size]) for start in places[::size]]

    def keys(self, case: Case, criteria: Sequence[Criterion]) -> list[str]:
        if len(criteria) == 1:
            return [self.key(case, criteria[0])]
        places = self._places(case, criteria)
        key = self._key_of(self._group_request(case, [criteria[place] for place in places]))
        return [
            f"{key}-{places.index(place) + 1}{self._required(criterion).decode()}"
            for place, criterion in enumerate(criteria)
        ]

    def _places(self, case: Case, criteria: Sequence[Criterion]) -> list[int]:
        """The places of a group's criteria in the order in which they are asked about."""
        if self._shuffle is None:
            return list(range(len(criteria)))
        return criteria_order(criteria, case, self._shuffle)

    def _group_request(self, case: Case, criteria: Sequence[Criterion]) -> Request:
        orders = [self._order(case, criterion) for criterion in criteria]
        return render_group(case, criteria, self._shown(case), orders)

    async def judge_group(
        self, case: Case, criteria: Sequence[Criterion], send: Send
    ) -> list[Verdict]:
        if len(criteria) == 1:
            return [await self.judge(case, criteria[0], send)]
        asked_about = [criteria[place] for place in self._places(case, criteria)]
        names = {"criteria": [one.title for one in asked_about]}
        asked = _Asked(self._places(case, criteria))
        for _ in range(1 + self._reasks):
            left = asked.left()
            if not left:
                break
            request = self._group_request(case, [criteria[place] for place in left])
            if asked.wrong:
                request = _with_corrections(request, [asked.wrong[place] for place in left])
            try:
                completion = await send(self.model, request)
            except ModelError as error:
                asked.took(left, Usage(requests=error.requests))
                for place in left:
                    asked.found[place] = self._failed(
                        criteria[place],
                        *failure_of(error, asked.wrong.get(place, "")),
                        asked.spent[place],
                    )
                break
            asked.took(left, completion.usage)
            for place, reply in zip(left, _replies(completion, request, len(left)), strict=True):
                try:
                    if isinstance(reply, UnreadableReply):
                        raise reply
                    reading = criteria[place].read(reply.answer)
                except UnreadableReply as error:
                    asked.wrong[place] = str(error)
                    asked.unsupported.pop(place, None)
                else:
                    found = self._verdict(case, criteria[place], reply, reading, asked.spent[place])
                    if self._shuffle is not None:
                        found = replace(found, order={**(found.order or {}), **names})
                    wrong = unsupported(
                        self._require_evidence, criteria[place], reading, found.evidence
                    )
                    asked.came(place, found, wrong)
        for place in asked.left():
            asked.found[place] = asked.lacking(place) or self._failed(
                criteria[place], "unreadable_reply", asked.wrong[place], asked.spent[place]
            )
        return [asked.found[place] for place in range(len(criteria))]


class _Asked:
    """What has come of a group so far, by the criteria's places, in the order of asking."""

    def __init__(self, places: Sequence[int]) -> None:
        self._places = places
        self.found: dict[int, Verdict] = {}
        self.wrong: dict[int, str] = {}
        self.unsupported: dict[int, Verdict] = {}
        self._times: Counter[int] = Counter()
        self.spent = [Usage()] * len(places)

    def came(self, place: int, verdict: Verdict, wrong: str) -> None:
        """Take a verdict, unless something is wrong with its quotes."""
        if wrong:
            self.wrong[place], self.unsupported[place] = wrong, verdict
            self._times[place] += 1
            return
        times = self._times[place]
        self.found[place] = asked_again(verdict, times) if times else verdict

    def lacking(self, place: int) -> Verdict | None:
        """The last answer of a place, if it is one whose quotes are wrong, abstaining for that."""
        verdict = self.unsupported.get(place)
        if verdict is None:
            return None
        return asked_again(verdict, self._times[place] - 1, self.wrong[place])

    def left(self) -> list[int]:
        """The places that have no verdict yet."""
        return [place for place in self._places if place not in self.found]

    def took(self, places: Sequence[int], usage: Usage) -> None:
        """Share out what a call took among the criteria that it was about."""
        for place, part in zip(places, usage.split(len(places)), strict=True):
            self.spent[place] += part


def _replies(completion: Completion, request: Request, count: int) -> list[Reply | UnreadableReply]:
    try:
        found = answer_of(
            completion,
            request,
            lambda text, whole, material: read_group(text, count, whole, material),
        )
    except UnreadableReply as error:
        return [error] * count
    return [found[number] for number in range(1, count + 1)]


def _with_corrections(request: Request, wrong: Sequence[str]) -> Request:
    """The request with what was wrong with an earlier answer behind."""
    system, user = request.messages
    lines = "\n".join(f"- criterion {number}: {what}" for number, what in enumerate(wrong, 1))
    content = f"{user['content']}\n\nAn earlier answer could not be used:\n{lines}"
    return replace(request, messages=(system, Message(role="user", content=content)))
