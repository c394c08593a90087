"""Traits that a Python function decides: given in Python, never taken from a file."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping
from typing import Any, ClassVar, Literal, Self

from pydantic import Field, field_validator, model_validator

from rubricate._documents import validate
from rubricate.dialects.karenina._traits import (
    Trait,
    TraitKind,
    check_classes,
    without_bounds_of_classes,
)
from rubricate.errors import InputError, UnreadableReply
from rubricate.rubric import CodeCriterion, Criterion, Reading


class CallableRubricTrait(Trait):
    """What a function finds in the answer's text; no model is asked.

    CallableRubricTrait.from_callable("Short", lambda text: len(text.split()) < 150, kind="boolean")
    """

    kept: ClassVar[frozenset[str]] = Trait.kept | {"callable_code"}

    func: Callable[[str], Any]
    """The function: from the text to True or False, a number, or a class's name."""
    kind: Literal["boolean", "binary", "score", "literal"]
    """What it gives: `boolean` (also `binary`), a `score` between two bounds, or `literal`."""
    min_score: int | None = None
    """The lowest score; `score` needs it."""
    max_score: int | None = None
    """The highest score; `score` needs it."""
    classes: Mapping[str, str] | None = Field(default=None, strict=False)
    """For `literal`, what each class means, by its name; the worst first."""
    invert_result: bool = False
    """Whether True is turned to False and the other way round; for `boolean`."""

    @classmethod
    def from_callable(cls, name: str, func: Callable[[str], Any], **settings: Any) -> Self:
        """A trait of a function.

        Args:
            name: the trait's name.
            func: the function; it takes the answer's text.
            settings: `kind`, and the other fields by name.

        Raises:
            InputError: a setting cannot be used.
        """
        return cls(name=name, func=func, **settings)

    @field_validator("kind", mode="before")
    @classmethod
    def _kind_by_either_name(cls, kind: object) -> object:
        return "boolean" if kind == "binary" else kind

    @field_validator("func")
    @classmethod
    def _takes_the_text(cls, func: Callable[[str], Any]) -> Callable[[str], Any]:
        try:
            inspect.signature(func).bind("text")
        except TypeError as error:
            raise InputError(f"must take one argument, the answer's text: {error}") from None
        except ValueError:  # a builtin that does not say what it takes
            pass
        return func

    @model_validator(mode="before")
    @classmethod
    def _bounds_of_classes_are_theirs(cls, data: Any) -> Any:
        return without_bounds_of_classes(data) if isinstance(data, dict) else data

    @property
    def outcome(self) -> TraitKind:
        return "callable"

    @property
    def class_names(self) -> tuple[str, ...]:
        return tuple(self.classes or ())

    def evaluate(self, text: str) -> bool | int | float:
        """What the function finds in a text: True or False, its score, or its class's index.

        Raises:
            InputError: it gave something else; what the function raises is passed on.
        """
        criterion = self.criterion()
        assert isinstance(criterion, CallableCriterion)
        try:
            return outcome_of(criterion.read(self.func(text)).label, self.class_names)
        except UnreadableReply as error:
            raise InputError(f"the trait '{self.name}': {error}") from None

    def criterion(self) -> Criterion:
        check_classes(self.kind, self.classes)
        if self.invert_result and self.kind != "boolean":
            raise InputError("invert_result goes with kind='boolean'")
        bounds = (self.min_score, self.max_score)
        if self.kind != "score" and bounds != (None, None):
            raise InputError("min_score and max_score go with kind='score'")
        if self.kind == "score" and (None in bounds or bounds[0] >= bounds[1]):  # type: ignore[operator]
            raise InputError(f"kind='score' needs min_score below max_score, found {bounds}")
        of_boolean = self.kind == "boolean"
        fields = {
            "function": self.func,
            "gives": self.kind,
            "bounds": bounds if self.kind == "score" else (0, max(1, len(self.class_names) - 1)),
            "class_names": self.class_names,
            "turned": self.invert_result if of_boolean else self.higher_is_better is False,
        }
        return validate(CallableCriterion, {**self._common(turned=not of_boolean), **fields})


class CallableCriterion(CodeCriterion):
    """What a function of the text gives, as its trait says how to read it."""

    gives: Literal["boolean", "score", "literal"]
    """What the function gives."""
    bounds: tuple[int, int]
    """The lowest and the highest score."""
    class_names: tuple[str, ...] = ()
    """The classes, in their order."""
    turned: bool = False
    """Whether True is False and the other way round, or the lowest score is the best."""

    def compute(self, submission: str, item: object = None) -> Any:
        return self.resolved()(submission)

    def read(self, answer: object) -> Reading:
        """Understand what the function gave."""
        if self.gives == "boolean":
            if not isinstance(answer, bool):
                raise UnreadableReply(f"the function gave {answer!r}, not True or False")
            return Reading("judged", "UNMET" if answer is self.turned else "MET")
        if self.gives == "literal":
            if answer not in self.class_names:
                known = ", ".join(self.class_names)
                raise UnreadableReply(f"the function gave {answer!r}, not one of {known}")
            return Reading("judged", str(answer))
        low, high = self.bounds
        number = isinstance(answer, int | float) and not isinstance(answer, bool)
        if not number or not low <= answer <= high:  # type: ignore[operator]
            raise UnreadableReply(
                f"the function gave {answer!r}, not a number from {low} to {high}"
            )
        exact = int(answer) if isinstance(answer, int) else float(answer)  # type: ignore[arg-type]
        return Reading("judged", repr(exact))

    def identity(self) -> object:
        return [super().identity(), self.gives, self.gives == "boolean" and self.turned]

    def value(self, label: str) -> float | None:
        if self.gives == "boolean":
            return super().value(label)
        low, high = self.bounds
        share = (outcome_of(label, self.class_names) - low) / (high - low)
        return 1.0 - share if self.turned else share

    def _own_fields(self) -> dict[str, Any]:
        return {**super()._own_fields(), "gives": self.gives, "bounds": list(self.bounds)}


def outcome_of(label: str, class_names: tuple[str, ...]) -> bool | int | float:
    """What a callable trait's label stands for: a class's index, True or False, or a score."""
    if label in class_names:
        return class_names.index(label)
    if label in ("MET", "UNMET"):
        return label == "MET"
    return float(label) if any(mark in label for mark in ".en") else int(label)
