"""A task of a benchmark, and helpers for reading its record."""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from rubricate.dataset.items import GroundTruth, text_of_chat
from rubricate.errors import InputError, check_type, errors_within, shown
from rubricate.rubric import DeclaredScoring, Rubric

LONGEST_NAME = 80
TEXTS = (
    *("requirement", "criterion", "criterion_description", "rubric_item", "point", "description"),
    *("rubric", "checklist", "checklist_item", "text", "question"),
)
"""The keys for a criterion's text in published files; the first one present is used."""
WEIGHTS = ("weight", "points", "criterion_weight", "importance")
AXES = ("axis", "category", "dimension", "theme", "type", "criterion_type")
"""The keys of a criterion for its category: they become tags `KEY:VALUE`."""


@dataclass(frozen=True, slots=True)
class Answer:
    """A text that answers a task.

    Attributes:
        name: its source, such as the name of a model; empty if there is only one.
        text: the text, or chat messages.
        labels: the human label of each criterion; None if nobody labelled it.
        metadata: the other fields of its record.
        unreadable: why its text cannot be read, if it cannot.
    """

    name: str
    text: Any
    labels: GroundTruth | None = None
    metadata: Mapping[str, Any] = field(default_factory=dict)
    unreadable: str | None = None


@dataclass(frozen=True, slots=True)
class Task:
    """One task.

    Attributes:
        id: its id, by which answers refer to it.
        prompt: the question.
        rubric: the rubric.
        metadata: other fields, such as its domain.
        answers: the texts in the record itself.
        reference: an exemplary response, if the record has one.
    """

    id: str
    prompt: str
    rubric: Rubric
    metadata: Mapping[str, Any] = field(default_factory=dict)
    answers: Sequence[Answer] = ()
    reference: str | None = None


@dataclass(frozen=True, slots=True)
class Benchmark:
    """A file format.

    Attributes:
        name: its name.
        fits: whether a record has this format.
        task: reads a record; its `InputError` names the invalid field.
        scoring: how the benchmark computes scores; None for the default.
    """

    name: str
    fits: Callable[[Mapping[str, Any]], bool]
    task: Callable[[Mapping[str, Any]], Task]
    scoring: DeclaredScoring | None = None


def text_in(record: Mapping[str, Any], *keys: str) -> str:
    """Return the first of these fields in a record, as text. Raises `InputError` if there is
    none."""
    for key in keys:
        value = record.get(key)
        if isinstance(value, int) and not isinstance(value, bool):
            value = str(value)
        if isinstance(value, str) and value.strip():
            return value
        if value is not None:
            raise InputError(f"expected text, found {shown(value)}", path=(key,))
    raise InputError(f"the task needs {' or '.join(map(repr, keys))}, as text", path=keys[:1])


def prompt_of(record: Mapping[str, Any], *keys: str) -> str:
    """The prompt of a record: text, or chat messages as a transcript."""
    for key in keys:
        if record.get(key) is not None:
            with errors_within(key):
                return text_of_chat(record[key])
    raise InputError(f"the task needs {' or '.join(map(repr, keys))}", path=keys[:1])


def each(
    read: Callable[[Any], dict[str, Any]], entries: Iterable[Any], *path: str
) -> list[dict[str, Any]]:
    """Read entries one by one; an `InputError` says which entry of `path` is invalid."""
    fields = []
    for index, entry in enumerate(entries):
        with errors_within(*path, index):
            fields.append(read(entry))
    return fields


def rubric_of(criteria: Sequence[Mapping[str, Any]], *path: str) -> Rubric:
    """Create a rubric from criteria. `InputError` has their place in the record."""
    with errors_within(*path):
        return Rubric.from_dict(list(criteria))


def unique_name(title: str, used: Collection[str]) -> str:
    """The text before the first colon, or its beginning; numbered if that name is already used."""
    begin = " ".join(title.partition(":")[0].split())
    if len(begin) > LONGEST_NAME:
        begin = f"{begin[: LONGEST_NAME - 1].rstrip()}…"
    name, number = begin, 1
    while name in used:
        number += 1
        name = f"{begin} ({number})"
    return name


def criterion_of(entry: Any, weights: Mapping[str, float] | None = None) -> dict[str, Any]:
    """Convert a criterion of a published file to one of a rubric's document.

    The first of `TEXTS` is its text, the first of `WEIGHTS` its weight; fields in `AXES` become
    tags. Other keys are kept.

    Args:
        entry: text, or an object.
        weights: the weights of words, if the file uses words.

    Raises:
        InputError: it has no text, or its weight is not a number.
    """
    if isinstance(entry, str):
        entry = {"requirement": entry}
    check_type(entry, Mapping, "a criterion")
    rest = dict(entry)
    criterion: dict[str, Any] = {}
    known = [key for key in WEIGHTS if rest.get(key) is not None]
    values = {key: _weight(key, rest.pop(key), weights) for key in known}
    if len(set(values.values())) > 1:
        raise InputError(f"{' and '.join(known)} differ: {', '.join(map(str, values.values()))}")
    text = next(
        (key for key in TEXTS if isinstance(rest.get(key), str) and rest[key].strip()), None
    )
    if text is None:
        raise InputError(
            f"a criterion needs its text, under one of: {', '.join(TEXTS)}; its fields are "
            f"{', '.join(map(str, entry))}: name the field (--criteria-map requirement=FIELD)"
        )
    criterion["requirement"] = rest.pop(text)
    if values:
        criterion["weight"] = next(iter(values.values()))
    tags = rest.pop("tags", None) or []
    if isinstance(tags, Mapping):  # RubricHub's: the verifier and its function
        tags = [f"{key}:{text}" for key, text in tags.items() if isinstance(text, str) and text]
    if not isinstance(tags, list | tuple) or not all(isinstance(tag, str) for tag in tags):
        raise InputError(f"expected a list of texts, found {shown(tags)}", path=("tags",))
    tags = [*tags, *_axes(rest)]
    if tags:
        criterion["tags"] = list(dict.fromkeys(tags))
    return {**rest, **criterion}


def _axes(rest: dict[str, Any]) -> list[str]:
    tags: list[str] = []
    for key in AXES:
        value = rest.get(key)
        values = value if isinstance(value, list | tuple) else [value]
        if values != [None] and all(isinstance(value, str) and value.strip() for value in values):
            tags += [f"{key.removeprefix('criterion_')}:{value}" for value in values]
            del rest[key]
    return tags


def _weight(key: str, weight: Any, weights: Mapping[str, float] | None) -> float:
    if isinstance(weight, str) and weights and weight.strip() in weights:
        return weights[weight.strip()]
    if isinstance(weight, str) and re.fullmatch(r"\s*[+-]?\d+(\.\d+)?\s*", weight):
        weight = float(weight)
    if isinstance(weight, bool) or not isinstance(weight, int | float) or not math.isfinite(weight):
        known = f" (known words: {', '.join(weights)})" if weights else ""
        if isinstance(weight, str) and not weights:
            known = ": write a number for each word, or delete the field (all then weigh 1)"
        raise InputError(f"expected a number, found {shown(weight)}{known}", path=(key,))
    return float(weight)
