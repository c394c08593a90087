"""Answer templates, and the base class of this dialect's documents.

A template says what to extract from an answer, and which values make it correct. It is data: code
compares the values, and nothing in a template is ever executed.
"""

from __future__ import annotations

import math
import re
import reprlib
import unicodedata
from typing import Annotated, Any, ClassVar, Literal

from pydantic import AfterValidator, Field, Strict, ValidationError, model_validator

from rubricate._documents import Document, input_error
from rubricate.errors import InputError, UnreadableReply
from rubricate.rubric import ABSTENTION, Criterion, Question, Reading, closed_object, read_object

CORRECTNESS = "answer template"
"""The name of a template's criterion among the criteria of an answer."""
Comparison = Literal["exact", "normalized", "number", "boolean", "set"]
_STRIPPED = ".,;:!?'\"()[]“”‘’"


def _not_blank(text: str) -> str:
    if not text.strip():
        raise InputError("must not be empty")
    return text


Name = Annotated[str, AfterValidator(_not_blank)]
"""Text that is not blank."""


class SettingsDocument(Document):
    """Named settings.

    Unknown settings must be off (False, None, empty, "disabled"): they are kept and have no effect.
    One that is on is an error, because it would be ignored.

    Raises:
        InputError: a value cannot be used. The message is one line with the name of the object.
    """

    kept: ClassVar[tuple[str, ...]] = ()
    """Prefixes of further settings that may be on in a file without an error."""

    def __init__(self, **data: Any) -> None:
        try:
            super().__init__(**data)
        except ValidationError as error:
            name = data.get("name", data.get("id"))
            kind = type(self).__name__
            raise input_error(error, (f"{kind} '{name}'" if name else kind,)) from None

    @model_validator(mode="after")
    def _unknown_settings_are_off(self) -> SettingsDocument:
        for name, value in (self.model_extra or {}).items():
            if value and value != "disabled" and not name.startswith(self.kept):
                raise InputError(f"there is no setting '{name}' here: leave it out")
        return self


class TemplateField(SettingsDocument):
    """A value to extract from an answer."""

    name: Name
    """Its name, unique in the template."""
    description: str = ""
    """What to extract, in words; must not reveal the expected value."""
    comparison: Comparison
    """How values are compared, which also determines their type: `exact` (text, character for
    character), `normalized` (text, ignoring case, spaces, hyphens and surrounding punctuation),
    `number`, `boolean`, or `set` (texts in any order, each compared as `normalized`)."""
    expected: Any
    """The correct value: text, a number, true or false, or a list of texts."""
    also_accepted: tuple[str, ...] = Field(default=(), strict=False)
    """Other correct values of a text."""
    tolerance: float = Field(default=0.0, ge=0, allow_inf_nan=False, strict=False)
    """The largest absolute difference between a number and the expected one."""

    @model_validator(mode="before")
    @classmethod
    def _expected_fits(cls, data: Any) -> Any:
        if not isinstance(data, dict) or "expected" not in data:
            return data
        comparison, expected = data.get("comparison"), data["expected"]
        problem = {
            "exact": not (isinstance(expected, str) and expected.strip()) and "text",
            "normalized": not (isinstance(expected, str) and _normalized(expected)) and "text",
            "number": (isinstance(expected, str) or _number(expected) is None) and "a number",
            "boolean": not isinstance(expected, bool) and "true or false",
            "set": not _is_set(expected) and "a list of texts",
        }.get(str(comparison))
        if problem:
            shown = reprlib.repr(expected)
            raise InputError(f"expected: must be {problem} for '{comparison}', found {shown}")
        if isinstance(expected, list):
            return {**data, "expected": tuple(expected)}
        return data

    @model_validator(mode="after")
    def _settings_fit(self) -> TemplateField:
        if self.tolerance and self.comparison != "number":
            raise InputError("tolerance: only allowed for the comparison 'number'")
        if self.also_accepted and self.comparison not in ("exact", "normalized"):
            raise InputError(
                "also_accepted: only allowed for the comparisons 'exact' and 'normalized'"
            )
        return self

    @property
    def schema_of_value(self) -> dict[str, Any]:
        """Return the JSON Schema of the extracted value; it is null if the answer does not say."""
        types: dict[str, dict[str, Any]] = {
            "number": {"type": "number"},
            "boolean": {"type": "boolean"},
            "set": {"type": "array", "items": {"type": "string"}},
        }
        return {"anyOf": [types.get(self.comparison, {"type": "string"}), {"type": "null"}]}

    def read(self, value: object) -> Any:
        """Convert an extracted value to its type; None if the answer does not say.

        Raises:
            UnreadableReply: it has another type.
        """
        if value is None:
            return None
        read = {"number": _number, "boolean": _truth, "set": _texts}.get(self.comparison, _text)
        result = read(value)
        if result is None:
            raise UnreadableReply(
                f"'{self.name}' is {reprlib.repr(value)}, not {_NAMES[self.comparison]} or null"
            )
        return result

    def matches(self, value: Any) -> bool:
        """Whether a value returned by `read` is correct."""
        if value is None:
            return False
        if self.comparison == "number":
            return bool(abs(value - self.expected) <= self.tolerance)
        if self.comparison == "boolean":
            return bool(value == self.expected)
        if self.comparison == "set":
            return set(map(_normalized, value)) == set(map(_normalized, self.expected))
        accepted = (self.expected, *self.also_accepted)
        if self.comparison == "exact":
            return value in {text.strip() for text in accepted}
        return _normalized(value) in set(map(_normalized, accepted))

    def to_dict(self) -> dict[str, Any]:
        """Return the field as it is written to a file."""
        data = self.model_dump(mode="json")
        return {key: value for key, value in data.items() if key not in _OPTIONAL or value}


_OPTIONAL = ("also_accepted", "tolerance")
"""Fields that are only written to a file if they are set."""


class Template(SettingsDocument):
    """What to extract from an answer, which is correct if every field is.

    Template(fields=[TemplateField(name="count", comparison="number", expected=46)])
    """

    fields: tuple[Annotated[TemplateField, Strict(False)], ...] = Field(strict=False)
    """The values to extract, at least one."""

    @model_validator(mode="after")
    def _fields_differ(self) -> Template:
        if not self.fields:
            raise InputError("a template needs at least one field, found none")
        seen: set[str] = set()
        for field in self.fields:
            if field.name in seen:
                raise InputError(f"two fields have the name '{field.name}'")
            seen.add(field.name)
        return self

    def to_dict(self) -> dict[str, Any]:
        """Return the template as it is written to a file."""
        fields = [field.to_dict() for field in self.fields]
        return {"fields": fields, **(self.model_extra or {})}


class Correctness(Criterion):
    """Whether an answer is correct by a template: a judge extracts values, and code compares them.

    The judge does not see the expected values.
    """

    requirement: str = "What the submission gives as its answer, whether that is right or wrong."
    template: Template

    def ask(self) -> Question:
        fields = self.template.fields
        lines = [f"- {f.name} ({_NAMES[f.comparison]}): {f.description or f.name}" for f in fields]
        schema = closed_object({field.name: field.schema_of_value for field in fields})
        return Question(
            self.requirement,
            (),
            {"anyOf": [schema, {"type": "string", "enum": [ABSTENTION]}]},
            "The verdict is an object with the fields above. Give what the submission itself says, "
            "also where it is wrong; null where it does not say, or does not commit itself. Do not "
            "add from what you know.",
            "Fields:\n" + "\n".join(lines),
        )

    def read(self, answer: object) -> Reading:
        """Read the extracted values, and compare them.

        Raises:
            UnreadableReply: a field is missing or has another type.
        """
        values = read_object(answer)
        if values is None:
            return Reading(ABSTENTION)
        result: dict[str, Any] = {}
        detail: dict[str, Any] = {}
        for field in self.template.fields:
            if field.name not in values:
                raise UnreadableReply(f"the verdict lacks '{field.name}'")
            result[field.name] = value = field.read(values[field.name])
            expected = field.to_dict()["expected"]
            right = field.matches(value)
            detail[field.name] = {"extracted": value, "expected": expected, "right": right}
        label = "correct" if all(entry["right"] for entry in detail.values()) else "incorrect"
        return Reading(label, (), {"fields": detail}, result)

    @property
    def labels(self) -> tuple[str, ...]:
        return ("correct", "incorrect")

    def value(self, label: str) -> float | None:
        return {"correct": 1.0, "incorrect": 0.0}.get(str(label))

    def _own_fields(self) -> dict[str, Any]:
        return {"template": self.template.to_dict()}


_NAMES = {
    "exact": "text",
    "normalized": "text",
    "number": "a number",
    "boolean": "true or false",
    "set": "a list of texts",
}


def _normalized(text: str) -> str:
    """Normalize a text, so that two spellings of the same thing are equal."""
    folded = unicodedata.normalize("NFKC", text).casefold()
    return re.sub(r"[\s\-\u2010-\u2015\u2212]+", "", folded).strip(_STRIPPED)


def _text(value: object) -> str | None:
    if isinstance(value, bool):
        return None
    if isinstance(value, int | float):
        return f"{value:.15g}" if isinstance(value, float) else str(value)
    return value.strip() if isinstance(value, str) else None


def _number(value: object) -> float | None:
    if isinstance(value, bool) or not isinstance(value, int | float | str):
        return None
    try:
        number = float(value)
    except (ValueError, OverflowError):
        return None
    return number if math.isfinite(number) else None


def _truth(value: object) -> bool | None:
    return value if isinstance(value, bool) else None


def _texts(value: object) -> list[str] | None:
    if not isinstance(value, list | tuple):
        return None
    texts = [_text(entry) for entry in value]
    return [text for text in texts if text is not None] if None not in texts else None


def _is_set(value: object) -> bool:
    return isinstance(value, list | tuple) and all(isinstance(entry, str) for entry in value)
