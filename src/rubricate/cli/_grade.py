"""`rubricate grade`."""

from __future__ import annotations

from rubricate.cli._commands import command
from rubricate.cli._grade_settings import GradeSettings, load_settings


@command(
    GradeSettings,
    defaults={"run_dir": "runs/DATA-JUDGE", "cache": "the user's cache folder"},
    load=load_settings,
)
def grade(settings: GradeSettings) -> int:
    """Judge every item of a dataset by every criterion. Reuses stored answers."""
    from rubricate.cli._grading import graded  # not needed for help

    return graded(settings)
