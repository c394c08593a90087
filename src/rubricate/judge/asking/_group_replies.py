"""Reading a reply about several criteria, each by its number."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import Any

from rubricate._model_json import Repeated, refuse_repeats
from rubricate.errors import UnreadableReply
from rubricate.judge.asking._other_answers import leaves, refers, refuse_other_answers
from rubricate.judge.asking._replies import (
    PARTS,
    USUAL,
    VERDICT,
    Reply,
    checked_reply,
    closing_object,
)

__all__ = ["read_group"]


def read_group(
    text: str,
    asked: Mapping[str, Sequence[str]],
    material: str = "",
    schema: Mapping[str, Any] | None = None,
) -> list[Reply | UnreadableReply]:
    """The answers about several criteria, in their order.

    Each criterion stands for itself: what is wrong with one answer is said of that one alone. But
    where an entry has a number that no criterion has, nobody knows which numbers the others mean.

    Args:
        text, material, schema: as for `read_reply`.
        asked: the names of the criteria that were asked about, by their numbers.

    Raises:
        UnreadableReply: no JSON object closes the reply, or it has entries about other criteria.
    """
    found = closing_object(text, tuple(asked), material, schema, several=True)
    for key in found:
        if key.strip() not in asked and re.search(r"\d", key):
            numbers = ", ".join(asked)
            raise UnreadableReply(f"the reply has an entry '{key}'; the criteria are {numbers}")
    entries = {} if schema is None else schema["properties"]
    return [_entry(found, one, asked, material, entries.get(one, USUAL)) for one in asked]


def _entry(
    found: Mapping[str, Any],
    number: str,
    asked: Mapping[str, Sequence[str]],
    material: str,
    schema: Mapping[str, Any],
) -> Reply | UnreadableReply:
    counts = found.counts if isinstance(found, Repeated) else {}
    keys = [key for key in found if key.strip() == number]
    given = sum(counts.get(key, 1) for key in keys)
    if given != 1:
        what = "no entry" if not given else f"{given} entries"
        return UnreadableReply(f"the reply has {what} for criterion {number}")
    entry = found[keys[0]]
    try:
        refuse_repeats(entry)
        if isinstance(entry, dict) and not PARTS.issuperset(entry):
            _refuse_others_in_entry(entry, number, asked, schema)
        return checked_reply(entry, material)
    except UnreadableReply as error:
        return error


def _refuse_others_in_entry(
    entry: dict[str, Any],
    number: str,
    asked: Mapping[str, Sequence[str]],
    schema: Mapping[str, Any],
) -> None:
    """`UnreadableReply` where an entry has another answer, or says that another one is meant."""
    references = {key for key in entry if refers(key)}
    for one in leaves([entry[key] for key in references]):
        text = f" {_words(str(one))} "
        if numbered := re.fullmatch(r" (?:[a-z]+ )?[a-z]?(\d+) ", text):
            other = numbered[1] != number
        else:
            named = [
                (len(name), n) for n in asked for name in asked[n] if f" {_words(name)} " in text
            ]
            other = bool(named) and number not in [n for size, n in named if size == max(named)[0]]
        if other:
            raise UnreadableReply(
                f"the entry for criterion {number} says that it is about another one: {one!r}"
            )
    others = {key: value for key, value in entry.items() if key not in references}
    refuse_other_answers(others, schema, (VERDICT,))


def _words(text: str) -> str:
    return " ".join(re.findall(r"[^\W_]+", text.casefold()))
