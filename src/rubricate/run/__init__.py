"""Grading at scale: plan, execute, journal, results."""

from rubricate.run._channel import Channel
from rubricate.run._documents import DocumentWork
from rubricate.run._estimate import Range, RunEstimate, estimate
from rubricate.run._executor import OnVerdict
from rubricate.run._finished import FinishedRun, RowVerdict, read_run
from rubricate.run._finished_exchanges import Conversation, Conversations
from rubricate.run._finished_items import FinishedItem, finished_items, finished_rows
from rubricate.run._folder import (
    CACHE_NAME,
    JOURNAL_NAME,
    REPORT_NAME,
    RunFolder,
    cache_file,
    result_lines,
)
from rubricate.run._progress import Progress
from rubricate.run._results import ItemResult, Outcome, Result
from rubricate.run._run import INTERRUPTED, goes_on_without, run
from rubricate.run._tabular import By, Tabular
from rubricate.run.journal import Exchange
from rubricate.run.sending import Budget, Limits, ModelKey, RetryPolicy, Sender

__all__ = [
    "CACHE_NAME",
    "INTERRUPTED",
    "JOURNAL_NAME",
    "REPORT_NAME",
    "Budget",
    "By",
    "Channel",
    "Conversation",
    "Conversations",
    "DocumentWork",
    "Exchange",
    "FinishedItem",
    "FinishedRun",
    "ItemResult",
    "Limits",
    "ModelKey",
    "OnVerdict",
    "Outcome",
    "Progress",
    "Range",
    "Result",
    "RetryPolicy",
    "RowVerdict",
    "RunEstimate",
    "RunFolder",
    "Sender",
    "Tabular",
    "cache_file",
    "estimate",
    "finished_items",
    "finished_rows",
    "goes_on_without",
    "read_run",
    "result_lines",
    "run",
]
