"""What a batch comes to: compliance by report, axis, domain and system, and agreement.

The formula and its means are the core's, by the scoring that `SCORING` declares.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from itertools import combinations
from math import fsum
from numbers import Real
from typing import TYPE_CHECKING, Any, TypeVar

from rubricate.dialects.researchrubrics._tasks import NOT_SATISFIED, PARTIALLY, SATISFIED, axis_tag
from rubricate.errors import InputError
from rubricate.rubric import Criterion, DeclaredScoring, Rubric, Score, ScoringRules, Verdict
from rubricate.run.results import (
    DeclaredTally,
    GroupScore,
    ItemResult,
    group_table,
    interval_text,
)
from rubricate.views import (
    GAP,
    Column,
    Report,
    Row,
    Section,
    Table,
    figure,
    numbers,
    p_text,
    percent,
    say,
)

if TYPE_CHECKING:
    from rubricate.stats import Estimate, LabelAgreement, PairedComparison

_T = TypeVar("_T")
SCORING = DeclaredScoring(
    items="raw", penalties_only="avoided", by=("axis", "domain", "system"), pairs="sample_id"
)
"""The page's compliance: `sum(w s) / sum(w+)`, not clamped. Of penalty criteria alone, as an axis
can have them, it is the share of their weight that does not apply."""
RULES = ScoringRules(declared=SCORING)
LABELS = (SATISFIED, NOT_SATISFIED)
THREE = (SATISFIED, PARTIALLY, NOT_SATISFIED)
CONVENTIONS = (
    "F1 is macro-F1: the mean over the verdicts that either side gave; F1(0) counts a verdict that "
    "neither gave as 0. By task: the mean over tasks of each task's own. Of two classes, Partially "
    "Satisfied counts as not satisfied."
)


@dataclass(frozen=True, slots=True)
class Compliance:
    """A compliance score and what it was made of.

    Attributes:
        value: `sum(w s) / sum(w+)` over the judged criteria, where w+ are the positive weights;
            it may be below 0. Where there are penalty criteria only, `1 + sum(w s) / sum(|w|)`.
            None where no criterion was judged that it could be made of.
        lowest, highest: the least and the most it could be if any of the missing verdicts came,
            with any answer; `value` lies between them, and both equal it where none is missing.
        judged: criteria with a score.
        missing: criteria whose judging failed, or that the judge could not tell.
        penalties_missing: those of them that are penalty criteria: what they would cost is not in
            the value.
    """

    value: float | None
    lowest: float | None
    highest: float | None
    judged: int
    missing: int
    penalties_missing: int = 0


def compliance(pairs: Iterable[tuple[float, float | None]]) -> Compliance:
    """The compliance score of pairs of weight and score (0 to 1; None for a missing one)."""
    entries = list(pairs)
    criteria = [Criterion(requirement=ANY, weight=weight) for weight, _ in entries]
    verdicts = [_verdict("", score) for _, score in entries]
    return _compliance(RULES.score(criteria, verdicts), entries)


ANY = "criterion"
"""What a criterion requires that only its weight is known of."""


def _verdict(name: str, score: float | None) -> Verdict:
    return Verdict(name, "failed" if score is None else "judged", None, score)


def _compliance(score: Score, entries: Sequence[tuple[float, float | None]]) -> Compliance:
    missing = [weight for weight, one in entries if one is None]
    return Compliance(
        score.value,
        score.lowest,
        score.highest,
        len(entries) - len(missing),
        len(missing),
        sum(weight < 0 for weight in missing),
    )


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

    A line that says of itself that it did not succeed has no score, whatever stands there.

    Raises:
        InputError: a weight is no number, a score no number from 0 to 1, or one that contradicts
            its verdict; says in which line.
    """
    return [_line(row, number) for number, row in enumerate(rows, start=1)]


def _line(row: Mapping[str, Any], number: int) -> Line:
    weight, score = row["weight"], row["score"]
    success, verdict = row.get("success"), row.get("verdict")
    if isinstance(score, Real) and math.isnan(float(score)):  # how a table says that there is none
        score = None
    if success is not None and not success:  # elsewhere a failed judgement stands as 0
        score = verdict = None
    if not _is_number(weight):
        raise InputError(f"result {number}: the weight must be a number, found {weight!r}")
    if score is not None and not (_is_number(score) and 0 <= score <= 1):
        raise InputError(f"result {number}: the score must be from 0 to 1 or null, found {score!r}")
    if (verdict, score) in ((SATISFIED, 0), (NOT_SATISFIED, 1)):
        raise InputError(
            f"result {number}: the verdict is '{verdict}' and the score {score!r}: correct one"
        )
    return Line(
        str(row.get("system") or ""),
        str(row.get("sample_id") or ""),
        str(row.get("domain") or ""),
        str(row.get("axis") or "").strip(),
        str(row.get("rubric_title") or ""),
        float(weight),
        None if score is None else float(score),
        verdict,
        row.get("human_verdict"),
    )


def _is_number(value: object) -> bool:
    return isinstance(value, Real) and not isinstance(value, bool) and math.isfinite(float(value))


@dataclass(frozen=True, slots=True)
class ReportFigures:
    """One report's compliance, and that of each axis by its own weights."""

    system: str
    sample_id: str
    domain: str
    compliance: Compliance
    by_axis: Mapping[str, Compliance]


@dataclass(frozen=True, slots=True)
class AxisFailures:
    """What failed on an axis, over all reports.

    Attributes:
        axis: its name.
        judged: verdicts on its criteria.
        not_satisfied: those on criteria that give points that are `Not Satisfied`.
        partly: those that are `Partially Satisfied`, of either kind.
        penalties: those on penalty criteria whose fault is present.
        lost: the points that these cost, in units of the weights; half of them where it is partly.
        share: of the points that all axes lost, in [0, 1]; None where none was lost.
    """

    axis: str
    judged: int
    not_satisfied: int
    partly: int
    penalties: int
    lost: float
    share: float | None


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
    """How far the verdicts agree with people's.

    Attributes:
        name: `all`, or the axis.
        classes: 3, or 2 where `Partially Satisfied` counts as not satisfied.
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
    classes: int
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
        overall: of all reports.
        reports: each report.
        axes, domains: the reports by axis and by domain.
        systems: by system, the best first; empty where there is one.
        failures: what failed, by axis; what costs most first.
        differences: of every two systems.
        agreement: with human verdicts, over all and by axis; empty where there are none. Where a
            verdict is `Partially Satisfied`, of three classes, too.
    """

    overall: GroupScore
    reports: tuple[ReportFigures, ...]
    axes: tuple[GroupScore, ...]
    domains: tuple[GroupScore, ...]
    systems: tuple[GroupScore, ...]
    failures: tuple[AxisFailures, ...]
    differences: tuple[SystemDifference, ...]
    agreement: tuple[HumanAgreement, ...]

    @property
    def title(self) -> str:
        return "Compliance of research reports"

    def to_dict(self) -> dict[str, Any]:
        data = asdict(replace(self, axes=(), domains=(), systems=()))
        return {
            **data,
            "overall": self.overall.model_dump(),
            **{
                name: [one.model_dump() for one in getattr(self, name)]
                for name in ("axes", "domains", "systems")
            },
        }

    def sections(self) -> Iterator[Section]:
        """Compliance by report, axis, domain and system; failures, differences, and agreement."""
        overall = self.overall
        interval = f" [{interval_text(overall, 3)}]" if overall.low is not None else ""
        bounds = f"between {figure(overall.lowest, 3)} and {figure(overall.highest, 3)}"
        yield say(f"compliance {figure(overall.value, 3)}{interval}, n {overall.n}", "strong")
        if overall.missing:
            penalties = sum(one.compliance.penalties_missing for one in self.reports)
            of_them = ""
            if penalties:
                of_them = f", {penalties} of them on penalty criteria, which cost nothing here"
            yield say(f"verdicts missing: {overall.missing}{of_them}; with them {bounds}", "alarm")
        yield _table(self.reports, _OF_REPORT)
        for heading, groups in (
            ("axis", self.axes),
            ("domain", self.domains),
            ("system", self.systems),
        ):
            if groups:
                yield GAP
                yield group_table(heading, groups, score="compliance")
        for told in (
            _table(self.failures, _OF_FAILURES) if self.failures else None,
            _table(self.differences, _OF_DIFFERENCE) if self.differences else None,
            _table(self.agreement, _OF_AGREEMENT) if self.agreement else None,
        ):
            if told is not None:
                yield GAP
                yield told
        if self.agreement:
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
    tally = DeclaredTally()
    reports = []
    for index, of_report in enumerate(grouped.values()):
        found = _result(of_report, index)
        tally.add(found)
        reports.append(_report(of_report, found))
    scores = tally.figures()
    by = {} if scores is None else {one.field: tuple(one.groups) for one in scores.by}
    ranked = by.get("system", ())
    ranked = tuple(sorted(ranked, key=_rank)) if len(ranked) > 1 else ()
    return Figures(
        NOTHING if scores is None else scores.overall,
        tuple(reports),
        by.get("axis", ()),
        by.get("domain", ()),
        ranked,
        _failures(lines),
        tuple(_difference(grouped, a.name, b.name) for a, b in combinations(ranked, 2)),
        agreement_figures(lines),
    )


NOTHING = GroupScore(
    name="",
    value=None,
    low=None,
    high=None,
    lowest=None,
    highest=None,
    n=0,
    without=0,
    missing=0,
)


def _rank(system: GroupScore) -> float:
    return math.inf if system.value is None else -system.value


def _result(lines: Sequence[Line], index: int) -> ItemResult:
    """A report's lines as the core has an item's verdicts."""
    first = lines[0]
    rubric = Rubric(
        [
            Criterion(
                requirement=line.title if line.title.strip() else ANY,
                weight=line.weight,
                tags=axis_tag(line.axis),
            )
            for line in lines
        ]
    )
    pairs = zip(rubric.names, lines, strict=True)
    fields = {"sample_id": first.sample_id, "domain": first.domain, "system": first.system}
    return ItemResult.of_verdicts(
        first.sample_id,
        rubric,
        {name: _verdict(name, line.score) for name, line in pairs},
        RULES,
        index=index,
        metadata={name: value for name, value in fields.items() if value},
    )


def _report(lines: Sequence[Line], found: ItemResult) -> ReportFigures:
    first = lines[0]
    axes = dict.fromkeys(line.axis for line in lines if line.axis)
    return ReportFigures(
        first.system,
        first.sample_id,
        first.domain,
        _compliance(found.score, [(line.weight, line.score) for line in lines]),
        {
            axis: _compliance(
                found.tag_scores[axis_tag(axis)[0]],
                [(line.weight, line.score) for line in lines if line.axis == axis],
            )
            for axis in axes
        },
    )


def _failures(lines: Sequence[Line]) -> tuple[AxisFailures, ...]:
    """What failed by axis: a penalty criterion fails where its fault is present."""
    by_axis: dict[str, list[tuple[float, float]]] = {}
    for line in lines:
        if line.axis and line.score is not None:
            by_axis.setdefault(line.axis, []).append((line.weight, line.score))
    lost = {
        axis: fsum(w * (1 - score) if w > 0 else -w * score for w, score in pairs)
        for axis, pairs in by_axis.items()
    }
    total = fsum(lost.values())
    found = [
        AxisFailures(
            axis,
            len(pairs),
            sum(weight >= 0 and not score for weight, score in pairs),
            sum(0 < score < 1 for _, score in pairs),
            sum(weight < 0 and score == 1 for weight, score in pairs),
            lost[axis],
            lost[axis] / total if total else None,
        )
        for axis, pairs in by_axis.items()
    ]
    return tuple(sorted(found, key=lambda one: (-one.lost, one.axis)))


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
    parts = {"all": labelled}
    if len(axes) > 1:
        parts |= {axis: [x for x in labelled if x.axis == axis] for axis in axes}
    classes = (2, 3) if any(PARTIALLY in (x.verdict, x.human) for x in labelled) else (2,)
    return tuple(
        _agreement(name, of_part, count) for count in classes for name, of_part in parts.items()
    )


def _agreement(name: str, lines: Sequence[Line], classes: int) -> HumanAgreement:
    whole = _label_agreement(lines, classes)
    by_task: dict[str, list[Line]] = {}
    for line in lines:
        by_task.setdefault(line.sample_id, []).append(line)
    each = [_label_agreement(of_task, classes, intervals=False) for of_task in by_task.values()]
    each = [one for one in each if one.n]
    defined = [one.figures["macro_f1"].value for one in each]
    return HumanAgreement(
        name,
        classes,
        len(each),
        whole,
        whole.figures["macro_f1"],
        _zero_f1(whole),
        _mean([value for value in defined if value is not None]),
        _mean([value for value in map(_zero_f1, each) if value is not None]),
        whole.figures["cohen_kappa"],
    )


def _label_agreement(
    lines: Sequence[Line], classes: int, *, intervals: bool = True
) -> LabelAgreement:
    from rubricate.stats import Bootstrap, label_agreement

    same = classes == len(THREE)
    return label_agreement(
        [line.verdict if same else _binary(line.verdict) for line in lines],
        [line.human if same else _binary(line.human) for line in lines],
        labels=THREE if same else LABELS,
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
    values = [of_label["f1"].value for of_label in found.by_label.values()]
    return sum(value or 0.0 for value in values) / len(values)


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
    "missing": lambda one: _missing(one.compliance),
}
_OF_FAILURES: dict[str, Callable[[AxisFailures], str]] = {
    "failures": lambda one: one.axis,
    "judged": lambda one: str(one.judged),
    "not satisfied": lambda one: str(one.not_satisfied),
    "partly": lambda one: str(one.partly),
    "penalties": lambda one: str(one.penalties),
    "points lost": lambda one: f"{one.lost:g}",
    "of all": lambda one: "" if one.share is None else percent(one.share),
}
_OF_DIFFERENCE: dict[str, Callable[[SystemDifference], str]] = {
    "difference": lambda one: f"{one.b} - {one.a}",
    "by [95 %]": lambda one: str(one.comparison.bootstrapped),
    "p": lambda one: p_text(one.comparison.permutation.p_value),
    "tasks": lambda one: str(one.comparison.n),
}
_OF_AGREEMENT: dict[str, Callable[[HumanAgreement], str]] = {
    "with people": lambda one: one.name,
    "classes": lambda one: str(one.classes),
    "n": lambda one: str(one.agreement.n),
    "F1 [95 %]": lambda one: str(one.macro_f1),
    "F1(0)": lambda one: figure(one.macro_f1_zero, 3),
    "F1 by task": lambda one: figure(one.macro_f1_by_task, 3),
    "F1(0) by task": lambda one: figure(one.macro_f1_zero_by_task, 3),
    "pooled kappa": lambda one: str(one.pooled_kappa),
}


def _missing(found: Compliance) -> str:
    """How many verdicts are missing, and how many of them could only cost."""
    penalties = found.penalties_missing
    return f"{found.missing}{f' ({penalties} penalty)' if penalties else ''}"
