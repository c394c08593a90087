"""A gate for every push, with one error rate over all pushes.

Each push gives an e-value against the same baseline. The pushes share the noise of the baseline, so
that their e-values must not be multiplied. Their weighted sum can be compared with 1 / 0.05: it
never decreases, and its mean is at most 1 as long as nothing is worse (Markov's inequality).
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterable
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Literal

from pydantic import BaseModel, ConfigDict, ValidationError

from rubricate._documents import input_error, parse_json, read_text
from rubricate._files import user_path, write_text
from rubricate.errors import InputError
from rubricate.run.results import ResultRow
from rubricate.views import figure

if TYPE_CHECKING:
    from rubricate.analysis._finished import FinishedRun
    from rubricate.analysis.comparison._comparison import RunComparison
    from rubricate.analysis.comparison._gate import Gate

ERROR = 0.05
"""The probability of a false alarm over all pushes."""
EARLY = 10
"""Approximately this many pushes share the first half of the error rate. At 5, the hundredth push
needs twice the evidence; at 20, the first one does."""
LOCK_SECONDS = 10.0
"""Seconds to wait while another process has locked the state, which takes milliseconds."""


class Push(BaseModel):
    """One comparison with the baseline."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    run: str
    """A hash of the run's verdicts, so that a run counts once."""
    e_value: float
    change: float
    items: int


class GateHistory(BaseModel):
    """The contents of the state file: all pushes against one baseline."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    version: Literal[1] = 1
    baseline: str
    margin: float
    groups: str | None = None
    pushes: tuple[Push, ...] = ()

    @property
    def evidence(self) -> float:
        """The weighted sum of the pushes' e-values; the weights add up to 1 over all pushes."""
        return sum(
            EARLY / ((number + EARLY - 1) * (number + EARLY)) * push.e_value
            for number, push in enumerate(self.pushes, start=1)
        )


def sequential_gate(
    comparison: RunComparison,
    decision: Gate,
    runs: tuple[FinishedRun, FinishedRun],
    file: str | Path,
) -> Gate:
    """Add a push, and decide by all pushes so far.

    *Worse* requires the evidence of all pushes and a drop beyond the margin in this one; everything
    else in the decision remains unchanged.

    Args:
        comparison: the comparison of the push with the baseline.
        decision: the decision of the gate for this push alone.
        runs: the baseline and the push.
        file: the state file, replaced atomically under a lock.

    Raises:
        InputError: the state is damaged or locked, or belongs to another baseline, margin or
            grouping; or scores are not in [0, 1].
    """
    from filelock import FileLock, Timeout

    from rubricate.stats import bound_e_value

    if decision.outcome == "not covered":
        return decision
    if not comparison.bounded:
        raise InputError("--sequential is for scores from 0 to 1, and these are raw")
    path = user_path(file)
    baseline, run = (_identity(each.rows) for each in runs)
    push = Push(
        run=run,
        e_value=bound_e_value(
            [pair.b - pair.a for pair in comparison.scored],
            -decision.margin,
            groups=[pair.group for pair in comparison.scored],
        ),
        change=decision.test.value or 0.0,
        items=decision.test.n,
    )
    try:
        with FileLock(f"{path}.lock", timeout=LOCK_SECONDS):
            fresh = GateHistory(baseline=baseline, margin=decision.margin, groups=comparison.groups)
            history = _read(path) if path.exists() else fresh
            for name in ("baseline", "margin", "groups"):
                if getattr(history, name) != getattr(fresh, name):
                    raise InputError(
                        f"has pushes with another {name}: name another file for these", file=path
                    )
            if run not in {known.run for known in history.pushes}:
                history = history.model_copy(update={"pushes": (*history.pushes, push)})
                write_text(path, history.model_dump_json(indent=1) + "\n", durable=True)
    except Timeout:
        raise InputError(
            f"is locked by another process for {LOCK_SECONDS:g} s", file=path
        ) from None
    except OSError as error:
        raise InputError(f"cannot be locked: {error.strerror}", file=path) from None
    evidence, needed = history.evidence, 1 / ERROR
    note = (
        f" The evidence of a drop in all pushes so far ({len(history.pushes)}) is "
        f"{figure(evidence)}; {needed:g} shows one."
    )
    outcome = decision.outcome
    if evidence >= needed and push.change < -decision.margin:
        outcome = "worse"
    elif outcome == "worse":
        outcome = "cannot tell"
        note += " By itself this push would be called worse."
    why = decision.why
    if outcome != decision.outcome:
        why = f"{outcome.capitalize()}: {why.partition(': ')[2]}"
    return replace(decision, outcome=outcome, why=why + note)


def _identity(rows: Iterable[ResultRow]) -> str:
    """A hash of a run's verdicts."""
    digest = hashlib.blake2b(digest_size=16)
    for row in rows:
        digest.update(repr((row.item, row.criterion, row.status, row.label, row.value)).encode())
    return digest.hexdigest()


def _read(path: Path) -> GateHistory:
    try:
        return GateHistory.model_validate(parse_json(read_text(path), file=path))
    except ValidationError as error:
        problem = input_error(error).within(file=path)
        raise InputError(f"{problem}; name a new file, which this command writes") from None
