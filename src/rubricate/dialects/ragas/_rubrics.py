"""Kinds of metrics, and rubrics as dicts of level descriptions: check, scale, text in a prompt."""

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
"""Who judges: what `JudgeLike` says, or a LangChain chat model."""


class MetricType(Enum):
    """What a metric scores."""

    SINGLE_TURN = "single_turn"
    MULTI_TURN = "multi_turn"


class MetricOutputType(Enum):
    """What a score is."""

    BINARY = "binary"
    """True for the upper of two levels, else False."""
    DISCRETE = "discrete"
    """The level's number, an int."""
    CONTINUOUS = "continuous"
    """The level's number as a float."""
    RANKING = "ranking"
    """A place among others; no rubric gives one."""


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
"""Accuracy, clarity and thoroughness with regard to the user's input alone."""

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
"""The most levels of a scale whose middle ones need no description. A wider scale (0 to 1000) keeps
only the levels that are described."""
_REQUIREMENT = "The score that the levels below describe best."


def check_rubrics(rubrics: Any) -> dict[str, str]:
    """A rubric with its keys as text.

    A key has the level's number: `score1_description`, `level 2`, `0`, `-1`. The scale goes from
    the lowest number to the highest; a level between them that has no description may be given too.

    Raises:
        InputError: a key has no number, several, or one that may be negative or not, two have the
            same one, there are fewer than two levels, or a description is not text.
    """
    check_type(rubrics, Mapping, "a dict such as {'score1_description': ...}")
    scale_of(rubrics)
    return {str(key): text for key, text in rubrics.items()}


def scale_of(rubrics: Mapping[Any, str], name: str | None = None) -> ScaleCriterion:
    """The criterion of a rubric; `InputError` as for `check_rubrics`."""
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
    """All levels; one without a description is between its neighbours."""
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
    """The rubric in a prompt: a line `key: description` for each level."""
    return "\n".join(f"{key}: {text}" for key, text in rubrics.items())
