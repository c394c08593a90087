"""How many labels and items a figure needs, and their cost."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from functools import partial

from scipy import special

from rubricate._spelling import unknown_word
from rubricate.analysis._finished import RunLike, finished_run
from rubricate.analysis.planning._designs import (
    PRECISE,
    Design,
    PlanCall,
    Reached,
    designs,
)
from rubricate.analysis.planning._options import FIGURES, PlannedFigure
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
"""Numbers of items that are shown in addition to the answer."""
SCANNED = 1.3
"""If the power is not monotonic, it is checked up to this multiple of the first sufficient
number."""
NEAR = 0.03
"""The relative difference below which a simulation cannot distinguish two numbers of items."""
MOST_WIDER = 8.0
"""By how much a search multiplies the items at once, because few items say little about many."""
SEARCHED = 4
"""Searches and mean widths use the number of simulations divided by this: a quarter of them gives a
mean width as precisely as all of them give a probability."""
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


@dataclass(frozen=True, slots=True)
class PlanPoint:
    """One plan and what it achieves.

    Attributes:
        name: the way to collect the data, or the assumption.
        items: the number of items that count: for agreement, items with a label. None if no number
            is sufficient.
        graded: the number of graded items, if larger.
        labels: the total number of human labels.
        requests: the number of requests to the judge; None if unknown.
        cost: US dollars for requests and labels; None if unknown.
        half_width, power, difference: what the items achieve; see `Reached`.
    """

    name: str
    items: int | None = None
    graded: int | None = None
    labels: int | None = None
    requests: int | None = None
    cost: float | None = None
    half_width: float | None = None
    power: float | None = None
    difference: float | None = None


@dataclass(frozen=True, slots=True)
class PlanReport(Report):
    """The number of items and labels that are needed; see `plan_report`.

    Attributes:
        figure: the planned figure.
        wanted: the goal, in words.
        answers: the plan that reaches it, for each way to collect the data; the main one first.
        others: what other numbers of items achieve, with the main way.
        how: the formula or the simulation, in words.
        simulations: the largest number of simulated data sets; None for a closed form.
        most: the largest number of items considered.
        assumed: the assumptions, by name.
        priced: the source of the cost, in words.
        run: the run behind the plan, if any.
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
        """The answers, what other numbers of items achieve, and the method."""
        what = _NAMES[self.figure]
        yield say(f"{what[0].upper()}{what[1:]}: {self.wanted}", "strong")
        if self.answers:
            yield self._table([(point.name, point) for point in self.answers])
        if self.others:
            title = "What other numbers give" if self.answers else None
            yield self._table([("", point) for point in self.others], title)
        if any(point.items is None for point in self.answers):
            yield say(f"{NONE}: not with {self.most} items.")
        assumed = ", ".join(f"{name} {value:.3g}" for name, value in self.assumed.items())
        times = "" if self.simulations is None else f", up to {self.simulations} times"
        yield say(f"By {self.how}{times}.{f' Assumed: {assumed}.' if assumed else ''}")
        yield say(f"Cost: {self.priced}.", "quiet")

    def _table(self, points: Sequence[tuple[str, PlanPoint]], title: str | None = None) -> Table:
        """One row per plan, the main answer in bold; both tables have the same columns."""
        every = (*self.answers, *self.others)
        columns = {
            heading: name
            for heading, name in _COLUMNS.items()
            if any(getattr(point, name) is not None for point in every)
        }
        rows = [
            Row(
                [name, *(_cell(point, column) for column in columns.values())],
                "strong" if name and not place else "",
            )
            for place, (name, point) in enumerate(points)
        ]
        return Table([Column("", is_text=True), *numbers(*columns)], rows, title)


def _cell(point: PlanPoint, name: str) -> str:
    value = getattr(point, name)
    if value is None:
        return NONE
    if name == "cost":
        return dollars(value)
    if name == "power":
        return ">99%" if 0.99 < value < 1 else percent(value)
    return figure(value, 3) if isinstance(value, float) else str(value)


class PlanReportCall(PlanCall, kw_only=False):
    """What `plan_report` is called with."""

    run: RunLike | None = None  # type: ignore[assignment]
    other: RunLike | None = None  # type: ignore[assignment]


@takes(PlanReportCall)
def plan_report(call: PlanReportCall) -> PlanReport:
    """Compute how many items and labels a figure needs, or what N items achieve.

    The goal is a `half_width` of an interval, or, with probability `power`, `at_least` (a lower end
    of an interval) or a `difference` (in a comparison). Set `items` for the opposite question: what
    do they achieve?

    A closed form is used if there is one (`stats.share_width` and its neighbours). Otherwise the
    answer is simulated, from the items or groups of the run, or from the assumptions. A run of
    fewer than 8 items, or groups, is refused, since they may be alike by chance.

        plan = plan_report("accuracy", value=0.85, half_width=0.05)
        plan.answers[0].labels  # 213

    Args:
        figure: `accuracy`, `sensitivity`, `specificity`, `kappa`, `mean`, `ppi` or `comparison`.
        run: a run to base the plan on, or its folder, with labels if the figure needs them.
        other: for a comparison, the second run of the same items.
        on_simulation: callback: `(items)`, before data sets of this size are simulated.

    Raises:
        InputError: an assumption is neither set nor available from the run, or a number is out of
            range.
    """
    if call.figure not in FIGURES:
        unknown = unknown_word("figure", call.figure, FIGURES)
        raise InputError(f"{unknown}; the figure comes first, then the run")
    runs = {name: run for name in ("run", "other") if (run := getattr(call, name)) is not None}
    runs = {name: finished_run(run) for name, run in runs.items()}
    options = PlanCall(**{**vars(call), **runs})
    _check(options)
    ways, (requests, cost, source) = designs(options), _price_of(options)
    main, simulations = ways[0], _simulations(options)
    point = partial(_point, requests=requests, cost=cost, label_cost=options.label_cost or 0.0)
    has_goal = any(getattr(options, name) is not None for name in _GOALS)
    answers = []
    for design in ways if has_goal or options.items is not None else ():
        n = _enough(design, options) if options.items is None else options.items
        answers.append(point(design, n, simulations))
    others = [
        point(main, n, _fewer(options))
        for n in (LADDER[:-1] if main.simulated else LADDER)
        if main.least <= n <= main.most and all(n != answer.items for answer in answers[:1])
    ]
    return PlanReport(
        figure=options.figure,
        wanted=_wanted(options),
        answers=tuple(answers),
        others=tuple(others),
        how=main.how,
        simulations=simulations if main.simulated else None,
        most=main.most,
        assumed=dict(main.assumed or {}),
        priced=source,
        run=None if options.run is None else str(options.run.path),
    )


_GOALS: Mapping[str, frozenset[PlannedFigure]] = {
    "half_width": frozenset(FIGURES) - {"comparison"},
    "at_least": frozenset(FIGURES[:4]),
    "difference": frozenset({"comparison"}),
}
_ASSUMPTIONS: Mapping[str, frozenset[PlannedFigure]] = {
    "value": frozenset({*FIGURES[:4], "ppi"}),
    "share": frozenset({"sensitivity", "specificity", "kappa", "ppi"}),
    "spread": frozenset({"mean", "comparison"}),
    "differing": frozenset({"comparison"}),
    "pool": frozenset({"ppi"}),
}
"""The figures that each goal and each assumption supports."""


def _check(options: PlanCall) -> None:
    for name, supported in (*_GOALS.items(), *_ASSUMPTIONS.items()):
        if getattr(options, name) is None:
            continue
        if options.figure not in supported:
            raise InputError(f"a plan for {options.figure} does not support {name}")
        if name in _ASSUMPTIONS and name != "pool" and options.run is not None:
            raise InputError(
                f"{name} is for a plan without a run: leave it out, because the run shows it"
            )
    if options.other is not None and options.figure != "comparison":
        raise InputError(f"a plan for {options.figure} takes one run")
    for name in ("criterion", "groups"):
        if getattr(options, name) is not None and options.run is None:
            raise InputError(f"{name} needs a run: name its folder")


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


# Numbers of items


def _enough(design: Design, options: PlanCall) -> int | None:
    """The smallest number of items that reaches the goal; None if even the largest does not."""

    def is_enough(simulations: int, n: int) -> bool:
        reached = design.at(n, simulations)
        if options.half_width is not None:
            return reached.half_width is not None and reached.half_width <= options.half_width
        return reached.power is not None and reached.power >= options.power

    if not design.simulated:
        return _fewest(partial(is_enough, 0), design.least, design.most, in_steps=design.in_steps)
    width, wanted = _width_of(design, options), options.half_width
    if wanted is None:
        wanted = _as_width(options.power, options)
    else:  # the simulated width may be too small by its error, so a slightly smaller one is needed
        wanted /= 1 + PRECISE
    # a power from few data sets is rough, so nothing is gained by a longer search with them
    is_rough = options.half_width is None
    n = _narrow_enough(partial(width, _fewer(options)), wanted, design, is_rough=is_rough)
    too_few, enough = 0, design.most + 1  # missed with the one, reached with the other
    while n is not None:
        factor = (width(_simulations(options), n) / wanted) ** 2  # a width falls as 1 / sqrt(n)
        if factor > 1:
            too_few, n = n, math.ceil(n * min(max(factor, 1 + NEAR), MOST_WIDER))
            if n >= enough or too_few == design.most:
                break
            n = min(n, design.most)
        else:
            enough, n = n, math.ceil(n * factor)
            if n * (1 + NEAR) >= enough or n <= too_few * (1 + NEAR):
                break
    return enough if enough <= design.most else None


def _width_of(design: Design, options: PlanCall) -> Callable[[int, int], float]:
    """The width from a number of simulations and of items; for a power, that of `_as_width`."""

    def width(simulations: int, n: int) -> float:
        reached = design.at(n, simulations)
        if options.half_width is None:
            least = 0.5 / simulations
            power = min(max(reached.power or 0.0, least), 1 - least)
            return _as_width(power, options)
        return math.inf if reached.half_width is None else reached.half_width

    return width


def _as_width(power: float, options: PlanCall) -> float:
    """A power as a width, which falls with the square root of the items as well.

    An estimate with the standard error `s / sqrt(n)` has the power `Phi(d sqrt(n) / s - z)` to be
    `z` standard errors on the right side of a bound that is `d` away.
    """
    tail = options.significance if options.figure == "comparison" else 1 - options.confidence
    away = float(special.ndtri(power) - special.ndtri(tail / 2))
    return 1 / away if away > 0 else math.inf


def _fewest(
    is_enough: Callable[[int], bool],
    least: int,
    most: int,
    *,
    in_steps: bool = False,
) -> int | None:
    """The smallest number from which on a goal is reached; None if even `most` is too small.

    Args:
        is_enough: whether a number reaches the goal.
        least, most: the range to search.
        in_steps: whether a number above the first sufficient one may be insufficient again, as for
            exact tests. The answer is then the number after the last insufficient one, up to
            `SCANNED` times the first.
    """
    low, high = least - 1, least
    while not is_enough(high):
        if high >= most:
            return None
        low, high = high, min(most, 2 * high + 1)
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (low, middle) if is_enough(middle) else (middle, high)
    if in_steps:
        for number in range(high + 1, min(most, math.ceil(SCANNED * high)) + 1):
            if not is_enough(number):
                high = number + 1
    return high


def _narrow_enough(
    width_of: Callable[[int], float], wanted: float, design: Design, *, is_rough: bool = False
) -> int | None:
    """Approximately the smallest number of items with a simulated width, a power of their number.

    The search starts with the numbers that are shown in addition, because these are simulated in
    any case, and continues between the largest insufficient and the smallest sufficient one. A
    rough answer is a number between the first two of these.
    """
    few, too_wide = max(1, design.least - 1), math.inf
    shown = [n for n in LADDER[:-1] if n > few]
    while True:
        wider = MOST_WIDER if too_wide == math.inf else (too_wide / wanted) ** 2  # ~ sqrt(n)
        enough = shown.pop(0) if shown else math.ceil(few * min(max(wider, 1 + NEAR), MOST_WIDER))
        if few >= design.most:
            return None
        enough = min(enough, design.most)
        narrow = width_of(enough)
        if narrow <= wanted:
            break
        few, too_wide = enough, narrow
    while enough > few * (1 + NEAR) + 1:
        share = 0.5
        if too_wide < math.inf:
            share = math.log(too_wide / wanted) / math.log(too_wide / narrow)
        between = few * (enough / few) ** share
        n = int(min(max(between, few * (1 + NEAR)), enough / (1 + NEAR)))
        n = min(max(n, few + 1), enough - 1)
        if is_rough:
            return n
        width = width_of(n)
        if width <= wanted:
            enough, narrow = n, width
        else:
            few, too_wide = n, width
    return enough


def _fewer(options: PlanCall) -> int:
    return max(100, options.simulations // SEARCHED)


def _simulations(options: PlanCall) -> int:
    """The number of simulations for an answer; fewer for a width."""
    needs_all = options.figure == "comparison" or options.at_least is not None
    return options.simulations if needs_all else _fewer(options)


def _point(
    design: Design,
    n: int | None,
    simulations: int,
    *,
    requests: float | None,
    cost: float | None,
    label_cost: float,
) -> PlanPoint:
    """What N items achieve and cost; `requests` and `cost` are per graded item."""
    if n is None:
        return PlanPoint(design.name, graded=design.pool)
    graded, labels = design.pool or n, round(n * design.labels)
    return PlanPoint(
        design.name,
        items=n,
        graded=design.pool,
        labels=labels or None,
        requests=None if requests is None else math.ceil(graded * requests),
        cost=None if cost is None else graded * cost + labels * label_cost,
        **asdict(design.at(n, simulations) if n >= design.least else Reached()),
    )


# Cost


def _price_of(options: PlanCall) -> tuple[float | None, float | None, str]:
    """Requests and US dollars per graded item, None if unknown, and their source in words."""
    label = "" if options.label_cost is None else f", and {dollars(options.label_cost)} a label"
    if options.run is None:
        if not label:
            return None, None, "not known without a run"
        return None, 0.0, f"labels alone{label}"
    runs = [run for run in (options.run, options.other) if run is not None]
    rows = [row for run in runs for row in run.rows]
    items = len({row.item for row in rows})  # in a comparison, both runs grade each item
    counted = (row for row in rows if options.criterion in (None, row.criterion))
    usage = Usage.total(row.usage for row in counted)
    source = f"as the items of {' and '.join(str(run.path) for run in runs)}"
    if not usage.requests:
        source = f"the run of {runs[0].judge} sent no requests"
    elif usage.cost is None:
        source = "not known: the run has no price for its judge"
    cost = None if usage.cost is None else usage.cost / items
    return usage.requests / items, cost, source + label
