"""What is to be judged: the dataset's items, one after the other, each with its case."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from rubricate.dataset import Entry, Gradable
from rubricate.errors import InputError
from rubricate.judge import Case
from rubricate.rubric import Rubric, Verdict

__all__ = ["Plan", "PlannedItem"]

LONGEST_NAME = 100
"""Characters that a model's name may have; what is longer is some other text."""


@dataclass(frozen=True, slots=True)
class PlannedItem:
    """One item with all that judging it needs.

    `index` is its place in the dataset, from 0. `labels` are the human verdicts by criterion name;
    a criterion without one is missing. `unreadable` says why there is no submission to be judged.
    """

    index: int
    id: str
    description: str
    rubric: Rubric
    case: Case
    labels: dict[str, Verdict]
    unreadable: str | None = None

    def author(self, keys: Sequence[str]) -> str | None:
        """The model that wrote the text, by the first of these keys that its metadata has."""
        metadata = self.case.item.metadata if self.case.item is not None else {}
        found = next((str(metadata[key]) for key in keys if metadata.get(key)), "")
        return found if 0 < len(found) <= LONGEST_NAME else None


class Plan:
    """The items of a dataset, the first `limit` of them if a limit is given. Holds none of them.

    Attributes:
        items: how many items there are.
        verdicts: how many verdicts there are to be had.
        asked: how many of those need a judge.
        rubric: the rubric of all items; None where they differ.

    Raises:
        InputError: there is nothing to grade, an item has no rubric, labels do not fit, two items
            share an id, or a rubric names code that may not be run or is not there. Nothing has
            been spent.
    """

    def __init__(
        self, dataset: Gradable, limit: int | None = None, *, allow_code: bool = False
    ) -> None:
        if limit is not None and limit < 1:
            raise InputError(f"the limit must be at least 1, found {limit}")
        found = dataset.survey(limit)
        if not found.items:
            raise InputError("the dataset has no items to grade", path=("items",))
        for criterion in found.named_code:
            if not allow_code:
                raise InputError(
                    f"the rubric names code to be run: {criterion.function}. If you trust it, "
                    "allow it with --allow-code (allow_code=True)"
                )
            criterion.resolved()
        self.items = found.items
        self.verdicts = found.verdicts
        self.asked = found.asked
        self.rubric = found.rubric
        self._dataset = dataset
        self._limit = limit

    def __iter__(self) -> Iterator[PlannedItem]:
        for index, entry in enumerate(self._dataset.entries(self._limit)):
            yield _planned(index, entry)


def _planned(index: int, entry: Entry) -> PlannedItem:
    case = Case(
        submission=entry.item.submission,
        prompt=entry.prompt,
        reference=entry.reference,
        guidelines=entry.rubric.guidelines,
        context=tuple(entry.item.context),
        item=entry.item,
    )
    return PlannedItem(
        index,
        entry.id,
        entry.item.description,
        entry.rubric,
        case,
        entry.labels(),
        entry.unreadable,
    )
