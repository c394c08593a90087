"""What a request cost, from the price tables of the `genai-prices` package."""

from __future__ import annotations

from rubricate.judge.models._providers import Provider

__all__ = ["price"]

_PRICE_TABLE_NAMES = {"gemini": "google"}


def price(
    provider: Provider, model: str, input_tokens: int, cached_tokens: int, output_tokens: int
) -> float | None:
    """US dollars for one request; None where the tables do not know the model.

    Servers on one's own machine cost nothing.
    """
    if not provider.key_required:
        return 0.0
    from genai_prices import Usage, calc_price

    name = _PRICE_TABLE_NAMES.get(provider.prefix, provider.prefix)
    usage = Usage(
        input_tokens=input_tokens, cache_read_tokens=cached_tokens, output_tokens=output_tokens
    )
    try:
        return float(calc_price(usage, model_ref=model, provider_id=name).total_price)
    except (LookupError, ValueError):
        return None
