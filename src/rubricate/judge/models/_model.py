"""The interface of models: what they accept and return."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any, Literal, TypedDict

from rubricate.rubric import Usage

if TYPE_CHECKING:
    from pathlib import Path

TEMPERATURE, TIMEOUT = 0.0, 120.0
"""The default sampling temperature, and the default timeout of a request in seconds."""
ReplyForm = Literal["json_schema", "json_object", "text"]
"""The form of a reply: by a JSON Schema, as any JSON object, or in text."""


class Message(TypedDict):
    """One chat message."""

    role: Literal["system", "user", "assistant"]
    content: str


@dataclass(frozen=True, slots=True)
class Draw:
    """Which of several answers to equal requests is wanted.

    Attributes:
        replicate: the replicate of the judgement; "" for the only one.
        number: how often the judgement has sent the same request before.
        is_anew: whether an earlier answer must not be reused.
        sample: the sample number of the request, which an API without seeds does not send.
    """

    replicate: str = ""
    number: int = 0
    is_anew: bool = False
    sample: int = 0


@dataclass(slots=True)
class Request:
    """One prompt.

    Attributes:
        messages: the messages.
        schema: the JSON Schema that the reply should follow; None for free text.
        tags: whether the reply may use tags if the endpoint has no structured output.
        shared: the beginning of the first user message that is the same for all criteria of the
            item; "" if there is none.
        is_one_of_several: whether other requests are likely to share it. If not, it is not marked
            for a cache that charges for writing.
        choices: the possible replies of one token. There is then no schema; the probabilities of
            the token are requested, and the temperature is 1, at which a reply is a draw from them.
        sample: the number of a reply to a request with choices; those after the first (0) are
            requested without probabilities.
        kept: whether the run stores the completion, so that the same request is not sent again by
            any judgement, or after an interruption.
        lost_in: the forms that lost earlier replies to the same question because the replies
            ignored them; a simpler form is used (see `Model.after_unreadable`).
        draw: which answer is wanted, for a model that answers later.
    """

    messages: tuple[Message, ...]
    schema: dict[str, Any] | None = None
    tags: bool = True
    shared: str = ""
    choices: tuple[str, ...] = ()
    sample: int = 0
    kept: bool = False
    lost_in: tuple[ReplyForm, ...] = ()
    is_one_of_several: bool = True
    draw: Draw | None = None


@dataclass(frozen=True, slots=True)
class Quota:
    """The remaining allowances that an endpoint reports.

    Each is (total, remaining, seconds until it is reset), or None if the endpoint reports none.
    """

    requests: tuple[float, float, float] | None = None
    tokens: tuple[float, float, float] | None = None


UNKNOWN = Usage(requests=1, cost=None)


@dataclass(slots=True)
class Completion:
    """One reply.

    Attributes:
        text: its text.
        usage: its usage. Default: one request, at an unknown cost.
        quota: the remaining allowance, if the endpoint reports it.
        probabilities: the probabilities of the alternatives for the reply's first token; None if
            the model gives none.
        cut_off: whether it was truncated at the token limit.
        sent: the messages as sent, if the model changed those of the request.
        elsewhere: for a reply without text, its reasoning or the arguments of its tool call; for
            one with text, the tool call beside it.
        unusable: what is wrong with the probabilities of the reply; they are then None.
        model: the endpoint's name for the model that answered, if reported.
        finish_reason: the endpoint's reason for the end of the reply, if reported.
        form: the requested form of the reply; None if the model has no such forms.
        uncounted: all that the model wrote, including its reasoning, if the endpoint reports no
            token counts; else "".
        thinking: the model's reasoning, or the provider's summary of it, if it is separate from the
            text. It is stored for readers, and is not evidence.
    """

    text: str
    usage: Usage = UNKNOWN
    quota: Quota | None = None
    probabilities: Mapping[str, float] | None = None
    cut_off: bool = False
    sent: tuple[Message, ...] | None = None
    elsewhere: str = ""
    unusable: str = ""
    model: str = ""
    finish_reason: str = ""
    form: ReplyForm | None = None
    uncounted: str = ""
    thinking: str = ""


class Model:
    """A model that answers prompts.

    A custom model derives from this class, and has at least `name`, `fingerprint` and `complete`.
    Exceptions from `complete` other than `ModelError` (the errors of a client, a timeout) are
    retried; a programming error (`ValueError`, `KeyError`, ...) fails the judgement.

    Attributes:
        name: its name for people, such as `openai/gpt-6-luna`.
        endpoint: the endpoint whose limits it shares with other models. Default: its name.
        account: the account to which the endpoint's limits apply, such as a hash of the key.
            Processes that share limits (`share_limits`) share those of one endpoint and account;
            None if processes cannot share them.
        repeatable: whether a request that waits far longer than others for its answer may be
            cancelled and sent again, or sent a second time in parallel.
        opens_connections: whether each request in flight uses a file descriptor.
        is_local: whether it runs in this process, so that its first requests need no pacing.
        caches_prefixes: whether the beginning of a prompt is cheaper the second time.
        marks_prefixes: whether the shared part of an item's prompts is marked for caching, which
            the endpoint charges for.
        answers_later: whether an answer may take hours. Limits and deadlines then do not apply,
            equal requests have a `Draw`, and pending requests are kept in a folder (see `keep_in`).
        live: the model for requests that this one leaves unanswered (`expired`); None for none.
        may_think: whether its replies may contain thinking, whose length is unpredictable.
        gives_probabilities: whether completions may contain them.
        is_trusted: whether only this package creates its completions, so that their usage is
            already checked.
        count_tokens: counts the tokens of a text, for splitting long documents; None for an
            estimate.
        note: a line to show once with the results, such as a feature that the endpoint accepts and
            ignores.
    """

    name: str
    account: str | None = None
    repeatable: bool = False
    opens_connections: bool = False
    is_local: bool = False
    caches_prefixes: bool = False
    marks_prefixes: bool = False
    answers_later: bool = False
    live: Model | None = None
    may_think: bool = True
    gives_probabilities: bool = True
    is_trusted: bool = False
    count_tokens: Callable[[str], int] | None = None
    note: str | None = None

    @cached_property
    def endpoint(self) -> str:
        return self.name

    def fingerprint(self) -> dict[str, Any]:
        """All properties of the model that could change an answer, as JSON values."""
        raise NotImplementedError(f"{type(self).__name__} has no fingerprint")

    async def complete(self, request: Request) -> Completion:
        """Answer one prompt.

        Raises:
            ModelError: there is no answer; its `kind` says whether a retry may help.
        """
        raise NotImplementedError(f"{type(self).__name__} has no complete")

    def after_unreadable(self, request: Request, completion: Completion) -> Request:
        """Return the request for another try after an unreadable reply.

        A model with several forms of replies learns here that one of them failed. Default: the same
        request.
        """
        return request

    def bare_label(self, text: str) -> str | None:
        """What is wrong with code whose reply (`text`) is a label without a reason; None for a
        service."""
        return None

    def has_sent(self, request: Request) -> bool:
        """Whether a request was sent before, maybe by another process, whose answer will be
        used."""
        return False

    def keep_in(self, folder: Path) -> None:
        """Store pending requests in a folder, so that a later run gets their answers."""

    async def aclose(self) -> None:
        """Close connections. The model can be used again afterwards.

        Raises:
            RubricateError: there is no running loop.
        """

    def parameters(self, request: Request) -> Mapping[str, Any]:
        """The parameters sent with the messages (`temperature`, `max_tokens`, ...), for traces."""
        return self.fingerprint()

    def price(self, usage: Usage) -> float | None:
        """US dollars for these tokens; None if unknown."""
        return None

    def write_price(self, tokens: int) -> float | None:
        """US dollars for input that is marked and written into the endpoint's cache.

        Args:
            tokens: the number of input tokens.
        """
        return self.price(Usage(input_tokens=tokens))


Send = Callable[[Model, Request], Awaitable[Completion]]
"""How a judge calls a model: the run engine passes a function that limits and retries."""
