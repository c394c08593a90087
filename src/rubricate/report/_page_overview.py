"""What the report page shows of a run as a whole: the terminal's figures, with plots."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from markupsafe import Markup

from rubricate.analysis import (
    AgreementReport,
    FinishedRun,
    RowVerdict,
    agreement_report,
    read_summary,
)
from rubricate.report._page_items import tone
from rubricate.rubric import ABSTENTION, Criterion
from rubricate.run.results import CriterionFigures, Summary
from rubricate.stats import Bootstrap, Estimate, LabelAgreement, clustered_mean
from rubricate.views import (
    answers_bar,
    confusion_grid,
    figure,
    histogram,
    pairs_plot,
    reliability_plot,
    score_range,
    value_bar,
)

__all__ = ["CriterionLine", "Overview", "Plot", "overview_of"]

BINS = 20
WIDEST_CONFUSION = 12
"""Labels up to which a confusion matrix is drawn."""
MOST_LINES, MOST_PLOTS = 200, 24
"""Criteria in the table, and plots of agreement; items with rubrics of their own have many more."""
NOTHING = Estimate(None)


@dataclass(frozen=True, slots=True)
class Plot:
    """A plot with its words."""

    title: str
    drawing: Markup
    caption: str = ""
    legend: tuple[tuple[str, str], ...] = ()


@dataclass(frozen=True, slots=True)
class CriterionLine:
    """A criterion's line of the table."""

    figures: CriterionFigures
    requirement: str
    value: Estimate
    bar: Markup
    answers: Markup
    accuracy: Estimate
    kappa: Estimate
    n: int


@dataclass(frozen=True, slots=True)
class Overview:
    """The run as a whole."""

    summary: Summary
    score: Estimate
    range: Markup
    accuracy: Estimate
    kappa: Estimate
    agreement_n: int
    criteria: tuple[CriterionLine, ...]
    more_criteria: int
    distribution: Plot
    agreement: tuple[Plot, ...]
    calibration: Plot | None
    spending: tuple[Plot, ...]


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
    report = agreement_report(run, bootstrap=bootstrap) if labelled else None
    mean = clustered_mean(list(scores.values()), confidence=bootstrap.confidence).mean
    score = mean.within(0.0, 1.0)
    on_all = summary.score.labelled == summary.score.scored
    rows: dict[str, list[RowVerdict]] = {}
    for row in run.rows:
        rows.setdefault(row.criterion, []).append(row)
    accuracy, kappa, n = (NOTHING, NOTHING, 0) if report is None else report.whole
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
        criteria=tuple(
            _line(figures, known[figures.name], rows.get(figures.name, []), report)
            for figures in summary.criteria[:MOST_LINES]
        ),
        more_criteria=max(0, len(summary.criteria) - MOST_LINES),
        distribution=_distribution(run, list(scores.values()), labelled),
        agreement=() if report is None else tuple(_agreement_plots(run, report)),
        calibration=None if report is None else _calibration(report),
        spending=tuple(_spending(waited)),
    )


def _line(
    figures: CriterionFigures,
    criterion: Criterion,
    rows: Sequence[RowVerdict],
    report: AgreementReport | None,
) -> CriterionLine:
    value = clustered_mean([row.value for row in rows]).mean.within(0.0, 1.0)
    with_labels = [] if report is None else report.criteria
    found = next((one for one in with_labels if one.name == figures.name), None)
    return CriterionLine(
        figures=figures,
        requirement=criterion.requirement,
        value=value,
        bar=value_bar(value, _is_fault(figures)),
        answers=answers_bar(_answers(figures, criterion)),
        accuracy=found.accuracy if found else NOTHING,
        kappa=found.kappa if found else NOTHING,
        n=found.agreement.n if found else 0,
    )


def _is_fault(figures: CriterionFigures) -> bool:
    return figures.weight is not None and figures.weight < 0


def _answers(figures: CriterionFigures, criterion: Criterion) -> list[tuple[str, int, str]]:
    parts = []
    for label, count in figures.labels.items():
        if label != ABSTENTION:
            try:
                value = criterion.value(label)
            except ValueError:  # the label of another item's criterion of this name
                value = None
            parts.append((label, count, tone(-1.0 if _is_fault(figures) else 1.0, value)))
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


def _distribution(run: FinishedRun, scores: Sequence[float | None], labelled: bool) -> Plot:
    human = [score for score in run.human_scores.values() if score is not None] if labelled else []
    judged = [score for score in scores if score is not None]
    legend = [("judge", "judge"), *([("human", "human labels")] if human else [])]
    return Plot(
        "Scores",
        histogram(
            _counts(judged),
            {place: f"{place:g}" for place in (0.0, 0.25, 0.5, 0.75, 1.0)},
            label="how many items have which score",
            outline=_counts(human) if human else None,
            axis="score of an item",
        ),
        f"{len(judged)} items" + (f", {len(human)} of them with all labels" if human else ""),
        tuple(legend),
    )


def _counts(scores: Sequence[float], high: float = 1.0) -> list[int]:
    return [int(count) for count in np.histogram(scores, BINS, (0.0, high))[0]]


def _agreement_plots(run: FinishedRun, report: AgreementReport) -> list[Plot]:
    plots: list[Plot] = []
    for one in report.criteria:
        if len(plots) == MOST_PLOTS:
            break
        found = one.agreement
        if isinstance(found, LabelAgreement):
            if not found.n or len(found.labels) > WIDEST_CONFUSION:
                continue
            drawing = confusion_grid(found.labels, found.confusion)
            caption = f"n {found.n}, accuracy {_short(one.accuracy)}, kappa {_short(one.kappa)}"
            plots.append(Plot(one.name, drawing, caption))
        elif found.n:
            pairs = Counter(
                (round(row.human_value, 2), round(row.value, 2))
                for row in run.rows
                if row.criterion == one.name
                and row.value is not None
                and row.human_value is not None
            )
            drawing = pairs_plot(pairs, f"{one.name}: judge against human")
            told = f"n {found.n}, correlation {_short(found.figures['pearson'])}"
            plots.append(Plot(one.name, drawing, told))
    if report.scores is not None and report.scores.n:
        scores, human = run.item_scores, run.human_scores
        pairs = Counter()
        for item, score in scores.items():
            other = human.get(item)
            if score is not None and other is not None:
                pairs[round(other, 2), round(score, 2)] += 1
        correlation = _short(report.scores.figures["pearson"])
        caption = f"n {report.scores.n}, correlation {correlation}"
        plots.append(Plot("item scores", pairs_plot(pairs, "item scores"), caption))
    return plots


def _short(estimate: Estimate) -> str:
    return figure(estimate.value)


def _calibration(report: AgreementReport) -> Plot | None:
    found = report.calibration_of_all
    if found is None:
        return None
    return Plot(
        "Calibration",
        reliability_plot(found),
        f"n {found.n}, Brier score {_short(found.brier)}, "
        f"calibration error {_short(found.expected_calibration_error)} ({found.binning})",
    )


def _spending(waited: Sequence[float]) -> list[Plot]:
    seconds = [second for second in waited if second > 0]
    if not seconds:
        return []
    middle, slow = (float(np.percentile(seconds, share)) for share in (50, 95))
    high = max(float(np.percentile(seconds, 99)), middle) * 1.05
    beyond = sum(second > high for second in seconds)
    ticks = {place: f"{high * place:.2g}" for place in (0.0, 0.25, 0.5, 0.75, 1.0)}
    return [
        Plot(
            "Latency",
            histogram(
                _counts(seconds, high),
                ticks,
                label="how many judgements took how long",
                marks={"median": middle / high, "95 %": slow / high},
                axis="seconds that a judgement waited for its answers",
            ),
            f"median {middle:.2f} s, 95 % below {slow:.2f} s"
            + (f", {beyond} longer than shown" if beyond else ""),
        )
    ]
