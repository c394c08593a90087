"""A language model that is asked for the verdict alone, and how probable each verdict is.

The verdict is one token, and its probabilities are the model's own (logprobs). Two corrections are
made: for the place of an option, by asking in several orders and averaging; and for the model's
liking of an option whatever the question, by what it says of a question without content
(contextual calibration: Zhao et al. 2021, "Calibrate Before Use"). Where a model gives no
probabilities, they are the shares of sampled replies.
"""

from __future__ import annotations

import hashlib
import math
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Literal, get_args

import orjson

from rubricate.errors import InputError, ModelError, UnreadableReply
from rubricate.judge._case import Case
from rubricate.judge._choices import (
    CONTENT_FREE,
    choice_question,
    content_free,
    render_choice,
)
from rubricate.judge._examples import Examples
from rubricate.judge._judge import ModelJudge
from rubricate.judge._orders import answer_order, check_permutations
from rubricate.judge._prompts import PROMPT_VERSION
from rubricate.judge._replies import without_thinking
from rubricate.judge.models import Completion, Message, Model, Request, Send
from rubricate.rubric import Criterion, Obtained, Question, Usage, Verdict, read_distribution

__all__ = ["MODES", "ORDERS", "SAMPLES", "Mode", "ProbabilityJudge", "corrected"]

Mode = Literal["explained", "probability"]
"""Whether a model gives its reasons before the verdict, or the verdict alone with probabilities."""
MODES: tuple[Mode, ...] = get_args(Mode)

ORDERS = 2
SAMPLES = 5
LEAST = 0.5
"""The share of the probability that the options must hold for a reply to be readable."""
FLOOR = 0.1
"""The least that the prior of an option counts as, in even shares: what a model hardly ever says
without content is not to be blown up."""
DIGITS = 6
"""Decimal places that are kept."""
_FIRST_WORD = re.compile(r"\W*(\w+)(?:\W*\Z|[.:)])")


class ProbabilityJudge(ModelJudge):
    """A language model that is asked for each verdict's probability.

    Criteria that no single token answers (metric criteria, scales of more than 21 levels) are
    judged in explained mode, and `note` says so.

    Args:
        model: the model.
        permutations: in how many orders of the options it is asked; their probabilities are
            averaged. Two are the rubric's own order and its reverse.
        correct_prior: whether probabilities are corrected by those of a question without content,
            which is asked once for each set of options and order. Only those that the model itself
            gives are.
        samples: how many replies are drawn in each order, where the model gives no probabilities.
        shuffle: a seed that draws the first of the orders for each item and criterion.
        reasks: how often an unreadable reply is asked again.
        examples: labelled examples to be shown, if any.

    Raises:
        InputError: a number cannot be used.
    """

    def __init__(
        self,
        model: Model,
        *,
        permutations: int = ORDERS,
        correct_prior: bool = True,
        samples: int = SAMPLES,
        shuffle: int | None = None,
        reasks: int = 2,
        examples: Examples | None = None,
    ) -> None:
        super().__init__(model, reasks=reasks, examples=examples, shuffle=shuffle)
        if isinstance(samples, bool) or samples < 1:
            raise InputError(f"samples must be a number from 1, found {samples!r}")
        self._permutations = check_permutations(permutations)
        orders = "1 order" if permutations == 1 else f"{permutations} orders"
        self.mode = f"probability, one criterion a request, {orders}"
        self._correct_prior = correct_prior
        self._samples = samples
        self._explaining = ModelJudge(model, reasks=reasks, examples=examples, shuffle=shuffle)
        self._explained: dict[str, None] = {}
        self._priors: dict[str, dict[str, float]] = {}
        settings = [permutations, correct_prior, samples, PROMPT_VERSION, model.fingerprint()]
        self._settings = orjson.dumps(settings, option=orjson.OPT_SORT_KEYS)

    @property
    def note(self) -> str | None:  # type: ignore[override]
        """Which criteria were judged in explained mode, if any."""
        if not self._explained:
            return None
        return (
            "No single token answers these criteria, which were judged in explained mode: "
            + ", ".join(self._explained)
        )

    def key(self, case: Case, criterion: Criterion) -> str:
        question = choice_question(criterion)
        if question is None:
            self._explained[criterion.name or criterion.requirement] = None
            return self._explaining.key(case, criterion)
        digest = hashlib.blake2b(self._settings, digest_size=16)
        for order in self._orders(case, question):
            request = render_choice(case, question, order, self._shown(case), criterion.note)
            for message in request.messages:
                digest.update(b"\0" + message["content"].encode())
        return digest.hexdigest()

    def _orders(self, case: Case, question: Question) -> list[tuple[int, ...]]:
        turns = range(self._permutations)
        return [answer_order(question, case, turn, self._shuffle) for turn in turns]

    async def judge(self, case: Case, criterion: Criterion, send: Send) -> Verdict:
        question = choice_question(criterion)
        if question is None:
            return await self._explaining.judge(case, criterion, send)
        counting = _Counting(send)
        views: list[_View] = []
        try:
            for order in self._orders(case, question):
                views.append(await self._view(case, criterion, question, order, counting))
        except ModelError as error:
            spent = counting.usage + Usage(requests=error.requests)
            return self._failed(criterion, error.kind, str(error), spent)
        except UnreadableReply as error:
            return self._failed(criterion, "unreadable_reply", str(error), counting.usage)
        reading = read_distribution(criterion, _answer(views, question))
        value = None
        if reading.status == "judged":
            value = criterion.value(reading.label) if reading.value is None else reading.value
        return Verdict(
            criterion.name or "",
            reading.status,
            reading.label,
            value,
            probability=reading.probability,
            usage=counting.usage,
            judge=self.name,
            detail=reading.detail,
            answer=reading.answer,
        )

    async def _view(
        self,
        case: Case,
        criterion: Criterion,
        question: Question,
        order: tuple[int, ...],
        send: _Counting,
    ) -> _View:
        """What the model says when the answers stand in one order."""
        labels = [question.answers[place].label for place in order]
        request = render_choice(case, question, order, self._shown(case), criterion.note)
        shares, obtained = await self._shares(request, send)
        by_label = dict(zip(labels, shares, strict=True))
        prior = None
        if self._correct_prior and obtained == "logprobs":
            prior = await self._prior(case, question, order, send)
        # What has no value (CANNOT_ASSESS, N/A) is the right answer to a question without content.
        valued = [label for label in labels if criterion.status(label) == "judged"]
        return _View(by_label, obtained, prior, corrected(by_label, prior or {}, valued))

    async def _prior(
        self, case: Case, question: Question, order: tuple[int, ...], send: _Counting
    ) -> dict[str, float] | None:
        """What the model says of a question without content; the same for all items."""
        free = Case(CONTENT_FREE, CONTENT_FREE, guidelines=case.guidelines)
        request = render_choice(free, content_free(question), order, self._shown(free))
        about = "\0".join(message["content"] for message in request.messages)
        if about not in self._priors:
            try:
                shares, obtained = await self._shares(request, send)
            except UnreadableReply as error:
                raise UnreadableReply(
                    f"asked without content, to correct for what it says in any case: {error}; "
                    "--no-correct-prior (correct_prior=False) leaves that out"
                ) from None
            if obtained != "logprobs":
                return None
            labels = [question.answers[place].label for place in order]
            self._priors[about] = dict(zip(labels, shares, strict=True))
        return self._priors[about]

    async def _shares(self, request: Request, send: _Counting) -> tuple[list[float], Obtained]:
        """The probability of each choice, in their order, among the choices.

        Raises:
            UnreadableReply: the choices hold less than half of the probability, whenever asked.
        """
        first, wrong = request, ""
        for _ in range(1 + self._reasks):
            completion = await send(self.model, request)
            by_word, obtained = await self._words(completion, request, send)
            found = [by_word.get(choice, 0.0) for choice in request.choices]
            total = math.fsum(found)
            if total >= LEAST:
                return [share / total for share in found], obtained
            likely = sorted(by_word, key=lambda word: -by_word[word])[:3]
            shown = ", ".join(f"{word!r} {by_word[word]:.2f}" for word in likely) or "nothing"
            wrong = (
                f"the answer is not one of {', '.join(sorted(request.choices))}: the first token "
                f"is {shown}"
            )
            request = _asked_again(first, completion.text)
        raise UnreadableReply(wrong)

    async def _words(
        self, completion: Completion, request: Request, send: _Counting
    ) -> tuple[dict[str, float], Obtained]:
        """The probability of each word that a reply may begin with."""
        if completion.probabilities is not None:
            words: dict[str, float] = {}
            for token, share in completion.probabilities.items():
                words[token.strip()] = words.get(token.strip(), 0.0) + share
            return words, "logprobs"
        texts = [completion.text]
        for sample in range(1, self._samples):
            texts.append((await send(self.model, replace(request, sample=sample))).text)
        words = {}
        for text in texts:
            word = _first_word(text)
            words[word] = words.get(word, 0.0) + 1 / len(texts)
        return words, "replicates"


class _Counting:
    """Sends requests, and adds up what they took."""

    def __init__(self, send: Send) -> None:
        self._send = send
        self.usage = Usage()

    async def __call__(self, model: Model, request: Request) -> Completion:
        completion = await self._send(model, request)
        self.usage += completion.usage
        return completion


@dataclass(frozen=True, slots=True)
class _View:
    """What the model said in one order of the options: as it is, and corrected by its prior."""

    probabilities: dict[str, float]
    obtained: Obtained
    prior: dict[str, float] | None
    corrected: dict[str, float]


def _answer(views: Sequence[_View], question: Question) -> dict[str, Any]:
    """The answer as the journal keeps it: the mean over the orders, and what each has given."""
    labels = [answer.label for answer in question.answers]
    mean = {
        label: math.fsum(view.corrected[label] for view in views) / len(views) for label in labels
    }
    sampled = any(view.obtained == "replicates" for view in views)
    return {
        "probabilities": _rounded(mean),
        "obtained": "replicates" if sampled else "logprobs",
        "orders": [
            {
                "answers": list(view.probabilities),
                "probabilities": _rounded(view.probabilities),
                "prior": None if view.prior is None else _rounded(view.prior),
            }
            for view in views
        ],
    }


def _rounded(shares: Mapping[str, float]) -> dict[str, float]:
    return {label: round(share, DIGITS) for label, share in shares.items()}


def corrected(
    shares: Mapping[str, float], prior: Mapping[str, float], valued: Sequence[str]
) -> dict[str, float]:
    """Probabilities corrected by what a model says of a question without content.

    Each is divided by its prior, and the result scaled to the sum of before: the diagonal form of
    contextual calibration (Zhao et al. 2021). Only `valued` labels are corrected, among each other;
    the others keep their probabilities.

    Args:
        shares: probability by label.
        prior: the same for the question without content; empty for no correction.
        valued: the labels that are corrected. A prior among them counts as a tenth of an even share
            at least.
    """
    found = dict(shares)
    held = math.fsum(prior.get(label, 0.0) for label in valued)
    if not held:
        return found
    least = FLOOR / len(valued)
    weights = {label: shares[label] / max(prior[label] / held, least) for label in valued}
    total = math.fsum(weights.values())
    if total:
        before = math.fsum(shares[label] for label in valued)
        found |= {label: before * weight / total for label, weight in weights.items()}
    return found


def _first_word(text: str) -> str:
    """The word that a reply is, or that it begins with as a letter before a verdict."""
    text = without_thinking(text).strip()
    match = _FIRST_WORD.match(text)
    return match.group(1) if match else text[:20]


def _asked_again(request: Request, reply: str) -> Request:
    correction = (
        f"That answer cannot be used. Answer with one of {', '.join(sorted(request.choices))} and "
        "nothing else."
    )
    again = (
        Message(role="assistant", content=reply or "(empty)"),
        Message(role="user", content=correction),
    )
    return replace(request, messages=(*request.messages, *again))
