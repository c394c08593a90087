"""Criteria answered with a whole number between two bounds."""

from __future__ import annotations

import math
import re
import reprlib
from collections.abc import Mapping, Sequence
from itertools import islice
from typing import Any, ClassVar, Literal

from pydantic import model_validator

from rubricate.errors import InputError, UnreadableReply
from rubricate.rubric._criterion import Criterion, Measurement, with_bounds
from rubricate.rubric._question import ABSTENTION, Answer, Question, Reading

LISTED = 21
"""The most levels that are all shown to the judge; of longer scales only described ones are."""
WIDEST = 10**9 - 1
"""Largest absolute value of a bound: nine digits, the longest number that is read."""


class ScaleCriterion(Criterion):
    """A criterion judged by degree: a whole number from `low` to `high`.

    Its value is `(score - low) / (high - low)`, or 1 minus that where lower is better. In a file,
    `scale: 5` and `scale: [1, 5]` also give the bounds.
    """

    telltale: ClassVar[Sequence[str]] = (
        "scale",
        "score_range",
        "min_score",
        "max_score",
        "higher_is_better",
    )
    written: ClassVar[str] = "whose bounds are low and high, or levels"
    own_fields: ClassVar[Sequence[str]] = ("low", "high", "levels", "higher_is_better")
    always_written: ClassVar[Sequence[str]] = ("low", "high")
    kind: Literal["scale"] = "scale"
    low: int = 1
    """The lowest score. Default: the lowest of `levels`, else 1."""
    high: int = 5
    """The highest score. Default: the highest of `levels`, else 5."""
    levels: dict[int, str] | None = None
    """The meaning of the scores for the judge: all of them, or the lowest and the highest.

    A dict by score, or a list from the lowest up.
    """
    higher_is_better: bool = True
    """Whether the highest score has the value 1 (else the lowest has)."""

    @model_validator(mode="before")
    @classmethod
    def _levels_by_score(cls, data: Any) -> Any:
        if isinstance(data, Mapping) and "scale" in data:
            data = with_bounds(data)
        if not isinstance(data, Mapping) or data.get("levels") is None:
            return data
        data = dict(data)
        levels = data["levels"]
        if isinstance(levels, Mapping):
            scores = [_level(key) for key in levels]
            if len(set(scores)) < len(scores):
                twice = next(score for score in scores if scores.count(score) > 1)
                raise InputError(f"levels: {twice} is defined twice")
            data["levels"] = levels = dict(zip(scores, levels.values(), strict=True))
        elif isinstance(levels, Sequence) and not isinstance(levels, str):
            low = data.get("low", 1)
            if isinstance(low, int):
                data["levels"] = levels = dict(enumerate(levels, start=low))
        if isinstance(levels, Mapping) and levels:
            data.setdefault("low", min(levels))
            data.setdefault("high", max(levels))
        return data

    @model_validator(mode="after")
    def _bounds_and_levels_fit(self) -> ScaleCriterion:
        for other, right in (("min", "low"), ("max", "high")):
            if other in (self.model_extra or {}):
                raise InputError(f"unknown key '{other}': did you mean '{right}'?")
        for bound in (self.low, self.high):
            if abs(bound) > WIDEST:
                raise InputError(f"low and high must be within ±{WIDEST}, found {bound}")
        if self.low >= self.high:
            raise InputError(
                f"low must be less than high, found {self.low} and {self.high}; where a low "
                "score is the good one, add higher_is_better: false"
            )
        if self.levels is None:
            return self
        for score, text in self.levels.items():
            if not self.low <= score <= self.high:
                raise InputError(
                    f"levels: {score} is not between {self.low} and {self.high}, the scale's bounds"
                )
            if not text.strip():
                raise InputError(f"levels: the description of {score} is empty")
        lacking = self.high - self.low + 1 - len(self.levels)
        if lacking and set(self.levels) != {self.low, self.high}:
            undescribed = (s for s in range(self.low, self.high + 1) if s not in self.levels)
            shown = ", ".join(map(str, islice(undescribed, 5))) + (", ..." if lacking > 5 else "")
            raise InputError(
                f"levels: {shown} is not described; describe every score from {self.low} to "
                f"{self.high}, or only the lowest and the highest"
            )
        return self

    @property
    def measurement(self) -> Measurement:
        return "ordinal"

    @property
    def labels(self) -> tuple[str, ...]:
        """The scores as text, from the lowest; empty if there are too many to list."""
        if self.high - self.low >= LISTED:
            return ()
        return tuple(str(score) for score in range(self.low, self.high + 1))

    def ask(self) -> Question:
        described = self.levels or {}
        shown = self.labels or [str(score) for score in sorted(described)]
        cannot = Answer(ABSTENTION, "the material does not allow a decision")
        schema: dict[str, Any] = {"type": "string", "enum": [*self.labels, ABSTENTION]}
        if not self.labels:
            number = {"type": "integer", "minimum": self.low, "maximum": self.high}
            schema = {"anyOf": [number, {"type": "string", "enum": [ABSTENTION]}]}
        return Question(
            self.requirement,
            (*(Answer(label, described.get(int(label))) for label in shown), cannot),
            schema,
            f"The verdict is one whole number from {self.low} to {self.high}, or {ABSTENTION}.",
        )

    def read(self, answer: object) -> Reading:
        """Read a whole number, also as text; anything else is unreadable."""
        if isinstance(answer, str) and answer.strip().casefold() == ABSTENTION.casefold():
            return Reading(ABSTENTION)
        if (score := self._score(answer)) is None:
            raise UnreadableReply(
                f"the verdict {reprlib.repr(answer)} is not a whole number from {self.low} to "
                f"{self.high}, nor {ABSTENTION}"
            )
        return Reading(str(score))

    def value(self, label: str) -> float | None:
        if (score := self._score(label)) is None:
            raise InputError(f"'{label}' is not a whole number from {self.low} to {self.high}")
        share = (score - self.low) / (self.high - self.low)
        return share if self.higher_is_better else 1.0 - share

    def _score(self, answer: object) -> int | None:
        """The score in an answer; None for anything else."""
        score = _whole(answer)
        return score if score is not None and self.low <= score <= self.high else None

    def must_quote(self, label: str) -> bool:
        return label != str(self.low)

    @property
    def has_steps(self) -> bool:
        return True

    def step(self, label: str, value: float) -> float:
        share = value if self.higher_is_better else 1.0 - value
        return round(self.low + share * (self.high - self.low), 9)

    def nearest_label(self, value: float) -> str:
        share = value if self.higher_is_better else 1.0 - value
        score = round(self.low + share * (self.high - self.low), 9)
        lower_is_less = (self.weight < 0) != self.higher_is_better
        return str(math.ceil(score - 0.5) if lower_is_less else math.floor(score + 0.5))

    def label_of(self, label: object) -> str:
        if label == ABSTENTION:
            return ABSTENTION
        if (score := self._score(label)) is None:
            raise InputError(
                f"has no label {label!r}; allowed: whole numbers from {self.low} to {self.high}"
            )
        return str(score)


def _whole(value: object) -> int | None:
    """A whole number, also as text; None for anything else."""
    if isinstance(value, bool):
        return None
    if isinstance(value, int):
        return int(value)
    if isinstance(value, float) and value.is_integer():
        return int(value)
    if isinstance(value, str) and (match := re.fullmatch(r"\s*([+-]?[0-9]{1,9})(\.0*)?\s*", value)):
        return int(match.group(1))
    return None


def _level(key: Any) -> Any:
    """A level's score: in JSON, keys are text."""
    score = _whole(key)
    if score is None:
        raise InputError(f"levels: '{key}' is not a whole number")
    return score
