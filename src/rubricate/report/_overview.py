"""What the report page shows of a run as a whole: the terminal's figures, with plots."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from rubricate.analysis import (
    AgreementReport,
    FinishedRun,
    agreement_plots,
    agreement_report,
    calibration_plot,
    mean_score,
    read_summary,
    scores_plot,
    waiting_plot,
)
from rubricate.report._items import tone
from rubricate.rubric import ABSTENTION, Criterion
from rubricate.run.results import CriterionFigures, ResultRow, Summary
from rubricate.stats import Bootstrap, Estimate
from rubricate.views import (
    STATUSES,
    Cell,
    Drawing,
    Facts,
    Paragraph,
    Plot,
    Table,
    answers_bar,
    as_html,
    score_range,
    value_bar,
)

MOST_LINES = 200
"""Criteria in the table; items with rubrics of their own have many more."""
NOTHING = Estimate(None)


@dataclass(frozen=True, slots=True)
class CriterionRow:
    """A row of the summary's table of criteria, and what the page shows in it besides.

    Attributes:
        figures: the criterion's.
        requirement: what it asks for.
        cells: of the table.
        drawings: by the heading of their column.
        intervals: of figures, likewise.
    """

    figures: CriterionFigures
    requirement: str
    cells: Sequence[Cell]
    drawings: dict[str, Drawing]
    intervals: dict[str, Estimate]


@dataclass(frozen=True, slots=True)
class Overview:
    """The run as a whole."""

    summary: Summary
    score: Estimate
    range: Drawing
    accuracy: Estimate
    kappa: Estimate
    agreement_n: int
    few: str | None
    """A warning, where intervals of agreement rest on few items."""
    criteria_table: Table
    criteria: tuple[CriterionRow, ...]
    more_criteria: int
    distribution: Plot
    agreement: tuple[Plot, ...]
    calibration: Plot | None
    waiting: Plot | None
    notices: tuple[Paragraph, ...]
    """What the summary says below its tables."""
    tables: tuple[tuple[str, str], ...]
    """The summary's other tables, and those of the agreement: a heading and HTML."""
    facts: tuple[tuple[str, str], ...]


def overview_of(run: FinishedRun, bootstrap: Bootstrap) -> Overview:
    """All figures and plots.

    Args:
        run: the run.
        bootstrap: how bootstrap intervals are made.
    """
    summary, known = read_summary(run), run.criteria
    scores = run.item_scores
    labelled = any(row.human_label is not None for row in run.rows)
    report = None
    if labelled:
        report = agreement_report(run, bootstrap=bootstrap, bootstrapped=MOST_LINES)
    groups = run.grouping(None)
    group_of = None if groups is None else run.groups_by(groups)
    score = mean_score(scores, summary, groups=group_of, confidence=bootstrap.confidence)
    on_all = summary.score.labelled == summary.score.scored
    rows: dict[str, list[ResultRow]] = {}
    for row in run.rows:
        rows.setdefault(row.criterion, []).append(row)
    accuracy, kappa, n = (NOTHING, NOTHING, 0) if report is None else report.whole
    sections = [*summary.sections()]
    criteria_table = summary.criteria_table(labels=True)
    named = [figures for figures in summary.criteria if not figures.only_number][:MOST_LINES]
    agreement = () if report is None else report.sections()
    tables = [section for section in (*sections[1:], *agreement) if isinstance(section, Table)]
    return Overview(
        summary=summary,
        score=score,
        range=score_range(
            score,
            summary.score.lowest,
            summary.score.highest,
            summary.score.human_mean if on_all else None,
        ),
        accuracy=accuracy,
        kappa=kappa,
        agreement_n=n,
        few=None if report is None else report.few,
        criteria_table=criteria_table,
        criteria=tuple(
            _criterion_row(
                figures,
                known[figures.name],
                row.cells,
                rows.get(figures.name, []),
                report,
                group_of,
            )
            for figures, row in zip(named, criteria_table.rows[:MOST_LINES], strict=True)
        ),
        more_criteria=len(summary.criteria) - len(named),
        distribution=scores_plot(
            [*scores.values()], [*run.human_scores.values()] if labelled else []
        ),
        agreement=() if report is None else tuple(agreement_plots(run, report)),
        calibration=None if report is None else calibration_plot(report),
        waiting=waiting_plot([row.usage.seconds for row in run.rows]),
        notices=tuple(
            section for section in sections if isinstance(section, Paragraph) and section.text
        ),
        tables=tuple(
            (table.title or f"by {table.columns[0].heading}", as_html([replace(table, title=None)]))
            for table in tables
        ),
        facts=tuple(
            fact for section in sections if isinstance(section, Facts) for fact in section.flowing
        ),
    )


def _criterion_row(
    figures: CriterionFigures,
    criterion: Criterion,
    cells: Sequence[Cell],
    rows: Sequence[ResultRow],
    report: AgreementReport | None,
    group_of: Mapping[str, Any] | None,
) -> CriterionRow:
    value = mean_score({row.item: row.value for row in rows}, groups=group_of)
    intervals = {"value": value}
    for line in [] if report is None else report.criteria:
        if line.name == figures.name:
            intervals |= {"accuracy": line.accuracy, "kappa": line.kappa}
    return CriterionRow(
        figures=figures,
        requirement=criterion.requirement,
        cells=cells,
        drawings={
            "answers": answers_bar(_answers(figures, criterion)),
            "value": value_bar(value, _is_penalty(figures)),
        },
        intervals=intervals,
    )


def _is_penalty(figures: CriterionFigures) -> bool:
    return figures.weight is not None and figures.weight < 0


def _answers(figures: CriterionFigures, criterion: Criterion) -> list[tuple[str, int, str]]:
    parts = []
    for label, count in figures.labels.items():
        if label != ABSTENTION:
            try:
                value = criterion.value(label)
            except ValueError:  # the label of another item's criterion of this name
                value = None
            parts.append((label, count, tone(-1.0 if _is_penalty(figures) else 1.0, value)))
    if not parts and figures.judged:
        parts.append(("judged", figures.judged, "half"))
    return [
        *parts,
        *(
            (words, count, name)
            for words, count, name in (
                (STATUSES["abstained"].text, figures.abstained, "none"),
                (STATUSES["failed"].text, figures.failed, "failed"),
                (STATUSES["not_run"].text, figures.not_run, "failed"),
            )
            if count
        ),
    ]
