"""The scores of the groups of a tree over all items, at every level."""

from __future__ import annotations

from array import array
from collections.abc import Iterator
from typing import TYPE_CHECKING

from rubricate.rubric import Group, largest_share
from rubricate.run.results._declared_scores import GROUP_COLUMNS, GroupMean
from rubricate.run.results._figures import SummaryPart, prompts_repeat
from rubricate.run.results._mean import BoundedMean, Mean
from rubricate.views import Column, Row, Table, figure, numbers, weight_text

if TYPE_CHECKING:
    from rubricate.run.results._results import ItemResult

MOST_ROWS = 100
"""Groups in a table; if there are more, only those of the first levels."""
INDENT = "\u00a0\u00a0"


class GroupFigures(GroupMean):
    """One group of a tree over all items."""

    path: list[str]
    """The groups that contain it, from the outermost."""
    weight: float | None
    """Its weight within its group; None if items differ in it."""
    labelled: int = 0
    """Items in which both the judge and people scored it."""
    judge_mean: float | None = None
    human_mean: float | None = None
    """Its mean score on these items: by the judge, and by human labels."""


class TreeFigures(SummaryPart):
    """The groups of a tree, or of the trees of all items."""

    groups: list[GroupFigures]
    """Each group before those that it contains."""

    @classmethod
    def tally(cls) -> TreeTally:
        return TreeTally()

    def facts(self) -> Iterator[tuple[str, str]]:
        if hidden := len(self.groups) - len(self._shown):
            yield "groups", f"{len(self.groups)}; {hidden} of deeper levels are in summary.json"

    @property
    def _shown(self) -> list[GroupFigures]:
        depths = sorted(len(group.path) for group in self.groups)
        if len(depths) <= MOST_ROWS:
            return self.groups
        deepest = max(depths[MOST_ROWS] - 1, 0)
        return [group for group in self.groups if len(group.path) <= deepest][: 2 * MOST_ROWS]

    def tables(self) -> Iterator[Table]:
        """A row for each group, followed by those that it contains."""
        labelled = any(group.labelled for group in self.groups)
        people = ("by labels", "judge on these") if labelled else ()
        columns = ("weight", "score", *GROUP_COLUMNS, *people)
        rows = []
        for group in self._shown:
            name = INDENT * len(group.path) + group.name
            cells = [name, weight_text(group.weight), *group.cells]
            if labelled:
                cells += [figure(group.human_mean, 3), figure(group.judge_mean, 3)]
            rows.append(Row(cells))
        yield Table([Column("group", is_text=True), *numbers(*columns)], rows, "by group")


class _GroupTally:
    def __init__(self, group: Group, place: tuple[int, int], path: tuple[str, ...]) -> None:
        self.place = place
        self._name, self._path = group.name, path
        self._weights: set[float] = set()
        self._score, self._values, self._prompts = BoundedMean(), array("d"), array("q")
        self._group, self._share, self._reach = group, largest_share(group.criteria), Mean()
        self._of_judge, self._of_people = Mean(), Mean()
        self._items = 0

    def add(self, item: ItemResult, group: Group) -> None:
        score, human = item.groups[self._name], item.human_groups.get(self._name)
        self._weights.add(group.weight)
        if group is not self._group:
            self._group, self._share = group, largest_share(group.criteria)
        self._reach.add(self._share)
        self._items += 1
        self._score.add(score)
        if score.value is not None:
            self._values.append(score.value)
            self._prompts.append(hash(item.prompt))
        if human is not None and None not in (human.value, score.value):
            self._of_judge.add(score.value)
            self._of_people.add(human.value)

    def figures(self, *, by_prompt: bool) -> GroupFigures:
        from rubricate.stats import mean_of_scores  # loads long, and few runs have trees

        score, groups = self._score, self._prompts if by_prompt else None
        spread = mean_of_scores(self._values, groups=groups, reach=self._reach.value or 0.0)
        return GroupFigures(
            name=self._name,
            path=list(self._path),
            weight=next(iter(self._weights)) if len(self._weights) == 1 else None,
            value=score.value,
            low=spread.low,
            high=spread.high,
            no_interval=spread.undefined,
            lowest=score.lowest,
            highest=score.highest,
            n=score.count,
            without=self._items - score.count,
            labelled=self._of_people.count,
            judge_mean=self._of_judge.value,
            human_mean=self._of_people.value,
        )


class TreeTally:
    """Scores of groups, added up as items come, in any order."""

    def __init__(self) -> None:
        self._groups: dict[tuple[str, ...], _GroupTally] = {}
        self._items, self._prompts = 0, set[int]()

    def add(self, item: ItemResult) -> None:
        """Count an item in."""
        self._items += 1
        self._prompts.add(hash(item.prompt))
        if not item.groups:
            return
        paths = item.rubric.paths
        for position, (name, group) in enumerate(item.rubric.groups.items()):
            path, place = (*paths[name], name), (item.index, position)
            tally = self._groups.get(path)
            if tally is None:
                tally = self._groups[path] = _GroupTally(group, place, paths[name])
            tally.place = min(tally.place, place)
            tally.add(item, group)

    def figures(self) -> TreeFigures | None:
        """What has come together; None where no rubric is a tree."""
        if not self._groups:
            return None

        def place(path: tuple[str, ...]) -> list[tuple[int, int]]:
            return [self._groups[path[: depth + 1]].place for depth in range(len(path))]

        by_prompt = prompts_repeat(len(self._prompts), self._items)
        ordered = sorted(self._groups, key=place)
        return TreeFigures(
            groups=[self._groups[path].figures(by_prompt=by_prompt) for path in ordered]
        )
