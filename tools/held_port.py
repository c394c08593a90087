"""A free port of this machine, reserved for a server."""

from __future__ import annotations

import socket

__all__ = ["held_port", "port_of"]


def held_port() -> socket.socket:
    """Return a socket that reserves a free port of 127.0.0.1 until it is closed, without listening.

    A server that sets SO_REUSEADDR, as most do, can listen on a port that is reserved in this way.
    A port that is only looked up may be in use before the server has started.
    """
    holder = socket.socket()
    holder.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    holder.bind(("127.0.0.1", 0))
    return holder


def port_of(holder: socket.socket) -> int:
    """Return the number of the port."""
    port: int = holder.getsockname()[1]
    return port
