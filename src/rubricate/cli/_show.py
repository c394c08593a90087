"""`rubricate show`."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from rubricate.report import Selection, read_summary
from rubricate.run import read_run

__all__ = ["show_command"]


def show_command(run: Path, *, json_output: bool, **picked: Any) -> int:
    """Print a run's summary again, or the verdicts that are picked.

    Args:
        run: the run folder.
        json_output: print JSON.
        picked: what `Selection` takes; where nothing is picked, the summary is printed.

    Returns:
        The exit code that the run ended with.
    """
    found = read_run(run)
    summary = read_summary(found)
    shown = Selection(found, **picked) if any(picked.values()) else summary
    if json_output:
        print(json.dumps(shown.to_dict(), indent=2, ensure_ascii=False))
    else:
        from rich.console import Console

        Console().print(shown)
    return 2 if summary.verdicts["failed"] else 0
