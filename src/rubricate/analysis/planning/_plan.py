"""How many labels, items, replicates and judges it takes, and what they cost."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from functools import partial

from rubricate.analysis._finished import FinishedRun
from rubricate.analysis.planning._figures import Design, Reached, designs
from rubricate.analysis.planning._options import FIGURES, PlannedFigure, PlanOptions
from rubricate.errors import InputError
from rubricate.judge.models import price_of, read_prices
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
MOST, MOST_SIMULATED = 10**6, 20_000
"""Items beyond which no answer is looked for."""
SCANNED = 1.3
"""Times the number found first that a power in steps is looked at."""
NEAR = 1.03
"""Numbers of items so near each other are the same to a simulation."""
SEARCHED = 4
"""While an answer is looked for, one in so many simulations is made."""
ASKED_AGAIN = 6


@dataclass(frozen=True, slots=True)
class PlanPoint:
    """One plan, and what it gives.

    Attributes:
        name: which way of doing it, or what is taken for true.
        items: items that count: with a label, for figures of agreement. None where no number of
            items is enough.
        graded: items that the judge grades.
        labels: labels that people give, in all.
        judges, replicates: who is asked about each item, and how often each.
        requests: to the judges; None where nothing is known of them.
        cost: US dollars, of requests and labels; None where it is not known.
        half_width: how far the interval reaches to either side, on average.
        power: the probability of what is wanted.
        difference: the true difference that a comparison finds with the power that is wanted.
        stands: the share of a cascade's verdicts that stand, on average.
    """

    name: str
    items: int | None
    graded: int | None
    labels: int | None
    judges: int
    replicates: int
    requests: int | None
    cost: float | None
    half_width: float | None
    power: float | None
    difference: float | None
    stands: float | None


@dataclass(frozen=True, slots=True)
class PlanReport(Report):
    """What it takes; see `plan_report`.

    Attributes:
        figure: what is planned for.
        wanted: what is to be reached, or with what, in words.
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
        return f"A plan for {_WORDS[self.figure]}"

    def sections(self) -> Iterator[Section]:
        """The answers, what other numbers give, and how it was found."""
        every = (*self.answers, *self.others)
        kinds = [
            (heading, name)
            for heading, name in _COLUMNS
            if any(getattr(point, name) not in (None, _USUAL.get(name)) for point in every)
        ]
        columns = [Column("", is_text=True), *numbers(*(heading for heading, _ in kinds))]
        what = _WORDS[self.figure]
        yield say(f"{what[0].upper()}{what[1:]}: {self.wanted}", "strong")
        if self.answers:
            yield Table(
                columns,
                [
                    Row(
                        [point.name, *(_cell(point, name) for _, name in kinds)],
                        "" if place else "strong",
                    )
                    for place, point in enumerate(self.answers)
                ],
            )
        if self.others:
            yield Table(
                columns,
                [Row(["", *(_cell(point, name) for _, name in kinds)]) for point in self.others],
                "What other numbers give" if self.answers else None,
            )
        if any(point.items is None for point in self.answers):
            yield say(f"{NONE}: not with {self.most} items.")
        assumed = ", ".join(f"{name} {value:.3g}" for name, value in self.assumed.items())
        times = "" if self.simulations is None else f", {self.simulations} times"
        yield say(f"By {self.how}{times}.{f' Taken for true: {assumed}.' if assumed else ''}")
        yield say(f"Cost: {self.priced}.", "quiet")


_WORDS: Mapping[PlannedFigure, str] = {
    "accuracy": "the accuracy",
    "sensitivity": "the sensitivity",
    "specificity": "the specificity",
    "kappa": "Cohen's kappa",
    "agreement": "people's agreement (Krippendorff's alpha)",
    "mean": "a mean score",
    "ppi": "a prediction-powered mean",
    "comparison": "a comparison",
    "cascade": "a cascade's threshold",
}
_COLUMNS = (
    ("judges", "judges"),
    ("answers each", "replicates"),
    ("items", "items"),
    ("graded", "graded"),
    ("labels", "labels"),
    ("requests", "requests"),
    ("cost", "cost"),
    ("+/-", "half_width"),
    ("power", "power"),
    ("found", "difference"),
    ("stand", "stands"),
)

_USUAL = {"judges": 1, "replicates": 1}
"""What is not shown where all plans have it."""


def _cell(point: PlanPoint, name: str) -> str:
    value = getattr(point, name)
    if value is None:
        return NONE
    if name == "cost":
        return dollars(value)
    if name in ("power", "stands"):
        return ">99%" if 0.99 < value < 1 else percent(value)
    return figure(value, 3) if isinstance(value, float) else str(value)


class PlanCall(PlanOptions, kw_only=False):
    """What `plan_report` is called with."""

    figure: PlannedFigure
    run: FinishedRun | None = None
    other: FinishedRun | None = None


@takes(PlanCall)
def plan_report(options: PlanCall) -> PlanReport:
    """How many items and labels a figure takes, and what so many give.

    What is wanted is `half_width` (an interval), `at_least` (a certificate: an interval's lower
    end), `difference` (of a comparison) or a cascade's `promise`, the last three with the
    probability `power`. With `items` or `budget` it is the other way round: what these give.

    By a closed form where there is one (`stats.share_width` and its neighbours), else by
    simulation: of the run, whose items are drawn again and again, or of what is assumed. A run
    says what is to be expected; a small one says it roughly.

    Args:
        figure: `accuracy`, `sensitivity`, `specificity`, `kappa`, `agreement` (people's among
            themselves), `mean`, `ppi`, `comparison` or `cascade`.
        run: a run to go by, from `read_run`, with labels where the figure needs them.
        other: of a comparison, the second run of the same items.

    Raises:
        InputError: what must be assumed is neither given nor in the run, or a number is out of
            range.
    """
    if options.figure not in FIGURES:
        raise InputError(f"no plan for '{options.figure}': there is {', '.join(FIGURES)}")
    _check(options)
    found = designs(options.figure, options, options.run, options.other)
    price = _Price.of(options)
    main = found[0]
    given = options.items is not None or options.budget is not None
    plain = not given and options.figure != "cascade" and _goal_of(options) is None
    answers: list[PlanPoint] = []
    for one in () if plain else found:
        n = options.items
        if options.budget is not None:
            n = price.affordable(one, options.budget)
        if not given:
            n = _enough(one, options)
        answers.append(_point(one, n, options, price))
    most = None if main.pool is None else main.pool
    others = [
        _point(main, n, options, price, simulations=max(100, options.simulations // SEARCHED))
        for n in (LADDER[:-1] if main.simulated else LADDER)
        if n >= main.least
        and (most is None or n <= most)
        and all(n != answer.items for answer in answers[:1])
    ]
    return PlanReport(
        figure=options.figure,
        wanted=_wanted(options),
        answers=tuple(answers),
        others=tuple(others),
        how=main.how,
        simulations=_simulations(options) if main.simulated else None,
        most=_most(main),
        assumed=dict(main.assumed or {}),
        priced=price.told,
        run=None if options.run is None else str(options.run.path),
    )


_GOALS: Mapping[str, frozenset[PlannedFigure]] = {
    "half_width": frozenset(FIGURES) - {"comparison", "cascade"},
    "at_least": frozenset({"accuracy", "sensitivity", "specificity", "kappa"}),
    "difference": frozenset({"comparison"}),
}
_ASSUMED: Mapping[str, frozenset[PlannedFigure]] = {
    "value": frozenset({"accuracy", "sensitivity", "specificity", "kappa", "agreement", "ppi"}),
    "share": frozenset({"sensitivity", "specificity", "kappa", "agreement", "ppi"}),
    "spread": frozenset({"mean", "comparison"}),
    "noise": frozenset({"mean"}),
    "differing": frozenset({"comparison"}),
    "pool": frozenset({"ppi"}),
}
"""Of what is assumed, the figures to which it says something."""
OF_RUNS = frozenset({"pool"})
"""Of that, what may be given beside a run."""


def _check(options: PlanCall) -> None:
    for name, of in (*_GOALS.items(), *_ASSUMED.items()):
        if getattr(options, name) is None:
            continue
        if options.figure not in of:
            raise InputError(f"{name} says nothing to a plan for {options.figure}")
        if name in _ASSUMED and options.run is not None and name not in OF_RUNS:
            raise InputError(f"{name} is for a plan without a run: the run says it")
    if options.other is not None and options.figure != "comparison":
        raise InputError(f"a plan for {options.figure} goes by one run")
    for name in ("criterion", "groups", "judge"):
        if getattr(options, name) is not None and options.run is None:
            raise InputError(f"{name} is of a run: name one")


def _goal_of(options: PlanOptions) -> float | None:
    return next((value for name in _GOALS if (value := getattr(options, name)) is not None), None)


def _wanted(options: PlanCall) -> str:
    with_power = f"with a probability of {percent(options.power)}"
    if options.figure == "cascade":
        goal = (
            f"agreement of {percent(options.promise)} at a risk of {percent(options.risk)}, found "
            f"{with_power}"
        )
    elif options.half_width is not None:
        goal = f"within {options.half_width:g} to either side"
    elif options.at_least is not None:
        goal = f"lower end {options.at_least:g} or above {with_power}"
    elif options.difference is not None:
        goal = f"a difference of {options.difference:g} found {with_power}"
    else:
        goal = "what numbers of items give"
        if options.figure == "comparison":
            goal = f"the difference that is found {with_power}"
    if options.items is not None:
        goal += f"; {options.items} items"
    if options.budget is not None:
        goal += f"; {dollars(options.budget)}"
    return goal


# How many


def _enough(design: Design, options: PlanCall) -> int | None:
    """The least number of items that does; None where even the most does not."""

    def does(simulations: int, n: int) -> bool:
        return _does(design.at(n, simulations), options)

    if not design.simulated:
        most = _most(design)
        return _least(partial(does, 0), design.least, most, in_steps=design.in_steps)
    fewer = max(100, options.simulations // SEARCHED)
    if options.half_width is not None:
        return _narrow_enough(design, options.half_width, _simulations(options))
    low, high = 1, 2 * LADDER[0]
    while not does(fewer, high):
        if high >= MOST_SIMULATED:
            return None
        low, high = high, min(MOST_SIMULATED, 2 * high)
    while high > NEAR * low + 1:
        middle = round(math.sqrt(low * high)) if low > 1 else (low + high) // 2
        low, high = (low, middle) if does(fewer, middle) else (middle, high)
    for _ in range(ASKED_AGAIN):
        if does(options.simulations, high):
            break
        high = math.ceil(high * NEAR)
    return high


def _least(reached: Callable[[int], bool], least: int, most: int, *, in_steps: bool) -> int | None:
    """The least number from which on something is reached; None where `most` does not do.

    What rises in a saw's teeth, as exact tests do, is looked at up to `SCANNED` times the number
    that is found first, and what comes after the last that does not do is taken.
    """
    low, high = least - 1, least
    while not reached(high):
        if high >= most:
            return None
        low, high = high, min(most, 2 * high + 1)
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (low, middle) if reached(middle) else (middle, high)
    if in_steps:
        for number in range(high + 1, min(most, math.ceil(SCANNED * high)) + 1):
            if not reached(number):
                high = number + 1
    return high


def _narrow_enough(design: Design, wanted: float, simulations: int) -> int | None:
    """`_enough` of a simulated width, which falls by the root of the number, nearly.

    Where it falls otherwise, as of a figure that few items often leave undefined, the next number
    is taken between the greatest that was too few and the least that was enough.
    """
    few, enough, n = max(1, design.least - 1), MOST_SIMULATED + 1, 4 * LADDER[0]
    for _ in range(2 * ASKED_AGAIN):
        found = design.at(n, simulations).half_width
        nearer = 2 * n if found is None else math.ceil(n * (found / wanted) ** 2)
        if found is None or found > wanted:
            few = max(few, n)
        else:
            enough = min(enough, n)
        if min(nearer, enough) > MOST_SIMULATED:
            return None
        nearer = max(design.least, nearer)
        if n / NEAR <= nearer <= n * NEAR:
            return nearer
        if enough <= few * NEAR + 1:
            break
        n = nearer if few < nearer < enough else round(math.sqrt(few * enough))
    return enough if enough <= MOST_SIMULATED else None


def _simulations(options: PlanCall) -> int:
    """How many: a mean width needs fewer than a probability."""
    if options.figure in ("comparison", "cascade") or options.at_least is not None:
        return options.simulations
    return max(100, options.simulations // SEARCHED)


def _most(design: Design) -> int:
    """The most items that are looked at."""
    if design.pool is not None:
        return design.pool
    return MOST_SIMULATED if design.simulated else MOST


def _does(reached: Reached, options: PlanOptions) -> bool:
    if options.half_width is not None:
        return reached.half_width is not None and reached.half_width <= options.half_width
    return reached.power is not None and reached.power >= options.power


def _point(
    design: Design,
    n: int | None,
    options: PlanCall,
    price: _Price,
    *,
    simulations: int | None = None,
) -> PlanPoint:
    reached = Reached()
    if n is not None and n >= design.least:
        reached = design.at(n, simulations or _simulations(options))
    graded = design.pool if design.pool is not None else n
    labels = None if n is None or not design.labels else round(n * design.labels)
    return PlanPoint(
        name=design.name,
        items=n,
        graded=None if design.pool is None else graded,
        labels=labels,
        judges=design.judges,
        replicates=design.replicates,
        requests=None if n is None else price.requests(design, n),
        cost=None if n is None else price.cost(design, n),
        half_width=reached.half_width,
        power=reached.power,
        difference=reached.difference,
        stands=reached.stands,
    )


# What it costs


@dataclass(frozen=True)
class _Price:
    """What an item costs.

    Attributes:
        asked: requests for an answer of one judge to all criteria of an item; None if not known.
        dollars: US dollars for these.
        label: US dollars for a label.
        told: where that is from, in words.
    """

    asked: float | None
    dollars: float | None
    label: float | None
    told: str

    @classmethod
    def of(cls, options: PlanCall) -> _Price:
        label = options.label_cost
        labels = "" if label is None else f", and {dollars(label)} a label"
        if options.run is None:
            alone = "labels alone" if label is not None else "not known without a run"
            return cls(None, 0.0 if label is not None else None, label, f"{alone}{labels}")
        runs = [one for one in (options.run, options.other) if one is not None]
        usages = [_usage(one, options.criterion) for one in runs]
        answers = sum(count for count, _ in usages) / len(runs)
        usage = sum((used for _, used in usages), Usage())
        if not usage.requests or not answers:
            told = f"the run of {runs[0].judge} took no request"
            return cls(0.0, usage.cost and usage.cost / answers, label, told + labels)
        told = f"as the answers of {' and '.join(str(one.path) for one in runs)}"
        cost = usage.cost
        if options.judge is not None:
            prices = None if options.prices is None else read_prices(options.prices)
            cost = price_of(options.judge, usage, prices)
            told = f"the tokens of {runs[0].path} at the prices of {options.judge}"
            if cost is None:
                raise InputError(f"the price of '{options.judge}' is not known: give --prices FILE")
        if cost is None:
            told = "not known: the run has no price for its judge; name one with --judge"
        return cls(
            usage.requests / answers, None if cost is None else cost / answers, label, told + labels
        )

    def requests(self, design: Design, n: int) -> int | None:
        """Of all items."""
        if self.asked is None:
            return None
        graded = n if design.pool is None else design.pool
        return math.ceil(graded * design.judges * design.replicates * self.asked)

    def cost(self, design: Design, n: int) -> float | None:
        """Of all items and labels."""
        if self.dollars is None:
            return None
        graded = n if design.pool is None else design.pool
        of_labels = (self.label or 0.0) * round(n * design.labels)
        return graded * design.judges * design.replicates * self.dollars + of_labels

    def affordable(self, design: Design, budget: float) -> int:
        """How many items a budget is enough for.

        Raises:
            InputError: nothing costs anything, the cost is not known, or it is too little.
        """
        one, two = self.cost(design, 10**6), self.cost(design, 2 * 10**6)
        if one is None or two is None:
            raise InputError(f"what a budget gives cannot be told; cost: {self.told}")
        each = (two - one) / 10**6
        fixed = one - each * 10**6
        if each <= 0:
            raise InputError("a budget has no bounds here: an item costs nothing (--label-cost?)")
        n = math.floor((budget - fixed) / each + 1e-9)
        if n < design.least:
            raise InputError(
                f"{dollars(budget)} is not enough for {design.least} items: they cost "
                f"{dollars(self.cost(design, design.least))}"
            )
        return min(n, MOST_SIMULATED if design.simulated else MOST)


def _usage(run: FinishedRun, criterion: str | None) -> tuple[int, Usage]:
    """How often an item was answered for, over all items, and what that took."""
    answers, total = 0, Usage()
    for rows in run.item_rows():
        answers += max(len(row.votes) or 1 for row in rows)
        total += Usage.total(row.usage for row in rows if criterion in (None, row.criterion))
    return answers, total
