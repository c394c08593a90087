"""What kinds of metrics there are."""

from __future__ import annotations

from enum import Enum
from typing import Any

from rubricate.judge import JudgeLike

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
