"""Print the cost of a run for five ways of asking, at current prices: the tables of docs/batch.md.

python tools/price_table.py
"""

from __future__ import annotations

from importlib.metadata import version

from rubricate.judge.models import split_name
from rubricate.judge.models._batches import _PROTOCOLS, PRICE
from rubricate.judge.models._prices import price

REPORTS, CRITERIA = 100, 20
REPORT, CRITERION, REPLY = 7_000, 150, 120
"""The tokens of the common beginning of an item's requests, of the rest of one, and of a reply."""
MODELS = (
    "openai/gpt-6-luna",
    "openai/gpt-6.1-terra",
    "anthropic/claude-haiku-4-5",
    "anthropic/claude-sonnet-4-5",
    "gemini/gemini-2.5-flash",
)
OTHERS = ("openai/gpt-5-mini", "openai/gpt-4.1-mini", "deepseek/deepseek-chat")


def dollars(name: str, requests: int, criteria: int, *, cached: bool, reply: int = REPLY) -> float:
    """Return US dollars for the requests about one report with this many criteria each."""
    provider, model = split_name(name)
    assert provider is not None
    read, reply = REPORT + criteria * CRITERION, criteria * reply
    total = 0.0
    for number in range(requests):
        kept = REPORT if cached and number else 0
        # Anthropic, and OpenAI from GPT-5.6 on, charge for writing to the cache.
        has_free_writes = provider.prefix in ("gemini", "deepseek")
        written = REPORT if cached and not number and not has_free_writes else 0
        cost = price(provider, model, read, kept, reply, written)
        assert cost is not None, name
        total += cost
    return total


def main() -> None:
    """Print the tables."""
    print(f"genai-prices {version('genai-prices')}")
    print("| model | no cache | cache | batch | batch and cache | all 20 in one request |")
    print("|---|---|---|---|---|---|")
    for name in MODELS:
        plain = dollars(name, CRITERIA, 1, cached=False)
        cached = dollars(name, CRITERIA, 1, cached=True)
        together = dollars(name, 1, CRITERIA, cached=False)
        ways = (plain, cached, PRICE * plain, PRICE * cached, together)
        cells = " | ".join(f"${REPORTS * cost:.2f}" for cost in ways)
        print(f"| `{name}` | {cells} |")
    print("\n| model | cached input costs | live: times | batch: times |")
    print("|---|---|---|---|")
    for name in (*MODELS, *OTHERS):
        provider, model = split_name(name)
        assert provider is not None
        prices = [price(provider, model, 10**6, kept, 0) for kept in (0, 10**6)]
        assert prices[0] is not None
        assert prices[1] is not None
        together = dollars(name, 1, CRITERIA, cached=False, reply=0)
        times = dollars(name, CRITERIA, 1, cached=True, reply=0) / together
        batch = f"{PRICE * times:.1f}" if provider.company in _PROTOCOLS else "no batches"
        print(f"| `{name}` | {prices[1] / prices[0]:.2f} of the input | {times:.1f} | {batch} |")


if __name__ == "__main__":
    main()
