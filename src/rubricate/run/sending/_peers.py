"""The other processes that use the same endpoint with the same key."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from rubricate.run.sending._shares import Share

STALE = 0.5
"""Seconds for which the answers of other processes are extrapolated from their last report: twice
the interval of exchanges. Not measured: at half, one late exchange counts as silence; at double, a
killed process is counted for a second."""
OVERDUE = 2.0
"""Seconds for which a process waits for its share after a report. Not measured: at half, a busy
database counts as unreachable; at double, a run pauses for 4 s when it is."""


@dataclass(slots=True, eq=False)
class Others:
    """Other processes that use the endpoint with the same key.

    Attributes:
        count: how many there are.
        in_flight: how many requests they have in flight.
        more: how many more were accepted since the last report.
        rate: how many are accepted a second.
        requests, tokens: the lowest limits of their users, a second; an empty list for none.
    """

    count: int = 0
    in_flight: int = 0
    more: int = 0
    rate: float = 0.0
    requests: list[float] = field(default_factory=list)
    tokens: list[float] = field(default_factory=list)
    _accepted: float = 0.0
    _marked: float = 0.0
    _at: float = 0.0

    def update(self, share: Share, now: float, *, is_new: bool) -> None:
        before, traffic = self._accepted, share.traffic
        if is_new:  # the count may have restarted
            self._marked += traffic.accepted - before
        self.more = max(0, round(traffic.accepted - before)) if not is_new else 0
        self.count, self.in_flight = share.others, traffic.in_flight
        self._accepted, self.rate, self._at = traffic.accepted, share.rate, now
        self.requests = [] if traffic.requests is None else [traffic.requests]
        self.tokens = [] if traffic.tokens is None else [traffic.tokens]

    def _by(self, now: float) -> float:
        return self._accepted + self.rate * min(STALE, now - self._at)

    def mark(self, now: float) -> None:
        """Start counting from now."""
        if self.count:
            self._marked = self._by(now)

    def since_mark(self, now: float) -> float:
        """Roughly how many of their requests were accepted since the mark."""
        return max(0.0, self._by(now) - self._marked)


@dataclass(slots=True, eq=False)
class Reported:
    """The last report of this process to the others.

    Attributes:
        at: when it was made.
        answers: how many requests had been accepted by then.
        rate: the pace; None if there was none.
        used: the share of the key's allowances in use, over about the last second.
        learnt: how often the key's pace had been measured.
        has_learnt: whether this process has measured it since.
        reports_learnt: whether that measurement is being reported.
        was_refused: whether a request was refused since.
        not_before: the earliest moment to report a refusal.
    """

    at: float
    not_before: float
    answers: int = 0
    rate: float | None = None
    used: float = 0.0
    learnt: int = 0
    has_learnt: bool = False
    reports_learnt: bool = False
    was_refused: bool = False
    _reports_answers: int = 0
    _reporting_since: float | None = None

    def is_overdue(self, now: float) -> bool:
        """Whether the reply to the report is overdue."""
        return self._reporting_since is not None and now - self._reporting_since > OVERDUE

    def begin(self, now: float, answers: int) -> None:
        self.at, self._reports_answers = now, answers
        self._reporting_since, self.was_refused = now, False
        self.reports_learnt, self.has_learnt = self.reports_learnt or self.has_learnt, False

    def confirm(self, learnt: int, rate: float | None) -> None:
        self.answers, self.learnt, self.rate = self._reports_answers, learnt, rate
        self.reports_learnt, self._reporting_since = False, None


NOBODY = Others()
"""The other processes if nothing is shared."""


@dataclass(slots=True)
class KeyShare:
    """This process's share of the key's allowances.

    Attributes:
        part: from 0 to 1.
        ends: when the grant expires (monotonic clock); 0 before the first one.
        others: the other processes.
        reported: the last report to them; None if nothing is shared.
        admitted, admitted_tokens: requests admitted since the last report, and their tokens.
    """

    part: float = 1.0
    ends: float = float("inf")
    others: Others = NOBODY
    reported: Reported | None = None
    admitted: int = 0
    admitted_tokens: float = 0.0
