"""The model judge: a model with a prompt."""

from __future__ import annotations

import hashlib
from copy import copy
from dataclasses import replace
from functools import cached_property
from typing import Any, Self

import orjson

from rubricate.errors import ModelError, UnreadableReply
from rubricate.judge._case import Case
from rubricate.judge._judge import Judge
from rubricate.judge.asking._evidence import locate
from rubricate.judge.asking._examples import Example, Examples
from rubricate.judge.asking._orders import answer_order, shown_order
from rubricate.judge.asking._prompts import (
    PROMPT_VERSION,
    material_digest,
    question_digest,
    render,
    templates_digest,
)
from rubricate.judge.asking._replies import Reply, answer_of, failure_of, read_reply, shown_again
from rubricate.judge.asking._required import asked_again, changes_answers, unsupported
from rubricate.judge.models import Completion, Message, Model, Request, Send
from rubricate.rubric import NO_USAGE, Criterion, Evidence, Failure, Reading, Usage, Verdict

__all__ = ["ModelJudge"]


class ModelJudge(Judge):
    """A language model that is asked criterion by criterion, the reason before the verdict.

    A judge with another prompt overrides `request`, `read` and `form` (or `correction`), and says
    which it is in `prompt_version`.

    Args:
        model: the model.
        reasks: how often an unreadable reply is asked again, with what was wrong with it.
        examples: labelled examples to be shown, if any.
        fenced: whether the prompt fences the material in and warns of what it may contain. Without
            is for measuring what that is worth (`rubricate.redteam`), not for grading.
        shuffle: a seed that draws the order of the answers for each item and criterion. Default:
            the rubric's own order.
        require_evidence: whether an answer that must quote, and whose quotes do not stand in the
            submission, is asked again and then abstains. Default: only of criteria about items
            (metric), for the quotes that are given.
    """

    prompt_version: str | None = PROMPT_VERSION
    mode: str | None = "explained, one criterion a request"
    """How the model is asked, in words."""
    form = '{"reason": "...", "evidence": ["..."], "verdict": ...}'
    """What the JSON object of a reply looks like; named when a reply is asked for again."""

    def __init__(
        self,
        model: Model,
        *,
        reasks: int = 2,
        examples: Examples | None = None,
        fenced: bool = True,
        shuffle: int | None = None,
        require_evidence: bool | None = None,
    ) -> None:
        self.name = model.name
        self.model: Model = model
        self.caches_prefixes = getattr(model, "caches_prefixes", False)
        self._reasks = reasks
        self._examples = examples
        self._fenced = fenced
        self._shuffle = shuffle
        self._require_evidence = require_evidence
        self._turn = 0
        self._begun: tuple[Case, hashlib.blake2b] | None = None

    def __getstate__(self) -> dict[str, Any]:
        """Without what is kept of the last case and of the model as it is here."""
        state = self.__dict__ | {"_begun": None}
        state.pop("_identity", None)
        return state

    def in_turn(self, turn: int) -> Self:
        """The same judge, with the answers in another order, the `turn`th from 0."""
        if self.has_own_prompt:
            super().in_turn(turn)
        return self.turned(turn)

    def turned(self, turn: int) -> Self:
        """The same judge in another order, whatever its prompt."""
        other = copy(self)
        other._turn = turn
        return other

    @property
    def has_own_prompt(self) -> bool:
        """Whether it asks in another way than `ModelJudge`: its key is then that of the request."""
        return type(self).request is not ModelJudge.request

    def _shown(self, case: Case) -> tuple[Example, ...]:
        return () if self._examples is None else self._examples.for_case(case)

    def _order(self, case: Case, criterion: Criterion) -> tuple[int, ...] | None:
        """The order of the answers; None for the criterion's own, or with none to order."""
        if self._shuffle is None and not self._turn:
            return None
        return answer_order(criterion.question, case, self._turn, self._shuffle) or None

    @cached_property
    def _identity(self) -> bytes:
        return orjson.dumps([PROMPT_VERSION, self.model.fingerprint()], option=orjson.OPT_SORT_KEYS)

    def request(self, case: Case, criterion: Criterion) -> Request:
        """What is sent: a system message, a user message, and the schema of the reply."""
        order = self._order(case, criterion)
        return render(case, criterion, self._shown(case), self._fenced, order)

    def read(self, completion: Completion, request: Request) -> Reply:
        """The reply in parts; `UnreadableReply` if it is not in the form that was asked for."""
        return answer_of(completion, request, read_reply)

    def correction(self, wrong: str) -> str:
        """What the model is told behind a reply that cannot be used."""
        return (
            f"That answer cannot be used: {wrong}. Answer the same question again with one JSON "
            f"object {self.form} and nothing else."
        )

    def key(self, case: Case, criterion: Criterion) -> str:
        begun = self._begun
        if begun is None or begun[0] is not case:  # criteria come item by item
            if self.has_own_prompt:
                request = self.request(case, criterion)
                return self._key_of(request) + self._required(criterion).decode()
            begun = self._begun = (case, self._of_case(case))
        digest = begun[1].copy()
        digest.update(question_digest(criterion, self._order(case, criterion)))
        digest.update(self._required(criterion))
        return digest.hexdigest()

    def _required(self, criterion: Criterion) -> bytes:
        """What keys have of `require_evidence`, where it makes other answers possible."""
        required = self._require_evidence
        if not changes_answers(required, criterion):
            return b""
        return b"-evidence" if required else b"-any-evidence"

    def _of_case(self, case: Case) -> hashlib.blake2b:
        """What the keys of all verdicts on a case begin with: all that `render` is given of it.

        Nothing is rendered: the templates are in the key themselves.
        """
        digest = hashlib.blake2b(self._identity, digest_size=16)
        digest.update(templates_digest(PROMPT_VERSION))
        digest.update(material_digest(case, self._shown(case), self._fenced))
        return digest

    def _key_of(self, request: Request) -> str:
        """The key of a request as it is sent; of judges that ask in another way."""
        digest = hashlib.blake2b(self._identity, digest_size=16)
        for message in request.messages:
            digest.update(b"\0" + message["content"].encode())
        digest.update(b"\0" + orjson.dumps(request.schema))
        return digest.hexdigest()

    async def judge(self, case: Case, criterion: Criterion, send: Send) -> Verdict:
        request = self.request(case, criterion)
        spent = NO_USAGE
        wrong = ""
        lacking: Verdict | None = None
        times = -1
        for _ in range(1 + self._reasks):
            try:
                completion = await send(self.model, request)
            except ModelError as error:
                spent += Usage(requests=error.requests)
                return self._failed(criterion, *failure_of(error, wrong), spent)
            spent = completion.usage if spent is NO_USAGE else spent + completion.usage
            try:
                reply = self.read(completion, request)
                reading = criterion.read(reply.answer)
            except UnreadableReply as error:
                wrong, lacking = str(error), None
            else:
                verdict = self._verdict(case, criterion, reply, reading, spent)
                wrong = unsupported(self._require_evidence, criterion, reading, verdict.evidence)
                if not wrong:
                    return verdict if times < 0 else asked_again(verdict, times + 1)
                lacking, times = verdict, times + 1
            request = _asked_again(request, completion, self.correction(wrong))
        if lacking is not None:
            return asked_again(lacking, times, wrong)
        return self._failed(criterion, "unreadable_reply", wrong, spent)

    def _verdict(
        self, case: Case, criterion: Criterion, reply: Reply, reading: Reading, spent: Usage
    ) -> Verdict:
        judged = reading.status == "judged"
        quotes = (*reply.quotes, *reading.quotes)
        order = self._order(case, criterion)
        return Verdict(
            criterion.name,
            reading.status,
            reading.label,
            criterion.value(reading.label) if judged else None,
            reason=reply.reason,
            evidence=self._all_located(quotes, case) if quotes else (),
            usage=spent,
            judge=self.name,
            detail=reading.detail,
            answer=reading.answer,
            order=None if order is None else shown_order(criterion, order),
        )

    def _all_located(self, quotes: tuple[str, ...], case: Case) -> tuple[Evidence, ...]:
        return tuple([self._located(quote, case) for quote in dict.fromkeys(quotes)])

    def _located(self, quote: str, case: Case) -> Evidence:
        return locate(quote, case.submission)

    def _failed(self, criterion: Criterion, kind: str, message: str, spent: Usage) -> Verdict:
        return Verdict(
            criterion.name,
            "failed",
            usage=spent,
            error=Failure(kind, message),
            judge=self.name,
        )

    async def aclose(self) -> None:
        await self.model.aclose()


def _asked_again(request: Request, completion: Completion, correction: str) -> Request:
    """The request with the unreadable reply and what is wrong with it behind."""
    first = request.messages[:2]
    again = (
        Message(role="assistant", content=shown_again(completion)),
        Message(role="user", content=correction),
    )
    return replace(request, messages=(*first, *again))
