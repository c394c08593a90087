"""Grading at scale: plan, execute, journal, results."""

from typing import TYPE_CHECKING

from rubricate._lazy import lazy_door

if TYPE_CHECKING:
    from rubricate.run._estimate import (
        RunEstimate as RunEstimate,
        estimate as estimate,
        with_requests as with_requests,
    )
    from rubricate.run._executor import Listeners as Listeners, OnVerdict as OnVerdict
    from rubricate.run._notebook import shown_in_notebook as shown_in_notebook
    from rubricate.run._options import (
        Listening as Listening,
        Planning as Planning,
        RunOptions as RunOptions,
        SharedAnswers as SharedAnswers,
        Storage as Storage,
    )
    from rubricate.run._plan import Plan as Plan
    from rubricate.run._progress import (
        Progress as Progress,
        progress_state as progress_state,
        time_left as time_left,
    )
    from rubricate.run._run import INTERRUPTED as INTERRUPTED, run as run
    from rubricate.run._shards import Shard as Shard
    from rubricate.run.journal import Exchange as Exchange
    from rubricate.run.results import (
        JOURNAL_NAMES as JOURNAL_NAMES,
        REPORT_NAME as REPORT_NAME,
        DocumentTally as DocumentTally,
        ItemResult as ItemResult,
        OpenStorage as OpenStorage,
        RunFacts as RunFacts,
        RunFolder as RunFolder,
        has_journal as has_journal,
        shard_folder as shard_folder,
    )
    from rubricate.run.sending import (
        Budget as Budget,
        Limits as Limits,
        ModelKey as ModelKey,
        Retries as Retries,
        Sender as Sender,
    )
else:
    __getattr__, __dir__ = lazy_door(__name__)
