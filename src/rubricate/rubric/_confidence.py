"""How sure a verdict is: one rule for cascades, reports and labelling."""

from __future__ import annotations

from collections.abc import Sequence

from rubricate.rubric._verdict import Status, Verdict


def confidence(verdict: Verdict) -> float | None:
    """How sure a verdict is, from 0 to 1; None where nothing was decided or nothing tells.

    It is the judge's own probability for its label and, where several voted, the share of all
    votes that are this label (those that failed or abstained are none); of both, the lower one.
    """
    labels = [vote.label for vote in verdict.votes]
    return confidence_of(verdict.status, verdict.label, verdict.probability, labels)


def confidence_of(
    status: Status, label: str | None, probability: float | None, votes: Sequence[str | None]
) -> float | None:
    """`confidence`, of a verdict's parts as a file has them; `votes` are the votes' labels."""
    if status not in ("judged", "not_applicable"):
        return None
    known = [] if probability is None else [float(probability)]
    if len(votes) > 1:
        known.append(sum(vote == label for vote in votes) / len(votes))
    return min(known, default=None)
