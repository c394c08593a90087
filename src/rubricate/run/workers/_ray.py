"""Workers as Ray actors: placed on nodes, and restarted if they die."""

from __future__ import annotations

import asyncio
import contextlib
import logging
import math
import os
import signal
import socket
import threading
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any, cast

from rubricate._sync import in_thread
from rubricate.dataset import Item
from rubricate.errors import InputError, extra_needed
from rubricate.run._options import RunOptions
from rubricate.run.workers._options import Fleet, environment_of, resources_of
from rubricate.run.workers._worker import Job, Report, State, WorkerDied
from rubricate.settings import part

logger = logging.getLogger(__name__)
ATTEMPTS = 2
"""Attempts to connect to Ray."""
OBJECTS = 200 << 20
"""Bytes of shared memory for items in transit on this machine."""
REACHED = 5.0
"""Timeout for reaching a cluster, in seconds."""
PATIENCE = 10.0
"""Seconds in which workers must stop."""
NO_CLUSTER = "Could not find any running Ray"
"""The start of Ray's message if `auto` finds no cluster."""
GROWTH = 5.0
"""Seconds between checks for nodes that have joined the cluster. A node takes about a minute to
start, so double would hardly be later; half would ask the head twice as often."""
QUIET = {
    "RAY_USAGE_STATS_ENABLED": "0",
    "RAY_ACCEL_ENV_VAR_OVERRIDE_ON_ZERO": "0",
    "RAY_SCHEDULER_EVENTS": "0",
    "RAY_DEDUP_LOGS_SKIP_REGEX": ".",
}
"""Keeps Ray from sending usage statistics and from printing. The last one hides all lines: Ray
prints that a worker died whatever the arguments of `init`, and we report it where it matters."""

_CONNECTING = threading.Lock()
_connections: Counter[tuple[str, str]] = Counter()
"""The cluster that this process is connected to, by address and environment of the workers, with
the number of runs that use it."""


def _ray() -> Any:
    """Import Ray.

    Raises:
        MissingExtraError: it is not installed.
    """
    for name, value in QUIET.items():
        os.environ.setdefault(name, value)
    with extra_needed("workers", "ray"):
        import ray
    return ray


def _dumped(job: Job) -> bytes:
    """A job as bytes, including code that is defined in the user's script.

    Raises:
        InputError: a part of it cannot be sent to another process.
    """
    options = replace(
        part(RunOptions, job.options),  # without the data of the call
        on_progress=None,
        max_time=None,
        run_dir=None,
        cache=None,
        share_limits="auto" if job.options.share_limits is None else job.options.share_limits,
        worker_env=None,
    )
    job = replace(job, options=options)
    dumps, dumped = _ray().cloudpickle.dumps, b""
    for name, value in (("judge", job.judge), ("calibration", job.calibrate), ("run", job)):
        try:
            dumped = dumps(value)
        except Exception as error:
            text = str(error).splitlines()[0]
            raise InputError(
                f"the {name} cannot be sent to workers: {type(error).__name__}: {text}; give "
                "one that opens what it needs when it is first asked, or leave workers out"
            ) from None
    return dumped


class Member:
    """A worker, wherever Ray has placed it. Create it in the event loop that calls it.

    Args:
        actor: Ray's handle.
        job: Ray's reference to the job.
        kill: ends the process of the actor, which Ray then restarts.
    """

    def __init__(self, actor: Any, job: Any, kill: Callable[[Any], None]) -> None:
        self._actor = actor
        self._job = job
        self._kill = kill
        self._is_open = False
        self._ends: asyncio.Future[str] = asyncio.get_running_loop().create_future()

    async def ready(self) -> None:
        """Wait until it has started; again after it has died.

        Raises:
            InputError: it cannot work on the run.
            WorkerDied: it died before it had started.
        """
        await self._asked("open", self._job, again=True)
        self._is_open = True

    async def grade(self, items: Sequence[Item]) -> Report:
        """Judge a block.

        Raises:
            WorkerDied: the worker died meanwhile.
        """
        return cast(Report, await self._asked("grade", items))

    async def state(self) -> State:
        """Its state. A running process answers at once, whatever its judge is doing."""
        return cast(State, await self._asked("state"))

    async def stop(self) -> None:
        """End its blocks."""
        if self._is_open:
            await self._asked("stop")

    async def aclose(self) -> None:
        """Let it write what is pending and close its connections."""
        if self._is_open:
            await self._asked("aclose")

    def end(self, cause: str) -> None:
        """End a process that does not answer. Pending calls raise `WorkerDied` at once.

        Ray asks the process to exit, kills it 5 s later, and restarts it. If Ray cannot reach it,
        that happens once its node is lost or reachable again.
        """
        self._is_open = False
        ends, self._ends = self._ends, asyncio.get_running_loop().create_future()
        ends.set_result(cause)
        # In a thread that is not joined, because with `ray://` this waits for the head.
        threading.Thread(target=self._kill, args=(self._actor,), daemon=True).start()

    async def _asked(self, name: str, *args: object, again: bool = False) -> Any:
        from ray.exceptions import RayError, RayTaskError

        method = getattr(self._actor, name)
        if again:
            method = method.options(max_task_retries=-1)
        try:
            # Cancelling a future of Ray leads to a traceback when its answer arrives.
            answer = asyncio.wrap_future(method.remote(*args).future())
            answer.add_done_callback(_seen)
            ends = self._ends
            await asyncio.wait({answer, ends}, return_when=asyncio.FIRST_COMPLETED)
            if not answer.done():
                raise WorkerDied(ends.result())
            return answer.result()
        except RayTaskError as error:
            cause: BaseException = error.cause or error
            raise cause from None
        except RayError as error:
            raise WorkerDied(_cause(error)) from None


def _seen(answer: asyncio.Future[Any]) -> None:
    """Mark the error of an abandoned call as retrieved."""
    if not answer.cancelled():
        answer.exception()


def _cause(error: Exception) -> str:
    """Why a worker died, in one line."""
    text = " ".join(str(error).split())
    if "No module named 'rubricate'" in text:
        return "rubricate is not installed on one of the nodes"
    return f"{type(error).__name__}: {text[:200]}"


class Crew:
    """The workers of a run, as an async context manager that ends them.

    Args:
        job: their job.

    Attributes:
        members: the workers, including those that wait for room.
        patience: seconds in which they must write what is pending at the end.

    Raises:
        MissingExtraError: Ray is not installed.
        InputError: the job cannot be sent, the cluster does not exist, or it has no room.
    """

    def __init__(self, job: Job) -> None:
        assert job.options.workers is not None
        self._fleet = Fleet.parse(job.options.workers)
        self._resources = resources_of(job.options.worker_resources)
        self._environment = environment_of(job.options.worker_env)
        self._ray = _ray()
        self._job = _dumped(job)
        self.patience = PATIENCE
        self._connection: tuple[str, str] | None = None
        self._begin_worker: Callable[[], Member] | None = None
        self._has_left = threading.Event()
        self.members: list[Member] = []

    async def __aenter__(self) -> Crew:
        # In a thread, because it takes seconds, and in the main thread Ray would take the signals.
        # In a thread that stays, because the system ends Ray's processes with the thread that
        # started them.
        await asyncio.to_thread(self._find)
        if self._connection is not None:
            _take_signals_back()
        self._check_cores()
        try:
            count = await in_thread(self._room)
            self._begin(count)
        except BaseException:
            await self._leave()
            raise
        if self._fleet.count is None:
            loop = asyncio.get_running_loop()
            threading.Thread(target=self._watch_room, args=(loop,), daemon=True).start()
        return self

    def _find(self) -> None:
        """Connect to the cluster. If `auto` finds none, start one on this machine."""
        try:
            self._connect()
        except InputError as error:
            if self._fleet.address != "auto" or NO_CLUSTER not in str(error):
                raise
            count = self._fleet.count or usable_cores()
            self._fleet = Fleet(count, None)
            logger.warning("workers: this machine is in no Ray cluster: %d on this machine", count)
            self._connect()

    def _check_cores(self) -> None:
        """Warn if there are more workers than cores."""
        count, cores = self._fleet.count, usable_cores()
        if self._fleet.address is None and count is not None and count > cores:
            logger.warning(
                "%d workers on %d usable cores: more workers than cores make a run slower, unless "
                "judges wait for something in this process; auto is one for each core",
                count,
                cores,
            )

    def _connect(self) -> None:
        """Connect to the cluster, unless this process is connected already.

        Raises:
            InputError: it cannot be reached, or the process is connected to another one.
        """
        with _CONNECTING:
            if self._ray.is_initialized():
                self._connection = self._shared()
            else:
                self._connect_anew()
                self._connection = self._fleet.address or "local", repr(self._environment)
            if self._connection is not None:
                _connections[self._connection] += 1

    def _shared(self) -> tuple[str, str] | None:
        """The existing connection of other runs; None if the user's program has made it.

        Raises:
            InputError: it leads to another cluster, or was made with another environment.
        """
        address = self._fleet.address
        connection = next(iter(_connections), None)
        known = (None, "auto") if connection is None else (None, "auto", connection[0])
        if address not in known:
            self._check_is_this(address)
        if self._environment and (connection is None or connection[1] != repr(self._environment)):
            raise InputError(
                "worker_env: this program is connected to Ray, which takes it with the connection: "
                "give it to ray.init(runtime_env=...), or call ray.shutdown() before"
            )
        return connection

    def _check_is_this(self, address: str | None) -> None:
        """Raise `InputError` unless the user's connection leads to the cluster at this address."""
        cluster = self._ray.get_runtime_context().gcs_address
        host, _, port = str(address).rpartition(":")
        with contextlib.suppress(OSError):
            if f"{socket.gethostbyname(host)}:{port}" == cluster:
                return
        raise InputError(
            f"workers={address!r}: this program is connected to the Ray cluster {cluster}; give "
            "workers='auto' to use that, or call ray.shutdown() before"
        )

    def _connect_anew(self) -> None:
        ray, address = self._ray, self._fleet.address
        where: dict[str, Any] = {"address": address}
        if address is None:
            assert self._fleet.count is not None
            needed = {name: self._fleet.count * each for name, each in self._resources.items()}
            own = {n: v for n, v in needed.items() if n not in ("num_cpus", "num_gpus", "memory")}
            where = {
                "address": "local",
                "num_cpus": math.ceil(needed["num_cpus"]),
                "resources": own,
                "object_store_memory": OBJECTS,
                "include_dashboard": False,
            }
        else:
            _check_reached(address)
        for attempt in range(1, ATTEMPTS + 1):  # a busy head starts the server for clients late
            try:
                ray.init(
                    **where,
                    namespace=f"rubricate-{os.getpid()}",
                    runtime_env=self._environment or None,
                    logging_level=logging.CRITICAL,
                    log_to_driver=False,
                )
                break
            except Exception as error:
                with contextlib.suppress(Exception):
                    ray.shutdown()
                text = _last_words(error)
                if attempt == ATTEMPTS or "mismatch" in text:
                    at = "on this machine" if address is None else f"at {address}"
                    hint = "" if "mismatch" in text else self._token()
                    raise InputError(f"no workers {at}: Ray says: {text}{hint}") from None

    def _token(self) -> str:
        """Advice if the cluster may require a token, because Ray's message does not say so."""
        if self._fleet.address is None or os.environ.get("RAY_AUTH_MODE") == "token":
            return ""
        return (
            "; if the cluster asks for a token, set RAY_AUTH_MODE=token, and have the head's "
            "~/.ray/auth_token here and on every node"
        )

    def _room(self) -> int:
        """How many workers to start.

        Raises:
            InputError: there is no room for any.
        """
        nodes = self._nodes()
        rooms, count = sum(map(self._fitting, nodes)), self._fleet.count
        if not rooms or (self._fleet.address is None and count is not None and rooms < count):
            wanted = ", ".join(f"{name}={each:g}" for name, each in self._resources.items())
            there = ", ".join(
                f"{sum(node.get(name, 0) for node in nodes):g} {name}" for name in self._needed()
            )
            raise InputError(
                f"there is room for {rooms} workers of {wanted}, and not for {count or 'one'}: "
                f"{'this machine' if self._fleet.address is None else 'the cluster'} has {there}"
            )
        if count is not None and rooms < count:
            logger.warning("%d of %d workers wait for room in the cluster", count - rooms, count)
        return count or rooms

    def _nodes(self) -> list[dict[str, float]]:
        """The resources of each living node."""
        return [worker["Resources"] for worker in self._ray.nodes() if worker["Alive"]]

    def _needed(self) -> dict[str, float]:
        """The resources of a worker, with the names that nodes use."""
        names = {"num_cpus": "CPU", "num_gpus": "GPU"}
        return {names.get(name, name): each for name, each in self._resources.items() if each}

    def _fitting(self, node: dict[str, float]) -> int:
        """How many workers fit on a node."""
        needed = self._needed().items()
        fits = [math.floor(node.get(name, 0) / each + 1e-9) for name, each in needed]
        return min(fits, default=self._fleet.count or 1)

    def _watch_room(self, loop: asyncio.AbstractEventLoop) -> None:
        """Start more workers when nodes join.

        In a thread that is not joined, because Ray may answer late or never.
        """
        while not self._has_left.wait(GROWTH):
            with contextlib.suppress(Exception):  # the cluster or the event loop may be gone
                rooms = sum(map(self._fitting, self._nodes()))
                loop.call_soon_threadsafe(self._grow, rooms)

    def _grow(self, rooms: int) -> None:
        if not self._has_left.is_set():
            self._begin(rooms - len(self.members))

    def _begin(self, count: int) -> None:
        """Start `count` more workers."""
        if self._begin_worker is None:
            self._begin_worker = self._maker()
        self.members += [self._begin_worker() for _ in range(count)]

    def _maker(self) -> Callable[[], Member]:
        """A function that starts a worker."""
        from rubricate.run.workers._actor import WATCH, Actor

        ray = self._ray
        own = dict(self._resources)
        known = {name: own.pop(name) for name in ("num_cpus", "num_gpus", "memory") if name in own}
        kind = ray.remote(
            max_restarts=-1,
            max_task_retries=0,
            max_concurrency=16,
            concurrency_groups={WATCH: 1},
            scheduling_strategy="SPREAD",
            resources=own,
            **known,
        )(Actor)
        job = ray.put(self._job)
        return lambda: Member(kind.remote(), job, self._restart)

    def _restart(self, actor: Any) -> None:
        with contextlib.suppress(Exception):
            self._ray.kill(actor, no_restart=False)

    async def __aexit__(self, *_: object) -> None:
        await self._leave()

    async def _leave(self) -> None:
        self._has_left.set()
        ends = [asyncio.ensure_future(worker.aclose()) for worker in self.members]
        if ends:
            done, waiting = await asyncio.wait(ends, timeout=self.patience)
            for worker in waiting:
                worker.cancel()
            for worker in done:
                worker.exception()
        actors = [member._actor for member in self.members]
        self.members = []
        ending = asyncio.ensure_future(in_thread(partial(self._end, actors)))
        await asyncio.wait({ending}, timeout=self.patience)

    def _end(self, actors: Sequence[Any]) -> None:
        with contextlib.suppress(Exception):
            for worker in actors:
                self._ray.kill(worker)
        with _CONNECTING, contextlib.suppress(Exception):
            connection, self._connection = self._connection, None
            if connection is not None:
                _connections[connection] -= 1
                if not _connections[connection]:
                    del _connections[connection]
                    self._ray.shutdown()


def _last_words(error: Exception) -> str:
    """Ray's message about a failed connection in one line, with advice."""
    text = str(error)
    text = text[text.rfind("\n", 0, text.rfind("Error: ")) + 1 :] if "Traceback" in text else text
    text = " ".join(text.split())[:300]
    if "mismatch" in text:
        text += ": install the same versions of Ray and Python here and on every node"
    return text


def _take_signals_back() -> None:
    """Restore the handler of SIGTERM: Ray's prints a stack and ends the process."""
    if threading.current_thread() is threading.main_thread():
        handler = signal.getsignal(signal.SIGTERM)
        if handler is not None:  # None if it was not set from Python
            signal.signal(signal.SIGTERM, handler)


def _check_reached(address: str) -> None:
    """Raise `InputError` if nothing listens at an address, as Ray would wait for minutes."""
    if address == "auto":
        return
    host, _, port = address.removeprefix("ray://").rpartition(":")
    try:
        socket.create_connection((host.strip("[]"), int(port)), REACHED).close()
    except (OSError, ValueError, OverflowError) as error:
        raise InputError(
            f"no workers at {address}: nobody listens there ({error}); give the address of a "
            "cluster's head, ray://HOST:10001 or HOST:6379"
        ) from None


def usable_cores(system: Path = Path("/")) -> int:
    """How many cores this process may use: by its affinity, and by the quota of its container.

    Args:
        system: the root of the file system.
    """
    quotas = [math.ceil(quota) for quota in _quotas(system)]
    if hasattr(os, "sched_getaffinity"):
        return max(1, min([len(os.sched_getaffinity(0)), *quotas]))
    return max(1, min([os.cpu_count() or 1, *quotas]))


def _quotas(system: Path) -> Iterator[float]:
    """The cores' worth of time that each control group gives which this process is in."""
    groups = system / "sys/fs/cgroup"
    with contextlib.suppress(
        OSError, ValueError
    ):  # the first version of control groups, in a container
        cpu = groups / "cpu"
        quota, period = ((cpu / f"cpu.cfs_{name}_us").read_text() for name in ("quota", "period"))
        if int(quota) > 0:
            yield int(quota) / int(period)
    with contextlib.suppress(OSError, ValueError):
        lines = (system / "proc/self/cgroup").read_text().splitlines()
        own = next((line[3:] for line in lines if line.startswith("0::")), "/")
        place = groups / own.strip("/")
        for group in (place, *place.parents):
            with contextlib.suppress(OSError, ValueError):  # such as "max 100000"
                quota, period = (group / "cpu.max").read_text().split()
                yield int(quota) / int(period)
