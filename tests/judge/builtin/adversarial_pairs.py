"""Pairs of texts that share their words and not their meaning, for `test_adversarial.py`.

Of each pair in `adversarial_pairs.jsonl` the first text meets the criterion, the second only looks
as if it did. The first set was written before the judge was made to withstand such texts; the
others, of other domains, were not looked at while that was done.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import NamedTuple


class Pair(NamedTuple):
    """A criterion, a text that meets it and one that does not.

    `allowed` holds the answers to the second that are right: UNMET, or none at all (abstains).
    """

    kind: str
    requirement: str
    honest: str
    hostile: str
    prompt: str = ""
    allowed: tuple[str | None, ...] = ("UNMET", None)


def pairs(name: str) -> list[Pair]:
    """The pairs of a set: `first`, `second` or `third`."""
    lines = Path(__file__).with_suffix(".jsonl").read_text(encoding="utf-8").splitlines()
    records = [json.loads(line) for line in lines]
    return [Pair(**record) for record in records if record.pop("set") == name]
