"""How many labels and items a figure takes, and what they cost."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping
from dataclasses import asdict, dataclass
from functools import partial
from typing import Any

from rubricate.analysis._finished import FinishedRun
from rubricate.analysis.planning._designs import Design, Reached, designs
from rubricate.analysis.planning._options import FIGURES, MOST_ITEMS, PlannedFigure, PlanOptions
from rubricate.errors import InputError
from rubricate.rubric import Usage
from rubricate.settings import takes
from rubricate.views import (
    NONE,
    Column,
    Report,
    Row,
    Section,
    Table,
    dollars,
    figure,
    numbers,
    percent,
    say,
)

LADDER = (20, 50, 100, 200, 500, 1000)
"""Numbers of items that are shown beside the answer."""
MOST_SIMULATED = 20_000
"""Items beyond which no simulated answer is looked for: one data set takes seconds there."""
SCANNED = 1.3
"""Times the first number that does, up to which a power in steps is checked for a relapse."""
NEAR = 0.03
"""Numbers of items that are so near each other are the same to a simulation."""
SEARCHED = 4
"""While an answer is looked for, and for widths, one in this many simulations is made: a mean
width is known as well from a quarter of them as a probability from all."""
TRIES = 6
"""Times that an answer found with fewer simulations is raised by `NEAR` until all confirm it."""


@dataclass(frozen=True, slots=True)
class PlanPoint:
    """One plan, and what it gives.

    Attributes:
        name: which way of doing it, or what is taken for true.
        items: items that count: with a label, for figures of agreement. None where no number of
            items is enough.
        graded: items that the judge grades, where these are more.
        labels: labels that people give, in all.
        requests: to the judge; None where nothing is known of them.
        cost: US dollars, of requests and labels; None where it is not known.
        half_width: how far the interval reaches to either side, on average.
        power: the probability of reaching the goal.
        difference: the true difference that a comparison finds with the power that is wanted.
    """

    name: str
    items: int | None
    graded: int | None
    labels: int | None
    requests: int | None
    cost: float | None
    half_width: float | None
    power: float | None
    difference: float | None


@dataclass(frozen=True, slots=True)
class PlanReport(Report):
    """What it takes; see `plan_report`.

    Attributes:
        figure: what is planned for.
        wanted: the goal, in words.
        answers: the plan that reaches it, for each way of doing it; the first is the main one.
        others: what other numbers of items give, the main way.
        how: the formula or the simulation.
        simulations: how many; None for a closed form.
        most: the most items that were looked at.
        assumed: what is taken for true.
        priced: where the cost comes from, in words.
        run: the run that it goes by; None without one.
    """

    figure: PlannedFigure
    wanted: str
    answers: tuple[PlanPoint, ...]
    others: tuple[PlanPoint, ...]
    how: str
    simulations: int | None
    most: int
    assumed: Mapping[str, float]
    priced: str
    run: str | None

    @property
    def title(self) -> str:
        return f"A plan for {_NAMES[self.figure]}"

    def sections(self) -> Iterator[Section]:
        """The answers, what other numbers give, and how it was found."""
        every = (*self.answers, *self.others)
        shown = {
            heading: name
            for heading, name in _COLUMNS.items()
            if any(getattr(point, name) is not None for point in every)
        }
        columns = [Column("", is_text=True), *numbers(*shown)]

        def table(points: tuple[PlanPoint, ...], title: str | None = None) -> Table:
            rows = [
                Row(
                    [
                        point.name if title is None else "",
                        *(_cell(point, name) for name in shown.values()),
                    ],
                    "strong" if points is self.answers and not place else "",
                )
                for place, point in enumerate(points)
            ]
            return Table(columns, rows, title or None)

        what = _NAMES[self.figure]
        yield say(f"{what[0].upper()}{what[1:]}: {self.wanted}", "strong")
        if self.answers:
            yield table(self.answers)
        if self.others:
            yield table(self.others, "What other numbers give" if self.answers else "")
        if any(point.items is None for point in self.answers):
            yield say(f"{NONE}: not with {self.most} items.")
        assumed = ", ".join(f"{name} {value:.3g}" for name, value in self.assumed.items())
        times = "" if self.simulations is None else f", {self.simulations} times"
        yield say(f"By {self.how}{times}.{f' Taken for true: {assumed}.' if assumed else ''}")
        yield say(f"Cost: {self.priced}.", "quiet")


_NAMES: Mapping[PlannedFigure, str] = {
    **{name: f"the {name}" for name in FIGURES[:3]},
    "kappa": "Cohen's kappa",
    "mean": "a mean score",
    "ppi": "a prediction-powered mean",
    "comparison": "a comparison",
}
_COLUMNS = {
    **{name: name for name in ("items", "graded", "labels", "requests", "cost")},
    "+/-": "half_width",
    "power": "power",
    "found": "difference",
}


def _cell(point: PlanPoint, name: str) -> str:
    value = getattr(point, name)
    if value is None:
        return NONE
    if name == "cost":
        return dollars(value)
    if name == "power":
        return ">99%" if 0.99 < value < 1 else percent(value)
    return figure(value, 3) if isinstance(value, float) else str(value)


class PlanCall(PlanOptions, kw_only=False):
    """What `plan_report` is called with."""

    figure: PlannedFigure
    run: FinishedRun | None = None
    other: FinishedRun | None = None


@takes(PlanCall)
def plan_report(options: PlanCall) -> PlanReport:
    """How many items and labels a figure takes, and what a number of them gives.

    The goal is `half_width` (an interval), or `at_least` (an interval's lower end) or `difference`
    (of a comparison), these two with the probability `power`. With `items` it is the other way
    round: what these give.

    By a closed form where there is one (`stats.share_width` and its neighbours), else by
    simulation: of the run, whose items or groups are drawn again and again, or of what is assumed.
    A run says what to expect; a small one says it roughly.

    Args:
        figure: `accuracy`, `sensitivity`, `specificity`, `kappa`, `mean`, `ppi` or `comparison`.
        run: a run to go by, from `read_run`, with labels where the figure needs them.
        other: of a comparison, the second run of the same items.

    Raises:
        InputError: what must be assumed is neither given nor in the run, or a number is out of
            range.
    """
    if options.figure not in FIGURES:
        raise InputError(f"no plan for '{options.figure}': there is {', '.join(FIGURES)}")
    _check(options)
    ways = designs(options.figure, options, options.run, options.other)
    price, main = _Price.of(options), ways[0]
    simulations = _simulations(options)
    has_goal = any(getattr(options, name) is not None for name in _GOALS)
    answers = []
    for design in ways if has_goal or options.items is not None else ():
        n = _enough(design, options) if options.items is None else options.items
        answers.append(_point(design, n, price, simulations))
    fewer = max(100, options.simulations // SEARCHED)
    others = [
        _point(main, n, price, fewer)
        for n in (LADDER[:-1] if main.simulated else LADDER)
        if main.least <= n <= _most(main) and all(n != answer.items for answer in answers[:1])
    ]
    return PlanReport(
        figure=options.figure,
        wanted=_wanted(options),
        answers=tuple(answers),
        others=tuple(others),
        how=main.how,
        simulations=simulations if main.simulated else None,
        most=_most(main),
        assumed=dict(main.assumed or {}),
        priced=price.source,
        run=None if options.run is None else str(options.run.path),
    )


_GOALS: Mapping[str, frozenset[PlannedFigure]] = {
    "half_width": frozenset(FIGURES) - {"comparison"},
    "at_least": frozenset(FIGURES[:4]),
    "difference": frozenset({"comparison"}),
}
_ASSUMED: Mapping[str, frozenset[PlannedFigure]] = {
    "value": frozenset({*FIGURES[:4], "ppi"}),
    "share": frozenset({"sensitivity", "specificity", "kappa", "ppi"}),
    "spread": frozenset({"mean", "comparison"}),
    "differing": frozenset({"comparison"}),
    "pool": frozenset({"ppi"}),
}
"""The figures that each assumption supports."""


def _check(options: PlanCall) -> None:
    for name, supported in (*_GOALS.items(), *_ASSUMED.items()):
        if getattr(options, name) is None:
            continue
        if options.figure not in supported:
            raise InputError(f"a plan for {options.figure} does not support {name}")
        if name in _ASSUMED and name != "pool" and options.run is not None:
            raise InputError(f"{name} is for a plan without a run: the run says it")
    if options.other is not None and options.figure != "comparison":
        raise InputError(f"a plan for {options.figure} goes by one run")
    for name in ("criterion", "groups"):
        if getattr(options, name) is not None and options.run is None:
            raise InputError(f"{name} is of a run: name one")


def _wanted(options: PlanCall) -> str:
    with_power = f"with a probability of {percent(options.power)}"
    if options.half_width is not None:
        goal = f"within {options.half_width:g} to either side"
    elif options.at_least is not None:
        goal = f"lower end {options.at_least:g} or above {with_power}"
    elif options.difference is not None:
        goal = f"a difference of {options.difference:g} found {with_power}"
    elif options.figure == "comparison":
        goal = f"the difference that is found {with_power}"
    else:
        goal = "what numbers of items give"
    return goal if options.items is None else f"{goal}; {options.items} items"


# How many


def _enough(design: Design, options: PlanCall) -> int | None:
    """The least number of items that does; None where even the most does not."""

    def does(simulations: int, n: int) -> bool:
        reached = design.at(n, simulations)
        if options.half_width is not None:
            return reached.half_width is not None and reached.half_width <= options.half_width
        return reached.power is not None and reached.power >= options.power

    most = _most(design)
    if not design.simulated:
        return _least(partial(does, 0), design.least, most, in_steps=design.in_steps)
    if options.half_width is not None:
        return _narrow_enough(design, options.half_width, _simulations(options))
    fewer = max(100, options.simulations // SEARCHED)
    n = _least(partial(does, fewer), design.least, most, near=NEAR)
    for _ in range(TRIES):
        if n is None or does(options.simulations, n):
            break
        n = math.ceil(n * (1 + NEAR))
    return n


def _least(
    reached: Callable[[int], bool],
    least: int,
    most: int,
    *,
    near: float = 0.0,
    in_steps: bool = False,
) -> int | None:
    """The least number from which on something is reached, at most `near` too high (as a share);
    None where `most` does not do.

    What rises like the teeth of a saw, as exact tests do, is looked at up to `SCANNED` times the
    number that is found first, and what comes after the last that does not do is taken.
    """
    low, high = least - 1, least
    while not reached(high):
        if high >= most:
            return None
        low, high = high, min(most, 2 * high + 1)
    while high - low > 1 + near * low:
        middle = (low + high) // 2
        low, high = (low, middle) if reached(middle) else (middle, high)
    if in_steps:
        for number in range(high + 1, min(most, math.ceil(SCANNED * high)) + 1):
            if not reached(number):
                high = number + 1
    return high


def _narrow_enough(design: Design, wanted: float, simulations: int) -> int | None:
    """`_least` of a simulated width, which falls by the root of the number, nearly.

    Where it falls otherwise, as of a figure that few items often leave undefined, the next number
    is taken between the greatest that was too few and the least that was enough.
    """
    few, enough, n = max(1, design.least - 1), MOST_SIMULATED + 1, 4 * LADDER[0]
    for _ in range(2 * TRIES):
        width = design.at(n, simulations).half_width
        nearer = 2 * n if width is None else math.ceil(n * (width / wanted) ** 2)
        if width is None or width > wanted:
            few = max(few, n)
        else:
            enough = min(enough, n)
        if min(nearer, enough) > MOST_SIMULATED:
            return None
        nearer = max(design.least, nearer)
        if n / (1 + NEAR) <= nearer <= n * (1 + NEAR):
            return nearer
        if enough <= few * (1 + NEAR) + 1:
            break
        n = nearer if few < nearer < enough else round(math.sqrt(few * enough))
    return enough if enough <= MOST_SIMULATED else None


def _simulations(options: PlanCall) -> int:
    if options.figure == "comparison" or options.at_least is not None:
        return options.simulations
    return max(100, options.simulations // SEARCHED)


def _most(design: Design) -> int:
    """The most items that are looked at."""
    if design.pool is not None:
        return design.pool
    return MOST_SIMULATED if design.simulated else MOST_ITEMS


def _point(design: Design, n: int | None, price: _Price, simulations: int) -> PlanPoint:
    reached = Reached()
    if n is not None and n >= design.least:
        reached = design.at(n, simulations)
    graded = n if design.pool is None else design.pool
    labels = None if n is None or not design.labels else round(n * design.labels)
    return PlanPoint(
        name=design.name,
        items=n,
        graded=design.pool,
        labels=labels,
        **price.of_items(None if n is None else graded, labels or 0),
        **asdict(reached),
    )


# What it costs


@dataclass(frozen=True)
class _Price:
    """What an item costs.

    Attributes:
        requests: for a graded item; None if not known.
        dollars: US dollars for these.
        label: US dollars for a label.
        source: where that is from, in words.
    """

    requests: float | None
    dollars: float | None
    label: float | None
    source: str

    @classmethod
    def of(cls, options: PlanCall) -> _Price:
        label = options.label_cost
        labels = "" if label is None else f", and {dollars(label)} a label"
        if options.run is None:
            alone = "labels alone" if label is not None else "not known without a run"
            return cls(None, 0.0 if label is not None else None, label, f"{alone}{labels}")
        runs = [run for run in (options.run, options.other) if run is not None]
        rows = [row for run in runs for row in run.rows]
        items = len({row.item for row in rows})  # both runs grade each item of a comparison
        wanted = (row for row in rows if options.criterion in (None, row.criterion))
        usage = Usage.total(row.usage for row in wanted)
        source = f"as the items of {' and '.join(str(run.path) for run in runs)}"
        if not usage.requests:
            source = f"the run of {runs[0].judge} took no request"
        elif usage.cost is None:
            source = "not known: the run has no price for its judge"
        each = None if usage.cost is None else usage.cost / items
        return cls(usage.requests / items, each, label, source + labels)

    def of_items(self, graded: int | None, labels: int) -> dict[str, Any]:
        """The requests and the cost of this many items and labels."""
        if graded is None:
            return {"requests": None, "cost": None}
        requests = None if self.requests is None else math.ceil(graded * self.requests)
        cost = None
        if self.dollars is not None:
            cost = graded * self.dollars + labels * (self.label or 0.0)
        return {"requests": requests, "cost": cost}
