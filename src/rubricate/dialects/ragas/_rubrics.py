"""Kinds of metrics, and rubrics as dicts of level descriptions."""

from __future__ import annotations

import re
from collections.abc import Mapping
from enum import Enum
from itertools import pairwise
from typing import Any

from rubricate._documents import validate
from rubricate.errors import InputError, check_type
from rubricate.judge import JudgeLike
from rubricate.rubric import ScaleCriterion

Llm = JudgeLike | Any
"""A judge as in `JudgeLike`, or a LangChain chat model."""


class MetricType(Enum):
    """The kind of samples that a metric scores."""

    SINGLE_TURN = "single_turn"
    MULTI_TURN = "multi_turn"


class MetricOutputType(Enum):
    """The type of a score."""

    BINARY = "binary"
    """True for the upper of two levels, False for the lower one."""
    DISCRETE = "discrete"
    """The number of the level as an int."""
    CONTINUOUS = "continuous"
    """The number of the level as a float."""
    RANKING = "ranking"
    """A rank among others, which rubrics do not support."""


DEFAULT_REFERENCE_FREE_RUBRICS: dict[str, str] = {
    "score1_description": "The response is entirely incorrect, or has nothing to do with what "
    "the user asked.",
    "score2_description": "The response has some correct parts, but major errors or gaps leave "
    "the user misinformed or without an answer.",
    "score3_description": "The response is correct in the main, but is unclear in places, has "
    "smaller errors, or leaves out things that matter.",
    "score4_description": "The response is accurate and clear; only details are missing or could "
    "be put better.",
    "score5_description": "The response is completely accurate and clear, and answers all that "
    "the user asked thoroughly.",
}
"""Accuracy, clarity and thoroughness, with regard to the user's input only."""

DEFAULT_WITH_REFERENCE_RUBRICS: dict[str, str] = {
    "score1_description": "The response is entirely incorrect, or irrelevant to the reference "
    "answer.",
    "score2_description": "The response agrees with the reference answer in a few points, but "
    "contradicts or misses most of it.",
    "score3_description": "The response agrees with the reference answer in the main, but some of "
    "its points are missing or wrong.",
    "score4_description": "The response agrees with the reference answer; only minor points are "
    "missing or differ.",
    "score5_description": "The response is fully accurate and says everything that the reference "
    "answer says, without contradicting it anywhere.",
}
"""Agreement with a reference answer."""

_WHOLE = re.compile(r"\s*[+-]?\d{1,9}\s*")
_SIGNED = re.compile(r"[-\u2212]\s*([0-9]{1,9})")
MOST_LEVELS = 100
"""The largest scale whose middle levels need no description. Wider scales (0 to 1000) only have the
levels that are described."""
_REQUIREMENT = "The score that the levels below describe best."


def check_rubrics(rubrics: Any) -> dict[str, str]:
    """Check a rubric, and return it with text as keys.

    Keys contain the number of the level: `score1_description`, `level 2`, `0`, `-1`. The scale goes
    from the lowest number to the highest; a judge may also choose levels in between that have no
    description.

    Raises:
        InputError: a key has no number, several numbers, or one whose sign is ambiguous; two keys
            have the same number; there are fewer than two levels; or a description is not text.
    """
    check_type(rubrics, Mapping, "a dict such as {'score1_description': ...}")
    scale_of(rubrics)
    return {str(key): text for key, text in rubrics.items()}


def scale_of(rubrics: Mapping[Any, str], name: str | None = None) -> ScaleCriterion:
    """Create the criterion of a rubric; raises `InputError` like `check_rubrics`."""
    levels: dict[int, str] = {}
    keys: dict[int, Any] = {}
    for key, text in rubrics.items():
        level = _level(key)
        if level in levels:
            raise InputError(f"'{keys[level]}' and '{key}' are both level {level}")
        levels[level], keys[level] = text, key
    if len(levels) < 2:
        raise InputError(f"at least two levels are needed, found {len(levels)}")
    if 2 < len(levels) < max(levels) - min(levels) + 1 <= MOST_LEVELS:
        levels = _with_those_between(levels)
    data = {"name": name, "requirement": _REQUIREMENT, "levels": levels}
    return validate(ScaleCriterion, data)


def _with_those_between(levels: Mapping[int, str]) -> dict[int, str]:
    """Return all levels; those without a description are described as between their neighbours."""
    known = sorted(levels)
    whole = dict(levels)
    for low, high in pairwise(known):
        for level in range(low + 1, high):
            whole[level] = f"Between level {low} and level {high}."
    return dict(sorted(whole.items()))


def _level(key: Any) -> int:
    if isinstance(key, int) and not isinstance(key, bool):
        return key
    if not isinstance(key, str):
        raise InputError(f"keys must be text, found {key!r}")
    if _WHOLE.fullmatch(key):
        return int(key)
    if sign := _SIGNED.search(key):
        raise InputError(
            f"the key '{key}' may mean {sign[1]} or -{sign[1]}; name its level, such as "
            "'score1_description' or '-1'"
        )
    numbers = re.findall(r"[0-9]{1,9}", key)
    if len(numbers) != 1:
        problem = "has several numbers" if numbers else "has no number"
        raise InputError(f"the key '{key}' {problem}; name its level, such as 'score1_description'")
    return int(numbers[0])


def rubric_lines(rubrics: Mapping[str, str]) -> str:
    """Format a rubric for a prompt, with a line `key: description` for each level."""
    return "\n".join(f"{key}: {text}" for key, text in rubrics.items())
