"""From samples to items: what `RubricDataset.from_samples` does."""

from __future__ import annotations

import contextlib
import json
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any, Literal, get_args

from rubricate.dataset.items._context import ContextDocument, read_context
from rubricate.dataset.items._item import DataItem, GroundTruth
from rubricate.dataset.items._transcript import Transcript, is_conversation, render_turns, turn_of
from rubricate.dataset.samples._chat import ChatMessage
from rubricate.dataset.samples._dataset import Dataset
from rubricate.dataset.samples._sample import Sample, is_missing
from rubricate.errors import InputError
from rubricate.rubric import BINARY_LABELS, Criterion, CriterionVerdict, Rubric

__all__ = ["TargetUse", "context_of", "input_text", "items_of", "label_for", "submission_text"]

TargetUse = Literal["reference", "ground_truth", "ignore"]
"""What a sample's target is: an exemplary response, the human labels, or nothing of use."""

TRUE = frozenset({"true", "yes", "1", "1.0", "y", "met"})
FALSE = frozenset({"false", "no", "0", "0.0", "n", "unmet"})


def items_of(
    dataset: Iterable[Sample],
    rubric: Rubric,
    *,
    submission: str | Callable[[Sample], str],
    target: TargetUse,
    labels: Mapping[str, str],
    context: str | None,
) -> list[DataItem]:
    """One item for each sample; the arguments are those of `RubricDataset.from_samples`.

    Raises:
        InputError: samples share an id, one has no submission, or a label is none of its
            criterion's; names the sample.
    """
    if target not in get_args(TargetUse):
        raise InputError(f"target must be {' or '.join(get_args(TargetUse))}, found {target!r}")
    if unknown := [name for name in labels if name not in rubric.names]:
        raise InputError(
            f"labels for {', '.join(map(repr, unknown))}, which the rubric does not have; its "
            f"criteria are {', '.join(rubric.names)}"
        )
    if isinstance(dataset, Dataset):
        dataset.check_ids()
    items: list[DataItem] = []
    for index, sample in enumerate(dataset, start=1):
        try:
            items.append(_item(sample, rubric, submission, target, labels, context))
        except InputError as error:
            which = f"sample {index}" + ("" if sample.id is None else f" ({sample.id})")
            raise error.within((which,), file=getattr(dataset, "location", None)) from None
    return items


def _item(
    sample: Sample,
    rubric: Rubric,
    submission: str | Callable[[Sample], str],
    target: TargetUse,
    labels: Mapping[str, str],
    context: str | None,
) -> DataItem:
    metadata = dict(sample.metadata or {})
    if callable(submission):
        text = submission(sample)
    else:
        if submission not in metadata:
            has = ", ".join(map(repr, metadata)) or "(none)"
            raise InputError(
                f"there is no submission: metadata has no '{submission}'; it has {has}. Name the "
                "key with submission="
            )
        text = metadata.pop(submission)
    text = submission_text(text)
    ground_truth: GroundTruth | None = None
    reference = None
    if target == "ground_truth":
        ground_truth = _labels_of_target(sample.target, rubric)
    elif target == "reference" and sample.target:
        reference = sample.target if isinstance(sample.target, str) else "\n\n".join(sample.target)
    if labels:
        values = {name: metadata.pop(key, None) for name, key in labels.items()}
        ground_truth = [label_for(values.get(criterion.name), criterion) for criterion in rubric]
    documents = [] if context is None else context_of(metadata.pop(context, None))
    return DataItem(
        text,
        "",
        ground_truth,
        None,
        reference,
        id="" if sample.id is None else str(sample.id),
        prompt=input_text(sample.input) or None,
        context=documents,
        metadata=metadata,
    )


def submission_text(value: Any) -> str:
    """A submission as text: chat messages as a `Transcript`, other structured data as JSON.

    Empty text is what was submitted.

    Raises:
        InputError: there is none (None or NaN).
    """
    if is_missing(value):
        raise InputError("there is no submission: the value is missing")
    if isinstance(value, str):
        return value
    if is_conversation(value):
        return Transcript(value)
    return json.dumps(value, ensure_ascii=False, default=str)


def context_of(value: Any) -> list[ContextDocument]:
    """The documents that a data source has: texts or {title, text}, or a JSON list of them.

    Other structured data is shown as JSON.
    """
    if is_missing(value) or value == "":
        return []
    if isinstance(value, str) and value.lstrip().startswith("["):
        with contextlib.suppress(ValueError):
            value = json.loads(value)
    values = value if isinstance(value, list | tuple) else [value]
    documents: list[ContextDocument] = []
    for one in values:
        try:
            documents += read_context(one)
        except InputError:
            documents.append(ContextDocument(json.dumps(one, ensure_ascii=False, default=str)))
    return documents


def input_text(given: str | list[ChatMessage]) -> str:
    """A sample's input as text: of several messages, each behind its role."""
    if isinstance(given, str):
        return given
    if len(given) == 1:
        return given[0].text
    return render_turns(map(turn_of, given))


def _labels_of_target(target: str | list[str], rubric: Rubric) -> GroundTruth | None:
    if not target:
        return None
    values: Sequence[Any] = [target] if isinstance(target, str) else target
    if len(values) != len(rubric):
        raise InputError(
            f"target has {len(values)} labels, and the rubric {len(rubric)} criteria: "
            f"{', '.join(rubric.names)}"
        )
    return [label_for(value, criterion) for value, criterion in zip(values, rubric, strict=True)]


def label_for(value: Any, criterion: Criterion) -> CriterionVerdict | str | None:
    """The criterion's label for what a data source has: the label in any case, or yes and no."""
    if is_missing(value) or (isinstance(value, str) and not value.strip()):
        return None
    binary = criterion.labels == BINARY_LABELS
    folded = str(value).strip().casefold().replace(" ", "_")
    if binary and folded in TRUE | FALSE:
        return CriterionVerdict.MET if folded in TRUE else CriterionVerdict.UNMET
    exact = [label for label in criterion.labels if label == str(value).strip()]
    near = [label for label in criterion.labels if label.casefold().replace(" ", "_") == folded]
    for label in exact or near:
        return CriterionVerdict(label) if binary else label
    try:
        return criterion.label_of(value if isinstance(value, int | float) else str(value))
    except InputError as error:
        raise InputError(f"criterion '{criterion.name}' {error.message}") from None
