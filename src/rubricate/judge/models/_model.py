"""Where a prompt goes: what every model is, what it takes and what it returns."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any, Literal, TypedDict

from rubricate.rubric import Usage

if TYPE_CHECKING:
    from pathlib import Path

    from rubricate.judge.models._draw import Draw

TEMPERATURE, TIMEOUT = 0.0, 120.0
"""How a model is sampled, and the seconds that a request may take, where nothing else is said."""
ReplyForm = Literal["json_schema", "json_object", "text"]
"""How a reply is asked for: by a JSON Schema, as any JSON object, or in text."""


class Message(TypedDict):
    """One chat message."""

    role: Literal["system", "user", "assistant"]
    content: str


@dataclass(slots=True)
class Request:
    """One prompt.

    Attributes:
        messages: what is sent.
        schema: the JSON Schema that the reply should follow; None for a reply in free text.
        tags: whether a reply may be written in tags, where an endpoint knows no structured output.
        shared: what the first user message begins with that is the same for all criteria of the
            item; "" for nothing.
        is_one_of_several: whether other requests are likely to begin with it, too. Where none does,
            it is not marked for a cache that charges for writing.
        choices: where the reply is one token, what it may be. There is then no schema; the
            token's probabilities are asked for, and the temperature is 1, at which a reply is a
            draw from them.
        sample: of the replies to a request with choices, which one is asked for; those after the
            first (0) are asked for without probabilities.
        kept: whether the run keeps the completion: the same request is then not sent again, by
            whichever judgement or after an interruption.
        lost_in: the forms in which earlier replies to the same question were lost because they
            ignored them: a simpler one is used (see `Model.after_unreadable`).
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
    """What an endpoint says is left of its allowances.

    Each is (the whole allowance, what is left of it, seconds until it is whole again), or None
    where the endpoint says nothing.
    """

    requests: tuple[float, float, float] | None = None
    tokens: tuple[float, float, float] | None = None


UNKNOWN = Usage(requests=1, cost=None)


@dataclass(slots=True)
class Completion:
    """One reply.

    Attributes:
        text: its text.
        usage: what it took. Default: one request, at a cost that is not known.
        quota: what the endpoint says is left, if it does.
        probabilities: of the reply's first token, by what it could have been; None where the model
            does not say.
        cut_off: whether it ended only because it was as long as it may be.
        sent: the messages as they went out, where the model changed those of the request.
        elsewhere: what a reply without text has in its reasoning or in a tool call's arguments, or
            one with a text in a tool call beside it.
        unusable: what is wrong with the probabilities that it came with; they are then None.
        model: what the endpoint calls the model that answered, if it says so.
        finish_reason: why the endpoint says that the reply ended, if it does.
        form: how the reply was asked for; None where the model has no such forms.
        uncounted: all that the model wrote, its reasoning too, where the endpoint reports no token
            counts; else "".
        thinking: the model's reasoning, or the provider's summary of it, where it comes apart from
            the text. It is kept to be read, and is no evidence.
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
    """Something that answers prompts.

    A model of your own derives from this class, and has at least `name`, `fingerprint` and
    `complete`. What that raises beside `ModelError` (the errors of a client, a timeout) is
    tried again; an error of the program (`ValueError`, `KeyError`, ...) fails the judgement.

    Attributes:
        name: what people call it, such as `openai/gpt-6-luna`.
        endpoint: what it shares its limits with: models of one endpoint are limited together.
            Default: its name.
        account: whose limits at the endpoint these are, such as a hash of the key. Processes that
            share limits (`share_limits`) share those of one endpoint and account; None for no
            limits that processes could share.
        repeatable: whether a request that waits far longer than others for its answer may be
            cancelled and sent again, or sent a second time beside it.
        opens_connections: whether each request in flight takes a file descriptor.
        is_local: whether it is code of this process, whose first requests need not be paced.
        caches_prefixes: whether what prompts begin with is cheaper the second time.
        marks_prefixes: whether what an item's prompts share is marked to be kept there, which the
            endpoint charges for.
        answers_later: whether an answer may take hours. No limit and no deadline then holds; equal
            requests have a `Draw`; and it keeps in a folder what is out (see `keep_in`).
        live: who answers what it leaves unanswered (`expired`); None where nobody does.
        may_think: whether its replies may come with thinking, whose length nobody knows before.
        gives_probabilities: whether completions may have them.
        is_trusted: whether its completions are made by this package alone, and what they took is
            checked already.
        count_tokens: the tokens of a text, by which long documents are split; None where they are
            guessed.
        note: a line to be shown once beside the results, such as a feature that the endpoint
            accepts and ignores.
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
        """Everything about the model, as JSON values, that could change an answer."""
        raise NotImplementedError(f"{type(self).__name__} has no fingerprint")

    async def complete(self, request: Request) -> Completion:
        """Answer one prompt.

        Raises:
            ModelError: there is no answer; its `kind` says whether asking again may help.
        """
        raise NotImplementedError(f"{type(self).__name__} has no complete")

    def after_unreadable(self, request: Request, completion: Completion) -> Request:
        """The request with which to ask again, after a reply that cannot be read.

        A model that can ask for replies in several forms learns here that one of them fails.
        Default: the same request.
        """
        return request

    def bare_label(self, label: str) -> str | None:
        """What is wrong with the code that replies a label and nothing else; None for a service."""
        return None

    def has_sent(self, request: Request) -> bool:
        """Whether a request went out before, maybe in another process, and is answered by that."""
        return False

    def keep_in(self, folder: Path) -> None:
        """Keep in a folder what is out, so that a later run has its answers."""

    async def aclose(self) -> None:
        """Let go of connections. The model can be used again afterwards.

        Raises:
            RubricateError: it is called outside a running loop.
        """

    def parameters(self, request: Request) -> Mapping[str, Any]:
        """What is sent beside the messages (`temperature`, `max_tokens`, ...), for traces."""
        return self.fingerprint()

    def price(self, usage: Usage) -> float | None:
        """US dollars for these tokens; None where that is not known."""
        return None

    def write_price(self, tokens: int) -> float | None:
        """US dollars for input that is written into the endpoint's cache, where it is marked.

        Args:
            tokens: of the input.
        """
        return self.price(Usage(input_tokens=tokens))


Send = Callable[[Model, Request], Awaitable[Completion]]
"""How a judge reaches a model: the run engine passes one that limits and retries."""
