"""Streams: the results of a run in progress, one after the other."""

from __future__ import annotations

import asyncio
import inspect
import reprlib
import sys
from abc import ABC, abstractmethod
from collections.abc import (
    AsyncIterator,
    Awaitable,
    Callable,
    Coroutine,
    Iterable,
    Iterator,
)
from contextlib import suppress
from functools import cached_property, partial
from typing import TYPE_CHECKING, Any, Generic, ParamSpec, Self, TypeVar

from rubricate._sync import BackgroundLoop, Channel, run_sync, running_loop
from rubricate.choosing import chosen_calibrator, chosen_dataset, chosen_judge
from rubricate.errors import InputError, MissingExtraError, RunStopped
from rubricate.judge import Judge, Model, closing, made_for
from rubricate.options import GradingOptions
from rubricate.run import (
    ItemResult,
    Limits,
    Listeners,
    OnVerdict,
    OpenStorage,
    Plan,
    RunFacts,
    RunFolder,
    RunOptions,
    Sender,
    run,
)
from rubricate.run.results import Summary, Tallies
from rubricate.settings import part, takes

if TYPE_CHECKING:
    from rubricate.analysis import Calibrator
    from rubricate.judge import JudgesLike
    from rubricate.options import Data

AHEAD = 16
"""How many results may wait to be taken before the run waits, too."""
_P = ParamSpec("_P")
_R = TypeVar("_R")
_T = TypeVar("_T")


def stream_of(
    data: Data,
    judge: JudgesLike,
    options: GradingOptions,
    stop: asyncio.Event | None = None,
) -> ResultStream:
    """The stream of `agrade_stream`, with its options as one value."""
    dataset = chosen_dataset(data, options.rubric, options.map)
    chosen = chosen_judge(judge, options)
    plan = Plan(dataset, options)
    calibrator = chosen_calibrator(options.calibration, chosen, plan.rubric)
    closes = made_for(judge, chosen)
    return ResultStream(plan, chosen, options, stop=stop, calibrator=calibrator, closes=closes)


def plain(
    kind: Callable[_P, Any], function: Callable[..., Coroutine[Any, Any, _R]]
) -> Callable[_P, _R]:
    """The synchronous form of an async public function.

    Args:
        kind: the class of its arguments, with the judge or judges as `judge`. Judges passed by the
            caller are closed afterwards, because their connections belong to the event loop, which
            ends.
        function: the function, made by `takes`.
    """
    of_call: Callable[[Any], Coroutine[Any, Any, _R]] = vars(function)["of_call"]

    def wait(call: Any) -> _R:
        return run_sync(partial(closing, partial(of_call, call), getattr(call, "judge", None)))

    about = "It waits for the result, in a script and inside a running loop (a notebook)."
    returned = of_call.__annotations__["return"]
    return takes(kind)(_named_like(wait, of_call, about, returned))


def plain_stream(
    kind: Callable[_P, Any], function: Callable[..., Stream[_T]], result: type[_T]
) -> Callable[_P, Iterator[_T]]:
    """The synchronous form of a public function that returns a stream: an iterator.

    The arguments are those of `plain`, and the class of the results.
    """
    of_call: Callable[[Any], Stream[_T]] = vars(function)["of_call"]

    def iterate(call: Any) -> Iterator[_T]:
        with BackgroundLoop() as loop:
            stream = of_call(call)

            async def following() -> _T | None:
                return await anext(stream, None)

            try:
                while (item := loop.run(following())) is not None:
                    yield item
            finally:
                loop.run(closing(stream.aclose, call.judge))

    about = (
        "It is an iterator over the results, in a script and inside a running loop (a notebook). "
        "Judging continues, in another thread, while you look at a result."
    )
    returned = f"Iterator[{result.__name__}]"
    form = _named_like(iterate, of_call, about, returned)
    form.__doc__ += "\n\nYields:\n    The results, in the order in which they are complete."
    return takes(kind)(form)


def _named_like(
    form: Callable[..., _R], function: Callable[..., Any], about: str, returned: str
) -> Any:
    """Give the synchronous form its name (without the first `a`) and documentation."""
    form.__name__ = form.__qualname__ = function.__name__.removeprefix("a")
    form.__module__ = function.__module__
    form.__annotations__["return"] = returned
    text = inspect.cleandoc(function.__doc__ or "")
    text = text.replace(f"await rubricate.{function.__name__}(", f"rubricate.{form.__name__}(")
    form.__doc__ = f"The plain form of `{function.__name__}`. {about}\n\n{text}"
    return form


class Stream(ABC, Generic[_T]):
    """Results in progress. The run ends when nothing refers to the stream any longer."""

    _loop: asyncio.AbstractEventLoop | None = None
    """The event loop in which it runs, once it has started."""
    _is_kept = False
    """Whether an `async with` block will end it."""
    _ending: asyncio.Task[None] | None = None

    @abstractmethod
    async def __anext__(self) -> _T:
        """The next result; `StopAsyncIteration` after the last one."""

    @abstractmethod
    async def aclose(self) -> None:
        """End the run if it is still going, and close the connections that it opened."""

    def __aiter__(self) -> AsyncIterator[_T]:
        return self if self._is_kept else _Loop(self)

    def drop(self) -> None:
        """End the run soon. It can be called from any thread, and repeatedly."""
        if self._loop is not None and not self._loop.is_closed():
            with suppress(RuntimeError):  # closed meanwhile
                self._loop.call_soon_threadsafe(self._end)

    def _end(self) -> None:
        if self._ending is None:
            self._ending = asyncio.ensure_future(self.aclose())

    async def __aenter__(self) -> Self:
        self._is_kept = True
        return self

    async def __aexit__(self, *_: object) -> None:
        self._is_kept = False
        await self.aclose()


class _Loop(AsyncIterator[_T]):
    """An `async for` loop over a stream. When the loop is left, nothing refers to this object."""

    def __init__(self, stream: Stream[_T]) -> None:
        self._stream = stream

    def __anext__(self) -> Awaitable[_T]:
        return self._stream.__anext__()

    def __del__(self) -> None:
        self._stream.drop()


class ResultStream(Stream[ItemResult]):
    """The results of a run in progress; see `agrade_stream`.

    Args:
        plan: the items to grade.
        judge: the judge, from `chosen_judge`.
        options: the options of the run.
        stop: set it to end the run early.
        calibrator: maps the judge's probabilities.
        sender: sends requests, if several runs share it.
        on_verdict: called with every verdict as soon as it exists.
        closes: judges and models to close when the run has ended.
    """

    def __init__(
        self,
        plan: Plan,
        judge: Judge,
        options: RunOptions,
        *,
        stop: asyncio.Event | None = None,
        calibrator: Calibrator | None = None,
        sender: Sender | None = None,
        on_verdict: OnVerdict | None = None,
        closes: Iterable[Judge | Model] = (),
    ) -> None:
        if not isinstance(stop, asyncio.Event | None):  # a threading.Event would block the loop
            raise InputError(f"stop must be an asyncio.Event or None, found {reprlib.repr(stop)}")
        self._closes = list(closes)
        if sender is None and "IPython" in sys.modules:  # not for rewards, which make many runs
            from rubricate.run import shown_in_notebook

            options = shown_in_notebook(options)
        storage = OpenStorage.of(options)
        with_table = options.results == "parquet"
        if with_table:
            _check_table(options)
        self._figures = _Figures(storage.folder, with_table=with_table)
        self._judging: asyncio.Task[None] | None = None
        self._has_told = False  # whether the error of the run was raised
        self._results: Channel[ItemResult] = Channel(AHEAD)
        self._run = partial(
            run,
            plan,
            judge,
            options,
            storage,
            Listeners(self._figures.get_ready, self._figures.add, self._figures.end, on_verdict),
            self._results,
            stop=stop or asyncio.Event(),
            calibrate=calibrator,
            sender=sender,
        )

    @property
    def outcome(self) -> RunFacts:
        """The facts of the run. Raises `RuntimeError` before it has ended."""
        if self._figures.outcome is None:
            if self._judging is not None and self._judging.done():
                self._judging.result()  # raises the reason why it could not start
            raise RuntimeError("the run has not ended: iterate to the end, or close the stream")
        return self._figures.outcome

    def summary(self) -> Summary:
        """The figures of the run after its end, as in `Result.summary`."""
        return self._figures.tallies.summary(self.outcome)

    async def __anext__(self) -> ItemResult:
        if self._judging is None:
            self._loop = running_loop()
            judging = _judged(self._run, self._results, self._closes)
            self._judging = self._loop.create_task(judging)
        try:
            item = await self._results.take()
        except BaseException:
            await self.aclose()
            raise
        if item is not None:
            return item
        await self.aclose()
        if self.outcome.stopped is not None:
            raise RunStopped(self.outcome.stopped, interrupted=self.outcome.interrupted)
        raise StopAsyncIteration

    async def aclose(self) -> None:
        """End the run if it is still going, and close the connections that it opened."""
        judging = self._judging
        if judging is None:
            await _close(self._closes)
            return
        if self._figures.outcome is None:
            _cancel(judging)
        await asyncio.wait([judging])
        if not judging.cancelled() and not self._has_told:
            self._has_told = True
            judging.result()

    def __del__(self) -> None:
        judging = getattr(self, "_judging", None)
        if judging is not None and self._loop is not None and not self._loop.is_closed():
            with suppress(RuntimeError):  # closed meanwhile
                self._loop.call_soon_threadsafe(_cancel, judging)


class _Figures:
    """Collects the figures of a run, without a reference to the stream.

    Attributes:
        tallies: the figures of the items so far.
        outcome: the facts of the run, once it has ended.
    """

    def __init__(self, folder: RunFolder | None, *, with_table: bool = False) -> None:
        self.outcome: RunFacts | None = None
        self._folder = folder
        self._with_table = with_table

    @cached_property
    def tallies(self) -> Tallies:
        return Tallies()

    def get_ready(self) -> None:
        """Prepare what takes a while before the first item is counted."""
        self.tallies.get_ready()

    def add(self, item: ItemResult) -> None:
        """Count an item."""
        self.tallies.add(item)

    def end(self, outcome: RunFacts) -> None:
        """Record the end of the run, and write its summary into the folder."""
        self.outcome = outcome
        if self._folder:
            self._folder.write_summary(self.tallies.summary(outcome).to_dict())
            if self._with_table:
                from rubricate.analysis import VerdictTable, read_run

                table = VerdictTable(read_run(self._folder.path), texts=False)
                table.to_parquet(self._folder.table, private=True)


def _check_table(options: RunOptions) -> None:
    """Check that verdicts can be written as a table as well.

    Raises:
        InputError: there is no run folder.
        MissingExtraError: pyarrow is not installed.
    """
    if options.run_dir is None:
        raise InputError("results='parquet' is written into the run folder: give run_dir")
    from importlib.util import find_spec

    if find_spec("pyarrow") is None:
        raise MissingExtraError("results='parquet'", "parquet")


def _cancel(task: asyncio.Task[None]) -> None:
    """Cancel a task once; a second cancellation would disturb its cleanup."""
    if not task.cancelling():
        task.cancel()


async def _judged(
    run: Callable[[], Awaitable[None]],
    results: Channel[ItemResult],
    closes: Iterable[Judge | Model],
) -> None:
    """Make a run that puts its results into a channel, and close the channel at the end.

    It has no reference to the stream, so that the stream can be garbage collected.
    """
    try:
        await run()
    finally:
        try:
            await _close(closes)
        finally:
            results.close()


async def _close(owned: Iterable[Judge | Model]) -> None:
    for each in owned:
        await each.aclose()


def shared_sender(judge: Judge, options: RunOptions) -> Sender:
    """A sender that several streams share, with its limits."""
    return Sender(
        limits=part(Limits, options),
        retries=options,
        goes_on_without=judge.goes_on_without,
        budget=options,
    )
