"""Shares the limits of endpoints with other processes, while requests are sent.

One thread for each store reports and receives the shares of all endpoints of the process
(`_shares`), four times a second; nothing of it is done where requests are sent. It sleeps
while none are, having given the shares back, and ends with the last run.
"""

from __future__ import annotations

import hashlib
import logging
import os
import re
import secrets
import socket
import threading
import time
import uuid
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from urllib.parse import urlsplit

from rubricate._files import is_address, is_this_machine
from rubricate.run.sending._limiter import Limiter
from rubricate.run.sending._shares import Share, exchange, without
from rubricate.run.sending._stores import (
    PostgresStore,
    SQLiteStore,
    Store,
    StoreError,
    change,
)

logger = logging.getLogger(__name__)
AGAIN = 1.0
"""Seconds until a store that could not be used is tried again."""
AT_END = 1.0
"""Seconds that the end of a run waits for its share to be given back."""


class Sharing:
    """Shares the limits of endpoints with the processes that use the same store.

    Args:
        store: where they are kept.
    """

    def __init__(self, store: Store) -> None:
        self._store = store
        self._members: dict[Limiter, _Member] = {}
        self._leaving: list[_Member] = []
        self._lock = threading.Lock()
        self._news = threading.Event()
        self._thread: threading.Thread | None = None
        self._fails = False

    def join(self, limiter: Limiter, endpoint: str, account: str) -> None:
        """Share an endpoint's limits from now on with all processes of the same account there.

        A limiter that was joined several times is to leave as often.
        """
        with self._lock:
            member = self._members.get(limiter)
            if member is not None:
                member.runs += 1
                return
            self._members[limiter] = _Member(limiter, key_name(endpoint, account))
        limiter.share(self._news.set)
        with self._lock:
            if self._thread is None:
                self._thread = threading.Thread(
                    target=self._work, name="rubricate-limits", daemon=True
                )
                self._thread.start()
        self._news.set()

    def leave(self, limiter: Limiter) -> None:
        """Share an endpoint's limits no more; its share is given back."""
        with self._lock:
            member = self._members[limiter]
            member.runs -= 1
            if member.runs:
                return
            self._leaving.append(self._members.pop(limiter))
            thread = None if self._members else self._thread
        limiter.share(None)
        self._news.set()
        if thread is not None:
            thread.join(AT_END)

    def _work(self) -> None:
        while True:
            self._news.clear()
            with self._lock:
                members, leaving = [*self._members.values()], self._leaving
                self._leaving = []
                if not members and not leaving:
                    self._store.close()
                    self._thread = None
                    return
            for member in leaving:
                self._use(member.give_back)
            waits = [
                wait for member in members if (wait := self._exchange_if_due(member)) is not None
            ]
            if not leaving:
                self._news.wait(min(waits, default=None))

    def _exchange_if_due(self, member: _Member) -> float | None:
        """Have a member tell, where it is to; gives the seconds until it is to again."""
        wait = member.due - time.monotonic()
        if member.limiter.is_idle and not self._fails:
            self._use(member.give_back)
            return None
        if wait > 0.0 and not member.is_away and not member.limiter.rate.has_news:
            return wait
        if not self._use(member.exchange):
            member.keep_share()
        return max(0.0, member.due - time.monotonic())

    def _use(self, use: Callable[[Store], None]) -> bool:
        """Use the store; whether that went well."""
        try:
            use(self._store)
        except StoreError as error:
            if not self._fails:
                logger.warning(
                    "limits are not shared with other processes for now; this process "
                    "continues with the share that it had: %s",
                    error,
                )
            self._fails = True
            return False
        if self._fails:
            logger.warning("limits are shared with other processes again")
            self._fails = False
        return True

    def forget(self) -> None:
        """Be as before the first use, in a forked process.

        The parent's connection is neither used nor closed: it is the parent's as well.
        """
        _INHERITED.append(self._store)
        self._store = self._store.anew()
        self._members, self._leaving = {}, []
        self._lock, self._news, self._thread = threading.Lock(), threading.Event(), None


class _Member:
    """An endpoint of this process among the processes that share it.

    Attributes:
        runs: how many have joined it.
        due: when it is to tell next (monotonic clock).
        is_away: whether the others know nothing of it, and it has no share.
    """

    def __init__(self, limiter: Limiter, name: str) -> None:
        self.limiter = limiter
        self.runs = 1
        self.due = 0.0
        self.is_away = True
        self._name = name
        self._me = secrets.token_hex(8)

    def exchange(self, store: Store) -> None:
        """Tell the others, and hear of them."""
        report = self.limiter.report()
        self.is_away = False

        def exchanged(value: bytes | None, now: float) -> tuple[bytes | None, Share]:
            return exchange(value, self._me, report, now)

        share = change(store, self._name, exchanged)
        self.limiter.apply(share)
        self.due = time.monotonic() + share.again

    def keep_share(self) -> None:
        """Keep the share as it is, where nothing can be reported."""
        self.is_away = False
        self.limiter.keep_share()
        self.due = time.monotonic() + AGAIN

    def give_back(self, store: Store) -> None:
        """Give the share back, unless a request has come meanwhile."""
        if self.is_away:
            return
        accepted = self.limiter.give_back()
        if accepted is None:
            return
        self.is_away = True

        def removed(value: bytes | None, now: float) -> tuple[bytes | None, None]:
            return without(value, self._me, accepted, now), None

        change(store, self._name, removed)


def key_name(endpoint: str, account: str) -> str:
    """The name under which a key's limits are shared; neither address nor key is in it.

    An endpoint at `localhost` is another one on each machine.
    """
    identity = f"{endpoint}\n{account}"
    with suppress(ValueError):  # a custom model has an endpoint of any form
        if is_this_machine(urlsplit(endpoint).hostname or ""):
            identity += f"\n{_machine()}"
    return hashlib.blake2b(identity.encode(), digest_size=16).hexdigest()


def _machine() -> str:
    """What tells this machine from others, and a container with its own network from it."""
    try:
        boot = Path("/proc/sys/kernel/random/boot_id").read_text("ascii")
        return f"{boot}{Path('/proc/self/ns/net').stat().st_ino}"
    except OSError:  # no Linux
        return f"{socket.gethostname()} {uuid.getnode()}"


_SHARINGS: dict[str, Sharing] = {}
_LOCK = threading.Lock()
_INHERITED: list[Store] = []


def sharing_at(place: str | bool | None) -> Sharing | None:
    """The process's sharing of limits at a place; None for none.

    Args:
        place: as `share_limits` says it.

    Raises:
        JournalError: it is a database that cannot be used.
    """
    if place in (None, False, "none"):
        return None
    store: PostgresStore | SQLiteStore
    if is_address(place):
        name, store = place, PostgresStore(place)
    else:
        from platformdirs import user_cache_path

        folder = user_cache_path("rubricate")
        if place == "auto" and not _is_writable(folder):
            return None
        # One file a machine: a home folder may be on a network file system, where SQLite is unsafe
        # between machines, and each machine has its own clock.
        file = folder / f"limits-{re.sub('[^a-zA-Z0-9.-]', '_', socket.gethostname())}.sqlite"
        name, store = str(file), SQLiteStore(file, logger.warning)
    with _LOCK:
        sharing = _SHARINGS.get(name)
        if sharing is None:
            if isinstance(store, PostgresStore):
                store.check()
            sharing = _SHARINGS[name] = Sharing(store)
        return sharing


def _is_writable(folder: Path) -> bool:
    with suppress(OSError):
        folder.mkdir(mode=0o700, parents=True, exist_ok=True)
    return os.access(folder, os.W_OK)


def _start_again() -> None:
    """Share nothing of the parent's, in a forked process."""
    for member in _SHARINGS.values():
        member.forget()
    _LOCK.release()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(
        before=_LOCK.acquire, after_in_parent=_LOCK.release, after_in_child=_start_again
    )
