"""The figures that a run's summary is made of."""

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
"""How far a mean may be below its threshold and reach it: the mean is a sum of floats."""
Reached: TypeAlias = Literal["passed", "below", "undecided", "cannot tell"]
"""Whether a figure reaches its threshold; undecided where failed verdicts leave it open, `cannot
tell` where so few items could come out on either side."""
ThresholdFigure: TypeAlias = Literal["mean", "confidence bound", "worst case"]
"""What is held against a threshold: the mean by a test, its lower confidence bound, or the least
that it could be had the missing verdicts come."""


class Figures(BaseModel):
    """Figures that do not change once they are counted."""

    model_config = ConfigDict(frozen=True, defer_build=True)


class AgreementFigures(Figures):
    """Agreement of the judge's answers with people's, over pairs in which both decided."""

    n: int
    """Pairs in which the judge and a person both gave an answer that counts."""
    accuracy: float | None
    """The share of equal pairs; None for n = 0, and of answers that are numbers."""
    kappa: float | None
    """Cohen's kappa, with squared distances where the answers are in order; None where undefined.
    Over several criteria the stratified one; see `StratifiedFigures`."""
    undefined: str | None = None
    """Why kappa is None."""


class StratifiedFigures(Figures):
    """What the kappas over several criteria are: those of all criteria, of judges and of stages."""

    estimator: str = "mean of the criteria's kappas, weighted by n"
    criteria: int
    """Criteria whose kappa is in that of all."""
    left_out: int
    """Criteria without one: judge and people gave one and the same answer throughout."""


class CriterionFigures(Figures):
    """One criterion over all items."""

    name: str
    weight: float | None
    """None where it is not the same for all items."""
    weight_range: tuple[float, float] | None = None
    """The lowest and the highest weight, where items differ in it."""
    only_number: bool = False
    """Whether the name is nothing but a number in the items' own rubrics, under which each item
    has another criterion; there where it is."""
    binary: bool
    """Whether its answers are MET and UNMET."""
    labels: dict[str, int]
    """How often each label was given, in the criterion's own order; numbers that code or a metric
    gave are not counted one by one."""
    judged: int
    abstained: int
    not_applicable: int
    failed: int
    skipped: int = 0
    """Not asked for, because what the criterion requires does not hold; there where gates are."""
    not_run: int = 0
    """Not asked for, because the run ended early."""

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
    """None where no item has a human label."""
    judges_agree: float | None = None
    """The share of pairs of votes that are the same answer; None where no two judges decided."""
    tied: int = 0
    """Verdicts whose votes were evenly split."""
    quotes: int = 0
    """Quotes of the judges, of all votes together."""
    invented_quotes: int = 0
    """Those of them that are not in the submission."""


class JudgeFigures(Figures):
    """One judge of several that vote."""

    name: str
    weight: float | None
    """How much its votes counted; None where all counted alike."""
    votes: dict[str, int]
    """How many of its votes have each status."""
    with_verdict: float | None
    """The share of its votes that are the verdict that all votes came to; None for the only judge
    of a cascade's last stage, whose votes are the verdict by construction."""
    agreement: AgreementFigures | None
    """With the human labels."""
    score: float | None
    """The mean score that it alone would give; None behind the first stage of a cascade."""
    scored: int = 0
    """Items that this mean is of."""
    cost: float | None
    """US dollars that its votes took when they were asked for; None where not known."""
    estimated_cost: float = 0.0
    """Those of them that are an estimate."""
    seconds: float
    """Waiting time of its votes, added up."""
    quotes: int = 0
    """Quotes in its votes."""
    invented_quotes: int = 0
    """Those of them that are not in the submission."""
    first_error: str | None = None
    """Why its first vote failed, in the dataset's order, if one did."""


class InventedQuotes(Figures):
    """A judge that quotes what submissions do not say."""

    judge: str
    quotes: int
    """All its quotes."""
    invented: int
    """Those that are not in the submission."""


class StageFigures(Figures):
    """One stage of a cascade."""

    name: str
    threshold: float | None
    """The least confidence with which its verdict is accepted; None at the last stage."""
    asked: int
    """Criteria of items that came to it, failures not run left out."""
    decided: int
    """Those whose verdict is its own; one that failed, or waits for people, is nobody's."""
    agreement: AgreementFigures | None
    """With the human labels, of the verdicts that are its own."""
    cost: float | None
    """US dollars that its judges' answers took when they were asked for; None where not known."""
    estimated_cost: float = 0.0
    """Those of them that are an estimate."""


class ScoreFigures(Figures):
    """The mean over items."""

    mean: float | None
    """Mean score of the items that have one; where the scoring declares another aggregate, that."""
    lowest: float | None
    """The least that it could have been had the missing verdicts come."""
    highest: float | None
    """The most that it could have been."""
    scored: int
    """Items with a score."""
    coverage: float
    """Mean share of applicable criteria that were judged."""
    labelled: int = 0
    """Items that have a score both by the judge and by people: a label on every criterion."""
    judge_mean: float | None = None
    """Mean score of these items by the judge."""
    human_mean: float | None = None
    """Mean score of these items by the human labels."""
    penalty: float | None = None
    """Mean length penalty, which is in all of these; None where length costs nothing."""


class CalibrationFigures(Figures):
    """What a calibration did to a run's verdicts."""

    map: str
    """Its name and the beginning of its hash."""
    applied: int
    """Verdicts whose probability it mapped."""
    changed: int
    """Those whose label it changed."""


class CertificateFigures(Figures):
    """Whether judge, prompt and rubric are those of a certificate."""

    file: str
    holds: bool
    differences: list[str]
    """What is not as certified, in words; empty where the certificate holds."""


class ThresholdCheck(Figures):
    """One figure with its threshold."""

    criterion: str | None
    """None for the score."""
    figure: Annotated[
        ThresholdFigure,
        BeforeValidator(lambda name: "worst case" if name == "lower bound" else name),
    ]
    """See `ThresholdFigure`; earlier versions called the worst case the lower bound."""
    threshold: float
    value: float | None
    """The figure, in [0, 1]; None where nothing was judged."""
    failed: int
    """The verdicts in it that failed."""
    lowest: float | None
    highest: float | None
    """The least and the most that the mean could be had the missing verdicts come."""
    outcome: Reached
    items: int = 0
    """The items that the mean is of."""
    confidence: tuple[float, float] | None = None
    """One-sided confidence bounds of the true mean; None where there are no honest ones."""
    items_needed: int | None = None
    """About how many such items would tell, where these cannot."""
    asked_again: int = 0
    """With `--confirm`: how many of the verdicts that lower the figure were asked about again."""
    held: int = 0
    """How many of those were given as before."""

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
    """A figure with as many digits as tell it from its threshold."""
    if value is None:
        return "-"
    for digits in (2, 3, 4, 6):
        text = f"{value:.{digits}f}"
        if abs(value - threshold) <= TOLERANCE or abs(float(text) - threshold) > TOLERANCE:
            return text
    return repr(value)


class ThresholdOutcome(Figures):
    """What became of all thresholds."""

    outcome: Reached
    """`passed` if all are reached, `below` if a figure is below its threshold, else `undecided` if
    failed verdicts leave one open, else `cannot tell`."""
    checks: list[ThresholdCheck]

    def __str__(self) -> str:
        shown = [check for check in self.checks if check.outcome != "passed"] or self.checks
        words = {"passed": "reached", "below": "missed", "cannot tell": "unclear"}
        word = words.get(self.outcome, self.outcome)
        return f"Thresholds {word}: {'; '.join(map(str, shown))}"


class PartTally(Protocol):
    """The figures of one matter, added up as items come, in any order."""

    def add(self, item: ItemResult) -> None:
        """Count an item in."""
        ...

    def figures(self) -> SummaryPart | None:
        """What has come together; None where there is nothing to say."""
        ...


class SummaryPart(Figures):
    """Figures that are a field of `Summary`: `name: Part | None = None`, and need no more there."""

    @classmethod
    @abstractmethod
    def tally(cls) -> PartTally:
        """What adds them up, with nothing in it yet."""

    @abstractmethod
    def facts(self) -> Iterator[tuple[str, str]]:
        """The lines below the summary's tables that show them: a name, and what is said."""

    def tables(self) -> Iterator[Table]:
        """The tables that show them, below those of criteria."""
        return iter(())
