"""The figures in the summary of a run."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Iterator
from typing import TYPE_CHECKING, Annotated, Literal, Protocol, TypeAlias

from pydantic import BaseModel, BeforeValidator, ConfigDict

from rubricate.views import STATUSES

if TYPE_CHECKING:
    from rubricate.run.results._results import ItemResult
    from rubricate.views import Table

TOLERANCE = 1e-9
"""How far a mean may be below its threshold and still reach it, because it is a sum of floats."""
Reached: TypeAlias = Literal["passed", "below", "undecided", "cannot tell"]
"""Whether a figure reaches its threshold: `undecided` if failed verdicts leave it open, `cannot
tell` if there are too few items to decide."""
ThresholdFigure: TypeAlias = Literal["mean", "confidence bound", "worst case"]
"""What is compared with a threshold: the mean (by a test), its lower confidence bound, or the
lowest value it could take if the missing verdicts were there."""


class Figures(BaseModel):
    """Base of all figures, which are immutable."""

    model_config = ConfigDict(frozen=True, defer_build=True)


class AgreementFigures(Figures):
    """Agreement of the judge with people, over pairs in which both gave an answer."""

    n: int
    """Pairs in which both the judge and a person gave an answer."""
    accuracy: float | None
    """The share of equal pairs; None for n = 0."""
    kappa: float | None
    """Cohen's kappa, with quadratic weights if the answers are ordered; None if undefined. Over
    several criteria it is stratified; see `StratifiedFigures`."""
    undefined: str | None = None
    """Why kappa is None."""


class StratifiedFigures(Figures):
    """How kappas over several criteria are made: those of all criteria, of judges and of stages."""

    estimator: str = "mean of the criteria's kappas, weighted by n"
    criteria: int
    """Criteria whose kappa is included."""
    left_out: int
    """Criteria without a kappa, because judge and people always gave one and the same answer."""


class CriterionFigures(Figures):
    """One criterion over all items."""

    name: str
    weight: float | None
    """None if items differ in it."""
    weight_range: tuple[float, float] | None = None
    """The lowest and the highest weight, if items differ in it."""
    only_number: bool = False
    """Whether the name is only a number in the items' own rubrics, which means another criterion in
    each item. Left out if false."""
    binary: bool
    """Whether its answers are MET and UNMET."""
    labels: dict[str, int]
    """How often each label was given, in the order of the criterion. Numbers from code or a metric
    are not listed one by one."""
    judged: int
    abstained: int
    not_applicable: int
    failed: int
    skipped: int = 0
    """Skipped, because what the criterion requires does not hold. Left out if there are no
    gates."""
    not_run: int = 0
    """Never asked, because the run ended early."""

    @property
    def verdicts(self) -> int:
        """All its verdicts."""
        return sum(getattr(self, status) for status in STATUSES)

    @property
    def unanswered(self) -> int:
        """Verdicts without an answer."""
        return self.failed + self.not_run

    value: float | None
    """The mean value of the judged verdicts, in [0, 1]."""
    agreement: AgreementFigures | None
    """None if no item has a human label."""
    judges_agree: float | None = None
    """The share of pairs of votes with the same answer; None if no two judges decided."""
    tied: int = 0
    """Verdicts whose votes were evenly split."""
    quotes: int = 0
    """Quotes of the judges, over all votes."""
    invented_quotes: int = 0
    """How many of them are not in the submission."""


class JudgeFigures(Figures):
    """One of several judges that vote."""

    name: str
    weight: float | None
    """The weight of its votes; None if all counted equally."""
    votes: dict[str, int]
    """The number of its votes by status."""
    with_verdict: float | None
    """The share of its votes that equal the final verdict; None for the only judge of a cascade's
    last stage, whose votes are the verdict."""
    agreement: AgreementFigures | None
    """Its agreement with the human labels."""
    score: float | None
    """The mean score by this judge alone; None after the first stage of a cascade."""
    scored: int = 0
    """The number of items in this mean."""
    cost: float | None
    """US dollars that its votes originally cost; None if unknown."""
    estimated_cost: float = 0.0
    """The estimated part of them."""
    seconds: float
    """Total waiting time of its votes."""
    quotes: int = 0
    """Quotes in its votes."""
    invented_quotes: int = 0
    """How many of them are not in the submission."""
    first_error: str | None = None
    """The error of its first failed vote, in the order of the dataset."""


class InventedQuotes(Figures):
    """A judge with quotes that are not in the submissions."""

    judge: str
    quotes: int
    """The number of its quotes."""
    invented: int
    """How many are not in the submission."""


class StageFigures(Figures):
    """One stage of a cascade."""

    name: str
    threshold: float | None
    """The minimum confidence to accept its verdict; None at the last stage."""
    asked: int
    """Criteria of items that reached it, without those that were not run."""
    decided: int
    """How many it decided. Verdicts that failed or wait for people count for no stage."""
    agreement: AgreementFigures | None
    """The agreement of its decided verdicts with the human labels."""
    cost: float | None
    """US dollars that its answers originally cost; None if unknown."""
    estimated_cost: float = 0.0
    """The estimated part of them."""


class ScoreFigures(Figures):
    """The mean over items."""

    mean: float | None
    """Mean score of the items that have one, or the declared aggregate."""
    lowest: float | None
    """The lowest value it could take if the missing verdicts were there."""
    highest: float | None
    """The highest value it could take."""
    scored: int
    """Items with a score."""
    coverage: float
    """Mean share of applicable criteria that were judged."""
    labelled: int = 0
    """Items scored by both the judge and people, who labelled every criterion."""
    judge_mean: float | None = None
    """Mean score of these items by the judge."""
    human_mean: float | None = None
    """Mean score of these items by the human labels."""
    penalty: float | None = None
    """Mean length penalty, included in all of these; None without a penalty."""
    reach: float | None = None
    """The most that one answer can change an item's score, on average over items (see
    `Rubric.largest_share`); None in runs of earlier versions."""


class CalibrationFigures(Figures):
    """The effect of a calibration on the verdicts of a run."""

    map: str
    """Its name and the start of its hash."""
    applied: int
    """Verdicts whose probability was mapped."""
    changed: int
    """How many of their labels changed."""


class CertificateFigures(Figures):
    """Whether judge, prompt and rubric match a certificate."""

    file: str
    holds: bool
    differences: list[str]
    """The differences, in words; empty if the certificate holds."""


class ThresholdCheck(Figures):
    """One figure and its threshold."""

    criterion: str | None
    """None for the score."""
    figure: Annotated[
        ThresholdFigure,
        BeforeValidator(lambda name: "worst case" if name == "lower bound" else name),
    ]
    """See `ThresholdFigure`; earlier versions called the worst case the lower bound."""
    threshold: float
    value: float | None
    """The figure, in [0, 1]; None if nothing was judged."""
    failed: int
    """How many of its verdicts failed."""
    lowest: float | None
    highest: float | None
    """The range that the mean could take if the missing verdicts were there."""
    outcome: Reached
    items: int = 0
    """The number of items in the mean."""
    confidence: tuple[float, float] | None = None
    """One-sided confidence bounds of the true mean; None if there are no honest ones."""
    items_needed: int | None = None
    """About how many such items would be enough, if these are too few."""
    asked_again: int = 0
    """With `--confirm`: how many verdicts that lower the figure were asked again."""
    held: int = 0
    """How many of those did not change."""

    def __str__(self) -> str:
        name = "score" if self.criterion is None else self.criterion
        what = name if self.figure == "mean" else f"{self.figure} of {name}"
        if self.value is None:
            missing = "there is no honest bound" if self.items else "nothing was judged"
            return f"{what}: {missing}"
        value = _distinct(self.value, self.threshold)
        if self.figure == "mean" and self.confidence is not None:
            ends = " to ".join(_distinct(end, self.threshold) for end in self.confidence)
            value += f" ({ends} by {self.items} items)"
        elif self.figure == "mean" and self.outcome == "cannot tell":
            value += f" (these {self.items} items give no interval)"
        if self.asked_again:
            value += f", of which {self.held} of {self.asked_again} verdicts held when asked again,"
        if self.outcome == "passed":
            return f"{what} {value} is not below {self.threshold:.10g}"
        if self.outcome == "below":
            return f"{what} {value} is below {self.threshold:.10g}"
        if self.outcome == "cannot tell":
            needed = self.items_needed
            more = "" if needed is None else f"; about {needed} such items would tell"
            return f"{what} {value} may be below {self.threshold:.10g} or not{more}"
        lowest, highest = (_distinct(end, self.threshold) for end in (self.lowest, self.highest))
        some = "1 verdict has" if self.failed == 1 else f"{self.failed} verdicts have"
        return (
            f"{what} {value} could be {lowest} to {highest}, since {some} no answer; the threshold "
            f"is {self.threshold:.10g}"
        )


def _distinct(value: float | None, threshold: float) -> str:
    """A figure with enough digits to distinguish it from its threshold."""
    if value is None:
        return "-"
    for digits in (2, 3, 4, 6):
        text = f"{value:.{digits}f}"
        if abs(value - threshold) <= TOLERANCE or abs(float(text) - threshold) > TOLERANCE:
            return text
    return repr(value)


class ThresholdOutcome(Figures):
    """The outcome of all thresholds."""

    outcome: Reached
    """`passed` if all are reached; `below` if any figure is below its threshold; else `undecided`
    if failed verdicts leave one open; else `cannot tell`."""
    checks: list[ThresholdCheck]

    def __str__(self) -> str:
        shown = [check for check in self.checks if check.outcome != "passed"] or self.checks
        words = {"passed": "reached", "below": "missed", "cannot tell": "unclear"}
        word = words.get(self.outcome, self.outcome)
        return f"Thresholds {word}: {'; '.join(map(str, shown))}"


def prompts_repeat(prompts: int, items: int) -> bool:
    """Whether items are grouped by prompt: there are several prompts, and some items share one."""
    return 1 < prompts < items


class PartTally(Protocol):
    """Collects the figures of one part of the summary, item by item, in any order."""

    def add(self, item: ItemResult) -> None:
        """Count an item."""
        ...

    def figures(self) -> SummaryPart | None:
        """The figures; None if there is nothing to show."""
        ...


class SummaryPart(Figures):
    """Figures that become a part of `Summary` by declaring a field `name: Part | None = None`."""

    @classmethod
    @abstractmethod
    def tally(cls) -> PartTally:
        """A new, empty tally for these figures."""

    @abstractmethod
    def facts(self) -> Iterator[tuple[str, str]]:
        """Their lines below the tables of the summary: a name and a text."""

    def tables(self) -> Iterator[Table]:
        """Their tables, below the table of criteria."""
        return iter(())
