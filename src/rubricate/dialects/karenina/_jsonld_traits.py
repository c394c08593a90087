"""Traits as schema.org ratings."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from rubricate._documents import did_you_mean
from rubricate.dialects.karenina._traits import (
    ManualRubricTrait,
    MetricRubricTrait,
    RubricTrait,
    StoredTrait,
    Trait,
)
from rubricate.errors import InputError

__all__ = ["listed", "properties", "property_node", "rating", "required", "trait_of"]

Path = tuple[str | int, ...]
_KINDS = {
    "RubricTrait": "RubricTrait",
    "RegexTrait": "RegexTrait",
    "ManualTrait": "RegexTrait",
    "ManualRubricTrait": "RegexTrait",
    "MetricTrait": "MetricTrait",
    "MetricRubricTrait": "MetricTrait",
    "CallableTrait": "CallableTrait",
}
"""What `additionalType` may end with, and what it means."""
_OWN_KEYS = {
    "@type",
    "name",
    "description",
    "bestRating",
    "worstRating",
    "additionalType",
    "additionalProperty",
}
_METRIC_LISTS = (
    "metrics",
    "tp_instructions",
    "tn_instructions",
    "fp_instructions",
    "fn_instructions",
)


def rating(trait: Trait, scope: str) -> dict[str, Any]:
    """A trait as a `Rating` node; `scope` is `Global` or `QuestionSpecific`."""
    if isinstance(trait, StoredTrait):
        kind = _kind(trait.node, ())[1]
        return {**trait.node, "additionalType": f"karenina:{scope}{kind}"}
    kind, (low, high), settings = _written(trait)
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
        **trait.extra,
    }


def _written(trait: Trait) -> tuple[str, tuple[int, int], dict[str, Any]]:
    """The kind's name in files, the bounds, and the settings."""
    if isinstance(trait, RubricTrait):
        settings: dict[str, Any] = {"higher_is_better": trait.higher_is_better}
        if trait.kind == "score" and trait.bounds == (0, 1):
            settings["kind"] = "score"  # such bounds mean yes or no otherwise
        return "RubricTrait", trait.bounds, settings
    if isinstance(trait, ManualRubricTrait):
        settings = {
            "pattern": trait.pattern,
            "case_sensitive": trait.case_sensitive,
            "invert_result": trait.invert,
            "higher_is_better": trait.higher_is_better,
        }
        return "RegexTrait", (0, 1), settings
    if isinstance(trait, MetricRubricTrait):
        settings = {name: list(getattr(trait, name)) for name in _METRIC_LISTS}
        settings = {name: value for name, value in settings.items() if value}
        settings["repeated_extraction"] = trait.repeated_extraction
        settings["evaluation_mode"] = trait.evaluation_mode
        return "MetricTrait", (0, 1), settings
    raise InputError(
        f"the trait '{trait.name}' is a {type(trait).__name__}, which no file can hold"
    )


def trait_of(data: Any, scope: str, path: Path) -> Trait:
    """The trait that a `Rating` node is.

    Raises:
        InputError: with the path of what cannot be represented.
    """
    if not isinstance(data, Mapping) or data.get("@type") != "Rating":
        raise InputError("expected an object of the type Rating", path=path)
    node = dict(data)
    found_scope, kind = _kind(node, path)
    if found_scope != scope:
        where = "the benchmark" if found_scope == "Global" else "a question"
        raise InputError(f"additionalType: a trait of {where} stands elsewhere", path=path)
    common: dict[str, Any] = {"name": required(node, "name", path, keep=True)}
    if node.get("description") is not None:
        common["description"] = node["description"]
    nodes = listed(node.get("additionalProperty", []), (*path, "additionalProperty"))
    settings = properties(nodes, (*path, "additionalProperty"))
    for name in settings:
        if name in ("name", "description", "extra"):
            raise InputError(f"additionalProperty: '{name}' is no setting of a trait", path=path)
    extra = {key: value for key, value in node.items() if key not in _OWN_KEYS}
    try:
        if problem := _problem(kind, settings):
            return StoredTrait(**common, node=node, problem=problem)
        return _read(kind, {**common, "extra": extra}, settings, node)
    except InputError as error:
        raise error.within(path) from None


def _problem(kind: str, settings: Mapping[str, Any]) -> str | None:
    """Why a trait of a file cannot be judged; None where it can."""
    needed = {"RegexTrait": "pattern", "MetricTrait": "tp_instructions"}.get(kind)
    if needed is not None and needed not in settings:
        return f"the file gives no {needed} for it"
    if kind != "CallableTrait":
        return None
    if "callable_code" in settings:
        return "it is Python code in a file, which is not run"
    return "the file gives no code for it"


def _read(
    kind: str, common: dict[str, Any], settings: dict[str, Any], node: Mapping[str, Any]
) -> Trait:
    if kind == "RegexTrait":
        return ManualRubricTrait(**{**common, **settings})
    if kind == "MetricTrait":
        return MetricRubricTrait(**{**common, **settings})
    low, high = _bound(node, "worstRating", 1), _bound(node, "bestRating", 5)
    binary = settings.get("kind", "binary" if (low, high) == (0, 1) else "score")
    if binary in ("binary", "boolean"):
        return RubricTrait(**{**common, "kind": binary, **settings})
    bounds = {} if (low, high) == (1, 5) else {"min_score": low, "max_score": high}
    return RubricTrait(**{**common, "kind": binary, **bounds, **settings})


def _bound(node: Mapping[str, Any], key: str, default: int) -> int:
    value = node.get(key, default)
    if isinstance(value, bool) or not isinstance(value, int | float) or value != int(value):
        raise InputError(f"{key}: expected a whole number, found {value!r}")
    return int(value)


def _kind(node: Mapping[str, Any], path: Path) -> tuple[str, str]:
    """The scope and the kind that `additionalType` names."""
    given = node.get("additionalType")
    name = str(given).rpartition(":")[2]
    for scope in ("Global", "QuestionSpecific"):
        if name.startswith(scope) and (kind := _KINDS.get(name.removeprefix(scope))):
            return scope, kind
    known = [f"{scope}{kind}" for scope in ("Global", "QuestionSpecific") for kind in _KINDS]
    hint = did_you_mean(name, known)
    raise InputError(f"additionalType: unknown kind of trait {given!r}{hint}", path=path)


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


def required(node: dict[str, Any], key: str, path: Path, *, keep: bool = False) -> str:
    """The text under a key, taken out of the node unless it is to be kept."""
    text = node.get(key)
    if not isinstance(text, str) or not text.strip():
        raise InputError(f"'{key}' is missing or no text", path=path)
    return text if keep else str(node.pop(key))
