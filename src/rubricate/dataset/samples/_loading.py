"""From a file's records to a dataset: the steps that all readers share.

Map each record, number the samples, resolve relative files, shuffle, shuffle choices, apply the
limit. Without a shuffle, reading stops at the limit.
"""

from __future__ import annotations

import contextlib
import gc
import operator
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from itertools import islice
from operator import itemgetter
from typing import Any, TypedDict, Unpack

from rubricate.dataset.samples._dataset import (
    MemoryDataset,
    OnError,
    SkippedRecord,
    check_on_error,
)
from rubricate.dataset.samples._fields import (
    FieldMapper,
    FieldSpec,
    FunctionMapper,
    Record,
    RecordToSample,
    sample_mapper,
)
from rubricate.dataset.samples._opening import Source
from rubricate.dataset.samples._relative import resolver
from rubricate.dataset.samples._sample import Sample
from rubricate.errors import InputError, errors_within

AT_ONCE = 512
"""The number of records that are mapped together: few enough for the processor's cache."""

BOM = b"\xef\xbb\xbf"

YOUNG = 1000
"""The number of objects, created while collection was paused, from which they are declared old."""


class SampleOptions(TypedDict, total=False):
    """The keyword arguments of all readers, besides the source and `sample_fields`."""

    auto_id: bool
    """Number the samples 1, 2, 3, ... in the source's order. Default: False."""
    shuffle: bool | int
    """Shuffle the samples; a number is the seed. Default: False."""
    seed: int | None
    """The random seed of the shuffle. Default: the `random` module's state."""
    shuffle_choices: bool | int | None
    """Shuffle each sample's choices, and let targets follow; a number is the seed."""
    limit: int | None
    """The maximum number of samples; without a shuffle, no further records are read. Default:
    all."""
    on_error: OnError
    """`skip` leaves out invalid records, which are then in the dataset's `skipped`."""
    check: bool
    """Reject duplicate ids. Default: False."""


class Loading:
    """A source of records, and the options of its reader.

    Attributes:
        source: the file, to which relative paths refer; None for none.
        name: the dataset's name. Default: the file's.
        location: its origin. Default: the file's path or URL.
        mapper: converts records to samples.

    Raises:
        InputError: an option is invalid.
        TypeError: an option is not in `SampleOptions`.
    """

    def __init__(
        self,
        sample_fields: FieldSpec | RecordToSample | None = None,
        source: Source | None = None,
        name: str | None = None,
        location: str | None = None,
        **options: Unpack[SampleOptions],
    ) -> None:
        if unknown := options.keys() - SampleOptions.__annotations__.keys():
            raise TypeError(f"unexpected keyword argument '{min(unknown)}'")
        self.source = source
        self.name = name if source is None else name or source.name
        self.location = location if source is None else source.location
        self.mapper: FieldMapper | FunctionMapper = sample_mapper(sample_fields)
        self.auto_id = options.get("auto_id", False)
        self.check = options.get("check", False)
        self.skip = check_on_error(options.get("on_error", "raise"))
        self.limit, self.seed = options.get("limit"), options.get("seed")
        self.shuffle, self.shuffle_choices = options.get("shuffle"), options.get("shuffle_choices")
        if self.limit is not None:
            self.limit = whole_number(self.limit, "limit must be None or a number from 0")
            if self.limit < 0:
                raise InputError(f"limit must be None or a number from 0, found {self.limit}")
        if self.seed is not None:
            self.seed = whole_number(self.seed, "seed must be None or a whole number")
        if not isinstance(self.shuffle, bool | None):
            seed = whole_number(self.shuffle, "shuffle must be true, false or a seed")
            if self.seed is not None:
                raise InputError("shuffle is a seed and there is seed= too: give one of them")
            self.seed, self.shuffle = seed, True
        if not isinstance(self.shuffle_choices, bool | None):
            self.shuffle_choices = whole_number(
                self.shuffle_choices, "shuffle_choices must be true, false or a seed"
            )

    @property
    def reads(self) -> int | None:
        """The number of samples after which reading can stop; None for all."""
        return None if self.shuffle else self.limit

    @property
    def mapped_one_to_one(self) -> bool:
        """Whether the n-th record is the n-th sample, so that it can be mapped later."""
        return isinstance(self.mapper, FieldMapper) and not self.skip

    @property
    def wanted(self) -> int | None:
        """The number of records after which reading can stop; None if unknown."""
        return self.reads if self.mapped_one_to_one else None

    def dataset(
        self,
        records: Iterable[Record],
        numbers: Sequence[int] | None = None,
        shuffled: bool = False,
    ) -> MemoryDataset:
        """Return a dataset of records, mapping all of them now.

        Args:
            records: the fields or the error of each record, with the line on which it ends.
            numbers: each record's number in its source, from 1; may grow during reading. A sample's
                automatic id is then that number, with the suffix `-2`, `-3`, ... for further
                samples of a record. Default: samples are numbered in order.
            shuffled: whether the records are in shuffled order.

        Raises:
            InputError: a record is invalid; the error has file, record, line, field.
        """
        samples: list[Sample] = []
        origins: list[int] = []  # for each sample, the number of its record in the source
        skipped: list[SkippedRecord] = []
        resolve = resolver(self.source)
        shown = self.location if self.source is None else self.source.shown
        mapper, reads, size = self.mapper, self.reads, AT_ONCE if self.mapped_one_to_one else 1
        pending, done = iter(records), 0
        with gc_paused() if isinstance(mapper, FieldMapper) else contextlib.nullcontext():
            while reads is None or len(samples) < reads:
                most = size if reads is None else min(size, reads - len(samples))
                batch = list(islice(pending, most))
                if not batch:
                    break
                fitting = mapper.plain(list(map(itemgetter(1), batch)))
                if fitting is not None:
                    samples += fitting
                    origins += () if numbers is None else numbers[done : done + len(batch)]
                    done += len(batch)
                    continue
                for line, record in batch:
                    done += 1
                    number = done if numbers is None else numbers[done - 1]
                    try:
                        if isinstance(record, InputError):
                            raise record
                        new = mapper(record, resolve)
                    except InputError as error:
                        if not self.skip:
                            raise located(error, shown, number, line) from error.__cause__
                        skipped.append(SkippedRecord(number, line, error.message))
                        continue
                    samples += new
                    origins += () if numbers is None else [number] * len(new)
        if self.auto_id:
            seen: Counter[int] = Counter()
            places = range(1, len(samples) + 1) if numbers is None else origins
            for number, sample in zip(places, samples, strict=True):
                seen[number] += 1
                sample.id = number if seen[number] == 1 else f"{number}-{seen[number]}"
        dataset = MemoryDataset(samples, self.name, self.location, shuffled)
        dataset.skipped = skipped
        return self.arranged(dataset)

    def arranged(self, dataset: MemoryDataset) -> MemoryDataset:
        """Check the ids of a dataset, shuffle it and apply the limit, by the options."""
        if self.check:
            dataset.check_ids()
        if self.shuffle:
            dataset.shuffle(self.seed)
        if self.limit is not None and self.limit < len(dataset):
            # Choices are shuffled in the dataset's order, so those beyond the limit change nothing.
            skipped, dataset = dataset.skipped, dataset[: self.limit]
            dataset.skipped = skipped
        if self.shuffle_choices is not None and self.shuffle_choices is not False:
            seed = self.seed if self.shuffle_choices is True else self.shuffle_choices
            with errors_within(file=dataset.location):
                dataset.shuffle_choices(seed)
        return dataset


def whole_number(value: Any, expected: str) -> int:
    """Return any whole number, numpy's too, as an `int`. Raises `InputError` for anything else."""
    try:
        if not isinstance(value, bool):
            return operator.index(value)
    except TypeError:
        pass
    raise InputError(f"{expected}, found {value!r}")


def located(error: InputError, file: str | None, number: int, line: int | None) -> InputError:
    """Add file, line and the record's number to an error."""
    return type(error)(
        error.message,
        file=file,
        path=(f"record {number}", *error.path),
        line=line,
        column=error.column,
    )


@contextlib.contextmanager
def gc_paused() -> Iterator[None]:
    """Pause cyclic garbage collection while samples are created in bulk.

    They have no cycles, and traversing a million of them costs more than creating them. Objects
    created meanwhile count as old afterwards, so that they are not traversed at once either
    (without that, reading 300,000 records takes about an eighth longer).

    Effects on other parts of the program: no collection while a reader creates samples, in any
    thread; and cycles that were young then wait for a full collection. If the program has paused
    collection, or frozen its own objects, both stay unchanged.
    """
    enabled = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if enabled:
            if gc.get_count()[0] > YOUNG and not gc.get_freeze_count():
                gc.freeze()
                gc.unfreeze()
            gc.enable()
