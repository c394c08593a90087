"""Scores by a declared scoring: over all items, and by tag."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any, Literal

from pydantic import Field

from rubricate.rubric import (
    AGGREGATES,
    TAGS,
    UNANSWERED,
    Aggregate,
    Aggregated,
    DeclaredScoring,
    Score,
    Scored,
    largest_share,
    restricted,
    split_tag,
    tags_by,
    values_of,
)
from rubricate.run.results._figures import Figures, SummaryPart, prompts_repeat
from rubricate.views import Column, Row, Table, ends, figure, numbers

if TYPE_CHECKING:
    from rubricate.run.results._results import ItemResult
    from rubricate.stats import Estimate

UNDECIDED = UNANSWERED | {"abstained"}


class GroupMean(Figures):
    """The score of a group over all items, with interval and bounds."""

    name: str
    """The tag, the value of the field, or the group of the tree; empty for all."""
    value: float | None
    """The declared aggregate, else the mean; None if no item has a score."""
    low: float | None = None
    high: float | None = None
    """Its 95 % interval (t, over items or groups of items); None if there is none."""
    no_interval: str | None = None
    """Why it has no interval."""
    lowest: float | None
    highest: float | None
    """The range it could take if the missing verdicts were there."""
    n: int
    """The number of scores; for an aggregate in pairs, of pairs."""
    without: int
    """Items of the group without a score."""

    @property
    def cells(self) -> list[str]:
        """Its figures in the columns `GROUP_COLUMNS`."""
        interval = ends(self.low, self.high, 3) or ""
        bounds = (figure(self.lowest, 3), figure(self.highest, 3))
        return [figure(self.value, 3), interval, *bounds, str(self.n), str(self.without)]


GROUP_COLUMNS = ("95 %", "lowest", "highest", "n", "without")
"""The columns after a group's score."""


class GroupScore(GroupMean):
    """The score of some items, or of their criteria with one tag."""

    missing: int
    """Verdicts of the group that abstained or are missing."""


class FieldScores(Figures):
    """Scores by one field."""

    field: str
    """`tags`, or the field's name."""
    of: Literal["criteria", "items", "both", "verdicts"]
    """What is grouped. `criteria`: each item's score from its criteria with the tag. `items`: the
    scores of items with the tag. `verdicts`: the plain mean of all verdicts on criteria with the
    tag."""
    groups: list[GroupScore]
    """By name."""


class DeclaredFigures(SummaryPart):
    """The figures of a run by a declared scoring."""

    declared: dict[str, Any]
    """The declaration, without default values."""
    formula: str
    """The formula of the aggregate, in words."""
    source: str
    """Where it was published; empty for the plain mean."""
    overall: GroupScore
    """Over all items."""
    judge_mean: float | None = None
    human_mean: float | None = None
    """For items that people have scored as well: the mean by the judge, and by human labels."""
    judges: dict[str, float | None] = Field(default_factory=dict)
    """With several judges, the score by each of them alone."""
    by: list[FieldScores] = Field(default_factory=list)
    """By tag, field by field."""

    @classmethod
    def tally(cls) -> DeclaredTally:
        return DeclaredTally()

    def facts(self) -> Iterator[tuple[str, str]]:
        items = self.declared.get("items", "clamped")
        named = f"{self.declared.get('aggregate', 'mean')}: {self.formula}"
        skipped = self.declared.get("skipped")
        parts = (f"items {items}", skipped and f"skipped {skipped}", named, self.source)
        yield "scoring", "; ".join(filter(None, parts))

    def tables(self) -> Iterator[Table]:
        """A table for each field."""
        for scores in self.by:
            yield group_table(scores.field, scores.groups, title=f"by {scores.field}")


def group_table(
    heading: str, groups: Sequence[GroupScore], *, score: str = "score", title: str | None = None
) -> Table:
    """A row for each group of a field: its score with interval, bounds and counts."""
    columns = numbers(score, *GROUP_COLUMNS, "missing")
    rows = [Row([group.name, *group.cells, str(group.missing)]) for group in groups]
    return Table([Column(heading, is_text=True), *columns], rows, title)


def interval_text(group: GroupScore, digits: int = 2) -> str:
    """A group's interval, or nothing."""
    return ends(group.low, group.high, digits) or ""


class _Group:
    """The scores of a group so far, by item index."""

    def __init__(self) -> None:
        self.scores: list[tuple[int, Scored]] = []
        self.missing = 0

    def add(
        self, item: ItemResult, score: Score, missing: int = 0, reach: float | None = None
    ) -> None:
        """Add the score of an item, or of its part, whose `reach` then differs from the item's."""
        reach = item.rubric.largest_share if reach is None else reach
        self.scores.append((item.index, _scored(item, score, reach)))
        self.missing += missing

    def ordered(self) -> list[Scored]:
        return [score for _, score in sorted(self.scores, key=lambda entry: entry[0])]


def _scored(item: ItemResult, score: Score, reach: float) -> Scored:
    """A score in the form that aggregates take."""
    declared = item.scoring
    if declared is None or declared.pairs is None:
        fields = () if declared is None else declared.groups
        groups = tuple(_value(field, item) for field in fields)
        return Scored(score.value, score.lowest, score.highest, item.id, groups=groups, reach=reach)
    name, value = split_tag(declared.reference or "")
    return Scored(
        score.value,
        score.lowest,
        score.highest,
        _value(declared.pairs, item),
        value in values_of(name, item.tags, item.metadata),
        reach=reach,
    )


def _value(field: str, item: ItemResult) -> str:
    return next(iter(values_of(field, item.tags, item.metadata)), "")


class DeclaredTally:
    """Collects scores item by item, in any order."""

    def __init__(self) -> None:
        self._declared: DeclaredScoring | None = None
        self._prompts: dict[str, int] = {}
        self._all = _Group()
        self._labelled: tuple[_Group, _Group] = (_Group(), _Group())
        self._judges: dict[str, _Group] = {}
        self._fields: dict[str, dict[str, _Group]] = {}
        self._pooled: dict[str, dict[str, _Group]] = {}
        self._sides: dict[str, set[str]] = {}

    def add(self, item: ItemResult) -> None:
        """Count an item."""
        declared = item.scoring
        if declared is None:
            return
        self._declared = declared
        self._prompts[item.id] = hash(item.prompt)
        missing = {name for name, verdict in item.criteria.items() if verdict.status in UNDECIDED}
        self._all.add(item, item.score, len(missing))
        if item.human_score is not None and None not in (item.human_score.value, item.score.value):
            for group, score in zip(self._labelled, (item.score, item.human_score), strict=True):
                group.add(item, score)
        for name, alone in item.judge_scores.items():
            self._judges.setdefault(name, _Group()).add(item, alone)
        for field in declared.by:
            self._add_by(field, item, missing)
        for field in declared.pooled:
            self._add_pooled(field, item)

    def _add_by(self, field: str, item: ItemResult, missing: set[str]) -> None:
        groups = self._fields.setdefault(field, {})
        of_criteria = tags_by(field, item.tag_scores)
        for tag in of_criteria:
            lost = sum(tag in item.rubric.by_name[name].tags for name in missing) if missing else 0
            name = tag if field == TAGS else split_tag(tag)[1]
            of_tag = {each.name for each in item.rubric if tag in each.tags}
            reach = largest_share(restricted(item.rubric.tree, of_tag))
            groups.setdefault(name, _Group()).add(item, item.tag_scores[tag], lost, reach)
            self._sides.setdefault(field, set()).add("criteria")
        if of_criteria and field != TAGS:
            return
        for value in values_of(field, item.tags, item.metadata):
            if value not in of_criteria:
                groups.setdefault(value, _Group()).add(item, item.score, len(missing))
                self._sides.setdefault(field, set()).add("items")

    def _add_pooled(self, field: str, item: ItemResult) -> None:
        groups = self._pooled.setdefault(field, {})
        for criterion in item.rubric:
            verdict = item.criteria[criterion.name]
            lost = verdict.status in UNDECIDED
            if verdict.value is None and not lost:
                continue
            low, high = criterion.value_range if lost else (verdict.value, verdict.value)
            score = Scored(None if lost else verdict.value, low, high, item.id)
            for tag in tags_by(field, criterion.tags):
                group = groups.setdefault(tag if field == TAGS else split_tag(tag)[1], _Group())
                group.scores.append((item.index, score))
                group.missing += lost

    def figures(self) -> DeclaredFigures | None:
        """The figures; None if no scoring is declared."""
        declared = self._declared
        if declared is None:
            return None
        formula = declared.formula

        def value_of(group: _Group) -> float | None:
            return formula.of(group.ordered()).value

        judge, people = self._labelled
        return DeclaredFigures(
            declared=declared.to_dict(),
            formula=formula.formula,
            source=formula.source,
            overall=self._figures(declared, "", self._all),
            judge_mean=value_of(judge),
            human_mean=value_of(people),
            judges={name: value_of(group) for name, group in self._judges.items()},
            by=[
                FieldScores(
                    field=field,
                    of=_side(self._sides.get(field, set())),
                    groups=[
                        self._figures(declared, name, groups[name])
                        for name in sorted(groups, key=_order)
                    ],
                )
                for field, groups in self._fields.items()
            ]
            + [
                FieldScores(
                    field=field,
                    of="verdicts",
                    groups=[
                        self._pooled_figures(name, groups[name])
                        for name in sorted(groups, key=_order)
                    ],
                )
                for field, groups in self._pooled.items()
            ],
        )

    def _figures(self, declared: DeclaredScoring, name: str, group: _Group) -> GroupScore:
        from rubricate.stats import mean_of_scores, stratified_mean

        formula = declared.formula
        scores = formula.of(group.ordered())
        if formula.in_groups:
            spread = stratified_mean(scores.values, scores.strata)
        else:
            groups = scores.pairs if declared.pairs else self._grouped(scores.pairs)
            spread = mean_of_scores(scores.values, groups=groups, reach=scores.reach)
        return _group_score(name, scores, formula, spread, group.missing)

    def _pooled_figures(self, name: str, group: _Group) -> GroupScore:
        """The plain mean of verdicts, with those of an item or a repeated prompt as one group."""
        from rubricate.stats import mean_of_scores

        formula = AGGREGATES["mean"]
        scores = formula.of(group.ordered())
        spread = mean_of_scores(scores.values, groups=self._grouped(scores.pairs))
        return _group_score(name, scores, formula, spread, group.missing)

    def _grouped(self, items: Sequence[str]) -> Sequence[str | int]:
        """The group of each item: its prompt if prompts repeat, otherwise the item itself."""
        if not prompts_repeat(len({*self._prompts.values()}), len(self._prompts)):
            return items
        return [self._prompts[item] for item in items]


def _order(name: str) -> tuple[str, str]:
    return name.casefold(), name


def _side(sides: set[str]) -> Literal["criteria", "items", "both"]:
    if len(sides) == 2:
        return "both"
    return "criteria" if "criteria" in sides else "items"


def _group_score(
    name: str, aggregated: Aggregated, formula: Aggregate, spread: Estimate, missing: int
) -> GroupScore:
    return GroupScore(
        name=name,
        value=aggregated.value,
        low=formula.clipped(spread.low),
        high=formula.clipped(spread.high),
        no_interval=spread.undefined,
        lowest=aggregated.lowest,
        highest=aggregated.highest,
        n=aggregated.n,
        without=aggregated.without,
        missing=missing,
    )
