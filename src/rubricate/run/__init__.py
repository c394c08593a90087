"""Grading at scale: plan, execute, journal, results."""

from rubricate.run._channel import Channel
from rubricate.run._estimate import Range, RunEstimate, estimate
from rubricate.run._executor import OnVerdict
from rubricate.run._progress import Progress
from rubricate.run._run import INTERRUPTED, run
from rubricate.run.journal import Exchange
from rubricate.run.results import (
    CACHE_NAME,
    JOURNAL_NAME,
    REPORT_NAME,
    DocumentWork,
    ItemResult,
    Outcome,
    RunFolder,
    cache_file,
    result_lines,
)
from rubricate.run.sending import Budget, Limits, ModelKey, RetryPolicy, Sender

__all__ = [
    "CACHE_NAME",
    "INTERRUPTED",
    "JOURNAL_NAME",
    "REPORT_NAME",
    "Budget",
    "Channel",
    "DocumentWork",
    "Exchange",
    "ItemResult",
    "Limits",
    "ModelKey",
    "OnVerdict",
    "Outcome",
    "Progress",
    "Range",
    "RetryPolicy",
    "RunEstimate",
    "RunFolder",
    "Sender",
    "cache_file",
    "estimate",
    "result_lines",
    "run",
]
