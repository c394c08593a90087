"""A run's judge beside each of several annotators, and they among themselves."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from rubricate.rubric import ABSTENTION, Criterion
from rubricate.run import FinishedRun, RowVerdict
from rubricate.stats import AnnotatorAgreement, Bootstrap, Level, annotator_agreement

__all__ = ["CriterionAnnotators", "annotators_of"]


@dataclass(frozen=True, slots=True)
class CriterionAnnotators:
    """One criterion, or all binary ones together.

    Attributes:
        name: the criterion's name; None for all binary ones.
        level: what is compared: labels without or with order, or numbers.
        found: the judge against each, against what they say together, and they among themselves.
    """

    name: str | None
    level: Level
    found: AnnotatorAgreement


def annotators_of(
    run: FinishedRun, groups: Mapping[str, Any], bootstrap: Bootstrap
) -> tuple[CriterionAnnotators, ...]:
    """Of every criterion that annotators labelled, in the rubric's order; none without any.

    Scales, metrics and code are compared as numbers, ordered options with their order.
    """
    rows: dict[str, list[RowVerdict]] = {}
    for row in run.rows:
        if row.annotations:
            rows.setdefault(row.criterion, []).append(row)
    known = run.criteria
    found = [
        CriterionAnnotators(name, level, _compared(rows[name], known, level, groups, bootstrap))
        for name in known
        if name in rows
        for level in (_level(known[name]),)
    ]
    binary = [name for name in rows if known[name].measurement == "binary"]
    if len(binary) > 1:
        together = [row for name in binary for row in rows[name]]
        pooled = _compared(together, known, "nominal", groups, bootstrap)
        found.append(CriterionAnnotators(None, "nominal", pooled))
    return tuple(found)


def _level(criterion: Criterion) -> Level:
    measurement = criterion.measurement
    if measurement == "numeric" or (measurement == "ordinal" and _has_steps(criterion)):
        return "interval"
    return "ordinal" if measurement == "ordinal" else "nominal"


def _has_steps(criterion: Criterion) -> bool:
    """Whether all answers but N/A are whole numbers."""
    scored = [label for label in criterion.labels if criterion.value(label) is not None]
    return all(label.lstrip("-").isdigit() for label in scored)


def _compared(
    rows: Sequence[RowVerdict],
    known: Mapping[str, Criterion],
    level: Level,
    groups: Mapping[str, Any],
    bootstrap: Bootstrap,
) -> AnnotatorAgreement:
    names = [*dict.fromkeys(name for row in rows for name in row.annotations)]
    by_item = len({row.item for row in rows}) == len({groups[row.item] for row in rows})
    alone = by_item and len({row.item for row in rows}) == len(rows)

    def answer(row: RowVerdict, label: str | None) -> str | float | None:
        return None if label is None else _answer(known[row.criterion], label, level)

    return annotator_agreement(
        [answer(row, ABSTENTION if row.status == "abstained" else row.label) for row in rows],
        {name: [answer(row, row.annotations.get(name)) for row in rows] for name in names},
        level=level,
        labels=_labels(rows, known) if level == "ordinal" else None,
        groups=None if alone else [groups[row.item] for row in rows],
        bootstrap=bootstrap,
    )


def _answer(criterion: Criterion, label: str, level: Level) -> str | float | None:
    """An answer as it is compared; None where it has no place in the order."""
    if level == "nominal":
        return label
    if label == ABSTENTION or criterion.value(label) is None:
        return None
    if level == "ordinal":
        return label
    return float(label) if criterion.labels else criterion.value(label)


def _labels(rows: Sequence[RowVerdict], known: Mapping[str, Criterion]) -> list[str]:
    criterion = known[rows[0].criterion]
    return [label for label in criterion.labels if criterion.value(label) is not None]
