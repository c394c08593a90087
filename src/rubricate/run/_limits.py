"""How many requests an endpoint gets at once, and when it gets none."""

from __future__ import annotations

import asyncio
import time
from types import TracebackType

__all__ = ["Limiter"]


class Limiter:
    """Bounds the requests in flight, and holds all back while the endpoint asks for a pause.

    Args:
        concurrency: the most requests in flight at once.
    """

    def __init__(self, concurrency: int) -> None:
        self._slots = asyncio.Semaphore(concurrency)
        self._paused_until = 0.0

    def pause(self, seconds: float) -> None:
        """Send nothing for so long."""
        self._paused_until = max(self._paused_until, time.monotonic() + seconds)

    async def __aenter__(self) -> None:
        await self._slots.acquire()
        try:
            # A pause can grow while it is waited out, so it is looked at again each time.
            while (wait := self._paused_until - time.monotonic()) > 0:  # noqa: ASYNC110
                await asyncio.sleep(wait)
        except BaseException:
            self._slots.release()
            raise

    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self._slots.release()
