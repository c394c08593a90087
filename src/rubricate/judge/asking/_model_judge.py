"""A language model as a judge: ask, read the reply, and ask again if it is not an answer."""

from __future__ import annotations

import hashlib
from collections import Counter
from collections.abc import Mapping, Sequence
from copy import copy
from dataclasses import replace
from functools import cached_property, partial
from typing import Any, Self

from rubricate.dataset import Item
from rubricate.errors import InputError, ModelError, UnreadableReply
from rubricate.judge._judge import Judge, no_orders
from rubricate.judge.asking._conversation import Conversation, asked_again
from rubricate.judge.asking._prompting import (
    Explained,
    Prompting,
    asked_for_quotes,
    hash_of_request,
    identity_of,
    key_suffix,
    unsupported,
    with_confidence,
)
from rubricate.judge.asking._replies import (
    NOT_READ,
    Reply,
    answer_of,
    beginning,
    failure_of,
    wrong_with,
)
from rubricate.judge.models import Completion, Message, Model, Request, Send
from rubricate.rubric import (
    NO_USAGE,
    UNANSWERED,
    Criterion,
    Failure,
    Reading,
    Usage,
    Verdict,
    read_kept,
)


class ModelJudge(Judge):
    """A language model as a judge.

    Criteria that do not suit its way of asking are asked about in another way; `note` says which.

    Args:
        model: the model.
        prompting: the way of asking. Default: `Explained()`, criterion by criterion, the reason
            before the verdict.
        name: its name in results. Default: the name of the model.
        reasks: how often to ask again after an unreadable reply, telling the model what was wrong.

    Raises:
        InputError: `model` is not a model.
    """

    text_only = True

    def __init__(
        self,
        model: Model,
        prompting: Prompting | None = None,
        *,
        name: str | None = None,
        reasks: int = 2,
    ) -> None:
        if not isinstance(model, Model):
            raise InputError(
                f"not a model: {type(model).__name__}; one of your own derives from Model (a "
                "callable is wrapped in PythonModel, a name such as openai/gpt-6-luna in HTTPModel)"
            )
        self.name = model.name if name is None else name
        self.model: Model = model
        self.caches_prefixes = model.caches_prefixes
        self.answers_later = model.answers_later
        self.prompting: Prompting = Explained() if prompting is None else prompting
        self.prompt_version = self.prompting.version
        self.mode = self.prompting.mode
        self.probability_mode = self.prompting.probability_mode
        self.is_trusted = type(self) is ModelJudge and type(self.prompting) is Explained
        self._reasks = reasks
        self._memory = self.prompting.memory() if self.prompting.asks_several else None
        other = self.prompting.otherwise
        self._other = None if other is None else self.with_prompting(other)
        self._unfit: dict[str, None] = {}
        self._last_item: tuple[Item, hashlib.blake2b | None] | None = None

    def __getstate__(self) -> dict[str, Any]:
        """Drop the cached data of the last item and of the model in this process."""
        state = self.__dict__ | {"_last_item": None}
        for name in ("identity", "_fingerprint"):
            state.pop(name, None)
        return state

    @property
    def note(self) -> str | None:  # type: ignore[override]
        about_asking = self.prompting.note(self._memory, self._unfit)
        return ". ".join([line for line in (about_asking, self.model.note) if line]) or None

    def with_prompting(self, prompting: Prompting) -> ModelJudge:
        """Return a judge with the same model and name and another way of asking."""
        return ModelJudge(self.model, prompting, name=self.name, reasks=self._reasks)

    def asked_otherwise(self, criterion: Criterion) -> ModelJudge | None:
        """The judge for a criterion that does not suit the way of asking; `note` then says so."""
        if self._other is None or self.prompting.fits(criterion):
            return None
        self._unfit[criterion.title] = None
        return self._other

    def in_turn(self, turn: int) -> Self:
        prompting = self.prompting.turned(turn)
        if prompting is None:
            raise no_orders(self.name)
        other = copy(self)
        other.prompting = prompting
        other._last_item = None
        return other

    # Keys

    @cached_property
    def identity(self) -> bytes:
        """The prompt and the model, as part of journal keys."""
        return identity_of([self.prompt_version, self.model.fingerprint()])

    @cached_property
    def _fingerprint(self) -> Mapping[str, Any]:
        return self.model.fingerprint()

    def key(self, item: Item, criterion: Criterion) -> str:
        if self._other is not None and (other := self.asked_otherwise(criterion)) is not None:
            return other.key(item, criterion)
        last = self._last_item
        if last is None or last[0] is not item:  # criteria come item by item
            of_item = self.prompting.item_digest(item)
            begun = None
            if of_item is not None:
                begun = hashlib.blake2b(self.identity + of_item, digest_size=16)
            last = self._last_item = (item, begun)
        if last[1] is None:  # the key is that of the whole request
            return self.prompting.request_key(self._fingerprint, item, criterion)
        digest = last[1].copy()
        digest.update(self.prompting.criterion_digest(item, criterion))
        return digest.hexdigest()

    # One criterion

    async def judge(self, item: Item, criterion: Criterion, send: Send) -> Verdict:
        if self._other is not None and (other := self.asked_otherwise(criterion)) is not None:
            return await other.judge(item, criterion, send)
        if self.prompting.asks_several:
            return await self._judged_in_several(item, criterion, send)
        prompting = self.prompting
        first = request = prompting.request(item, criterion)
        spent = NO_USAGE
        wrong = ""
        lacking: Verdict | None = None
        times = -1
        for _ in range(1 + self._reasks):
            try:
                completion = await send(self.model, request)
            except ModelError as error:
                spent += error.usage
                return self._failed(criterion, *failure_of(error, wrong), spent)
            spent = completion.usage if spent is NO_USAGE else spent + completion.usage
            try:
                reply = prompting.read(completion, request)
                reading = criterion.read(reply.answer)
            except NOT_READ as error:
                wrong, lacking = wrong_with(error), None
                first = self.model.after_unreadable(first, completion)
            else:
                verdict = self._verdict(item, criterion, reply, reading, spent)
                required = prompting.require_evidence
                wrong = unsupported(required, criterion, reading, verdict)
                if not wrong:
                    return verdict if times < 0 else asked_for_quotes(verdict, times + 1)
                lacking, times = verdict, times + 1
            request = asked_again(first, completion, prompting.correction(wrong))
        if lacking is not None:
            return asked_for_quotes(lacking, times, wrong)
        kind, wrong = "unreadable_reply", wrong + beginning(completion)
        label = completion.text.removeprefix('{"verdict": "').removesuffix('"}')
        if label in criterion.labels and (own := self.model.bare_label(completion.text)):
            kind, wrong = "judge_error", own
        return self._failed(criterion, kind, wrong, spent)

    async def _judged_in_several(self, item: Item, criterion: Criterion, send: Send) -> Verdict:
        """The verdict of a way of asking that takes several requests."""
        conversation = Conversation(self.model, send, self._reasks, self._memory)
        try:
            reply = await self.prompting.answer(item, criterion, conversation)
            reading = read_kept(criterion, reply.answer)
        except ModelError as error:
            spent = conversation.usage + error.usage
            return self._failed(criterion, *failure_of(error, conversation.wrong), spent)
        except NOT_READ as error:
            return self._failed(
                criterion, "unreadable_reply", wrong_with(error), conversation.usage
            )
        return self._verdict(item, criterion, reply, reading, conversation.usage)

    def _verdict(
        self, item: Item, criterion: Criterion, reply: Reply, reading: Reading, spent: Usage
    ) -> Verdict:
        prompting = self.prompting
        quotes = dict.fromkeys(reply.quotes + reading.quotes)
        order = prompting.order(item, criterion)
        verdict = criterion.verdict_of(
            reading,
            reason=reply.reason,
            evidence=tuple([prompting.located(quote, item) for quote in quotes]),
            usage=spent,
            judge=self.name,
            order=None if order is None else _shown_order(criterion, order),
        )
        return with_confidence(verdict, reply) if prompting.states_confidence else verdict

    def _failed(self, criterion: Criterion, kind: str, message: str, spent: Usage) -> Verdict:
        failure = Failure(kind, message)
        return Verdict(criterion.name, failure.status, usage=spent, error=failure, judge=self.name)

    # Several criteria in one request

    def groups(self, criteria: Sequence[Criterion]) -> list[list[int]]:
        size, count = self.prompting.criteria_per_call, len(criteria)
        step = max(1, count) if size == "all" else int(size)
        groups: list[list[int]] = []
        for first in range(0, count, step):
            groups.append([*range(first, min(first + step, count))])
        return groups

    def keys(self, item: Item, criteria: Sequence[Criterion]) -> list[str]:
        if len(criteria) == 1:
            return [self.key(item, criteria[0])]
        prompting = self.prompting
        indexes = prompting.group_order(item, criteria)
        request = prompting.group_request(item, [criteria[index] for index in indexes])
        key = hash_of_request(self.identity, request)
        required = prompting.require_evidence
        return [
            f"{key}-{indexes.index(index) + 1}{key_suffix(required, criterion).decode()}"
            for index, criterion in enumerate(criteria)
        ]

    async def judge_group(
        self, item: Item, criteria: Sequence[Criterion], send: Send
    ) -> list[Verdict]:
        """Ask again only about the criteria whose answers are missing, duplicate or malformed."""
        if len(criteria) == 1:
            return [await self.judge(item, criteria[0], send)]
        prompting = self.prompting
        indexes = prompting.group_order(item, criteria)
        group = _Group(indexes)
        for _ in range(1 + self._reasks):
            pending = group.pending()
            if not pending:
                break
            numbered = {str(indexes.index(index) + 1): criteria[index] for index in pending}
            request = self._group_request(item, numbered, group)
            try:
                completion = await send(self.model, request)
            except ModelError as error:
                group.spend(pending, error.usage)
                for index in pending:
                    failure = failure_of(error, group.wrong.get(index, ""))
                    failed = self._failed(criteria[index], *failure, group.spent[index])
                    group.verdicts[index] = failed
                break
            group.spend(pending, completion.usage)
            for index, reply in zip(pending, _replies(completion, request, numbered), strict=True):
                criterion = criteria[index]
                try:
                    if isinstance(reply, UnreadableReply):
                        raise reply
                    reading = criterion.read(reply.answer)
                    verdict = self._verdict(item, criterion, reply, reading, group.spent[index])
                except (Exception, SystemExit) as error:  # in user code, too: the others are read
                    group.unreadable(index, wrong_with(error))
                else:
                    required = prompting.require_evidence
                    group.judged(index, verdict, unsupported(required, criterion, reading, verdict))
            group.lost = completion if group.pending() == pending else None
        for index in group.pending():
            group.verdicts[index] = group.lacking(index) or self._failed(
                criteria[index], "unreadable_reply", group.wrong[index], group.spent[index]
            )
        verdicts = [group.verdicts[index] for index in range(len(criteria))]
        if prompting.shuffle is None:
            return verdicts
        names = {"criteria": [criteria[index].title for index in indexes]}
        return [
            answer
            if answer.status in UNANSWERED
            else replace(answer, order={**(answer.order or {}), **names})
            for answer in verdicts
        ]

    def _group_request(
        self, item: Item, numbered: Mapping[str, Criterion], group: _Group
    ) -> Request:
        """The request about criteria by number. They keep their numbers when asked about again."""
        criteria = list(numbered.values())
        if not group.wrong:
            return self.prompting.group_request(item, criteria)
        request = self.prompting.group_request(item, criteria, list(numbered))
        if group.lost is not None:
            request = self.model.after_unreadable(request, group.lost)
        system, user = request.messages
        wrong = [group.wrong[index] for index in group.pending()]
        lines = [
            f"- criterion {number}: {why}" for number, why in zip(numbered, wrong, strict=True)
        ]
        content = "\n".join([user["content"], "", "An earlier answer could not be used:", *lines])
        return replace(request, messages=(system, Message(role="user", content=content)))

    async def aclose(self) -> None:
        await self.model.aclose()


class _Group:
    """The results of a group so far, by the indexes of the criteria in the order of the prompt."""

    def __init__(self, indexes: Sequence[int]) -> None:
        self._indexes = indexes
        self.verdicts: dict[int, Verdict] = {}
        self.wrong: dict[int, str] = {}
        self.lost: Completion | None = None
        self._unsupported: dict[int, Verdict] = {}
        self._times: Counter[int] = Counter()
        self.spent = [Usage()] * len(indexes)

    def judged(self, index: int, verdict: Verdict, wrong: str) -> None:
        """Record a verdict, unless something is wrong with its quotes."""
        if wrong:
            self.wrong[index], self._unsupported[index] = wrong, verdict
            self._times[index] += 1
            return
        times = self._times[index]
        self.verdicts[index] = asked_for_quotes(verdict, times) if times else verdict

    def unreadable(self, index: int, wrong: str) -> None:
        """Record what is wrong with an unreadable answer."""
        self.wrong[index] = wrong
        self._unsupported.pop(index, None)

    def lacking(self, index: int) -> Verdict | None:
        """Return the last answer for an index if only its quotes are wrong, as an abstention."""
        verdict = self._unsupported.get(index)
        if verdict is None:
            return None
        return asked_for_quotes(verdict, self._times[index] - 1, self.wrong[index])

    def pending(self) -> list[int]:
        """The indexes without a verdict so far."""
        return [index for index in self._indexes if index not in self.verdicts]

    def spend(self, indexes: Sequence[int], usage: Usage) -> None:
        """Divide the usage of a call among its criteria."""
        for index, part in zip(indexes, usage.split(len(indexes)), strict=True):
            self.spent[index] += part


def _replies(
    completion: Completion, request: Request, numbered: Mapping[str, Criterion]
) -> list[Reply | UnreadableReply]:
    """Return the reply about each of the criteria, by number."""
    from rubricate.judge.asking._group_replies import read_group

    names = {
        number: (criterion.name, criterion.requirement) for number, criterion in numbered.items()
    }
    try:
        return answer_of(completion, request, partial(read_group, names))
    except UnreadableReply as error:
        return [error] * len(numbered)


def _shown_order(criterion: Criterion, order: Sequence[int]) -> dict[str, Any]:
    """The order of a criterion's answers in the form that a verdict keeps."""
    answers = criterion.question.answers
    return {"answers": [answers[index].label for index in order]}
