"""Research reports against weighted rubrics, under the names of the ResearchRubrics page.

    results_df, compliance_score = await evaluate_task_rubrics("agent_responses/ID.md")

The run, its journal, and how long reports are read are the core's.
"""

from rubricate.dialects.researchrubrics._batch import (
    DEFAULT_MODEL,
    MAX_CONCURRENT,
    MAX_RETRIES,
    Batch,
    BatchOptions,
    JudgeOptions,
    aestimate_reports,
    chosen_report_judge,
    grade_reports,
)
from rubricate.dialects.researchrubrics._compliance import (
    Compliance,
    axis_compliance,
    compliance,
)
from rubricate.dialects.researchrubrics._figures import (
    AgreementFigures,
    Figures,
    GroupFigures,
    Line,
    ReportFigures,
    SystemDifference,
    agreement_figures,
    figures,
    lines_of,
)
from rubricate.dialects.researchrubrics._files import (
    aevaluate_reports_batch,
    calculate_compliance_score,
    compliance_by_report,
    evaluate_reports_batch,
)
from rubricate.dialects.researchrubrics._reports import Report, Reports, find_reports
from rubricate.dialects.researchrubrics._results import (
    ResultLines,
    read_results,
    result_line,
    results_path,
)
from rubricate.dialects.researchrubrics._tasks import (
    DEFAULT_TASKS,
    Task,
    TaskCriterion,
    check_grading,
    read_tasks,
)
from rubricate.dialects.researchrubrics._views import figures_view
from rubricate.dialects.researchrubrics.evaluate_single_report import (
    RubricEvaluator,
    evaluate_task_rubrics,
)

__all__ = [
    "DEFAULT_MODEL",
    "DEFAULT_TASKS",
    "MAX_CONCURRENT",
    "MAX_RETRIES",
    "AgreementFigures",
    "Batch",
    "BatchOptions",
    "Compliance",
    "Figures",
    "GroupFigures",
    "JudgeOptions",
    "Line",
    "Report",
    "ReportFigures",
    "Reports",
    "ResultLines",
    "RubricEvaluator",
    "SystemDifference",
    "Task",
    "TaskCriterion",
    "aestimate_reports",
    "aevaluate_reports_batch",
    "agreement_figures",
    "axis_compliance",
    "calculate_compliance_score",
    "check_grading",
    "chosen_report_judge",
    "compliance",
    "compliance_by_report",
    "evaluate_reports_batch",
    "evaluate_task_rubrics",
    "figures",
    "figures_view",
    "find_reports",
    "grade_reports",
    "lines_of",
    "read_results",
    "read_tasks",
    "result_line",
    "results_path",
]
