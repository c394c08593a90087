"""What a run gives: item results, their figures, and the folder that keeps them.

The engine makes an `ItemResult` of each item, counts it into `Tallies`, and at the end an `Outcome`
says what the run was. `Tallies` give the `Summary`, whose figures `summary.json` holds. Which
answers are compared with people's, and as what, is one rule for every view: `answer`, `Stratum`.
"""

from typing import TYPE_CHECKING

from rubricate._lazy import lazy_door

if TYPE_CHECKING:
    from rubricate.run.results._advice import advice
    from rubricate.run.results._compared import (
        DOES_NOT_APPLY,
        Answer,
        Level,
        PairCounts,
        Stratum,
        answer,
        answers_of,
        differs_from_label,
        human_status,
        is_answer,
        kappa_name,
        key_of,
        level_of,
        merged,
        number_of,
        same,
        stratum_of,
        vote_of,
    )
    from rubricate.run.results._conversations import Conversation, Conversations
    from rubricate.run.results._declared_scores import (
        DeclaredFigures,
        DeclaredTally,
        FieldScores,
        GroupScore,
        group_table,
        interval_text,
    )
    from rubricate.run.results._documents import DocumentFigures, DocumentWork
    from rubricate.run.results._folder import (
        CACHE_NAME,
        JOURNAL_NAMES,
        REPORT_NAME,
        OpenStorage,
        ResultsFile,
        RunFolder,
        cache_place,
        has_journal,
        journal_place,
        journal_to_read,
        result_lines,
        shard_folder,
    )
    from rubricate.run.results._gates import CALLS_SAVED, GateFigures
    from rubricate.run.results._identity import (
        OtherRunError,
        RunIdentity,
        has_answers,
        note_run,
        noted_run,
    )
    from rubricate.run.results._results import (
        ItemResult,
        Outcome,
        scores_by_tag,
        short_metadata,
        short_tags,
    )
    from rubricate.run.results._summary import (
        AgreementFigures,
        CalibrationFigures,
        CertificateFigures,
        CriterionFigures,
        InventedQuotes,
        JudgeFigures,
        ScoreFigures,
        StageFigures,
        StratifiedFigures,
        Summary,
        UsageFigures,
    )
    from rubricate.run.results._tallies import Tallies, as_declared
    from rubricate.run.results._thresholds import (
        ThresholdCheck,
        ThresholdOutcome,
        Thresholds,
        check_thresholds,
    )
    from rubricate.run.results._tree_scores import GroupFigures, TreeFigures
else:
    __getattr__, __dir__ = lazy_door(__name__)

__all__ = [
    "CACHE_NAME",
    "CALLS_SAVED",
    "DOES_NOT_APPLY",
    "JOURNAL_NAMES",
    "REPORT_NAME",
    "AgreementFigures",
    "Answer",
    "CalibrationFigures",
    "CertificateFigures",
    "Conversation",
    "Conversations",
    "CriterionFigures",
    "DeclaredFigures",
    "DeclaredTally",
    "DocumentFigures",
    "DocumentWork",
    "FieldScores",
    "GateFigures",
    "GroupFigures",
    "GroupScore",
    "InventedQuotes",
    "ItemResult",
    "JudgeFigures",
    "Level",
    "OpenStorage",
    "OtherRunError",
    "Outcome",
    "PairCounts",
    "ResultsFile",
    "RunFolder",
    "RunIdentity",
    "ScoreFigures",
    "StageFigures",
    "StratifiedFigures",
    "Stratum",
    "Summary",
    "Tallies",
    "ThresholdCheck",
    "ThresholdOutcome",
    "Thresholds",
    "TreeFigures",
    "UsageFigures",
    "advice",
    "answer",
    "answers_of",
    "as_declared",
    "cache_place",
    "check_thresholds",
    "differs_from_label",
    "group_table",
    "has_answers",
    "has_journal",
    "human_status",
    "interval_text",
    "is_answer",
    "journal_place",
    "journal_to_read",
    "kappa_name",
    "key_of",
    "level_of",
    "merged",
    "note_run",
    "noted_run",
    "number_of",
    "result_lines",
    "same",
    "scores_by_tag",
    "shard_folder",
    "short_metadata",
    "short_tags",
    "stratum_of",
    "vote_of",
]
