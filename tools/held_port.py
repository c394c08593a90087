"""A free port of this machine that no other process is given, for a server that is to use it."""

from __future__ import annotations

import socket

__all__ = ["held_port", "port_of"]


def held_port() -> socket.socket:
    """A socket that holds a free port of 127.0.0.1 until it is closed; nobody listens there.

    A server that sets SO_REUSEADDR, as most do, can listen on a port that is held so. A port that
    is only looked up can be another's by the time the server has started.
    """
    holder = socket.socket()
    holder.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    holder.bind(("127.0.0.1", 0))
    return holder


def port_of(holder: socket.socket) -> int:
    """The number of the port."""
    port: int = holder.getsockname()[1]
    return port
