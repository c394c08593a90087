"""Two runs of the same items: what changed, and how sure that is."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from functools import partial
from typing import Any, Literal

from rubricate._spelling import listed
from rubricate.analysis._finished import FinishedRun, RunLike, finished_run
from rubricate.analysis.comparison._gate import (
    MIN_COVERAGE,
    AnchorCheck,
    Confirmation,
    Gate,
    ItemPair,
    check_unit,
    gate,
    noise_of,
)
from rubricate.analysis.comparison._scored_alike import (
    ABSTAINED_BEFORE,
    COMPARED,
    GROUP,
    NOT_IN_B,
    UNANSWERED_BEFORE,
    AlikeRuns,
    VerdictPair,
    scored_alike,
)
from rubricate.errors import InputError
from rubricate.rubric import Rubric, Usage
from rubricate.run.results import ResultRow
from rubricate.stats import (
    Estimate,
    PairedComparison,
    benjamini_hochberg,
    clustered_share,
    compare_paired,
    holm,
)
from rubricate.views import (
    NONE,
    Change,
    Changes,
    Column,
    Paragraph,
    Report,
    Row,
    Section,
    Table,
    Words,
    figure,
    notes,
    numbers,
    p_text,
    percent,
    say,
)

_MATCHED = (
    "items are matched by their ids: without a column of ids (grade --map id=COLUMN) an id changes "
    "with the text"
)
SHOWN_NAMES = 5
"""The number of criteria that an error names if two runs have none in common."""
SHOWN_DIFFERENCES = 6
"""The number of differences between the rubrics that a report lists."""
_OTHER_TESTS = ("q", "Wilcoxon", "exact McNemar", "detectable")


@dataclass(frozen=True, slots=True)
class Flip(Change):
    """A verdict that differs: both labels (or the status if there is none) and both reasons.

    `criterion` is its name in run B, `criterion_a` the name in run A.
    """

    criterion_a: str


@dataclass(frozen=True, slots=True)
class CriterionComparison:
    """The values of one criterion, B against A.

    Attributes:
        name: the criterion's name in run B.
        weight: its weight in run B; if negative, a higher value is worse.
        values: the paired comparison of values in [0, 1], over items that both runs judged.
        p_value: the p-value of the permutation test, with Holm's correction over the criteria.
        q_value: the same with the correction of Benjamini and Hochberg.
        flips: the number of changed answers.
        one_sided: the number of verdicts that one run decided while the other failed or abstained.
    """

    name: str
    weight: float
    values: PairedComparison
    p_value: float | None
    q_value: float | None
    flips: int
    one_sided: int


@dataclass(frozen=True, slots=True)
class ItemUsage:
    """The average usage per item, including answers that an earlier run paid for.

    Attributes:
        requests: the number of requests.
        tokens: the tokens of prompts and replies.
        cost: US dollars; None if unknown.
    """

    requests: float
    tokens: float
    cost: float | None

    def __str__(self) -> str:
        cost = "" if self.cost is None else f" (${self.cost:.4f})"
        return f"{self.requests:.1f} requests, {self.tokens:,.0f} tokens{cost}"

    def less_than(self, other: ItemUsage) -> str:
        """Say how much cheaper or more expensive it is than another; in tokens if a price is
        unknown."""
        own, others = self.tokens, other.tokens
        if self.cost is not None and other.cost is not None and (self.cost or other.cost):
            own, others = self.cost, other.cost
        if not others:
            return ""
        ratio = own / others - 1.0
        return f": {percent(abs(ratio))} {'more' if ratio > 0 else 'less'}"


@dataclass(frozen=True, slots=True)
class PartComparison:
    """The scores of parts of items, or of a subset of the items, B against A.

    Attributes:
        field: the field of a tag, `tags`, or `group` for a group of a tree.
        name: the value of the field, the tag or the group.
        scores: the paired comparison, over items with a score in both runs.
        p_value: the p-value of the permutation test, with Holm's correction over the parts of the
            field.
    """

    field: str
    name: str
    scores: PairedComparison
    p_value: float | None


@dataclass(frozen=True, slots=True)
class RunComparison(Report):
    """Run B against run A, both scored by the rules of run B.

    Attributes:
        a, b: the run folders.
        judge_a, judge_b: the judges.
        items: the number of items in both runs.
        only_a, only_b: the number of items in one run only, which are left out.
        coverage: the share of run A's verdicts that are compared, because both runs decided them.
            Abstentions of A are not counted.
        not_compared: the number of other verdicts of A, by cause.
        not_covered: criteria that run A decided and of which nothing is compared; only if all items
            have the same rubric.
        differences: the differences between the rubrics and scoring of the runs, in words.
        groups: the metadata field that says which items belong together, if any.
        score: the paired comparison of item scores, by the verdicts that count in both runs.
        criteria: the criteria in both runs, in run B's order.
        flips: the changed answers, in run B's order.
        changed: the share of changed answers among the verdicts that both runs decided.
        one_sided: the number of verdicts that one run decided while the other failed or abstained.
        scored: both scores of each item that has them.
        bounded: whether scores are in [0, 1], rather than raw sums.
        usage_a, usage_b: the average usage per item in each run.
        parts: the scores by tag (for the fields that run B declares, and requested ones) and by
            group of a tree; may be empty.
        decision: whether B may pass, if requested (`rubricate compare --fail-if-worse`).
        confirmation: the outcome of asking again (`confirm`), if that was done.
        anchors: whether the judge of B still answers its anchors as before, if that was checked.
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
    changed: Estimate
    one_sided: tuple[Flip, ...]
    scored: tuple[ItemPair, ...]
    bounded: bool
    usage_a: ItemUsage
    usage_b: ItemUsage
    parts: tuple[PartComparison, ...] = ()
    decision: Gate | None = None
    confirmation: Confirmation | None = None
    anchors: AnchorCheck | None = None

    def to_dict(self) -> dict[str, Any]:
        optional = {"parts", "decision", "confirmation", "anchors"}
        return {
            name: value for name, value in asdict(self).items() if value or name not in optional
        }

    def is_covered(self, least: float) -> bool:
        """Whether at least this share of run A's verdicts is compared, and some of each criterion.

        Args:
            least: the share, from 0 to 1. With 0, criteria need not be covered either.
        """
        return self.coverage >= least - 1e-12 and not (least > 0 and self.not_covered)

    def gate(self, margin: float, *, min_coverage: float = MIN_COVERAGE) -> Gate:
        """Decide whether B may pass: `worse`, `no worse`, or `cannot tell` from these items.

            gate = compare_runs(before, after).gate(margin=0.02)
            if gate.outcome == "worse":
                raise SystemExit(gate.why)

        Args:
            margin: how much lower B's mean score may be, from 0 to 1.
            min_coverage: as for `is_covered`; with less, the outcome is `not covered`.

        Raises:
            InputError: one of them is not in [0, 1].
        """
        check_unit(min_coverage, "min_coverage")
        uncovered = ""
        if not self.is_covered(min_coverage) or not self.score.n:
            uncovered = (
                f"only {percent(self.coverage, 1)} of the verdicts of A could be compared, less "
                f"than {percent(min_coverage)}"
            )
            if self.coverage >= min_coverage - 1e-12:
                uncovered = "no item has a score in both"
                if self.not_covered:
                    uncovered = f"nothing could be compared on {', '.join(self.not_covered)}"
            causes = f" ({self.causes})" if self.not_compared else ""
            uncovered += f"{causes}; grade again, or give --min-coverage"
            if NOT_IN_B in self.not_compared:
                uncovered += f"; {_MATCHED}"
        decision = gate(
            self.scored,
            margin,
            uncovered=uncovered,
            bounded=self.bounded,
            cost=self.item_cost,
            confirmation=self.confirmation,
        )
        if self.anchors is None or not self.anchors.changed:
            return decision
        why = f"Cannot tell: {self.anchors} Were it the same judge: {decision.why}"
        return replace(decision, outcome="cannot tell", why=why)

    @property
    def item_cost(self) -> float | None:
        """US dollars per item, for both runs together; None if unknown."""
        costs = (self.usage_a.cost, self.usage_b.cost)
        return None if costs[0] is None or costs[1] is None else costs[0] + costs[1]

    @property
    def causes(self) -> str:
        """The causes why verdicts of run A are not compared, with their numbers, in words."""
        counts = [f"{count} {cause}" for cause, count in self.not_compared.items()]
        return ", ".join(counts) or "A decided nothing"

    title = "Comparison of two runs"

    def front(self) -> list[list[Paragraph]]:
        runs = (("A", self.a, self.judge_a), ("B", self.b, self.judge_b))
        return [
            [
                Paragraph((Words(f"{side}: "), Words(path, "code"), Words(f", judged by {judge}")))
                for side, path, judge in runs
            ],
            *([] if self.anchors is None else [notes(str(self.anchors))]),
            notes(f"{self.items} items in both; {self.score.n} scored in both."),
        ]

    @property
    def notes(self) -> tuple[str, ...]:
        """What a reader should know before relying on the figures."""
        lines = []
        if self.differences:
            named = listed(self.differences, SHOWN_DIFFERENCES, "; ")
            lines.append(f"Both are scored as B is. Not the same in A and B: {named}.")
        if self.only_a or self.only_b:
            lines.append(f"Left out: {self.only_a} items only in A, {self.only_b} only in B.")
        if self.not_compared:
            share = percent(self.coverage)
            lines.append(f"Compared: {share} of the verdicts of A; of the others {self.causes}.")
        if self.not_covered:
            lines.append(f"Nothing to compare on: {', '.join(self.not_covered)}.")
        return tuple(lines)

    @property
    def change_and_cost(self) -> tuple[str, ...]:
        """The share of changed verdicts, and the cost of B against A: what a cheaper way of asking
        changes, and what it saves."""
        lines = []
        if self.changed.value is not None:
            low, high = self.changed.low, self.changed.high
            between = ""
            if low is not None and high is not None:
                between = f" ({percent(low)} to {percent(high)})"
            lines.append(
                f"Changed: {percent(self.changed.value)}{between} of the verdicts that both "
                "decided. A judge that is asked again changes some, too: see trust variance."
            )
        if self.usage_a.requests or self.usage_b.requests:
            less = self.usage_b.less_than(self.usage_a)
            lines.append(f"An item took {self.usage_a} in A, and {self.usage_b} in B{less}.")
        return tuple(lines)

    @property
    def method(self) -> str:
        """How the figures were computed."""
        by = self.groups or "item"
        return (
            f"n: items on which both decided. Intervals: 95 %, t, by {by}. p: permutation test by "
            f"{by}; criteria corrected by Holm. More figures, in files and as JSON: q by Benjamini "
            "and Hochberg; p by Wilcoxon and by McNemar, not corrected, items as independent; "
            "detectable, the smallest difference found with a power of 0.8."
        )

    @property
    def table(self) -> Table:
        """The score, then each criterion."""

        def row(
            name: str, values: PairedComparison, p: float | None, q: float | None, flips: int
        ) -> Row:
            others = (
                p_text(q),
                p_text(values.wilcoxon.p_value),
                NONE if values.mcnemar is None else p_text(values.mcnemar.p_value),
                figure(values.smallest_detectable or None, 3),
            )
            tone: Literal["", "strong"] = "strong" if values is self.score else ""
            return Row([name, *_means(values), p_text(p), str(values.n), str(flips), *others], tone)

        return Table(
            [
                Column("", is_text=True),
                *numbers("A", "B"),
                Column("B minus A", signed=True),
                *numbers("p", "n", "flips", *_OTHER_TESTS),
            ],
            [
                row("score", self.score, self.score.permutation.p_value, None, len(self.flips)),
                *(
                    row(
                        criterion.name + (" (penalty)" if criterion.weight < 0 else ""),
                        criterion.values,
                        criterion.p_value,
                        criterion.q_value,
                        criterion.flips,
                    )
                    for criterion in self.criteria
                ),
            ],
            f"{self.b} (B) against {self.a} (A): {self.score.n} items scored in both",
            details=len(_OTHER_TESTS),
        )

    @property
    def part_tables(self) -> list[Table]:
        """One table per field of the parts, and one for the groups of a tree."""
        tables = []
        for field in dict.fromkeys(part.field for part in self.parts):
            rows = [
                Row([part.name, *_means(part.scores), p_text(part.p_value), str(part.scores.n)])
                for part in self.parts
                if part.field == field
            ]
            columns = [
                Column(field, is_text=True),
                *numbers("A", "B"),
                Column("B minus A", signed=True),
                *numbers("p", "n"),
            ]
            tables.append(Table(columns, rows, f"by {field}"))
        return tables

    def sections(self) -> Iterator[Section]:
        """The score, each criterion, and each flip with both reasons."""
        before = int(bool(self.differences))
        if self.decision is not None:
            yield say(self.decision.why, "strong")
        yield from notes(*self.notes[:before])
        yield self.table
        yield from self.part_tables
        yield from notes(*self.change_and_cost)
        yield Changes(f"{len(self.flips)} answers changed", self.flips)
        if self.one_sided:
            heading = f"{len(self.one_sided)} verdicts that only one run decided"
            yield Changes(heading, self.one_sided, "Only one run decided:")
        yield from notes(*self.notes[before:])
        yield say(self.method, "quiet")


def _means(values: PairedComparison) -> tuple[str, str, Estimate]:
    return figure(values.mean_a), figure(values.mean_b), values.difference


def compare_runs(
    a: RunLike,
    b: RunLike,
    *,
    groups: str | None = None,
    by: Sequence[str] = (),
) -> RunComparison:
    """Compare two runs on the items in both, matched by id, and on the verdicts that both decided.

    Both are scored by the rules of run B; see `scored_alike`.

    Args:
        a: the run before, from `grade` or `read_run`, or its folder.
        b: the run after.
        groups: a field of the items' metadata in run B, such as their source document: items with
            the same value belong together. `none` treats each item by itself. Default: by prompt,
            if prompts repeat.
        by: further fields of parts to score, beside those that run B declares: `tags`, a field of
            the tags of criteria or items, or of the items' metadata.

    Raises:
        InputError: the runs have no item or no criterion in common, an item lacks the field to
            group by, or nothing has a field of `by`.
    """
    a, b = finished_run(a), finished_run(b)
    alike = scored_alike(a, b, by)
    _check_something_in_common(a, b, alike)
    groups = b.grouping(groups)
    group_of = None if groups is None else b.groups_by(groups)
    compared = partial(_compared, group_of)
    by_name: dict[str, list[VerdictPair]] = {}
    for pair in alike.pairs:
        by_name.setdefault(pair.b.criterion, []).append(pair)
    values = [
        compared(
            [
                (pair.b.item, pair.verdict_a.value, pair.verdict_b.value)
                if pair.verdict_a
                else (pair.b.item, None, None)
                for pair in pairs
            ]
        )
        for pairs in by_name.values()
    ]
    raw = [comparison.permutation.p_value for comparison in values]
    fates = alike.fates(a)
    counts = sum(fates.values(), Counter())
    relevant = counts.total() - counts[ABSTAINED_BEFORE]
    return RunComparison(
        a=str(a.path),
        b=str(b.path),
        judge_a=a.judge,
        judge_b=b.judge,
        items=len(alike.items),
        only_a=len({row.item for row in a.rows}) - len(alike.items),
        only_b=len({row.item for row in b.rows}) - len(alike.items),
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
            and not count.keys() <= {ABSTAINED_BEFORE, *UNANSWERED_BEFORE}
        ),
        differences=alike.differences,
        groups=groups,
        score=compared(
            [(item, *both) for item, both in alike.scores.items()],
            bounded=not b.rules.of_items.raw,
            reach=b.reach,
        ),
        criteria=tuple(
            CriterionComparison(
                name,
                pairs[0].criterion.weight,
                comparison,
                p_value,
                q_value,
                sum(pair.is_flip for pair in pairs),
                sum(pair.is_one_sided for pair in pairs),
            )
            for (name, pairs), comparison, p_value, q_value in zip(
                by_name.items(), values, holm(raw), benjamini_hochberg(raw), strict=True
            )
        ),
        flips=tuple(_flip(pair) for pair in alike.pairs if pair.is_flip),
        changed=_changed(alike.pairs, group_of),
        one_sided=tuple(_flip(pair) for pair in alike.pairs if pair.is_one_sided),
        scored=tuple(_scored(alike, group_of)),
        bounded=not b.rules.of_items.raw,
        usage_a=_item_usage(a),
        usage_b=_item_usage(b),
        parts=tuple(_parts(b, alike, by, compared)),
    )


def _group(group_of: Mapping[str, Any] | None, item: str) -> str:
    return item if group_of is None else str(group_of[item])


def _scored(alike: AlikeRuns, group_of: Mapping[str, Any] | None) -> Iterator[ItemPair]:
    """Both scores of each item, with the noise estimated from repeated answers."""
    of_item: dict[str, list[VerdictPair]] = {}
    for pair in alike.pairs:
        of_item.setdefault(pair.b.item, []).append(pair)
    for item, (score_a, score_b) in alike.scores.items():
        pairs = [pair for pair in of_item[item] if pair.fate == COMPARED]
        noise = [
            noise_of([(row, pair.criterion.weight) for pair, row in zip(pairs, rows, strict=True)])
            for rows in ([pair.a for pair in pairs], [pair.b for pair in pairs])
        ]
        known = (
            None if None in noise else sum(variance for variance in noise if variance is not None)
        )
        yield ItemPair(item, _group(group_of, item), score_a, score_b, known)


def _changed(pairs: Sequence[VerdictPair], group_of: Mapping[str, Any] | None) -> Estimate:
    """The share of changed answers among the verdicts that both runs decided."""
    compared = [pair for pair in pairs if pair.fate == COMPARED]
    return clustered_share(
        [pair.is_flip for pair in compared],
        groups=[_group(group_of, pair.b.item) for pair in compared],
    )


def _item_usage(run: FinishedRun) -> ItemUsage:
    """Average usage of completely judged items, so that a run that ended early is not cheaper."""
    not_run = {row.item for row in run.rows if row.status == "not_run"}
    rows = [row for row in run.rows if row.item not in not_run]
    items = max(1, len({row.item for row in rows}))
    usage = Usage.total(row.usage for row in rows)
    cost = None if usage.cost is None else usage.cost / items
    tokens = usage.input_tokens + usage.output_tokens
    return ItemUsage(usage.requests / items, tokens / items, cost)


def _parts(
    run: FinishedRun, alike: AlikeRuns, by: Sequence[str], compared: Callable[..., PairedComparison]
) -> Iterator[PartComparison]:
    """Compare each part, field by field."""
    fields: dict[str, list[str]] = {}
    for field, name in alike.parts:
        fields.setdefault(field, []).append(name)
    for field in by:
        if field not in fields:
            raise InputError(
                f"scores by '{field}': no criterion of {run.path} has a tag of that field, and no "
                f"item a tag or metadata; see rubricate show {run.path} --by {field}"
            )
    for field, of_field in fields.items():
        names = of_field if field == GROUP else sorted(of_field)
        parts = [
            compared(
                [(item, *both) for item, both in alike.parts[field, name].items()],
                bounded=not run.rules.of_items.raw,
            )
            for name in names
        ]
        corrected = holm([comparison.permutation.p_value for comparison in parts])
        for name, comparison, p_value in zip(names, parts, corrected, strict=True):
            yield PartComparison(field, name, comparison, p_value)


def _check_something_in_common(a: FinishedRun, b: FinishedRun, alike: AlikeRuns) -> None:
    if not alike.items:
        raise InputError(f"{a.path} and {b.path} have no item in common: {_MATCHED}")
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
    group_of: Mapping[str, Any] | None,
    values: Sequence[tuple[str, float | None, float | None]],
    *,
    bounded: bool = True,
    reach: float = 0.0,
) -> PairedComparison:
    """Compare two values or scores per item. `bounded` ones are in [0, 1], and so is their
    interval, unlike Student's."""
    comparison = compare_paired(
        [a for _, a, _ in values],
        [b for _, _, b in values],
        groups=None if group_of is None else [group_of[item] for item, *_ in values],
        reach=reach,
    )
    if not bounded:
        return comparison
    return replace(comparison, difference=comparison.difference.within(-1.0, 1.0))


def _reason(row: ResultRow) -> str | None:
    return row.reason or (None if row.error is None else str(row.error))
