"""The labels of several people: who said what of an item, and what they say together."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from rubricate._spelling import suggestion
from rubricate.errors import InputError
from rubricate.rubric import Aggregation, CriterionVerdict, Rubric, Verdict, aggregate

Annotations = dict[str, dict[str, CriterionVerdict | str | int | float | None]]
"""Each annotator's labels by criterion name; a criterion that one did not label is missing."""

_TOGETHER = Aggregation()


def parse_annotations(given: Any, rubric: Rubric | None) -> Annotations:
    """Check labels by annotator and criterion against the rubric; they become text.

    Raises:
        InputError: another form, a criterion that the rubric does not have, or a label that is
            not an allowed one.
    """
    path: tuple[str, ...] = ("annotations",)
    if not isinstance(given, Mapping):
        raise InputError("expected labels as {annotator: {criterion: label}}", path=path)
    parsed: Annotations = {}
    for annotator, labels in given.items():
        path = ("annotations", str(annotator))
        if not isinstance(annotator, str) or not annotator:
            raise InputError(f"an annotator's name must be text, found {annotator!r}", path=path)
        if not isinstance(labels, Mapping):
            raise InputError("expected labels as {criterion: label}", path=path)
        if rubric is None:
            parsed[annotator] = dict(labels)
            continue
        criteria = rubric.by_name
        parsed[annotator] = {}
        for name, label in labels.items():
            if name not in criteria:
                near = suggestion(str(name), rubric.names)
                hint = f"did you mean '{near}'?" if near else f"it has {', '.join(rubric.names)}"
                raise InputError(f"the rubric has no criterion '{name}': {hint}", path=path)
            if label is None:
                continue
            try:
                parsed[annotator][name] = criteria[name].label_of(label)
            except InputError as error:
                raise InputError(f"criterion '{name}' {error.message}", path=path) from None
    return parsed


def consensus(annotations: Annotations, rubric: Rubric) -> dict[str, Verdict]:
    """What annotators say together, by criterion name, counted as the votes of a panel are.

    The majority's label; the mean of ordered options, scales and numbers. A criterion on which
    labels without order are tied, or that nobody labelled, is missing.
    """
    together: dict[str, Verdict] = {}
    for criterion in rubric:
        name = criterion.name
        votes = [
            criterion.verdict(label)
            for labels in annotations.values()
            if (label := labels.get(name)) is not None
        ]
        if votes:
            found = aggregate(criterion, votes, _TOGETHER)
            if not found.tied:
                together[name] = Verdict(name, found.status, found.label, found.value)
    return together
