"""A Ray cluster of two nodes on this machine, for tests and measurements.

python tools/ray_cluster.py         # starts one, prints its addresses, stops it at Ctrl-C
"""

from __future__ import annotations

import contextlib
import os
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

from held_port import held_port, port_of

__all__ = ["NoCluster", "RayCluster"]


class NoCluster(Exception):
    """No cluster can be started here; the message says why."""


class RayCluster:
    """Two nodes with one process each, managed by a separate process; a context manager.

    Attributes:
        address: the address of its head, `HOST:PORT`.
        client: the address for Ray clients, `ray://HOST:PORT`.

    Raises:
        NoCluster: the cluster cannot be started.
    """

    def __init__(self) -> None:
        self._keeper = subprocess.Popen(
            [sys.executable, __file__, "keep"],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            text=True,
            start_new_session=True,
        )
        words = self._said()
        if len(words) != 2:
            self.close()
            raise NoCluster(" ".join(words) or "Ray does not start")
        self.address, self.client = words
        self.pid = self._keeper.pid

    def _said(self) -> list[str]:
        assert self._keeper.stdout is not None
        return self._keeper.stdout.readline().split()

    def _told(self, word: str) -> None:
        assert self._keeper.stdin is not None
        self._keeper.stdin.write(f"{word}\n")
        self._keeper.stdin.flush()
        self._said()

    def lose_node(self) -> None:
        """Kill the second node."""
        self._told("lose")

    def add_node(self) -> None:
        """Start a second node again."""
        self._told("add")

    def workers(self) -> list[int]:
        """Return the living worker processes of rubricate on these nodes."""
        found = []
        for place in Path("/proc").glob("[0-9]*/cmdline"):
            with contextlib.suppress(OSError):
                if place.read_bytes().startswith(b"ray::Actor"):
                    pid = int(place.parent.name)
                    if _parent(_parent(pid)) == self._keeper.pid:  # its node's process is between
                        found.append(pid)
        return sorted(found)

    def close(self) -> None:
        """Stop all nodes."""
        with contextlib.suppress(OSError, ValueError):
            assert self._keeper.stdin is not None
            self._keeper.stdin.close()
        with contextlib.suppress(subprocess.TimeoutExpired):
            self._keeper.wait(20)
        with contextlib.suppress(ProcessLookupError, PermissionError):
            os.killpg(self._keeper.pid, signal.SIGKILL)
        self._keeper.wait()
        assert self._keeper.stdout is not None
        self._keeper.stdout.close()

    def __enter__(self) -> RayCluster:
        return self

    def __exit__(self, *error: object) -> None:
        self.close()


def _parent(pid: int) -> int:
    status = Path(f"/proc/{pid}/status").read_text()
    return int(status.partition("PPid:")[2].split()[0])


def _keep() -> None:
    """Start the nodes, print their addresses, and execute commands until standard input closes."""
    for name in ("RAY_USAGE_STATS_ENABLED", "RAY_ACCEL_ENV_VAR_OVERRIDE_ON_ZERO"):
        os.environ[name] = "0"
    out = os.fdopen(os.dup(1), "w")
    os.dup2(2, 1)  # the output of Ray must not mix with the replies
    holder = held_port()
    port = port_of(holder)
    try:
        from ray.cluster_utils import Cluster
    except ImportError:
        print("needs the extra ray", file=out, flush=True)
        return
    node: dict[str, Any] = {"num_cpus": 2, "object_store_memory": 100 << 20}
    head = {**node, "include_dashboard": False, "ray_client_server_port": port}
    cluster = Cluster(initialize_head=True, head_node_args=head)
    second = cluster.add_node(**node)
    host = cluster.address.rpartition(":")[0]
    print(cluster.address, f"ray://{host}:{port}", file=out, flush=True)
    for line in sys.stdin:
        if line.strip() == "lose":
            second.kill_raylet()
            cluster.remove_node(second, allow_graceful=False)
        elif line.strip() == "add":
            second = cluster.add_node(**node)
        print("done", file=out, flush=True)
    cluster.shutdown()  # type: ignore[no-untyped-call]


def main() -> None:
    if sys.argv[1:] == ["keep"]:
        _keep()
        return
    with RayCluster() as cluster:
        print(cluster.address, cluster.client, flush=True)
        with contextlib.suppress(KeyboardInterrupt):
            while True:
                time.sleep(3600)


if __name__ == "__main__":
    main()
