"""Runs in batches: where the state of pending batches is kept."""

from __future__ import annotations

import logging
import time
from pathlib import Path

from rubricate.errors import InputError
from rubricate.judge import BATCHES, Judge, Model, Request, batches_in
from rubricate.run._options import RunOptions
from rubricate.run.sending import most_tokens

logger = logging.getLogger(__name__)


def keep_batches(judge: Judge, run_dir: Path | None, options: RunOptions) -> None:
    """Let models that answer later keep the state of pending batches in the run folder.

    Raises:
        InputError: there is no run folder, or an option cannot be combined with batches.
    """
    if run_dir is None:
        raise InputError("batches are kept in the run folder: give run_dir")
    models = check_batches(judge, options)
    folder = run_dir / BATCHES
    if options.fresh and folder.exists():
        folder.rename(folder.with_name(f"{BATCHES}-{time.time_ns():x}"))
        if any(batch.state != "ended" for _, batch in batches_in(run_dir)):
            logger.warning(
                "fresh asks for everything again; earlier batches are pending and will be billed: "
                "`rubricate batches %s --cancel` cancels them",
                run_dir,
            )
    for model in models:
        model.keep_in(folder)


def check_batches(judge: Judge, options: RunOptions) -> list[Model]:
    """The models that answer later.

    Raises:
        InputError: an option cannot be combined with batches.
    """
    if options.workers is not None:
        raise InputError("workers and batch exclude each other: batches need no workers")
    members = (member for stage in judge.stages for member in stage.members)
    models = [model for member in members if (model := member.judge.model) is not None]
    later = [model for model in models if model.answers_later]
    if options.max_cost is not None and None in [most_tokens(each, Request(())) for each in later]:
        raise InputError(
            "max_cost needs max_tokens with batches, because all requests of a batch are "
            "committed before the first reply shows what one costs"
        )
    return later
