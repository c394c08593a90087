"""What sending an item's first request before its others saves at an endpoint that keeps prefixes.

    python benchmarks/judge/prefix_cache.py [ITEMS] [CRITERIA] [IN FLIGHT] [SECONDS A REQUEST]

The endpoint is the scripted one, on loopback: a prefix is kept once a request with it is answered.
"""

from __future__ import annotations

import random
import sys

import rubricate
from rubricate import Criterion, Rubric, RubricDataset
from rubricate.testing import Rule, ScriptedEndpoint

WORDS = ["the", "of", "and", "to", "in", "is", "that", "for", "it", "as", "was", "with", "be", "by"]


def main(items: int, criteria: int, in_flight: int, seconds: float) -> None:
    """Grade the same items both ways and print what was served from the cache."""
    chance = random.Random(0)
    dataset = RubricDataset(
        "Explain how the present system came about.",
        Rubric([Criterion(requirement=f"States plainly point {n}") for n in range(criteria)]),
    )
    for number in range(items):
        dataset.add_item(f"Text {number}: " + " ".join(chance.choices(WORDS, k=300)))
    print(f"{items} items x {criteria} criteria, {in_flight} in flight, {seconds:g} s a request\n")
    print("| leader first | input tokens | of them cached | share | seconds |")
    print("|---|---:|---:|---:|---:|")
    for leader_first in (False, True):
        with ScriptedEndpoint([Rule(delay=seconds)]) as endpoint:
            result = rubricate.grade(
                dataset,
                "m",
                base_url=endpoint.url,
                concurrency=in_flight,
                leader_first=leader_first,
            )
        usage = result.usage
        share = usage.cached_tokens / usage.input_tokens
        print(
            f"| {'yes' if leader_first else 'no'} | {usage.input_tokens} | {usage.cached_tokens} "
            f"| {share:.0%} | {result.seconds:.1f} |"
        )


if __name__ == "__main__":
    numbers = [float(given) for given in sys.argv[1:]] + [100, 10, 100, 0.3][len(sys.argv) - 1 :]
    main(int(numbers[0]), int(numbers[1]), int(numbers[2]), numbers[3])
