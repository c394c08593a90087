"""Reliability of judges, from their votes alone (Dawid and Skene 1979) or from labels.

A. P. Dawid and A. M. Skene, "Maximum Likelihood Estimation of Observer Error-Rates Using the EM
Algorithm", Applied Statistics 28(1), 1979.
"""

from __future__ import annotations

import operator
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from math import log
from typing import TYPE_CHECKING, Any

from rubricate.errors import InputError
from rubricate.stats._inputs import (
    answers,
    brief,
    count_of,
    in_order,
    is_missing,
    is_nested,
    listed,
    named,
    number_of,
    same_length,
)

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import ArrayLike, NDArray

    Floats = NDArray[np.float64]

MOST_CELLS = 10**8
"""The most numbers in a table of votes by label, or of confusion matrices."""
LEAST_SMOOTHING = 1e-6
LEAST_WEIGHT = 0.01
"""The weight of a judge that is no better than chance."""
Votes = Mapping[str, Sequence[str | None]]
"""Every judge's labels of the same items in the same order; None for a missing one."""


@dataclass(frozen=True, eq=False)
class DawidSkene:
    """The model of Dawid and Skene, fitted by expectation maximisation.

    Attributes:
        prior: the frequency of each label; shape (labels,).
        confusion: the probability of a judge's label (last axis) given the true one (second axis);
            shape (judges, labels, labels).
        posterior: the probability of each label for each task; shape (tasks, labels).
        iterations: the number of iterations.
        converged: whether the last iteration changed the prior and the confusion by less than the
            tolerance.
    """

    prior: Floats
    confusion: Floats
    posterior: Floats
    iterations: int
    converged: bool

    @property
    def accuracy(self) -> Floats:
        """The probability that a judge's label is the true one; shape (judges,)."""
        import numpy as np

        diagonal = np.diagonal(self.confusion, axis1=1, axis2=2)
        return np.asarray(diagonal @ self.prior)


def dawid_skene(
    votes: ArrayLike,
    *,
    labels: int | None = None,
    iterations: int = 200,
    tolerance: float = 1e-6,
    smoothing: float = 0.1,
) -> DawidSkene:
    """Estimate judges' confusion and the true labels from votes alone (Dawid and Skene 1979).
    Deterministic.

    It starts with the share of votes for each label, so the majority decides which label is which:
    it cannot detect that most judges are wrong.

    Args:
        votes: labels as whole numbers from 0, shape (tasks, judges); None or a negative number for
            a missing label.
        labels: the number of labels. Default: one more than the greatest.
        iterations: the most iterations.
        tolerance: it stops when no probability changes by more than this.
        smoothing: the pseudo-count that is added to each answer, so that unseen answers are not
            impossible; above 0.

    Raises:
        InputError: there is no vote, the shape is wrong, a number is not one of the labels, or an
            option is out of range.

    Example:
        >>> fit = dawid_skene([[0, 0, 0], [1, 1, 0], [1, 1, 1], [0, 0, 1]])
        >>> fit.posterior.argmax(axis=1).tolist()
        [0, 1, 1, 0]
    """
    import numpy as np

    iterations = count_of(iterations, "iterations", 1)
    if number_of(tolerance, "tolerance") < 0:
        raise InputError(f"tolerance must be 0 or more, found {tolerance}")
    if not number_of(smoothing, "smoothing") >= LEAST_SMOOTHING:
        raise InputError(f"smoothing must be {LEAST_SMOOTHING:g} or more, found {smoothing}")
    rows = listed(votes, "votes")
    if not all(is_nested(row) for row in rows):
        raise InputError("votes: a table is needed, a row a task and a column a judge")
    rows = [listed(row, f"votes of task {task}") for task, row in enumerate(rows)]
    if len({len(row) for row in rows}) > 1:
        raise InputError("votes: the rows are not equally long; use None for a missing vote")
    array = np.array([[_vote(label, task) for label in row] for task, row in enumerate(rows)], int)
    if not (array >= 0).any():
        raise InputError("votes: there are no votes to learn the judges' reliability from")
    count = int(array.max()) + 1 if labels is None else count_of(labels, "labels", 1)
    if array.shape[1] * count * (count + array.shape[0]) > MOST_CELLS:
        raise InputError(f"votes: {count} labels are too many; number those that occur from 0 on")
    if array.max() >= count:
        raise InputError(f"the votes name label {array.max()}, but there are only {count} labels")
    one_hot = (array[..., None] == np.arange(count)).astype(float)
    voted = one_hot.sum(axis=(1, 2)) > 0
    shares = one_hot.sum(axis=1)
    posterior = np.full_like(shares, 1.0 / count)
    posterior[voted] = shares[voted] / shares[voted].sum(axis=1, keepdims=True)
    prior, confusion = np.zeros(count), np.zeros((array.shape[1], count, count))
    done, converged = 0, False
    while done < iterations and not converged:
        done += 1
        before = prior, confusion
        prior = posterior[voted].sum(axis=0) + smoothing
        prior = prior / prior.sum()
        confusion = np.einsum("tk,tjl->jkl", posterior[voted], one_hot[voted]) + smoothing
        confusion = confusion / confusion.sum(axis=2, keepdims=True)
        logs = np.log(prior) + np.einsum("tjl,jkl->tk", one_hot, np.log(confusion))
        posterior = np.exp(logs - logs.max(axis=1, keepdims=True))
        posterior /= posterior.sum(axis=1, keepdims=True)
        change = max(abs(prior - before[0]).max(), abs(confusion - before[1]).max())
        converged = bool(change < tolerance)
    return DawidSkene(prior, confusion, posterior, done, converged)


def _vote(value: Any, task: int) -> int:
    if is_missing(value):
        return -1
    try:
        return min(MOST_CELLS, max(-1, operator.index(value)))
    except TypeError:
        raise InputError(f"votes are whole numbers; {brief(value)} of task {task} is not") from None


def reliability_weights(questions: Sequence[Votes]) -> dict[str, float]:
    """Weights of judges' votes, estimated from the votes alone by `dawid_skene` (Dawid and Skene
    1979), as log odds (Nitzan and Paroush 1982).

    Args:
        questions: one mapping of votes for each set of labels: all binary criteria share one, a
            criterion with custom options has another.

    Returns:
        A weight above 0 by judge, 1 on average: the log odds of being right against chance,
        averaged over the sets by their votes.

    Raises:
        InputError: votes are no mapping of judges to lists of labels that are equally long.

    Example:
        >>> votes = {"a": ["x", "y", "x"], "b": ["x", "y", "x"], "c": ["y", "y", "x"]}
        >>> weights = reliability_weights([votes])
        >>> weights["a"] > weights["c"]
        True
    """
    import numpy as np

    totals: dict[str, list[tuple[float, int]]] = {}
    for number, question in enumerate(listed(questions, "questions")):
        votes = named(question, f"questions[{number}]", answers)
        if votes:
            same_length(**{repr(judge): column for judge, column in votes.items()})
        labels = in_order(
            {label for column in votes.values() for label in column if label is not None}
        )
        if not labels:
            continue
        position = {label: index for index, label in enumerate(labels)}
        columns = [
            [-1 if label is None else position[label] for label in column]
            for column in votes.values()
        ]
        fitted = dawid_skene(np.array(columns).T, labels=len(labels))
        for judge, accuracy, column in zip(votes, fitted.accuracy, columns, strict=True):
            voted = sum(label >= 0 for label in column)
            right = float(accuracy) * voted
            totals.setdefault(judge, []).append((_log_odds(right, voted, len(labels)), voted))
    return _averaged(totals)


def accuracy_weights(questions: Sequence[tuple[Votes, Sequence[str | None]]]) -> dict[str, float]:
    """Weights of judges' votes, from labels, as the log odds of a right vote (Nitzan and Paroush
    1982).

    Args:
        questions: votes and the right labels of the same items, for each set of labels; None for an
            unknown label.

    Returns:
        A weight above 0 by judge, 1 on average.

    Raises:
        InputError: as `reliability_weights`.
    """
    totals: dict[str, list[tuple[float, int]]] = {}
    for number, question in enumerate(listed(questions, "questions")):
        pair = listed(question, f"questions[{number}]")
        if len(pair) != 2:
            raise InputError(f"questions[{number}]: votes and the right labels are needed")
        votes = named(pair[0], f"questions[{number}]", answers)
        truth = answers(pair[1], f"questions[{number}], the right labels")
        same_length(
            truth=truth,
            **{repr(judge): column for judge, column in votes.items()},
        )
        labels = {label for column in (*votes.values(), truth) for label in column} - {None}
        for judge, column in votes.items():
            pairs = [
                (vote, label)
                for vote, label in zip(column, truth, strict=True)
                if vote is not None and label is not None
            ]
            right = sum(vote == label for vote, label in pairs)
            odds = _log_odds(right, len(pairs), len(labels))
            totals.setdefault(judge, []).append((odds, len(pairs)))
    return _averaged(totals)


def _log_odds(right: float, count: int, labels: int) -> float:
    """The best weight of a vote if all errors are equally likely (Nitzan and Paroush 1982).

    One right and one wrong vote are added, so that the weight of a judge that was never wrong is
    finite.
    """
    accuracy = (right + 1.0) / (count + 2.0)
    return max(LEAST_WEIGHT, log(accuracy * max(1, labels - 1) / (1.0 - accuracy)))


def _averaged(totals: Mapping[str, Sequence[tuple[float, int]]]) -> dict[str, float]:
    weights = {
        judge: sum(weight * count for weight, count in parts) / (sum(n for _, n in parts) or 1)
        for judge, parts in totals.items()
    }
    weights = {judge: max(weight, LEAST_WEIGHT) for judge, weight in weights.items()}
    mean = sum(weights.values()) / (len(weights) or 1)
    return {judge: weight / mean for judge, weight in weights.items()}
