"""Settings of providers: from the environment, else from `.env` in the working folder.

Nothing but the variable that is asked for is taken from the file, and the environment stays as it
is: a `.env` of somebody else can set no proxy, no certificates and no switch of this program.
"""

from __future__ import annotations

import io
import os
from dataclasses import dataclass
from pathlib import Path

ENVIRONMENT = "the environment"
ENV_FILE = ".env"
MOST_READ = 1 << 16
"""Bytes of the file that are looked at."""


@dataclass(frozen=True, slots=True)
class Setting:
    """A variable's value, and the place that it is from: `ENVIRONMENT` or `ENV_FILE`."""

    value: str
    place: str


def find_setting(variable: str) -> Setting | None:
    """A variable that is set and not blank; what the environment has goes before the file.

    The file is read anew each time: it belongs to the working folder, which may change. One that
    cannot be read has nothing.
    """
    if value := os.environ.get(variable, "").strip():
        return Setting(value, ENVIRONMENT)
    file = Path(ENV_FILE)
    try:
        if not file.is_file():
            return None
        with file.open("rb") as stream:
            text = stream.read(MOST_READ).decode("utf-8-sig", "replace")
    except OSError:
        return None
    if variable not in text:
        return None
    from dotenv import dotenv_values

    found = dotenv_values(stream=io.StringIO(text), interpolate=False).get(variable)
    return Setting(found.strip(), ENV_FILE) if found and found.strip() else None
