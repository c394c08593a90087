"""Which of two submissions is better, pair by pair."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Literal

from pydantic import BaseModel, ConfigDict

from rubricate._files import user_path
from rubricate.judge import BETTER, pair_id
from rubricate.rubric import UNANSWERED, Verdict
from rubricate.run.results import read_rows

PairOutcome = Literal["first", "second", "tie", "disagreed", "abstained", "failed", "not_run"]
"""Which one is better. `tie`: neither, in both orders. `disagreed`: the answers in the two orders
differ, which counts as a tie. `abstained`: the judge could not tell. `failed`: there is no answer.
`not_run`: the judge was not asked, because the run ended early."""
MET_ALIKE = 1e-9
"""The tolerance within which a weighted mean counts as one half."""


class PairVerdict(BaseModel):
    """One criterion of one pair."""

    model_config = ConfigDict(frozen=True)

    outcome: PairOutcome
    labels: tuple[str | None, str | None]
    """The answers with the first submission shown first, and with the second shown first. The
    labels say which of the two as *shown* is better (for a fault: shows it more)."""
    reasons: tuple[str | None, str | None]
    errors: tuple[str | None, str | None]
    """The causes of missing answers."""


class PairResult(BaseModel):
    """One pair."""

    model_config = ConfigDict(frozen=True)

    id: str
    index: int
    """The index of the pair, from 0."""
    outcome: PairOutcome
    """Which one is better by all criteria together. `failed` if failures could have changed it."""
    preference: float | None
    """The preference for the first, from 0 to 1: the weighted mean over decided criteria of 1 (the
    first is better), 0 (the second) or 0.5 (a tie)."""
    criteria: dict[str, PairVerdict]
    label: Literal["first", "second", "tie"] | None = None
    """Which one people prefer; None without a label."""


def pair_result(
    id: str,
    weights: Mapping[str, float],
    forward: Mapping[str, Verdict],
    reverse: Mapping[str, Verdict],
    *,
    index: int = 0,
    label: object = None,
) -> PairResult:
    """The result of a pair.

    Args:
        id, index: the id and index of the pair.
        weights: the weights by criterion, above 0 (see `pair_criterion`).
        forward: the verdicts with the first submission shown first.
        reverse: the verdicts with the second shown first.
        label: which one people prefer.
    """
    verdicts: dict[str, PairVerdict] = {}
    decided: list[tuple[float, float]] = []
    lost = 0.0
    for name, weight in weights.items():
        verdict = verdicts[name] = _verdict(forward[name], reverse[name])
        value = {"first": 1.0, "second": 0.0, "tie": 0.5, "disagreed": 0.5}.get(verdict.outcome)
        if value is not None:
            decided.append((weight, value))
        elif verdict.outcome in UNANSWERED:
            lost += weight
    outcome, preference = _together(verdicts, decided, lost)
    return PairResult(
        id=id,
        index=index,
        outcome=outcome,
        preference=preference,
        criteria=verdicts,
        label=label,
    )


def _together(
    verdicts: Mapping[str, PairVerdict], decided: list[tuple[float, float]], lost: float
) -> tuple[PairOutcome, float | None]:
    """The outcome by all criteria, and the preference.

    Args:
        verdicts: the verdicts by criterion.
        decided: weight and value of each decided criterion.
        lost: the total weight of the criteria without an answer.
    """
    outcomes = {verdict.outcome for verdict in verdicts.values()}
    weight = sum(part for part, _ in decided)
    if not weight:
        without: tuple[PairOutcome, ...] = ("failed", "not_run", "abstained")
        return next(outcome for outcome in without if outcome in outcomes), None
    raw = sum(part * value for part, value in decided)
    lowest, highest = raw / (weight + lost), (raw + lost) / (weight + lost)
    possible = {_better(lowest), _better(highest), _better(raw / weight)}
    outcome = possible.pop() if len(possible) == 1 else "failed"
    if outcome == "tie" and "disagreed" in outcomes:
        outcome = "disagreed"
    return outcome, raw / weight


def _better(preference: float) -> PairOutcome:
    if abs(preference - 0.5) < MET_ALIKE:
        return "tie"
    return "first" if preference > 0.5 else "second"


def _verdict(forward: Verdict, reverse: Verdict) -> PairVerdict:
    both = (forward, reverse)
    statuses = {verdict.status for verdict in both}
    outcome: PairOutcome
    if statuses & UNANSWERED:
        outcome = "failed" if "failed" in statuses else "not_run"
    elif forward.value is None or reverse.value is None:
        outcome = "abstained"
    elif forward.value != 1.0 - reverse.value:
        outcome = "disagreed"
    else:
        outcome = _better(forward.value)
    errors = [v.error and str(v.error) for v in both]
    return PairVerdict(
        outcome=outcome,
        labels=(forward.label, reverse.label),
        reasons=(forward.reason, reverse.reason),
        errors=(errors[0], errors[1]),
    )


def finished_pairs(folder: str | Path) -> Iterator[PairResult]:
    """Yield the pairs of a run folder in their order, one in memory at a time.

    Raises:
        InputError: `results.jsonl` is missing or damaged.
    """
    items = read_rows(user_path(folder) / "results.jsonl")
    for index, (forward, reverse) in enumerate(zip(items, items, strict=False)):
        yield pair_result(
            pair_id(forward[0].item),
            {row.criterion: row.weight for row in forward},
            {row.criterion: row for row in forward},
            {row.criterion: row for row in reverse},
            index=index,
            label=reverse[0].metadata.get(BETTER),
        )
