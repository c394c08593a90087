"""The interface of a way of asking a model (`Prompting`), and the default (`Explained`)."""

from __future__ import annotations

import hashlib
import textwrap
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import TYPE_CHECKING, Any, Literal

import orjson

from rubricate.dataset import Item
from rubricate.errors import InputError
from rubricate.judge.asking._conversation import Conversation
from rubricate.judge.asking._prompts import (
    PROMPT_VERSION,
    group_suffix,
    material_digest,
    prefix,
    question_digest,
    request_of,
    suffix,
    templates_digest,
)
from rubricate.judge.asking._replies import Reply, answer_of, read_reply
from rubricate.judge.models import Completion, Message, Request
from rubricate.rubric import ABSTENTION, Criterion, Evidence, Reading, Verdict

if TYPE_CHECKING:
    from rubricate.judge.asking._examples import Examples

CriteriaPerCall = int | Literal["all"]
"""The number of an item's criteria that are judged in one call."""
CONFIDENCE = "confidence"
ASKED = f'\nAdd "{CONFIDENCE}" to it: how sure you are of the verdict, a number from 0 to 1.'


class Prompting:
    """A way of asking a model about a criterion, used as `ModelJudge(model, way)`.

    A custom way derives from this class and implements `request`. If replies have another form than
    the usual JSON object, it also overrides `read`, and `form` or `correction`.

    Attributes:
        form: the form of a reply's JSON object, quoted when asking again.
    """

    form = '{"reason": "...", "evidence": ["..."], "verdict": ...}'
    probability_mode = False
    """Whether it gives the probability of each verdict, and no reason: see `Judge`."""
    asks_several = False
    """Whether a judgement takes several requests; then `answer` sends them. Keys consist of the
    `version`, the texts of the item and the criterion; a way that depends on more needs its own
    `request_key`."""

    @property
    def version(self) -> str | None:
        """The version of the prompt, a part of journal keys."""
        return PROMPT_VERSION

    @property
    def mode(self) -> str | None:
        """The way of asking, in words."""
        return "explained, one criterion a request"

    @property
    def criteria_per_call(self) -> CriteriaPerCall:
        """The number of an item's criteria in one request."""
        return 1

    @property
    def require_evidence(self) -> bool | None:
        """Whether an answer must be asked for again, and then becomes an abstention, if it lacks
        required quotes or its quotes are not in the submission. None: only for criteria about items
        (metric), and only for the quotes that the answer gives."""
        return None

    @property
    def states_confidence(self) -> bool:
        """Whether to ask the model for its confidence."""
        return False

    @property
    def shuffle(self) -> int | None:
        """The seed that draws the order of the answers for each item and criterion."""
        return None

    def turned(self, turn: int) -> Prompting | None:
        """Return the same way of asking with another order of the answers; None if there is no
        other.

        Args:
            turn: which order, from 0 for the first.
        """
        return None

    # One criterion

    def request(self, item: Item, criterion: Criterion) -> Request:
        """Return the request: messages, and the schema of the reply."""
        raise NotImplementedError(f"{type(self).__name__} has no request")

    def read(self, completion: Completion, request: Request) -> Reply:
        """Return the reply in parts.

        Raises:
            UnreadableReply: the reply does not have the required form, and is asked for again. A
                `ValueError`, `LookupError` or `TypeError` has the same effect.
        """
        return answer_of(completion, request, read_reply)

    def correction(self, wrong: str) -> str:
        """Return the message to the model after an unusable reply.

        Args:
            wrong: why the reply is unusable, as a sentence.
        """
        return (
            f"That answer cannot be used: {wrong}. Answer the same question again with one JSON "
            f"object {self.form} and nothing else."
        )

    def order(self, item: Item, criterion: Criterion) -> tuple[int, ...] | None:
        """The order of the answers, by index; None for the criterion's own order."""
        return None

    def located(self, quote: str, item: Item) -> Evidence:
        """Locate a quote."""
        from rubricate.judge.asking._evidence import locate

        return locate(quote, item.submission)

    # One criterion, in several requests (`asks_several`)

    async def answer(self, item: Item, criterion: Criterion, conversation: Conversation) -> Reply:
        """Send all requests of a judgement; return the reply for the criterion or the journal.

        Raises:
            UnreadableReply: there is no answer.
            ModelError: a request failed.
        """
        raise NotImplementedError(f"{type(self).__name__} has no answer")

    @property
    def otherwise(self) -> Prompting | None:
        """The way of asking about criteria that do not suit this one."""
        return None

    def fits(self, criterion: Criterion) -> bool:
        """Whether a criterion can be asked about in this way."""
        return True

    def memory(self) -> Any:
        """The state that a judge keeps between judgements; None unless the way `asks_several`."""
        return None

    def note(self, memory: Any, unfit: Collection[str]) -> str | None:
        """Return a line to show with the results, if any.

        Args:
            memory: the state that the judge kept.
            unfit: the titles of the criteria that were asked about in another way.
        """
        return None

    # Keys: if `item_digest` returns None, they are made from the whole request

    def request_key(self, fingerprint: Mapping[str, Any], item: Item, criterion: Criterion) -> str:
        """A hash of all that is sent, or of its sources, and of the model's fingerprint.

        Raises:
            InputError: the prompt does not suit the item or the criterion.
        """
        identity = identity_of([self.version, fingerprint])
        if self.asks_several:
            about = material_digest(item, (), True) + question_digest(criterion)
            key = hashlib.blake2b(identity + about, digest_size=16).hexdigest()
        else:
            key = hash_of_request(identity, self.request(item, criterion))
        return key + self.criterion_digest(item, criterion).decode()

    def item_digest(self, item: Item) -> bytes | None:
        """A hash of all that a request contains of an item, without the criterion."""
        return None

    def criterion_digest(self, item: Item, criterion: Criterion) -> bytes:
        """A hash of all that a request contains of a criterion, and of how its answer is read."""
        return key_suffix(self.require_evidence, criterion)

    # Several criteria, if `criteria_per_call` is not 1

    def group_request(
        self, item: Item, criteria: Sequence[Criterion], numbers: Sequence[str] | None = None
    ) -> Request:
        """Return the request about several criteria, each by its number.

        Args:
            item: the item.
            criteria: the criteria.
            numbers: the numbers of the criteria, if only some of an earlier request are asked about
                again. Default: from 1.
        """
        raise NotImplementedError(f"{type(self).__name__} has no group_request")

    def group_order(self, item: Item, criteria: Sequence[Criterion]) -> list[int]:
        """The indexes of the criteria of one request in the order of the prompt."""
        return list(range(len(criteria)))


@dataclass(frozen=True)
class Explained(Prompting):
    """Asks a model for a reason before the verdict, criterion by criterion or several at once.

    Attributes:
        examples: labelled examples to show, if any.
        shuffle: the seed that draws the order of the answers for each item and criterion, and of
            the criteria of one request. Default: the rubric's own order.
        require_evidence: see `Prompting`.
        criteria_per_call: how many criteria of an item to ask about together, in the rubric's
            order; `all` for all. A criterion missing from the reply is asked about again on its
            own.
        states_confidence: whether to ask the model for its confidence, which is stored in the
            verdict's `detail["confidence"]`. A reply without it is still valid.
        fenced: whether to put the material between tags and warn the model of what it may contain.
            Turn it off only to measure what that is worth (`rubricate.redteam`), not for grading.
        turn: which of the orders of the answers, from 0.

    Raises:
        InputError: a number is invalid, or two arguments cannot be combined.
    """

    examples: Examples | None = None
    shuffle: int | None = None
    require_evidence: bool | None = None
    criteria_per_call: CriteriaPerCall = 1
    states_confidence: bool = False
    fenced: bool = True
    turn: int = 0

    def __post_init__(self) -> None:
        size = check_criteria_per_call(self.criteria_per_call)
        if size != 1 and (self.states_confidence or not self.fenced):
            what = "asked how sure it is" if self.states_confidence else "shown no fences"
            raise InputError(f"a model is {what} for one criterion a request, not for several")

    @property
    def mode(self) -> str:
        if self.criteria_per_call == 1:
            return "explained, one criterion a request"
        return f"explained, {self.criteria_per_call} criteria a request"

    @cached_property
    def is_usual(self) -> bool:
        """Whether the request is exactly what `render` makes."""
        return type(self).request is Explained.request and not self.states_confidence

    @cached_property
    def reorders(self) -> bool:
        """Whether the answers may be shown in another order than the criterion's own."""
        is_own = type(self).order is not Explained.order
        return is_own or self.shuffle is not None or self.turn != 0

    def turned(self, turn: int) -> Prompting | None:
        return replace(self, turn=turn) if self.is_usual else None

    def order(self, item: Item, criterion: Criterion) -> tuple[int, ...] | None:
        if self.shuffle is None and not self.turn:
            return None
        from rubricate.judge.asking._orders import turned_order

        return turned_order(criterion, item, self.turn, self.shuffle)

    def request(self, item: Item, criterion: Criterion) -> Request:
        shown = () if self.examples is None else self.examples.for_item(item)
        order = self.order(item, criterion) if self.reorders else None
        request = request_of(
            *prefix(item, False, shown, self.fenced),
            *suffix(criterion, order),
            is_one_of_several=len(item.rubric.criteria) != 1,
        )
        return asking_confidence(request) if self.states_confidence else request

    def item_digest(self, item: Item) -> bytes | None:
        """Nothing is rendered: the key contains the templates themselves."""
        if not self.is_usual:
            return None
        shown = () if self.examples is None else self.examples.for_item(item)
        return templates_digest(PROMPT_VERSION) + material_digest(item, shown, self.fenced)

    def criterion_digest(self, item: Item, criterion: Criterion) -> bytes:
        suffix = key_suffix(self.require_evidence, criterion)
        if not self.is_usual:
            return suffix
        order = self.order(item, criterion) if self.reorders else None
        return question_digest(criterion, order) + suffix

    def group_request(
        self, item: Item, criteria: Sequence[Criterion], numbers: Sequence[str] | None = None
    ) -> Request:
        orders = [self.order(item, criterion) for criterion in criteria]
        numbers = numbers or [str(number) for number in range(1, len(criteria) + 1)]
        shown = () if self.examples is None else self.examples.for_item(item)
        return request_of(
            *prefix(item, True, shown),
            *group_suffix(tuple(criteria), tuple(orders), tuple(numbers)),
            tags=False,
            is_one_of_several=len(criteria) != len(item.rubric.criteria),
        )

    def group_order(self, item: Item, criteria: Sequence[Criterion]) -> list[int]:
        if self.shuffle is None:
            return list(range(len(criteria)))
        from rubricate.judge.asking._orders import criteria_order

        return criteria_order(criteria, item, self.shuffle)


def check_criteria_per_call(value: CriteriaPerCall) -> CriteriaPerCall:
    """Return the number of criteria per call. Raises `InputError` if it is invalid."""
    if value == "all" or (isinstance(value, int) and not isinstance(value, bool) and value >= 1):
        return value
    raise InputError(f"criteria per call must be a number from 1, or 'all', found {value!r}")


def asking_confidence(request: Request) -> Request:
    """Return the request with a question about the model's confidence."""
    assert request.schema is not None
    *before, last = request.messages
    question = Message(role=last["role"], content=last["content"] + ASKED)
    properties = {**request.schema["properties"], CONFIDENCE: {"type": "number"}}
    schema = {**request.schema, "properties": properties, "required": list(properties)}
    return replace(request, messages=(*before, question), schema=schema)


def with_confidence(verdict: Verdict, reply: Reply) -> Verdict:
    """Return the verdict with the model's stated confidence, which is not a probability."""
    stated = reply.data.get(CONFIDENCE)
    if isinstance(stated, bool) or not isinstance(stated, int | float) or not 0 <= stated <= 1:
        return verdict
    return replace(verdict, detail={**(verdict.detail or {}), CONFIDENCE: float(stated)})


def identity_of(settings: Sequence[Any]) -> bytes:
    """The beginning of keys: the prompt, the model, and all else that is the same for all items.

    Raises:
        InputError: a model's fingerprint contains a value that is not JSON.
    """
    try:
        return orjson.dumps(settings, option=orjson.OPT_SORT_KEYS)
    except TypeError as error:
        raise InputError(f"a model's fingerprint must be JSON values: {error}") from None


def hash_of_request(identity: bytes, request: Request) -> str:
    """A hash of a request as sent."""
    digest = hashlib.blake2b(identity, digest_size=16)
    for message in request.messages:
        digest.update(b"\0" + message["content"].encode())
    digest.update(b"\0" + orjson.dumps(request.schema))
    return digest.hexdigest()


# Verdicts that need quotes from the submission


REQUIRED = "require_evidence"
"""The key of a verdict's detail with how often the judge was asked again for quotes
(`asked_again`), and whether it abstains because they are missing (`abstained`)."""
ASKED_AGAIN, ABSTAINED = "asked_again", "abstained"
LONGEST, SEVERAL = 200, 5
"""Maximum characters of a quote that a correction repeats, and maximum quotes: a sentence or two
each, 250 tokens in total. Reasoned, not measured: at half, the judge cannot see which of two
similar passages it contains; at double, a correction costs 500 tokens."""


def key_suffix(required: bool | None, criterion: Criterion) -> bytes:
    """The part of keys for the option, if it allows other answers than the default."""
    if required:
        return b"-evidence"
    return b"-any-evidence" if required is False and criterion.quotes_items else b""


def unsupported(
    required: bool | None, criterion: Criterion, reading: Reading, verdict: Verdict
) -> str:
    """Return what is wrong with the quotes of an answer; empty if nothing is.

    An answer that claims that something is in the text must quote it (`Criterion.must_quote`): at
    least one quote must be in the submission, if only as a paraphrase. In an answer about items,
    the quote of each item must be.

    Args:
        required: whether quotes are required; None for the default: only the quotes of an answer
            about items are checked.
        criterion: the criterion.
        reading: the answer.
        verdict: the verdict with its located quotes.
    """
    if not (required or reading.claims) or required is False or verdict.status != "judged":
        return ""
    located = verdict.evidence
    quoted = {passage.quote for passage in located if not passage.invented}
    if reading.claims:
        lost = [
            f"the quote for '{item}' is not in the submission, {_shown(quote)}"
            if quote
            else f"'{item}' has no quote"
            for item, quote in reading.claims
            if quote not in quoted and (quote or required)
        ]
        return "; ".join(_few(lost))
    if not required or quoted or not criterion.must_quote(reading.label):
        return ""
    if not located:
        return f"{reading.label} needs a quote from the submission, and there is none"
    quotes = ", ".join(_few([_shown(passage.quote) for passage in located]))
    return f"{reading.label} needs a quote from the submission, and it does not have {quotes}"


def asked_for_quotes(verdict: Verdict, times: int, wrong: str = "") -> Verdict:
    """Return the verdict of a judge that was asked again for quotes; an abstention if still wrong.

    Args:
        verdict: the last answer.
        times: how often the judge was asked again.
        wrong: what is wrong with the quotes of the last answer.
    """
    if not wrong:
        return replace(verdict, detail={**(verdict.detail or {}), REQUIRED: {ASKED_AGAIN: times}})
    return replace(
        verdict,
        status="abstained",
        label=ABSTENTION,
        value=None,
        reason=f"No evidence: {wrong}. The judge said {verdict.label}: {verdict.reason}",
        detail={REQUIRED: {ASKED_AGAIN: times, ABSTAINED: True}},
        answer=None,
    )


def _shown(quote: str) -> str:
    return f'"{textwrap.shorten(quote, LONGEST, placeholder=" ...")}"'


def _few(parts: list[str]) -> list[str]:
    more = len(parts) - SEVERAL
    return parts if more <= 0 else [*parts[:SEVERAL], f"and {more} more"]
