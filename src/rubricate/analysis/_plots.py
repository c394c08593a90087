"""Plots of a run as figures of matplotlib, for papers and slides.

The figures are those of the terminal and the report page: `agreement_report`, `stats.calibration`,
`stats.clustered_mean`. Colours are those of Okabe and Ito (2008), which everybody can tell apart.
"""

from __future__ import annotations

import io
import math
import textwrap
from collections import Counter
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from rubricate._files import Replacement, user_path
from rubricate.analysis._agreement import CriterionAgreement, agreement_report
from rubricate.analysis._finished import FinishedRun
from rubricate.errors import InputError, MissingExtraError
from rubricate.stats import Estimate, LabelAgreement, clustered_mean
from rubricate.views import dollars, estimate_text, figure

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

__all__ = ["Plots"]

JUDGE, HUMAN, MARK, QUIET = "#0072B2", "#E69F00", "#D55E00", "#888888"
SUFFIXES = (".png", ".svg", ".pdf")
BINS = 20
MOST, ACROSS = 24, 4
"""Plots of one figure, and how many stand side by side."""
WIDEST_CONFUSION = 12
"""Labels up to which a confusion matrix is drawn."""


class Plots:
    """Plots of a run (extra `plots`). Each gives a `matplotlib.figure.Figure`.

    Every method takes `path`: a file, .png (150 dots an inch), .svg or .pdf, to save the figure in.

    Raises:
        InputError: there is nothing to plot, or the file cannot be written.
        MissingExtraError: matplotlib is not installed.
    """

    def __init__(self, run: FinishedRun) -> None:
        self._run = run

    def scores(self, path: str | Path | None = None) -> Figure:
        """How many items have which score, by the judge and by complete human labels."""
        run = self._run
        judged = [score for score in run.item_scores.values() if score is not None]
        human = [score for score in run.human_scores.values() if score is not None]
        if not judged:
            raise InputError("no item has a score", file=run.path)
        figure = _figure(6.4, 3.8)
        from matplotlib.ticker import MaxNLocator

        axes = figure.subplots()
        edges = [float(edge) for edge in np.linspace(0, 1, BINS + 1)]
        axes.hist(judged, edges, color=JUDGE, alpha=0.75, label=f"judge, n {len(judged)}")
        if human:
            axes.hist(
                human,
                edges,
                histtype="step",
                color=HUMAN,
                linewidth=2.2,
                label=f"human labels, n {len(human)}",
            )
        mean = clustered_mean(judged).mean.within(0, 1)
        if mean.value is not None:
            axes.axvline(
                mean.value, color=MARK, linewidth=1.6, label=f"judge's mean {estimate_text(mean)}"
            )
        if mean.low is not None and mean.high is not None:
            axes.axvspan(mean.low, mean.high, color=MARK, alpha=0.15, linewidth=0)
        without = len(run.item_scores) - len(judged)
        title = self._title(f"{without} items have no score" if without else "")
        axes.set(xlim=(0, 1), xlabel="score of an item", ylabel="items", title=title)
        axes.yaxis.set_major_locator(MaxNLocator(integer=True))
        figure.legend(loc="outside lower center", ncols=3, frameon=False)
        return _saved(figure, path)

    def agreement(self, path: str | Path | None = None) -> Figure:
        """The judge against the human labels: of each criterion, and of the items' scores.

        Labels are a confusion matrix, numbers a point for each pair. At most 24 criteria are shown.
        """
        run = self._run
        report = agreement_report(run)
        shown = [one for one in report.criteria if _is_drawn(one)][:MOST]
        with_scores = report.scores is not None and report.scores.n > 0
        count = len(shown) + with_scores
        if not count:
            raise InputError("no criterion can be plotted: no pair of labels", file=run.path)
        across = min(ACROSS, count)
        down = math.ceil(count / across)
        figure = _figure(3.1 * across + 0.4, 3.3 * down + 0.5)
        grid = figure.subplots(down, across, squeeze=False)
        for axes, one in zip(grid.flat, shown, strict=False):
            found = one.agreement
            if isinstance(found, LabelAgreement):
                _confusion(axes, found)
                kappa = found.figures.get("quadratic_kappa") or found.figures["cohen_kappa"]
                told = f"accuracy {_short(found.figures['accuracy'])}, kappa {_short(kappa)}"
            else:
                pairs = [
                    (row.human_value, row.value) for row in run.rows if row.criterion == one.name
                ]
                _pairs(axes, pairs)
                told = f"correlation {_short(found.figures['pearson'])}"
            axes.set_title(f"{_wrapped(one.name, 30)}\n{told}, n {found.n}", fontsize=9)
        if report.scores is not None and with_scores:
            axes = grid.flat[len(shown)]
            human = run.human_scores
            _pairs(axes, [(human.get(item), score) for item, score in run.item_scores.items()])
            told = f"correlation {_short(report.scores.figures['pearson'])}"
            axes.set_title(f"scores of items\n{told}, n {report.scores.n}", fontsize=9)
        for axes in grid.flat[count:]:
            axes.set_axis_off()
        figure.suptitle(self._title(), fontsize=11)
        return _saved(figure, path)

    def calibration(self, path: str | Path | None = None) -> Figure:
        """How often people say MET where the judge's probability of MET is so high.

        With Wilson intervals; of all binary criteria together.
        """
        found = agreement_report(self._run).calibration_of_all
        if found is None:
            raise InputError(
                "no verdict of a binary criterion has both a probability and a human label",
                file=self._run.path,
            )
        bins = [one for one in found.bins if one.n and one.mean_probability is not None]
        figure = _figure(4.8, 5.6)
        axes, below = figure.subplots(2, 1, sharex=True, height_ratios=(4, 1))
        axes.plot([0, 1], [0, 1], color=QUIET, linestyle="--", linewidth=1, label="calibrated")
        x = [one.mean_probability for one in bins]
        y = [one.frequency.value or 0.0 for one in bins]
        low = [value - (one.frequency.low or 0.0) for value, one in zip(y, bins, strict=True)]
        high = [(one.frequency.high or 0.0) - value for value, one in zip(y, bins, strict=True)]
        error = [[max(0.0, bar) for bar in side] for side in (low, high)]
        axes.errorbar(x, y, error, fmt="o-", color=JUDGE, capsize=3, label="judge, 95 %")
        error_told = f"calibration error {_short(found.expected_calibration_error)}"
        title = self._title(f"n {found.n}, Brier score {_short(found.brier)}, {error_told}")
        axes.set_title(title, fontsize=10)
        axes.set(ylim=(-0.02, 1.02), ylabel="share that people say is MET")
        widths = [one.high - one.low for one in bins]
        below.bar(
            [one.low for one in bins],
            [one.n for one in bins],
            widths,
            align="edge",
            color=JUDGE,
            alpha=0.75,
            edgecolor="white",
        )
        below.set(xlim=(-0.02, 1.02), xlabel="the judge's probability of MET", ylabel="verdicts")
        figure.legend(loc="outside lower center", ncols=2, frameon=False)
        return _saved(figure, path)

    def cost(self, path: str | Path | None = None) -> Figure:
        """What verdicts took by criterion, in US dollars, or in tokens where a price is missing;
        and how long they waited for their answers."""
        spent: dict[str, list[dict[str, Any]]] = {}
        for rows in self._run.item_rows():
            for row in rows:
                spent.setdefault(row["criterion"], []).append(row["usage"])
        seconds = [
            one["seconds"] for usages in spent.values() for one in usages if one["seconds"] > 0
        ]
        if not seconds:
            raise InputError("nothing was spent: no verdict took a request", file=self._run.path)
        shown = {name: spent[name] for name in list(spent)[:MOST]}
        figure = _figure(9.0, max(3.4, 0.34 * len(shown) + 1.8))
        left, right = figure.subplots(1, 2, width_ratios=(3, 2))
        _spending(left, shown)
        _waiting(right, seconds)
        figure.suptitle(self._title(), fontsize=11)
        return _saved(figure, path)

    def _title(self, more: str = "") -> str:
        name = self._run.summary.get("dataset")
        title = _wrapped(f"{name + ', ' if name else ''}judged by {self._run.judge}", 60)
        return f"{title}\n{more}" if more else title


def _figure(width: float, height: float) -> Figure:
    """An empty figure, in inches, that belongs to no window."""
    try:
        from matplotlib.figure import Figure
    except ImportError:
        raise MissingExtraError("a plot", "plots") from None
    return Figure(figsize=(width, height), layout="constrained")


def _saved(figure: Figure, path: str | Path | None) -> Figure:
    for axes in figure.axes:
        axes.spines[["top", "right"]].set_visible(False)
    if path is None:
        return figure
    suffix = user_path(path).suffix.lower()
    if suffix not in SUFFIXES:
        raise InputError(f"a plot's name must end in one of {', '.join(SUFFIXES)}", file=path)
    drawn = io.BytesIO()
    figure.savefig(drawn, format=suffix[1:], dpi=150)
    with Replacement(user_path(path)) as file:
        file.write(drawn.getvalue())
    return figure


def _is_drawn(one: CriterionAgreement) -> bool:
    found = one.agreement
    fits = not isinstance(found, LabelAgreement) or len(found.labels) <= WIDEST_CONFUSION
    return found.n > 0 and fits


def _confusion(axes: Axes, found: LabelAgreement) -> None:
    counts = np.array(found.confusion)
    used = [
        place
        for place in range(len(found.labels))
        if counts[place].any() or counts[:, place].any() or found.labels[place] != "CANNOT_ASSESS"
    ]
    counts = counts[np.ix_(used, used)]
    names = [_wrapped(found.labels[place], 12) for place in used]
    axes.imshow(counts, cmap="Blues", vmin=0, vmax=max(1, counts.max()))
    for (row, column), count in np.ndenumerate(counts):
        colour = "white" if count > counts.max() * 0.6 else "black"
        axes.text(column, row, str(count), ha="center", va="center", color=colour, fontsize=9)
    axes.set_xticks(range(len(names)), names, fontsize=8, rotation=0 if len(names) < 4 else 45)
    axes.set_yticks(range(len(names)), names, fontsize=8)
    axes.set_xlabel("judge", fontsize=8)
    axes.set_ylabel("human label", fontsize=8)


def _pairs(axes: Axes, pairs: Sequence[tuple[float | None, float | None]]) -> None:
    counted = Counter(
        (round(human, 2), round(judge, 2))
        for human, judge in pairs
        if human is not None and judge is not None
    )
    axes.plot([0, 1], [0, 1], color=QUIET, linestyle="--", linewidth=1)
    axes.scatter(
        [human for human, _ in counted],
        [judge for _, judge in counted],
        s=[36 * math.sqrt(count) for count in counted.values()],
        color=JUDGE,
        alpha=0.6,
        linewidth=0,
    )
    axes.set(xlim=(-0.05, 1.05), ylim=(-0.05, 1.05), aspect="equal")
    axes.set_xlabel("by human labels", fontsize=8)
    axes.set_ylabel("by the judge", fontsize=8)
    axes.tick_params(labelsize=8)


def _spending(axes: Axes, spent: Mapping[str, Sequence[Mapping[str, Any]]]) -> None:
    """A bar for each criterion: US dollars, or tokens where a price is not known."""
    places, sums = range(len(spent)), np.zeros(len(spent))
    n = sum(len(usages) for usages in spent.values())
    priced = all(one["cost"] is not None for usages in spent.values() for one in usages)
    parts = {"cost": JUDGE} if priced else {"input_tokens": JUDGE, "output_tokens": HUMAN}
    for key, colour in parts.items():
        part = np.array([sum(one[key] for one in usages) for usages in spent.values()])
        axes.barh(places, part, left=sums, color=colour, label=key.replace("_", " "))
        sums = sums + part
    if priced:
        axes.set(xlabel="US dollars", title=f"cost {dollars(sums.sum())}, n {n} verdicts")
    else:
        axes.set(xlabel="tokens", title=f"tokens (no price is known), n {n} verdicts")
        _legend_below(axes)
    axes.set_yticks(places, [_wrapped(name, 26) for name in spent], fontsize=8)
    axes.invert_yaxis()


def _waiting(axes: Axes, seconds: Sequence[float]) -> None:
    from matplotlib.ticker import MaxNLocator

    middle, slow, most = (float(np.percentile(seconds, share)) for share in (50, 95, 99))
    high = max(most, middle) * 1.05
    axes.hist(seconds, BINS, range=(0, high), color=JUDGE)
    axes.axvline(middle, color=MARK, linewidth=1.6, label=f"median {middle:.2g} s")
    axes.axvline(slow, color=MARK, linestyle="--", linewidth=1.6, label=f"95 % {slow:.2g} s")
    axes.set(xlabel="seconds waited", ylabel="verdicts", title=f"time, n {len(seconds)} verdicts")
    axes.yaxis.set_major_locator(MaxNLocator(integer=True))
    _legend_below(axes)


def _legend_below(axes: Axes) -> None:
    below = (0.5, -0.2)
    axes.legend(loc="upper center", bbox_to_anchor=below, ncols=2, frameon=False, fontsize=8)


def _wrapped(text: str, width: int) -> str:
    return "\n".join(textwrap.wrap(text, width, max_lines=2, placeholder=" …"))


def _short(estimate: Estimate) -> str:
    return figure(estimate.value)
