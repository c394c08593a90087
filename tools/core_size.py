"""Print the size of an environment with only rubricate, and fail if it has grown.

python tools/core_size.py ENVIRONMENT

Packages are counted like in `pip list`, including pip, setuptools and rubricate. The size is that
of all files in the environment, including compiled modules.
"""

from __future__ import annotations

import importlib.metadata
import sys
from pathlib import Path

MOST_PACKAGES = 43
MOST_MEGABYTES = 338


def main() -> int:
    """Print the figures; returns 1 if one is above its limit."""
    environment = Path(sys.argv[1])
    (site,) = environment.glob("lib/python3*/site-packages")
    packages = sum(1 for _ in importlib.metadata.distributions(path=[str(site)]))
    files = (path for path in environment.rglob("*") if path.is_file() and not path.is_symlink())
    size = sum(path.stat().st_blocks * 512 for path in files) / 2**20
    print(
        f"core environment: {packages} packages (at most {MOST_PACKAGES}), "
        f"{size:.0f} MB (at most {MOST_MEGABYTES})"
    )
    return int(packages > MOST_PACKAGES or size > MOST_MEGABYTES)


if __name__ == "__main__":
    sys.exit(main())
