"""How well requests are paced: endpoints with limits, simulated on a clock of their own.

    python benchmarks/judge/pacing.py                 each endpoint as it is
    python benchmarks/judge/pacing.py --constants     also with each constant at half and at double

Shown are the seconds that a run takes, as a multiple of what the endpoint allows, and how many
requests were refused, as a share of the run's. A run is 2,000 requests, 200 at once at most. The
constants are those of `rubricate/run/sending/_pace.py`, `_concurrency.py`, `_peers.py` and
`_adaptive_rate.py`; each says there what it is for.
"""

from __future__ import annotations

import argparse
import heapq
import random
from collections import deque
from collections.abc import Callable
from contextlib import ExitStack
from dataclasses import dataclass, field
from types import SimpleNamespace
from typing import Any
from unittest.mock import patch

from rubricate.rubric import Usage
from rubricate.run import Limits
from rubricate.run.sending import _adaptive_rate, _concurrency, _pace, _peers

MODULES = (_adaptive_rate, _concurrency, _pace, _peers)
CONSTANTS = sorted(
    {
        name
        for module in MODULES
        for name, value in vars(module).items()
        if name.isupper() and isinstance(value, int | float) and value != _concurrency.INFINITE
    }
)
REQUESTS, AT_ONCE = 2000, 200
MOST_SECONDS = 5000.0


@dataclass
class Endpoint:
    """An endpoint that answers after `latency`, and refuses what its limits do not allow.

    Attributes:
        latency: seconds of an answer.
        rate: requests a second, at which an allowance of `burst` requests is filled; None for any.
        window: seconds after which the whole allowance of `burst` is there again, and not before.
        chance: the share of requests that it refuses whatever the pace.
        wait: seconds to wait that a refusal asks for.
        changes: from which second on the rate is which multiple.
    """

    latency: float = 1.0
    rate: float | None = None
    burst: float = 1.0
    window: float | None = None
    chance: float = 0.0
    wait: float | None = None
    changes: tuple[float, float] | None = None
    _level: float = field(default=-1.0)
    _at: float = 0.0
    _random: random.Random = field(default_factory=lambda: random.Random(0))

    def takes(self, now: float) -> bool:
        if self._level < 0.0:
            self._level = self.burst
        if self._random.random() < self.chance:
            return False
        if self.window is not None:
            if int(now / self.window) > int(self._at / self.window):
                self._level = self.burst
        elif self.rate is not None:
            rate = self.rate
            if self.changes is not None and now >= self.changes[0]:
                rate *= self.changes[1]
            self._level = min(self.burst, self._level + (now - self._at) * rate)
        else:
            return True
        self._at = now
        if self._level < 1.0:
            return False
        self._level -= 1.0
        return True

    def least(self) -> float:
        """Seconds that a run takes at least."""
        at_once = REQUESTS / AT_ONCE * self.latency
        if self.window is not None:
            return max(at_once, (REQUESTS - 1) // self.burst * self.window)
        if self.rate is None:
            return at_once
        rest = REQUESTS - self.burst
        if self.changes is not None and self.changes[0] * self.rate < rest:
            begin, factor = self.changes
            rest = (rest - begin * self.rate) / factor + begin * self.rate
        return max(at_once, rest / self.rate)


ENDPOINTS: dict[str, Callable[[], Endpoint]] = {
    "none, 1 s": lambda: Endpoint(1.0),
    "none, 50 ms": lambda: Endpoint(0.05),
    "10/s": lambda: Endpoint(1.0, rate=10.0, burst=10.0),
    "100/s": lambda: Endpoint(1.0, rate=100.0, burst=100.0),
    "600/min, whole at once": lambda: Endpoint(1.0, rate=10.0, burst=600.0),
    "600 each minute": lambda: Endpoint(1.0, window=60.0, burst=600.0),
    "600 each minute, says 5 s": lambda: Endpoint(1.0, window=60.0, burst=600.0, wait=5.0),
    "10 % refused by chance": lambda: Endpoint(1.0, chance=0.1),
    "30 % refused by chance": lambda: Endpoint(1.0, chance=0.3),
    "20/s, from 30 s on 40/s": lambda: Endpoint(1.0, rate=20.0, burst=20.0, changes=(30.0, 2.0)),
    "40/s, from 20 s on 10/s": lambda: Endpoint(1.0, rate=40.0, burst=40.0, changes=(20.0, 0.25)),
}


def run(endpoint: Endpoint) -> tuple[float, float]:
    """The seconds of a run, and how many requests were refused."""
    now = [1000.0]
    clock = SimpleNamespace(monotonic=lambda: now[0])
    with patch.object(_adaptive_rate, "time", clock), patch.object(_pace, "time", clock):
        return _run(endpoint, now)


def _run(endpoint: Endpoint, now: list[float]) -> tuple[float, float]:
    rate: Any = _adaptive_rate.AdaptiveRate()
    rate.join(Limits(concurrency=AT_ONCE))
    chance = random.Random(1)
    begin, number, left, refused = now[0], 0, REQUESTS, 0
    events: list[tuple[float, int, str, float, int]] = []  # when, what, sent when, which attempt
    waiting = deque([1] * REQUESTS)  # attempts
    while left and now[0] - begin < MOST_SECONDS:
        while waiting and (wait := rate.wait(now[0], 0.0)) == 0.0:
            attempt = waiting.popleft()
            rate.admitted(0.0)
            rate.refusals.sent.append(now[0])
            is_taken = endpoint.takes(now[0] - begin)
            latency = endpoint.latency * chance.uniform(0.7, 1.3) if is_taken else 0.05
            number += 1
            what = "answer" if is_taken else "refusal"
            heapq.heappush(events, (now[0] + latency, number, what, now[0], attempt))
        soon = now[0] + max(wait, 1e-4) if waiting else float("inf")
        if events and events[0][0] <= soon:
            now[0], _, what, sent, attempt = heapq.heappop(events)
            if what == "again":
                waiting.append(attempt)
                continue
            rate.concurrency.returned()
            if what == "answer":
                left -= 1
                rate.accepted(sent, Usage(requests=1, seconds=now[0] - sent))
            else:
                refused += 1
                rate.refused(sent, endpoint.wait)
                longest = min(30.0, 0.5 * 2.0 ** (attempt - 1))  # as `Retries` waits
                again = chance.uniform(longest / 2, longest)
                if endpoint.wait is not None:
                    again = endpoint.wait + chance.uniform(0.0, 0.25)
                number += 1
                heapq.heappush(events, (now[0] + again, number, "again", 0.0, attempt + 1))
        else:
            now[0] = soon
    return now[0] - begin, refused


def row(name: str, figures: list[tuple[float, float]]) -> str:
    return f"{name:34}" + "".join(f"{time:7.2f}{refused:6.2f}" for time, refused in figures)


def measured() -> list[tuple[float, float]]:
    found = []
    for make in ENDPOINTS.values():
        endpoint = make()
        seconds, refused = run(endpoint)
        found.append((seconds / endpoint.least(), refused / REQUESTS))
    return found


def main() -> None:
    """Print the figures."""
    parser = argparse.ArgumentParser(description="Simulate endpoints with limits.")
    parser.add_argument("--constants", action="store_true", help="also at half and at double")
    asks = parser.parse_args().constants
    for number, name in enumerate(ENDPOINTS, 1):
        print(f"{number}: {name}")
    print(
        f"{'time, refused of endpoint':34}"
        + "".join(f"{n:13}" for n in range(1, len(ENDPOINTS) + 1))
    )
    usual = measured()
    print(row("as it is", usual))
    for name in CONSTANTS if asks else ():
        modules = [module for module in MODULES if hasattr(module, name)]
        value = getattr(modules[0], name)
        for factor in (0.5, 2.0):
            changed = type(value)(max(value * factor, 1 if isinstance(value, int) else 0))
            with ExitStack() as stack:
                for module in modules:
                    stack.enter_context(patch.object(module, name, changed))
                found = measured()
            print(
                row(f"{name} * {factor:g}", found)
                if found != usual
                else f"{name} * {factor:g}: the same"
            )


if __name__ == "__main__":
    main()
