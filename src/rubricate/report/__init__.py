"""What people see: the summary, as data and on a terminal, tables, and reports on finished runs."""

from typing import TYPE_CHECKING

from rubricate._lazy import lazy_door
from rubricate.report._confidence import confidence
from rubricate.report._conversation import conversation_lines
from rubricate.report._estimate import estimate_figures, estimate_text
from rubricate.report._replay import replay_figures, replay_view
from rubricate.report._selection import Selection
from rubricate.report._summary import (
    AgreementFigures,
    CalibrationFigures,
    CertificateFigures,
    CriterionFigures,
    DocumentFigures,
    InventedQuotes,
    JudgeFigures,
    ScoreFigures,
    StageFigures,
    StratifiedFigures,
    Summary,
    UsageFigures,
    read_summary,
)
from rubricate.report._table_forms import (
    spreadsheet_cell,
    to_csv,
    to_jsonl,
    to_pandas,
    to_parquet,
    to_polars,
)
from rubricate.report._tables import ITEM_COLUMNS, VERDICT_COLUMNS, Kind, Table
from rubricate.report._tallies import Tallies, summarize

if TYPE_CHECKING:
    from rubricate.report._agreement import AgreementReport, CriterionAgreement, agreement_report
    from rubricate.report._annotators import AnnotatorsTogether, CriterionAnnotators
    from rubricate.report._attacks import (
        RIGHT,
        WRONG,
        AttackFigures,
        ControlFigures,
        Defence,
        DefenceFigures,
        Form,
        RedTeamReport,
    )
    from rubricate.report._calibration import (
        CalibrationMethod,
        Calibrator,
        FittedCalibration,
        HeldOut,
        fit_calibration,
        read_calibration,
    )
    from rubricate.report._cascade import CascadePoint, CascadeReport, cascade_report
    from rubricate.report._certificate import (
        Certificate,
        certify,
        check_certificate,
        read_certificate,
    )
    from rubricate.report._comparison import CriterionComparison, Flip, RunComparison, compare_runs
    from rubricate.report._few_labels import CriterionMean, FewLabelsReport, few_labels_report
    from rubricate.report._judged import JudgedReport
    from rubricate.report._kept_report import keep_report, kept_report
    from rubricate.report._notebook import item_html, result_html
    from rubricate.report._page import ReportPage, write_report
    from rubricate.report._page_parts import page_part, page_policy, page_templates
    from rubricate.report._pair_figures import (
        PairFigures,
        PairReport,
        PairSummary,
        PairTallies,
        PositionFigures,
    )
    from rubricate.report._pairs import PairResult, PairVerdict, finished_pairs, pair_result
    from rubricate.report._plots import Plots
    from rubricate.report._variance import CriterionVariance, VarianceReport, variance_report
else:
    __getattr__, __dir__ = lazy_door(__name__)

__all__ = [
    "ITEM_COLUMNS",
    "RIGHT",
    "VERDICT_COLUMNS",
    "WRONG",
    "AgreementFigures",
    "AgreementReport",
    "AnnotatorsTogether",
    "AttackFigures",
    "CalibrationFigures",
    "CalibrationMethod",
    "Calibrator",
    "CascadePoint",
    "CascadeReport",
    "Certificate",
    "CertificateFigures",
    "ControlFigures",
    "CriterionAgreement",
    "CriterionAnnotators",
    "CriterionComparison",
    "CriterionFigures",
    "CriterionMean",
    "CriterionVariance",
    "Defence",
    "DefenceFigures",
    "DocumentFigures",
    "FewLabelsReport",
    "FittedCalibration",
    "Flip",
    "Form",
    "HeldOut",
    "InventedQuotes",
    "JudgeFigures",
    "JudgedReport",
    "Kind",
    "PairFigures",
    "PairReport",
    "PairResult",
    "PairSummary",
    "PairTallies",
    "PairVerdict",
    "Plots",
    "PositionFigures",
    "RedTeamReport",
    "ReportPage",
    "RunComparison",
    "ScoreFigures",
    "Selection",
    "StageFigures",
    "StratifiedFigures",
    "Summary",
    "Table",
    "Tallies",
    "UsageFigures",
    "VarianceReport",
    "agreement_report",
    "cascade_report",
    "certify",
    "check_certificate",
    "compare_runs",
    "confidence",
    "conversation_lines",
    "estimate_figures",
    "estimate_text",
    "few_labels_report",
    "finished_pairs",
    "fit_calibration",
    "item_html",
    "keep_report",
    "kept_report",
    "page_part",
    "page_policy",
    "page_templates",
    "pair_result",
    "read_calibration",
    "read_certificate",
    "read_summary",
    "replay_figures",
    "replay_view",
    "result_html",
    "spreadsheet_cell",
    "summarize",
    "to_csv",
    "to_jsonl",
    "to_pandas",
    "to_parquet",
    "to_polars",
    "variance_report",
    "write_report",
]
