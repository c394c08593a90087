"""Which options of the core a dialect's doors take."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

__all__ = ["check_run_options"]

NOT_OF_THE_RUN = ("judge", "limit", "rubric")
"""Options of `rubricate.agrade` that a dialect's own arguments say: what is graded, and by what."""


def check_run_options(options: Mapping[str, Any]) -> None:
    """Raise `TypeError` for an option of `agrade` that does not concern the run alone."""
    for name in NOT_OF_THE_RUN:
        if name in options:
            raise TypeError(f"unexpected keyword argument '{name}'")
