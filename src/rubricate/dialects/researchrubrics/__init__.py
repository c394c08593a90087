"""Research reports against weighted rubrics, under the names of the ResearchRubrics page.

    results_df, compliance_score = await evaluate_task_rubrics("agent_responses/ID.md")

A tasks file becomes rubrics, a folder of reports a dataset, and the results file is a view of the
core's run. The compliance score, which is not clamped, is the core's by a declared scoring
(`SCORING`); what is the dialect's own is its tables.
"""

from typing import TYPE_CHECKING

from rubricate.dialects._missing import missing
from rubricate.dialects.researchrubrics._batch import (
    DEFAULT_REPORTS,
    aevaluate_reports_batch,
    evaluate_reports_batch,
)
from rubricate.dialects.researchrubrics._figures import (
    SCORING,
    AxisFailures,
    Compliance,
    Figures,
    HumanAgreement,
    Line,
    ReportFigures,
    SystemDifference,
    agreement_figures,
    compliance,
    figures,
    lines_of,
)
from rubricate.dialects.researchrubrics._reports import (
    ResearchReport,
    ResearchReports,
    find_reports,
)
from rubricate.dialects.researchrubrics._results import (
    ResultLines,
    calculate_compliance_score,
    compliance_by_report,
    figures_of_results,
    read_results,
    results_path,
)
from rubricate.dialects.researchrubrics._tasks import (
    DEFAULT_TASKS,
    Task,
    TaskCriterion,
    read_tasks,
)
from rubricate.dialects.researchrubrics.evaluate_single_report import (
    DEFAULT_MODEL,
    MAX_CONCURRENT,
    MAX_RETRIES,
    Batch,
    ReportOptions,
    RubricEvaluator,
    evaluate_task_rubrics,
)

__all__ = [
    "DEFAULT_MODEL",
    "DEFAULT_REPORTS",
    "DEFAULT_TASKS",
    "MAX_CONCURRENT",
    "MAX_RETRIES",
    "SCORING",
    "AxisFailures",
    "Batch",
    "Compliance",
    "Figures",
    "HumanAgreement",
    "Line",
    "ReportFigures",
    "ReportOptions",
    "ResearchReport",
    "ResearchReports",
    "ResultLines",
    "RubricEvaluator",
    "SystemDifference",
    "Task",
    "TaskCriterion",
    "aevaluate_reports_batch",
    "agreement_figures",
    "calculate_compliance_score",
    "compliance",
    "compliance_by_report",
    "evaluate_reports_batch",
    "evaluate_task_rubrics",
    "figures",
    "figures_of_results",
    "find_reports",
    "lines_of",
    "read_results",
    "read_tasks",
    "results_path",
]

if not TYPE_CHECKING:  # for type checkers what is not here is an error of its own
    __getattr__ = missing(__name__)
