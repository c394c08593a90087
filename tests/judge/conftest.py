"""What the tests of this room share."""

from __future__ import annotations

import socket

import pytest


@pytest.fixture
def unused_url() -> str:
    """A base URL on this machine where nobody listens."""
    with socket.socket() as listener:
        listener.bind(("127.0.0.1", 0))
        return f"http://127.0.0.1:{listener.getsockname()[1]}/v1"
