"""Grade research reports by weighted rubrics, under the names of the ResearchRubrics page.

    results_df, compliance_score = await evaluate_task_rubrics("agent_responses/ID.md")

A tasks file is converted to rubrics, a folder of reports to a dataset, and the results file is a
view of the core's result. The compliance score, which is not clamped, is computed by the core with
a declared scoring (`SCORING`).
"""

from rubricate.dialects import names_elsewhere
from rubricate.dialects.researchrubrics._figures import (
    SCORING as SCORING,
    AxisFailures as AxisFailures,
    Compliance as Compliance,
    Figures as Figures,
    ReportFigures as ReportFigures,
    SystemDifference as SystemDifference,
    compliance as compliance,
    figures as figures,
)
from rubricate.dialects.researchrubrics._reports import (
    ResearchReports as ResearchReports,
    find_reports as find_reports,
)
from rubricate.dialects.researchrubrics._results import (
    ResultLines as ResultLines,
    compliance_by_report as compliance_by_report,
    figures_of_results as figures_of_results,
    read_results as read_results,
    result_of as result_of,
    results_path as results_path,
)
from rubricate.dialects.researchrubrics._tasks import (
    DEFAULT_TASKS as DEFAULT_TASKS,
    Task as Task,
    read_tasks as read_tasks,
)
from rubricate.dialects.researchrubrics.calculate_compliance_score import (
    calculate_compliance_score as calculate_compliance_score,
)
from rubricate.dialects.researchrubrics.evaluate_reports_batch import (
    aevaluate_reports_batch as aevaluate_reports_batch,
    evaluate_reports_batch as evaluate_reports_batch,
)
from rubricate.dialects.researchrubrics.evaluate_single_report import (
    DEFAULT_MODEL as DEFAULT_MODEL,
    DEFAULT_REPORTS as DEFAULT_REPORTS,
    MAX_CONCURRENT as MAX_CONCURRENT,
    MAX_RETRIES as MAX_RETRIES,
    Batch as Batch,
    ReportOptions as ReportOptions,
    RubricEvaluator as RubricEvaluator,
    evaluate_task_rubrics as evaluate_task_rubrics,
    judge_of_reports as judge_of_reports,
)

names_elsewhere(__name__)
