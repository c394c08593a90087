"""A Ray cluster of two nodes for tests: one for all of a session, one test at a time."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from filelock import FileLock

__all__ = ["ray_cluster"]

sys.path.insert(0, str(Path(__file__).parents[1] / "tools"))
from ray_cluster import NoCluster, RayCluster


@pytest.fixture(scope="session")
def _started(tmp_path_factory: pytest.TempPathFactory) -> Iterator[RayCluster]:
    """The cluster; where none can be started, tests are skipped, but in CI they fail."""
    try:
        cluster = RayCluster()
    except NoCluster as error:
        if os.environ.get("CI") == "true":
            raise
        pytest.skip(f"needs a Ray cluster: {error}")
    with cluster:
        yield cluster


@pytest.fixture
def ray_cluster(
    request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory, worker_id: str
) -> Iterator[RayCluster]:
    """Two nodes that no other test uses at the same time."""
    shared = tmp_path_factory.getbasetemp()
    shared = shared if worker_id == "master" else shared.parent
    with FileLock(shared / "ray.lock"):
        yield request.getfixturevalue("_started")
