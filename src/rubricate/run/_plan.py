"""What is to be judged: the dataset's items, one after the other."""

from __future__ import annotations

from collections.abc import Iterator

from rubricate.dataset import Gradable, Item, survey_of
from rubricate.errors import InputError
from rubricate.run._shards import Shard

AUTHOR_KEYS = ("model", "system")
"""Where an item's metadata says which model wrote it; the first that is there."""
LONGEST_NAME = 100
"""Characters that a model's name may have; what is longer is some other text."""


class Plan:
    """The items of a dataset, the first `limit` of them if a limit is given.

    Holds none of them, but for few that are in memory anyway.

    Of a shard there may be none; what is checked, and the rubric, are those of the whole.

    Attributes:
        items: how many items there are.
        verdicts: how many verdicts there are to be had.
        to_judge: how many of those need a judge.
        rubric: the rubric of all items; None where they differ.
        scoring: what the dataset or its rubrics declare of scores; None where they do not.
        gated: whether some criteria require others.

    Raises:
        InputError: there is nothing to grade, an item has no rubric, labels do not fit, two items
            share an id, or a rubric names code that may not be run or is not there. Nothing has
            been spent.
    """

    def __init__(
        self,
        dataset: Gradable,
        limit: int | None = None,
        *,
        allow_code: bool = False,
        shard: Shard | None = None,
    ) -> None:
        if limit is not None and limit < 1:
            raise InputError(f"the limit must be at least 1, found {limit}")
        survey = dataset.survey(limit)
        if not survey.items:
            raise InputError("the dataset has no items to grade", path=("items",))
        for criterion in survey.named_code:
            if not allow_code:
                raise InputError(
                    f"the rubric names code to be run: {criterion.named_code}. If you trust it, "
                    "allow it with --allow-code (allow_code=True)"
                )
            criterion.load_code()
        self.items = survey.items
        self.verdicts = survey.verdicts
        self.to_judge = survey.to_judge
        self.rubric = survey.rubric
        self.scoring = survey.scoring
        self.gated = survey.gated
        self._dataset = dataset
        self._read = survey.read
        self._limit = limit
        self._shard = shard
        if shard is not None:
            part = survey_of(self)
            self.items, self.verdicts, self.to_judge = part.items, part.verdicts, part.to_judge

    def __iter__(self) -> Iterator[Item]:
        shard, read = self._shard, self._read
        items = self._dataset.to_grade(self._limit) if read is None else iter(read)
        return items if shard is None else (item for item in items if shard.has(item))


def author_of(item: Item, key: str | None) -> str | None:
    """The model that wrote an item's text, as its metadata says; None for the usual keys."""
    metadata, keys = item.data.metadata, AUTHOR_KEYS if key is None else (key,)
    author = next((str(metadata[key]) for key in keys if metadata.get(key)), "")
    return author if 0 < len(author) <= LONGEST_NAME else None
