"""Agreement and comparison on a terminal."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

from rich.console import Group, RenderableType
from rich.table import Table
from rich.text import Text

from rubricate.report._markdown import (
    OTHER_HEADINGS,
    comparison_texts,
    estimate_text,
)
from rubricate.report._plain_table import plain_table
from rubricate.stats import Calibration, Estimate, LabelAgreement

if TYPE_CHECKING:
    from rubricate.report._agreement import AgreementReport
    from rubricate.report._annotators import CriterionAnnotators
    from rubricate.report._comparison import RunComparison

__all__ = ["agreement_view", "comparison_view"]

SHOWN_FLIPS = 20
_UNDECIDED = {
    "exclude": "left out",
    "label": "an abstention is a label, a failure is left out",
    "wrong": "a judge that does not decide is wrong",
}


def agreement_view(report: AgreementReport) -> RenderableType:
    """A table of the criteria with labels, one of those with numbers, and what is undefined."""
    labels = plain_table(f"{report.judge} against labels of {report.items} items")
    numbers = plain_table(f"{report.judge} against numbers of {report.items} items")
    for table, headings in (
        (labels, ("accuracy", "kappa", "false pos", "false neg")),
        (numbers, ("exact", "correlation", "mean error", "bias")),
    ):
        table.add_column("criterion", overflow="fold")
        table.add_column("n", justify="right")
        for heading in headings:
            table.add_column(heading, justify="right")
    parts: list[RenderableType] = []
    missing: list[Text] = []
    for one in report.criteria:
        found = one.agreement
        if isinstance(found, LabelAgreement):
            table, shown = labels, _label_figures(found)
        else:
            table, shown = numbers, _number_figures(found.figures)
        table.add_row(Text(one.name), str(found.n), *map(_cell, shown))
        missing += [*_probabilities(one.name, one.calibration), *_reasons(one.name, found.figures)]
        causes = dict(found.not_decided)
        if one.not_applicable:
            causes["does not apply"] = one.not_applicable
        if causes:
            told = ", ".join(f"{cause} {count}" for cause, count in causes.items())
            missing.append(Text(f"{one.name}: not decided: {told}"))
    if report.pooled is not None:
        labels.add_section()
        figures = _label_figures(report.pooled)
        labels.add_row("all binary", str(report.pooled.n), *map(_cell, figures))
        missing = [*_probabilities("all binary", report.calibration), *missing]
    if report.scores is not None:
        shown = _number_figures(report.scores.figures)
        numbers.add_row("item score", str(report.scores.n), *map(_cell, shown), style="bold")
    parts += [table for table in (labels, numbers) if table.row_count]
    if report.annotators:
        parts.append(_annotators_table(report.annotators))
    policy = f"Pairs in which one did not decide: {_UNDECIDED[report.undecided]}."
    how = report.bootstrap
    note = (
        f"Intervals: {how.confidence:.0%}, Wilson's for shares, else by "
        f"{how.resamples} resamples of {_resampled(report.groups)} ({how.method}). "
        f"{policy} --json has all figures."
    )
    return Group(*parts, *missing, Text(note, style="dim"))


def _resampled(groups: str | None) -> str:
    return "items" if groups is None else f"groups by {groups}"


def _annotators_table(criteria: Sequence[CriterionAnnotators]) -> Table:
    """Kappa, or the correlation of numbers: the judge with people, and people among themselves."""
    table = plain_table("The judge and the annotators: kappa, of numbers the correlation")
    table.add_column("criterion", overflow="fold")
    for heading in ("people", "judge, each", "judge, together", "one of them, others", "alpha"):
        table.add_column(heading, justify="right")
    for one in criteria:
        found, name = one.found, _figure_name(one)
        each = [agreement.figures[name].value for agreement in found.against.values()]
        known = [value for value in each if value is not None]
        ceiling = found.ceiling.get(name)
        table.add_row(
            Text("all binary" if one.name is None else one.name),
            str(len(found.against)),
            f"{min(known):.2f} to {max(known):.2f}" if known else "–",
            _cell(found.consensus.figures[name]),
            "–" if ceiling is None else f"{ceiling:.2f}",
            _cell(found.alpha),
        )
    return table


def _figure_name(one: CriterionAnnotators) -> str:
    if one.level == "interval":
        return "pearson"
    return "quadratic_kappa" if one.level == "ordinal" else "cohen_kappa"


def _cell(estimate: Estimate, *, sign: bool = False) -> str:
    """A figure that breaks, where it must, before its interval."""
    return estimate_text(estimate, sign=sign).replace(", ", ",")


def _label_figures(found: LabelAgreement) -> list[Estimate]:
    """Accuracy, kappa and, of MET, the error rates."""
    nothing = Estimate(None)
    met = found.by_label.get("MET", {})
    kappa = "quadratic_kappa" if "quadratic_kappa" in found.figures else "cohen_kappa"
    return [
        found.figures["accuracy"],
        found.figures[kappa],
        met.get("false_positive_rate", nothing),
        met.get("false_negative_rate", nothing),
    ]


def _number_figures(figures: Mapping[str, Estimate]) -> list[Estimate]:
    nothing = Estimate(None)
    return [
        figures.get("exact_accuracy", nothing),
        figures["pearson"],
        figures["mae"],
        figures["bias"],
    ]


def _probabilities(name: str, found: Calibration | None) -> list[Text]:
    """How far the judge's probabilities of MET fit."""
    if found is None:
        return []
    brier, error = map(estimate_text, (found.brier, found.expected_calibration_error))
    return [
        Text(f"{name}: probabilities of MET: Brier {brier}, calibration error {error}, n {found.n}")
    ]


def _reasons(name: str, figures: Mapping[str, Estimate]) -> list[Text]:
    reasons: dict[str, list[str]] = {}
    for figure, estimate in figures.items():
        if estimate.value is None and estimate.undefined is not None:
            reasons.setdefault(estimate.undefined, []).append(figure)
    return [Text(f"{name}: no {', '.join(names)}: {reason}") for reason, names in reasons.items()]


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
