"""The cost of a request, by the user's own prices or the tables of the `genai-prices` package."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Annotated

from pydantic import BaseModel, ConfigDict, Field

from rubricate._documents import read_document, validate
from rubricate.errors import InputError, errors_within, shown
from rubricate.judge.models._providers import Provider, split_name
from rubricate.rubric import Usage

_PRICE_TABLE_NAMES = {"gemini": "google"}
_Dollars = Annotated[float, Field(ge=0.0, le=1e6, allow_inf_nan=False)]
"""At most a dollar per token, 1,700 times the highest price ever charged, so that costs are
finite."""


class ModelPrice(BaseModel):
    """US dollars per million tokens."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    input: _Dollars
    output: _Dollars
    cached_input: _Dollars | None = None
    """For input tokens read from the endpoint's cache. Default: the price of other input tokens."""
    cache_write: _Dollars | None = None
    """For input tokens written into the endpoint's cache. Default: 1.25 times the price of other
    input tokens, as at Anthropic. (Endpoints that charge nothing for it report none.)"""

    def cost(
        self, input_tokens: int, cached_tokens: int, output_tokens: int, written_tokens: int = 0
    ) -> float:
        """US dollars for one request; cached and written tokens are part of `input_tokens`."""
        cached = self.input if self.cached_input is None else self.cached_input
        write = 1.25 * self.input if self.cache_write is None else self.cache_write
        fresh = (input_tokens - cached_tokens - written_tokens) * self.input
        kept = cached_tokens * cached + written_tokens * write
        return (fresh + kept + output_tokens * self.output) / 1e6


def read_prices(path: str | Path) -> dict[str, ModelPrice]:
    """Read prices by judge name from a JSON or YAML file.

    Raises:
        InputError: the file cannot be read, or does not have the form `{openai/gpt-6-luna: {input:
            0.1, output: 0.5, cached_input: 0.01, cache_write: 0.125}}`.
    """
    data = read_document(path)
    if not isinstance(data, dict):
        raise InputError(
            "expected prices by model, such as MODEL: {input: 0.4, output: 1.6}", file=path
        )
    with errors_within(file=path):
        for name, row in data.items():
            if not isinstance(row, dict):
                form = "{input: 0.4, output: 1.6}, in US dollars for a million tokens"
                raise InputError(f"expected {form}, found {shown(row)}", path=(str(name),))
        return {str(name): validate(ModelPrice, row, (str(name),)) for name, row in data.items()}


def price_of(
    judge: str, usage: Usage, prices: Mapping[str, ModelPrice] | None = None
) -> float | None:
    """US dollars for the tokens of `usage` at the prices of this judge; None if unknown.

    Args:
        judge: its name, such as `openai/gpt-6-luna`; no key is needed.
        usage: the tokens.
        prices: prices by judge name, which take precedence over the tables.
    """
    counts = usage.input_tokens, usage.cached_tokens, usage.output_tokens
    own = (prices or {}).get(judge)
    if own is not None:
        return own.cost(*counts)
    provider, model = split_name(judge)
    return None if provider is None else price(provider, model, *counts)


def price(
    provider: Provider,
    model: str,
    input_tokens: int,
    cached_tokens: int,
    output_tokens: int,
    written_tokens: int = 0,
) -> float | None:
    """US dollars for one request; None if the tables do not contain the model.

    Servers on your own machine cost nothing.
    """
    if not provider.key_required:
        return 0.0
    from genai_prices import Usage, calc_price

    name = _PRICE_TABLE_NAMES.get(provider.company, provider.company)
    usage = Usage(
        input_tokens=input_tokens,
        cache_read_tokens=cached_tokens,
        cache_write_tokens=written_tokens,
        output_tokens=output_tokens,
    )
    try:
        return float(calc_price(usage, model_ref=model, provider_id=name).total_price)
    except (LookupError, ValueError):
        return None
