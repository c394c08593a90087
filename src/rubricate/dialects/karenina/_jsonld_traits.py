"""Traits as schema.org ratings."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from rubricate.dialects.karenina._traits import (
    METRIC_SETTINGS,
    CallableRubricTrait,
    GradedTrait,
    ManualRubricTrait,
    MetricRubricTrait,
    RegexRubricTrait,
    RubricTrait,
    StoredTrait,
    Trait,
)
from rubricate.errors import InputError

Path = tuple[str | int, ...]
Code = Mapping[str, Callable[[str], Any]]
NO_CODE: Code = {}
_KINDS: dict[str, type[Trait]] = {
    "RubricTrait": RubricTrait,
    "LLMRubricTrait": RubricTrait,
    "RegexTrait": RegexRubricTrait,
    "RegexRubricTrait": RegexRubricTrait,
    "ManualTrait": ManualRubricTrait,
    "ManualRubricTrait": ManualRubricTrait,
    "MetricTrait": MetricRubricTrait,
    "MetricRubricTrait": MetricRubricTrait,
    "CallableTrait": CallableRubricTrait,
    "CallableRubricTrait": CallableRubricTrait,
}
"""The classes of what `additionalType` may end with."""
_SCOPE = re.compile(r"(?<![A-Za-z])(Global|QuestionSpecific)(?=[A-Z])")
_AS_TEXT = (*METRIC_SETTINGS, "classes")
"""Settings that a file may have as JSON text."""
_WRITTEN: dict[type[Trait], tuple[str, tuple[str, ...]]] = {
    RubricTrait: ("RubricTrait", ("classes", "min_score", "max_score")),
    ManualRubricTrait: ("RegexTrait", ("pattern", "case_sensitive", "invert_result")),
    MetricRubricTrait: ("MetricRubricTrait", ("evaluation_mode",)),
    CallableRubricTrait: (  # the function itself stays out of files
        "CallableTrait",
        ("kind", "invert_result", "classes", "min_score", "max_score"),
    ),
}
"""By class, the name in files and the settings that are written."""


# Writing


def rating(trait: Trait, scope: str) -> dict[str, Any]:
    """A trait as a `Rating` node; `scope` is `Global` or `QuestionSpecific`.

    The node that it was read from is written back as it was, as long as it means the same trait;
    else its settings replace those in the node.
    """
    node = dict(trait.node or {})
    if isinstance(trait, StoredTrait) or (node and _of_node(node, _function(trait)) == trait):
        if isinstance(kind := node.get("additionalType"), str):
            node["additionalType"] = _SCOPE.sub(scope, kind, count=1)
        return node
    kind, settings = _settings(trait)
    low, high = trait.bounds if isinstance(trait, GradedTrait) else (0, 1)
    names = {*type(trait).model_fields, "invert_result", *settings}
    others = [
        entry
        for entry in listed(node.get("additionalProperty", []), ())
        if entry["name"] not in names
    ]
    return {
        **node,
        "@type": "Rating",
        "name": trait.name,
        **({} if trait.description is None else {"description": trait.description}),
        "bestRating": high,
        "worstRating": low,
        "additionalType": f"karenina:{scope}{kind}",
        "additionalProperty": [
            *(property_node(name, value) for name, value in settings.items()),
            *others,
        ],
    }


def _settings(trait: Trait) -> tuple[str, dict[str, Any]]:
    """The name of a trait's kind in files, and its settings."""
    forms = [form for known, form in _WRITTEN.items() if isinstance(trait, known)]
    if not forms:
        raise InputError(
            f"the trait '{trait.name}' is a {type(trait).__name__}, which no file can hold"
        )
    [(kind, names)] = forms
    values = {name: getattr(trait, name) for name in names}
    settings = {
        name: list(value) if isinstance(value, tuple) else value
        for name, value in values.items()
        if value not in (None, ())
    }
    if trait.higher_is_better is not None or not isinstance(trait, MetricRubricTrait):
        settings["higher_is_better"] = trait.higher_is_better
    if isinstance(trait, RubricTrait):
        settings |= {"include_ground_truth": True} if trait.include_ground_truth else {}
        if trait.kind == "literal":
            kind, settings["kind"] = "LLMRubricTrait", "literal"
        elif trait.kind == "score" and trait.bounds == (0, 1):
            settings["kind"] = "score"  # such bounds mean yes or no otherwise
    if "classes" in settings:
        settings["classes"] = dict(settings["classes"])
    settings |= {"weight": trait.weight} if trait.weight != 1.0 else {}
    extra = (trait.model_extra or {}).items()
    return kind, settings | {
        name: list(value) if isinstance(value, tuple) else value for name, value in extra
    }


def _function(trait: Trait) -> Callable[[str], Any] | None:
    return trait.func if isinstance(trait, CallableRubricTrait) else None


# Reading


def trait_of(data: Any, scope: str, path: Path, code: Code = NO_CODE) -> Trait:
    """The trait that a `Rating` node is; a `StoredTrait` if it cannot be judged here.

    Args:
        data: the node.
        scope: `Global` or `QuestionSpecific`.
        path: where it is, for errors.
        code: the functions for traits that are code, by the traits' names.

    Raises:
        InputError: it is no trait, or one of another scope.
    """
    if not isinstance(data, Mapping) or data.get("@type") != "Rating":
        raise InputError("expected an object of the type Rating", path=path)
    node = dict(data)
    name = required(node, "name", path)
    other = _SCOPE.search(str(node.get("additionalType")))
    if other and other[1] != scope:
        where = "the benchmark" if other[1] == "Global" else "a question"
        raise InputError(f"additionalType: a trait of {where} is elsewhere", path=path)
    _properties_of(node, path)
    try:
        return _of_node(node, code.get(name)).model_copy(update={"node": node})
    except InputError as error:
        problem = str(InputError(error.message, path=error.path[1:]))  # without the trait's name
        common = {key: node[key] for key in ("name", "description") if node.get(key)}
        return StoredTrait(**common, node=node, problem=problem)


def _properties_of(node: Mapping[str, Any], path: Path) -> dict[str, Any]:
    where = (*path, "additionalProperty")
    settings = properties(listed(node.get("additionalProperty", []), where), where)
    for name in settings:
        if name in ("name", "description", "node"):
            raise InputError(f"additionalProperty: '{name}' is no setting of a trait", path=path)
    return settings


def _of_node(node: Mapping[str, Any], function: Callable[[str], Any] | None) -> Trait:
    """The trait that a node means.

    Raises:
        InputError: it cannot be judged here.
    """
    written = node.get("additionalType")
    kind = _SCOPE.sub("", str(written).rpartition(":")[2], count=1)
    known = _KINDS.get(kind)
    if known is None:
        raise InputError(f"its kind {written!r} is not known here")
    fields = {
        name: _parsed(value) if name in _AS_TEXT else value
        for name, value in _properties_of(node, ()).items()
    }
    fields |= {key: node[key] for key in ("name", "description") if node.get(key) is not None}
    if known is CallableRubricTrait:
        if function is None:
            raise InputError("it is Python code, which is not run from a file: give it by code=")
        return known(**fields, func=function)
    if known is RubricTrait:
        bounds = _bound(node, "worstRating", 1), _bound(node, "bestRating", 5)
        usual = "literal" if fields.get("classes") else "binary" if bounds == (0, 1) else "score"
        fields.setdefault("kind", usual)
        if fields["kind"] == "score" and bounds != (1, 5):
            fields = {"min_score": bounds[0], "max_score": bounds[1], **fields}
    return known(**fields)


def _parsed(value: Any) -> Any:
    if not isinstance(value, str):
        return value
    try:
        return json.loads(value)
    except (ValueError, RecursionError):
        return value


def _bound(node: Mapping[str, Any], key: str, default: int) -> int:
    value = node.get(key, default)
    whole = value.is_integer() if isinstance(value, float) else isinstance(value, int)
    if isinstance(value, bool) or not whole:
        raise InputError(f"{key}: expected a whole number, found {value!r}")
    return int(value)


# Nodes


def property_node(name: str, value: Any) -> dict[str, Any]:
    """A `PropertyValue` node."""
    return {"@type": "PropertyValue", "name": name, "value": value}


def properties(nodes: Sequence[Any], path: Path) -> dict[str, Any]:
    """The values of `PropertyValue` nodes by name."""
    values: dict[str, Any] = {}
    for index, node in enumerate(nodes):
        if not isinstance(node, Mapping) or not isinstance(node.get("name"), str):
            raise InputError("expected a PropertyValue with a name", path=(*path, index))
        if node["name"] in values:
            raise InputError(f"the property '{node['name']}' is there twice", path=(*path, index))
        values[node["name"]] = node.get("value")
    return values


def listed(data: Any, path: Path) -> list[Any]:
    """A list; one object alone counts as a list of one, as JSON-LD has it."""
    if isinstance(data, Mapping):
        return [data]
    if not isinstance(data, list):
        raise InputError(f"expected a list, found {type(data).__name__}", path=path)
    return data


def required(node: Mapping[str, Any], key: str, path: Path) -> str:
    """The text under a key."""
    text = node.get(key)
    if not isinstance(text, str) or not text.strip():
        raise InputError(f"'{key}' is missing or no text", path=path)
    return text
