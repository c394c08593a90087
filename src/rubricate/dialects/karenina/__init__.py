"""Karenina's names: `karenina` becomes `rubricate.dialects.karenina` in import lines.

A benchmark has questions with right answers. Models answer them, and models judge the answers: by
templates (is it correct?) and by rubrics of traits (how good is it?), all through rubricate's own
engine.
"""

from typing import TYPE_CHECKING

from rubricate.dialects._missing import missing
from rubricate.dialects.karenina._benchmark import Benchmark
from rubricate.dialects.karenina._task import TaskEval

__all__ = ["Benchmark", "TaskEval"]

if not TYPE_CHECKING:  # for type checkers what is not here is an error of its own
    __getattr__ = missing(__name__)
