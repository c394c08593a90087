"""Words in messages: counted, listed, and what an unknown one was likely meant for."""

from __future__ import annotations

import difflib
from collections.abc import Collection, Sequence

_NEAR = 0.75
"""Similarity (difflib ratio, 0 to 1) from which an unknown word counts as a misspelling."""


def suggestion(word: str, known: Collection[str]) -> str | None:
    """The known word that `word` most likely means, or None if none is near.

    Words of up to three letters have too many neighbours (`id`: `qid`, `uid`, `idx`): only another
    letter case or punctuation counts as a misspelling of those.
    """
    folded = {name.casefold(): name for name in sorted(known)}
    bare = "".join(filter(str.isalnum, word.casefold()))
    if bare in folded:
        return folded[bare]
    long = [name for name in folded if len(name) > 3]
    near = difflib.get_close_matches(word.casefold(), long, n=1, cutoff=_NEAR)
    return folded[near[0]] if near else None


def did_you_mean(word: str, known: Collection[str]) -> str:
    """The end of an error about a word: the `suggestion`, or nothing."""
    near = suggestion(word, known)
    return f"; did you mean '{near}'?" if near else ""


def unknown_word(what: str, word: object, known: Collection[str]) -> str:
    """An error about a word that is none of some: `unknown metric 'f2' (known: f1, recall)`."""
    hint = did_you_mean(str(word), known)
    return f"unknown {what} '{word}' (known: {', '.join(known)}){hint}"


def no_metadata(field: str, known: Collection[str]) -> str:
    """An error about a field by which no item can be grouped, with those by which they can be."""
    hint = did_you_mean(field, known) or f"; there is {', '.join(known) or 'none at all'}"
    return f"no item has metadata '{field}' (a number or a short text) to group them by{hint}"


def counted(number: int, noun: str, plural: str | None = None) -> str:
    """A number with its noun: `1 item`, `2 items`, `0 criteria`."""
    return f"{number} {noun if number == 1 else plural or noun + 's'}"


def listed(names: Sequence[str], most: int = 5, between: str = ", ") -> str:
    """The first names, and how many more there are: `a, b and 3 more`."""
    more = f" and {len(names) - most} more" if len(names) > most else ""
    return between.join(names[:most]) + more


def common_prefix(first: str, second: str) -> int:
    """How many characters two texts begin with alike.

    By bisection: `os.path.commonprefix` compares letter by letter, which takes long for prompts.
    """
    low, high = 0, min(len(first), len(second))
    while low < high:
        middle = (low + high + 1) // 2
        if first[low:middle] == second[low:middle]:
            low = middle
        else:
            high = middle - 1
    return low
