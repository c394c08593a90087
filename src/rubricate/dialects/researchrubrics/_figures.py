"""Compliance by report, axis, domain and system; failures; and agreement with people.

The core computes all figures: items are scored by `SCORING`, and the agreement is that of
`rubricate.analysis.agreement_report`.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from itertools import combinations
from math import fsum
from typing import TYPE_CHECKING, Any

from rubricate.dialects.researchrubrics._tasks import axis_of
from rubricate.rubric import Criterion, DeclaredScoring, Score, ScoringRules, Verdict, score
from rubricate.run.results import DeclaredTally, GroupScore, ItemResult, group_table, interval_text
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
    from rubricate.analysis import AgreementReport, FinishedRun, Result
    from rubricate.stats import PairedComparison

SCORING = DeclaredScoring(
    items="raw", penalties_only="avoided", by=("axis", "domain", "system"), pairs="sample_id"
)
"""The page's compliance: `sum(w s) / sum(w+)`, not clamped. If there are only penalty criteria, as
on some axes, it is the share of their weight that does not apply."""
RULES = ScoringRules(declared=SCORING)
NOTHING = GroupScore(
    **dict.fromkeys(("value", "low", "high", "lowest", "highest")),
    name="",
    n=0,
    without=0,
    missing=0,
)


@dataclass(frozen=True, slots=True)
class Compliance:
    """A compliance score and its components.

    Attributes:
        value: `sum(w s) / sum(w+)` over the judged criteria, where w+ are the positive weights; it
            may be below 0. If there are only penalty criteria, `1 + sum(w s) / sum(|w|)`. None if
            no judged criterion can give points.
        lowest, highest: the range that the score could still take if verdicts are missing;
            otherwise both equal `value`.
        judged: the number of criteria with a score.
        missing: the number of criteria that failed, or that the judge could not assess.
        penalties_missing: the number of penalty criteria among them, whose cost is not part of the
            value.
    """

    value: float | None
    lowest: float | None
    highest: float | None
    judged: int
    missing: int
    penalties_missing: int = 0

    @classmethod
    def of(cls, score: Score, pairs: Iterable[tuple[float, float | None]]) -> Compliance:
        """Combine a score with the pairs of weight and value that it was computed from."""
        entries = list(pairs)
        missing = [weight for weight, value in entries if value is None]
        return cls(
            score.value,
            score.lowest,
            score.highest,
            len(entries) - len(missing),
            len(missing),
            sum(weight < 0 for weight in missing),
        )


def compliance(pairs: Iterable[tuple[float, float | None]]) -> Compliance:
    """Compute the compliance score of pairs of weight and score.

    Args:
        pairs: the weights, each with a score from 0 to 1; None for a missing one.

    Example:
        `compliance([(5, 1.0), (4, 1.0), (-5, 1.0)]).value` is 4 / 9.
    """
    entries = list(pairs)
    criteria = [Criterion(requirement="any", weight=weight) for weight, _ in entries]
    verdicts = [
        Verdict("", "failed" if value is None else "judged", None, value) for _, value in entries
    ]
    return Compliance.of(score(criteria, verdicts, RULES), entries)


def _pairs(item: ItemResult, axis: str | None = None) -> list[tuple[float, float | None]]:
    """The weights and values of an item's criteria, or of those on one axis."""
    return [
        (criterion.weight, item.criteria[criterion.name].value)
        for criterion in item.rubric
        if axis is None or axis_of(criterion) == axis
    ]


@dataclass(frozen=True, slots=True)
class ReportFigures:
    """A report's compliance, and that of each axis by its own weights."""

    system: str
    sample_id: str
    domain: str
    compliance: Compliance
    by_axis: Mapping[str, Compliance]

    @classmethod
    def of(cls, item: ItemResult) -> ReportFigures:
        """Compute the figures of a graded report."""
        axes = sorted({axis for criterion in item.rubric if (axis := axis_of(criterion))})
        return cls(
            system=str(item.metadata.get("system", "")),
            sample_id=str(item.metadata["sample_id"]),
            domain=str(item.metadata.get("domain", "")),
            compliance=Compliance.of(item.score, _pairs(item)),
            by_axis={
                axis: Compliance.of(item.tag_scores[f"axis:{axis}"], _pairs(item, axis))
                for axis in axes
            },
        )


@dataclass(frozen=True, slots=True)
class AxisFailures:
    """Failures on an axis, over all reports.

    Attributes:
        axis: its name.
        judged: the number of verdicts on its criteria.
        not_satisfied: the number of `Not Satisfied` on criteria that give points.
        partly: the number of `Partially Satisfied` on all criteria.
        penalties: the number of penalty criteria whose fault is present.
        lost: the points lost by them, in units of the weights; partly satisfied criteria lose half.
        share: the share of the points that all axes lost, in [0, 1]; None if no points were lost.
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
    """A comparison of two systems on the tasks for which both have reports.

    Attributes:
        a, b: their names.
        comparison: B minus A; the scores of a task are based on criteria that were judged in both.
        one_sided: the number of verdicts that are left out because the other system's is missing.
    """

    a: str
    b: str
    comparison: PairedComparison
    one_sided: int


@dataclass(frozen=True, slots=True)
class Figures(Report):
    """The figures of graded reports, printable and available in all forms of a report.

    Attributes:
        overall: the compliance over all reports.
        reports: the figures of each report.
        axes, domains: the reports by axis and by domain.
        systems: the reports by system, the best first; empty if there is only one.
        failures: the failures by axis, the most expensive first.
        differences: the comparisons of all pairs of systems.
        agreement: the agreement with human verdicts, with intervals resampled by task; None if
            there are none.
    """

    overall: GroupScore
    reports: tuple[ReportFigures, ...]
    axes: tuple[GroupScore, ...]
    domains: tuple[GroupScore, ...]
    systems: tuple[GroupScore, ...]
    failures: tuple[AxisFailures, ...]
    differences: tuple[SystemDifference, ...]
    agreement: AgreementReport | None

    title = "Compliance of research reports"

    def to_dict(self) -> dict[str, Any]:
        groups = {name: getattr(self, name) for name in ("axes", "domains", "systems")}
        return {
            **asdict(replace(self, agreement=None, axes=(), domains=(), systems=())),
            "overall": self.overall.model_dump(),
            **{name: [group.model_dump() for group in members] for name, members in groups.items()},
            "agreement": self.agreement and self.agreement.to_dict(),
        }

    def sections(self) -> Iterator[Section]:
        """Return compliance by report, axis, domain and system; failures; agreement."""
        overall = self.overall
        interval = f" [{interval_text(overall, 3)}]" if overall.low is not None else ""
        yield say(f"compliance {figure(overall.value, 3)}{interval}, n {overall.n}", "strong")
        if overall.missing:
            penalties = sum(report.compliance.penalties_missing for report in self.reports)
            of_them = f", {penalties} of them on penalty criteria, which cost nothing here"
            yield say(
                f"verdicts missing: {overall.missing}{of_them if penalties else ''}; with them "
                f"between {figure(overall.lowest, 3)} and {figure(overall.highest, 3)}",
                "alarm",
            )
        yield _table(
            "report",
            "domain, compliance, lowest, highest, judged, missing",
            map(_report_cells, self.reports),
        )
        for heading, groups in (
            ("axis", self.axes),
            ("domain", self.domains),
            ("system", self.systems),
        ):
            if groups:
                yield from (GAP, group_table(heading, groups, score="compliance"))
        if self.failures:
            headings = "judged, not satisfied, partly, penalties, points lost, of all"
            yield from (GAP, _table("failures", headings, map(_failure_cells, self.failures)))
        if self.differences:
            cells = map(_difference_cells, self.differences)
            yield from (GAP, _table("difference", "by [95 %], p, tasks", cells))
        if self.agreement is not None:
            yield GAP
            yield from self.agreement.sections()


def figures(result: Result) -> Figures:
    """Compute the figures of graded reports; their order does not matter.

    Args:
        result: the result of grading, or of a results file (`result_of`).
    """
    from rubricate.analysis import Items

    ordered = sorted(
        result.items,
        key=lambda item: [str(item.metadata.get(name, "")) for name in ("system", "sample_id")],
    )
    items = [replace(item, index=index) for index, item in enumerate(ordered)]
    tally = DeclaredTally()
    for item in items:
        tally.add(item)
    scores = tally.figures()
    by = {} if scores is None else {part.field: tuple(part.groups) for part in scores.by}
    systems = by.get("system", ())
    ranked = sorted(systems, key=_rank) if len(systems) > 1 else []
    result = replace(result, items=Items(items))
    return Figures(
        NOTHING if scores is None else scores.overall,
        tuple(map(ReportFigures.of, items)),
        by.get("axis", ()),
        by.get("domain", ()),
        tuple(ranked),
        _failures(items),
        tuple(_difference(result, a.name, b.name) for a, b in combinations(ranked, 2)),
        _agreement(result),
    )


def _rank(system: GroupScore) -> float:
    return math.inf if system.value is None else -system.value


def _failures(items: Sequence[ItemResult]) -> tuple[AxisFailures, ...]:
    """Count failures by axis; a penalty criterion fails if its fault is present."""
    by_axis: dict[str, list[tuple[float, float]]] = {}
    for item in items:
        for criterion in item.rubric:
            axis, value = axis_of(criterion), item.criteria[criterion.name].value
            if axis and value is not None:
                by_axis.setdefault(axis, []).append((criterion.weight, value))
    lost = {
        axis: fsum(w * (1 - value) if w > 0 else -w * value for w, value in pairs)
        for axis, pairs in by_axis.items()
    }
    total = fsum(lost.values())
    failures = [
        AxisFailures(
            axis,
            len(pairs),
            sum(weight >= 0 and not value for weight, value in pairs),
            sum(0 < value < 1 for _, value in pairs),
            sum(weight < 0 and value == 1 for weight, value in pairs),
            lost[axis],
            lost[axis] / total if total else None,
        )
        for axis, pairs in by_axis.items()
    ]
    return tuple(sorted(failures, key=lambda axis: (-axis.lost, axis.axis)))


def _difference(result: Result, a: str, b: str) -> SystemDifference:
    from rubricate.analysis import Items
    from rubricate.analysis.comparison import scored_alike
    from rubricate.stats import compare_paired

    def of(system: str) -> FinishedRun:
        items = [item for item in result.items if item.metadata.get("system", "") == system]
        by_task = [replace(item, id=str(item.metadata["sample_id"])) for item in items]
        return replace(result, items=Items(by_task)).finished()

    alike = scored_alike(of(a), of(b))
    scores = [[pair[side] for pair in alike.scores.values()] for side in (0, 1)]
    return SystemDifference(
        a, b, compare_paired(*scores), sum(pair.is_one_sided for pair in alike.pairs)
    )


def _agreement(result: Result) -> AgreementReport | None:
    if not any(item.labels for item in result.items):
        return None
    from rubricate.analysis import agreement_report

    return agreement_report(result, groups="sample_id", bootstrapped=0)


# Presentation


def _table(name: str, headings: str, rows: Iterable[Sequence[str]]) -> Table:
    columns = [Column(name, is_text=True), *numbers(*headings.split(", "))]
    return Table(columns, [Row(cells) for cells in rows])


def _report_cells(report: ReportFigures) -> list[str]:
    compliance = report.compliance
    penalties = f" ({compliance.penalties_missing} penalty)" if compliance.penalties_missing else ""
    return [
        f"{report.system}/{report.sample_id}" if report.system else report.sample_id,
        report.domain,
        *(figure(value, 3) for value in (compliance.value, compliance.lowest, compliance.highest)),
        str(compliance.judged),
        f"{compliance.missing}{penalties}",
    ]


def _failure_cells(failures: AxisFailures) -> list[str]:
    counts = map(
        str, (failures.judged, failures.not_satisfied, failures.partly, failures.penalties)
    )
    share = "" if failures.share is None else percent(failures.share)
    return [failures.axis, *counts, f"{failures.lost:g}", share]


def _difference_cells(difference: SystemDifference) -> list[str]:
    comparison = difference.comparison
    p_value = p_text(comparison.permutation.p_value)
    return [
        f"{difference.b} - {difference.a}",
        str(comparison.difference),
        p_value,
        str(comparison.n),
    ]
