"""`autorubric.types`: criteria and their answers."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from enum import Enum
from typing import Any

from pydantic import ConfigDict, field_validator, model_validator
from pydantic.dataclasses import dataclass

from rubricate import rubric as core
from rubricate._documents import check_keys, with_one_line_errors
from rubricate.dialects.autorubric._documents import (
    DEFAULT_WEIGHT,
    criterion_document,
    option_document,
)


class ShownEnum(str, Enum):  # noqa: UP042 (a StrEnum is shown as "MET")
    """Text with a name, printed as in AutoRubric: `CriterionVerdict.MET`."""


class CriterionVerdict(ShownEnum):
    """The answers to a binary criterion."""

    MET = "MET"
    UNMET = "UNMET"
    CANNOT_ASSESS = "CANNOT_ASSESS"


class CriterionOption(core.CriterionOption):
    """An answer of a multi-choice criterion. N/A options may have any value, or none."""

    @model_validator(mode="before")
    @classmethod
    def _any_value_of_na(cls, data: Any) -> Any:
        return option_document(data)

    @field_validator("label")
    @classmethod
    def _label_is_text(cls, label: str) -> str:
        return label


class Criterion(core.Criterion):
    """A criterion with AutoRubric's default weight, 10.

    Labels of options match regardless of case and surrounding spaces, and keep the option's
    spelling. An option called CANNOT_ASSESS means the abstention that every criterion allows.
    """

    name: str = None  # type: ignore[assignment]  # until it is part of a rubric, as AutoRubric's
    """Its name; None if it has none."""
    weight: float = DEFAULT_WEIGHT
    """Its weight in the score; any finite number, negative for a penalty."""

    @model_validator(mode="before")
    @classmethod
    def _as_the_core_has_it(cls, data: Any) -> Any:
        if not isinstance(data, Mapping):
            return data
        check_keys(data, cls.model_fields)  # before defaults are filled in
        return criterion_document(data)

    def model_dump(self, **options: Any) -> dict[str, Any]:
        """Return the fields as a dict, without empty fields that AutoRubric does not have."""
        fields = super().model_dump(**options)
        return {name: value for name, value in fields.items() if value != ()}

    def label_of(self, label: object) -> str:
        return super().label_of(self._own_spelling(label))

    def value(self, label: str) -> float | None:
        return super().value(str(self._own_spelling(label)))

    def find_option_by_label(self, label: str) -> int:
        return super().find_option_by_label(str(self._own_spelling(label)))

    def _own_spelling(self, label: object) -> object:
        """Return the label of the matching option regardless of case and surrounding spaces, else
        the label unchanged."""
        label = label.value if isinstance(label, ShownEnum) else label
        if self.options is None or label in self.labels or not isinstance(label, str):
            return label
        folded = label.strip().casefold()
        same = (known for known in self.labels if known.strip().casefold() == folded)
        return next(same, label)


def as_given(criterion: core.Criterion) -> core.Criterion:
    """Return a criterion of a rubric as AutoRubric shows it: without a name, its name is None."""
    view = criterion.model_copy(update={"scale_type": criterion.scale_type or "ordinal"})
    if not criterion.is_named:
        view = view.model_copy(update={"name": None})
        view.model_fields_set.discard("name")
    return view


@with_one_line_errors
@dataclass(frozen=True, config=ConfigDict(strict=True, defer_build=True, extra="forbid"))
class LengthPenalty(core.LengthPenalty):
    """The core's length penalty. AutoRubric calls its `count` `count_fn`."""

    count_fn: Callable[[str], int] | None = None

    def __post_init__(self) -> None:
        if self.count_fn is not None:
            object.__setattr__(self, "count", self.count_fn)
        core.LengthPenalty.__post_init__(self)
