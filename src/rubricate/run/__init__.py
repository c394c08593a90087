"""Grading at scale: plan, execute, journal, results."""

from typing import TYPE_CHECKING

from rubricate._lazy import lazy_door

if TYPE_CHECKING:
    from rubricate.run._channel import Channel
    from rubricate.run._estimate import Range, RunEstimate, estimate, with_requests
    from rubricate.run._executor import Listeners, OnVerdict
    from rubricate.run._notebook import shown_in_notebook
    from rubricate.run._options import Listening, Planning, RunOptions, SharedAnswers, Storage
    from rubricate.run._progress import Progress, progress_state, time_left
    from rubricate.run._run import INTERRUPTED, run
    from rubricate.run._shards import Shard
    from rubricate.run.journal import Exchange
    from rubricate.run.results import (
        CACHE_NAME,
        JOURNAL_NAMES,
        REPORT_NAME,
        DocumentWork,
        ItemResult,
        OpenStorage,
        Outcome,
        RunFolder,
        has_journal,
        result_lines,
        shard_folder,
    )
    from rubricate.run.sending import Budget, Limits, ModelKey, Retries, Sender
    from rubricate.run.workers import Workers
else:
    __getattr__, __dir__ = lazy_door(__name__)

__all__ = [
    "CACHE_NAME",
    "INTERRUPTED",
    "JOURNAL_NAMES",
    "REPORT_NAME",
    "Budget",
    "Channel",
    "DocumentWork",
    "Exchange",
    "ItemResult",
    "Limits",
    "Listeners",
    "Listening",
    "ModelKey",
    "OnVerdict",
    "OpenStorage",
    "Outcome",
    "Planning",
    "Progress",
    "Range",
    "Retries",
    "RunEstimate",
    "RunFolder",
    "RunOptions",
    "Sender",
    "Shard",
    "SharedAnswers",
    "Storage",
    "Workers",
    "estimate",
    "has_journal",
    "progress_state",
    "result_lines",
    "run",
    "shard_folder",
    "shown_in_notebook",
    "time_left",
    "with_requests",
]
