"""One criterion of a rubric, and the options of a multi-choice one."""

from __future__ import annotations

import math
from typing import Any, Literal

from pydantic import Field, ValidationInfo, field_validator, model_validator

from rubricate._documents import Document, suggestion
from rubricate.errors import InputError
from rubricate.rubric._kinds import KINDS, Kind, Question, Reading
from rubricate.rubric._verdict import CriterionVerdict, Verdict

__all__ = ["Criterion", "CriterionOption"]


def _present(data: dict[str, Any]) -> dict[str, Any]:
    return {key: value for key, value in data.items() if value is not None}


class CriterionOption(Document):
    """One answer of a multi-choice criterion."""

    label: str
    """What a judge and a label say to choose it."""
    value: float | None = None
    """Its worth, between 0 and 1. Not needed where `na` is true."""
    na: bool = False
    """Whether choosing it means that the criterion does not apply (it then leaves the score)."""
    description: str | None = None
    """What the option means, shown to the judge."""

    @field_validator("label")
    @classmethod
    def _label_is_text(cls, label: str) -> str:
        if not label.strip():
            raise InputError("must not be empty")
        if label.strip().casefold() == CriterionVerdict.CANNOT_ASSESS.casefold():
            raise InputError("CANNOT_ASSESS is always allowed and cannot be an option's label")
        return label

    @model_validator(mode="after")
    def _value_is_a_share(self) -> CriterionOption:
        if self.value is None:
            if not self.na:
                raise InputError(f"the option '{self.label}' needs a value between 0 and 1")
        elif not 0.0 <= self.value <= 1.0:
            raise InputError(
                f"the value of the option '{self.label}' must be between 0 and 1, "
                f"found {self.value}"
            )
        return self

    def to_dict(self) -> dict[str, Any]:
        """The option as it is written to a file."""
        data: dict[str, Any] = {"label": self.label, "value": self.value}
        data["na"] = True if self.na else None
        data["description"] = self.description
        return {**_present(data), **(self.model_extra or {})}


class Criterion(Document):
    """One thing that a submission is judged by.

    Without `options` it is binary (MET, UNMET, CANNOT_ASSESS); with them, multi-choice. A
    negative `weight` makes it a fault: MET then means that the fault is present, and costs.
    """

    name: str | None = None
    """Short name, unique in its rubric. Default: `criterion_N` by position, from 1."""
    weight: float = 1.0
    """Its weight in the score; any finite number, negative for a fault."""
    requirement: str
    """What is required, in words; the judge sees this."""
    kind: Literal["binary", "multi_choice"] | None = None
    """The kind of criterion; need not be given, and must fit `options` if it is."""
    scale_type: Literal["ordinal", "nominal"] | None = None
    """Whether the options of a multi-choice criterion are in order. Default: ordinal."""
    options: tuple[CriterionOption, ...] | None = Field(default=None, strict=False)
    """The options of a multi-choice criterion, at least two of them scorable."""
    tags: tuple[str, ...] = Field(default=(), strict=False)
    """Free labels; the names of the sections that a rubric file puts the criterion in."""

    @field_validator("name", "requirement")
    @classmethod
    def _is_text(cls, text: str | None, info: ValidationInfo) -> str | None:
        if text is not None and not text.strip():
            raise InputError("must not be empty")
        return text

    @field_validator("weight")
    @classmethod
    def _weight_is_finite(cls, weight: float) -> float:
        if not math.isfinite(weight):
            raise InputError(f"must be a finite number, found {weight}")
        return weight

    @model_validator(mode="before")
    @classmethod
    def _kind_is_known(cls, data: Any) -> Any:
        kind = data.get("kind") if isinstance(data, dict) else None
        if isinstance(kind, str) and kind not in KINDS:
            near = suggestion(kind, KINDS)
            hint = f"; did you mean '{near}'?" if near else ""
            raise InputError(f"unknown kind '{kind}' (known: {', '.join(KINDS)}){hint}")
        return data

    @model_validator(mode="after")
    def _options_fit(self) -> Criterion:
        if self.options is None:
            if self.kind == "multi_choice" or self.scale_type is not None:
                raise InputError("a multi-choice criterion needs options")
            return self
        if self.kind == "binary":
            raise InputError("a binary criterion has no options")
        scorable = sum(not option.na for option in self.options)
        if scorable < 2:
            raise InputError(f"options: at least two must be scorable (not na), found {scorable}")
        seen: set[str] = set()
        for option in self.options:
            folded = option.label.strip().casefold()
            if folded in seen:
                raise InputError(f"options: the label '{option.label}' stands twice")
            seen.add(folded)
        return self

    @property
    def is_multi_choice(self) -> bool:
        """Whether the answer is one of several options."""
        return self.options is not None

    @property
    def _kind(self) -> Kind:
        return KINDS["binary" if self.options is None else "multi_choice"]

    def find_option_by_label(self, label: str) -> int:
        """The index in `options` of the option with this label; `InputError` if there is none."""
        if self.options is None:
            raise InputError("the criterion is binary and has no options")
        self._kind.value(self, label)
        return [option.label for option in self.options].index(label)

    def ask(self) -> Question:
        """What a judge is asked about this criterion."""
        return self._kind.ask(self)

    def read(self, answer: object) -> Reading:
        """Understand a judge's answer; `UnreadableReply` if it is not one of those allowed."""
        return self._kind.read(self, answer)

    def value(self, label: str) -> float | None:
        """What an answer is worth, in [0, 1]; None for a binary CANNOT_ASSESS and N/A options.

        Raises:
            InputError: the label is not one of the criterion's answers.
        """
        return self._kind.value(self, str(label))

    @property
    def value_range(self) -> tuple[float, float]:
        """The least and the most that an answer to this criterion can be worth."""
        return self._kind.value_range(self)

    def verdict(self, label: str, *, name: str | None = None) -> Verdict:
        """The verdict that a label stands for, such as one given by a person."""
        value = self.value(label)
        reading = self.read(str(label))
        return Verdict(name or self.name or "", reading.status, reading.label, value)

    def to_dict(self) -> dict[str, Any]:
        """The criterion as it is written to a file."""
        data: dict[str, Any] = {
            "name": self.name,
            "weight": self.weight,
            "requirement": self.requirement,
            "kind": self.kind,
        }
        if self.options is not None:
            data["scale_type"] = self.scale_type
            data["options"] = [option.to_dict() for option in self.options]
        data["tags"] = list(self.tags) or None
        return {**_present(data), **(self.model_extra or {})}
