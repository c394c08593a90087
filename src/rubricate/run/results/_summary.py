"""The figures of a run, as data: what `summary.json` holds and the table shows."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, get_args

from pydantic import AliasChoices, BaseModel, ConfigDict, Field, model_serializer

from rubricate.run.results._declared_scores import DeclaredFigures
from rubricate.run.results._documents import DocumentFigures
from rubricate.run.results._gates import GateFigures
from rubricate.run.results._outcome import Outcome
from rubricate.run.results._summary_part import SummaryPart
from rubricate.run.results._thresholds import ThresholdOutcome
from rubricate.run.results._tree_scores import TreeFigures
from rubricate.views import Report

if TYPE_CHECKING:
    from collections.abc import Iterable

    from rubricate.views import Section


class _Figures(BaseModel):
    model_config = ConfigDict(frozen=True, defer_build=True)


class AgreementFigures(_Figures):
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


class StratifiedFigures(_Figures):
    """What the kappas over several criteria are: those of all criteria, of judges and of stages."""

    estimator: str = "mean of the criteria's kappas, weighted by n"
    criteria: int
    """Criteria whose kappa is in that of all."""
    left_out: int
    """Criteria without one: judge and people gave one and the same answer throughout."""


class CriterionFigures(_Figures):
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
    """Those of them that do not stand in the submission."""


class JudgeFigures(_Figures):
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
    """Those of them that do not stand in the submission."""
    first_error: str | None = None
    """Why its first vote failed, in the dataset's order, if one did."""


class InventedQuotes(_Figures):
    """A judge that quotes what submissions do not say."""

    judge: str
    quotes: int
    """All its quotes."""
    invented: int
    """Those that do not stand in the submission."""


class StageFigures(_Figures):
    """One stage of a cascade."""

    name: str
    threshold: float | None
    """The least confidence with which its verdict stands; None at the last stage."""
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


class ScoreFigures(_Figures):
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


class CalibrationFigures(_Figures):
    """What a calibration did to a run's verdicts."""

    map: str
    """Its name and the beginning of its hash."""
    applied: int
    """Verdicts whose probability it mapped."""
    changed: int
    """Those whose label it changed."""


class CertificateFigures(_Figures):
    """Whether judge, prompt and rubric are those of a certificate."""

    file: str
    holds: bool
    differences: list[str]
    """What is not as certified, in words; empty where the certificate holds."""


class Summary(Report, Outcome):
    """The figures of a run. `print(summary)` shows them as a table."""

    version: str
    """The version of rubricate that wrote it."""
    dataset: str | None
    items: int
    criteria: list[CriterionFigures]
    score: ScoreFigures
    agreement: AgreementFigures | None
    """Over all criteria."""
    stratified: StratifiedFigures | None = None
    """How the kappas over several criteria were made; None where there is one."""
    judges: list[JudgeFigures] = Field(default_factory=list)
    """The judges, where several vote."""
    stages: list[StageFigures] = Field(default_factory=list)
    """The stages of a cascade, in their order."""
    strategies: dict[str, str | int] = Field(default_factory=dict)
    """How their votes were put together."""
    invented_quotes: list[InventedQuotes] = Field(default_factory=list)
    """The judges that have invented quotes."""
    asked_again_for_evidence: int = 0
    """Verdicts whose judge was asked again because its quotes do not stand in the submission."""
    abstained_for_evidence: int = 0
    """Those of them that abstain, since they did not then either."""
    first_abstention: str | None = None
    """The first judge's reason to abstain, with the criterion."""
    warnings: dict[str, int] = Field(default_factory=dict)
    """How many items have each kind of warning (see `ItemResult.warnings`)."""
    first_warning: str | None = None
    """The first of them, in words, with its item."""
    cannot_assess: str
    partial: float
    length_penalty: dict[str, Any] | None = None
    """The settings by which length costs; None where it costs nothing."""
    documents: DocumentFigures | None = None
    """How long documents were read; None where none was."""
    scoring: DeclaredFigures | None = None
    """Scores by the scoring that is declared, and by tag; not there where none is."""
    gates: GateFigures | None = None
    """What was not asked for what other criteria came to; not there where no rubric has gates."""
    tree: TreeFigures | None = None
    """Scores of the groups of a tree; not there where no rubric is one."""
    calibration: CalibrationFigures | None = None
    """What a calibration did, if one was given."""
    certificate: CertificateFigures | None = None
    """How the run compares with a certificate, if one was given."""
    thresholds: ThresholdOutcome | None = Field(
        default=None, validation_alias=AliasChoices("thresholds", "quality_gate")
    )
    """Whether its figures reach the thresholds that were given; not there where none were."""

    @model_serializer(mode="wrap")
    def _without_what_is_not_declared(self, handler: Any) -> dict[str, Any]:
        data: dict[str, Any] = handler(self)
        for name in ("scoring", "gates", "tree", "thresholds"):
            if data.get(name) is None:
                data.pop(name, None)
        for one in data.get("criteria", ()):
            if self.gates is None:
                one.pop("skipped", None)
            if not one.get("only_number"):
                one.pop("only_number", None)
        return data

    @classmethod
    def kinds_of_parts(cls) -> dict[str, type[SummaryPart]]:
        """The parts that there may be, by their fields."""
        return {
            name: kind
            for name, field in cls.model_fields.items()
            for kind in get_args(field.annotation)
            if isinstance(kind, type) and issubclass(kind, SummaryPart)
        }

    @property
    def parts(self) -> list[SummaryPart]:
        """The parts that there are."""
        found = [getattr(self, name) for name in self.kinds_of_parts()]
        return [part for part in found if part is not None]

    @property
    def title(self) -> str:
        return f"Summary of {self.dataset or 'a run'}"

    def sections(self) -> Iterable[Section]:
        from rubricate.run.results._summary_sections import summary_sections

        return summary_sections(self)

    def __repr__(self) -> str:
        return str(self)
