"""What finished runs say, as data: agreement, comparison, calibration, variance, ranking of pairs.

A run is a `Result` in memory or a `FinishedRun` read back from its folder (`read_run`). A function
such as `agreement_report(run)` or `compare_runs(a, b)` gives a report: its fields are the figures,
`to_dict()` has them as JSON values, and `print(report)` shows it.
"""

from typing import TYPE_CHECKING

from rubricate._lazy import lazy_door

if TYPE_CHECKING:
    from rubricate.analysis._agreement import (
        AgreementReport,
        CriterionAgreement,
        LevelAgreement,
        agreement_report,
    )
    from rubricate.analysis._annotators import AnnotatorsTogether, CriterionAnnotators
    from rubricate.analysis._attacks import (
        RIGHT,
        WRONG,
        AttackFigures,
        ControlFigures,
        Defence,
        DefenceFigures,
        Form,
        RedTeamReport,
    )
    from rubricate.analysis._calibration import (
        Calibrator,
        FittedCalibration,
        fit_calibration,
        read_calibration,
    )
    from rubricate.analysis._cascade import CascadePoint, CascadeReport, cascade_report
    from rubricate.analysis._certificate import (
        Certificate,
        certify,
        check_certificate,
        read_certificate,
    )
    from rubricate.analysis._comparison import (
        CriterionComparison,
        Flip,
        PartComparison,
        RunComparison,
        compare_runs,
    )
    from rubricate.analysis._comparison_sections import (
        OTHER_HEADINGS,
        comparison_texts,
        parts_tables,
    )
    from rubricate.analysis._conversation import conversation_lines
    from rubricate.analysis._discrimination import DecisionRules, Discrimination
    from rubricate.analysis._finished import (
        LOW_CONFIDENCE,
        FinishedItem,
        FinishedRun,
        RowVerdict,
        SubmissionFile,
        as_written,
        confidence,
        finished_items,
        finished_rows,
        held_run,
        mean_score,
        read_run,
        read_summary,
    )
    from rubricate.analysis._judged import JudgedReport
    from rubricate.analysis._kept_report import keep_report, kept_report
    from rubricate.analysis._pair_figures import (
        PairFigures,
        PairReport,
        PairSummary,
        PairTallies,
        PositionFigures,
    )
    from rubricate.analysis._pairs import PairResult, PairVerdict, finished_pairs, pair_result
    from rubricate.analysis._plan import PlanPoint, PlanReport, plan_report
    from rubricate.analysis._plan_options import PlannedFigure, PlanOptions
    from rubricate.analysis._plots import (
        Plots,
        agreement_plots,
        calibration_plot,
        scores_plot,
        waiting_plot,
    )
    from rubricate.analysis._ppi import CriterionMean, PPIReport, ppi_report
    from rubricate.analysis._replay import ReplayReport
    from rubricate.analysis._result import Result
    from rubricate.analysis._run_list import ListedRun, RunList, list_runs
    from rubricate.analysis._scores_by import scores_by, summary_by
    from rubricate.analysis._selection import Selection
    from rubricate.analysis._tables import (
        ITEM_COLUMNS,
        VERDICT_COLUMNS,
        By,
        Kind,
        Tabular,
        VerdictTable,
        spreadsheet_cell,
    )
    from rubricate.analysis._variance import CriterionVariance, VarianceReport, variance_report
else:
    __getattr__, __dir__ = lazy_door(__name__)

__all__ = [
    "ITEM_COLUMNS",
    "LOW_CONFIDENCE",
    "OTHER_HEADINGS",
    "RIGHT",
    "VERDICT_COLUMNS",
    "WRONG",
    "AgreementReport",
    "AnnotatorsTogether",
    "AttackFigures",
    "By",
    "Calibrator",
    "CascadePoint",
    "CascadeReport",
    "Certificate",
    "ControlFigures",
    "CriterionAgreement",
    "CriterionAnnotators",
    "CriterionComparison",
    "CriterionMean",
    "CriterionVariance",
    "DecisionRules",
    "Defence",
    "DefenceFigures",
    "Discrimination",
    "FinishedItem",
    "FinishedRun",
    "FittedCalibration",
    "Flip",
    "Form",
    "JudgedReport",
    "Kind",
    "LevelAgreement",
    "ListedRun",
    "PPIReport",
    "PairFigures",
    "PairReport",
    "PairResult",
    "PairSummary",
    "PairTallies",
    "PairVerdict",
    "PartComparison",
    "PlanOptions",
    "PlanPoint",
    "PlanReport",
    "PlannedFigure",
    "Plots",
    "PositionFigures",
    "RedTeamReport",
    "ReplayReport",
    "Result",
    "RowVerdict",
    "RunComparison",
    "RunList",
    "Selection",
    "SubmissionFile",
    "Tabular",
    "VarianceReport",
    "VerdictTable",
    "agreement_plots",
    "agreement_report",
    "as_written",
    "calibration_plot",
    "cascade_report",
    "certify",
    "check_certificate",
    "compare_runs",
    "comparison_texts",
    "confidence",
    "conversation_lines",
    "finished_items",
    "finished_pairs",
    "finished_rows",
    "fit_calibration",
    "held_run",
    "keep_report",
    "kept_report",
    "list_runs",
    "mean_score",
    "pair_result",
    "parts_tables",
    "plan_report",
    "ppi_report",
    "read_calibration",
    "read_certificate",
    "read_run",
    "read_summary",
    "scores_by",
    "scores_plot",
    "spreadsheet_cell",
    "summary_by",
    "variance_report",
    "waiting_plot",
]
