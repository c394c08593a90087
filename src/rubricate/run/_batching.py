"""Runs in batches: where the state of pending batches is kept."""

from __future__ import annotations

import time
from pathlib import Path

from rubricate.errors import InputError
from rubricate.judge import BATCHES, Judge, Request
from rubricate.run._options import RunOptions
from rubricate.run.sending import most_tokens


def keep_batches(judge: Judge, run_dir: Path | None, options: RunOptions) -> None:
    """Let models that answer later keep the state of pending batches in the run folder.

    Raises:
        InputError: there is no run folder, or an option cannot be combined with batches.
    """
    if run_dir is None:
        raise InputError("batches are kept in the run folder: give run_dir")
    if options.workers is not None:
        raise InputError("workers and batch exclude each other: batches need no workers")
    folder = run_dir / BATCHES
    if options.fresh and folder.exists():
        folder.rename(folder.with_name(f"{BATCHES}-{time.time_ns():x}"))
    members = (member for stage in judge.stages for member in stage.members)
    for model in [member.judge.model for member in members]:
        if model is None or not model.answers_later:
            continue
        if options.max_cost is not None and most_tokens(model, Request(())) is None:
            raise InputError(
                "max_cost needs max_tokens with batches, because all requests of a batch are "
                "committed before the first reply shows what one costs"
            )
        model.keep_in(folder)
