"""Asking a language model for the verdict alone, and for the probability of each verdict.

The verdict is one token, and its probabilities are the model's own (logprobs). Two biases are
corrected: position bias, by asking in several orders and averaging; and label bias, by the model's
answer to a content-free question (contextual calibration: Zhao et al. 2021, "Calibrate Before
Use"). For a model without probabilities, they are the shares of sampled replies.
"""

from __future__ import annotations

import hashlib
import math
import re
import string
import unicodedata
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import lru_cache
from typing import Any, Literal

from rubricate._spelling import counted
from rubricate.dataset import Item
from rubricate.errors import InputError, UnreadableReply
from rubricate.judge.asking._conversation import Conversation
from rubricate.judge.asking._examples import Examples
from rubricate.judge.asking._orders import answer_order, check_permutations
from rubricate.judge.asking._prompting import Explained, Prompting, identity_of
from rubricate.judge.asking._prompts import (
    Example,
    prefix,
    request_of,
    sendable,
    template,
)
from rubricate.judge.asking._reasoning import without_reasoning
from rubricate.judge.asking._replies import Reply
from rubricate.judge.models import Completion, Request, token_text
from rubricate.rubric import ABSTENTION, Answer, Criterion, Obtained, Question

NO_LOGPROBS = "the endpoint gives no logprobs"
ORDERS, SAMPLES = 2, 5
"""Two orders show every two answers both ways round; one costs half and leaves the bias of
position. If replies are drawn, both orders give ten, so that a share of 0.5 has a standard error of
0.16. With half as many samples it is 0.22; with twice as many, 0.11 at twice the price."""
LEAST = 0.5
"""The minimum share of the probability that the options must have together for a readable reply.
Reasoned, not measured: below it, something else is likelier than all options together. At half,
such replies are read; at double, any other token with a probability makes a reply unreadable."""
FLOOR = 0.1
"""The minimum prior of an option, as a multiple of an even share: an answer that the model hardly
ever gives to a content-free question is raised tenfold at most. At half, twentyfold; at double,
fivefold."""
MOST_NOTES = 3
"""The maximum number of causes of sampling that a note names."""
DIGITS = 6
"""Decimal places of stored probabilities."""
SEEN = 0.9
"""The share of the probability that an endpoint must list before an expected value is computed,
which is then off by a tenth of the scale at most. At 0.8 it may be off by a fifth; at 0.95, more
replies are sampled instead, which costs five requests for one."""
ROUNDING = 1e-6
"""A shortfall from 1 up to this is rounding."""
TOO_MUCH = 1.02
"""The largest valid sum of rounded probabilities: 20 of them, each rounded to three decimal places,
exceed 1 by 0.01 at most. Without a margin such replies are rejected; at 1.2, wrong ones are
read."""
_OPTION = re.compile(
    r"""(?:-\s|[\s"'`*_(\[{«“‘]|<(?!\d))*(?P<token>\w)(?!\w)"""
    r"""(?P<mark>[\s"'`*_)\]}>»”’.:,;]*)(?P<rest>.*)""",
    re.DOTALL,
)
"""One letter or digit with the marks that may surround it, and the rest."""
_FULL_WIDTH = dict(zip(range(0xFF01, 0xFF5F), range(0x21, 0x7F), strict=True))
"""Full-width East Asian letters and digits. Other variants ('①', 'ª') are not choices."""
_BEFORE = re.compile(r"\A[\W_]+")
"""Characters that may precede it."""


@dataclass(frozen=True)
class Probability(Prompting):
    """Asks a model for the verdict alone, in one token, with the probability of each verdict.

    Criteria that no single token can answer (metric criteria, scales of more than 21 levels) are
    asked about as in `Explained`, and the judge's `note` says so.

    Attributes:
        permutations: the number of orders of the answers to ask in; their probabilities are
            averaged. Two are the rubric's own order and its reverse.
        correct_prior: whether to correct probabilities with those of a content-free question, which
            is sent once for each set of answers and order. Sampled shares are never corrected.
        samples: the number of replies to sample in each order if the model gives no probabilities.
        shuffle: the seed that draws the first of the orders for each item and criterion.
        examples: labelled examples to show, if any.

    Raises:
        InputError: a number is invalid.
    """

    probability_mode = asks_several = True

    permutations: int = ORDERS
    correct_prior: bool = True
    samples: int = SAMPLES
    shuffle: int | None = None
    examples: Examples | None = None

    def __post_init__(self) -> None:
        if isinstance(self.samples, bool) or self.samples < 1:
            raise InputError(f"samples must be a number from 1, found {self.samples!r}")
        check_permutations(self.permutations)

    @property
    def mode(self) -> str:
        orders = counted(self.permutations, "order")
        return f"probability, one criterion a request, {orders}"

    @property
    def otherwise(self) -> Prompting:
        return Explained(examples=self.examples, shuffle=self.shuffle)

    def fits(self, criterion: Criterion) -> bool:
        return choice_question(criterion) is not None

    def memory(self) -> _Memory:
        return _Memory()

    def note(self, memory: _Memory, unfit: Collection[str]) -> str | None:
        """Which criteria were judged in explained mode, and why replies were sampled, if so."""
        notes = [f"Replies were sampled: {why}" for why in list(memory.sampled)[:MOST_NOTES]]
        if unfit:
            notes.append(
                "No single token answers these criteria, which were judged in explained mode: "
                + ", ".join(unfit)
            )
        return ". ".join(notes) or None

    def request_key(self, fingerprint: Mapping[str, Any], item: Item, criterion: Criterion) -> str:
        """A hash of the requests in all orders."""
        settings = [
            self.permutations,
            self.correct_prior,
            self.samples,
            self.version,
            fingerprint,
        ]
        digest = hashlib.blake2b(identity_of(settings), digest_size=16)
        for order in self._orders(item, criterion.question):
            for message in self.rendered(item, criterion, order).messages:
                digest.update(b"\0" + message["content"].encode())
        return digest.hexdigest()

    def _orders(self, item: Item, question: Question) -> list[tuple[int, ...]]:
        turns = range(self.permutations)
        return [answer_order(question, item, turn, self.shuffle) for turn in turns]

    def rendered(
        self, item: Item, criterion: Criterion, order: tuple[int, ...], *, free: bool = False
    ) -> Request:
        """The request with the answers in this order; `free`: without the criterion's text."""
        shown = () if self.examples is None else self.examples.for_item(item)
        return render_choice(item, criterion, order, shown, free=free)

    async def answer(self, item: Item, criterion: Criterion, conversation: Conversation) -> Reply:
        """The mean of the answers in all orders; sampled if the probabilities leave it open."""
        question = criterion.question
        orders = self._orders(item, question)
        views = [await self._view(item, criterion, order, conversation) for order in orders]
        if _is_open(criterion, views):
            views = [
                await self._view(item, criterion, order, conversation, sampled=True)
                for order in orders
            ]
        return Reply(_answer(views, question), None, (), {})

    async def _view(
        self,
        item: Item,
        criterion: Criterion,
        order: tuple[int, ...],
        conversation: Conversation,
        *,
        sampled: bool = False,
    ) -> _View:
        """The model's answer with the options in this order; `sampled`: from replies alone."""
        answers = [criterion.question.answers[index] for index in order]
        labels = [answer.label for answer in answers]
        request = self.rendered(item, criterion, order)
        stated = await self._stated(request, answers, conversation, sampled)
        by_label = dict(zip(labels, stated.shares, strict=True))
        prior = None
        if self.correct_prior and stated.obtained == "logprobs":
            prior = await self._prior(item, criterion, order, conversation)
        # What has no value (CANNOT_ASSESS, N/A) is the right answer to a content-free question.
        valued = [label for label in labels if criterion.status(label) == "judged"]
        return _View(by_label, stated, prior, corrected(by_label, prior or {}, valued))

    async def _prior(
        self, item: Item, criterion: Criterion, order: tuple[int, ...], conversation: Conversation
    ) -> dict[str, float] | None:
        """The model's answer to a content-free question; the same for all items."""
        free = Item(CONTENT_FREE, CONTENT_FREE, guidelines=item.guidelines)
        request = self.rendered(free, criterion, order, free=True)
        text = "\0".join([message["content"] for message in request.messages])
        about = hashlib.blake2b(text.encode(), digest_size=16).digest()
        priors: dict[bytes, dict[str, float]] = conversation.memory.priors
        if about not in priors:
            answers = [criterion.question.answers[index] for index in order]
            try:
                stated = await self._stated(request, answers, conversation, False)
            except UnreadableReply as error:
                raise UnreadableReply(
                    f"asked without content, to correct for what it says in any case: {error}; "
                    "--no-correct-prior (correct_prior=False) leaves that out"
                ) from None
            if stated.obtained != "logprobs":
                return None
            # Nothing is known about unlisted options: each gets an even part of the remainder.
            even = stated.unseen / len(answers)
            priors[about] = {
                answer.label: share + even
                for answer, share in zip(answers, stated.shares, strict=True)
            }
        return priors[about]

    async def _stated(
        self,
        request: Request,
        answers: Sequence[Answer],
        conversation: Conversation,
        sampled: bool,
    ) -> _Stated:
        """The model's probabilities of the choices, in their order, relative to all choices.

        Raises:
            UnreadableReply: the choices hold less than half of the probability, whenever asked.
        """

        async def read(completion: Completion, request: Request) -> _Stated:
            if not (completion.text.strip() or completion.cut_off):
                raise UnreadableReply("the reply is empty")
            if completion.text.strip() and completion.elsewhere:
                raise UnreadableReply("the reply has a text and a tool call")
            words, why = _named(completion, request, answers)
            if words is None or sampled:
                if why or conversation.model.gives_probabilities:
                    why = why or ("its logprobs name too few tokens" if sampled else NO_LOGPROBS)
                    conversation.memory.sampled[why] = None
                words = await self._drawn(completion, request, answers, conversation)
                return _shares(words, request, 0.0, "replicates", why)
            unseen = max(0.0, 1.0 - math.fsum(words.values()))
            shares = _shares(words, request, unseen if unseen > ROUNDING else 0.0, "logprobs", why)
            if not _is_verdict(completion, request, answers):
                raise UnreadableReply(f"{_none_of(request)}: the reply is {completion.text[:20]!r}")
            return shares

        correction = (
            "That answer cannot be used. Answer with one of "
            f"{', '.join(sorted(request.choices))} and nothing else."
        )
        return await conversation.ask(request, read, lambda wrong: correction)

    async def _drawn(
        self,
        completion: Completion,
        request: Request,
        answers: Sequence[Answer],
        conversation: Conversation,
    ) -> dict[str, float]:
        """The share of each choice in sampled replies, including the first reply if there is one.

        That reply does not count if it ended before any text: models that reason need more tokens
        for it than a request for probabilities allows.
        """
        drawn = [completion] if completion.text.strip() else []
        for sample in range(1, self.samples + 1 - len(drawn)):
            drawn.append(await conversation.send(replace(request, sample=sample)))
        words: dict[str, float] = {}
        for reply in drawn:
            word = _chosen(reply, request, answers)
            words[word] = words.get(word, 0.0) + 1 / len(drawn)
        return words


@dataclass(slots=True)
class _Memory:
    """State kept between judgements.

    Attributes:
        priors: the model's probabilities for a content-free question, by a hash of the question.
        sampled: the reasons for sampling replies.
    """

    priors: dict[bytes, dict[str, float]] = field(default_factory=dict)
    sampled: dict[str, None] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class _Stated:
    """The probabilities that a model gave to the choices.

    Attributes:
        shares: the probability of each choice, in order.
        unseen: the shortfall from 1: an endpoint lists only the likeliest tokens, and the rest may
            be any of the choices.
        obtained: the source of the probabilities.
        why: why replies were sampled, if the model might have given probabilities.
    """

    shares: list[float]
    unseen: float
    obtained: Obtained
    why: str = ""


def _shares(
    words: Mapping[str, float], request: Request, unseen: float, obtained: Obtained, why: str
) -> _Stated:
    """Return the probabilities of the choices, from those of all listed tokens.

    Raises:
        UnreadableReply: the choices have less than half of the probability.
    """
    shares = [words.get(choice, 0.0) for choice in request.choices]
    total = math.fsum(shares) + unseen
    if total >= LEAST:
        return _Stated([share / total for share in shares], unseen / total, obtained, why)
    likely = sorted(words, key=lambda word: -words[word])[:3]
    shown = ", ".join(f"{word!r} {words[word]:.2f}" for word in likely) or "nothing"
    raise UnreadableReply(f"{_none_of(request)}: the first token is {shown}")


def _none_of(request: Request) -> str:
    return f"the answer is not one of {', '.join(sorted(request.choices))}"


@dataclass(frozen=True, slots=True)
class _View:
    """The model's answer for one order of the options: raw, and corrected by its prior."""

    probabilities: dict[str, float]
    stated: _Stated
    prior: dict[str, float] | None
    corrected: dict[str, float]


def _answer(views: Sequence[_View], question: Question) -> dict[str, Any]:
    """The answer in the journal's form: the mean over the orders, and the result of each."""
    labels = [answer.label for answer in question.answers]
    mean = {
        label: math.fsum(view.corrected[label] for view in views) / len(views) for label in labels
    }
    sampled = any(view.stated.obtained == "replicates" for view in views)
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
    if why := next((view.stated.why for view in views if view.stated.why), ""):
        answer["sampled"] = why
    return answer


def _unseen(views: Sequence[_View]) -> float:
    return math.fsum(view.stated.unseen for view in views) / len(views)


def _is_open(criterion: Criterion, views: Sequence[_View]) -> bool:
    """Whether tokens that the endpoint did not list could change the verdict."""
    unseen = _unseen(views)
    if not unseen:
        return False
    mean = [
        (label, math.fsum(view.corrected[label] for view in views) / len(views))
        for label in views[0].corrected
    ]
    if criterion.measurement == "ordinal":
        # All answers of an order make up the value; those that do not apply count against them.
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
    """Correct probabilities by those of a content-free question.

    Each is divided by its prior, and the result scaled to the previous sum: the diagonal form of
    contextual calibration (Zhao et al. 2021). Only `valued` labels are corrected, relative to each
    other; the others keep their probabilities.

    Args:
        shares: probability by label.
        prior: the same for the content-free question; empty for no correction.
        valued: the labels to correct. A prior among them counts as at least a tenth of an even
            share.
    """
    result = dict(shares)
    held = math.fsum(prior.get(label, 0.0) for label in valued)
    if not held:
        return result
    least = FLOOR / len(valued)
    weights = {label: shares[label] / max(prior[label] / held, least) for label in valued}
    total = math.fsum(weights.values())
    if total:
        before = math.fsum(shares[label] for label in valued)
        result |= {label: before * weight / total for label, weight in weights.items()}
    return result


# What is sent


CONTENT_FREE = "N/A"
_CANNOT = "X"
"""The choice for CANNOT_ASSESS if the others are digits."""


def choice_question(criterion: Criterion) -> Question | None:
    """The question, if one token can answer it; else None."""
    question = criterion.question
    few = len(question.answers) <= len(string.ascii_uppercase)
    return question if question.is_choice and few else None


def choice_tokens(labels: Sequence[str]) -> tuple[str, ...]:
    """The token of each label: the digit itself if all labels are single digits, else A, B, C,
    ..."""
    if all(label == ABSTENTION or re.fullmatch("[0-9]", label) for label in labels):
        return tuple(_CANNOT if label == ABSTENTION else label for label in labels)
    return tuple(string.ascii_uppercase[: len(labels)])


def render_choice(
    item: Item,
    criterion: Criterion,
    order: tuple[int, ...],
    examples: tuple[Example, ...] = (),
    *,
    free: bool = False,
) -> Request:
    """The messages that ask a model for the token of one of the answers, in this order.

    `free` omits the criterion, so that only the labels of the answers remain.
    """
    return choice_request(*prefix(item, False, examples, choosing=True), criterion, order, free)


def choice_request(
    system: str, material: str, criterion: Criterion, order: tuple[int, ...], free: bool
) -> Request:
    """`render_choice` with the system message and the beginning of the user message."""
    text, tokens = _suffix(criterion, order, free)
    return request_of(system, material, text, choices=tokens, kept=True)


@lru_cache(maxsize=4096)
def _suffix(
    criterion: Criterion, order: tuple[int, ...], free: bool
) -> tuple[str, tuple[str, ...]]:
    """The end of the user message, and the tokens of the answers: the same for all items."""
    question, note = criterion.question.in_order(order), criterion.note
    if free:
        answers = tuple(replace(answer, meaning=None) for answer in question.answers)
        question = replace(question, requirement=CONTENT_FREE, material=None, answers=answers)
        note = None
    tokens = choice_tokens([answer.label for answer in question.answers])
    text = template("choice").render(question=question, note=note, tokens=tokens)
    return sendable(text), tokens


# Replies and tokens


def _named(
    completion: Completion, request: Request, answers: Sequence[Answer]
) -> tuple[dict[str, float] | None, str]:
    """The probability of each choice and other token; or None and the reason if they are
    unusable."""
    probabilities = completion.probabilities
    if probabilities is None:
        why = completion.unusable and f"its logprobs cannot be used: {completion.unusable}"
        return None, why
    if wrong := _wrong_with(probabilities) or _unlike(completion.text, probabilities):
        return None, f"its probabilities cannot be used: {wrong}"
    words: dict[str, float] = {}
    for token, share in probabilities.items():
        text = token_text(token)
        word = _option(text, request, answers) or text.strip()
        words[word] = words.get(word, 0.0) + share
    return words, ""


def _wrong_with(probabilities: Mapping[str, float]) -> str:
    """What is wrong with probabilities; "" if nothing is."""
    for token, share in probabilities.items():
        is_number = isinstance(share, int | float) and not isinstance(share, bool)
        if not is_number or not 0.0 <= share <= TOO_MUCH:
            return f"that of {token!r} is {share!r}, not a number from 0 to 1"
    total = math.fsum(probabilities.values())
    return f"they add up to {total:.2f}" if total > TOO_MUCH else ""


def _unlike(text: str, probabilities: Mapping[str, float]) -> str:
    """What is wrong with probabilities that do not match the beginning of a text; "" if nothing
    is."""
    try:
        if without_reasoning(text) != text.strip():
            return "the reply begins with reasoning"
    except UnreadableReply as error:
        return str(error)
    return (
        ""
        if _first_token(text, probabilities)
        else "the reply does not begin with any of its tokens"
    )


def _first_token(text: str, probabilities: Mapping[str, float]) -> str:
    """The first token of a text, without leading marks; "" if there is none."""
    text = _bare(text)
    tokens = [_bare(token_text(token)).rstrip() for token in probabilities]
    return max([token for token in tokens if token and text.startswith(token)], key=len, default="")


def _bare(text: str) -> str:
    return _BEFORE.sub("", unicodedata.normalize("NFKC", text), count=1)


def _chosen(completion: Completion, request: Request, answers: Sequence[Answer]) -> str:
    """The choice in a reply; else the beginning of the reply."""
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
    """The choice in a text: its letter or digit, alone or before the text of its answer.

    In a truncated text, the beginning of the answer is enough.
    """
    match = _OPTION.fullmatch(text.translate(_FULL_WIDTH))
    token = match["token"].upper() if match else ""
    if match is None or token not in request.choices:
        return None
    rest = match["rest"].strip(" \t\n*\"'`.").casefold()
    if not rest:
        return None if cut_off else token
    answer = answers[request.choices.index(token)]
    shown = [answer.label, f"{answer.label}: {answer.meaning}"]
    fits = [form.strip(" .").casefold() for form in shown]
    if cut_off:
        return token if any(form.startswith(rest) for form in fits) else None
    return token if rest in fits and match["mark"].strip() else None


def _is_verdict(completion: Completion, request: Request, answers: Sequence[Answer]) -> bool:
    """Whether the probabilities of a reply's first token can be those of its verdict.

    A reply that begins with a choice must consist of it. A truncated reply may continue with the
    text of the choice, or with the beginning of an explanation on another line. A reply that begins
    with another word was drawn by chance if choices are likelier; one that begins with another
    number may be an answer.
    """
    text = completion.text
    if _option(text, request, answers):
        return True
    match = _OPTION.fullmatch(text)
    token = match["token"].upper() if match else ""
    if match is None or token not in request.choices:
        first = _first_token(text, completion.probabilities or {})
        return _option(first, request, answers) is None and not any(map(str.isdigit, first))
    if not completion.cut_off:
        return False
    rest = match["rest"].strip().casefold()
    labels = [answer.label.casefold() for answer in answers]
    own = labels.pop(request.choices.index(token))
    if not rest or (match["mark"].strip() and _begin_alike(rest, own)):
        return True
    if "\n" not in match["mark"] or any(_begin_alike(rest, label) for label in labels):
        return False
    words = {*re.findall(r"\w+", match["rest"])}
    return words.isdisjoint({*request.choices} - {token}) and not _SECOND_THOUGHT.match(rest)


_SECOND_THOUGHT = re.compile(
    r"\W*(?:actually|although|but|correction|hm+|however|instead|no|not|oops|or|rather|sorry|wait)\b"
)
"""Beginnings of text after a choice that take it back."""


def _begin_alike(text: str, other: str) -> bool:
    return text.startswith(other) or other.startswith(text)


Mode = Literal["explained", "probability"]
"""Whether a model gives a reason before the verdict, or the verdict alone with probabilities."""
MODES: Mapping[str, type[Prompting]] = {"explained": Explained, "probability": Probability}
"""The ways of asking, by the names that the option `mode` takes. Each supports the options that its
constructor has and rejects the others."""
