"""What five ways of asking cost with five models: the table of docs/judges.md.

    python tools/cost_table.py

100 reports of 7,000 tokens by 20 criteria, with the prices of the installed `genai-prices`, and the
sizes below. Nothing is sent.
"""

from __future__ import annotations

from importlib.metadata import version

from rubricate.judge.models import split_name
from rubricate.judge.models._prices import price

REPORTS, CRITERIA = 100, 20
REPORT, INSTRUCTIONS, QUESTION, REPLY = 7000, 350, 120, 120
"""Tokens of a report, of what all prompts begin with, of a criterion with the form of its reply,
and of a reply about one criterion: the mean of our prompts, and of replies with one quote."""
MODELS = (
    "openai/gpt-4.1-mini",
    "openai/gpt-5.1",
    "anthropic/claude-haiku-4-5",
    "anthropic/claude-sonnet-4-5",
    "gemini/gemini-2.5-flash",
)
WRITES = ("anthropic",)
"""Whose cache charges for what is written into it."""


def cost(judge: str, size: int, *, cached: bool, share: float = 1.0) -> float | None:
    """US dollars for all verdicts, with this many criteria a request, at a share of the price."""
    provider, model = split_name(judge)
    assert provider is not None
    requests = CRITERIA // size
    shared = INSTRUCTIONS + REPORT
    read, reply = shared + size * QUESTION, size * REPLY
    kept = cached and requests > 1
    written = shared if kept and provider.company in WRITES else 0
    first = price(provider, model, read, 0, reply, written)
    later = price(provider, model, read, shared if kept else 0, reply)
    if first is None or later is None:
        return None
    return share * REPORTS * (first + (requests - 1) * later)


def main() -> None:
    """Print the table."""
    ways = (
        ("one by one, without a cache", 1, False, 1.0),
        ("one by one (the default)", 1, True, 1.0),
        ("one by one, in batches", 1, True, 0.5),
        ("five a request", 5, True, 1.0),
        ("all in one request", CRITERIA, False, 1.0),
    )
    print("| judge |" + "".join(f" {name} |" for name, *_ in ways))
    print("|---|" + "--:|" * len(ways))
    for judge in MODELS:
        costs = [cost(judge, size, cached=kept, share=share) for _, size, kept, share in ways]
        shown = [f" ${each:.2f} |" if each is not None else " unknown |" for each in costs]
        print(f"| `{judge}` |" + "".join(shown))
    print(f"\nPrices: genai-prices {version('genai-prices')}.")


if __name__ == "__main__":
    main()
