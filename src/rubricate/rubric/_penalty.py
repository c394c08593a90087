"""What length costs: a penalty on texts that go on beyond a budget."""

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
"""Which text counts: all of it, what it says, or what it thinks."""

_TAGGED = re.compile(r"<(think|thinking)>(.*?)</\1>", re.DOTALL | re.IGNORECASE)
_OUTPUT = re.compile(r"<output>(.*?)</output>", re.DOTALL | re.IGNORECASE)
_OPEN = re.compile(r"<(?:think|thinking)>", re.IGNORECASE)


class Parts(NamedTuple):
    """A submission's thinking and its output; the thinking is empty where there is none."""

    thinking: str
    output: str


class SpokenParts(NamedTuple):
    """What the graded side of a conversation thinks and says, and what the others say."""

    thinking: str
    output: str
    other: str


def split_thinking(submission: str | Mapping[str, str]) -> Parts:
    """Tell what a submission thinks from what it says.

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
    """What is subtracted from the score of a text of n words.

    Nothing up to `free_budget`, `penalty_at_cap` from `max_cap` on, and between them
    `penalty_at_cap * ((n - free_budget) / (max_cap - free_budget)) ** exponent`. The score never
    goes below 0.

    Attributes:
        free_budget: the most words that cost nothing.
        max_cap: the words from which the whole penalty is due.
        penalty_at_cap: the whole penalty, from 0 to 1.
        exponent: how it grows: 1 evenly, above 1 slowly at first.
        penalty_type: which text counts: `ALL`, `OUTPUT_ONLY` or `THINKING_ONLY`.
        count: what counts a text in place of words, such as a tokenizer.

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
        """The settings as JSON values; what counts, where that is not words, by its name."""
        settings: dict[str, Any] = {name: getattr(self, name) for name in _FIELDS}
        if self.count is not count_words:
            settings["count"] = getattr(self.count, "__qualname__", type(self.count).__name__)
        return settings

    def of(self, submission: str | Parts | SpokenParts) -> float:
        """The penalty for a submission, from 0 to `penalty_at_cap`."""
        return self.at(self.length(submission))

    def length(self, submission: str | Parts | SpokenParts) -> int:
        """How long the text that counts is; of a text, as `split_thinking` takes it apart.

        Args:
            submission: a text, or its parts.

        Returns:
            How many of what `count` counts (words), 0 or more.
        """
        parts = (
            submission
            if isinstance(submission, Parts | SpokenParts)
            else split_thinking(submission)
        )
        if self.penalty_type == "ALL":  # the keys and tags around the parts are nobody's words
            return self.count("\n".join(part for part in parts if part))
        return self.count(parts.output if self.penalty_type == "OUTPUT_ONLY" else parts.thinking)

    def at(self, length: int) -> float:
        """The penalty for a length.

        Args:
            length: as `length` gives it.

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
