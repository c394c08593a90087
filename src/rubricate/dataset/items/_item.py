"""The item as it is graded. A dataset yields one after the other, each with all that it needs."""

from __future__ import annotations

from array import array
from bisect import bisect_left
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from itertools import pairwise
from typing import Protocol, runtime_checkable

from rubricate.dataset.items._data_item import (
    ContextDocument,
    DataItem,
    checked_labels,
    consensus,
)
from rubricate.dataset.items._transcript import AnswerList
from rubricate.errors import InputError
from rubricate.rubric import Criterion, DeclaredScoring, Rubric, Verdict, agreed

ONE_SCORING = "all items of a run are scored alike; declare it once, in the dataset's 'scoring'"
NO_RUBRIC = Rubric.model_construct(criteria=(), name=None, guidelines=None)
"""The rubric of an item that is judged outside a dataset."""


@dataclass(frozen=True, slots=True)
class Item:
    """One item to grade: what a judge sees of it, and its other data.

    Items are equal if a judge sees the same.

    Attributes:
        submission: the text to judge.
        prompt: the prompt that it answers, its own or the dataset's; empty if there is none.
        reference: an exemplary response, if there is one.
        guidelines: the guidelines of the rubric, if any.
        context: documents that the submission is based on, or should be.
        data: the item in the dataset.
        id: its identifier, unique in the dataset.
        rubric: its own rubric, or the dataset's.
    """

    submission: str
    prompt: str = ""
    reference: str | None = None
    guidelines: str | None = None
    context: tuple[ContextDocument, ...] = ()
    data: DataItem = field(default=None, compare=False, repr=False)  # type: ignore[assignment]
    id: str = field(default="", compare=False)
    rubric: Rubric = field(default=NO_RUBRIC, compare=False, repr=False)

    def __post_init__(self) -> None:
        if self.data is None:
            object.__setattr__(self, "data", DataItem(self.submission, prompt=self.prompt))

    @classmethod
    def of(
        cls,
        data: DataItem,
        rubric: Rubric,
        *,
        id: str,
        prompt: str,
        reference: str | None,
    ) -> Item:
        """Create the item from a dataset's item and the data that the dataset adds."""
        return cls(
            data.submission,
            prompt,
            reference,
            rubric.guidelines,
            tuple(data.context),
            data,
            id,
            rubric,
        )

    @property
    def unseen(self) -> str | None:
        """Its parts that no text shows, in words; judges that see only text then abstain."""
        if self.data.unseen is not None:
            return self.data.unseen
        if not (type(self.submission) is type(self.prompt) is str):  # messages, as text
            for what, text in (("submission", self.submission), ("prompt", self.prompt)):
                if parts := getattr(text, "unseen", ""):
                    return f"the {what} has {parts}"
        return None

    def labels(self) -> dict[str, Verdict]:
        """The human verdicts by criterion name; criteria without a label are missing.

        They are the item's ground truth, with its reasons, and for missing labels the consensus of
        its annotators.

        Raises:
            InputError: the labels do not match the rubric.
        """
        own_labels = self.data.ground_truth
        together = consensus(self.data.annotations, self.rubric) if self.data.annotations else {}
        if own_labels is None:
            return together
        if len(own_labels) != len(self.rubric):
            raise InputError(
                f"Ground truth has {len(own_labels)} values, but rubric has {len(self.rubric)} "
                "criteria",
                path=("ground_truth",),
            )
        own = {
            criterion.name: criterion.verdict(label)
            for criterion, label in zip(self.rubric, own_labels, strict=True)
            if label is not None
        }
        if self.data.ground_truth_reasons is not None or self.data.adjudications:
            for index, name in enumerate(self.rubric.names):
                if name in own:
                    decided = self.data.adjudications.get(name, {}).get("reason")
                    own[name] = replace(own[name], reason=decided or self.data.reason(index))
        return {**together, **own} if together else own


@dataclass(frozen=True, slots=True)
class Survey:
    """Counts over a dataset, made without holding it in memory.

    Attributes:
        items: the number of items.
        verdicts: the number of their criteria.
        to_judge: the number of those that need a judge.
        rubric: the rubric of all items; None if they differ.
        named_code: the criteria whose code the rubrics only name.
        scoring: the scoring that the dataset or the rubrics declare; None if they do not.
        gated: whether some criteria require others.
        read: the items, if they are few and in memory anyway.
        first_list: the index of the first item whose submission is several answers, for pairs.
    """

    items: int
    verdicts: int
    to_judge: int
    rubric: Rubric | None
    named_code: tuple[Criterion, ...] = ()
    scoring: DeclaredScoring | None = None
    gated: bool = False
    read: Sequence[Item] | None = None
    first_list: int | None = None


@runtime_checkable
class Gradable(Protocol):
    """Anything that can be graded: a `RubricDataset`, or a table of `read_table`.

    Attributes:
        name: the dataset's name, if it has one.
    """

    name: str | None

    def survey(self, limit: int | None = None) -> Survey:
        """Read and check all items, or the first `limit`.

        Raises:
            InputError: an item cannot be graded, or two share an id; the error says which.
        """
        ...

    def to_grade(self, limit: int | None = None) -> Iterator[Item]:
        """Iterate over the items that `survey` has read, in the same order; can be repeated."""
        ...


def survey_of(
    to_grade: Iterable[Item],
    scoring: DeclaredScoring | None = None,
    *,
    read: Sequence[Item] | None = None,
) -> Survey:
    """Count and check items.

    Args:
        to_grade: the items.
        scoring: the scoring that their dataset declares.
        read: the same items if they are in memory, so that they are not read again.

    Raises:
        InputError: labels do not match, or the rubrics declare different scorings; with the item's
            place.
    """
    items = verdicts = to_judge = judged_each = 0
    own = scoring
    first: Rubric | None = None
    last: Rubric | None = None
    first_list: int | None = None
    same, gated = True, False
    named: dict[Criterion, None] = {}
    for index, item in enumerate(to_grade):
        try:
            if item.data.ground_truth is not None or item.data.annotations:
                checked_labels(item.data, item.rubric)
        except InputError as error:
            raise error.within(("items", index)) from None
        if first_list is None and type(item.submission) is AnswerList:
            first_list = index
        if item.rubric is not last:
            try:
                if index and own is None and (scoring is None) != (item.rubric.scoring is None):
                    raise InputError(f"only some rubrics declare a scoring; {ONE_SCORING}")
                if item.rubric.scoring is not None:
                    scoring = agreed(scoring, item.rubric.scoring, ONE_SCORING)
            except InputError as error:
                raise error.within(("items", index)) from None
            judged_each = 0
            for criterion in item.rubric.criteria:
                judged_each += criterion.needs_judge
                if criterion.named_code is not None:
                    named[criterion] = None
            gated |= item.rubric.gates is not None
        first, last = first or item.rubric, item.rubric
        same = same and item.rubric is first
        items += 1
        verdicts += len(item.rubric.criteria)
        to_judge += judged_each
    return Survey(
        items,
        verdicts,
        to_judge,
        first if same else None,
        tuple(named),
        scoring,
        gated,
        read,
        first_list,
    )


Names = Callable[[], Iterable[tuple[str, bool]]]
"""Yields, from the start each time, each item's id and whether it is only the content hash."""


class ItemIds:
    """Makes items' ids unique without holding them: eight bytes per item.

    Items with the same content and no id of their own get the suffix `-2`, `-3`, ... after the
    hash.
    """

    def __init__(self) -> None:
        self._hashes = array("q")
        self._often: set[int] = set()
        self._given: set[str] = set()

    def add(self, name: str) -> None:
        """Add an item's id or content hash."""
        self._hashes.append(hash(name))

    def settle(self, names: Names) -> None:
        """Check possible duplicates again, after all ids were added.

        Raises:
            InputError: two items have the same explicit id; names up to five such ids.
        """
        ordered = sorted(self._hashes)
        self._often = {earlier for earlier, later in pairwise(ordered) if earlier == later}
        if not self._often:
            self._hashes = array("q")
            return
        self._hashes = array("q", ordered)
        places: dict[str, list[int]] = {}
        for place, (name, is_hash) in enumerate(names(), start=1):
            if not is_hash and hash(name) in self._often:
                places.setdefault(name, []).append(place)
        if repeated := [name for name, numbers in places.items() if len(numbers) > 1]:
            shown = ", ".join(
                f"'{name}' (items {', '.join(map(str, places[name][:5]))})" for name in repeated[:5]
            )
            raise InputError(f"items share an id: {shown}; give each item a different id")
        self._given = set(places)

    def assigner(self) -> Callable[[str, bool], str]:
        """A function that returns each item's final id; call it in the order of the items."""
        seen: Counter[str] = Counter()

        def assign(name: str, is_hash: bool) -> str:
            if not is_hash or hash(name) not in self._often:
                return name
            if not seen[name]:
                seen[name] = 1
                if name not in self._given:
                    return name
            while True:
                seen[name] += 1
                numbered = f"{name}-{seen[name]}"
                if not self._is_noted(numbered):
                    return numbered

        return assign

    def _is_noted(self, name: str) -> bool:
        wanted = hash(name)
        place = bisect_left(self._hashes, wanted)
        return place < len(self._hashes) and self._hashes[place] == wanted
