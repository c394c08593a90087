"""What an interface is to `HTTPModel`: a file with three functions, and what they exchange."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, NamedTuple, Protocol

from rubricate.judge.models._forms import Form
from rubricate.judge.models._model import Message, Request

if TYPE_CHECKING:
    from rubricate.judge.models._responses import Answer

TOO_LONG = ("length", "max_tokens", "max_output_tokens", "model_length")
"""What endpoints and gateways call the end of a reply that is as long as it may be."""


@dataclass(frozen=True, slots=True)
class Sampling:
    """How a model's replies are drawn, and what its endpoint needs.

    Attributes:
        options: what else is sent with each request, as the endpoint calls it.
        max_tokens: the most tokens of a reply; None for the endpoint's own limit.
        bounds_quotes: whether the schema bounds the number of quotes.
        marks: whether what an item's prompts share is marked to be kept in the endpoint's cache.
    """

    options: Mapping[str, Any]
    max_tokens: int | None
    bounds_quotes: bool
    marks: bool


@dataclass(slots=True)
class Reply:
    """What a body says of its only reply.

    Attributes:
        text: its text.
        elsewhere: see `Completion`.
        finish_reason: why it ended, in the endpoint's words; "" where it says nothing.
        probabilities, unusable, thinking: see `Completion`.
    """

    text: str
    elsewhere: str = ""
    finish_reason: str = "stop"
    probabilities: dict[str, float] | None = None
    unusable: str = ""
    thinking: str = ""

    @property
    def cut_off(self) -> bool:
        """Whether it ended because it was as long as it may be."""
        return self.finish_reason != "stop" and self.finish_reason.lower() in TOO_LONG


def texts_of(parts: Iterable[object], kind: str, between: str = "", name: str | None = None) -> str:
    """The texts of the parts of a kind.

    Args:
        parts: of a body; what is no object is passed over.
        kind: their `type`.
        between: what is put between them.
        name: where they have their text. Default: under their kind.
    """
    texts = [
        part.get(name or kind)
        for part in parts
        if isinstance(part, dict) and part.get("type") == kind
    ]
    return between.join(text for text in texts if isinstance(text, str))


class TokenCounts(NamedTuple):
    """The tokens of a request, as they are billed.

    Attributes:
        input: all of the prompt.
        cached: those of `input` that the endpoint read from its cache.
        written: those of `input` that it wrote into its cache.
        output: all that the model generated.
        reasoning: those of `output` that are its reasoning.
        kept: those of `written` that its cache keeps for an hour, and not for minutes.
    """

    input: int
    cached: int
    written: int
    output: int
    reasoning: int
    kept: int = 0


class Transport(Protocol):
    """How a request reaches the endpoint: `Connections`, or `Batches`."""

    async def post(self, body: bytes, seconds: float) -> Answer:
        """The answer to a request."""

    async def aclose(self) -> None:
        """End all that is waited for."""


class Wire(Protocol):
    """An interface: a module of this package with these names."""

    PATH: str

    def headers(self, key: str) -> dict[str, str]:
        """How a request says whose it is."""

    def payload(
        self,
        model: str,
        request: Request,
        messages: tuple[Message, ...],
        form: Form,
        sampling: Sampling,
    ) -> dict[str, Any]:
        """What is posted."""

    def parameters(self, request: Request, form: Form, sampling: Sampling) -> dict[str, Any]:
        """How a request is sampled, as it is sent."""

    def reply(self, body: Mapping[str, Any]) -> Reply:
        """What a body of success says of its only reply; raises `ModelError` where it has none."""

    def usage(self, body: object, raw: bytes, headers: Mapping[str, str]) -> TokenCounts | None:
        """The tokens of a body that is as usual; None leaves them to `_token_counts`."""
