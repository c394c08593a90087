"""Labelled examples for a judge: which items of a labelled set to show."""

from __future__ import annotations

import math
import random
import re
import unicodedata
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from functools import lru_cache
from typing import Any, Literal, get_args

from rubricate._spelling import unknown_word
from rubricate.dataset import Item, ItemTable, RubricDataset
from rubricate.errors import InputError
from rubricate.judge.asking._prompts import Example, ExampleLabel, neutral
from rubricate.rubric import Criterion

Pick = Literal["balanced", "nearest"]
NEAR = 95.0
"""From which similarity (0 to 100, `rapidfuzz.fuzz.ratio`) two texts count as the same. Different
answers to the same question are far below, a copy with one word exchanged is above. At 90, a text
of 40 letters with one other word of four letters is a copy; at 99, one with a misspelt word is
not."""
LONG = 40
"""Letters and digits from which similarity counts: in shorter answers, one word is the answer."""
REASONS = "reasons"
"""The key of an item's metadata for the labellers' reasons, by criterion name."""


class Examples:
    """Selects items of a labelled set to show to a judge as examples.

    An example is a whole item with all its labels, so that all criteria of the graded item share
    the same examples, in the part of the prompt that providers cache. The graded item and items
    with nearly the same text are never selected, because their labels would give the answer away.
    Letter case, spacing and punctuation are ignored, and so are differences of up to 5 % in texts
    of 40 letters and digits or more. In shorter texts, any other word makes a different answer.

    Args:
        dataset: items with human labels: a dataset, or a table as `read_table` opens it, which is
            read into memory. Items without labels are ignored.
        count: the number of examples.
        pick: `balanced` selects items whose labels are spread evenly over each criterion's answers,
            the same ones for every graded item; `nearest` selects those whose text is most similar
            to the graded one (cosine of TF-IDF weights).
        reasons: whether to show the labellers' reasons: an item's `ground_truth_reasons`, or
            `reasons` in its metadata, by criterion name.
        seed: breaks ties.

    Attributes:
        dataset: the labelled set.

    Raises:
        InputError: the dataset has no labels, or an argument is invalid.
    """

    def __init__(
        self,
        dataset: RubricDataset | ItemTable,
        *,
        count: int = 4,
        pick: Pick | str = "balanced",
        reasons: bool = True,
        seed: int = 0,
    ) -> None:
        if isinstance(count, bool) or count < 1:
            raise InputError(f"the number of examples must be at least 1, found {count}")
        if pick not in get_args(Pick):
            raise InputError(unknown_word("pick", pick, get_args(Pick)))
        self.dataset = dataset = _in_memory(dataset)
        self._count = count
        self._pool = [
            example
            for index in range(len(dataset))
            if (example := _example(dataset, index, reasons)).labels
        ]
        if not self._pool:
            raise InputError("examples need labels, and no item of the dataset has any")
        random.Random(seed).shuffle(self._pool)
        by_text = {_same(example.submission): example for example in reversed(self._pool)}
        self._pool = list(reversed(by_text.values()))  # the first of equal texts wins
        self._plain = [_plain(example.submission) for example in self._pool]
        self._texts = _Texts([e.submission for e in self._pool]) if pick == "nearest" else None
        self._usual = self._balanced(range(len(self._pool))) if self._texts is None else []
        self.for_item = lru_cache(maxsize=256)(self._for_item)
        """Return the examples for an item."""

    def _for_item(self, item: Item) -> tuple[Example, ...]:
        is_near = _nearness(item.submission)
        if self._texts is None and not any(is_near(self._plain[index]) for index in self._usual):
            return tuple(self._pool[index] for index in self._usual)
        allowed = [index for index, text in enumerate(self._plain) if not is_near(text)]
        if self._texts is None:
            chosen = self._balanced(allowed)
        else:
            chosen = self._texts.nearest(item.submission, allowed, self._count)
        return tuple(self._pool[index] for index in chosen)

    def _balanced(self, allowed: Sequence[int]) -> list[int]:
        """Repeatedly take the item whose labels were shown least so far."""
        shown: Counter[tuple[str, str]] = Counter()
        chosen: list[int] = []
        remaining = list(allowed)
        while remaining and len(chosen) < self._count:
            best = max(
                remaining, key=lambda index: self._worth(index, shown)
            )  # the first of the best
            remaining.remove(best)
            chosen.append(best)
            shown.update((label.requirement, label.label) for label in self._pool[best].labels)
        return chosen

    def _worth(self, index: int, shown: Mapping[tuple[str, str], int]) -> float:
        labels = self._pool[index].labels
        return sum(1.0 / (1 + shown[label.requirement, label.label]) for label in labels)


def _in_memory(labelled: RubricDataset | ItemTable) -> RubricDataset:
    """A dataset of the rows of a table."""
    if isinstance(labelled, RubricDataset):
        return labelled
    if not isinstance(labelled, ItemTable):
        raise InputError(
            "examples are a RubricDataset, or a table opened with read_table, "
            f"found {type(labelled).__name__}"
        )
    items = list(labelled.to_grade())
    if not items:
        raise InputError("examples need labels, and no row of the table can be read")
    return RubricDataset("", items[0].rubric, [item.data for item in items])


def _example(dataset: RubricDataset, index: int, reasons: bool) -> Example:
    item, rubric = dataset.items[index], dataset.get_item_rubric(index)
    values = dataset.get_item_labels(index)
    reasons_given: Any = item.metadata.get(REASONS) if reasons else None
    by_name: Mapping[str, Any] = reasons_given if isinstance(reasons_given, Mapping) else {}

    def label(index: int, criterion: Criterion, name: str, value: str) -> ExampleLabel:
        reason = (item.reason(index) if reasons else None) or by_name.get(name)
        text = reason if isinstance(reason, str) and reason.strip() else None
        return ExampleLabel(criterion.requirement, value, text)

    labels = tuple(
        label(index, criterion, name, value)
        for index, (criterion, name, value) in enumerate(
            zip(rubric, rubric.names, values, strict=False)
        )
        if value is not None and criterion.needs_judge
    )
    return Example(neutral(dataset.get_item_prompt(index)), neutral(item.submission), labels)


def _same(text: str) -> str:
    """The text without differences of letter case and spacing, for comparison."""
    return " ".join(text.casefold().split())


def _plain(text: str) -> str:
    """A text without letter case, spacing and punctuation; with them if nothing else remains."""
    folded = unicodedata.normalize("NFKC", text).casefold()
    return "".join(re.findall(r"[^\W_]+", folded)) or _same(text)


def _nearness(text: str) -> Callable[[str], bool]:
    """Return a function that tells whether a plain text is nearly the same as this one."""
    from rapidfuzz import fuzz

    own = _plain(text)
    if len(own) < LONG:
        return own.__eq__
    return lambda other: fuzz.ratio(own, other, score_cutoff=NEAR) > 0


class _Texts:
    """An index of texts, searched by similarity.

    The weight of a word in a text is `(1 + log tf) * log((1 + N) / (1 + df))` (Salton and Buckley
    1988); the similarity of two texts is the cosine of their weights.
    """

    def __init__(self, texts: Sequence[str]) -> None:
        words = [Counter(_words(text)) for text in texts]
        spread = Counter(word for counts in words for word in counts)
        self._rarity = {
            word: math.log((1 + len(texts)) / (1 + count)) for word, count in spread.items()
        }
        self._vectors = [self._vector(counts) for counts in words]

    def _vector(self, counts: Mapping[str, int]) -> dict[str, float]:
        weights = {
            word: (1 + math.log(count)) * self._rarity[word]
            for word, count in counts.items()
            if word in self._rarity
        }
        length = math.sqrt(sum(weight * weight for weight in weights.values())) or 1.0
        return {word: weight / length for word, weight in weights.items()}

    def nearest(self, text: str, allowed: Sequence[int], count: int) -> list[int]:
        """The indexes of the texts most similar to `text`, the most similar last, next to the
        graded text."""
        wanted = self._vector(Counter(_words(text)))

        def likeness(index: int) -> float:
            vector = self._vectors[index]
            return sum(weight * vector.get(word, 0.0) for word, weight in wanted.items())

        ranked = sorted(allowed, key=lambda index: (-likeness(index), index))
        return ranked[:count][::-1]


def _words(text: str) -> list[str]:
    return re.findall(r"\w+", text.casefold())
