"""A language model that is asked for the verdict alone, and how probable each verdict is.

The verdict is one token, and its probabilities are the model's own (logprobs). Two biases are
corrected: that of position, by asking in several orders and averaging; and that of labels, by what
the model says of a content-free question (contextual calibration: Zhao et al. 2021, "Calibrate
Before Use"). Where a model gives no probabilities, they are the shares of sampled replies.
"""

from __future__ import annotations

import hashlib
import math
import re
import unicodedata
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Literal

import orjson

from rubricate.dataset import Item
from rubricate.errors import InputError, ModelError, UnreadableReply
from rubricate.judge.asking._choices import (
    CONTENT_FREE,
    choice_question,
    content_free,
    render_choice,
)
from rubricate.judge.asking._examples import Example, Examples
from rubricate.judge.asking._explained import Explained
from rubricate.judge.asking._model_judge import ModelJudge
from rubricate.judge.asking._orders import answer_order, check_permutations
from rubricate.judge.asking._prompts import PROMPT_VERSION
from rubricate.judge.asking._replies import without_reasoning
from rubricate.judge.models import Completion, Message, Model, Request, Send, token_text
from rubricate.rubric import (
    Answer,
    Criterion,
    Obtained,
    Question,
    Usage,
    Verdict,
    read_distribution,
)

__all__ = ["ORDERS", "SAMPLES", "Mode", "ProbabilityJudge", "corrected"]

Mode = Literal["explained", "probability"]
"""Whether a model gives its reasons before the verdict, or the verdict alone with probabilities."""

NO_LOGPROBS = "the endpoint gives no logprobs"
ORDERS = 2
SAMPLES = 5
LEAST = 0.5
"""The share of the probability that the options must hold for a reply to be readable."""
FLOOR = 0.1
"""The least that the prior of an option counts as, in even shares: what a model hardly ever says
of a content-free question is not to be blown up."""
MOST_NOTES = 3
"""How many causes of sampling a note names."""
DIGITS = 6
"""Decimal places that are kept."""
SEEN = 0.9
"""The share of the probability that an endpoint must name for an expected value."""
ROUNDING = 1e-6
"""What is missing of 1 by rounding alone."""
TOO_MUCH = 1.02
"""The most that probabilities may add up to, rounded as they come."""
_OPTION = re.compile(
    r"""[\s"'`*_(\[{<«“‘-]*(?P<token>\w)(?!\w)(?P<mark>[\s"'`*_)\]}>»”’.:,;]*)(?P<rest>.*)""",
    re.DOTALL,
)
"""One letter or digit with what may stand around it, and what stands behind."""


class ProbabilityJudge(ModelJudge):
    """A language model that is asked for each verdict's probability.

    Criteria that no single token answers (metric criteria, scales of more than 21 levels) are
    judged in explained mode, and `note` says so.

    Args:
        model: the model.
        permutations: in how many orders of the options it is asked; their probabilities are
            averaged. Two are the rubric's own order and its reverse.
        correct_prior: whether probabilities are corrected by those of a content-free question,
            which is asked once for each set of options and order. Only those that the model itself
            gives are.
        samples: how many replies are drawn in each order, where the model gives no probabilities.
        shuffle: a seed that draws the first of the orders for each item and criterion.
        reasks: how often an unreadable reply is asked again.
        examples: labelled examples to be shown, if any.

    Raises:
        InputError: a number cannot be used.
    """

    probability_mode = True

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
        super().__init__(model, Explained(examples=examples, shuffle=shuffle), reasks=reasks)
        self._shuffle = shuffle
        self._examples = examples
        if isinstance(samples, bool) or samples < 1:
            raise InputError(f"samples must be a number from 1, found {samples!r}")
        self._permutations = check_permutations(permutations)
        orders = "1 order" if permutations == 1 else f"{permutations} orders"
        self.mode = f"probability, one criterion a request, {orders}"
        self._correct_prior = correct_prior
        self._samples = samples
        self._explained: dict[str, None] = {}
        self._sampled: dict[str, None] = {}
        self._priors: dict[str, dict[str, float]] = {}
        settings = [permutations, correct_prior, samples, PROMPT_VERSION, model.fingerprint()]
        self._settings = orjson.dumps(settings, option=orjson.OPT_SORT_KEYS)

    @property
    def note(self) -> str | None:  # type: ignore[override]
        """Which criteria were judged in explained mode, and why replies were sampled, if so."""
        notes = [f"Replies were sampled: {why}" for why in list(self._sampled)[:MOST_NOTES]]
        if self._explained:
            notes.append(
                "No single token answers these criteria, which were judged in explained mode: "
                + ", ".join(self._explained)
            )
        return ". ".join(notes) or None

    def key(self, item: Item, criterion: Criterion) -> str:
        question = choice_question(criterion)
        if question is None:
            self._explained[criterion.title] = None
            return super().key(item, criterion)
        digest = hashlib.blake2b(self._settings, digest_size=16)
        for order in self._orders(item, question):
            request = render_choice(item, question, order, self._shown(item), criterion.note)
            for message in request.messages:
                digest.update(b"\0" + message["content"].encode())
        return digest.hexdigest()

    def _shown(self, item: Item) -> tuple[Example, ...]:
        return () if self._examples is None else self._examples.for_item(item)

    def _orders(self, item: Item, question: Question) -> list[tuple[int, ...]]:
        turns = range(self._permutations)
        return [answer_order(question, item, turn, self._shuffle) for turn in turns]

    async def judge(self, item: Item, criterion: Criterion, send: Send) -> Verdict:
        question = choice_question(criterion)
        if question is None:
            return await super().judge(item, criterion, send)
        counting = _Counting(send)
        views: list[_View] = []
        try:
            for order in self._orders(item, question):
                views.append(await self._view(item, criterion, question, order, counting))
            if _is_open(criterion, views):
                views = [
                    await self._view(item, criterion, question, order, counting, sampled=True)
                    for order in self._orders(item, question)
                ]
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
            criterion.name,
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
        item: Item,
        criterion: Criterion,
        question: Question,
        order: tuple[int, ...],
        send: _Counting,
        *,
        sampled: bool = False,
    ) -> _View:
        """What the model says when the answers stand in one order; `sampled`: in replies alone."""
        answers = [question.answers[index] for index in order]
        labels = [answer.label for answer in answers]
        request = render_choice(item, question, order, self._shown(item), criterion.note)
        said = await self._said(request, answers, send, sampled)
        by_label = dict(zip(labels, said.shares, strict=True))
        prior = None
        if self._correct_prior and said.obtained == "logprobs":
            prior = await self._prior(item, question, order, send)
        # What has no value (CANNOT_ASSESS, N/A) is the right answer to a content-free question.
        valued = [label for label in labels if criterion.status(label) == "judged"]
        return _View(by_label, said, prior, corrected(by_label, prior or {}, valued))

    async def _prior(
        self, item: Item, question: Question, order: tuple[int, ...], send: _Counting
    ) -> dict[str, float] | None:
        """What the model says of a content-free question; the same for all items."""
        free = Item(CONTENT_FREE, CONTENT_FREE, guidelines=item.guidelines)
        empty = content_free(question)
        request = render_choice(free, empty, order, self._shown(free))
        about = "\0".join(message["content"] for message in request.messages)
        if about not in self._priors:
            try:
                answers = [empty.answers[index] for index in order]
                said = await self._said(request, answers, send, False)
            except UnreadableReply as error:
                raise UnreadableReply(
                    f"asked without content, to correct for what it says in any case: {error}; "
                    "--no-correct-prior (correct_prior=False) leaves that out"
                ) from None
            if said.obtained != "logprobs":
                return None
            # Of what was not named, nothing is known: each answer has its even part of it.
            even = said.unseen / len(answers)
            self._priors[about] = {
                answer.label: share + even
                for answer, share in zip(answers, said.shares, strict=True)
            }
        return self._priors[about]

    async def _said(
        self, request: Request, answers: Sequence[Answer], send: _Counting, sampled: bool
    ) -> _Said:
        """What the model says of the choices, in their order, among the choices.

        Raises:
            UnreadableReply: the choices hold less than half of the probability, whenever asked.
        """
        first, wrong = request, ""
        for _ in range(1 + self._reasks):
            completion = await send(self.model, request)
            words, why = _named(completion, request, answers)
            if words is None or sampled:
                words = await self._drawn(completion, request, answers, send)
                unseen = 0.0
                if why or self.gives_probabilities:
                    why = why or ("its logprobs name too few tokens" if sampled else NO_LOGPROBS)
                    self._sampled[why] = None
                obtained: Obtained = "replicates"
            else:
                obtained = "logprobs"
                unseen = max(0.0, 1.0 - math.fsum(words.values()))
                unseen = unseen if unseen > ROUNDING else 0.0
            found = [words.get(choice, 0.0) for choice in request.choices]
            total = math.fsum(found) + unseen
            goes_on = obtained == "logprobs" and _goes_on(completion, request, answers)
            if total >= LEAST and not goes_on:
                return _Said([share / total for share in found], unseen / total, obtained, why)
            likely = sorted(words, key=lambda word: -words[word])[:3]
            shown = ", ".join(f"{word!r} {words[word]:.2f}" for word in likely) or "nothing"
            wrong = f"the answer is not one of {', '.join(sorted(request.choices))}: " + (
                "text goes on behind it" if goes_on else f"the first token is {shown}"
            )
            request = _asked_again(first, completion.text)
        raise UnreadableReply(wrong)

    @property
    def gives_probabilities(self) -> bool:
        """Whether the model's completions may have probabilities."""
        return getattr(self.model, "gives_probabilities", True)

    async def _drawn(
        self,
        completion: Completion,
        request: Request,
        answers: Sequence[Answer],
        send: _Counting,
    ) -> dict[str, float]:
        """The share of each choice in sampled replies, of which a first one is there."""
        drawn = [completion]
        for sample in range(1, self._samples):
            drawn.append(await send(self.model, replace(request, sample=sample)))
        words: dict[str, float] = {}
        for one in drawn:
            word = _chosen(one, request, answers)
            words[word] = words.get(word, 0.0) + 1 / len(drawn)
        return words


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
class _Said:
    """What a model said of the choices.

    Attributes:
        shares: the probability of each, in their order.
        unseen: what is missing of 1: an endpoint names only the likeliest tokens, and what it
            leaves out may be any of the choices.
        obtained: where the probabilities are from.
        why: why replies were sampled, if the model might have given probabilities.
    """

    shares: list[float]
    unseen: float
    obtained: Obtained
    why: str = ""


@dataclass(frozen=True, slots=True)
class _View:
    """What the model said in one order of the options: as it is, and corrected by its prior."""

    probabilities: dict[str, float]
    said: _Said
    prior: dict[str, float] | None
    corrected: dict[str, float]


def _answer(views: Sequence[_View], question: Question) -> dict[str, Any]:
    """The answer as the journal keeps it: the mean over the orders, and what each has given."""
    labels = [answer.label for answer in question.answers]
    mean = {
        label: math.fsum(view.corrected[label] for view in views) / len(views) for label in labels
    }
    sampled = any(view.said.obtained == "replicates" for view in views)
    answer: dict[str, Any] = {
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
    if unseen := round(_unseen(views), DIGITS):
        answer["unseen"] = unseen
    if why := next((view.said.why for view in views if view.said.why), ""):
        answer["sampled"] = why
    return answer


def _unseen(views: Sequence[_View]) -> float:
    return math.fsum(view.said.unseen for view in views) / len(views)


def _is_open(criterion: Criterion, views: Sequence[_View]) -> bool:
    """Whether what an endpoint left out of its list could turn the verdict."""
    unseen = _unseen(views)
    if not unseen:
        return False
    mean = [
        (label, math.fsum(view.corrected[label] for view in views) / len(views))
        for label in views[0].corrected
    ]
    if criterion.measurement == "ordinal":
        # All of an order's answers make the value; what does not apply stands against them.
        masses: dict[str, float] = {}
        for label, share in mean:
            status = criterion.status(label)
            masses[status] = masses.get(status, 0.0) + share
        shares = list(masses.values())
        if unseen > 1.0 - SEEN:
            return True
    else:
        shares = [share for _, share in mean]
    first, second = sorted([*shares, 0.0], reverse=True)[:2]
    return first - second <= unseen


def _rounded(shares: Mapping[str, float]) -> dict[str, float]:
    return {label: round(share, DIGITS) for label, share in shares.items()}


def corrected(
    shares: Mapping[str, float], prior: Mapping[str, float], valued: Sequence[str]
) -> dict[str, float]:
    """Probabilities corrected by what a model says of a content-free question.

    Each is divided by its prior, and the result scaled to the sum of before: the diagonal form of
    contextual calibration (Zhao et al. 2021). Only `valued` labels are corrected, among each other;
    the others keep their probabilities.

    Args:
        shares: probability by label.
        prior: the same for the content-free question; empty for no correction.
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


# Replies and tokens


def _named(
    completion: Completion, request: Request, answers: Sequence[Answer]
) -> tuple[dict[str, float] | None, str]:
    """The probability of each choice and other token; None, and why, where none can be used."""
    given = completion.probabilities
    if given is None:
        why = completion.unusable and f"its logprobs cannot be used: {completion.unusable}"
        return None, why
    if wrong := _wrong_with(given):
        return None, f"its probabilities cannot be used: {wrong}"
    words: dict[str, float] = {}
    for token, share in given.items():
        text = token_text(token)
        word = _option(text, request, answers) or text.strip()
        words[word] = words.get(word, 0.0) + share
    return words, ""


def _wrong_with(given: Mapping[str, float]) -> str:
    """What is wrong with probabilities; "" for nothing."""
    for token, share in given.items():
        is_number = isinstance(share, int | float) and not isinstance(share, bool)
        if not is_number or not 0.0 <= share <= TOO_MUCH:
            return f"that of {token!r} is {share!r}, not a number from 0 to 1"
    total = math.fsum(given.values())
    return f"they add up to {total:.2f}" if total > TOO_MUCH else ""


def _chosen(completion: Completion, request: Request, answers: Sequence[Answer]) -> str:
    """The choice that a reply is; else how it begins."""
    text = completion.text
    if not completion.cut_off:
        try:
            text = without_reasoning(text)
        except UnreadableReply:
            return text[:20]
    return _option(text, request, answers, completion.cut_off) or text[:20]


def _option(
    text: str, request: Request, answers: Sequence[Answer], cut_off: bool = False
) -> str | None:
    """The choice that a text is: its letter or digit, alone or before its answer as it is shown.

    Of a text that was cut off, the answer need only begin.
    """
    found = _OPTION.fullmatch(unicodedata.normalize("NFKC", text))
    token = found["token"].upper() if found else ""
    if found is None or token not in request.choices:
        return None
    rest = found["rest"].strip(" \t\n*\"'`.").casefold()
    if not rest:
        return None if cut_off else token
    answer = answers[request.choices.index(token)]
    shown = [answer.label, f"{answer.label}: {answer.meaning}"]
    fits = [one.strip(" .").casefold() for one in shown]
    if cut_off:
        return token if any(one.startswith(rest) for one in fits) else None
    return token if rest in fits and found["mark"].strip() else None


def _goes_on(completion: Completion, request: Request, answers: Sequence[Answer]) -> bool:
    """Whether a reply begins with a choice as a sentence may: 'A reasonable answer'.

    A line of its own and the choice's own answer may stand behind it.
    """
    found = _OPTION.fullmatch(completion.text)
    if found is None or found["token"].upper() not in request.choices:
        return False
    rest = found["rest"].strip().casefold()
    if not rest or "\n" in found["mark"]:
        return False
    label = answers[request.choices.index(found["token"].upper())].label.casefold()
    is_shown = rest.startswith(label) or (completion.cut_off and label.startswith(rest))
    return not (is_shown and found["mark"].strip())


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
