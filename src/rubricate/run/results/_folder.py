"""The run folder: journal.sqlite, results.jsonl, items.jsonl, rubric.yaml and summary.json."""

from __future__ import annotations

import json
import os
import re
from array import array
from bisect import bisect_right
from collections.abc import Iterator
from contextlib import ExitStack, suppress
from dataclasses import dataclass
from pathlib import Path
from time import monotonic
from typing import Any

from rubricate._documents import format_yaml
from rubricate._files import (
    Replacement,
    check_no_links,
    is_address,
    not_written,
    user_path,
    write_text,
)
from rubricate.errors import InputError, errors_within
from rubricate.judge import Judge
from rubricate.run._options import RunOptions, Storage
from rubricate.run._plan import Plan
from rubricate.run._shards import Shard
from rubricate.run.journal import Access, Database, Origin, Place, check_address, to_json
from rubricate.run.results._identity import note_identity
from rubricate.run.results._results import ItemResult
from rubricate.run.results._rows import result_lines

JOURNAL_NAME = "journal.sqlite"
ADDRESS_NAME = "journal.url"
"""The file with the address of a journal in a database."""
JOURNAL_NAMES = (JOURNAL_NAME, ADDRESS_NAME)
"""A folder in which a run was started has one of these."""
CACHE_NAME = "cache.sqlite"
REPORT_NAME = "report.json"
"""The report of a run that did more than grading."""
_SHARD_FOLDER = re.compile(r"shard-[0-9]+-of-[0-9]+")
BUFFER = 1 << 18
"""Write buffer of the results, in bytes. Every answer is in the journal already."""
SHOWN_EVERY = 1.0
"""Seconds after which results are flushed, for pages that follow a run in progress. At half, runs
of many short items write twice as often; at double, a page lags visibly."""


class RunFolder:
    """The folder of a run. Opening it creates it and checks that it can be written.

    Raises:
        InputError: it cannot be written, or contains a link or special file.
    """

    def __init__(self, path: str | Path) -> None:
        self.path = user_path(path)
        self.results = self.path / "results.jsonl"
        self.items = self.path / "items.jsonl"
        self.rubric = self.path / "rubric.yaml"
        self.summary = self.path / "summary.json"
        self.report = self.path / REPORT_NAME
        self.table = self.path / "results.parquet"
        check_no_links(self.path)
        try:
            self.path.mkdir(mode=0o700, parents=True, exist_ok=True)
            probe = self.path / f".probe-{os.getpid()}"
            probe.touch()
            probe.unlink(missing_ok=True)  # another thread may do the same
        except OSError as error:
            why = "this is a file" if isinstance(error, FileExistsError) else error.strerror
            raise InputError(
                f"the run folder cannot be written: {why}; choose another --run-dir",
                file=self.path,
            ) from None

    def begin(self, plan: Plan) -> ResultsFile:
        """Write the rubric, delete the figures of an earlier run, and open the results."""
        with Replacement(self.rubric, private=True) as file:
            for part in _rubrics(plan):
                file.write(part.encode())
        for file_of_figures in (self.summary, self.report, self.table):
            try:
                file_of_figures.unlink(missing_ok=True)
            except OSError as error:
                raise not_written(file_of_figures, error) from None
        return ResultsFile(self.results, self.items)

    def write_summary(self, summary: dict[str, Any]) -> None:
        """Write the run's figures."""
        text = json.dumps(summary, indent=2, ensure_ascii=False) + "\n"
        with Replacement(self.summary, private=True) as file:
            file.write(text.encode("utf-8", "replace"))


@dataclass(frozen=True, slots=True)
class OpenStorage:
    """The places of a run, created and checked if they are on this machine; None for none.

    Attributes:
        folder: the folder for results: the run folder, or the one of a shard in it.
        journal: the place of the journal.
        cache: the place of shared answers.
        access: how this process uses the journal.

    Raises:
        InputError: one of them cannot be created or written, or the journal does not match.
    """

    folder: RunFolder | None
    journal: Place | None
    cache: Place | None
    access: Access = "alone"

    @classmethod
    def of(cls, options: RunOptions) -> OpenStorage:
        """Create the places that the options name."""
        folder = None if options.run_dir is None else RunFolder(options.run_dir)
        journal = cache = None
        if folder is not None or options.journal is not None:
            journal = journal_place(options)
        if options.cache is not None:
            cache = _with_folder(cache_place(options.cache))
        if options.shard is None:
            access: Access = "alone" if options.workers is None else "driver"
            return cls(folder, journal, cache, access)
        shard = Shard.parse(options.shard)
        if journal is None:
            raise InputError(
                "a shard needs a journal that it shares with the others: give a run folder "
                "(run_dir), or a database (journal)"
            )
        if folder is not None:
            folder = RunFolder(shard_folder(folder.path, shard))
        return cls(folder, journal, cache, shard)

    @property
    def run_dir(self) -> Path | None:
        """The run folder, even for a shard."""
        if self.folder is None:
            return None
        path = self.folder.path
        return path.parent if isinstance(self.access, Shard) else path

    def begin(
        self, plan: Plan, judge: Judge, stack: ExitStack, *, fresh: bool
    ) -> ResultsFile | None:
        """Open the results of the folder, if there is one. `stack` closes them.

        This also notes in the folder the identity of the run and, if the journal is in a database,
        its address without the password.

        Raises:
            InputError: the folder has the results of another run, and `fresh` is not set.
        """
        if self.folder is None or self.run_dir is None:
            return None
        note_identity(self.run_dir, plan, judge, replaces=fresh)
        if isinstance(self.journal, Database):
            from rubricate.run.journal import remembered

            write_text(self.run_dir / ADDRESS_NAME, f"{remembered(self.journal)}\n")
        return stack.enter_context(self.folder.begin(plan))


def shard_folder(run_dir: Path, shard: Shard) -> Path:
    """The folder for the results of a shard, within the run folder."""
    return run_dir / f"shard-{shard.number}-of-{shard.of}"


def journal_place(storage: Storage) -> Place | None:
    """The place of a run's journal: as set, else as noted in its folder; None without a folder.

    Raises:
        InputError: the run has no name, the folder's journal is elsewhere, or the folder names a
            server that the user has not named.
    """
    folder = None if storage.run_dir is None else user_path(storage.run_dir)
    kept = None if folder is None else journal_in(folder)
    if storage.journal is None:
        return _vouched(kept, folder) if isinstance(kept, Database) else kept
    database = Database.at(storage.journal, None if folder is None else folder.resolve().name)
    if storage.fresh or folder is None or not has_journal(folder):
        return database
    from rubricate.run.journal import is_same_run

    if not isinstance(kept, Database) or not is_same_run(database, kept):
        of_server = isinstance(kept, Database)
        moved = f"; if the server's name has changed, write it into {ADDRESS_NAME}"
        raise InputError(
            f"the journal of this run folder is {kept}: leave out --journal, choose another "
            f"--run-dir, or start over with --fresh{moved if of_server else ''}",
            file=folder,
        )
    return database


def journal_in(folder: Path) -> Place:
    """The place of the journal of a run folder. A shard uses the journal of its run.

    Raises:
        InputError: the folder's note of it cannot be read.
    """
    if not has_journal(folder) and _SHARD_FOLDER.fullmatch(folder.absolute().name):
        folder = folder.absolute().parent
    note = folder / ADDRESS_NAME
    try:
        address = note.read_text("utf-8").strip()
    except FileNotFoundError:
        return folder / JOURNAL_NAME
    except (OSError, UnicodeDecodeError) as error:
        raise InputError(f"cannot be read: {error}", file=note) from None
    if not is_address(address):
        raise InputError("has no address that begins with postgresql://", file=note)
    return Database.at(address, origin=Origin.RUN_FOLDER)


def journal_to_read(folder: Path, address: str | None = None) -> Place:
    """The place of the journal of a run folder, for reading.

    Args:
        folder: the run folder, or the folder of a shard.
        address: the database that the user names, if any.

    Raises:
        InputError: the folder's note of it cannot be read, differs from the user's address, or
            names a server that the user has not named.
    """
    check_no_links(folder)
    kept = journal_in(folder)
    if address is None:
        return _vouched(kept, folder) if isinstance(kept, Database) else kept
    check_address("journal", address)
    from rubricate.run.journal import is_same_run

    if isinstance(kept, Database) and is_same_run(database := Database.at(address, kept.run), kept):
        return database
    raise InputError(f"the journal of this run folder is {kept}: leave out --journal", file=folder)


def _vouched(kept: Database, folder: Path | None) -> Database:
    with errors_within(file=folder):
        from rubricate.run.journal import vouched

        return vouched(kept)


def has_journal(folder: Path) -> bool:
    """Whether a run was started in a folder."""
    return any(map(Path.exists, map(folder.joinpath, JOURNAL_NAMES)))


def cache_place(cache: str | Path | None) -> Place | None:
    """The place of shared answers: a file in a folder, or a database; None for none."""
    if cache is None:
        return None
    if isinstance(cache, str) and is_address(cache):
        return Database.shared(cache)
    return user_path(cache) / CACHE_NAME


def _with_folder(cache: Place | None) -> Place | None:
    """Create the folder for shared answers if it is missing.

    Raises:
        InputError: it cannot be created.
    """
    if not isinstance(cache, Path):
        return cache
    path = cache.parent
    try:
        path.mkdir(mode=0o700, parents=True, exist_ok=True)
    except OSError as error:
        raise InputError(
            f"the cache cannot be created: {error.strerror}; choose another --cache, or --no-cache",
            file=path,
        ) from None
    check_no_links(path)
    return cache


def _rubrics(plan: Plan) -> Iterator[str]:
    """The rubric as YAML; one for each item if they differ."""
    if plan.rubric is not None:
        yield format_yaml(plan.rubric.to_dict())
        return
    yield "items:\n"
    for item in plan:
        text = format_yaml({"items": {item.id: item.rubric.to_dict()}})
        yield text.removeprefix("items:\n")


class ResultsFile:
    """Writes `results.jsonl` and `items.jsonl`.

    The lines of an item are written when it is done. At the end they are in the order of the
    dataset.

    Args:
        results, items: the files, which are overwritten.

    Raises:
        InputError: a file cannot be written.
    """

    def __init__(self, results: Path, items: Path) -> None:
        self._results = _OrderedLines(results)
        try:
            self._items = _OrderedLines(items)
        except InputError:
            self._results.close()
            raise
        self._flushed = 0.0

    def add(self, result: ItemResult, lines: bytes | None = None) -> None:
        """Write the verdicts of an item (`lines`, if already made) and its texts."""
        self._items.add(result.index, to_json(result.texts) + b"\n")
        self._results.add(result.index, lines or b"\n".join((*result_lines(result), b"")))
        if (now := monotonic()) - self._flushed > SHOWN_EVERY:
            self._flushed = now
            self._items.flush()
            self._results.flush()

    def finish(self) -> None:
        """Sort the lines into the order of the dataset."""
        self._results.finish()
        self._items.finish()

    def __enter__(self) -> ResultsFile:
        return self

    def __exit__(self, _kind: object, error: BaseException | None, _trace: object) -> None:
        try:
            try:
                self._results.close()
            finally:
                self._items.close()
        except InputError:
            if error is None:
                raise


class _OrderedLines:
    """A file of lines that arrive in any order and are sorted by index at the end."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._order = array("Q")
        self._ends = array("Q")
        self._end = 0
        try:
            # A process that has lost the run may still have the file open.
            path.unlink(missing_ok=True)
            path.touch(mode=0o600)
            self._file = path.open("wb", BUFFER)
        except OSError as error:
            raise not_written(path, error) from None

    def add(self, index: int, lines: bytes) -> None:
        try:
            self._file.write(lines)
        except OSError as error:
            raise not_written(self._path, error) from None
        self._end += len(lines)
        self._order.append(index)
        self._ends.append(self._end)

    def flush(self) -> None:
        try:
            self._file.flush()
        except OSError as error:
            raise not_written(self._path, error) from None

    def finish(self) -> None:
        self.flush()
        places = sorted(range(len(self._order)), key=self._order.__getitem__)
        if all(place == index for index, place in enumerate(places)):
            return
        with self._path.open("rb") as lines, Replacement(self._path) as file:
            for place in places:
                begin = self._ends[place - 1] if place else 0
                lines.seek(begin)
                file.write(lines.read(self._ends[place] - begin))

    def close(self) -> None:
        try:
            self._file.close()
        except OSError as error:
            with suppress(OSError):
                self._keep_whole_lines()
            raise not_written(self._path, error) from None

    def _keep_whole_lines(self) -> None:
        """Remove an item that was written only in part, because the disk is full."""
        written = bisect_right(self._ends, self._path.stat().st_size)
        os.truncate(self._path, self._ends[written - 1] if written else 0)
