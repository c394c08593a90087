"""Answers that give a probability for each label: how to read them, and their value.

The journal keeps the probabilities, not the value: weights and option values can change without
asking the judge again.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any, Literal

from rubricate.errors import UnreadableReply
from rubricate.rubric._criterion import Criterion
from rubricate.rubric._question import ABSTENTION, Reading
from rubricate.rubric._verdict import Status

Obtained = Literal["logprobs", "replicates", "model"]
"""How probabilities were obtained: from the model's token probabilities, as frequencies of sampled
answers, or reported by the judge itself."""
_STATUSES: tuple[Status, ...] = ("judged", "not_applicable", "abstained")


def read_kept(criterion: Criterion, answer: Any) -> Reading:
    """Read an answer from the journal: probabilities, or any answer that `read` accepts."""
    if isinstance(answer, Mapping) and {"probabilities", "obtained"} <= set(answer):
        return read_distribution(criterion, answer)
    return criterion.read(answer)


def read_distribution(criterion: Criterion, answer: Mapping[str, Any]) -> Reading:
    """Read an answer that gives a probability for each label.

    If the answers have no order, the label is the most probable one (of equally probable ones, the
    one that scores lowest). If they are ordered, the value is the expected value,
    `sum(p * value) / sum(p)` over the labels with a value, and the label is the nearest one. If
    abstaining or N/A is more probable than all of these together, that is the answer.

    Args:
        criterion: the criterion.
        answer: `{"probabilities": {label: probability}, "obtained": ...}`.

    Raises:
        UnreadableReply: a label is unknown, or there are no labels.
    """
    shares: dict[str, float] = dict(answer["probabilities"])
    for label in shares:
        if label not in (*criterion.labels, ABSTENTION):
            raise UnreadableReply(f"'{label}' is not one of the labels")
    if not shares:
        raise UnreadableReply("there is no label with a probability")
    if criterion.measurement == "ordinal":
        return _expected(criterion, shares, answer)
    return _reading(criterion, _greatest(criterion, shares), shares, answer)


def _expected(
    criterion: Criterion, shares: Mapping[str, float], answer: Mapping[str, Any]
) -> Reading:
    masses = dict.fromkeys(_STATUSES, 0.0)
    for label, share in shares.items():
        masses[criterion.status(label)] += share
    status = max(_STATUSES, key=lambda kind: (round(masses[kind], 9), -_STATUSES.index(kind)))
    of_status = {
        label: share for label, share in shares.items() if criterion.status(label) == status
    }
    if status != "judged" or not masses[status]:
        return _reading(criterion, _greatest(criterion, of_status), shares, answer)
    mean = math.fsum(share * (criterion.value(label) or 0.0) for label, share in of_status.items())
    low, high = criterion.value_range
    value = min(high, max(low, mean / masses[status]))
    return _reading(criterion, criterion.nearest_label(value), shares, answer, value)


def _greatest(criterion: Criterion, shares: Mapping[str, float]) -> str:
    sign = -1.0 if criterion.weight < 0 else 1.0

    def rank(label: str) -> tuple[float, bool, float]:
        judged = criterion.status(label) == "judged"
        scored = sign * (criterion.value(label) or 0.0) if judged else 0.0
        return round(shares[label], 9), judged, -scored

    return max(shares, key=rank)


def _reading(
    criterion: Criterion,
    label: str,
    shares: Mapping[str, float],
    answer: Mapping[str, Any],
    value: float | None = None,
) -> Reading:
    return Reading(
        label,
        detail=answer,
        answer=answer,
        value=value,
        probability=shares.get(label, 0.0),
    )
