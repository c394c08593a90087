"""What the agreement of a judge with people says."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING

from rubricate.analysis.agreement._discrimination import decision_lines
from rubricate.run.results import kappa_name
from rubricate.stats import Calibration, Estimate, LabelAgreement, ScoreAgreement
from rubricate.views import (
    NONE,
    Cell,
    Column,
    Paragraph,
    Row,
    Section,
    Table,
    ends,
    estimate_text,
    figure,
    numbers,
    p_text,
    percent,
    say,
    stratified_text,
)

if TYPE_CHECKING:
    from rubricate.analysis.agreement._agreement import AgreementReport, CriterionAgreement

MOST_ROWS = 60
"""Criteria that are shown unless all are asked for."""
FEW = 8
"""With fewer items, or groups of them, an interval is rough."""
NAMED = 3
"""Criteria that a warning names."""
NOTHING = Estimate(None)
_UNDECIDED = {
    "exclude": "left out",
    "label": "an abstention is a label, a failure is left out",
    "wrong": "a judge that does not decide is wrong",
}


def agreement_sections(report: AgreementReport, *, every: bool = False) -> Iterator[Section]:
    """A table of the criteria with labels, one of those with numbers, and what is undefined.

    Criteria of one pair each (those of single items) are shown together, unless `every` is true.
    """
    shown = _shown(report, every)
    yield from _labels_table(report, shown)
    yield from _error_counts(shown)
    yield from _numbers_table(report, shown)
    if any(len(one.found.against) > 1 for one in report.annotators):
        yield _annotators_table(report, every)
    whole = report.stratified
    if whole is not None:
        if whole.strata > 1:
            told = stratified_text(whole.strata - whole.left_out, whole.left_out)
            yield say(f"all, stratified: kappa is the {told}")
        auc = None if report.discrimination is None else report.discrimination.auc
        yield from _probabilities("all binary", report.calibration, auc)
    if report.discrimination is not None:
        yield from decision_lines(report.discrimination)
    for one in shown:
        yield from _beside(one)
    hidden = len(report.criteria) + len(report.alone) - len(shown)
    if hidden and not every:
        yield say(f"{hidden} criteria have no row of their own: see --every-criterion")
    if report.few is not None:
        yield say(report.few, "warning")
    policy = f"Pairs in which one did not decide: {_UNDECIDED[report.undecided]}."
    how = report.bootstrap
    yield say(
        f"Intervals: {percent(how.confidence)}, Wilson's for shares, of the posterior for kappa "
        f"({how.resamples} draws), else the jackknife over {_left_out(report.groups)}. "
        f"{policy} --json has all figures.",
        "quiet",
    )


def _labels_table(report: AgreementReport, shown: Sequence[CriterionAgreement]) -> Iterator[Table]:
    rows = [
        Row([one.name, str(one.agreement.n), *_label_figures(one)])
        for one in shown
        if isinstance(one.agreement, LabelAgreement)
    ]
    totals, whole = [], report.stratified
    if whole is not None:
        name = "all, stratified" if whole.strata > 1 else "all"
        totals = [Row([name, str(whole.n), whole.accuracy, whole.kappa, "", ""], "strong")]
    if rows or totals:
        yield Table(
            [
                Column("criterion", is_text=True),
                *numbers("n", "accuracy", "kappa", "false pos", "false neg"),
            ],
            rows,
            f"{report.judge} against labels of {report.items} items",
            totals,
        )


def people_labels(found: LabelAgreement) -> dict[str, int]:
    """How often people gave each label, of the pairs that count."""
    return {name: sum(row) for name, row in zip(found.labels, found.confusion, strict=True)}


def _error_counts(shown: Sequence[CriterionAgreement]) -> Iterator[Paragraph]:
    """What the rates of false answers rest on: of UNMET and of MET, as people say."""
    counts = []
    for one in shown:
        if one.measurement == "binary" and isinstance(one.agreement, LabelAgreement):
            people = people_labels(one.agreement)
            counts.append(f"{one.name} {people.get('UNMET', 0)} and {people.get('MET', 0)}")
    if counts:
        yield say(f"n of false pos (people's UNMET) and of false neg (MET): {'; '.join(counts)}")


def _numbers_table(report: AgreementReport, shown: Sequence[CriterionAgreement]) -> Iterator[Table]:
    steps = ("kappa",) if any(_has_steps(one) for one in shown) else ()
    rows = [
        Row([one.name, str(one.agreement.n), *_number_figures(one, bool(steps))])
        for one in shown
        if isinstance(one.agreement, ScoreAgreement)
    ]
    scores = report.scores
    if scores is not None and scores.n:
        figures = _score_figures(scores.figures, bool(steps))
        rows.append(Row(["item score", str(scores.n), *figures], "strong"))
    for level in report.levels:
        many = f"{level.groups} groups" if level.groups > 1 else "1 group"
        figures = _score_figures(level.scores.figures, bool(steps))
        rows.append(Row([f"level {level.level}, {many}", str(level.scores.n), *figures]))
    if rows:
        yield Table(
            [
                Column("criterion", is_text=True),
                *numbers("n", "exact", *steps, "correlation", "mean error", "bias"),
            ],
            rows,
            f"{report.judge} against human scores of {report.items} items",
        )


def _beside(one: CriterionAgreement) -> Iterator[Paragraph]:
    """What a criterion's row has no room for: probabilities, what is undefined or not decided."""
    yield from _probabilities(one.name, one.calibration, one.auc)
    yield from _reasons(one)
    if isinstance(one.agreement, ScoreAgreement) and one.agreement.levels:
        yield say(f"{one.name}: {_distribution(one.agreement)}")
    causes = dict(one.agreement.not_decided)
    if one.not_applicable:
        causes["does not apply"] = one.not_applicable
    if causes:
        told = ", ".join(f"{cause} {count}" for cause, count in causes.items())
        yield say(f"{one.name}: not decided: {told}")


def few_text(found: Mapping[str, int], what: str) -> str | None:
    """A warning of intervals that rest on few items, or groups of them; None where none does."""
    names = [name for name, clusters in found.items() if clusters < FEW]
    if not names:
        return None
    more = f" and {len(names) - NAMED} more" if len(names) > NAMED else ""
    return f"Rough intervals, of fewer than {FEW} {what}: {', '.join(names[:NAMED])}{more}"


def _shown(report: AgreementReport, every: bool) -> Sequence[CriterionAgreement]:
    """The rows: criteria of one pair each are one row, unless all are asked for."""
    if every:
        return report.criteria
    together = {name for one in report.alone for name in one.of}
    several = [one for one in report.criteria if one.name not in together]
    return [*several[:MOST_ROWS], *report.alone]


def _left_out(groups: str | None) -> str:
    return "items" if groups is None else f"groups by {groups}"


def _annotators_table(report: AgreementReport, every: bool) -> Table:
    """Kappa, or the correlation of numbers: the judge with people, and people among themselves."""
    together = set() if every else {name for one in report.alone for name in one.of}
    rows = []
    for one in [one for one in report.annotators if one.name not in together]:
        found = one.found
        name = kappa_name(one.level) if one.level in ("labels", "ordered") else "pearson"
        cells: list[Cell] = [
            one.name,
            str(len(found.against)),
            _span([agreement.figures[name].value for agreement in found.against.values()]),
            found.consensus.figures[name],
            figure(found.ceiling.get(name)),
            found.alpha,
        ]
        rows.append(Row(cells))
    totals, whole = [], report.annotators_together
    if whole is not None:
        of_all: list[Cell] = [
            "all, stratified",
            str(len(whole.against)),
            _span([kappa.value for kappa in whole.against.values()]),
            whole.consensus,
            figure(whole.ceiling),
            whole.alpha,
        ]
        totals = [Row(of_all, "strong")]
    return Table(
        [
            Column("criterion", is_text=True),
            *numbers("people", "judge, each", "judge, together", "one of them, others", "alpha"),
        ],
        rows[: None if every else MOST_ROWS],
        "The judge and the annotators: kappa, of numbers the correlation",
        totals,
    )


def _span(values: Sequence[float | None]) -> str:
    known = [value for value in values if value is not None]
    return ends(min(known), max(known)) if known else NONE


def _label_figures(one: CriterionAgreement) -> list[Estimate]:
    """Accuracy, kappa and, of MET, the error rates."""
    found = one.agreement
    met = found.by_label.get("MET", {}) if isinstance(found, LabelAgreement) else {}
    rates = ("false_positive_rate", "false_negative_rate")
    return [one.accuracy, one.kappa, *(met.get(name, NOTHING) for name in rates)]


def _has_steps(one: CriterionAgreement) -> bool:
    return isinstance(one.agreement, ScoreAgreement) and "quadratic_kappa" in one.agreement.figures


def _number_figures(one: CriterionAgreement, steps: bool) -> list[Estimate]:
    kappa = [one.kappa] if steps else []
    return [one.accuracy, *kappa, *_score_figures(one.agreement.figures, False)[1:]]


def _score_figures(figures: Mapping[str, Estimate], steps: bool) -> list[Estimate]:
    return [NOTHING] * (1 + steps) + [figures[name] for name in ("pearson", "mae", "bias")]


def _probabilities(
    name: str, found: Calibration | None, auc: Estimate | None
) -> Iterator[Paragraph]:
    """How far the judge's probabilities of MET fit."""
    if found is not None:
        told = "" if auc is None else f"AUC {estimate_text(auc)}, "
        fit = f"{told}Brier {estimate_text(found.brier)}, {calibration_text(found)}, n {found.n}"
        yield say(f"{name}: probabilities of MET: {fit}")


def calibration_text(found: Calibration) -> str:
    """The calibration error, and whether it is more than noise."""
    error, p = estimate_text(found.calibration_error), found.miscalibration
    if p is None:
        return f"calibration error {error}"
    shown = "miscalibration is shown" if p < 0.05 else "no miscalibration is shown"
    return f"calibration error {error} ({shown}, p {p_text(p)})"


def _distribution(found: ScoreAgreement) -> str:
    """The bias at each step, and how far the two distributions are apart."""
    steps = ", ".join(
        f"{one.level:g}: {estimate_text(one.bias)} (n {one.n})" for one in found.levels
    )
    apart, ks = (estimate_text(found.figures[name]) for name in ("wasserstein", "ks"))
    return f"bias by people's step {steps}; earth mover's distance {apart}, KS {ks}"


def _reasons(one: CriterionAgreement) -> Iterator[Paragraph]:
    """Why figures of its row are undefined, under the names of their columns."""
    figures = one.agreement.figures
    shown = {"accuracy": one.accuracy, "kappa": one.kappa, "correlation": figures.get("pearson")}
    reasons: dict[str, list[str]] = {}
    for name, estimate in shown.items():
        if estimate is not None and estimate.value is None and estimate.undefined is not None:
            reasons.setdefault(estimate.undefined, []).append(name)
    for reason, names in reasons.items():
        yield say(f"{one.name}: no {', '.join(names)}: {reason}")
