"""Research reports against weighted rubrics, under the names of the ResearchRubrics page.

    results_df, compliance_score = await evaluate_task_rubrics("agent_responses/ID.md")

A tasks file becomes rubrics, a folder of reports a dataset, and the results file is a view of the
core's run. The compliance score, which is not clamped, is the core's by a declared scoring
(`SCORING`); what is the dialect's own is its tables.
"""

from rubricate.dialects.researchrubrics._batch import (
    DEFAULT_REPORTS as DEFAULT_REPORTS,
    aevaluate_reports_batch as aevaluate_reports_batch,
    evaluate_reports_batch as evaluate_reports_batch,
)
from rubricate.dialects.researchrubrics._figures import (
    SCORING as SCORING,
    AxisFailures as AxisFailures,
    Compliance as Compliance,
    Figures as Figures,
    HumanAgreement as HumanAgreement,
    Line as Line,
    ReportFigures as ReportFigures,
    SystemDifference as SystemDifference,
    agreement_figures as agreement_figures,
    compliance as compliance,
    figures as figures,
    lines_of as lines_of,
)
from rubricate.dialects.researchrubrics._reports import (
    ResearchReport as ResearchReport,
    ResearchReports as ResearchReports,
    find_reports as find_reports,
)
from rubricate.dialects.researchrubrics._results import (
    ResultLines as ResultLines,
    calculate_compliance_score as calculate_compliance_score,
    compliance_by_report as compliance_by_report,
    figures_of_results as figures_of_results,
    read_results as read_results,
    results_path as results_path,
)
from rubricate.dialects.researchrubrics._tasks import (
    DEFAULT_TASKS as DEFAULT_TASKS,
    Task as Task,
    TaskCriterion as TaskCriterion,
    read_tasks as read_tasks,
)
from rubricate.dialects.researchrubrics.evaluate_single_report import (
    DEFAULT_MODEL as DEFAULT_MODEL,
    MAX_CONCURRENT as MAX_CONCURRENT,
    MAX_RETRIES as MAX_RETRIES,
    Batch as Batch,
    ReportOptions as ReportOptions,
    RubricEvaluator as RubricEvaluator,
    evaluate_task_rubrics as evaluate_task_rubrics,
)
