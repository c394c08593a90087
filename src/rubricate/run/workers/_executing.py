"""Whether a run judges in its own process or by workers, of whom nothing is loaded then."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

from rubricate.errors import InputError
from rubricate.run._executor import Execution

if TYPE_CHECKING:
    from rubricate.judge import Judge
    from rubricate.rubric import ScoringRules
    from rubricate.run._calls import Calibrate
    from rubricate.run._options import RunOptions
    from rubricate.run.results import OpenStorage
    from rubricate.run.workers._driving import Driving


def executing(
    judge: Judge,
    options: RunOptions,
    storage: OpenStorage,
    rules: ScoringRules,
    calibrate: Calibrate | None,
) -> Callable[..., Execution | Driving]:
    """What makes a run's execution.

    Raises:
        InputError: workers cannot reach what the run keeps, or several processes would write the
            file that people label.
        MissingExtraError: what runs workers is not installed.
    """
    if options.shard is not None and judge.people is not None:
        raise InputError(
            "shards cannot escalate to people, whose file they would all write: leave that file "
            "out, and name it when the shards are put together"
        )
    if options.workers is None:
        return Execution
    from rubricate.run.workers._driving import driving
    from rubricate.run.workers._worker import job_of

    return driving(job_of(judge, options, storage, rules, calibrate))
