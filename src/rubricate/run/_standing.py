"""What a run knows of one model: whether it has answered, and why it is given up."""

from __future__ import annotations

import asyncio

from rubricate.errors import ModelError

__all__ = ["Standing"]

GIVEN_UP_IN_A_ROW, GIVEN_UP_IN_OUTAGE = 10, 2
"""Calls given up one after another before a model that has worked is taken for dead; in an outage
that has lasted too long, two are enough."""
REFUSALS_AT_FIRST = 5
"""Requests refused as wrong, with none ever accepted, before a model is given up: 200 more would be
refused the same way. Those that are on their way with the last of these are sent, too."""


class Standing:
    """One model in one run.

    Attributes:
        is_open: whether more than one request may be on its way.
        first: done when the first request is, while that one goes alone.
        has_answered: whether it has ever answered, if only to refuse.
        lost: why it is given up, once it is: nothing is sent to it from then on.
    """

    def __init__(self) -> None:
        self.is_open = False
        self.first: asyncio.Future[None] | None = None
        self.has_answered = False
        self.lost: ModelError | None = None
        self._has_accepted = False
        self._given_up = 0
        self._refusals = 0

    def let_others(self) -> None:
        """Wake those that wait for the first request: to send, or one of them to be first."""
        first, self.first = self.first, None
        if first is not None and not first.done():
            first.set_result(None)

    def open_late(self) -> None:
        """Let others send beside a first request that gets no answer."""
        self.is_open = True
        self.let_others()

    def accepted(self) -> None:
        """A request has got its answer."""
        self.has_answered = self._has_accepted = True
        self._given_up = 0

    def is_paused(self, error: ModelError, endpoint: str, seconds: float) -> None:
        """The endpoint asks all requests to wait, for so long that no call can."""
        if self.lost is None:
            text = f"{endpoint} asks to wait for {_duration(seconds)}: {error}"
            self.lost = ModelError(error.kind, text, status=error.status)

    def gave_up(self, error: ModelError, endpoint: str, silent: float | None) -> None:
        """A call was given up.

        Args:
            error: why.
            endpoint: where it went.
            silent: seconds for which the endpoint has not answered anybody; None if it does.
        """
        # Once a request has been accepted the key is good, and a 403 is about one prompt.
        fatal = error.fatal and not (error.status == 403 and self._has_accepted)
        cause = error
        if error.retryable:
            self._given_up += 1
            most = GIVEN_UP_IN_A_ROW
            if silent is not None:
                most = GIVEN_UP_IN_OUTAGE
                cause = ModelError(
                    error.kind, f"{endpoint} has not answered for {silent:.0f} s: {error}"
                )
            fatal = not self.has_answered or self._given_up >= most
        elif not fatal:
            self.has_answered = True
            self._refusals += 1
            fatal = error.kind == "bad_request" and not self._has_accepted
            fatal = fatal and self._refusals >= REFUSALS_AT_FIRST
        if fatal and self.lost is None:
            self.lost = cause


def _duration(seconds: float) -> str:
    """So many seconds in words; a moment that will not come is `longer than a week`."""
    minutes = seconds / 60
    if minutes < 2:
        return f"{seconds:.0f} s"
    if minutes < 120:
        return f"{minutes:.0f} min"
    return f"{minutes / 60:.0f} h" if minutes < 7 * 24 * 60 else "longer than a week"
