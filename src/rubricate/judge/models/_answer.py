"""What comes back over a connection: an answer, or why there is none."""

from __future__ import annotations

from typing import NamedTuple

LONGEST_ANSWER = 16 * 2**20
"""Bytes that an answer may have: no reply of a model comes near, and a hundred may be under way."""


class Answer(NamedTuple):
    """What came back: status, headers by their names in lower case, and the body."""

    status: int
    headers: dict[str, str]
    body: bytes


class BrokenOff(Exception):
    """The connection ended in the middle of an answer, or what came is too long or not HTTP.

    Attributes:
        body: what came of the body.
    """

    def __init__(self, message: str, body: bytes = b"") -> None:
        super().__init__(message)
        self.body = body


class ProxyRefused(Exception):
    """The proxy does not make a tunnel.

    Attributes:
        status: what it answered.
    """

    def __init__(self, status: int) -> None:
        super().__init__(f"HTTP {status}")
        self.status = status


class NotConnected(ConnectionError):
    """There is no connection, so nothing was sent."""


class NotConnectedInTime(TimeoutError):
    """There was no connection in time, so nothing was sent."""


class NoDescriptor(OSError):
    """There is no connection because the process, or the machine, has no file descriptor left."""
