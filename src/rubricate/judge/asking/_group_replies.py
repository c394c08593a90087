"""Reading a reply about several criteria, each by its number."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import Any

from rubricate._model_json import Repeated, refuse_repeats
from rubricate.errors import UnreadableReply
from rubricate.judge.asking._other_answers import (
    is_confidence,
    keys_and_leaves,
    refers,
    refuse_other_answers,
)
from rubricate.judge.asking._replies import (
    PARTS,
    USUAL,
    VERDICT,
    Reply,
    checked_reply,
    closing_object,
)


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
    entries_by_key = _by_number(
        closing_object(text, tuple(asked), material, schema, several=True), asked
    )
    for key in entries_by_key:
        if key.strip() not in asked and re.search(r"\d", key):
            numbers = ", ".join(asked)
            raise UnreadableReply(f"the reply has an entry '{key}'; the criteria are {numbers}")
        if (
            key.strip() not in asked
            and isinstance(entries_by_key[key], dict | list)
            and entries_by_key[key]
        ):
            raise UnreadableReply(f"the reply has '{key}' beside the criteria's numbers")
    beside = {
        key: value
        for key, value in entries_by_key.items()
        if key.strip() not in asked and not (key in _TOTALS and isinstance(value, int | float))
    }
    refuse_repeats(beside)
    refuse_other_answers(beside, schema or {}, tuple(asked))
    entries = {} if schema is None else schema["properties"]
    return [
        _entry(entries_by_key, number, asked, material, entries.get(number, USUAL))
        for number in asked
    ]


_WRAPPERS = ("criteria", "entries", "evaluations", "results", "verdicts")
"""Keys of an object around all entries. Under another one they may be an example."""
_TOTALS = ("overall_score", "score", "total", "total_score")
"""Keys of a number that is of all criteria together."""
_NUMBERED = re.compile(r"\s*(?:criterion)?[\s_#-]*0*([0-9]+)[.:]?\s*", re.IGNORECASE)


def _by_number(entries: dict[str, Any], asked: Mapping[str, Sequence[str]]) -> dict[str, Any]:
    """Entries by the numbers of their criteria, where all have them as 'Criterion 1' or the like.

    They may be wrapped in an object of their own. What has some numbers as they were asked for
    stays as it is: the others are something else.
    """
    if len(entries) == 1:
        ((name, inner),) = entries.items()
        if name.casefold() in _WRAPPERS and isinstance(inner, dict):
            return _by_number(inner, asked)
    if isinstance(entries, Repeated) or any(key.strip() in asked for key in entries):
        return entries
    numbers = [number[1] for number in map(_NUMBERED.fullmatch, entries) if number]
    if len(numbers) == len(entries) == len({*numbers} & {*asked}):
        return dict(zip(numbers, entries.values(), strict=True))
    return entries


def _entry(
    entries: Mapping[str, Any],
    number: str,
    asked: Mapping[str, Sequence[str]],
    material: str,
    schema: Mapping[str, Any],
) -> Reply | UnreadableReply:
    counts = entries.counts if isinstance(entries, Repeated) else {}
    keys = [key for key in entries if key.strip() == number]
    times = sum(counts.get(key, 1) for key in keys)
    if times != 1:
        what = "no entry" if not times else f"{times} entries"
        return UnreadableReply(f"the reply has {what} for criterion {number}")
    entry = entries[keys[0]]
    try:
        refuse_repeats(entry)
        if isinstance(entry, dict) and not PARTS.issuperset(entry):
            _refuse_others_in_entry(entry, number, asked, schema)
        reply = checked_reply(entry, material)
        if reply.reason and "riterion " in reply.reason:
            _refuse_reason(reply.reason, number)
        return reply
    except UnreadableReply as error:
        return error


def _refuse_others_in_entry(
    entry: dict[str, Any],
    number: str,
    asked: Mapping[str, Sequence[str]],
    schema: Mapping[str, Any],
) -> None:
    """`UnreadableReply` where an entry has another answer, or says that another one is meant."""
    others = {}
    for key, value in entry.items():
        is_asked_for = key in schema["properties"] or key in PARTS
        if not (is_asked_for or is_confidence(key, value)):
            for leaf in keys_and_leaves(value)[1]:
                if not isinstance(leaf, bool) and _is_another(leaf, number, asked, refers(key)):
                    raise UnreadableReply(
                        f"the entry for criterion {number} says that it is about another one: "
                        f"{leaf!r}"
                    )
        if is_asked_for or not refers(key):
            others[key] = value
    refuse_other_answers(others, schema, (VERDICT,))


def _is_another(
    value: str | float, number: str, asked: Mapping[str, Sequence[str]], refers: bool
) -> bool:
    """Whether a value in a criterion's entry is, or may be, another one's number or name.

    Args:
        value: the value.
        number: the criterion's number.
        asked: the names of all criteria, by their numbers.
        refers: whether the value's key says that it is about a criterion: it must then begin with
            the number or name of its own.
    """
    text = _words(str(int(value) if isinstance(value, float) and value.is_integer() else value))
    if not text:
        return False
    if refers:
        own = [number, *map(_words, asked[number])]
        beginning = f"{_KIND.sub('', text)} "
        return not any(
            beginning.startswith(f"{name} ") or f"{name} ".startswith(beginning)
            for name in own
            if name
        )
    named = [
        (len(name), n)
        for n in asked
        for name in map(_words, asked[n])
        if f" {name} " in f" {text} "
    ]
    if named:
        return number not in [n for size, n in named if size == max(named)[0]]
    numbers = {word.lstrip("0") or "0" for word in text.split() if word.isdecimal()}
    return len(text.split()) <= _SHORT and bool(numbers & {"0", *asked} - {number})


def _refuse_reason(reason: str, number: str) -> None:
    """`UnreadableReply` where a reason speaks of criteria by number, and not of the entry's own."""
    named = re.findall(r"\bcriterion\s+#?(\d+)", reason, re.IGNORECASE)
    if named and number not in named:
        raise UnreadableReply(
            f"the reason in the entry for criterion {number} is about criterion {named[0]}"
        )


_KIND = re.compile(
    r"(?:(?:criterion|entry|item|no|nr|number|question|requirement|the) )?[a-z]?0*(?=\d)"
)
"""What may stand before a criterion's number."""
_SHORT = 4
"""Words up to which a text under any key may be a criterion's number ("number 2 of 3")."""


def _words(text: str) -> str:
    return " ".join(re.findall(r"[^\W_]+", text.casefold()))
