"""What is to be judged: the dataset's items, one after the other."""

from __future__ import annotations

from collections.abc import Iterator

from rubricate.dataset import Gradable, Item, survey_of
from rubricate.errors import InputError
from rubricate.run._options import RunOptions

AUTHOR_KEYS = ("model", "system")
"""Where an item's metadata says which model wrote it; the first that is there."""
LONGEST_NAME = 100
"""Characters that a model's name may have; what is longer is some other text."""


class Plan:
    """The items of a dataset that a run with some options judges.

    Holds none of them, but for few that are in memory anyway.

    Of a shard there may be none; what is checked, and the rubric, are those of the whole.

    Attributes:
        name: the dataset's name, if it has one.
        items: how many items there are.
        verdicts: how many verdicts there are to be had.
        to_judge: how many of those need a judge.
        rubric: the rubric of all items; None where they differ.
        scoring: what the dataset or its rubrics declare of scores; None where they do not.
        gated: whether some criteria require others.
        rules: how its items are scored.

    Raises:
        InputError: there is nothing to grade, an item has no rubric, labels do not fit, two items
            share an id, a rubric names code that may not be run or is not there, or the options
            and the dataset declare scores that cannot be made. Nothing has been spent.
    """

    def __init__(self, dataset: Gradable, options: RunOptions) -> None:
        survey = dataset.survey(options.limit)
        if not survey.items:
            skipped = getattr(dataset, "skipped", ())  # of a table
            why = f": none of its {len(skipped)} rows fits" if skipped else ""
            first = f"; the first: {skipped[0].error}" if skipped else ""
            raise InputError(f"the dataset has no items to grade{why}{first}", path=("items",))
        if survey.first_list is not None:
            raise InputError(
                "the submission is a list of texts: give each of them a row, so that it is graded "
                "by itself (in pandas: frame.explode), or join them",
                path=("items", survey.first_list),
            )
        for criterion in survey.named_code:
            if not options.allow_code:
                raise InputError(
                    f"the rubric names code to be run: {criterion.named_code}. If you trust it, "
                    "allow it with --allow-code (allow_code=True)",
                    problem="code",
                )
            criterion.load_code()
        self.name = dataset.name
        self.items = survey.items
        self.verdicts = survey.verdicts
        self.to_judge = survey.to_judge
        self.rubric = survey.rubric
        self.scoring = survey.scoring
        self.gated = survey.gated
        self._dataset = dataset
        self._read = survey.read
        self._limit = options.limit
        self._shard = options.part if options.shard else None
        if self._shard is not None:
            part = survey_of(self)
            self.items, self.verdicts, self.to_judge = part.items, part.verdicts, part.to_judge
        self.rules = options.under(survey.scoring)
        if survey.scoring is not None or options.by:
            from rubricate.run._scoring import checked_rules

            self.rules = checked_rules(self.rules, self, options.by)

    def __iter__(self) -> Iterator[Item]:
        items = self.whole()
        return items if self._shard is None else filter(self._shard.has, items)

    def whole(self) -> Iterator[Item]:
        """The items of all shards together."""
        return self._dataset.to_grade(self._limit) if self._read is None else iter(self._read)


def author_of(item: Item, key: str | None) -> str | None:
    """The model that wrote an item's text, as its metadata says; None for the usual keys."""
    metadata, keys = item.data.metadata, AUTHOR_KEYS if key is None else (key,)
    author = next((str(metadata[key]) for key in keys if metadata.get(key)), "")
    return author if 0 < len(author) <= LONGEST_NAME else None
