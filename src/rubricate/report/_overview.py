"""What the report page shows of a run as a whole: the terminal's figures, with plots."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

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
class CriterionLine:
    """A criterion's line of the table."""

    figures: CriterionFigures
    requirement: str
    value: Estimate
    bar: Drawing
    answers: Drawing
    accuracy: Estimate
    kappa: Estimate
    n: int


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
    criteria: tuple[CriterionLine, ...]
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


def overview_of(run: FinishedRun, waited: Sequence[float], bootstrap: Bootstrap) -> Overview:
    """All figures and plots.

    Args:
        run: the run.
        waited: the seconds that each verdict waited for its answers.
        bootstrap: how bootstrap intervals are made.
    """
    summary, known = read_summary(run), run.criteria
    scores = run.item_scores
    labelled = any(row.human_label is not None for row in run.rows)
    report = None
    if labelled:
        report = agreement_report(run, bootstrap=bootstrap, bootstrapped=MOST_LINES)
    score = mean_score(scores.values(), summary, confidence=bootstrap.confidence)
    on_all = summary.score.labelled == summary.score.scored
    rows: dict[str, list[ResultRow]] = {}
    for row in run.rows:
        rows.setdefault(row.criterion, []).append(row)
    accuracy, kappa, n = (NOTHING, NOTHING, 0) if report is None else report.whole
    sections = [*summary.sections()]
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
        criteria=tuple(
            _line(figures, known[figures.name], rows.get(figures.name, []), report)
            for figures in summary.criteria[:MOST_LINES]
        ),
        more_criteria=max(0, len(summary.criteria) - MOST_LINES),
        distribution=scores_plot(
            [*scores.values()], [*run.human_scores.values()] if labelled else []
        ),
        agreement=() if report is None else tuple(agreement_plots(run, report)),
        calibration=None if report is None else calibration_plot(report),
        waiting=waiting_plot(waited),
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


def _line(
    figures: CriterionFigures,
    criterion: Criterion,
    rows: Sequence[ResultRow],
    report: AgreementReport | None,
) -> CriterionLine:
    value = mean_score(row.value for row in rows)
    with_labels = [] if report is None else report.criteria
    agreement = next((line for line in with_labels if line.name == figures.name), None)
    return CriterionLine(
        figures=figures,
        requirement=criterion.requirement,
        value=value,
        bar=value_bar(value, _is_penalty(figures)),
        answers=answers_bar(_answers(figures, criterion)),
        accuracy=agreement.accuracy if agreement else NOTHING,
        kappa=agreement.kappa if agreement else NOTHING,
        n=agreement.agreement.n if agreement else 0,
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
                ("abstained", figures.abstained, "none"),
                ("failed", figures.failed, "failed"),
            )
            if count
        ),
    ]
