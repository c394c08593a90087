"""Two runs of the same items: what changed, and how sure that is."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from functools import partial
from typing import Any, Literal

from rubricate.analysis._finished import FinishedRun
from rubricate.analysis.comparison._scored_alike import (
    ABSTAINED_BEFORE,
    COMPARED,
    FAILED_BEFORE,
    GROUP,
    AlikeRuns,
    VerdictPair,
    scored_alike,
)
from rubricate.errors import InputError
from rubricate.rubric import Rubric
from rubricate.run.results import ResultRow
from rubricate.stats import (
    Bootstrap,
    PairedComparison,
    benjamini_hochberg,
    compare_paired,
    holm,
)
from rubricate.views import Paragraph, Report, Section, Words, figure, notes, p_text, percent

Outcome = Literal["passed", "worse", "not covered"]
SHOWN_NAMES = 5


@dataclass(frozen=True, slots=True)
class Flip:
    """A verdict that differs: the label (or the status, where there is none) and reason of each.

    `criterion` is its name in run B, `criterion_a` that in run A.
    """

    item: str
    criterion: str
    a: str
    b: str
    reason_a: str | None
    reason_b: str | None
    human_label: str | None
    criterion_a: str


@dataclass(frozen=True, slots=True)
class CriterionComparison:
    """One criterion's values, B against A.

    Attributes:
        name: the criterion, in run B.
        weight: in run B; where it is negative a higher value is worse.
        values: the paired comparison of values in [0, 1], where both runs judged.
        p_value: of the permutation test, corrected by Holm over the criteria.
        q_value: the same corrected by Benjamini and Hochberg.
        flips: answers that changed.
        one_sided: verdicts that one run decided, and on which the other failed or abstained.
    """

    name: str
    weight: float
    values: PairedComparison
    p_value: float | None
    q_value: float | None
    flips: int
    one_sided: int


@dataclass(frozen=True, slots=True)
class PartComparison:
    """The scores of parts of items, or of some items, B against A.

    Attributes:
        field: the field of the tag, `tags`, or `group` for a group of a tree.
        name: its value, the tag, or the group.
        scores: the paired comparison, where both runs have a score.
        p_value: of the permutation test, corrected by Holm over the parts of the field.
    """

    field: str
    name: str
    scores: PairedComparison
    p_value: float | None


@dataclass(frozen=True, slots=True)
class RunComparison(Report):
    """Run B against run A, both scored as run B is.

    Attributes:
        a, b: the run folders.
        judge_a, judge_b: who judged.
        items: items in both.
        only_a, only_b: items in one of them, which are left out.
        coverage: the share of run A's verdicts that are compared: those that are decided in both
            runs. A's abstentions are not counted.
        not_compared: how many of the others there are, by cause.
        not_covered: criteria on which run A decided, and of which nothing is compared; only where
            all items have the same rubric.
        differences: how the rubrics and the scoring of the runs differ, in words.
        groups: the field of the metadata that says which items belong together; None for none.
        score: the paired comparison of the items' scores, by what counts in both runs.
        criteria: those in both, in run B's order.
        flips: answers that changed, in run B's order.
        one_sided: verdicts that one run decided, and on which the other failed or abstained.
        parts: the scores by tag (by the fields that run B declares, and those that are asked for)
            and by group of a tree; empty where there are none.
    """

    a: str
    b: str
    judge_a: str
    judge_b: str
    items: int
    only_a: int
    only_b: int
    coverage: float
    not_compared: Mapping[str, int]
    not_covered: tuple[str, ...]
    differences: tuple[str, ...]
    groups: str | None
    score: PairedComparison
    criteria: tuple[CriterionComparison, ...]
    flips: tuple[Flip, ...]
    one_sided: tuple[Flip, ...]
    parts: tuple[PartComparison, ...] = ()

    def to_dict(self) -> dict[str, Any]:
        data = asdict(self)
        return data if self.parts else {name: data[name] for name in data if name != "parts"}

    def is_covered(self, least: float) -> bool:
        """Whether this share of run A's verdicts is compared and, if it is above 0, some of every
        criterion's.

        Args:
            least: a share, 0 to 1.
        """
        return self.coverage >= least - 1e-12 and not (least > 0 and self.not_covered)

    def is_worse(self, by: float) -> bool:
        """Whether B's mean score is more than `by` below A's, on what both decided."""
        difference = self.score.difference.value
        return difference is not None and difference < -by - 1e-12

    def against(
        self, by: float, least: float
    ) -> tuple[Literal["passed", "worse", "not covered"], str]:
        """Whether B may pass, and why, in words.

        Whether enough is compared comes first, since the difference is of what both decided.

        Args:
            by: how much lower B's mean score may be.
            least: the share of run A's verdicts that must be compared.
        """
        change, compared = self.score.difference.value or 0.0, percent(self.coverage, 1)
        worse = self.is_worse(by)
        if not self.is_covered(least) or not self.score.n:
            what = f"only {compared} of the verdicts of A could be compared, less than "
            what += percent(least)
            if self.coverage >= least - 1e-12:
                what = "no item has a score in both"
                if self.not_covered:
                    what = f"nothing could be compared on {', '.join(self.not_covered)}"
            causes = f" ({self.causes})" if self.not_compared else ""
            rest = f" On the rest the mean score fell by {figure(-change, 3)}." if worse else ""
            return "not covered", (
                f"Not shown to be no worse: {what}{causes}; grade again, or give "
                f"--min-coverage.{rest}"
            )
        if worse:
            return "worse", (
                f"Worse: the mean score fell by {figure(-change, 3)}, more than {by:g} "
                f"({self.score.n} items; p {p_text(self.score.permutation.p_value)})."
            )
        return "passed", (
            f"Passed: the mean score changed by {figure(change, 3, sign=True)}, where -{by:g} is "
            f"allowed; {compared} of the verdicts of A were compared."
        )

    @property
    def causes(self) -> str:
        """Why verdicts of run A are not compared, with how many, in words."""
        told = [f"{count} {cause}" for cause, count in self.not_compared.items()]
        return ", ".join(told) or "A decided nothing"

    @property
    def title(self) -> str:
        return "Comparison of two runs"

    def front(self) -> list[list[Paragraph]]:
        runs = (("A", self.a, self.judge_a), ("B", self.b, self.judge_b))
        return [
            [
                Paragraph((Words(f"{side}: "), Words(path, "code"), Words(f", judged by {judge}")))
                for side, path, judge in runs
            ],
            notes(f"{self.items} items in both; {self.score.n} scored in both."),
        ]

    def sections(self) -> Iterator[Section]:
        """The score, every criterion, and every flip with both reasons."""
        from rubricate.analysis.comparison._sections import comparison_sections

        return comparison_sections(self)


def compare_runs(
    a: FinishedRun,
    b: FinishedRun,
    *,
    margin: float | None = None,
    groups: str | None = None,
    by: Sequence[str] = (),
    bootstrap: Bootstrap | None = None,
) -> RunComparison:
    """Compare two runs on the items that both have, by id, and on what both decided.

    Both are scored as run B is: see `scored_alike`.

    Args:
        a: the run before.
        b: the run after.
        margin: how much worse B may be and still count as no worse (non-inferiority).
        groups: a field of the items' metadata (run B's), such as the document that they come from:
            items of one value belong together. Default: each item by itself.
        by: fields by which scores are told, beside those that run B declares: `tags`, or fields of
            criteria's or items' tags or of items' metadata.
        bootstrap: how bootstrap intervals are made. Default: 2,000 resamples, 95 %.

    Raises:
        InputError: the runs have no item or no criterion in common, an item lacks the field to
            group by, or nothing has a field that scores are told by.
    """
    bootstrap = bootstrap or Bootstrap()
    alike = scored_alike(a, b, by)
    _check_something_in_common(a, b, alike)
    group_of = b.groups_by(groups)
    by_name: dict[str, list[VerdictPair]] = {}
    for pair in alike.pairs:
        by_name.setdefault(pair.b.criterion, []).append(pair)
    compared = [
        _compared(
            [pair.verdict_a.value if pair.verdict_a else None for pair in pairs],
            [pair.verdict_b.value if pair.verdict_a else None for pair in pairs],
            groups=_grouped(group_of, groups, [pair.b.item for pair in pairs]),
            bootstrap=bootstrap,
        )
        for pairs in by_name.values()
    ]
    raw = [found.permutation.p_value for found in compared]
    fates = alike.fates(a)
    counts = sum(fates.values(), Counter())
    relevant = counts.total() - counts[ABSTAINED_BEFORE]
    items_a = {row.item for row in a.rows}
    items_b = {row.item for row in b.rows}
    scored = list(alike.scores)
    return RunComparison(
        a=str(a.path),
        b=str(b.path),
        judge_a=a.judge,
        judge_b=b.judge,
        items=len(alike.items),
        only_a=len(items_a) - len(alike.items),
        only_b=len(items_b) - len(alike.items),
        coverage=counts[COMPARED] / relevant if relevant else 0.0,
        not_compared={
            fate: count
            for fate, count in sorted(counts.items())
            if fate not in (COMPARED, ABSTAINED_BEFORE)
        },
        not_covered=tuple(
            name
            for name, count in fates.items()
            if isinstance(a.rubrics, Rubric)
            and not count[COMPARED]
            and count.total() > count[ABSTAINED_BEFORE] + count[FAILED_BEFORE]
        ),
        differences=alike.differences,
        groups=groups,
        score=_compared(
            [alike.scores[item][0] for item in scored],
            [alike.scores[item][1] for item in scored],
            margin=margin,
            groups=_grouped(group_of, groups, scored),
            bootstrap=bootstrap,
            raw=b.rules.of_items.raw,
        ),
        criteria=tuple(
            CriterionComparison(
                name,
                pairs[0].criterion.weight,
                found,
                p_value,
                q_value,
                sum(pair.is_flip for pair in pairs),
                sum(pair.is_one_sided for pair in pairs),
            )
            for (name, pairs), found, p_value, q_value in zip(
                by_name.items(), compared, holm(raw), benjamini_hochberg(raw), strict=True
            )
        ),
        flips=tuple(_flip(pair) for pair in alike.pairs if pair.is_flip),
        one_sided=tuple(_flip(pair) for pair in alike.pairs if pair.is_one_sided),
        parts=tuple(_parts(b, alike, by, partial(_grouped, group_of, groups), bootstrap)),
    )


def _parts(
    run: FinishedRun,
    alike: AlikeRuns,
    by: Sequence[str],
    grouped: Callable[[Sequence[str]], list[Any] | None],
    bootstrap: Bootstrap,
) -> Iterator[PartComparison]:
    """The comparison of each part, field by field."""
    fields: dict[str, list[str]] = {}
    for field, name in alike.parts:
        fields.setdefault(field, []).append(name)
    for field in by:
        if field not in fields:
            raise InputError(
                f"scores by '{field}': no criterion of {run.path} has a tag of that field, and no "
                f"item a tag or metadata; see rubricate show {run.path} --by {field}"
            )
    for field, names in fields.items():
        compared = []
        for name in names if field == GROUP else sorted(names):
            scores = alike.parts[field, name]
            found = _compared(
                [a for a, _ in scores.values()],
                [b for _, b in scores.values()],
                groups=grouped(list(scores)),
                bootstrap=bootstrap,
                raw=run.rules.of_items.raw,
            )
            compared.append((name, found))
        corrected = holm([found.permutation.p_value for _, found in compared])
        for (name, found), p_value in zip(compared, corrected, strict=True):
            yield PartComparison(field, name, found, p_value)


def _check_something_in_common(a: FinishedRun, b: FinishedRun, alike: AlikeRuns) -> None:
    if not alike.items:
        raise InputError(
            f"{a.path} and {b.path} have no item in common: items are matched by their id"
        )
    if not alike.pairs:
        names = [", ".join(list(run.criteria)[:SHOWN_NAMES]) for run in (a, b)]
        raise InputError(
            f"{a.path} and {b.path} have no criterion in common: {names[0]} against {names[1]}"
        )


def _flip(pair: VerdictPair) -> Flip:
    return Flip(
        item=pair.b.item,
        criterion=pair.b.criterion,
        a=pair.a.answer_text,
        b=pair.b.answer_text,
        reason_a=_reason(pair.a),
        reason_b=_reason(pair.b),
        human_label=pair.b.human_label,
        criterion_a=pair.a.criterion,
    )


def _compared(
    a: Sequence[float | None],
    b: Sequence[float | None],
    *,
    margin: float | None = None,
    groups: Sequence[Any] | None,
    bootstrap: Bootstrap,
    raw: bool = False,
) -> PairedComparison:
    """Values, or scores that are not raw, are from 0 to 1: an interval of t knows no bounds."""
    found = compare_paired(a, b, margin=margin, groups=groups, bootstrap=bootstrap)
    if raw:
        return found
    return replace(
        found,
        difference=found.difference.within(-1.0, 1.0),
        bootstrapped=found.bootstrapped.within(-1.0, 1.0),
    )


def _grouped(
    group_of: Mapping[str, Any], groups: str | None, items: Sequence[str]
) -> list[Any] | None:
    return None if groups is None else [group_of[item] for item in items]


def _reason(row: ResultRow) -> str | None:
    return row.reason or (None if row.error is None else str(row.error))
