"""From a kind's name, as a file has it, to the class of its criteria."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from rubricate._documents import validate
from rubricate.errors import InputError
from rubricate.rubric._code import CodeCriterion
from rubricate.rubric._counter import CounterCriterion
from rubricate.rubric._criterion import Criterion
from rubricate.rubric._metric import MetricCriterion
from rubricate.rubric._regex import RegexCriterion
from rubricate.rubric._scale import ScaleCriterion

__all__ = ["KINDS", "build_criterion"]

KINDS: dict[str, type[Criterion]] = {
    "binary": Criterion,
    "multi_choice": Criterion,
    "scale": ScaleCriterion,
    "regex": RegexCriterion,
    "metric": MetricCriterion,
    "code": CodeCriterion,
    "counter": CounterCriterion,
}


def build_criterion(data: Any, path: Sequence[str | int] = ()) -> Criterion:
    """A criterion of the kind that loaded data names.

    Raises:
        InputError: the kind is unknown, or the data do not fit it; says where.
    """
    if isinstance(data, Criterion):
        return data
    kind = data.get("kind") if isinstance(data, Mapping) else None
    found = KINDS.get(kind, Criterion) if isinstance(kind, str) else Criterion
    if kind is None and isinstance(data, Mapping):
        for name, other in KINDS.items():
            own = other.model_fields.keys() - Criterion.model_fields.keys()
            if field := next((key for key in data if key in own and key not in COMMON_WORDS), None):
                raise InputError(
                    f"'{field}' belongs to criteria of the kind {name}: add 'kind: {name}'",
                    path=path,
                )
        if "options" not in data and ({"low", "high"} <= data.keys() or _are_levels(data)):
            raise InputError(
                "levels, low and high belong to criteria of the kind scale: add 'kind: scale'",
                path=path,
            )
    return validate(found, data, path)


def _are_levels(data: Mapping[str, Any]) -> bool:
    return isinstance(data.get("levels"), Mapping | list | tuple)


COMMON_WORDS = frozenset(
    {"low", "high", "levels", "flags", "metrics", "function", "time_limit", "counter"}
)
"""Fields of other kinds that a binary criterion may well have as a note of its own."""
