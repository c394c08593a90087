"""Analyses of finished runs: agreement, comparison, calibration, variance, planning.

A run is a `Result` in memory, a `FinishedRun` read back from its folder (`read_run`), or the path
of this folder. A function such as `agreement_report(run)` or `compare_runs(a, b)` returns a report:
its fields are the figures, `to_dict()` returns them as JSON values, and `print(report)` shows
them."""

from typing import TYPE_CHECKING

from rubricate._lazy import lazy_door

if TYPE_CHECKING:
    from rubricate.analysis.agreement._agreement import (
        AgreementReport as AgreementReport,
        CriterionAgreement as CriterionAgreement,
        agreement_report as agreement_report,
        figure_of as figure_of,
    )
    from rubricate.analysis._attacks import (
        RIGHT as RIGHT,
        WRONG as WRONG,
        Defence as Defence,
        Form as Form,
        RedTeamReport as RedTeamReport,
    )
    from rubricate.analysis.few_labels._calibration import (
        Calibrator as Calibrator,
        FittedCalibration as FittedCalibration,
        fit_calibration as fit_calibration,
        read_calibration as read_calibration,
    )
    from rubricate.analysis.few_labels._carried import (
        CarriedReport as CarriedReport,
        carried_report as carried_report,
    )
    from rubricate.analysis.few_labels._cascade import (
        CascadeReport as CascadeReport,
        cascade_report as cascade_report,
    )
    from rubricate.analysis.agreement._certificate import (
        Certificate as Certificate,
        certify as certify,
        check_certificate as check_certificate,
        read_certificate as read_certificate,
    )
    from rubricate.analysis.comparison._comparison import (
        RunComparison as RunComparison,
        compare_runs as compare_runs,
    )
    from rubricate.analysis.comparison._anchors import (
        DOUBT as DOUBT,
        AnchorChoice as AnchorChoice,
        check_answers as check_answers,
        further_answers as further_answers,
        power_of_anchors as power_of_anchors,
        one_judge as one_judge,
        read_anchors as read_anchors,
    )
    from rubricate.analysis.comparison._confirm import (
        GivenAnew as GivenAnew,
        LosingVerdicts as LosingVerdicts,
        Recheck as Recheck,
        unsettled as unsettled,
    )
    from rubricate.analysis.comparison._gate import (
        MIN_COVERAGE as MIN_COVERAGE,
        AnchorCheck as AnchorCheck,
        Confirmation as Confirmation,
        Gate as Gate,
        GateOutcome as GateOutcome,
        ItemPair as ItemPair,
    )
    from rubricate.analysis.comparison._scored_alike import (
        VerdictPair as VerdictPair,
        scored_alike as scored_alike,
    )
    from rubricate.analysis.comparison._sequential import (
        GateHistory as GateHistory,
        sequential_gate as sequential_gate,
    )
    from rubricate.analysis.agreement._probabilities import DecisionRules as DecisionRules
    from rubricate.analysis._finished import (
        LOW_CONFIDENCE as LOW_CONFIDENCE,
        FinishedItem as FinishedItem,
        FinishedRun as FinishedRun,
        GradedRun as GradedRun,
        RunLike as RunLike,
        finished_run as finished_run,
        StartedRun as StartedRun,
        mean_score as mean_score,
        read_run as read_run,
        read_started as read_started,
        read_summary as read_summary,
    )
    from rubricate.analysis._page_labels import (
        LABELS_NAME as LABELS_NAME,
        PageLabels as PageLabels,
    )
    from rubricate.analysis._judged import JudgedReport as JudgedReport
    from rubricate.analysis._kept_report import (
        keep_report as keep_report,
        kept_report as kept_report,
    )
    from rubricate.analysis.comparison._pair_figures import (
        PairReport as PairReport,
        PairSummary as PairSummary,
        PairTallies as PairTallies,
    )
    from rubricate.analysis.comparison._pairs import (
        PairResult as PairResult,
        finished_pairs as finished_pairs,
        pair_result as pair_result,
    )
    from rubricate.analysis.planning._plan import (
        PlanPoint as PlanPoint,
        PlanReport as PlanReport,
        plan_report as plan_report,
    )
    from rubricate.analysis.planning._options import (
        PlannedFigure as PlannedFigure,
        PlanOptions as PlanOptions,
    )
    from rubricate.analysis._plots import (
        Plots as Plots,
        agreement_plots as agreement_plots,
        calibration_plot as calibration_plot,
        scores_plot as scores_plot,
        waiting_plot as waiting_plot,
    )
    from rubricate.analysis.few_labels._ppi import PPIReport as PPIReport, ppi_report as ppi_report
    from rubricate.analysis._replay import ReplayReport as ReplayReport
    from rubricate.analysis._result import Items as Items, Result as Result
    from rubricate.analysis._run_list import (
        ListedRun as ListedRun,
        RunList as RunList,
        list_runs as list_runs,
        run_folders as run_folders,
    )
    from rubricate.analysis._scores_by import scores_by as scores_by, summary_by as summary_by
    from rubricate.analysis._selection import (
        Selection as Selection,
        conversation_lines as conversation_lines,
    )
    from rubricate.analysis._tables import (
        By as By,
        Kind as Kind,
        VerdictTable as VerdictTable,
        spreadsheet_cell as spreadsheet_cell,
        table_columns as table_columns,
    )
    from rubricate.analysis.agreement._variance import (
        VarianceReport as VarianceReport,
        variance_report as variance_report,
    )
    from rubricate.analysis._texts import TextFile as TextFile
else:
    __getattr__, __dir__ = lazy_door(__name__)
