"""Words in messages: counted, listed, and what an unknown one was likely meant for."""

from __future__ import annotations

import difflib
from collections.abc import Collection, Sequence
from contextlib import suppress
from typing import TYPE_CHECKING, Any, NoReturn

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


def our_name(name: str, known: Collection[str]) -> str:
    """The end of an error about a name of Python or the shell that is missing: ours, or nothing.

    The table is local, so that it is built only if there is an error.

    Args:
        name: the missing name.
        known: the names that are there.
    """
    other_names = {
        "to_file": "save write dump",
        "to_csv": "save write dump export",
        "to_pandas": "to_dataframe to_df df dataframe frame",
        "add_item": "append add",
        "items": "results samples",
        "criteria": "verdicts results",
        "label": "verdict answer",
        "requirement": "text description criterion question statement prompt",
        "ground_truth": "label labels truth",
        "score": "mean average",
        "summary": "score scores mean",
        "judge": "model models",
        "map": "mapping columns",
        "limit": "n",
        "rubric": "criteria metrics",
        "dataset": "data df",
        "runs": "list ls history",
        "view": "open serve ui",
        "read_run": "load_run open_run load_result load_results",
        "read_table": "read_csv load_csv load_table",
        "grade": "evaluate eval score run test grade_dataset grade_all",
        "Rubric.from_file": "load_rubric read_rubric",
        "RubricDataset.from_file": "load_dataset read_dataset",
        "ModelJudge": "LLMJudge",
    }
    usual = {
        other: ours
        for ours, others in other_names.items()
        if ours.partition(".")[0] in known
        for other in others.split()
    }
    near = name if name in usual else suggestion(name, known) or suggestion(name, usual)
    return f"; did you mean '{usual.get(near, near)}'?" if near else ""


class NamesAdvised:
    """Base of classes whose errors about missing names of their instances name ours."""

    __slots__ = ()

    if not TYPE_CHECKING:

        def __getattr__(self, name: str) -> Any:
            with suppress(AttributeError):
                return super().__getattr__(name)  # pydantic's
            if name[:1] == "_" or hasattr(type(self), name):  # the latter: a property that raised
                return object.__getattribute__(self, name)
            known = [own for own in dir(self) if own[:1] != "_"]
            hint = our_name(name, known) or f"; it has {', '.join(known)}"
            raise AttributeError(f"{type(self).__name__} has no '{name}'{hint}")


class OtherName(str):
    """Our name for a class's method that users expect under another one: calling it is an error.

    `NamesAdvised` is for instances. For classes, a metaclass would slow down pydantic.
    """

    def __call__(self, *_: object, **__: object) -> NoReturn:
        raise AttributeError(f"there is no such method; did you mean {self}?")


def no_field(field: str, known: Collection[str]) -> str:
    """The end of an error about a field by which items cannot be grouped: those that there are."""
    there = ", ".join(known) or "none: a column of the table that --map does not use becomes one"
    return f"; there is {there}{did_you_mean(field, known)}"


def no_tag(field: str, known: Collection[str]) -> str:
    """An error about a field by which there are no scores, with those by which there are."""
    return (
        f"scores by '{field}': no criterion has a tag of that field, and no item a tag or "
        f"metadata{no_field(field, known)}"
    )


def no_metadata(field: str, known: Collection[str]) -> str:
    """An error about a field by which no item can be grouped, with those by which they can be."""
    hint = no_field(field, known)
    return f"no item has metadata '{field}' (a number or a short text) to group them by{hint}"


def in_plain_words(message: str) -> str:
    """A message of pydantic in our words: `must be a whole number`."""
    words = {
        "Input should": "must",
        "greater than or equal to": "at least",
        "less than or equal to": "at most",
        "greater than": "more than",
        "a valid integer": "a whole number",
        "a valid number": "a number",
        "a valid string": "a text",
        "a valid boolean": "True or False",
        "an instance of Event": "an asyncio.Event",
        "an instance of Path": "a path",
        "'str' instances are not allowed as a Sequence value": "a list",
        "an instance of Sequence": "a list",
        "a valid list": "a list",
        "a valid tuple": "a list",
        "a valid dictionary": "a mapping",
    }
    for theirs, ours in words.items():
        message = message.replace(theirs, ours)
    return message[:1].lower() + message[1:]


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
