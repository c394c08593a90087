"""A run whose requests go out in batches: where it is kept what is out."""

from __future__ import annotations

import time
from pathlib import Path

from rubricate.errors import InputError
from rubricate.judge import BATCHES, Judge, Request
from rubricate.run._options import RunOptions
from rubricate.run.sending import most_tokens


def keep_batches(judge: Judge, run_dir: Path | None, options: RunOptions) -> None:
    """Have the models that answer later keep in the run folder what is out.

    Raises:
        InputError: there is none, or an option does not go together with batches.
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
                "max_cost needs max_tokens where requests go out in batches: their replies are "
                "committed before one of them has been seen"
            )
        model.keep_in(folder)
