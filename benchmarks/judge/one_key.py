"""Processes that send to one endpoint with one key, with and without sharing its limits.

    python benchmarks/judge/one_key.py --share local --per-minute 3000 --kill 1
    python benchmarks/judge/one_key.py --share none
    python benchmarks/judge/one_key.py --processes 40 --calls 75 --rate 100 --kill 20

The key lets 50 requests a second through (`--rate`), and as many at once; each answer takes 0.1 s.
With `--kill` so many processes are killed when a third of all is done. Prints the least and the
most answers that a process had by then, requests a call, and the seconds from the first to the last
answer as a multiple of what the key needs for so many.
"""

from __future__ import annotations

import argparse
import os
import subprocess
import sys
import tempfile
import time
from collections import Counter

from rubricate.testing import JudgeRequest, Rule, ScriptedEndpoint

LATENCY = 0.1
PROGRAM = """
import sys
import rubricate
from rubricate import Criterion, Rubric, RubricDataset

url, name, calls, share, per_minute = sys.argv[1:]
dataset = RubricDataset("p", Rubric([Criterion(name="c", requirement="criterion c")]))
for number in range(int(calls)):
    dataset.add_item(f"{name} text {number}", f"i{number}")
print("ready", flush=True)
input()
rubricate.grade(
    dataset,
    "m",
    base_url=url,
    share_limits=share,
    requests_per_minute=float(per_minute) or None,
)
"""


class Key:
    """What a key lets through.

    Args:
        rate: requests a second, and at once.
    """

    def __init__(self, rate: float) -> None:
        self.answered: list[float] = []
        self.by_process: Counter[str] = Counter()
        self.refused = 0
        self._rate = rate
        self._level, self._at = rate, time.monotonic()

    def respond(self, request: JudgeRequest) -> Rule:
        """Answer, or refuse, a request."""
        now = time.monotonic()
        self._level = min(self._rate, self._level + (now - self._at) * self._rate)
        self._at = now
        if self._level < 1.0:
            self.refused += 1
            return Rule(status=429, headers={"Retry-After": "1"})
        self._level -= 1.0
        self.answered.append(now)
        self.by_process[request.submission.partition(" ")[0]] += 1
        return Rule(verdict="MET", delay=LATENCY)


def main() -> None:
    """Run it once."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--processes", type=int, default=4)
    parser.add_argument("--calls", type=int, default=375, help="of each process")
    parser.add_argument("--share", default="local", help="as share_limits")
    parser.add_argument("--per-minute", type=float, default=0, help="0: learnt")
    parser.add_argument("--rate", type=float, default=50.0, help="requests a second of the key")
    parser.add_argument("--kill", type=int, default=0, help="processes that are killed")
    told = parser.parse_args()
    key = Key(told.rate)
    with (
        ScriptedEndpoint(respond=key.respond) as endpoint,
        tempfile.TemporaryDirectory() as folder,
    ):
        environment = {**os.environ, "XDG_CACHE_HOME": folder}
        running = []
        for number in range(told.processes):
            given = [endpoint.url, f"p{number}", told.calls, told.share, told.per_minute]
            command = [sys.executable, "-c", PROGRAM, *map(str, given)]
            pipe = subprocess.PIPE
            running.append(subprocess.Popen(command, stdin=pipe, stdout=pipe, env=environment))
        for one in running:
            assert one.stdout is not None
            one.stdout.readline()
        for one in running:
            assert one.stdin is not None
            one.stdin.write(b"\n")
            one.stdin.flush()
        if told.kill:
            while len(key.answered) < told.processes * told.calls / 3:
                time.sleep(0.05)
            had = key.by_process.values()
            print(f"{min(had)} to {max(had)} answers a process when {told.kill} are killed")
            for one in running[: told.kill]:
                one.kill()
        for one in running:
            one.communicate()
    calls, seconds = len(key.answered), key.answered[-1] - key.answered[0]
    needed = (calls - told.rate) / told.rate
    print(
        f"{calls} answers, {(calls + key.refused) / calls:.3f} requests a call, "
        f"{seconds:.1f} s: {seconds / needed:.2f} of what the key needs"
    )


if __name__ == "__main__":
    main()
