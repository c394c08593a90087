"""Plots of a run, for the report page and as pictures for papers and slides.

The figures are the same as in the terminal: `agreement_report`, `stats.calibration`, `mean_score`.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from itertools import pairwise
from pathlib import Path

import numpy as np

from rubricate._spelling import counted
from rubricate.analysis._finished import (
    FinishedRun,
    RunLike,
    finished_run,
    mean_score,
    read_summary,
)
from rubricate.analysis.agreement import (
    AgreementReport,
    CriterionAgreement,
    agreement_report,
    calibration_text,
)
from rubricate.errors import InputError
from rubricate.rubric import Criterion, Usage
from rubricate.stats import Estimate, LabelAgreement
from rubricate.views import (
    Picture,
    Plot,
    bars,
    confusion_grid,
    dollars,
    estimate_text,
    figure,
    histogram,
    items_address,
    pairs_plot,
    reliability_plot,
)

BINS = 20
NO_MEAN = Estimate(None)
MOST, ACROSS = 24, 4
"""The maximum number of plots in a picture, and in a row."""
WIDEST_CONFUSION = 12
"""The maximum number of labels in a confusion matrix."""
QUARTERS = (0.0, 0.25, 0.5, 0.75, 1.0)


class Plots:
    """Plots of a run. Each method returns a `views.Picture`, which notebooks display.

    With `path`, a method also saves the picture as .svg or .png (extra `png`).

    Raises:
        InputError: there is nothing to plot, or the file cannot be written.
        MissingExtraError: the extra `png` is needed and not installed.
    """

    def __init__(self, run: RunLike) -> None:
        self._run = finished_run(run)

    def scores(self, path: str | Path | None = None) -> Picture:
        """The distribution of item scores, by the judge and by complete human labels."""
        groups = self._run.grouping(None)
        group_of = None if groups is None else self._run.groups_by(groups)
        scores = [*self._run.item_scores.values()]
        if all(score is None for score in scores):
            raise InputError("no item has a score", file=self._run.path)
        human = [*self._run.human_scores.values()]
        run = self._run
        mean = mean_score(run.item_scores, read_summary(run), groups=group_of, reach=run.reach)
        return self._picture([scores_plot(scores, human, mean)], path)

    def agreement(self, path: str | Path | None = None) -> Picture:
        """The judge against the human labels, for each criterion and for item scores.

        Labels are shown as a confusion matrix, numbers as points. At most 24 criteria are shown.
        """
        plots = agreement_plots(self._run, agreement_report(self._run))
        if not plots:
            problem = "no criterion can be plotted: no pair of labels"
            raise InputError(problem, file=self._run.path)
        return self._picture(plots, path)

    def calibration(self, path: str | Path | None = None) -> Picture:
        """The share of human MET labels by the judge's probability of MET.

        With exact intervals, over all binary criteria together.
        """
        plot = calibration_plot(agreement_report(self._run))
        if plot is None:
            raise InputError(
                "no verdict of a binary criterion has both a probability and a human label",
                file=self._run.path,
            )
        return self._picture([plot], path)

    def cost(self, path: str | Path | None = None) -> Picture:
        """The cost of verdicts by criterion, in US dollars, or in tokens if a price is unknown, and
        how long answers took, if any took a millisecond."""
        spent: dict[str, list[Usage]] = {}
        for rows in self._run.item_rows():
            for row in rows:
                spent.setdefault(row.criterion, []).append(row.usage)
        usages = [usage for of_criterion in spent.values() for usage in of_criterion]
        waiting = waiting_plot([usage.seconds for usage in usages], "verdict")
        if waiting is None and not any(
            usage.input_tokens or usage.output_tokens or usage.cost for usage in usages
        ):
            raise InputError("nothing was spent: no verdict took a request", file=self._run.path)
        spending = _spending({name: spent[name] for name in [*spent][:MOST]})
        return self._picture([spending, *([waiting] if waiting else [])], path)

    def _picture(self, plots: Sequence[Plot], path: str | Path | None) -> Picture:
        name = self._run.summary.get("dataset")
        title = f"{name + ', ' if name else ''}judged by {self._run.judge}"
        drawn = Picture(title, tuple(plots), ACROSS)
        if path is not None:
            drawn.save(path)
        return drawn


def scores_plot(
    scores: Sequence[float | None], human: Sequence[float | None], mean: Estimate = NO_MEAN
) -> Plot:
    """The distribution of item scores, by the judge and by human labels.

    Args:
        scores: the scores of items; None for an item without one.
        human: the scores from labels.
        mean: the judge's mean, which is drawn with its interval. Default: none.
    """
    judged, people = _known(scores), _known(human)
    legend = [("judge", "judge"), *([("human", "human labels")] if people else [])]
    marks, band = None, None
    if mean.value is not None:
        marks = {"": mean.value}
        legend.append(("band", f"judge's mean {estimate_text(mean)}"))
    if mean.low is not None and mean.high is not None:
        band = (mean.low, mean.high)
    caption = counted(len(judged), "item")
    caption += f", {len(people)} of them with all labels" if people else ""
    without = len(scores) - len(judged)
    caption += f"; {without} have no score" if without else ""
    below = sum(score < 0 for score in judged)
    caption += f"; {below} below 0, drawn at 0" if below else ""
    return Plot(
        "Scores",
        histogram(
            _counts(_drawn(judged)),
            {place: f"{place:g}" for place in QUARTERS},
            label="how many items have which score",
            links=_links("score"),
            outline=_counts(_drawn(people)) if people else None,
            marks=marks,
            band=band,
            axis="score of an item",
        ),
        caption,
        tuple(legend),
    )


def _known(scores: Iterable[float | None]) -> list[float]:
    return [score for score in scores if score is not None]


def _drawn(scores: Iterable[float]) -> list[float]:
    """Return the scores with raw ones below 0 moved to where the drawing begins."""
    return [max(0.0, score) for score in scores]


def _counts(scores: Sequence[float], high: float = 1.0) -> list[int]:
    return [int(count) for count in np.histogram(scores, BINS, (0.0, high))[0]]


def agreement_plots(run: FinishedRun, report: AgreementReport) -> list[Plot]:
    """The judge against people: one plot per criterion, at most 24, and one of the scores."""
    shown = [criterion for criterion in report.criteria if _is_drawn(criterion)][:MOST]
    plots = [_agreement_plot(run, criterion) for criterion in shown]
    if report.scores is not None and report.scores.n:
        human = run.human_scores
        pairs = [(human.get(item), score) for item, score in run.item_scores.items()]
        caption = f"n {report.scores.n}, correlation {_short(report.scores.figures['pearson'])}"
        address = items_address() + "human_score={:g}&score={:g}"
        drawn = pairs_plot(_counted(pairs), "item scores", address)
        plots.append(Plot("item scores", drawn, caption))
    return plots


def _is_drawn(criterion: CriterionAgreement) -> bool:
    agreement = criterion.agreement
    fits = not isinstance(agreement, LabelAgreement) or len(agreement.labels) <= WIDEST_CONFUSION
    return agreement.n > 0 and fits


def _agreement_plot(run: FinishedRun, criterion: CriterionAgreement) -> Plot:
    agreement = criterion.agreement
    if isinstance(agreement, LabelAgreement):
        accuracy, kappa = _short(criterion.accuracy), _short(criterion.kappa)
        caption = f"n {agreement.n}, accuracy {accuracy}, kappa {kappa}"
        drawn = confusion_grid(criterion.name, agreement.labels, agreement.confusion)
        return Plot(criterion.name, drawn, caption)
    pairs = [(row.human_value, row.value) for row in run.rows if row.criterion == criterion.name]
    caption = f"n {agreement.n}, correlation {_short(agreement.figures['pearson'])}"
    label = f"{criterion.name}: judge against human"
    address = items_address(criterion=criterion.name) + "&human_value={:g}&value={:g}"
    steps = _steps(run.criteria.get(criterion.name))
    drawn = pairs_plot(_counted(pairs), label, address, steps)
    return Plot(criterion.name, drawn, caption)


def _steps(criterion: Criterion | None) -> Sequence[str]:
    """The names of the values 0, 0.5 and 1: the steps of a scale, else the numbers."""
    if criterion is None or not criterion.has_steps or not criterion.labels:
        return [f"{value:g}" for value in QUARTERS[::2]]
    return [f"{criterion.step(criterion.labels[0], value):g}" for value in QUARTERS[::2]]


def _counted(
    pairs: Iterable[tuple[float | None, float | None]],
) -> Counter[tuple[float, float]]:
    """Count the pairs of values by human and judge, rounded to two decimal places."""
    return Counter(
        (round(human + 1e-9, 2), round(judge + 1e-9, 2))  # as `grid.js` does: ties go up
        for human, judge in pairs
        if human is not None and judge is not None
    )


def _links(name: str, highest: float = 1.0, last: str = "") -> list[tuple[str, str]]:
    """The name of each bin, and the address of its items.

    The first bin has no lower bound, and the last one has the upper bound `last`, if any.
    """
    edges = np.linspace(0.0, highest, BINS + 1)
    bounds = ["", *(repr(float(edge)) for edge in edges[1:-1]), last]
    return [
        (f"{name} {start:.3g} to {end:.3g}", items_address(**{name: f"{low}~{high}"}))
        for (start, end), (low, high) in zip(pairwise(edges), pairwise(bounds), strict=True)
    ]


def calibration_plot(report: AgreementReport) -> Plot | None:
    """The calibration of the judge's probabilities of MET on all binary criteria, if there are
    any."""
    if report.probabilities is None:
        return None
    calibration = report.probabilities.calibration
    return Plot(
        "Calibration",
        reliability_plot(calibration),
        f"n {calibration.n}, Brier score {_short(calibration.brier)}, "
        f"{calibration_text(calibration)}; {calibration.binning}",
    )


def waiting_plot(waited: Sequence[float], what: str = "judgement") -> Plot | None:
    """How long answers took; None without answers that took a millisecond.

    Args:
        waited: the seconds of each verdict.
        what: the name of what took that long.
    """
    seconds = [second for second in waited if second >= 0.001]  # functions here take microseconds
    if not seconds:
        return None
    middle, slow = (float(np.percentile(seconds, share)) for share in (50, 95))
    high = max(float(np.percentile(seconds, 99)), middle) * 1.05
    beyond = sum(second > high for second in seconds)
    return Plot(
        "Latency",
        histogram(
            _counts(seconds, high),
            {place: f"{high * place:.2g}" for place in QUARTERS},
            label=f"how many {what}s took how long",
            links=_links("seconds", high, repr(high)),
            marks={"median": middle / high, "95 %": slow / high},
            axis=f"seconds that a {what} waited for its answers",
        ),
        f"median {middle:.2f} s, 95 % below {slow:.2f} s"
        + (f", {beyond} longer than shown" if beyond else ""),
    )


def _spending(spent: Mapping[str, Sequence[Usage]]) -> Plot:
    """One bar per criterion: US dollars, or tokens if a price is unknown."""
    n = sum(map(len, spent.values()))
    priced = all(usage.cost is not None for usages in spent.values() for usage in usages)
    parts = {"cost": "judge"} if priced else {"input_tokens": "judge", "output_tokens": "human"}
    rows = {
        name: [sum(getattr(usage, part) for usage in usages) for part in parts]
        for name, usages in spent.items()
    }
    title = f"tokens (no price is known), n {n} verdicts"
    if priced:
        title = f"cost {dollars(sum(map(sum, rows.values())))}, n {n} verdicts"
    axis = "US dollars" if priced else "tokens"
    drawing = bars(rows, [*parts.values()], label="what each criterion took", axis=axis)
    legend = [(colour, part.replace("_", " ")) for part, colour in parts.items()]
    return Plot(title, drawing, legend=() if priced else tuple(legend))


def _short(estimate: Estimate) -> str:
    return figure(estimate.value)
