"""The process of a worker, as Ray starts it. Needs Ray: loaded only where there are workers."""

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
"""Ray's group of the calls that are answered while a judge blocks the loop of all others."""


class Actor:
    """A worker in an actor's process. It is opened in the loop of all calls, and anew where Ray has
    started the process again. How far it is it says in a thread beside that loop (`WATCH`)."""

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
    """The job of a driver, which may have been written with other modules than are here."""
    try:
        return cast(Job, pickle.loads(job))
    except RubricateError as error:  # such as a key that is not in this node's environment
        raise InputError(f"on {socket.gethostname()}: {error}") from None
    except Exception as error:
        hint = "; worker_env (--worker-env) takes modules to workers" * isinstance(
            error, ImportError
        )
        raise InputError(
            f"the judge cannot be loaded on {socket.gethostname()}: {type(error).__name__}: {error}"
            f"{hint}"
        ) from None
