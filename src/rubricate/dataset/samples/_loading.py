"""From a file's records to a dataset: the order of work that all readers share.

Map each record, number the samples, find relative files, shuffle, shuffle choices, cut at the
limit. Where nothing is shuffled, reading stops at the limit.
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
"""Records that become samples together: few enough to stay in the processor's cache."""

BOM = b"\xef\xbb\xbf"

YOUNG = 1000
"""Objects made while collection paused from which they are declared old."""


class SampleOptions(TypedDict, total=False):
    """What every reader takes by keyword, beside the source and `sample_fields`."""

    auto_id: bool
    """Number the samples 1, 2, 3, ... in the source's order. Default: False."""
    shuffle: bool | int
    """Shuffle the samples; a number is the seed. Default: False."""
    seed: int | None
    """The random seed of the shuffle. Default: the `random` module's state."""
    shuffle_choices: bool | int | None
    """Shuffle each sample's choices, and let targets follow; a number is the seed."""
    limit: int | None
    """The most samples to give; without a shuffle, no further records are read. Default: all."""
    on_error: OnError
    """`skip` leaves out records that do not fit; they are in the dataset's `skipped`."""
    check: bool
    """Reject ids that occur twice. Default: False."""


class Loading:
    """A source of records, and what a reader was asked to make of it.

    Attributes:
        source: the file, beside which relative files are looked for; None for none.
        name: the dataset's name. Default: the file's.
        location: where it came from. Default: the file's path or address.
        mapper: makes samples of records.

    Raises:
        InputError: an option is not what it should be.
        TypeError: an option is none of `SampleOptions`.
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
        """Samples after which no more need be read; None for all."""
        return None if self.shuffle else self.limit

    @property
    def mapped_one_to_one(self) -> bool:
        """Whether the n-th record is the n-th sample, so that mapping it can wait."""
        return isinstance(self.mapper, FieldMapper) and not self.skip

    @property
    def wanted(self) -> int | None:
        """Records after which no more need be read; None where that is not known before."""
        return self.reads if self.mapped_one_to_one else None

    def dataset(
        self,
        records: Iterable[Record],
        numbers: Sequence[int] | None = None,
        shuffled: bool = False,
    ) -> MemoryDataset:
        """A dataset of records that are all mapped now.

        Args:
            records: the fields of each, or what is wrong with it, with the line on which it ends.
            numbers: each record's number in its source, from 1; it may grow while they are read.
                A sample's automatic id is then that number, with `-2`, `-3`, ... behind it for the
                further samples of a record. Default: samples are numbered as they come.
            shuffled: whether the records come in a shuffled order.

        Raises:
            InputError: a record does not fit; names file, record, line, field.
        """
        samples: list[Sample] = []
        origins: list[int] = []  # of each sample, the number of its record in the source
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
        """A dataset whose ids are checked, and that is shuffled and cut, as was asked for."""
        if self.check:
            dataset.check_ids()
        if self.shuffle:
            dataset.shuffle(self.seed)
        if self.limit is not None and self.limit < len(dataset):
            # Choices are shuffled in the dataset's order, so those behind the limit change none.
            skipped, dataset = dataset.skipped, dataset[: self.limit]
            dataset.skipped = skipped
        if self.shuffle_choices is not None and self.shuffle_choices is not False:
            seed = self.seed if self.shuffle_choices is True else self.shuffle_choices
            with errors_within(file=dataset.location):
                dataset.shuffle_choices(seed)
        return dataset


def whole_number(value: Any, expected: str) -> int:
    """Whatever is a whole number, numpy's too, as an `int`; `InputError` for anything else."""
    try:
        if not isinstance(value, bool):
            return operator.index(value)
    except TypeError:
        pass
    raise InputError(f"{expected}, found {value!r}")


def located(error: InputError, file: str | None, number: int, line: int | None) -> InputError:
    """The error with file, line and the record's number."""
    return type(error)(
        error.message,
        file=file,
        path=(f"record {number}", *error.path),
        line=line,
        column=error.column,
    )


@contextlib.contextmanager
def gc_paused() -> Iterator[None]:
    """No cyclic garbage collection while samples are made in bulk.

    They have no cycles, and walking over a million of them costs more than making them. What was
    made meanwhile counts as old afterwards, so that it is not walked over at once either (without
    that, reading 300,000 records takes about an eighth longer).

    What other parts of the program see of it: no collection while a reader makes samples, in any
    thread; and cycles that were young then wait for a full collection. A program that has paused
    collection, or has frozen its own objects, keeps both as they are.
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
