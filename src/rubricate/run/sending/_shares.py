"""How processes that use one endpoint with one key divide the key's allowances.

At intervals, each process reports how much of the allowances it uses and wants, how many requests
were accepted, and the pace it has learnt; in return it gets its part. The whole state of a key is
one value, which `exchange` reads, changes and returns; a `Store` keeps it (`_stores`).

- Parts are max-min fair: a process that wants less than an equal part gets what it wants, and the
  others divide the rest equally. Only free parts are granted, so the sum never exceeds the whole: a
  new process gets its part after the others have been informed.
- A part is a lease. A process that does not renew it in time (killed, stopped) loses it.
- The pace belongs to the whole key. Each process measures it from the answers of all, raises it
  with its own answers, and adopts what another process has measured since.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from typing import NamedTuple

import orjson

# The constants here are not measured; tests/run/test_sharing.py checks what they promise.

FORMAT = 2
INTERVAL = 0.25
"""Seconds between two exchanges of a process, for up to `CROWD` processes. At half, the store is
used twice as often; at double, a new process waits half a second for its part."""
CROWD = 25
"""With more processes than this, each exchanges less often, so that the total stays at 100 a
second. An SQLite file can take thousands."""
LEASE = 5
"""A part is granted for this many intervals. At half, a busy machine loses its part; at double, the
part of a killed process is free only after three seconds."""
SOON = 0.1
"""Seconds until the next exchange of a process that is waiting for others to free a part."""
HEADROOM, LEAST = 1.25, 0.05
"""What a process gets that is not held back: a multiple of what it uses, and at least a share of an
equal part. So it can grow by a quarter in each exchange, and start from zero."""
STALE = 0.5
"""Seconds for which the answers of others are extrapolated from their last report: 2 intervals."""
LONGEST_WAIT = 86_400.0
"""Longest pause that a key can impose on all: a day, the longest period of a provider's limit."""


class Pace(NamedTuple):
    """The pace that a key allows, as learnt from its refusals.

    Attributes:
        rate: requests a second; None for no pace.
        measured: the highest rate that was measured between refusals; 0 if none was.
    """

    rate: float | None = None
    measured: float = 0.0


NO_PACE = Pace()


class Traffic(NamedTuple):
    """The requests of one process in its report, or of all others in its share.

    Attributes:
        accepted: requests that were accepted: since the last report, or of the others ever.
        in_flight: requests in flight.
        requests, tokens: the lowest limits that users set, a second; None for none.
        pace: the pace of the process, or that of the key.
        learnt: how often the key's pace had been measured.
        wait: seconds left of a pause that the endpoint asked for.
    """

    accepted: float = 0
    in_flight: int = 0
    requests: float | None = None
    tokens: float | None = None
    pace: Pace = NO_PACE
    learnt: int = 0
    wait: float = 0.0


NO_TRAFFIC = Traffic()


class Report(NamedTuple):
    """What a process reports.

    Attributes:
        wants: the part of the key's allowances that it could use; infinite if held back.
        traffic: its own requests.
        growth: by what factor its pace has grown since its last report.
        has_learnt: whether this process has measured the pace since, beyond letting it grow.
    """

    wants: float
    traffic: Traffic = NO_TRAFFIC
    growth: float = 1.0
    has_learnt: bool = False


class Share(NamedTuple):
    """What a process receives.

    Attributes:
        part: the part of the key's allowances that it may use, from 0 to 1.
        seconds: how long the grant lasts.
        again: seconds until the next report.
        others: the number of other processes.
        rate: how many of their requests are accepted a second.
        traffic: the requests of all others.
    """

    part: float
    seconds: float
    again: float
    others: int
    rate: float
    traffic: Traffic


class _Member(NamedTuple):
    """A process, as the others see it.

    Attributes:
        since, seen, until: its first and last report and the end of its lease, by the clock of the
            store.
        accepted: how many of its requests were accepted in total.
        rate: how many are accepted a second.
    """

    since: float
    seen: float
    until: float
    part: float
    wants: float | None  # None is infinity, which JSON lacks
    accepted: float
    rate: float
    in_flight: int
    requests: float | None
    tokens: float | None

    @property
    def wanted(self) -> float:
        return math.inf if self.wants is None else self.wants


class _Key:
    """The state of a key."""

    def __init__(
        self,
        members: dict[str, _Member],
        accepted: float = 0,
        pace: Pace = NO_PACE,
        learnt: int = 0,
        wait_until: float = 0.0,
    ) -> None:
        self.members = members
        self.accepted = accepted
        self.pace = pace
        self.learnt = learnt
        self.wait_until = wait_until


def exchange(value: bytes | None, me: str, report: Report, now: float) -> tuple[bytes, Share]:
    """Add a process's report to the value of a key. Returns the new value and its share.

    Args:
        value: the value so far; None for none. A value that cannot be read counts as none.
        me: the process's name.
        report: its report.
        now: the store's clock, in seconds.
    """
    key, traffic = _read(value, now), report.traffic
    before = key.members.pop(me, None)
    others = [*key.members.values()]
    key.accepted += traffic.accepted
    _learn(key, report)
    if traffic.wait > 0.0:
        key.wait_until = max(key.wait_until, now + min(traffic.wait, LONGEST_WAIT))
    fair = fair_part([report.wants, *(member.wanted for member in others)])
    free = max(0.0, 1.0 - sum(member.part for member in others))
    part = min(fair, free)
    interval = max(INTERVAL, (len(others) + 1) / (CROWD / INTERVAL))
    rate = 0.0
    if before is not None and now > before.seen:
        mix = (now - before.seen) / min(1.0, now - before.since)  # over about the last second
        rate = before.rate + min(1.0, mix) * (traffic.accepted / (now - before.seen) - before.rate)
    key.members[me] = member = _Member(
        since=now if before is None else before.since,
        seen=now,
        until=now + (LEASE + 1) * interval,
        part=part,
        wants=None if math.isinf(report.wants) else report.wants,
        accepted=traffic.accepted + (0 if before is None else before.accepted),
        rate=rate,
        in_flight=traffic.in_flight,
        requests=traffic.requests,
        tokens=traffic.tokens,
    )
    since = sum(other.rate * min(STALE, now - other.seen) for other in others)
    return _written(key), Share(
        part=part,
        seconds=LEASE * interval,
        again=interval if part >= 0.99 * fair else min(SOON, interval),
        others=len(others),
        rate=sum(other.rate for other in others),
        traffic=Traffic(
            accepted=key.accepted - member.accepted + since,
            in_flight=sum(other.in_flight for other in others),
            requests=_lowest(other.requests for other in others),
            tokens=_lowest(other.tokens for other in others),
            pace=key.pace,
            learnt=key.learnt,
            wait=max(0.0, key.wait_until - now),
        ),
    )


def without(value: bytes | None, me: str, accepted: int, now: float) -> bytes | None:
    """The value of a key without a process that has left; None if it was the last one.

    Args:
        value, me, now: as in `exchange`.
        accepted: requests accepted since its last report.
    """
    key = _read(value, now)
    key.members.pop(me, None)
    key.accepted += accepted
    return _written(key) if key.members else None


def fair_part(wants: Sequence[float]) -> float:
    """The first one's part when a whole is divided max-min fairly among `wants`.

    If everyone gets what they want, the rest is divided equally.
    """
    rest, mine = 1.0, 0.0
    for place, index in enumerate(sorted(range(len(wants)), key=wants.__getitem__)):
        part = min(wants[index], rest / (len(wants) - place))
        rest -= part
        if index == 0:
            mine = part
    return mine + rest / len(wants)


def wanted(used: float, others: int) -> float:
    """The part wanted by a process that is not held back and uses `used`."""
    return HEADROOM * used + LEAST / (others + 1)


def _learn(key: _Key, report: Report) -> None:
    """Adopt a measured pace, or the growth of the present one."""
    pace, learnt = report.traffic.pace, report.traffic.learnt
    if report.has_learnt:
        before = key.pace
        if learnt != key.learnt and pace.measured and before.measured:
            # Measured by two at the same time: a pace that is too high costs more than a low one.
            pace = min(pace, before, key=lambda measured: measured.rate or math.inf)
        key.pace, key.learnt = pace, key.learnt + 1
    elif learnt == key.learnt and key.pace.rate is not None:
        rate = key.pace.rate * report.growth
        key.pace = Pace(rate, max(key.pace.measured, pace.measured))


def _lowest(rates: Iterable[float | None]) -> float | None:
    return min((rate for rate in rates if rate is not None), default=None)


def _written(key: _Key) -> bytes:
    data = {
        **vars(key),
        "format": FORMAT,
        "members": {name: member._asdict() for name, member in key.members.items()},
        "pace": key.pace._asdict(),
    }
    return orjson.dumps(data)


def _read(value: bytes | None, now: float) -> _Key:
    """The state in a value, without processes whose lease has expired; empty if unreadable."""
    empty = _Key({})
    if value is None:
        return empty
    try:
        data = orjson.loads(value)
        if data.pop("format") != FORMAT:
            return empty
        members = {name: _Member(**fields) for name, fields in data.pop("members").items()}
        alive = {name: each for name, each in members.items() if each.seen <= now < each.until}
        key = _Key(alive, pace=Pace(**data.pop("pace")), **data)
        if not alive or not _makes_sense(key):
            return empty
    except (ValueError, TypeError, KeyError, AttributeError):  # not ours
        return empty
    key.wait_until = min(key.wait_until, now + LONGEST_WAIT)
    return key


def _makes_sense(key: _Key) -> bool:
    numbers: list[float] = [key.pace.measured, key.wait_until, key.accepted, key.learnt]
    positive = [key.pace.rate]
    for member in key.members.values():
        numbers += [member.part, member.wanted, member.accepted, member.rate, member.in_flight]
        positive += [member.requests, member.tokens]
    return all(number >= 0 for number in numbers) and all(
        number is None or 0 < number < math.inf for number in positive
    )
