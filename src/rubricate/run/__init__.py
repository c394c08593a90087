"""Grading at scale: plan, execute, journal, results."""

from rubricate.run._budget import Budget
from rubricate.run._executor import Progress
from rubricate.run._folder import RunFolder, cache_file, result_rows
from rubricate.run._results import ItemResult, Outcome, Result
from rubricate.run._retries import RetryPolicy
from rubricate.run._run import INTERRUPTED, run

__all__ = [
    "INTERRUPTED",
    "Budget",
    "ItemResult",
    "Outcome",
    "Progress",
    "Result",
    "RetryPolicy",
    "RunFolder",
    "cache_file",
    "result_rows",
    "run",
]
