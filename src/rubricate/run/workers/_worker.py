"""What a worker does: it judges blocks of a run's items with the run's own executor."""

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

A worker answers in a thread beside its event loop, so that a judge that blocks the loop for minutes
is not silent; on two cores with a load of 20 the answer took less than a second. Swapping takes
some 10 s. At half, such a pause costs the requests in flight, which are paid twice; at double, the
blocks of a worker that is stopped for good wait for a minute."""


@dataclass(frozen=True, slots=True)
class Job:
    """What every worker of a run is given, once.

    Attributes:
        judge: who grades.
        options: how. Its time is the driver's matter, and so are its listeners.
        journal: the run's journal.
        rules: how scores are made.
        cache: the answers that runs share; None where the worker cannot reach them.
        calibrate: maps judges' probabilities.
        holder: the driver's name in the run's lease; None where it has none.
        version: that of the driver's rubricate.
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
    """What the workers of a run are given.

    Raises:
        InputError: nothing of the run is kept where they could reach it.
        MissingExtraError: what runs workers is not installed.
    """
    if find_spec("ray") is None:
        raise MissingExtraError("workers", "ray")
    if storage.journal is None:
        raise InputError("workers need a journal that they share: give run_dir, or journal")
    # workers have folders of their own
    journal, cache = (
        place.absolute() if isinstance(place, Path) else place
        for place in (storage.journal, storage.cache)
    )
    assert journal is not None
    return Job(judge, options, journal, rules, cache, calibrate)


class Found(NamedTuple):
    """What has come of an item, without what the driver has of it.

    Attributes:
        verdicts, keys: as `JudgedItem` has them; no keys where there is a result.
        result: the values of the item's result, without its rubric and how it is scored. None where
            the run settles verdicts only at its end.
        lines: those of the result in `results.jsonl`.
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
        """The item again, at its place in the dataset."""
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
"""What of a result its driver has, and is not sent."""
_NAMES = [each.name for each in fields(ItemResult) if each.name not in _KNOWN]
_VALUES = attrgetter(*_NAMES)


@dataclass(frozen=True, slots=True)
class Report:
    """What has come of a block.

    Attributes:
        items: of each item in order what was found; empty where the block is cut.
        progress: what it took.
        not_run: how many of the verdicts are neither had nor known, since it ended early.
        stopped: why the worker does not go on, in words; None where it does.
        is_cut: whether it ended the block because its driver was silent.
        note: the judge's line to be shown beside the results.
        warnings: what the worker warned of since its last report.
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
    """How far a worker is with the blocks that it is at.

    Attributes:
        under_way: of each block that it is at.
        trouble: the last request that had to be sent again, in words.
    """

    under_way: tuple[Progress, ...] = ()
    trouble: str | None = None


LOOK = 1.0
"""Seconds between looks at whether the driver is silent. Nothing more is sent in any case: this is
how long requests in flight may go on beyond that."""
NOBODY = Listeners(lambda: None, lambda item: None, lambda outcome: None)
"""The listeners of a block in its worker: none."""


class WorkerDied(Exception):
    """A worker has ended, in words: it was killed, ran out of memory, lost its node, is silent."""


class _Stop(asyncio.Event):
    """Is set when a block is to end: the driver says so, or has been silent for too long.

    Once it has been too long, the driver may have given the block to others: that it is heard again
    changes nothing.
    """

    def __init__(self) -> None:
        super().__init__()
        self._heard = time.monotonic()

    def note_driver(self) -> None:
        """Note a sign of life of the driver; may be called in any thread."""
        if not self.is_cut:
            self._heard = time.monotonic()

    @property
    def is_cut(self) -> bool:
        """Whether the driver has been silent for too long."""
        return time.monotonic() - self._heard > SILENCE

    def is_set(self) -> bool:
        return super().is_set() or self.is_cut

    async def watch(self) -> None:
        """Set it when the driver is silent, so that what waits for it is woken."""
        while not self.is_cut:  # noqa: ASYNC110 (that time has passed is no event)
            await asyncio.sleep(LOOK)
        self.set()


class Worker:
    """Judges blocks, several at a time; answers go to the journal, and nothing else is kept.

    All blocks share the limits on what is sent.

    Args:
        job: what is judged, how, and where answers go.

    Raises:
        InputError: the run cannot be worked on from here; says why.
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
        """Raise `InputError` where this is no process that can work on the run."""
        node, journal = socket.gethostname(), self._job.journal
        if self._job.version != __version__:
            raise InputError(
                f"rubricate is {__version__} on {node} and {self._job.version} where the run was "
                "started: install the same version on every node"
            )
        if isinstance(journal, Path) and not journal.is_file():
            raise InputError(
                f"{journal}: is not there on {node}; workers on several machines need a journal "
                "that all reach: --journal postgresql://HOST/DATABASE"
            )

    def _note_trouble(self, message: str) -> None:
        self._trouble = message

    def state(self) -> State:
        """How far it is; asked for by a driver that is alive. May be called in any thread."""
        under_way = list(self._under_way.items())
        for stop, _ in under_way:
            stop.note_driver()
        trouble, self._trouble = self._trouble, None
        return State(tuple(progress.copy() for _, progress in under_way), trouble)

    async def grade(self, items: Sequence[Item]) -> Report:
        """Judge a block, as far as its answers are not known."""
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
        """End the blocks that it is at; what is in flight is broken off."""
        for stop in self._under_way:
            stop.set()

    async def aclose(self) -> None:
        """Let go of journal and connections."""
        self.stop()
        self._open.close()
        await self._job.judge.aclose()


def plan_of(items: Sequence[Item]) -> Plan:
    """The plan of some items of a run, which has been checked."""
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
    """Keeps what is warned of, each once, until the driver asks."""

    def __init__(self) -> None:
        super().__init__(logging.WARNING)
        self._messages: dict[str, None] = {}
        logging.getLogger("rubricate").addHandler(self)

    def emit(self, record: logging.LogRecord) -> None:
        self._messages[record.getMessage()] = None

    def drain(self) -> tuple[str, ...]:
        """What has come since this was asked."""
        messages, self._messages = tuple(self._messages), {}
        return messages
