"""A worker: judges blocks of a run's items with the same executor as the run."""

from __future__ import annotations

import asyncio
import logging
import socket
import time
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, closing
from dataclasses import dataclass, field, fields
from importlib.util import find_spec
from operator import attrgetter
from pathlib import Path
from typing import Any, NamedTuple

from rubricate._version import __version__
from rubricate.dataset import Item, Survey, survey_of
from rubricate.errors import InputError, MissingExtraError
from rubricate.judge import Judge
from rubricate.rubric import ScoringRules, Verdict
from rubricate.run._executor import Execution, Listeners, RunParts, rarer_collections
from rubricate.run._options import RunOptions
from rubricate.run._plan import Plan
from rubricate.run._progress import Progress
from rubricate.run.items import Calibrate, JudgedItem, Stages
from rubricate.run.journal import Answers, Database, Place, open_journal
from rubricate.run.results import ItemResult, OpenStorage, result_lines
from rubricate.run.sending import Sender

SILENCE = 30.0
"""Seconds without a sign of life after which a driver gives up a worker, and a worker its driver.

A worker answers in a thread beside its event loop, so that a judge may block the loop for minutes;
on two cores with a load of 20, the answer took less than a second. Swapping can take 10 s. At half,
such a pause costs the requests in flight, which are paid twice; at double, the blocks of a dead
worker wait for a minute."""


@dataclass(frozen=True, slots=True)
class Job:
    """What every worker of a run receives once.

    Attributes:
        judge: the judge.
        options: the options of the run. The driver handles time limit and listeners.
        journal: the journal of the run.
        rules: the scoring rules.
        cache: the shared answers; None if the worker cannot reach them.
        calibrate: maps the judges' probabilities.
        holder: the driver's name in the lease; None without a lease.
        version: the driver's version of rubricate.
    """

    judge: Judge
    options: RunOptions
    journal: Place
    rules: ScoringRules = field(default_factory=ScoringRules)
    cache: Place | None = None
    calibrate: Calibrate | None = None
    holder: str | None = None
    version: str = __version__


def job_of(
    judge: Judge,
    options: RunOptions,
    storage: OpenStorage,
    rules: ScoringRules,
    calibrate: Calibrate | None,
) -> Job:
    """The job for the workers of a run.

    Raises:
        InputError: the run has no journal that workers could share.
        MissingExtraError: Ray is not installed.
    """
    if find_spec("ray") is None:
        raise MissingExtraError("workers", "ray")
    if storage.journal is None:
        raise InputError("workers need a journal that they share: give run_dir, or journal")
    # the working folder of workers differs
    journal, cache = (
        place.absolute() if isinstance(place, Path) else place
        for place in (storage.journal, storage.cache)
    )
    assert journal is not None
    return Job(judge, options, journal, rules, cache, calibrate)


class Found(NamedTuple):
    """The outcome of an item, without what the driver has already.

    Attributes:
        verdicts, keys: as in `JudgedItem`; without keys if there is a result.
        result: the values of the item's result, without its rubric and scoring rules. None if the
            run settles verdicts only at its end.
        lines: its lines for `results.jsonl`.
    """

    verdicts: dict[str, Verdict]
    keys: dict[str, dict[int, str]]
    result: tuple[Any, ...] | None = None
    lines: bytes = b""

    @classmethod
    def of(cls, item: JudgedItem, job: Job) -> Found:
        if job.judge.learns_weights:
            return cls(item.verdicts, item.keys)
        result = item.result(job.rules, job.options.author_key)
        values = _VALUES(result)
        return cls(result.criteria, {}, values, b"\n".join((*result_lines(result), b"")))

    def item(self, number: int, source: Item, job: Job) -> JudgedItem:
        """The judged item at its place in the dataset."""
        item = JudgedItem(source, number, self.verdicts, keys=self.keys)
        if self.result is not None:
            values = dict(zip(_NAMES, self.result, strict=True))
            result = ItemResult(
                **values,
                rubric=source.rubric,
                index=number,
                scoring=job.rules.declared,
                item=source,
            )
            item.written = result, self.lines
        return item


_KNOWN = ("rubric", "index", "scoring", "item")
"""Fields of a result that the driver has already."""
_NAMES = [each.name for each in fields(ItemResult) if each.name not in _KNOWN]
_VALUES = attrgetter(*_NAMES)


@dataclass(frozen=True, slots=True)
class Report:
    """The outcome of a block.

    Attributes:
        items: the outcomes of its items in order; empty if the block was cut.
        progress: its progress and usage.
        not_run: how many verdicts are missing because it ended early.
        stopped: why the worker cannot continue, in words; None if it can.
        is_cut: whether it ended because the driver was silent.
        note: the judge's line to show beside the results.
        warnings: warnings since the last report.
    """

    items: list[Found]
    progress: Progress
    not_run: int
    stopped: str | None
    is_cut: bool
    note: str | None
    warnings: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class State:
    """The state of a worker.

    Attributes:
        under_way: the progress of each of its blocks.
        trouble: the last request that had to be retried, in words.
    """

    under_way: tuple[Progress, ...] = ()
    trouble: str | None = None


LOOK = 1.0
"""Seconds between checks whether the driver is silent. Nothing is sent after that in any case;
requests in flight may continue for this long."""
NOBODY = Listeners(lambda: None, lambda item: None, lambda outcome: None)
"""Listeners that do nothing, for the blocks of a worker."""


class WorkerDied(Exception):
    """A worker is gone: it was killed, ran out of memory, lost its node, or is silent."""


class _Stop(asyncio.Event):
    """Set when a block must end, because the driver says so or has been silent for too long.

    After too long a silence it stays set, because the driver may have given the block to others.
    """

    def __init__(self) -> None:
        super().__init__()
        self._heard = time.monotonic()

    def note_driver(self) -> None:
        """Note a sign of life of the driver, from any thread."""
        if not self.is_cut:
            self._heard = time.monotonic()

    @property
    def is_cut(self) -> bool:
        """Whether the driver has been silent for too long."""
        return time.monotonic() - self._heard > SILENCE

    def is_set(self) -> bool:
        return super().is_set() or self.is_cut

    async def watch(self) -> None:
        """Set the event once the driver is silent, to wake those that wait for it."""
        while not self.is_cut:  # noqa: ASYNC110 (that time has passed is no event)
            await asyncio.sleep(LOOK)
        self.set()


class Worker:
    """Judges blocks, several at a time, and stores the answers in the journal.

    All blocks share the limits of sending.

    Args:
        job: the job.

    Raises:
        InputError: this process cannot work on the run.
        JournalError: the journal cannot be opened.
    """

    def __init__(self, job: Job) -> None:
        self._job = job
        self._check()
        self._trouble: str | None = None
        self._under_way: dict[_Stop, Progress] = {}
        self._warnings = _Warnings()
        self._open = ExitStack()
        with ExitStack() as stack:
            stack.callback(logging.getLogger("rubricate").removeHandler, self._warnings)
            stack.enter_context(rarer_collections())
            database = job.journal.address if isinstance(job.journal, Database) else None
            self._sender = stack.enter_context(
                Sender(
                    limits=job.options.shared_by(database),
                    retries=job.options,
                    on_trouble=self._note_trouble,
                    goes_on_without=job.judge.goes_on_without,
                    budget=job.options,
                )
            )
            journal = stack.enter_context(
                closing(
                    open_journal(
                        job.journal,
                        access="worker",
                        patience=job.options.max_outage,
                        holder=job.holder,
                    )
                )
            )
            cache = None
            if not isinstance(job.cache, Path) or job.cache.is_file():  # else on another machine
                cache = None if job.cache is None else open_journal(job.cache, access="cache")
            self._answers = Answers(
                journal,
                cache,
                reads_cache=not job.options.fresh,
                on_trouble=logging.getLogger(__name__).warning,
            )
            stack.callback(self._answers.close)
            self._answers.commit()
            self._open = stack.pop_all()

    def _check(self) -> None:
        """Raise `InputError` if this process cannot work on the run."""
        node, journal = socket.gethostname(), self._job.journal
        if self._job.version != __version__:
            raise InputError(
                f"rubricate is {__version__} on {node} and {self._job.version} where the run was "
                "started: install the same version on every node"
            )
        if isinstance(journal, Path) and not journal.is_file():
            raise InputError(
                f"{journal}: does not exist on {node}; workers on several machines need a journal "
                "that all can reach: --journal postgresql://HOST/DATABASE"
            )

    def _note_trouble(self, message: str) -> None:
        self._trouble = message

    def state(self) -> State:
        """The present state, for the driver, which is thereby known to be alive. From any
        thread."""
        under_way = list(self._under_way.items())
        for stop, _ in under_way:
            stop.note_driver()
        trouble, self._trouble = self._trouble, None
        return State(tuple(progress.copy() for _, progress in under_way), trouble)

    async def grade(self, items: Sequence[Item]) -> Report:
        """Judge a block, except for stored answers."""
        job = self._job
        plan = plan_of(items)
        stages = Stages(job.judge, plan, job.calibrate)
        progress, stop = Progress(total=0), _Stop()  # the driver counts what there is to judge
        done: list[JudgedItem] = []

        async def give(item: JudgedItem) -> None:
            done.append(item)

        execution = Execution(
            RunParts(plan, stages, self._answers, self._sender, job.options, progress, NOBODY, stop)
        )
        self._under_way[stop] = progress
        watching = asyncio.create_task(stop.watch())
        try:
            await execution.judge(give)
        finally:
            watching.cancel()
            del self._under_way[stop]
        stopped = self._sender.stopped_by or execution.over_budget
        if not stop.is_cut:
            done += execution.unfinished()
        return Report(
            [Found.of(item, job) for item in sorted(done, key=attrgetter("index"))],
            progress,
            execution.not_run,
            None if stopped is None else str(stopped),
            stop.is_cut,
            stages.note,
            self._warnings.drain(),
        )

    def stop(self) -> None:
        """End all blocks, and cancel the requests in flight."""
        for stop in self._under_way:
            stop.set()

    async def aclose(self) -> None:
        """Close journal and connections."""
        self.stop()
        self._open.close()
        await self._job.judge.aclose()


def plan_of(items: Sequence[Item]) -> Plan:
    """The plan of some items of a run whose plan has been checked."""
    return Plan(_Block(items), RunOptions(allow_code=True))


class _Block:
    """Items as a dataset."""

    name: str | None = None

    def __init__(self, items: Sequence[Item]) -> None:
        self._items = items

    def survey(self, limit: int | None = None) -> Survey:
        return survey_of(self._items)

    def to_grade(self, limit: int | None = None) -> Iterator[Item]:
        return iter(self._items)


class _Warnings(logging.Handler):
    """Collects warnings without duplicates until the driver asks for them."""

    def __init__(self) -> None:
        super().__init__(logging.WARNING)
        self._messages: dict[str, None] = {}
        logging.getLogger("rubricate").addHandler(self)

    def emit(self, record: logging.LogRecord) -> None:
        self._messages[record.getMessage()] = None

    def drain(self) -> tuple[str, ...]:
        """The warnings since the last call."""
        messages, self._messages = tuple(self._messages), {}
        return messages
