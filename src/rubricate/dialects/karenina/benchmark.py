"""`karenina.benchmark`: benchmarks."""

from typing import TYPE_CHECKING

from rubricate.dialects._missing import missing
from rubricate.dialects.karenina._benchmark import Benchmark
from rubricate.dialects.karenina._task import TaskEval

__all__ = ["Benchmark", "TaskEval"]

if not TYPE_CHECKING:  # for type checkers what is not here is an error of its own
    __getattr__ = missing(__name__)
