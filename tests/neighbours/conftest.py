"""Released packages, each in an environment of its own: `pytest -m neighbours`.

`RUBRICATE_NEIGHBOURS` names the folder of the environments; one that is not there is made, which
takes the network.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Callable
from pathlib import Path

import pytest
from filelock import FileLock


def _made(home: Path, name: str, requirements: tuple[str, ...]) -> str:
    """The interpreter of an environment, which is made if it is not there whole."""
    python = home / "bin" / "python"
    if python.exists() and not (home / "unfinished").exists():
        return str(python)
    home.mkdir(exist_ok=True)
    (home / "unfinished").touch()
    make, install = [sys.executable, "-m", "venv"], [str(python), "-m", "pip", "install"]
    if uv := shutil.which("uv"):  # seconds instead of minutes
        make = [uv, "venv", "--allow-existing", "--seed", "--python", sys.executable]
        install = [uv, "pip", "install", "--python", str(python)]
    for command in ([*make, str(home)], [*install, "-q", *(requirements or (name,))]):
        done = subprocess.run(command, check=False, capture_output=True, text=True)
        if done.returncode:
            pytest.skip(f"{name} cannot be installed: {done.stderr[-200:]}")
    (home / "unfinished").unlink()
    return str(python)


@pytest.fixture(scope="session")
def neighbour() -> Callable[..., str]:
    """Finds or makes the environment of a released package; gives its interpreter."""

    def find(name: str, *requirements: str) -> str:
        usual = Path(tempfile.gettempdir()) / "rubricate-neighbours"
        home = Path(os.environ.get("RUBRICATE_NEIGHBOURS", usual)) / name
        home.parent.mkdir(parents=True, exist_ok=True)
        with FileLock(home.with_suffix(".lock")):  # another worker may be making it
            return _made(home, name, requirements)

    return find
