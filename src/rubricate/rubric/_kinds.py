"""From a kind's name, as a file has it, to the class of its criteria."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from rubricate._documents import validate
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
    return validate(found, data, path)
