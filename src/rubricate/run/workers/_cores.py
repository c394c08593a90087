"""How many cores there are for workers on this machine."""

from __future__ import annotations

import math
import os
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path


def usable_cores(system: Path = Path("/")) -> int:
    """How many cores this process may use: by its affinity, and by the quota of its container.

    Args:
        system: the root of the file system.
    """
    quotas = [math.ceil(quota) for quota in _quotas(system)]
    if hasattr(os, "sched_getaffinity"):
        return max(1, min([len(os.sched_getaffinity(0)), *quotas]))
    return max(1, min([os.cpu_count() or 1, *quotas]))


def _quotas(system: Path) -> Iterator[float]:
    """The cores' worth of time that each control group gives which this process is in."""
    groups = system / "sys/fs/cgroup"
    with suppress(OSError, ValueError):  # the first version of control groups, in a container
        cpu = groups / "cpu"
        quota, period = ((cpu / f"cpu.cfs_{one}_us").read_text() for one in ("quota", "period"))
        if int(quota) > 0:
            yield int(quota) / int(period)
    with suppress(OSError, ValueError):
        lines = (system / "proc/self/cgroup").read_text().splitlines()
        own = next((line[3:] for line in lines if line.startswith("0::")), "/")
        place = groups / own.strip("/")
        for group in (place, *place.parents):
            with suppress(OSError, ValueError):  # such as "max 100000"
                quota, period = (group / "cpu.max").read_text().split()
                yield int(quota) / int(period)
