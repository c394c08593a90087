"""What a batch comes to: compliance by report, axis, domain and system, and agreement."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations
from math import fsum
from numbers import Real
from typing import TYPE_CHECKING, Any, TypeVar

from rubricate.dialects.researchrubrics._tasks import NOT_SATISFIED, SATISFIED
from rubricate.errors import InputError
from rubricate.rubric import least_ratio
from rubricate.views import GAP, Column, Report, Row, Section, Table, figure, numbers, p_text, say

if TYPE_CHECKING:
    from rubricate.stats import Estimate, LabelAgreement, PairedComparison

__all__ = [
    "Compliance",
    "Figures",
    "GroupFigures",
    "HumanAgreement",
    "Line",
    "ReportFigures",
    "SystemDifference",
    "agreement_figures",
    "axis_compliance",
    "compliance",
    "figures",
    "lines_of",
]

_T = TypeVar("_T")
LABELS = (SATISFIED, NOT_SATISFIED)
CONVENTIONS = (
    "F1 is macro-F1: the mean over the verdicts that either side gave; F1(0) counts a verdict that "
    "neither gave as 0. By task: the mean over tasks of each task's own."
)


@dataclass(frozen=True, slots=True)
class Compliance:
    """A compliance score and what it was made of.

    Attributes:
        value: `sum(w s) / sum(w+)` over the judged criteria, where w+ are the positive weights;
            it may be below 0. 0.0 where no criterion has a positive weight. None where none was
            judged of those that have one or, where none has one, of all.
        lowest, highest: the least and the most it could be if any of the missing verdicts came,
            with any answer; `value` lies between them, and both equal it where none is missing.
        judged: criteria with a score.
        missing: criteria whose judging failed, or that the judge could not tell.
    """

    value: float | None
    lowest: float
    highest: float
    judged: int
    missing: int


def compliance(pairs: Iterable[tuple[float, float | None]]) -> Compliance:
    """The compliance score of pairs of weight and score (0 to 1; None for a missing one)."""
    entries = list(pairs)
    known = [(weight, score) for weight, score in entries if score is not None]
    missing = [weight for weight, score in entries if score is None]
    raw = fsum(weight * score for weight, score in known)
    positive = fsum(weight for weight, _ in known if weight > 0)
    gains = [weight for weight in missing if weight > 0]
    if not positive and not gains:
        value = None if missing and not known else 0.0
        return Compliance(value, 0.0, 0.0, len(known), len(missing))
    value = raw / positive if positive else None
    worst = raw + fsum(weight for weight in missing if weight < 0)
    least = least_ratio(worst, positive, [(weight, 0.0) for weight in gains])
    most = least_ratio(-raw, positive, [(weight, -1.0) for weight in gains])
    return Compliance(value, *_around(value, least, most), len(known), len(missing))


def axis_compliance(pairs: Iterable[tuple[float, float | None]]) -> Compliance:
    """The compliance of a part of a report's criteria.

    As `compliance`; but where the part has penalty criteria only, it is the share of their weight
    that does not apply: 1 with no fault present, 0 with all. By the formula it would be 0 either
    way.
    """
    entries = list(pairs)
    if any(weight > 0 for weight, _ in entries) or all(weight == 0 for weight, _ in entries):
        return compliance(entries)
    avoided = compliance(
        (-weight, None if score is None else 1.0 - score) for weight, score in entries if weight
    )
    weightless = [score for weight, score in entries if not weight]
    return Compliance(
        avoided.value,
        avoided.lowest,
        avoided.highest,
        avoided.judged + sum(score is not None for score in weightless),
        avoided.missing + sum(score is None for score in weightless),
    )


def _around(value: float | None, least: float | None, most: float | None) -> tuple[float, float]:
    """The bounds, from `least_ratio` of the values and of their opposites; however rounded, `value`
    is within them."""
    ends = [value, least, None if most is None else -most]
    known = [end for end in ends if end is not None]
    return min(known), max(known)


@dataclass(frozen=True, slots=True)
class Line:
    """What the figures need of a result line."""

    system: str
    sample_id: str
    domain: str
    axis: str
    title: str
    weight: float
    score: float | None
    verdict: str | None
    human: str | None


def lines_of(rows: Iterable[Mapping[str, Any]]) -> list[Line]:
    """Result lines for figures; what a line lacks beyond weight and score is empty.

    Raises:
        InputError: a weight is no number, or a score no number from 0 to 1; says in which line.
    """
    return [_line(row, number) for number, row in enumerate(rows, start=1)]


def _line(row: Mapping[str, Any], number: int) -> Line:
    weight, score = row["weight"], row["score"]
    if isinstance(score, Real) and math.isnan(float(score)):  # how a table says that there is none
        score = None
    if not _is_number(weight):
        raise InputError(f"result {number}: the weight must be a number, found {weight!r}")
    if score is not None and not (_is_number(score) and 0 <= score <= 1):
        raise InputError(f"result {number}: the score must be from 0 to 1 or null, found {score!r}")
    return Line(
        str(row.get("system") or ""),
        str(row.get("sample_id") or ""),
        str(row.get("domain") or ""),
        str(row.get("axis") or ""),
        str(row.get("rubric_title") or ""),
        float(weight),
        None if score is None else float(score),
        row.get("verdict"),
        row.get("human_verdict"),
    )


def _is_number(value: object) -> bool:
    return isinstance(value, Real) and not isinstance(value, bool) and math.isfinite(float(value))


@dataclass(frozen=True, slots=True)
class ReportFigures:
    """One report's compliance, and that of each axis by its own weights (`axis_compliance`)."""

    system: str
    sample_id: str
    domain: str
    compliance: Compliance
    by_axis: Mapping[str, Compliance]


@dataclass(frozen=True, slots=True)
class GroupFigures:
    """Several reports together.

    Attributes:
        name: of the axis, domain or system.
        reports: reports with a score.
        without: reports without one, since nothing that it is made of was judged.
        mean: the mean compliance of those with a score, with a bootstrap interval over tasks.
        lowest, highest: the least and the most the mean could be if any of the missing verdicts
            came; a report without a score would then have one.
        missing: verdicts that are missing.
    """

    name: str
    reports: int
    without: int
    mean: Estimate
    lowest: float
    highest: float
    missing: int


@dataclass(frozen=True, slots=True)
class SystemDifference:
    """Two systems on the tasks that both have reports for.

    Attributes:
        a, b: their names.
        comparison: B minus A; a task's scores are made of the criteria that were judged in both.
        one_sided: verdicts that are left out since the other system's is missing.
    """

    a: str
    b: str
    comparison: PairedComparison
    one_sided: int


@dataclass(frozen=True, slots=True)
class HumanAgreement:
    """How far the verdicts agree with people's; `Partially Satisfied` counts as not satisfied.

    Attributes:
        name: `all`, or the axis.
        tasks: tasks with a pair in which both decided.
        agreement: of all pairs together; intervals are resampled by task.
        macro_f1: pooled: the mean F1 of the verdicts that either side gave.
        macro_f1_zero: the same where a verdict that neither gave counts as 0, as some libraries do.
        macro_f1_by_task, macro_f1_zero_by_task: the means over tasks of each task's own.
        pooled_kappa: Cohen's, of all pairs in one table, since most criteria have one pair: that
            some criteria are satisfied more often than others, and that both know it, counts as
            agreement.
    """

    name: str
    tasks: int
    agreement: LabelAgreement
    macro_f1: Estimate
    macro_f1_zero: float | None
    macro_f1_by_task: float | None
    macro_f1_zero_by_task: float | None
    pooled_kappa: Estimate


@dataclass(frozen=True, slots=True)
class Figures(Report):
    """The figures of a batch; `print` shows them, and they have all forms of a report.

    Attributes:
        reports: each report.
        axes, domains: the reports by axis and by domain.
        systems: by system, the best first; empty where there is one.
        differences: of every two systems.
        agreement: with human verdicts, over all and by axis; empty where there are none.
    """

    reports: tuple[ReportFigures, ...]
    axes: tuple[GroupFigures, ...]
    domains: tuple[GroupFigures, ...]
    systems: tuple[GroupFigures, ...]
    differences: tuple[SystemDifference, ...]
    agreement: tuple[HumanAgreement, ...]

    @property
    def title(self) -> str:
        return "Compliance of research reports"

    def sections(self) -> Iterator[Section]:
        """Compliance by report, axis, domain and system; differences, and agreement with people."""
        yield _table(self.reports, _OF_REPORT)
        for heading, groups in (
            ("axis", self.axes),
            ("domain", self.domains),
            ("system", self.systems),
        ):
            if groups:
                yield GAP
                yield _table(groups, {heading: lambda one: one.name, **_OF_GROUP})
        if self.differences:
            yield GAP
            yield _table(self.differences, _OF_DIFFERENCE)
        if self.agreement:
            yield GAP
            yield _table(self.agreement, _OF_AGREEMENT)
            yield say(CONVENTIONS, "quiet")


def figures(lines: Sequence[Line]) -> Figures:
    """The figures of result lines, whatever order they were written in."""
    lines = sorted(
        lines,
        key=lambda line: (
            line.system,
            line.sample_id,
            line.axis,
            line.title,
            line.weight,
            line.verdict or "",
            line.human or "",
        ),
    )
    grouped: dict[tuple[str, str], list[Line]] = {}
    for line in lines:
        grouped.setdefault((line.system, line.sample_id), []).append(line)
    reports = tuple(_report(of_report) for of_report in grouped.values())
    axes = dict.fromkeys(line.axis for line in lines if line.axis)
    domains = dict.fromkeys(line.domain for line in lines if line.domain)
    systems = list(dict.fromkeys(line.system for line in lines))
    ranked: list[GroupFigures] = []
    if len(systems) > 1:
        ranked = [
            _group(name, [(r.sample_id, r.compliance) for r in reports if r.system == name])
            for name in systems
        ]
        ranked.sort(key=lambda one: -(one.mean.value if one.mean.value is not None else -1e9))
    return Figures(
        reports,
        tuple(
            _group(name, [(r.sample_id, r.by_axis[name]) for r in reports if name in r.by_axis])
            for name in axes
        ),
        tuple(
            _group(name, [(r.sample_id, r.compliance) for r in reports if r.domain == name])
            for name in domains
        ),
        tuple(ranked),
        tuple(_difference(grouped, a.name, b.name) for a, b in combinations(ranked, 2)),
        agreement_figures(lines),
    )


def _report(lines: Sequence[Line]) -> ReportFigures:
    first = lines[0]
    axes = dict.fromkeys(line.axis for line in lines if line.axis)
    return ReportFigures(
        first.system,
        first.sample_id,
        first.domain,
        compliance((line.weight, line.score) for line in lines),
        {
            axis: axis_compliance((line.weight, line.score) for line in lines if line.axis == axis)
            for axis in axes
        },
    )


def _group(name: str, found: Sequence[tuple[str, Compliance]]) -> GroupFigures:
    from rubricate.stats import bootstrapped_mean

    tasks, scores = [task for task, _ in found], [one for _, one in found]
    mean = bootstrapped_mean([one.value for one in scores], groups=tasks)
    lowest, highest = _around(mean.value, _least_mean(scores, 1), _least_mean(scores, -1))
    scored = sum(one.value is not None for one in scores)
    return GroupFigures(
        name,
        scored,
        len(scores) - scored,
        mean,
        lowest,
        highest,
        sum(one.missing for one in scores),
    )


def _least_mean(scores: Sequence[Compliance], sign: int) -> float | None:
    """The least mean of the scores (sign 1), or of their opposites (-1), if any of the missing
    verdicts came with any answer: a report without a value may then get one, and count."""
    ends = [sign * (one.lowest if sign > 0 else one.highest) for one in scores]
    pairs = list(zip(scores, ends, strict=True))
    known = [end for one, end in pairs if one.value is not None]
    return least_ratio(
        fsum(known), len(known), [(1, end) for one, end in pairs if one.value is None]
    )


def _mean(values: Sequence[float]) -> float | None:
    return fsum(values) / len(values) if values else None


def _difference(
    reports: Mapping[tuple[str, str], Sequence[Line]], a: str, b: str
) -> SystemDifference:
    from rubricate.stats import compare_paired

    tasks = [task for system, task in reports if system == a and (b, task) in reports]
    scores: list[list[float | None]] = [[], []]
    one_sided = 0
    for task in tasks:
        both = [_by_criterion(reports[system, task]) for system in (a, b)]
        pairs = [(both[0][key], both[1][key]) for key in both[0] if key in both[1]]
        judged = [pair for pair in pairs if None not in (pair[0].score, pair[1].score)]
        one_sided += sum((one.score is None) != (other.score is None) for one, other in pairs)
        for side, found in enumerate(scores):
            lines = [pair[side] for pair in judged]
            gains = any(line.weight > 0 for line in lines)
            score = compliance((line.weight, line.score) for line in lines).value
            found.append(score if gains else None)
    return SystemDifference(a, b, compare_paired(*scores, groups=tasks), one_sided)


def _by_criterion(lines: Sequence[Line]) -> dict[tuple[str, float, int], Line]:
    """Lines by criterion: its title and weight and, of several of these, its index among them."""
    counts: Counter[tuple[str, float]] = Counter()
    found: dict[tuple[str, float, int], Line] = {}
    for line in lines:
        criterion = line.title, line.weight
        found[*criterion, counts[criterion]] = line
        counts[criterion] += 1
    return found


def agreement_figures(lines: Sequence[Line]) -> tuple[HumanAgreement, ...]:
    """Agreement with the human verdicts in the lines: over all, then by axis."""
    labelled = [line for line in lines if line.human is not None]
    if not labelled:
        return ()
    axes = dict.fromkeys(line.axis for line in labelled if line.axis)
    parts = [_agreement("all", labelled)]
    if len(axes) > 1:
        parts += [_agreement(axis, [x for x in labelled if x.axis == axis]) for axis in axes]
    return tuple(parts)


def _agreement(name: str, lines: Sequence[Line]) -> HumanAgreement:
    whole = _label_agreement(lines)
    by_task: dict[str, list[Line]] = {}
    for line in lines:
        by_task.setdefault(line.sample_id, []).append(line)
    each = [_label_agreement(of_task, intervals=False) for of_task in by_task.values()]
    each = [one for one in each if one.n]
    defined = [one.figures["macro_f1"].value for one in each]
    return HumanAgreement(
        name,
        len(each),
        whole,
        whole.figures["macro_f1"],
        _zero_f1(whole),
        _mean([value for value in defined if value is not None]),
        _mean([value for value in map(_zero_f1, each) if value is not None]),
        whole.figures["cohen_kappa"],
    )


def _label_agreement(lines: Sequence[Line], *, intervals: bool = True) -> LabelAgreement:
    from rubricate.stats import Bootstrap, label_agreement

    return label_agreement(
        [_binary(line.verdict) for line in lines],
        [_binary(line.human) for line in lines],
        labels=LABELS,
        groups=[line.sample_id for line in lines],
        bootstrap=Bootstrap() if intervals else None,
    )


def _binary(verdict: str | None) -> str | None:
    """The verdict of two; `Partially Satisfied` is not satisfied."""
    return verdict if verdict is None or verdict == SATISFIED else NOT_SATISFIED


def _zero_f1(found: LabelAgreement) -> float | None:
    """Macro-F1 with 0 for a verdict that neither side gave; None where there is no pair."""
    if not found.n:
        return None
    values = [found.by_label[label]["f1"].value for label in LABELS]
    return sum(value or 0.0 for value in values) / len(LABELS)


# How they are shown


def _table(rows: Iterable[_T], columns: Mapping[str, Callable[[_T], str]]) -> Table:
    """A table of a column of names and others of figures, by what each says of a row."""
    heading, *others = columns
    return Table(
        [Column(heading, is_text=True), *numbers(*others)],
        [Row([told(row) for told in columns.values()]) for row in rows],
    )


_OF_REPORT: dict[str, Callable[[ReportFigures], str]] = {
    "report": lambda one: f"{one.system}/{one.sample_id}" if one.system else one.sample_id,
    "domain": lambda one: one.domain,
    "compliance": lambda one: figure(one.compliance.value, 3),
    "lowest": lambda one: figure(one.compliance.lowest, 3),
    "highest": lambda one: figure(one.compliance.highest, 3),
    "judged": lambda one: str(one.compliance.judged),
    "missing": lambda one: str(one.compliance.missing),
}
_OF_GROUP: dict[str, Callable[[GroupFigures], str]] = {
    "compliance [95 %]": lambda one: str(one.mean),
    "lowest": lambda one: figure(one.lowest, 3),
    "highest": lambda one: figure(one.highest, 3),
    "reports": lambda one: str(one.reports),
    "without": lambda one: str(one.without),
    "missing": lambda one: str(one.missing),
}
_OF_DIFFERENCE: dict[str, Callable[[SystemDifference], str]] = {
    "difference": lambda one: f"{one.b} - {one.a}",
    "by [95 %]": lambda one: str(one.comparison.bootstrapped),
    "p": lambda one: p_text(one.comparison.permutation.p_value),
    "tasks": lambda one: str(one.comparison.n),
}
_OF_AGREEMENT: dict[str, Callable[[HumanAgreement], str]] = {
    "with people": lambda one: one.name,
    "n": lambda one: str(one.agreement.n),
    "F1 [95 %]": lambda one: str(one.macro_f1),
    "F1(0)": lambda one: figure(one.macro_f1_zero, 3),
    "F1 by task": lambda one: figure(one.macro_f1_by_task, 3),
    "F1(0) by task": lambda one: figure(one.macro_f1_zero_by_task, 3),
    "pooled kappa": lambda one: str(one.pooled_kappa),
}
