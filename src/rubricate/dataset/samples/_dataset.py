"""Datasets of samples: the sequence that readers return, and its operations."""

from __future__ import annotations

import abc
import json
import operator
import random
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import asdict, dataclass
from os import PathLike
from typing import TYPE_CHECKING, Any, Literal, SupportsIndex, overload

from rubricate._files import user_path, write_text
from rubricate._spelling import listed
from rubricate.dataset.samples._sample import Sample, sample_input_len
from rubricate.errors import InputError

if TYPE_CHECKING:
    from _typeshed import SupportsRichComparison

OnError = Literal["raise", "skip"]
"""How a reader treats an invalid record: raise an error, or skip it."""


@dataclass(frozen=True)
class SkippedRecord:
    """A skipped record.

    Attributes:
        record: its number in the file, from 1.
        line: the line on which it ends, from 1, if the file has lines.
        error: the error.
    """

    record: int
    line: int | None
    error: str


def check_on_error(on_error: str) -> bool:
    """Return whether to skip. Raises `InputError` for anything but `raise` and `skip`."""
    if on_error not in ("raise", "skip"):
        raise InputError(f"on_error must be 'raise' or 'skip', found {on_error!r}")
    return on_error == "skip"


def write_skipped(path: str | PathLike[str], skipped: Sequence[SkippedRecord]) -> None:
    """Write one line of JSON for each skipped record.

    Raises:
        InputError: the file cannot be written.
    """
    lines = [json.dumps(asdict(record), ensure_ascii=False) + "\n" for record in skipped]
    write_text(user_path(path), "".join(lines))


LETTERS = "ABCDEFGHIJKLMNOPQRSTUVWXYZ"
_POSITIONS = {
    label: position for position, letter in enumerate(LETTERS) for label in (letter, letter.lower())
}


def choice_label(position: int) -> str:
    """The label of the choice at `position` (from 0): A to Z, then 1, 2, 3, ..."""
    return LETTERS[position] if position < len(LETTERS) else str(position - len(LETTERS) + 1)


def shuffle_choices(samples: Sequence[Sample], generator: random.Random | None) -> None:
    """Shuffle the choices of each sample and rewrite its target to match, in place.

    One generator is used for all samples, in order; samples without choices draw nothing from it. A
    target is a choice's label (A, b, ...) or its text; a list is rewritten item by item.

    Args:
        samples: the samples to shuffle.
        generator: the random generator; None for the functions of the `random` module.

    Raises:
        InputError (ValueError): a target is not one of its sample's choices. No sample is changed.
    """
    shuffle = random.shuffle if generator is None else generator.shuffle
    state = random.getstate() if generator is None else generator.getstate()
    changed: list[Sample] = []  # three lists: tuples would trigger collections
    orders: list[list[str]] = []
    targets: list[str | list[str]] = []
    try:
        for index, sample in enumerate(samples):
            choices, target = sample.choices, sample.target
            if not choices:
                continue
            order = list(range(len(choices)))
            shuffle(order)
            targets.append(_relabelled(target, order) or _followed(sample, index, order))
            orders.append([choices[old] for old in order])
            changed.append(sample)
    except InputError:
        (random if generator is None else generator).setstate(state)
        raise
    for sample, ordered, followed in zip(changed, orders, targets, strict=True):
        sample.choices = ordered
        sample.target = followed


def _relabelled(target: str | list[str], order: list[int]) -> str | list[str] | None:
    """A target of letters after `order`; None for any other target."""
    try:
        if type(target) is str:
            return LETTERS[order.index(_POSITIONS[target])]
        return [LETTERS[order.index(_POSITIONS[label])] for label in target]
    except (LookupError, ValueError):  # no letter, no such choice, or no letter for its place
        return None


def _followed(sample: Sample, index: int, order: list[int]) -> str | list[str]:
    """The sample's target after `order`, which maps each new position to its old one."""
    target = sample.target
    if isinstance(target, str):
        return _moved(target, sample, index, order) if target.strip() else target
    return [_moved(label, sample, index, order) for label in target]


def _moved(target: str, sample: Sample, index: int, order: list[int]) -> str:
    choices = sample.choices or []
    old = _position(target.strip())
    if old is None or old >= len(choices):
        if target in choices:
            return target  # a choice's text moves with it
        known = ", ".join(
            f"{choice_label(position)}={choice!r}" for position, choice in enumerate(choices[:8])
        )
        more = ", ..." if len(choices) > 8 else ""
        which = f"index {index}" if sample.id is None else f"id {sample.id!r}"
        raise InputError(
            f"Unexpected multiple choice answer: {target!r} (must be a letter or number) in the "
            f"sample with {which}; its {len(choices)} choices are {known}{more}"
        )
    return choice_label(order.index(old))


def _position(label: str) -> int | None:
    if label in _POSITIONS:
        return _POSITIONS[label]
    if label.isascii() and label.isdigit() and int(label) > 0:
        return len(LETTERS) + int(label) - 1
    return None


SHOWN = 10
"""The maximum number of samples that a notebook shows."""


class Dataset(Sequence[Sample], abc.ABC):
    """A sequence of samples, with the operations that evaluations need."""

    @property
    @abc.abstractmethod
    def name(self) -> str | None:
        """The dataset's name."""

    @property
    @abc.abstractmethod
    def location(self) -> str | None:
        """Its origin: an absolute path or a URL."""

    @property
    @abc.abstractmethod
    def shuffled(self) -> bool:
        """Whether it is in shuffled order."""

    @overload
    def __getitem__(self, index: int) -> Sample: ...

    @overload
    def __getitem__(self, index: slice) -> Dataset: ...

    @abc.abstractmethod
    def __getitem__(self, index: int | slice) -> Sample | Dataset:
        """Return a sample, or a dataset of a slice's samples (the same objects)."""

    @abc.abstractmethod
    def __len__(self) -> int:
        """The number of samples."""

    @abc.abstractmethod
    def sort(
        self,
        reverse: bool = False,
        key: Callable[[Sample], SupportsRichComparison] = sample_input_len,
    ) -> None:
        """Sort in place, stably.

        Args:
            reverse: sort in descending order.
            key: the sort key. Default: the length of the input.
        """

    @abc.abstractmethod
    def filter(self, predicate: Callable[[Sample], bool], name: str | None = None) -> Dataset:
        """Return a dataset of the samples for which `predicate` is true, in order.

        Args:
            predicate: whether to keep a sample.
            name: the new dataset's name. Default: this one's.
        """

    @abc.abstractmethod
    def shuffle(self, seed: int | None = None) -> None:
        """Shuffle the order in place, as `random.Random(seed).shuffle` does.

        Args:
            seed: the random seed, for a reproducible order; None draws from the `random` module.
        """

    @abc.abstractmethod
    def shuffle_choices(self, seed: int | None = None) -> None:
        """Shuffle each sample's choices in place; targets follow.

        Args:
            seed: the random seed, for reproducible orders; None draws from the `random` module.

        Raises:
            InputError (ValueError): a target is not one of its sample's choices. Nothing is
                changed.
        """

    def check_ids(self) -> None:
        """Check that ids are unique.

        Raises:
            InputError: samples share an id; the error lists these ids.
        """
        seen = Counter(str(sample.id) for sample in self if sample.id is not None)
        if repeated := [name for name, count in seen.items() if count > 1]:
            raise InputError(
                f"samples share an id: {listed([*map(repr, repeated)])}; give each a different id, "
                "or auto_id=True",
                file=self.location,
            )

    def _repr_html_(self) -> str:
        from rubricate.views import Column, Row, Table, as_html, opening, say

        rows = [
            Row(
                [
                    str(number if sample.id is None else sample.id),
                    opening(_text(sample.input)),
                    opening(_text(sample.target)),
                ]
            )
            for number, sample in enumerate(self[:SHOWN], start=1)
        ]
        columns = [Column(name, is_text=True) for name in ("sample", "input", "target")]
        name = f"Dataset {self.name}" if self.name else "Dataset"
        table = Table(columns, rows, f"{name}: {len(self)} samples")
        rest = [say(f"and {len(self) - SHOWN} more samples")] if len(self) > SHOWN else []
        return as_html([table, *rest])


def _text(value: Any) -> str:
    """An input or a target as one text."""
    if isinstance(value, str):
        return value
    return " ".join(str(getattr(part, "text", part)) for part in value)


class MemoryDataset(Dataset):
    """A dataset held in memory.

    Attributes:
        samples: the dataset's own list of samples.
        skipped: the skipped records, with `on_error="skip"`.
    """

    def __init__(
        self,
        samples: Iterable[Sample],
        name: str | None = None,
        location: str | None = None,
        shuffled: bool = False,
    ) -> None:
        """Create a dataset of samples.

        Args:
            samples: the samples; the dataset keeps its own list.
            name: the dataset's name.
            location: its origin.
            shuffled: whether the samples are in shuffled order.
        """
        self.samples: list[Sample] = list(samples)
        self._name = name
        self._location = location
        self._shuffled = shuffled
        self.skipped: Sequence[SkippedRecord] = ()

    def __getstate__(self) -> dict[str, Any]:
        """A copy has its own list."""
        return {**self.__dict__, "samples": [*self.samples]}

    @property
    def name(self) -> str | None:
        return self._name

    @property
    def location(self) -> str | None:
        return self._location

    @property
    def shuffled(self) -> bool:
        return self._shuffled

    def __len__(self) -> int:
        return len(self.samples)

    def __iter__(self) -> Iterator[Sample]:
        return iter(self.samples)

    @overload
    def __getitem__(self, index: SupportsIndex) -> Sample: ...

    @overload
    def __getitem__(self, index: slice) -> MemoryDataset: ...

    def __getitem__(self, index: SupportsIndex | slice) -> Sample | MemoryDataset:
        if isinstance(index, slice):
            return self._like(self.samples[index])
        return self.samples[index]

    def _like(self, samples: list[Sample], name: str | None = None) -> MemoryDataset:
        return MemoryDataset(samples, name or self.name, self.location, self.shuffled)

    def sort(
        self,
        reverse: bool = False,
        key: Callable[[Sample], SupportsRichComparison] = sample_input_len,
    ) -> None:
        self.samples.sort(reverse=reverse, key=key)

    def filter(self, predicate: Callable[[Sample], bool], name: str | None = None) -> MemoryDataset:
        return self._like([sample for sample in self if predicate(sample)], name)

    def shuffle(self, seed: int | None = None) -> None:
        shuffle = random.shuffle if seed is None else _generator(seed).shuffle
        shuffle(self.samples)
        self._shuffled = True

    def shuffle_choices(self, seed: int | None = None) -> None:
        shuffle_choices(self.samples, None if seed is None else _generator(seed))

    def __repr__(self) -> str:
        parts = [f"{len(self)} sample{'' if len(self) == 1 else 's'}"]
        if self.name is not None:
            parts.append(f"name={self.name!r}")
        if self.location is not None:
            parts.append(f"location={self.location.partition('?')[0]!r}")
        if self.shuffled:
            parts.append("shuffled")
        if self.skipped:
            parts.append(f"{len(self.skipped)} skipped")
        return f"<MemoryDataset: {', '.join(parts)}>"


def _generator(seed: Any) -> random.Random:
    """The generator for a seed; a numpy number counts as a plain number."""
    return random.Random(operator.index(seed) if hasattr(seed, "__index__") else seed)
