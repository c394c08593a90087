"""Research reports against weighted rubrics, under the names of the ResearchRubrics page.

    results_df, compliance_score = await evaluate_task_rubrics("agent_responses/ID.md")

A tasks file becomes rubrics, a folder of reports a dataset, and the results file is a view of the
core's run. What is the page's own is the compliance score, which is not clamped, and its tables.
"""

from rubricate.dialects.researchrubrics._batch import (
    DEFAULT_REPORTS,
    aevaluate_reports_batch,
    evaluate_reports_batch,
)
from rubricate.dialects.researchrubrics._figures import (
    Compliance,
    Figures,
    GroupFigures,
    HumanAgreement,
    Line,
    ReportFigures,
    SystemDifference,
    agreement_figures,
    axis_compliance,
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
    RubricEvaluator,
    evaluate_task_rubrics,
)

__all__ = [
    "DEFAULT_MODEL",
    "DEFAULT_REPORTS",
    "DEFAULT_TASKS",
    "MAX_CONCURRENT",
    "MAX_RETRIES",
    "Batch",
    "Compliance",
    "Figures",
    "GroupFigures",
    "HumanAgreement",
    "Line",
    "ReportFigures",
    "ResearchReport",
    "ResearchReports",
    "ResultLines",
    "RubricEvaluator",
    "SystemDifference",
    "Task",
    "TaskCriterion",
    "aevaluate_reports_batch",
    "agreement_figures",
    "axis_compliance",
    "calculate_compliance_score",
    "compliance",
    "compliance_by_report",
    "evaluate_reports_batch",
    "evaluate_task_rubrics",
    "figures",
    "find_reports",
    "lines_of",
    "read_results",
    "read_tasks",
    "results_path",
]
