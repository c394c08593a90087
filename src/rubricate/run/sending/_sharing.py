"""Shares the limits of endpoints with other processes while requests are being sent.

One thread for each store exchanges the shares of all endpoints of the process (`_shares`), four
times a second, so that sending itself is not slowed down. While nothing is sent it gives the shares
back and sleeps; it ends with the last run.
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
"""Seconds before a store that failed is tried again."""
AT_END = 1.0
"""Seconds to wait at the end of a run until its share is given back."""


class Sharing:
    """Shares the limits of endpoints among the processes that use the same store.

    Args:
        store: where the shares are kept.
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
        """Start sharing an endpoint's limits with all processes that use the same account there.

        Call `leave` as often as `join`.
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
        """Stop sharing an endpoint's limits, and give its share back."""
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
        """Exchange a member's report if it is due. Returns the seconds until the next one."""
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
        """Use the store; False if it failed."""
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
        """In a forked process, return to the state before the first use.

        The connection still belongs to the parent, so it is neither used nor closed.
        """
        _INHERITED.append(self._store)
        self._store = self._store.anew()
        self._members, self._leaving = {}, []
        self._lock, self._news, self._thread = threading.Lock(), threading.Event(), None


class _Member:
    """An endpoint of this process, as one of the processes that share it.

    Attributes:
        runs: how many runs have joined.
        due: when the next report is due (monotonic clock).
        is_away: whether it is not registered, and so has no share.
    """

    def __init__(self, limiter: Limiter, name: str) -> None:
        self.limiter = limiter
        self.runs = 1
        self.due = 0.0
        self.is_away = True
        self._name = name
        self._me = secrets.token_hex(8)

    def exchange(self, store: Store) -> None:
        """Report to the others, and apply the share that comes back."""
        report = self.limiter.report()
        self.is_away = False

        def exchanged(value: bytes | None, now: float) -> tuple[bytes | None, Share]:
            return exchange(value, self._me, report, now)

        share = change(store, self._name, exchanged)
        self.limiter.apply(share)
        self.due = time.monotonic() + share.again

    def keep_share(self) -> None:
        """Keep the current share if nothing can be reported."""
        self.is_away = False
        self.limiter.keep_share()
        self.due = time.monotonic() + AGAIN

    def give_back(self, store: Store) -> None:
        """Give the share back, unless a request has arrived in the meantime."""
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
    """The name under which a key's limits are shared. It reveals neither address nor key.

    `localhost` is a different endpoint on each machine.
    """
    identity = f"{endpoint}\n{account}"
    with suppress(ValueError):  # the endpoint of a custom model can be any text
        if is_this_machine(urlsplit(endpoint).hostname or ""):
            identity += f"\n{_machine()}"
    return hashlib.blake2b(identity.encode(), digest_size=16).hexdigest()


def _machine() -> str:
    """Identifies this machine, or a container with its own network."""
    try:
        boot = Path("/proc/sys/kernel/random/boot_id").read_text("ascii")
        return f"{boot}{Path('/proc/self/ns/net').stat().st_ino}"
    except OSError:  # not Linux
        return f"{socket.gethostname()} {uuid.getnode()}"


_SHARINGS: dict[str, Sharing] = {}
_LOCK = threading.Lock()
_INHERITED: list[Store] = []


def sharing_at(place: str | bool | None) -> Sharing | None:
    """The process's `Sharing` at a place; None if nothing is shared.

    Args:
        place: the option `share_limits`.

    Raises:
        JournalError: the database cannot be used.
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
        # One file for each machine: a home folder can be on a network file system, where SQLite is
        # unsafe between machines, and each machine has its own clock.
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
    """In a forked process, drop everything shared with the parent."""
    for member in _SHARINGS.values():
        member.forget()
    _LOCK.release()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(
        before=_LOCK.acquire, after_in_parent=_LOCK.release, after_in_child=_start_again
    )
