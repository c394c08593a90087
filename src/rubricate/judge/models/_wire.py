"""The interface between `HTTPModel` and the module of an API, and the types that they exchange."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, NamedTuple, Protocol

from rubricate.judge.models._forms import Form
from rubricate.judge.models._model import Message, Request

if TYPE_CHECKING:
    from rubricate.judge.models._responses import Answer

TOO_LONG = ("length", "max_tokens", "max_output_tokens", "model_length")
"""Finish reasons of endpoints and gateways for a reply at the token limit."""


@dataclass(frozen=True, slots=True)
class Sampling:
    """How a model's replies are sampled, and special needs of its endpoint.

    Attributes:
        options: other fields to send with each request, with the endpoint's names.
        max_tokens: the maximum number of tokens of a reply; None for the endpoint's own limit.
        bounds_quotes: whether the schema limits the number of quotes.
        marks: whether the shared part of an item's prompts is marked for the endpoint's cache.
    """

    options: Mapping[str, Any]
    max_tokens: int | None
    bounds_quotes: bool
    marks: bool


@dataclass(slots=True)
class Reply:
    """The only reply in a body.

    Attributes:
        text: its text.
        elsewhere: see `Completion`.
        finish_reason: the endpoint's reason for its end; "" if it gives none.
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
        """Whether it was truncated at the token limit."""
        return self.finish_reason != "stop" and self.finish_reason.lower() in TOO_LONG


def texts_of(parts: Iterable[object], kind: str, between: str = "", name: str | None = None) -> str:
    """The texts of all parts of a kind.

    Args:
        parts: the parts in a body; anything but objects is skipped.
        kind: their `type`.
        between: the separator.
        name: the key of their text. Default: the kind.
    """
    texts = [
        part.get(name or kind)
        for part in parts
        if isinstance(part, dict) and part.get("type") == kind
    ]
    return between.join(text for text in texts if isinstance(text, str))


class TokenCounts(NamedTuple):
    """The tokens of a request as they are billed.

    Attributes:
        input: all tokens of the prompt.
        cached: the part of `input` that the endpoint read from its cache.
        written: the part of `input` that it wrote into its cache.
        output: all tokens that the model generated.
        reasoning: the part of `output` that is reasoning.
        kept: the part of `written` that is cached for an hour instead of minutes.
    """

    input: int
    cached: int
    written: int
    output: int
    reasoning: int
    kept: int = 0


class Transport(Protocol):
    """How requests reach the endpoint: `Connections`, or `Batches`."""

    async def post(self, body: bytes, seconds: float) -> Answer:
        """Send a request and return the response."""

    async def aclose(self) -> None:
        """Stop all waiting."""


class Wire(Protocol):
    """An API: a module of this package with these names."""

    PATH: str

    def headers(self, key: str) -> dict[str, str]:
        """The headers that authenticate a request."""

    def payload(
        self,
        model: str,
        request: Request,
        messages: tuple[Message, ...],
        form: Form,
        sampling: Sampling,
    ) -> dict[str, Any]:
        """Return the request body."""

    def parameters(self, request: Request, form: Form, sampling: Sampling) -> dict[str, Any]:
        """The sampling parameters in the form of the API."""

    def reply(self, body: Mapping[str, Any]) -> Reply:
        """Return the only reply in a successful body. Raises `ModelError` if there is none."""

    def usage(self, body: object, raw: bytes, headers: Mapping[str, str]) -> TokenCounts | None:
        """The token counts of a body in the usual format; None leaves them to `_token_counts`."""
