"""The score as docs/rubrics.md words it, worked out in fractions."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from fractions import Fraction
from typing import Any

import pytest

from rubricate import Criterion, Group, Verdict
from rubricate.rubric import Node


def leaves_of(nodes: Iterable[Node]) -> Iterator[Criterion]:
    for node in nodes:
        yield from leaves_of(node.criteria) if isinstance(node, Group) else (node,)


def worth(
    criterion: Criterion,
    verdict: Verdict,
    strategy: str,
    partial: float = 0.5,
    skipped: str = "zero",
) -> Fraction | None:
    """What a verdict counts; None where it is left out."""
    match verdict.status, strategy:
        case "judged", _:
            assert verdict.value is not None
            return Fraction(verdict.value)
        case ("failed", _) | (("abstained" | "not_applicable"), "skip"):
            return None
        case "skipped", _:
            return Fraction(0) if skipped == "zero" else None
        case _, "partial":
            return Fraction(partial) if criterion.weight > 0 else Fraction(0)
        case _, "fail":
            return Fraction(criterion.value_range[criterion.weight < 0])
    return Fraction(0)


def weighed(pairs: Sequence[tuple[Fraction, Fraction]]) -> Fraction | None:
    """The score of (weight, value) of all that counts."""
    raw = sum(weight * value for weight, value in pairs)
    positive = sum(weight for weight, _ in pairs if weight > 0)
    everything = sum(abs(weight) for weight, _ in pairs)
    if positive:
        return min(Fraction(1), max(Fraction(0), raw / positive))
    return min(Fraction(1), max(Fraction(0), 1 + raw / everything)) if everything else None


def expected(
    nodes: Sequence[Node],
    verdicts: Iterator[Verdict],
    worth_of: Callable[[Criterion, Verdict], Fraction | None],
    groups: dict[str, Any],
) -> Fraction | None:
    """The score of a level of a tree; those of the groups in it are put into `groups`."""
    pairs = []
    for node in nodes:
        if isinstance(node, Group):
            value = groups[node.name] = expected(node.criteria, verdicts, worth_of, groups)
        else:
            value = worth_of(node, next(verdicts))
        if value is not None:
            pairs.append((Fraction(node.weight), value))
    return weighed(pairs)


def near(number: Fraction | None) -> Any:
    return None if number is None else pytest.approx(float(number), abs=1e-12)
