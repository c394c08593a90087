"""The other processes that send to an endpoint with the same key."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from rubricate.run.sending._shares import Share

STALE = 0.5
"""Seconds for which answers of other processes are extrapolated from their last report: twice the
time between two exchanges. Reasoned, not measured: at half, one late exchange counts as silence; at
double, a killed process is counted for a second."""
OVERDUE = 2.0
"""Seconds for which a process that reported waits for its share. Reasoned, not measured: at half, a
database under load is taken for away; at double, a run pauses for 4 s when it is."""


@dataclass(slots=True, eq=False)
class Others:
    """Other processes that send to the endpoint with the same key.

    Attributes:
        count: how many there are.
        in_flight: how many requests of theirs are in flight.
        more: how many more were accepted than were known before.
        rate: how many are accepted, a second.
        requests, tokens: a second, the lowest that their users say; an empty list for none.
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
        if is_new:  # the count may have started again meanwhile
            self._marked += traffic.accepted - before
        self.more = max(0, round(traffic.accepted - before)) if not is_new else 0
        self.count, self.in_flight = share.others, traffic.in_flight
        self._accepted, self.rate, self._at = traffic.accepted, share.rate, now
        self.requests = [] if traffic.requests is None else [traffic.requests]
        self.tokens = [] if traffic.tokens is None else [traffic.tokens]

    def _by(self, now: float) -> float:
        return self._accepted + self.rate * min(STALE, now - self._at)

    def mark(self, now: float) -> None:
        """Count from here on."""
        if self.count:
            self._marked = self._by(now)

    def since_mark(self, now: float) -> float:
        """How many requests of theirs were accepted since then, about."""
        return max(0.0, self._by(now) - self._marked)


@dataclass(slots=True, eq=False)
class Reported:
    """What other processes know, from when.

    Attributes:
        at: when this process reported last.
        answers: how many requests had been accepted.
        rate: the pace; None where there was none.
        used: the part of the key's allowances that is used, as of about the last second.
        learnt: how often the key's pace had been measured.
        has_learnt: whether it was measured here since.
        reports_learnt: whether that is being reported.
        was_refused: whether a request was refused since.
        not_before: when that is reported at the earliest.
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
        """Whether others should have answered long ago."""
        return self._reporting_since is not None and now - self._reporting_since > OVERDUE

    def begin(self, now: float, answers: int) -> None:
        self.at, self._reports_answers = now, answers
        self._reporting_since, self.was_refused = now, False
        self.reports_learnt, self.has_learnt = self.reports_learnt or self.has_learnt, False

    def confirm(self, learnt: int, rate: float | None) -> None:
        self.answers, self.learnt, self.rate = self._reports_answers, learnt, rate
        self.reports_learnt, self._reporting_since = False, None


NOBODY = Others()
"""Who sends to the endpoint with the same key, where it is not shared."""


@dataclass(slots=True)
class KeyShare:
    """This process's part of what the key allows.

    Attributes:
        part: from 0 to 1.
        ends: until when it is granted (monotonic clock); 0 before it has been heard of.
        others: the other processes.
        reported: what they know of it; None where nothing is shared.
        let, let_tokens: requests let through since the last report, and their tokens.
    """

    part: float = 1.0
    ends: float = float("inf")
    others: Others = NOBODY
    reported: Reported | None = None
    let: int = 0
    let_tokens: float = 0.0
