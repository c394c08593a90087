"""What a run gives: item results, their figures, and the folder that keeps them.

The engine makes an `ItemResult` of each item, counts it into `Tallies`, and at the end `RunFacts`
say what the run was. `Tallies` give the `Summary`, whose figures `summary.json` holds: an `Outcome`
(counts, failures, cost, why it stopped) and scores. Which
answers are compared with people's, and as what, is one rule for every view: `answer`, `Stratum`.
"""

from typing import TYPE_CHECKING

from rubricate._lazy import lazy_door

if TYPE_CHECKING:
    from rubricate.run.results._compared import (
        DOES_NOT_APPLY as DOES_NOT_APPLY,
        Answer as Answer,
        Level as Level,
        Stratum as Stratum,
        answer as answer,
        answers_of as answers_of,
        differs_from_label as differs_from_label,
        is_answer as is_answer,
        kappa_name as kappa_name,
        key_of as key_of,
        level_of as level_of,
        merged as merged,
        number_of as number_of,
        same as same,
        stratum_of as stratum_of,
        vote_of as vote_of,
    )
    from rubricate.run.results._conversations import (
        Conversation as Conversation,
        Conversations as Conversations,
    )
    from rubricate.run.results._declared_scores import (
        DeclaredFigures as DeclaredFigures,
        DeclaredTally as DeclaredTally,
        GroupScore as GroupScore,
        group_table as group_table,
        interval_text as interval_text,
    )
    from rubricate.run.results._documents import (
        DocumentFigures as DocumentFigures,
        DocumentTally as DocumentTally,
    )
    from rubricate.run.results._figures import (
        AgreementFigures as AgreementFigures,
        CertificateFigures as CertificateFigures,
        CriterionFigures as CriterionFigures,
        ThresholdCheck as ThresholdCheck,
        ThresholdFigure as ThresholdFigure,
        ThresholdOutcome as ThresholdOutcome,
        prompts_repeat as prompts_repeat,
    )
    from rubricate.run.results._folder import (
        CACHE_NAME as CACHE_NAME,
        JOURNAL_NAMES as JOURNAL_NAMES,
        REPORT_NAME as REPORT_NAME,
        OpenStorage as OpenStorage,
        ResultsFile as ResultsFile,
        RunFolder as RunFolder,
        cache_place as cache_place,
        has_journal as has_journal,
        journal_place as journal_place,
        shard_folder as shard_folder,
    )
    from rubricate.run.results._gates import CALLS_SAVED as CALLS_SAVED
    from rubricate.run.results._identity import (
        COMMAND_LINE as COMMAND_LINE,
        OtherRunError as OtherRunError,
        has_answers as has_answers,
        note_run as note_run,
        noted_run as noted_run,
    )
    from rubricate.run.results._outcome import (
        Outcome as Outcome,
        OutcomeTally as OutcomeTally,
    )
    from rubricate.run.results._results import (
        ItemResult as ItemResult,
        ItemTexts as ItemTexts,
        RunFacts as RunFacts,
        short_metadata as short_metadata,
        short_tags as short_tags,
    )
    from rubricate.run.results._rows import (
        ITEM_FIELDS as ITEM_FIELDS,
        ROW_FIELDS as ROW_FIELDS,
        ROWS as ROWS,
        TEXTS as TEXTS,
        WRITE_ANEW as WRITE_ANEW,
        ResultRow as ResultRow,
        line_schema as line_schema,
        read_lines as read_lines,
        read_rows as read_rows,
        result_lines as result_lines,
        result_of as result_of,
        rows_of as rows_of,
    )
    from rubricate.run.results._summary import Summary as Summary
    from rubricate.run.results._tallies import Tallies as Tallies, as_declared as as_declared
    from rubricate.run.results._thresholds import (
        Thresholds as Thresholds,
        check_thresholds as check_thresholds,
        outcome_of as outcome_of,
    )
    from rubricate.run.results._tree_scores import (
        GroupFigures as GroupFigures,
        TreeFigures as TreeFigures,
    )
else:
    __getattr__, __dir__ = lazy_door(__name__)
