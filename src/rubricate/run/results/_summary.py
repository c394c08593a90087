"""The summary of a run: the contents of `summary.json`, and how they are shown."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from typing import Any, get_args

from pydantic import AliasChoices, Field, model_serializer

from rubricate._spelling import counted
from rubricate.rubric import NOT_RUN, UNANSWERED
from rubricate.run.results._declared_scores import DeclaredFigures, interval_text
from rubricate.run.results._documents import DocumentFigures
from rubricate.run.results._figures import (
    AgreementFigures,
    CalibrationFigures,
    CertificateFigures,
    CriterionFigures,
    InventedQuotes,
    JudgeFigures,
    ScoreFigures,
    StageFigures,
    StratifiedFigures,
    SummaryPart,
    ThresholdOutcome,
)
from rubricate.run.results._gates import GateFigures
from rubricate.run.results._outcome import Outcome, UsageFigures
from rubricate.run.results._tree_scores import TreeFigures
from rubricate.views import (
    GAP,
    NONE,
    STATUSES,
    Cell,
    Column,
    Facts,
    Paragraph,
    Report,
    Row,
    Section,
    Table,
    count_cell,
    dollars,
    figure,
    numbers,
    percent,
    say,
    status_counts,
    stratified_text,
    unit_prices,
    weight_text,
    without_value,
)

AGREEMENT = ("accuracy", "kappa", "n")
"""The columns for agreement with human labels."""


class Summary(Report, Outcome):
    """The figures of a run. `print(summary)` shows them as a table."""

    version: str
    """The version of rubricate that wrote it."""
    dataset: str | None
    items: int
    prompts: int | None = None
    """How many different prompts the items have; None in runs of earlier versions."""
    criteria: list[CriterionFigures]
    score: ScoreFigures
    agreement: AgreementFigures | None
    """Over all criteria."""
    stratified: StratifiedFigures | None = None
    """How kappas over several criteria were made; None for one criterion."""
    judges: list[JudgeFigures] = Field(default_factory=list)
    """The judges, if several vote."""
    stages: list[StageFigures] = Field(default_factory=list)
    """The stages of a cascade, in order."""
    strategies: dict[str, str | int] = Field(default_factory=dict)
    """How their votes were combined."""
    invented_quotes: list[InventedQuotes] = Field(default_factory=list)
    """The judges with invented quotes."""
    asked_again_for_evidence: int = 0
    """Verdicts that were asked again because quotes were not in the submission."""
    abstained_for_evidence: int = 0
    """How many of them abstained, because the quotes were still missing."""
    first_abstention: str | None = None
    """The first reason for an abstention, with its criterion."""
    labels_chosen: dict[str, int] = Field(default_factory=dict)
    """The number of labels by how their items were chosen, where recorded; see
    `dataset.LabelSelection`."""
    page_labels: int = 0
    """How many labels were given on the run's page; left out if none."""
    warnings: dict[str, int] = Field(default_factory=dict)
    """The number of items by kind of warning; see `ItemResult.warnings`."""
    first_warning: str | None = None
    """The first warning, with its item."""
    cannot_assess: str
    partial: float
    length_penalty: dict[str, Any] | None = None
    """The settings of the length penalty; None without one."""
    documents: DocumentFigures | None = None
    """How long documents were read; None if there were none."""
    scoring: DeclaredFigures | None = None
    """Scores by a declared scoring, and by tag; left out without one."""
    gates: GateFigures | None = None
    """What gates skipped; left out if no rubric has gates."""
    tree: TreeFigures | None = None
    """Scores of the groups of a tree; left out without one."""
    calibration: CalibrationFigures | None = None
    """The effect of a calibration, if one was applied."""
    certificate: CertificateFigures | None = None
    """Whether the run matches a certificate, if one was given."""
    thresholds: ThresholdOutcome | None = Field(
        default=None, validation_alias=AliasChoices("thresholds", "quality_gate")
    )
    """The outcome of thresholds; left out without any."""

    @model_serializer(mode="wrap")
    def _without_what_is_not_declared(self, handler: Any) -> dict[str, Any]:
        data: dict[str, Any] = handler(self)
        for name in ("scoring", "gates", "tree", "thresholds", "page_labels"):
            if not data.get(name):
                data.pop(name, None)
        for criterion in data.get("criteria", ()):
            if self.gates is None:
                criterion.pop("skipped", None)
            if not self.not_run:
                criterion.pop(NOT_RUN, None)
            if not criterion.get("only_number"):
                criterion.pop("only_number", None)
        return data

    @classmethod
    def kinds_of_parts(cls) -> dict[str, type[SummaryPart]]:
        """The possible parts, by their fields."""
        return {
            name: kind
            for name, field in cls.model_fields.items()
            for kind in get_args(field.annotation)
            if isinstance(kind, type) and issubclass(kind, SummaryPart)
        }

    @property
    def parts(self) -> list[SummaryPart]:
        """The parts of this summary."""
        parts = [getattr(self, name) for name in self.kinds_of_parts()]
        return [part for part in parts if part is not None]

    @property
    def title(self) -> str:
        return f"Summary of {self.dataset or 'a run'}"

    @property
    def size(self) -> str:
        """The numbers of items and criteria: `49 items x 3 criteria`."""
        items = counted(self.items, "item")
        if any(figures.only_number for figures in self.criteria):
            return f"{items} with {sum(self.verdicts.values())} criteria of their own"
        return f"{items} x {counted(len(self.criteria), 'criterion', 'criteria')}"

    def sections(self) -> Iterable[Section]:
        return _sections(self)

    def criteria_table(self, *, labels: bool = False) -> Table:
        """The table of criteria, with a row for each one that has a name.

        Args:
            labels: whether to show one column with all labels and their counts, instead of columns
                for MET and UNMET, even if all criteria are binary.
        """
        return _criteria_table(
            self, labels or any(not criterion.binary for criterion in self.criteria)
        )

    def cautions(self) -> Iterator[str]:
        """Lines that a reader of the figures must know, for example about invented quotes."""
        for line in (*_quotes(self), *_item_warnings(self)):
            yield line.text

    def __repr__(self) -> str:
        return str(self)


def _sections(summary: Summary) -> Iterator[Section]:
    """The table of criteria, followed by the figures of the run."""
    yield from _tables(summary)
    yield Facts(tuple(_figures(summary)))
    for voter in summary.judges:
        if voter.score is not None and voter.scored != summary.score.scored:
            items = f"{voter.scored} of {summary.items} items"
            yield say(f"judge {voter.name}: its own score is the mean of {items}")
        error = voter.first_error
        if error and not (summary.nothing_judged or summary.is_why_it_stopped(error)):
            counts = status_counts(voter.votes, UNANSWERED)
            share = f"of {sum(voter.votes.values())} votes {counts}"
            yield say(f"judge {voter.name}: {share}; the first: {error}", "error")
    yield from _quotes(summary)
    if summary.first_abstention is not None:
        counts = status_counts(summary.verdicts, ["abstained"])
        yield say(f"{counts}; the first, on {summary.first_abstention}")
    chosen = {how: summary.labels_chosen.get(how, 0) for how in ("active", "uncertainty")}
    if any(chosen.values()):
        yield say(
            f"{sum(chosen.values())} labels are on items chosen because the judge was unsure: "
            "accuracy, kappa and means here describe those items, not all of them (see rubricate "
            "trust agree)",
            "warning",
        )
    if summary.page_labels:
        yield say(
            f"{summary.page_labels} label{'s were' if summary.page_labels > 1 else ' was'} given "
            "on the run's page (rubricate view), next to "
            "the verdict"
        )
    yield from _item_warnings(summary)
    yield from summary.problems()
    if summary.certificate is not None:
        yield _certificate(summary.certificate)
    if summary.thresholds is not None:
        passed = summary.thresholds.outcome == "passed"
        yield say(str(summary.thresholds), "" if passed else "alarm")
    if summary.note is not None:
        yield say(summary.note, "quiet")


def _tables(summary: Summary) -> Iterator[Section]:
    """The tables of criteria, judges and stages, unless nothing was judged."""
    if summary.nothing_judged:
        yield say(_heading(summary), "strong")
        yield from summary.nothing()
        yield GAP
        return
    yield from (summary.criteria_table(), GAP)
    if summary.judges:
        yield from (_judges_table(summary), GAP)
    if summary.stages:
        yield from (_stages_table(summary), GAP)
    for part in summary.parts:
        for table in part.tables():
            yield from (table, GAP)


def _quotes(summary: Summary) -> Iterator[Paragraph]:
    """Warnings about the judges' quotes."""
    for judge in summary.invented_quotes:
        share = f"{judge.invented} of {judge.quotes} quotes are not in the submission"
        yield say(f"judge {judge.judge}: {share}: trust its reasons less", "warning")
    if summary.asked_again_for_evidence or summary.abstained_for_evidence:
        yield say(
            "asked again because quotes were not in the submission: "
            f"{summary.asked_again_for_evidence}; {STATUSES['abstained'].text} for lack of "
            f"evidence: {summary.abstained_for_evidence}",
            "warning",
        )


def _item_warnings(summary: Summary) -> Iterator[Paragraph]:
    if summary.warnings:
        kinds = ", ".join(f"{kind.replace('_', ' ')} {n}" for kind, n in summary.warnings.items())
        yield say(f"Items with a warning: {kinds}", "warning")
        yield say(f"First warning: {summary.first_warning}", "warning")


def _certificate(figures: CertificateFigures) -> Paragraph:
    if figures.holds:
        return say(f"Certificate {figures.file}: judge, prompt and rubric are as certified")
    what = "; ".join(figures.differences)
    return say(f"Certificate {figures.file} does not hold: {what}", "alarm")


def _heading(summary: Summary) -> str:
    return f"{summary.dataset or 'dataset'}: {summary.size}, judged by {summary.judge}"


def _criteria_table(summary: Summary, answers: bool) -> Table:
    columns = [Column("criterion", is_text=True), Column("weight")]
    if answers:
        columns.append(Column("answers", is_text=True))
    else:
        columns += [Column("met", tone="good"), Column("unmet")]
    votes = ("agree",) if summary.judges else ()
    agreement = AGREEMENT if summary.agreement is not None else ()
    without = without_value(summary.verdicts)
    headings = [STATUSES[status].text for status in without]
    columns += numbers(*headings, "value", *votes, *agreement)
    rows = []
    named = [figures for figures in summary.criteria if not figures.only_number]
    for figures in named:
        row = _criterion_row(figures, answers, without, bool(votes))
        if agreement:
            row += _agreement_cells(figures.agreement)
        rows.append(Row(row))
    several = len(summary.criteria) > 1 or len(named) < len(summary.criteria)
    totals = [Row(_total_row(summary, answers), "strong")] if several else []
    return Table(columns, rows, _heading(summary), totals)


def _judges_table(summary: Summary) -> Table:
    weighted = any(figures.weight is not None for figures in summary.judges)
    labelled = any(figures.agreement is not None for figures in summary.judges)
    voted = ("weight",) if weighted else ()
    votes: Counter[str] = Counter()
    for figures in summary.judges:
        votes.update(figures.votes)
    without = without_value(votes)
    headings = [STATUSES[status].text for status in without]
    columns = [
        Column("judge", is_text=True),
        *numbers(*voted, "votes", *headings, "with panel", "own score", "cost"),
        *(numbers(*AGREEMENT, most=10) if labelled else []),
    ]
    rows = [
        Row(
            [
                figures.name,
                *([figure(figures.weight)] if weighted else []),
                str(figures.votes["judged"] + figures.votes["not_applicable"]),
                *(
                    count_cell(status, figures.votes.get(status, 0), sum(figures.votes.values()))
                    for status in without
                ),
                figure(figures.with_verdict),
                figure(figures.score),
                dollars(figures.cost, figures.estimated_cost),
                *(_agreement_cells(figures.agreement) if labelled else []),
            ]
        )
        for figures in summary.judges
    ]
    return Table(columns, rows)


def _stages_table(summary: Summary) -> Table:
    labelled = any(figures.agreement is not None for figures in summary.stages)
    agreement = AGREEMENT if labelled else ()
    headings = ("threshold", "asked", "decided", "cost", *agreement)
    rows = [
        Row(
            [
                f"{place} {figures.name}",
                figure(figures.threshold),
                str(figures.asked),
                str(figures.decided),
                dollars(figures.cost, figures.estimated_cost),
                *(_agreement_cells(figures.agreement) if labelled else []),
            ]
        )
        for place, figures in enumerate(summary.stages, start=1)
    ]
    return Table([Column("stage", is_text=True), *numbers(*headings, most=10)], rows)


def _criterion_row(
    figures: CriterionFigures, answers: bool, without: Sequence[str], votes: bool
) -> list[Cell]:
    row: list[Cell] = [figures.name, weight_text(figures.weight, figures.weight_range)]
    if answers:
        shown = [
            f"{label}: {count}×"
            for label, count in figures.labels.items()
            if label != "CANNOT_ASSESS"
        ]
        row.append("; ".join(shown) or NONE)
    else:
        row += [str(figures.labels.get("MET", 0)), str(figures.labels.get("UNMET", 0))]
    row += [count_cell(status, getattr(figures, status), figures.verdicts) for status in without]
    row.append(figure(figures.value))
    if votes:
        row.append(figure(figures.judges_agree))
    return row


def _total_row(summary: Summary, answers: bool) -> list[Cell]:
    met = sum(figures.labels.get("MET", 0) for figures in summary.criteria)
    unmet = sum(figures.labels.get("UNMET", 0) for figures in summary.criteria)
    row: list[Cell] = ["all", ""]
    row += [""] if answers else [str(met), str(unmet)]
    counts = summary.verdicts
    row += [
        count_cell(status, counts[status], sum(counts.values())) for status in without_value(counts)
    ]
    row.append("")
    if summary.judges:
        row.append("")
    return row if summary.agreement is None else row + _agreement_cells(summary.agreement)


def _agreement_cells(figures: AgreementFigures | None) -> list[Cell]:
    if figures is None:
        return [NONE, NONE, NONE]
    return [figure(figures.accuracy), figure(figures.kappa), str(figures.n)]


def _figures(summary: Summary) -> Iterator[tuple[str, str]]:
    usage = summary.usage
    if not summary.nothing_judged:
        yield from _score_rows(summary)
    if summary.calibration is not None:
        done = summary.calibration
        changes = f"{done.map}: {done.applied} probabilities, {done.changed} labels changed"
        yield "calibration", changes
    if summary.strategies and not summary.nothing_judged:
        ways = ", ".join(f"{name} {value}" for name, value in summary.strategies.items())
        yield "votes", f"{sum(figures.tied for figures in summary.criteria)} tied; {ways}"
    cached = f" ({usage.cached_tokens} cached)" if usage.cached_tokens else ""
    reasoning = f" ({usage.reasoning_tokens} reasoning)" if usage.reasoning_tokens else ""
    tokens = f"{usage.input_tokens} in{cached}, {usage.output_tokens} out{reasoning}"
    if summary.mode is not None:
        yield "asked", summary.mode
    yield "calls", _calls(usage, summary.run_dir)
    for part in summary.parts:
        yield from part.facts()
    yield "tokens", tokens
    yield "seconds", f"{usage.seconds:.1f}"
    cost = usage.cost_text
    if usage.cost is None:
        why = (
            "no price for this model" if usage.input_tokens else "no token counts from the endpoint"
        )
        cost += f" ({why})"
    yield "cost", cost
    verdicts = sum(summary.verdicts.values()) - summary.verdicts.get("skipped", 0)
    if usage.run_cost and verdicts and not (usage.cached or summary.stopped):
        yield "price", unit_prices(usage.run_cost, verdicts, summary.items)
    if usage.saved_input_tokens or usage.saved_output_tokens:
        saved = f"{usage.saved_input_tokens} tokens in, {usage.saved_output_tokens} out"
        yield "stored answers", f"saved {saved}"
    if usage.damaged:
        yield "damaged records", f"{usage.damaged}, asked again"
    if summary.run_dir is not None:
        yield "run folder", summary.run_dir


def _score_rows(summary: Summary) -> Iterator[tuple[str, str]]:
    """The score, the score by people, and the kappa over criteria."""
    score = summary.score
    line = f"{figure(score.mean)}   n {score.scored}"
    if summary.scoring is not None and (interval := interval_text(summary.scoring.overall)):
        line += f"   95 % {interval}"
    if score.coverage < 1 or score.lowest != score.highest:
        line += f"   bounds {figure(score.lowest)} to {figure(score.highest)}"
        line += f"   coverage {percent(score.coverage)}"
    if not score.scored and all(criterion.weight == 0 for criterion in summary.criteria):
        line += "   (every weight is 0, so there is no score)"
    elif score.scored < summary.items:
        line += f"   ({score.scored} of {summary.items} items have a score)"
    yield "score", line
    if score.human_mean is not None:
        yield (
            "human labels",
            f"{figure(score.human_mean)}   n {score.labelled}   "
            f"the judge on the same items {figure(score.judge_mean)}",
        )
    over = summary.stratified
    if over is not None:
        yield "kappa of all", stratified_text(over.criteria, over.left_out)
    if score.penalty is not None:
        yield "length penalty", f"{figure(score.penalty)} on average, in the score"


def _calls(usage: UsageFigures, run_dir: str | None) -> str:
    calls = f"{usage.calls}"
    again = "from the journal" if run_dir else "known: equal questions are asked once"
    more = {again: usage.resumed, "from the cache": usage.cached}
    if any(more.values()):
        shown = [f"{count} more {why}" for why, count in more.items() if count]
        calls += f" ({', '.join(shown)})"
    if usage.requests not in (0, usage.calls):
        calls += f", {usage.requests} request{'' if usage.requests == 1 else 's'}"
    return calls
