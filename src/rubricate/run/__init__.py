"""Grading at scale: plan, execute, journal, results."""

from rubricate.run._executor import Progress
from rubricate.run._folder import RunFolder, result_rows
from rubricate.run._limits import Limits
from rubricate.run._results import ItemResult, Result
from rubricate.run._retries import RetryPolicy
from rubricate.run._run import run

__all__ = [
    "ItemResult",
    "Limits",
    "Progress",
    "Result",
    "RetryPolicy",
    "RunFolder",
    "result_rows",
    "run",
]
