"""The process of a worker, as started by Ray. This module needs Ray."""

from __future__ import annotations

import pickle
import socket
from collections.abc import Sequence
from typing import cast

import ray

from rubricate.dataset import Item
from rubricate.errors import InputError, RubricateError
from rubricate.run.workers._worker import Job, Report, State, Worker, WorkerDied

WATCH = "watch"
"""The concurrency group of calls that are answered even while a judge blocks the event loop."""


class Actor:
    """A worker in the process of a Ray actor.

    It is opened in the event loop that runs its calls, and again after Ray has restarted the
    process. It reports its state in a separate thread (`WATCH`).
    """

    def __init__(self) -> None:
        self._worker: Worker | None = None

    async def open(self, job: bytes) -> None:
        if self._worker is None:
            self._worker = Worker(_loaded(job))

    def _started(self) -> Worker:
        if self._worker is None:
            raise WorkerDied("its process was started again")
        return self._worker

    async def grade(self, items: Sequence[Item]) -> Report:
        return await self._started().grade(items)

    @ray.method(concurrency_group=WATCH)
    async def state(self) -> State:
        return State() if self._worker is None else self._worker.state()

    async def stop(self) -> None:
        self._started().stop()

    async def aclose(self) -> None:
        if self._worker is not None:
            await self._worker.aclose()


def _loaded(job: bytes) -> Job:
    """Load the job from the driver, which may need modules that are missing here."""
    try:
        return cast(Job, pickle.loads(job))
    except RubricateError as error:  # such as a missing API key on this node
        raise InputError(f"on {socket.gethostname()}: {error}") from None
    except Exception as error:
        hint = "; worker_env (--worker-env) takes modules to workers" * isinstance(
            error, ImportError
        )
        raise InputError(
            f"the judge cannot be loaded on {socket.gethostname()}: {type(error).__name__}: {error}"
            f"{hint}"
        ) from None
