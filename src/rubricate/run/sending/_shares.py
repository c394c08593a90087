"""How processes that send to one endpoint with one key divide what the key allows.

Each process tells at intervals how much of the key's allowances it uses and wants, how many
requests were accepted, and the pace that it has learnt; and hears its part. All of a key is one
value, which `exchange` reads, changes and gives back; where it is kept is a `Store`'s matter
(`_stores`).

- Parts are max-min fair: who wants less than an equal part has what it wants, the others divide the
  rest equally. A part is granted only where it is free, so that all parts together are never more
  than the whole: who comes gets it when the others have heard of it.
- A part is a lease. A process that does not renew it in time (killed, stopped) has none any more.
- The pace is the whole key's. Each process measures it by what all were answered, makes it grow by
  its own answers, and takes over what another has measured since.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any, NamedTuple

import orjson

FORMAT = 1
INTERVAL = 0.25
"""Seconds between two exchanges of a process, up to `CROWD` processes; with more, so many a second
for each of them."""
CROWD = 25
LEASE = 5
"""A part is granted for so many intervals."""
SOON = 0.1
"""Seconds until the next exchange of a process that waits for others to give up a part."""
HEADROOM, LEAST = 1.25, 0.05
"""What a process that is not held back is granted, as a multiple of what it uses, and at least, as
a share of an equal part."""
STALE = 0.5
"""Seconds for which answers of others are reckoned on from what they told last."""
LONGEST_WAIT = 86_400.0
"""Seconds for which a key may ask all to wait."""


class Pace(NamedTuple):
    """The pace that a key allows, as learnt from its refusals.

    Attributes:
        rate: requests a second; None where none is kept to.
        measured: the highest rate that was measured between refusals; 0 where none was.
    """

    rate: float | None = None
    measured: float = 0.0


NO_PACE = Pace()


class Report(NamedTuple):
    """What a process tells.

    Attributes:
        wants: the part of the key's allowances that it could use; infinite where it is held back.
        accepted: requests that were accepted since it told last.
        in_flight: requests in flight.
        requests, tokens: a second, that the key may be asked for, as its user says; or None.
        pace: the pace as it is here.
        growth: by what factor that has grown since it told last.
        has_learnt: whether it was measured here since it told last, and did not only grow.
        learnt: how often the key's pace had been measured when it heard last.
        wait: seconds for which the endpoint has asked all to wait.
    """

    wants: float
    accepted: int = 0
    in_flight: int = 0
    requests: float | None = None
    tokens: float | None = None
    pace: Pace = NO_PACE
    growth: float = 1.0
    has_learnt: bool = False
    learnt: int = 0
    wait: float = 0.0


class Share(NamedTuple):
    """What a process hears.

    Attributes:
        part: the part of the key's allowances that it may use, from 0 to 1.
        seconds: for how long.
        again: seconds after which it is to tell again.
        others: how many other processes there are.
        accepted: requests of the others that were accepted, ever.
        rate: how many more are, a second.
        in_flight: their requests in flight.
        requests, tokens: a second, the lowest that they were told by their users.
        pace: the key's.
        learnt: how often that has been measured.
        wait: seconds for which the endpoint has asked all to wait.
    """

    part: float
    seconds: float
    again: float
    others: int
    accepted: float
    rate: float
    in_flight: int
    requests: float | None
    tokens: float | None
    pace: Pace
    learnt: int
    wait: float


class _Member(NamedTuple):
    """A process, as the others see it.

    Attributes:
        since, seen, until: when it told first and last, and until when its part is its own, by the
            store's clock.
        told: requests of it that were accepted, ever.
        rate: how many more are, a second.
    """

    since: float
    seen: float
    until: float
    part: float
    wants: float | None  # None is infinite, which JSON has not
    told: int
    rate: float
    in_flight: int
    requests: float | None
    tokens: float | None

    @property
    def wanted(self) -> float:
        return math.inf if self.wants is None else self.wants


class _Key:
    """What is known of a key."""

    def __init__(
        self,
        members: dict[str, _Member],
        accepted: int = 0,
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
    """The value of a key after a process has told, and what the process hears.

    Args:
        value: as it was; None where there is none. What cannot be read counts as none.
        me: the process's name.
        report: what it tells.
        now: the store's clock, in seconds.
    """
    key = _read(value, now)
    before = key.members.pop(me, None)
    others = [*key.members.values()]
    key.accepted += report.accepted
    _learn(key, report)
    if report.wait > 0.0:
        key.wait_until = max(key.wait_until, now + min(report.wait, LONGEST_WAIT))
    wants = report.wants
    fair = fair_part([wants, *(one.wanted for one in others)])
    free = max(0.0, 1.0 - sum(one.part for one in others))
    part = min(fair, free)
    interval = max(INTERVAL, (len(others) + 1) / (CROWD / INTERVAL))
    rate = 0.0
    if before is not None and now > before.seen:
        mix = (now - before.seen) / min(1.0, now - before.since)  # as of about the last second
        rate = before.rate + min(1.0, mix) * (report.accepted / (now - before.seen) - before.rate)
    key.members[me] = _Member(
        since=now if before is None else before.since,
        seen=now,
        until=now + (LEASE + 1) * interval,
        part=part,
        wants=None if math.isinf(wants) else wants,
        told=report.accepted + (0 if before is None else before.told),
        rate=rate,
        in_flight=report.in_flight,
        requests=report.requests,
        tokens=report.tokens,
    )
    share = Share(
        part=part,
        seconds=LEASE * interval,
        again=interval if part >= 0.99 * fair else min(SOON, interval),
        others=len(others),
        accepted=key.accepted
        - key.members[me].told
        + sum(one.rate * min(STALE, now - one.seen) for one in others),
        rate=sum(one.rate for one in others),
        in_flight=sum(one.in_flight for one in others),
        requests=_lowest(one.requests for one in others),
        tokens=_lowest(one.tokens for one in others),
        pace=key.pace,
        learnt=key.learnt,
        wait=max(0.0, key.wait_until - now),
    )
    return _written(key), share


def without(value: bytes | None, me: str, accepted: int, now: float) -> bytes | None:
    """The value of a key when a process has gone; None where nobody is left.

    Args:
        value, me, now: as in `exchange`.
        accepted: requests that were accepted since it told last.
    """
    key = _read(value, now)
    key.members.pop(me, None)
    key.accepted += accepted
    return _written(key) if key.members else None


def fair_part(wants: Sequence[float]) -> float:
    """The first one's part of a whole that is divided max-min fairly by what all want.

    What is left where all have what they want goes to all in equal parts.
    """
    left, mine = 1.0, 0.0
    for place, index in enumerate(sorted(range(len(wants)), key=wants.__getitem__)):
        given = min(wants[index], left / (len(wants) - place))
        left -= given
        if index == 0:
            mine = given
    return mine + left / len(wants)


def wanted(used: float, others: int) -> float:
    """What a process wants that is not held back and uses such a part."""
    return HEADROOM * used + LEAST / (others + 1)


def _learn(key: _Key, report: Report) -> None:
    """Take over a pace that was measured, or what it has grown by."""
    told = report.pace
    if report.has_learnt:
        before = key.pace
        if report.learnt != key.learnt and told.measured and before.measured:
            # Both were measured at the same time: too high a pace costs more than too low a one.
            told = min(told, before, key=lambda pace: pace.rate or math.inf)
        key.pace, key.learnt = told, key.learnt + 1
    elif report.learnt == key.learnt and key.pace.rate is not None:
        rate = key.pace.rate * report.growth
        key.pace = Pace(rate, max(key.pace.measured, told.measured))


def _lowest(rates: Any) -> float | None:
    return min((one for one in rates if one is not None), default=None)


def _written(key: _Key) -> bytes:
    data = {
        **vars(key),
        "format": FORMAT,
        "members": {name: one._asdict() for name, one in key.members.items()},
        "pace": key.pace._asdict(),
    }
    return orjson.dumps(data)


def _read(value: bytes | None, now: float) -> _Key:
    """What a value says, without the processes that have gone; nothing, if it is not one."""
    none = _Key({})
    if value is None:
        return none
    try:
        data = orjson.loads(value)
        if data.pop("format") != FORMAT:
            return none
        members = {name: _Member(**one) for name, one in data.pop("members").items()}
        there = {name: one for name, one in members.items() if one.seen <= now < one.until}
        key = _Key(there, pace=Pace(**data.pop("pace")), **data)
        if not there or not _makes_sense(key):
            return none
    except (ValueError, TypeError, KeyError, AttributeError):  # not ours
        return none
    key.wait_until = min(key.wait_until, now + LONGEST_WAIT)
    return key


def _makes_sense(key: _Key) -> bool:
    numbers: list[float] = [key.pace.measured, key.wait_until, key.accepted, key.learnt]
    positive = [key.pace.rate]
    for one in key.members.values():
        numbers += [one.part, one.wanted, one.told, one.rate, one.in_flight]
        positive += [one.requests, one.tokens]
    return all(number >= 0 for number in numbers) and all(
        number is None or 0 < number < math.inf for number in positive
    )
