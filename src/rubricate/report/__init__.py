"""What people see: the summary, as data and on a terminal, tables, and reports on finished runs."""

from importlib import import_module
from typing import TYPE_CHECKING, Any

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

_MODULES = {  # loaded when the first of them is asked for: most need numpy or jinja2
    "_attacks": (
        "RIGHT",
        "WRONG",
        "AttackFigures",
        "ControlFigures",
        "Defence",
        "DefenceFigures",
        "Form",
        "RedTeamReport",
    ),
    "_agreement": ("AgreementReport", "CriterionAgreement", "agreement_report"),
    "_annotators": ("AnnotatorsTogether", "CriterionAnnotators"),
    "_calibration": (
        "CalibrationMethod",
        "Calibrator",
        "FittedCalibration",
        "HeldOut",
        "fit_calibration",
        "read_calibration",
    ),
    "_cascade": ("CascadePoint", "CascadeReport", "cascade_report"),
    "_certificate": ("Certificate", "certify", "check_certificate", "read_certificate"),
    "_comparison": ("CriterionComparison", "Flip", "RunComparison", "compare_runs"),
    "_notebook": ("item_html", "result_html"),
    "_page": ("ReportPage", "write_report"),
    "_page_parts": ("page_part", "page_policy", "page_templates"),
    "_plots": ("Plots",),
    "_few_labels": ("CriterionMean", "FewLabelsReport", "few_labels_report"),
    "_judged": ("JudgedReport",),
    "_kept_report": ("keep_report", "kept_report"),
    "_pair_figures": (
        "PairFigures",
        "PairReport",
        "PairSummary",
        "PairTallies",
        "PositionFigures",
    ),
    "_pairs": ("PairResult", "PairVerdict", "finished_pairs", "pair_result"),
    "_variance": ("CriterionVariance", "VarianceReport", "variance_report"),
}
_MODULE_OF = {name: module for module, names in _MODULES.items() for name in names}


def __getattr__(name: str) -> Any:
    module = _MODULE_OF.get(name)
    if module is None:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    value = getattr(import_module(f"{__name__}.{module}"), name)
    globals()[name] = value
    return value
