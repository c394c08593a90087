"""Traits as schema.org ratings."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from rubricate._spelling import did_you_mean
from rubricate.dialects.karenina._traits import (
    KINDS_OF_MODELS,
    METRIC_LISTS,
    METRICS,
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
"""What `additionalType` may end with, and what it is here."""
_AGENTS = ("AgenticTrait", "AgenticRubricTrait")
_SCOPE = re.compile(r"(?<![A-Za-z])(Global|QuestionSpecific)(?=[A-Z])")
_OWN_KEYS = {
    "@type",
    "name",
    "description",
    "bestRating",
    "worstRating",
    "additionalType",
    "additionalProperty",
}
_AS_TEXT = (*METRIC_LISTS, "classes")
"""Settings that a file may have as JSON text."""


# Writing


def rating(trait: Trait, scope: str) -> dict[str, Any]:
    """A trait as a `Rating` node; `scope` is `Global` or `QuestionSpecific`.

    The node that it was read from is written back as it was, where it still says the same.
    """
    node = trait.node
    if node is not None and (isinstance(trait, StoredTrait) or _still_says(node, trait)):
        return {**node, **_in_scope(node, scope)}
    written = _written(trait, scope)
    if node is not None:
        properties_there = listed(node.get("additionalProperty", []), ())
        others = [one for one in properties_there if not _is_named(one["name"], type(trait))]
        written["additionalProperty"] += others
        written |= {key: value for key, value in node.items() if key not in _OWN_KEYS}
    return written


def _in_scope(node: Mapping[str, Any], scope: str) -> dict[str, Any]:
    """`additionalType` with this scope in it, where it has another."""
    kind = node.get("additionalType")
    if not isinstance(kind, str):
        return {}
    return {"additionalType": _SCOPE.sub(scope, kind, count=1)}


def _still_says(node: Mapping[str, Any], trait: Trait) -> bool:
    func = trait.func if isinstance(trait, CallableRubricTrait) else None
    read = _built(_kind_of(node), node, _settings_of(node, ()), func)
    return read == trait.model_copy(update={"node": None})


def _written(trait: Trait, scope: str) -> dict[str, Any]:
    """A trait as a node that says its settings and no more."""
    kind, (low, high), settings = _parts(trait)
    settings |= {"weight": trait.weight} if trait.weight != 1.0 else {}
    settings |= trait.model_extra or {}
    node: dict[str, Any] = {"@type": "Rating", "name": trait.name}
    if trait.description is not None:
        node["description"] = trait.description
    return {
        **node,
        "bestRating": high,
        "worstRating": low,
        "additionalType": f"karenina:{scope}{kind}",
        "additionalProperty": [property_node(name, value) for name, value in settings.items()],
    }


_WRITTEN: tuple[tuple[type[Trait], str, tuple[str, ...]], ...] = (
    (RubricTrait, "RubricTrait", ("classes", "min_score", "max_score")),
    (ManualRubricTrait, "RegexTrait", ("pattern", "case_sensitive", "invert_result")),
    (
        MetricRubricTrait,
        "MetricRubricTrait",
        (*METRIC_LISTS, "repeated_extraction", "evaluation_mode"),
    ),
    # the function itself stays out of files
    (
        CallableRubricTrait,
        "CallableTrait",
        ("kind", "invert_result", "classes", "min_score", "max_score"),
    ),
)
"""By class, the name in files and the settings that are written."""


def _parts(trait: Trait) -> tuple[str, tuple[int, int], dict[str, Any]]:
    """The kind's name in files, the bounds, and the settings."""
    forms = [(kind, names) for known, kind, names in _WRITTEN if isinstance(trait, known)]
    if not forms:
        raise InputError(
            f"the trait '{trait.name}' is a {type(trait).__name__}, which no file can hold"
        )
    [(kind, names)] = forms
    data = {name: getattr(trait, name) for name in names}
    settings = {
        name: list(value) if isinstance(value, tuple) else value
        for name, value in data.items()
        if value not in (None, ())
    }
    if trait.higher_is_better is not None or not isinstance(trait, MetricRubricTrait):
        settings["higher_is_better"] = trait.higher_is_better
    bounds = trait.bounds if isinstance(trait, GradedTrait) else (0, 1)
    if isinstance(trait, RubricTrait):
        settings |= {"include_ground_truth": True} if trait.include_ground_truth else {}
        if trait.kind == "literal":
            kind, settings["kind"] = "LLMRubricTrait", "literal"
        elif trait.kind == "score" and bounds == (0, 1):
            settings["kind"] = "score"  # such bounds mean yes or no otherwise
    if settings.get("classes"):
        settings["classes"] = dict(settings["classes"])
    return kind, bounds, settings


# Reading


def trait_of(data: Any, scope: str, path: Path, code: Code = NO_CODE) -> Trait:
    """The trait that a `Rating` node is.

    A kind or a setting that is not known here makes a `StoredTrait`; a known one with a value that
    it cannot have is an error.

    Args:
        data: the node.
        scope: `Global` or `QuestionSpecific`.
        path: where it stands, for errors.
        code: the functions for traits that are code, by the traits' names.

    Raises:
        InputError: with the path of what cannot be represented.
    """
    if not isinstance(data, Mapping) or data.get("@type") != "Rating":
        raise InputError("expected an object of the type Rating", path=path)
    node = dict(data)
    required(node, "name", path)
    found = _SCOPE.search(str(node.get("additionalType")))
    kind = _kind_of(node)
    if found and found[1] != scope and kind in (*_KINDS, *_AGENTS):
        where = "the benchmark" if found[1] == "Global" else "a question"
        raise InputError(f"additionalType: a trait of {where} stands elsewhere", path=path)
    settings = _settings_of(node, path)
    func = code.get(node["name"]) if _KINDS.get(kind) is CallableRubricTrait else None
    try:
        problem = _problem(kind, settings, node, func)
        if problem is not None:
            common = {key: node[key] for key in ("name", "description") if node.get(key)}
            return StoredTrait(**common, node=node, problem=problem)
        trait = _built(kind, node, settings, func)
    except InputError as error:
        raise error.within(path) from None
    return trait if rating(trait, scope) == node else trait.model_copy(update={"node": node})


def _kind_of(node: Mapping[str, Any]) -> str:
    """What `additionalType` names, without its vocabulary and scope."""
    return _SCOPE.sub("", str(node.get("additionalType")).rpartition(":")[2], count=1)


def _settings_of(node: Mapping[str, Any], path: Path) -> dict[str, Any]:
    """The settings of a node by name; lists that are JSON text as lists."""
    where = (*path, "additionalProperty")
    settings = properties(listed(node.get("additionalProperty", []), where), where)
    for name in settings:
        if name in ("name", "description", "node"):
            raise InputError(f"additionalProperty: '{name}' is no setting of a trait", path=path)
    return {name: _parsed(value) if name in _AS_TEXT else value for name, value in settings.items()}


def _parsed(value: Any) -> Any:
    if not isinstance(value, str):
        return value
    try:
        return json.loads(value)
    except (ValueError, RecursionError):
        return value


def _problem(
    kind: str,
    settings: Mapping[str, Any],
    node: Mapping[str, Any],
    func: Callable[[str], Any] | None,
) -> str | None:
    """Why a trait of a file cannot be judged; None where it can."""
    if kind in _AGENTS:
        return "it needs an agent that looks at files, which is not here"
    known = _KINDS.get(kind)
    if known is None:
        hint = did_you_mean(kind, _KINDS)
        return f"its kind {node.get('additionalType')!r} is not known here{hint}"
    if known is CallableRubricTrait and func is None:
        has_code = "callable_code" in settings
        return _NOT_RUN if has_code else _LACKS.format("code")
    unknown = [name for name, value in settings.items() if value and not _is_named(name, known)]
    if unknown:
        return f"its setting {unknown[0]!r} is not known here"
    needed = "pattern" if issubclass(known, ManualRubricTrait) else None
    needed = "tp_instructions" if known is MetricRubricTrait else needed
    if needed is not None and needed not in settings:
        return _LACKS.format(needed)
    return _unknown_value(settings, known)


_LACKS = "the file gives no {} for it"
_NOT_RUN = "it is Python code in a file, which is not run"


def _unknown_value(settings: Mapping[str, Any], known: type[Trait]) -> str | None:
    """Which kind or metric of the settings is not known here, if one is."""
    if known is RubricTrait and settings.get("kind", "score") not in (*KINDS_OF_MODELS, "boolean"):
        return f"its kind {settings['kind']!r} is not known here"
    metrics = settings.get("metrics") if known is MetricRubricTrait else None
    for metric in metrics if isinstance(metrics, list) else ():
        if metric not in METRICS:
            hint = did_you_mean(str(metric), METRICS)
            return f"its metric {metric!r} is not known here{hint}"
    return None


def _named(known: type[Trait]) -> frozenset[str]:
    """The names of the settings that a kind of trait has."""
    others = {"invert_result"} if issubclass(known, ManualRubricTrait) else set()
    return frozenset(known.model_fields) - {"func"} | others


def _is_named(name: str, known: type[Trait]) -> bool:
    return name in _named(known) or name.startswith(known.kept)


def _built(
    kind: str,
    node: Mapping[str, Any],
    settings: Mapping[str, Any],
    func: Callable[[str], Any] | None,
) -> Trait:
    """The trait of a known kind with these settings, and this function if it is code."""
    known = _KINDS[kind]
    fields = {name: value for name, value in settings.items() if _is_named(name, known)}
    for key in ("name", "description"):
        if node.get(key) is not None:
            fields[key] = node[key]
    if func is not None:
        return known(**fields, func=func)
    if known is not RubricTrait:
        return known(**fields)
    low, high = _bound(node, "worstRating", 1), _bound(node, "bestRating", 5)
    usual = "literal" if fields.get("classes") else "binary" if (low, high) == (0, 1) else "score"
    fields.setdefault("kind", usual)
    if fields["kind"] == "score" and (low, high) != (1, 5):
        fields = {"min_score": low, "max_score": high, **fields}
    return RubricTrait(**fields)


def _bound(node: Mapping[str, Any], key: str, default: int) -> int:
    value = node.get(key, default)
    whole = value.is_integer() if isinstance(value, float) else isinstance(value, int)
    if isinstance(value, bool) or not whole:
        raise InputError(f"{key}: expected a whole number, found {value!r}")
    return int(value)


def property_node(name: str, value: Any) -> dict[str, Any]:
    """A `PropertyValue` node."""
    return {"@type": "PropertyValue", "name": name, "value": value}


def properties(nodes: Sequence[Any], path: Path) -> dict[str, Any]:
    """The values of `PropertyValue` nodes by name."""
    found: dict[str, Any] = {}
    for index, node in enumerate(nodes):
        if not isinstance(node, Mapping) or not isinstance(node.get("name"), str):
            raise InputError("expected a PropertyValue with a name", path=(*path, index))
        if node["name"] in found:
            raise InputError(f"the property '{node['name']}' stands twice", path=(*path, index))
        found[node["name"]] = node.get("value")
    return found


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
