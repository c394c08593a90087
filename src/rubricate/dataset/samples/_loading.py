"""From a file's records to a dataset: the order of work that all readers share.

Map each record, number the samples, find relative files, shuffle, shuffle choices, cut at the
limit. Where nothing is shuffled, reading stops at the limit.
"""

from __future__ import annotations

import contextlib
import gc
import mmap
import operator
from bisect import bisect_right
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from itertools import count, islice
from operator import itemgetter
from threading import Lock
from typing import Any, BinaryIO, TypedDict, Unpack, cast

from rubricate.dataset.samples._dataset import (
    MemoryDataset,
    OnError,
    SkippedRecord,
    check_on_error,
)
from rubricate.dataset.samples._fields import (
    DatasetRecord,
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
from rubricate.errors import InputError

CHECKED = 10_000
"""Records of a JSON Lines file that are read when it is opened; the others, when looked at."""

AT_ONCE = 512
"""Lines that become samples together: few enough to stay in the processor's cache."""

BLOCK = 1 << 22
"""Bytes of lines that become samples together: some 8,000 records, which take about 20 ms."""

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
    """Read every record now, and reject ids that occur twice. Default: False."""


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

    def dataset_of_lines(
        self, file: BinaryIO, decode: Callable[[bytes], DatasetRecord]
    ) -> MemoryDataset:
        """A dataset of lines that are mapped when they are first looked at.

        The first 10,000 are looked at now. For `mapped_one_to_one` only.

        Args:
            file: the lines in UTF-8, which are read now.
            decode: what makes fields of a line.
        """
        assert isinstance(self.mapper, FieldMapper)
        assert self.source is not None
        store = _LineStore(file, decode, self.mapper, self.source, self.auto_id)
        store.take(range(min(CHECKED, len(store))))
        lazy = MemoryDataset.over(store, range(len(store)), self.name, self.location)
        return self.arranged(lazy)

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
            try:
                dataset.shuffle_choices(seed)
            except InputError as error:
                raise error.within(file=dataset.location) from None
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


class _LineStore:
    """The lines of a file that are not blank, each of which becomes a sample, in any thread.

    Lines are held in blocks outside Python's heap. A block becomes samples when one of them is
    first asked for, and gives its memory back, so that no record is in memory twice.
    """

    def __init__(
        self,
        file: BinaryIO,
        decode: Callable[[bytes], DatasetRecord],
        mapper: FieldMapper,
        source: Source,
        auto_id: bool,
    ) -> None:
        self._decode = decode
        self._mapper = mapper
        self._source = source
        self._resolve = resolver(source)
        self._auto_id = auto_id
        self._lock = Lock()
        self._blocks: list[mmap.mmap | None] = []
        self._firsts: list[int] = []  # the index of each block's first line
        self._blank: list[int] = []  # the numbers of blank lines, from 1
        size = line_number = 0
        for block, lines in _blocks_of(file):
            numbered = enumerate(lines, line_number + 1)
            line_number += len(lines)
            kept, held = lines, block
            if not set(map(itemgetter(0), lines)) <= {ord("{")}:  # blank ones, perhaps
                self._blank += [number for number, line in numbered if not line.strip()]
                kept = [line for line in lines if line.strip()]
                held = _outside_heap(b"".join(kept))
            self._blocks.append(held)
            self._firsts.append(size)
            size += len(kept)
        self._samples: list[Sample | InputError | None] = [None] * size

    def __len__(self) -> int:
        return len(self._samples)

    def take(self, indices: Sequence[int]) -> list[Sample]:
        with self._lock, gc_paused():
            for index in indices:
                if self._samples[index] is None:
                    self._read_block(bisect_right(self._firsts, index) - 1)
        samples: list[Sample] = []
        for index in indices:
            sample = self._samples[index]
            if isinstance(sample, InputError):
                raise sample.with_traceback(None)
            samples.append(cast("Sample", sample))
        return samples

    def _read_block(self, number: int) -> None:
        """Turn a block's lines into samples: some at once where all fit, else one by one."""
        block, index = self._blocks[number], self._firsts[number]
        assert block is not None, "a block's lines are samples already"
        end = self._firsts[number + 1] if number + 1 < len(self._firsts) else len(self)
        block.seek(0)
        lines = list(islice(iter(block.readline, b""), end - index))
        block.close()
        self._blocks[number] = None
        for start in range(0, len(lines), AT_ONCE):
            part = lines[start : start + AT_ONCE]
            samples: Sequence[Sample | InputError] | None
            try:
                samples = self._mapper.plain(list(map(self._decode, part)))
            except ValueError:
                samples = None
            for sample in samples or map(self._sample, part, count(index)):
                if self._auto_id and isinstance(sample, Sample):
                    sample.id = index + 1
                self._samples[index] = sample
                index += 1

    def _sample(self, line: bytes, index: int) -> Sample | InputError:
        """A line's sample, or the error that says where it is and what is wrong."""
        try:
            return self._mapper(self._decode(line), self._resolve)[0]
        except InputError as error:
            number = index + 1
            for blank in self._blank:  # in ascending order
                number += blank <= number
            return located(error, self._source.shown, index + 1, number)


def _blocks_of(file: BinaryIO) -> Iterator[tuple[mmap.mmap, list[bytes]]]:
    """The file in blocks of whole lines outside Python's heap, and each block's lines."""
    rest, ended = file.read(len(BOM)).removeprefix(BOM), False
    while not ended:
        block = mmap.mmap(-1, max(BLOCK, 2 * len(rest)), access=mmap.ACCESS_COPY)
        block.write(rest)
        with memoryview(block) as view, view[len(rest) :] as space:
            end = len(rest) + file.readinto(space)  # type: ignore[attr-defined]
        if not end:
            return
        if ended := end < len(block):
            block = _outside_heap(block[:end])
        block.seek(0)
        lines = list(iter(block.readline, b""))
        rest = b"" if ended or lines[-1].endswith(b"\n") else lines.pop()
        if lines:
            yield block, lines


def _outside_heap(content: bytes) -> mmap.mmap:
    """Memory of this process that goes back to the system when it is closed."""
    memory = mmap.mmap(-1, max(1, len(content)), access=mmap.ACCESS_COPY)
    memory.write(content)
    return memory
