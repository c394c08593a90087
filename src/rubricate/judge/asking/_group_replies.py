"""Reading a reply about several criteria, each by its number."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import Any

from rubricate._model_json import Repeated, refuse_repeats
from rubricate.errors import UnreadableReply
from rubricate.judge.asking._extra_keys import (
    NUMBER_WORDS,
    is_remark,
    leaves,
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
    names: Mapping[str, Sequence[str]],
    text: str,
    material: str = "",
    schema: Mapping[str, Any] | None = None,
) -> list[Reply | UnreadableReply]:
    """Return the answers about several criteria, in their order.

    Each criterion is read separately, so that an error in one answer concerns only that answer. But
    if an entry has the number of no criterion, the meaning of all numbers is in doubt.

    Args:
        names: the names of the criteria, by their numbers.
        text, material, schema: as for `read_reply`.

    Raises:
        UnreadableReply: the reply does not end with a JSON object, or has entries about other
            criteria.
    """
    entries = _by_number(closing_object(text, tuple(names), material, schema, several=True), names)
    for key in entries:
        if key.strip() not in names and re.search(r"\d", key):
            numbers = ", ".join(names)
            raise UnreadableReply(f"the reply has an entry '{key}'; the criteria are {numbers}")
        if key.strip() not in names and isinstance(entries[key], dict | list) and entries[key]:
            raise UnreadableReply(f"the reply has '{key}' beside the criteria's numbers")
    beside = {
        key: value
        for key, value in entries.items()
        if key.strip() not in names and not (key in _TOTALS and isinstance(value, int | float))
    }
    refuse_repeats(beside)
    refuse_other_answers(beside, schema or {}, tuple(names))
    schemas = {} if schema is None else schema["properties"]
    return [
        _entry(entries, number, names, material, schemas.get(number, USUAL)) for number in names
    ]


_WRAPPERS = ("criteria", "entries", "evaluations", "results", "verdicts")
"""Keys of an object around all entries. Under any other key it may be an example."""
_TOTALS = ("overall_score", "score", "total", "total_score")
"""Keys of a total over all criteria."""
_NUMBERED = re.compile(r"\s*(?:criterion)?[\s_#-]*0*([0-9]+)[.:]?\s*", re.IGNORECASE)


def _by_number(entries: dict[str, Any], names: Mapping[str, Sequence[str]]) -> dict[str, Any]:
    """Return entries by criterion number if all keys read 'Criterion 1' or similar.

    They may be wrapped in an object. Entries with some numbers as requested are left unchanged: the
    other keys mean something else.
    """
    if len(entries) == 1:
        ((name, inner),) = entries.items()
        if name.casefold() in _WRAPPERS and isinstance(inner, dict):
            return _by_number(inner, names)
    if isinstance(entries, Repeated) or any(key.strip() in names for key in entries):
        return entries
    numbers = [number[1] for number in map(_NUMBERED.fullmatch, entries) if number]
    if len(numbers) == len(entries) == len({*numbers} & {*names}):
        return dict(zip(numbers, entries.values(), strict=True))
    return entries


def _entry(
    entries: Mapping[str, Any],
    number: str,
    names: Mapping[str, Sequence[str]],
    material: str,
    schema: Mapping[str, Any],
) -> Reply | UnreadableReply:
    counts = entries.counts if isinstance(entries, Repeated) else {}
    keys = [key for key in entries if key.strip() == number]
    count = sum(counts.get(key, 1) for key in keys)
    if count != 1:
        what = "no entry" if not count else f"{count} entries"
        return UnreadableReply(f"the reply has {what} for criterion {number}")
    entry = entries[keys[0]]
    try:
        refuse_repeats(entry)
        if isinstance(entry, dict) and not PARTS.issuperset(entry):
            _refuse_others_in_entry(entry, number, names, schema)
        reply = checked_reply(entry, material)
        if reply.reason and "riterion " in reply.reason:
            _refuse_reason(reply.reason, number)
        return reply
    except UnreadableReply as error:
        return error


def _refuse_others_in_entry(
    entry: dict[str, Any],
    number: str,
    names: Mapping[str, Sequence[str]],
    schema: Mapping[str, Any],
) -> None:
    """Raise `UnreadableReply` if an entry has another answer, or claims to be about another
    criterion."""
    others = {}
    for key, value in entry.items():
        if key in schema["properties"] or key in PARTS:
            others[key] = value
            continue
        for leaf in leaves(value):
            if not (is_remark(key) and isinstance(leaf, bool | int | float)):
                _refuse_another(leaf, number, names, refers(key))
        if not refers(key):
            others[key] = value
    refuse_other_answers(others, schema, (VERDICT,))


def _refuse_another(
    value: Any, number: str, names: Mapping[str, Sequence[str]], refers: bool
) -> None:
    """Raise `UnreadableReply` if a value in an entry is the number or name of another criterion.

    Args:
        value: the value.
        number: the number of the criterion.
        names: the names of all criteria, by number.
        refers: whether the value's key refers to a criterion.
    """
    text = f" {_words(str(value))} "
    named = [(len(name), n) for n in names for name in map(_words, names[n]) if f" {name} " in text]
    words = re.findall(r"\d+(?=(?:st|nd|rd|th)?\b)|[a-z]+", text)
    if len(words) > 1 and words[-1] == "one":  # "the second one"
        words.pop()
    numbers = {str(_NUMBERS.get(word, word)) for word in words}
    numbers = {word.lstrip("0") or "0" for word in numbers if word.isdecimal()}
    if isinstance(value, float) and value.is_integer():
        numbers = {str(int(value))}
        text = f" {int(value)} "
    is_number = len(text.split()) <= _SHORT
    if refers and not _names(text, number, names[number]):
        other = bool(text.strip())
    elif named:
        other = number not in [n for size, n in named if size == max(named)[0]]
    else:
        known = numbers & {"0", *names}
        other = is_number and bool(known) and number not in known
    if other and not isinstance(value, bool):
        raise UnreadableReply(
            f"the entry for criterion {number} says that it is about another one: {value!r}"
        )


def _names(text: str, number: str, names: Sequence[str]) -> bool:
    """Whether words begin with a criterion's number or name, or are the beginning of it."""
    text_start = text.lstrip()
    match = re.match(rf"(?:{_KIND} )?(?:[a-z]?0*(\d+)|([a-z]+)) ", text_start)
    if match and (match[1] or str(_NUMBERS.get(match[2]))) == number:
        return True
    own = [f"{_words(name)} " for name in names]
    return any(
        text_start.startswith(name) or name.startswith(text_start) for name in own if name.strip()
    )


def _refuse_reason(reason: str, number: str) -> None:
    """Raise `UnreadableReply` if a reason mentions criteria by number, but not its own."""
    named = re.findall(r"\bcriterion\s+#?(\d+)", reason, re.IGNORECASE)
    if named and number not in named:
        raise UnreadableReply(
            f"the reason in the entry for criterion {number} is about criterion {named[0]}"
        )


_KIND = r"(?:criterion|entry|item|no|nr|number|question|requirement|the)"
_SHORT = 4
"""The maximum number of words of a text that may be a criterion's number under any key ("the second
one")."""
_NUMBERS = {
    word: number
    for words in (
        NUMBER_WORDS,
        ("", "first", "second", "third", "fourth", "fifth", "sixth", "seventh", "eighth", "ninth"),
        ("", "", "ii", "iii", "iv"),
    )
    for number, word in enumerate(words)
    if word
}


def _words(text: str) -> str:
    return " ".join(re.findall(r"[^\W_]+", text.casefold()))
