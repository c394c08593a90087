"""Two sets of submissions, paired: a dataset in which a pair is two items, one for each order."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import islice, product
from typing import Literal

from rubricate._spelling import listed
from rubricate.dataset import (
    AnswerList,
    ContextDocument,
    DataItem,
    Gradable,
    Item,
    RubricDataset,
    Survey,
    read_context,
    survey_of,
)
from rubricate.errors import InputError, shown
from rubricate.judge import BETTER, GIVEN, OTHER, REVERSE, TASK, pair_criterion
from rubricate.rubric import Rubric, flat_weights, restricted

PairLabel = Literal["first", "second", "tie"]

_LABELS: dict[str, PairLabel] = {
    **dict.fromkeys(("first", "a", "a>b", "a>>b", "model_a", "response_a", "1"), "first"),
    **dict.fromkeys(("second", "b", "b>a", "b>>a", "model_b", "response_b", "2"), "second"),
    **dict.fromkeys(("tie", "a=b", "equal", "both"), "tie"),
}
"""What files of the field call the better one, in lower case."""


@dataclass(frozen=True, slots=True)
class _Pair:
    """The submissions of two sides for one task; both items share everything else."""

    id: str
    first: Item
    second: Item


def _labels_by_column(first: Gradable, second: Gradable) -> dict[str, PairLabel]:
    """The columns of a table that have the two submissions, as what calls one of them better."""
    columns = [getattr(side, "submission_column", None) for side in (first, second)]
    if None in columns or columns[0] == columns[1]:
        return {}
    return {str(columns[0]).casefold(): "first", str(columns[1]).casefold(): "second"}


class Pairs:
    """The pairs of two datasets, to be graded by a model that is asked so (`Pair`); a `Gradable`.

    Items are paired by their ids, or by their place where no item has its own id. Where an item has
    several answers (`AnswerList`), each is compared with each of the other side. No pair is held.
    Where the two have their ids in different orders, those of the second that are passed over are
    held until it is their turn.

    Args:
        first, second: the datasets. Prompt, reference, context and rubric are the first's.
        rubric: what to compare by, in place of the first's.
        limit: the most items of each side, from the first.
        better: which one people call better: a field of the first's items, or `first` or `second`
            for all pairs.

    Attributes:
        name: the first's.
        not_compared: names of criteria that no judge is asked about, once `survey` has seen them.

    Raises:
        InputError: the limit is less than 1.
    """

    def __init__(
        self,
        first: Gradable,
        second: Gradable,
        *,
        rubric: Rubric | None = None,
        limit: int | None = None,
        better: str | None = None,
    ) -> None:
        if limit is not None and limit < 1:
            raise InputError(f"the limit must be at least 1, found {limit}")
        self.name = first.name
        self.not_compared: list[str] = []
        self._first = first
        self._second = second
        self._own = rubric
        self._limit = limit
        self._better = better
        self._labels = _LABELS | _labels_by_column(first, second)
        self._asked: tuple[Rubric, Rubric] | None = None

    def survey(self, limit: int | None = None) -> Survey:
        """Read all pairs and check that they can be compared; `limit` counts items.

        Raises:
            InputError: an item has no other, the two have different prompts, or there is nothing
                that a judge is asked about.
        """
        return self._surveyed if limit is None else survey_of(self.to_grade(limit))

    @cached_property
    def _surveyed(self) -> Survey:
        return survey_of(self._items())

    def to_grade(self, limit: int | None = None) -> Iterator[Item]:
        """Each pair's two items, the one with the first submission shown first before the other."""
        return islice(self._items(), limit)

    def _items(self) -> Iterator[Item]:
        for pair in self._by_id() if self._have_ids else self._by_place():
            if pair.first.prompt != pair.second.prompt:
                raise InputError(
                    "the two submissions have different prompts", path=("items", pair.id)
                )
            rubric = self._questions(self._own or pair.first.rubric)
            labelled = self._label_of(pair)
            both = [*product(_answers(pair.first), _answers(pair.second))]
            for number, (first, second) in enumerate(both, start=1):
                name = pair.id if len(both) == 1 else f"{pair.id}/{number}"
                for order, own, other in ((GIVEN, first, second), (REVERSE, second, first)):
                    item = DataItem(
                        own,
                        id=f"{name}/{order}",
                        context=pair.first.data.context,
                        metadata={TASK: pair.id, **labelled, OTHER: other},
                        unseen=pair.first.unseen or pair.second.unseen,
                    )
                    yield Item.of(
                        item,
                        rubric,
                        id=item.id,
                        prompt=pair.first.prompt,
                        reference=pair.first.reference,
                    )

    def _label_of(self, pair: _Pair) -> dict[str, PairLabel]:
        """Which of a pair people call better, as metadata."""
        if self._better is None:
            return {}
        if self._better in ("first", "second"):
            return {BETTER: _LABELS[self._better]}
        value = pair.first.data.metadata.get(self._better)
        label = self._labels.get(str(value).strip().casefold())
        if label is None:
            raise InputError(
                f"'{self._better}' says which is better: found {shown(value)}, expected one of "
                f"{', '.join(self._labels)}",
                path=("items", pair.id),
            )
        return {BETTER: label}

    def _questions(self, rubric: Rubric) -> Rubric:
        """The questions which of two is better by a rubric; that asked for last is kept."""
        if self._asked is not None and self._asked[0] is rubric:
            return self._asked[1]
        if rubric.gates is not None:
            raise InputError(
                "the rubric has gates ('requires'), and of two submissions every criterion is "
                "asked: take them out"
            )
        left_out = [criterion.name for criterion in rubric if not criterion.needs_judge]
        self.not_compared = [*dict.fromkeys((*self.not_compared, *left_out))]
        questioned = [criterion for criterion in rubric if criterion.needs_judge]
        weights = flat_weights(
            restricted(rubric.tree, {criterion.name for criterion in questioned})
        )
        questions = [
            pair_criterion(criterion, criterion.name).model_copy(
                update={"weight": abs(weights[criterion.name])}
            )
            for criterion in questioned
        ]
        if not questions:
            raise InputError("the rubric has no criterion that a judge is asked about")
        self._asked = (rubric, Rubric(questions, guidelines=rubric.guidelines))
        return self._asked[1]

    @cached_property
    def _have_ids(self) -> bool:
        return any(
            item.data.id != item.data.content_id()
            for side in (self._first, self._second)
            for item in side.to_grade()
        )

    def _by_place(self) -> Iterator[_Pair]:
        first, second = (side.survey().items for side in (self._first, self._second))
        if not first or not second:
            raise InputError("there is nothing to compare: a dataset has no items", path=("items",))
        if first != second:
            raise InputError(
                f"{first} items and {second} items without ids cannot be paired: give them ids"
            )
        both = zip(self._first.to_grade(), self._second.to_grade(), strict=True)
        for number, (first_item, second_item) in enumerate(islice(both, self._limit), start=1):
            yield _Pair(str(number), first_item, second_item)

    def _by_id(self) -> Iterator[_Pair]:
        waiting: dict[str, Item] = {}
        others = self._second.to_grade()
        for item in islice(self._first.to_grade(), self._limit):
            while item.id not in waiting:
                other = next(others, None)
                if other is None:
                    raise self._unpaired()
                waiting[other.id] = other
            yield _Pair(item.id, item, waiting.pop(item.id))
        if self._limit is None and (waiting or next(others, None) is not None):
            raise self._unpaired()

    def _unpaired(self) -> InputError:
        """The error for items that only one of the two has."""
        first, second = (
            dict.fromkeys(item.id for item in side.to_grade())
            for side in (self._first, self._second)
        )
        if not first or not second:
            return InputError(
                "there is nothing to compare: a dataset has no items", path=("items",)
            )
        lacking = [name for name in first if name not in second]
        lacking += [name for name in second if name not in first]
        shown = listed([f"'{name}'" for name in lacking])
        return InputError(
            f"items that only one of the two has: {shown}; the two of a pair need the same id"
        )


def _answers(item: Item) -> Sequence[str]:
    """The submissions that one side has for a task: one, but for an `AnswerList`."""
    text = item.data.submission
    return text.answers if isinstance(text, AnswerList) else (text,)


def pairs_of(
    first: str | Gradable,
    second: str | Gradable,
    *,
    rubric: Rubric | None = None,
    prompt: str = "",
    reference: str | None = None,
    context: Sequence[ContextDocument | str] = (),
    limit: int | None = None,
    better: str | None = None,
) -> Pairs:
    """Two texts or two datasets as pairs; the arguments are those of `acompare_pair`.

    Raises:
        InputError: they do not go together.
    """
    if isinstance(first, str) and isinstance(second, str):
        if rubric is None:
            raise InputError("two texts need a rubric: give one (--rubric, rubric=)")
        documents = read_context(context)
        first, second = (
            RubricDataset(
                prompt,
                rubric,
                [DataItem(text, id="pair", reference_submission=reference, context=documents)],
            )
            for text in (first, second)
        )
    elif isinstance(first, str) or isinstance(second, str):
        raise InputError("compare two texts, or two datasets: one of each was given")
    elif prompt or reference or context:
        raise InputError("prompt, reference and context are for two texts; datasets have their own")
    for side in (first, second):
        if not isinstance(side, Gradable):
            raise InputError(
                f"expected a text, a RubricDataset or a table (rubricate.read_table), found "
                f"{type(side).__name__}"
            )
    return Pairs(first, second, rubric=rubric, limit=limit, better=better)
