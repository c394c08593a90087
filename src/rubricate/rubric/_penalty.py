"""Length penalties for texts that exceed a budget."""

from __future__ import annotations

import json
import math
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, Literal, NamedTuple, get_args

from rubricate._documents import check_keys, parse_pairs
from rubricate._spelling import unknown_word
from rubricate.errors import InputError

PenaltyType = Literal["ALL", "OUTPUT_ONLY", "THINKING_ONLY"]
"""Which text counts: all of it, the output, or the thinking."""

_TAGGED = re.compile(r"<(think|thinking)>(.*?)</\1>", re.DOTALL | re.IGNORECASE)
_OUTPUT = re.compile(r"<output>(.*?)</output>", re.DOTALL | re.IGNORECASE)
_OPEN = re.compile(r"<(?:think|thinking)>", re.IGNORECASE)


class Parts(NamedTuple):
    """A submission's thinking, which may be empty, and its output."""

    thinking: str
    output: str


class SpokenParts(NamedTuple):
    """The thinking and output of the graded side of a conversation, and the other messages."""

    thinking: str
    output: str
    other: str


def split_thinking(submission: str | Mapping[str, str]) -> Parts:
    """Separate the thinking of a submission from its output.

    Args:
        submission: `{"thinking": ..., "output": ...}` as a dict or as JSON text, or text with
            `<thinking>...</thinking>` (or `<think>`) in it. A tag that is never closed is thinking
            to the end. Any other text is all output; tags `<output>` around it are not.
    """
    if isinstance(submission, str):
        parts = _from_json(submission)
        return parts if parts is not None else _from_tags(submission)
    return Parts(submission.get("thinking", ""), submission.get("output", ""))


def _from_json(text: str) -> Parts | None:
    if not text.lstrip().startswith("{"):
        return None
    try:
        data = json.loads(text)
    except ValueError:
        return None
    if not isinstance(data, dict) or not data or not data.keys() <= {"thinking", "output"}:
        return None
    if not all(isinstance(part, str) for part in data.values()):
        return None
    return Parts(data.get("thinking", ""), data.get("output", ""))


def _from_tags(text: str) -> Parts:
    thoughts = [match.group(2) for match in _TAGGED.finditer(text)]
    rest = _TAGGED.sub("", text)
    if opened := _OPEN.search(rest):
        thoughts.append(rest[opened.end() :])
        rest = rest[: opened.start()]
    return Parts("\n".join(thoughts), _OUTPUT.sub(r"\1", rest))


def count_words(text: str) -> int:
    """The number of words: the pieces between white space."""
    return len(text.split())


@dataclass(frozen=True, slots=True)
class LengthPenalty:
    """A penalty that is subtracted from the score of a text of n words.

    It is 0 up to `free_budget`, `penalty_at_cap` from `max_cap` on, and between them
    `penalty_at_cap * ((n - free_budget) / (max_cap - free_budget)) ** exponent`. The score never
    goes below 0.

    Attributes:
        free_budget: the number of words without a penalty.
        max_cap: the number of words from which the full penalty applies.
        penalty_at_cap: the full penalty, from 0 to 1.
        exponent: the growth in between: 1 is linear, above 1 is slow at first.
        penalty_type: which text counts: `ALL`, `OUTPUT_ONLY` or `THINKING_ONLY`.
        count: a function to measure a text instead of counting words, such as a tokenizer.

    Raises:
        InputError: the cap is not above the budget, or a number is out of its range.
    """

    free_budget: int = 6000
    max_cap: int = 8000
    penalty_at_cap: float = 0.5
    exponent: float = 1.6
    penalty_type: PenaltyType = "ALL"
    count: Callable[[str], int] = count_words

    def __post_init__(self) -> None:
        if self.free_budget < 0:
            raise InputError(f"free_budget must not be below 0, found {self.free_budget}")
        if self.max_cap <= self.free_budget:
            raise InputError(
                f"max_cap must be above free_budget, found {self.max_cap} and {self.free_budget}"
            )
        if not 0.0 <= self.penalty_at_cap <= 1.0:
            raise InputError(f"penalty_at_cap must be from 0 to 1, found {self.penalty_at_cap}")
        if not (math.isfinite(self.exponent) and self.exponent > 0):
            raise InputError(f"exponent must be a number above 0, found {self.exponent}")
        known = get_args(PenaltyType)
        if self.penalty_type not in known:
            raise InputError(unknown_word("penalty_type", self.penalty_type, known))

    @classmethod
    def from_dict(cls, data: object) -> LengthPenalty:
        """A penalty from loaded JSON or YAML, with the attributes' names as keys.

        Args:
            data: what was loaded.

        Raises:
            InputError: an unknown key, or a value that cannot be used.
        """
        if not isinstance(data, Mapping):
            raise InputError(f"expected keys such as free_budget, found {type(data).__name__}")
        check_keys(data, _FIELDS)
        for key, value in data.items():
            if key not in _FIELDS:
                raise InputError(f"unknown key '{key}' (known: {', '.join(_FIELDS)})")
            if isinstance(value, bool) or not isinstance(value, _FIELDS[key]):
                raise InputError(f"{key} cannot be {value!r}")
        return cls(**data)

    @classmethod
    def parse(cls, settings: str | Mapping[str, object]) -> LengthPenalty:
        """A penalty from text such as `free_budget=6000,max_cap=8000`, or loaded YAML.

        Args:
            settings: such a text, or a mapping.

        Raises:
            InputError: as for `from_dict`, or a pair has another form.
        """
        if isinstance(settings, str):
            settings = parse_pairs(settings, "free_budget=6000")
        return cls.from_dict(settings)

    def to_dict(self) -> dict[str, Any]:
        """The settings as JSON values, with the name of a custom `count`."""
        settings: dict[str, Any] = {name: getattr(self, name) for name in _FIELDS}
        if self.count is not count_words:
            settings["count"] = getattr(self.count, "__qualname__", type(self.count).__name__)
        return settings

    def of(self, submission: str | Parts | SpokenParts) -> float:
        """The penalty for a submission, from 0 to `penalty_at_cap`."""
        return self.at(self.length(submission))

    def length(self, submission: str | Parts | SpokenParts) -> int:
        """The length of the part that counts. A text is split by `split_thinking`.

        Args:
            submission: a text, or its parts.

        Returns:
            The number of words, or the result of `count`.
        """
        parts = (
            submission
            if isinstance(submission, Parts | SpokenParts)
            else split_thinking(submission)
        )
        if self.penalty_type == "ALL":  # keys and tags around the parts do not count
            return self.count("\n".join(part for part in parts if part))
        return self.count(parts.output if self.penalty_type == "OUTPUT_ONLY" else parts.thinking)

    def at(self, length: int) -> float:
        """The penalty for a length.

        Args:
            length: the result of `length`.

        Returns:
            From 0 to `penalty_at_cap`.
        """
        beyond = (length - self.free_budget) / (self.max_cap - self.free_budget)
        return self.penalty_at_cap * math.pow(min(1.0, max(0.0, beyond)), self.exponent)


_FIELDS: dict[str, tuple[type, ...]] = {
    "free_budget": (int,),
    "max_cap": (int,),
    "penalty_at_cap": (int, float),
    "exponent": (int, float),
    "penalty_type": (str,),
}
