"""Agreement and comparison on a terminal."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

from rich.console import Group, RenderableType
from rich.table import Table
from rich.text import Text

from rubricate.analysis._markdown import OTHER_HEADINGS, comparison_texts
from rubricate.run.results import kappa_name
from rubricate.stats import Calibration, Estimate, LabelAgreement, ScoreAgreement
from rubricate.views import NONE, ends, estimate_text, figure, percent, plain_table, stratified_text

if TYPE_CHECKING:
    from rubricate.analysis._agreement import AgreementReport, CriterionAgreement
    from rubricate.analysis._comparison import RunComparison

__all__ = ["agreement_view", "comparison_view"]

SHOWN_FLIPS = 20
_UNDECIDED = {
    "exclude": "left out",
    "label": "an abstention is a label, a failure is left out",
    "wrong": "a judge that does not decide is wrong",
}


MOST_ROWS = 60
"""Criteria that are shown unless all are asked for."""


def agreement_view(report: AgreementReport, *, every: bool = False) -> RenderableType:
    """A table of the criteria with labels, one of those with numbers, and what is undefined.

    Criteria of one pair each (those of single items) are shown together, unless `every` is true.
    """
    labels = plain_table(f"{report.judge} against labels of {report.items} items")
    numbers = plain_table(f"{report.judge} against numbers of {report.items} items")
    shown = _shown(report, every)
    steps = ("kappa",) if any(_has_steps(one) for one in shown) else ()
    for table, headings in (
        (labels, ("accuracy", "kappa", "false pos", "false neg")),
        (numbers, ("exact", *steps, "correlation", "mean error", "bias")),
    ):
        table.add_column("criterion", overflow="fold")
        table.add_column("n", justify="right")
        for heading in headings:
            table.add_column(heading, justify="right")
    parts: list[RenderableType] = []
    missing: list[Text] = []
    for one in shown:
        found = one.agreement
        if isinstance(found, LabelAgreement):
            labels.add_row(Text(one.name), str(found.n), *map(_cell, _label_figures(one)))
        else:
            numbers.add_row(
                Text(one.name), str(found.n), *map(_cell, _number_figures(one, bool(steps)))
            )
        missing += [*_probabilities(one.name, one.calibration), *_reasons(one.name, found.figures)]
        causes = dict(found.not_decided)
        if one.not_applicable:
            causes["does not apply"] = one.not_applicable
        if causes:
            told = ", ".join(f"{cause} {count}" for cause, count in causes.items())
            missing.append(Text(f"{one.name}: not decided: {told}"))
    hidden = len(report.criteria) + len(report.alone) - len(shown)
    if hidden and not every:
        missing.append(Text(f"{hidden} criteria have no row of their own: see --every-criterion"))
    whole = report.stratified
    if whole is not None:
        labels.add_section()
        shares = (_cell(whole.accuracy), _cell(whole.kappa), "", "")
        name = "all, stratified" if whole.strata > 1 else "all"
        labels.add_row(name, str(whole.n), *shares, style="bold")
        told = stratified_text(whole.strata - whole.left_out, whole.left_out)
        missing = [
            *([Text(f"all, stratified: kappa is the {told}")] if whole.strata > 1 else []),
            *_probabilities("all binary", report.calibration),
            *missing,
        ]
    if report.scores is not None and report.scores.n:
        table_cells = map(_cell, _score_figures(report.scores.figures, bool(steps)))
        numbers.add_row("item score", str(report.scores.n), *table_cells, style="bold")
    parts += [table for table in (labels, numbers) if table.row_count]
    if any(len(one.found.against) > 1 for one in report.annotators):
        parts.append(_annotators_table(report, every))
    policy = f"Pairs in which one did not decide: {_UNDECIDED[report.undecided]}."
    how = report.bootstrap
    note = (
        f"Intervals: {percent(how.confidence)}, Wilson's for shares, else by "
        f"{how.resamples} resamples of {_resampled(report.groups)} ({how.method}). "
        f"{policy} --json has all figures."
    )
    return Group(*parts, *missing, Text(note, style="dim"))


def _shown(report: AgreementReport, every: bool) -> Sequence[CriterionAgreement]:
    """The rows: criteria of one pair each are one row, unless all are asked for."""
    if every:
        return report.criteria
    together = {name for one in report.alone for name in one.of}
    several = [one for one in report.criteria if one.name not in together]
    return [*several[:MOST_ROWS], *report.alone]


def _resampled(groups: str | None) -> str:
    return "items" if groups is None else f"groups by {groups}"


def _annotators_table(report: AgreementReport, every: bool) -> Table:
    """Kappa, or the correlation of numbers: the judge with people, and people among themselves."""
    table = plain_table("The judge and the annotators: kappa, of numbers the correlation")
    table.add_column("criterion", overflow="fold")
    for heading in ("people", "judge, each", "judge, together", "one of them, others", "alpha"):
        table.add_column(heading, justify="right")
    together = set() if every else {name for one in report.alone for name in one.of}
    rows = [one for one in report.annotators if one.name not in together]
    for one in rows[: None if every else MOST_ROWS]:
        found = one.found
        name = kappa_name(one.level) if one.level in ("labels", "ordered") else "pearson"
        table.add_row(
            Text(one.name),
            str(len(found.against)),
            _span([agreement.figures[name].value for agreement in found.against.values()]),
            _cell(found.consensus.figures[name]),
            figure(found.ceiling.get(name)),
            _cell(found.alpha),
        )
    whole = report.annotators_together
    if whole is not None:
        table.add_section()
        table.add_row(
            "all, stratified",
            str(len(whole.against)),
            _span([kappa.value for kappa in whole.against.values()]),
            _cell(whole.consensus),
            figure(whole.ceiling),
            _cell(whole.alpha),
            style="bold",
        )
    return table


def _span(values: Sequence[float | None]) -> str:
    known = [value for value in values if value is not None]
    return ends(min(known), max(known)) if known else NONE


def _cell(estimate: Estimate, *, sign: bool = False) -> str:
    """A figure that breaks, where it must, before its interval."""
    return estimate_text(estimate, sign=sign).replace(", ", ",")


def _label_figures(one: CriterionAgreement) -> list[Estimate]:
    """Accuracy, kappa and, of MET, the error rates."""
    nothing = Estimate(None)
    found = one.agreement
    met = found.by_label.get("MET", {}) if isinstance(found, LabelAgreement) else {}
    rates = ("false_positive_rate", "false_negative_rate")
    return [one.accuracy, one.kappa, *(met.get(name, nothing) for name in rates)]


def _has_steps(one: CriterionAgreement) -> bool:
    return isinstance(one.agreement, ScoreAgreement) and "quadratic_kappa" in one.agreement.figures


def _number_figures(one: CriterionAgreement, steps: bool) -> list[Estimate]:
    kappa = [one.kappa] if steps else []
    return [one.accuracy, *kappa, *_score_figures(one.agreement.figures, False)[1:]]


def _score_figures(figures: Mapping[str, Estimate], steps: bool) -> list[Estimate]:
    nothing = Estimate(None)
    return [nothing] * (1 + steps) + [figures[name] for name in ("pearson", "mae", "bias")]


def _probabilities(name: str, found: Calibration | None) -> list[Text]:
    """How far the judge's probabilities of MET fit."""
    if found is None:
        return []
    brier, error = map(estimate_text, (found.brier, found.expected_calibration_error))
    return [
        Text(f"{name}: probabilities of MET: Brier {brier}, calibration error {error}, n {found.n}")
    ]


def _reasons(criterion: str, figures: Mapping[str, Estimate]) -> list[Text]:
    reasons: dict[str, list[str]] = {}
    for name, estimate in figures.items():
        if estimate.value is None and estimate.undefined is not None:
            reasons.setdefault(estimate.undefined, []).append(name)
    return [
        Text(f"{criterion}: no {', '.join(names)}: {reason}") for reason, names in reasons.items()
    ]


def comparison_view(found: RunComparison) -> RenderableType:
    """The score, the criteria, and the first flips with both reasons."""
    title = f"{found.b} (B) against {found.a} (A): {found.score.n} items scored in both"
    table, tests = plain_table(title), plain_table("Other tests (p, not corrected)")
    for one, headings in (
        (table, ("A", "B", "B minus A", "p", "n", "flips")),
        (tests, OTHER_HEADINGS),
    ):
        one.add_column("", overflow="fold")
        for heading in headings:
            one.add_column(heading, justify="right")
    texts = comparison_texts(found)
    for place, row in enumerate(texts.rows):
        name = Text(row.name + (" (fault)" if row.is_fault else ""))
        style = "" if place else "bold"
        difference = row.difference.replace(", ", ",")
        table.add_row(name, row.a, row.b, difference, row.p, row.n, row.flips, style=style)
        tests.add_row(name, *row.others, style=style)
    notes = [Text(note) for note in texts.notes]
    parts: list[RenderableType] = [*notes[: bool(found.differences)], table, tests]
    for heading, flips in (("", found.flips), ("Only one run decided:", found.one_sided)):
        if heading and flips:
            parts.append(Text(heading))
        for flip in flips[:SHOWN_FLIPS]:
            human = f" (human: {flip.human_label})" if flip.human_label else ""
            parts.append(Text(f"{flip.item}, {flip.criterion}: {flip.a} -> {flip.b}{human}"))
            for side, reason in (("A", flip.reason_a), ("B", flip.reason_b)):
                if reason:
                    parts.append(Text(f"  {side}: {' '.join(reason.split())}", style="dim"))
        if len(flips) > SHOWN_FLIPS:
            parts.append(Text(f"... and {len(flips) - SHOWN_FLIPS} more: see --json"))
    parts += notes[bool(found.differences) :]
    parts.append(Text(texts.method, style="dim"))
    return Group(*parts)
