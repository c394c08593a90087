"""People as judges: open questions are written to a dataset file, and labels read back from it."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import orjson

from rubricate._files import not_written, user_path
from rubricate.dataset import DataItem, Item, RubricDataset
from rubricate.errors import InputError
from rubricate.judge._judge import Judge
from rubricate.judge.models import Send
from rubricate.rubric import Criterion, Failure, Rubric, Verdict

ESCALATED = "escalated"
"""The kind of failure of a verdict that still needs a human label."""
LABEL_SUFFIXES = (".json", ".jsonl", ".yaml", ".yml")
VERDICTS = "verdicts"


class People(Judge):
    """Reads the labels that people wrote into a dataset file; sends no request.

    Without a label, the verdict is `failed` (`escalated`), and the item is written to the file when
    the run ends: its text, the open criteria, and under `metadata.verdicts` the judges' verdicts on
    them. People label the items of the file (`ground_truth` or `annotations`), and the same command
    then reads their labels. A label only applies to the text, task and criterion that it was given
    for.

    Args:
        path: the file: .json, .jsonl, .yaml or .yml. It need not exist.

    Raises:
        InputError: another suffix, or a file that is not a dataset.
    """

    name = "people"

    def __init__(self, path: str | Path) -> None:
        self.path = user_path(path)
        if self.path.suffix.lower() not in LABEL_SUFFIXES:
            raise InputError(
                f"what people are to label is written to {', '.join(LABEL_SUFFIXES)}",
                file=self.path,
            )
        self._file = RubricDataset("")
        if self.path.exists():
            self._file = RubricDataset.from_file(self.path)
        self._items: list[DataItem] = []
        self._labels: dict[str, Verdict] = {}
        for entry in self._file.to_grade():
            item = replace(
                entry.data,
                id=entry.id,
                rubric=entry.rubric,
                prompt=entry.prompt,
                reference_submission=entry.reference,
            )
            self._items.append(item)
            labels = entry.labels()
            for name, question in _questions(item).items():
                if name in labels:
                    self._labels[question] = labels[name]
        self._waiting: dict[str, DataItem] = {}
        self._settled: set[str] = set()

    def key(self, item: Item, criterion: Criterion) -> str:
        question = _question(item, criterion)
        label = self._labels.get(question)
        identity = [question, None if label is None else label.label]
        return hashlib.blake2b(orjson.dumps(identity), digest_size=16).hexdigest()

    async def judge(self, item: Item, criterion: Criterion, send: Send) -> Verdict:
        name = criterion.name
        label = self._labels.get(_question(item, criterion))
        if label is None:
            failure = Failure(ESCALATED, f"waits for people's labels in {self.path}")
            return Verdict(name, "failed", error=failure, judge=self.name)
        return replace(label, criterion=name, judge=self.name)

    def note_item(self, item: Item, verdicts: Mapping[str, Verdict]) -> None:
        """Record which verdicts of an item need a label, and which no longer do."""
        waiting = []
        for criterion in item.rubric:
            verdict = verdicts[criterion.name]
            kind = None if verdict.error is None else verdict.error.kind
            if kind == ESCALATED:
                waiting.append(
                    criterion.model_copy(update={"name": criterion.name, "requires": ()})
                )
            elif kind != "not_run":
                self._settled.add(_question(item, criterion))
        if waiting:
            answers = {
                criterion_waiting.name: _said(verdicts[criterion_waiting.name])
                for criterion_waiting in waiting
            }
            self._waiting[_subject(item)] = DataItem(
                item.data.submission,
                item.data.description,
                None,
                Rubric(waiting, guidelines=item.guidelines),
                item.reference,
                id=item.id,
                prompt=item.prompt,
                context=list(item.context),
                metadata={VERDICTS: answers},
            )

    @property
    def waiting(self) -> int:
        """The number of verdicts of the recorded items without a label."""
        return sum(len(item.rubric or ()) for item in self._waiting.values())

    def write(self) -> None:
        """Write the file: the existing labels, and the open questions.

        Raises:
            InputError: it cannot be written.
        """
        items = [item for item in self._items if self._is_kept(item)]
        places = {_subject(_shown(item)): place for place, item in enumerate(items)}
        for subject, item in self._waiting.items():
            if subject in places:
                items[places[subject]] = _merged(items[places[subject]], item)
            else:
                is_taken = any(other.id == item.id for other in items)  # by another text
                items.append(replace(item, id=f"{item.id}-{subject[:8]}") if is_taken else item)
        if not items and not self.path.exists():
            return
        try:
            self.path.parent.mkdir(parents=True, exist_ok=True)
        except OSError as error:
            raise not_written(self.path, error) from None
        replace(self._file, items=items, name=self._file.name or "people").to_file(self.path)

    def _is_kept(self, item: DataItem) -> bool:
        """Whether somebody has labelled an item of the file, or may still have to."""
        questions = _questions(item).values()
        return any(
            question in self._labels or question not in self._settled for question in questions
        )


def _shown(item: DataItem) -> Item:
    prompt, reference = item.prompt or "", item.reference_submission
    return Item(item.submission, prompt, reference, context=tuple(item.context))


def _subject(item: Item) -> str:
    texts = [str(item.submission), item.prompt, item.reference]
    content = orjson.dumps([*texts, *(document.to_json() for document in item.context)])
    return hashlib.blake2b(content, digest_size=16).hexdigest()


def _question(item: Item, criterion: Criterion) -> str:
    content = [_subject(item), criterion.requirement, list(criterion.labels), criterion.weight < 0]
    return hashlib.blake2b(orjson.dumps(content), digest_size=16).hexdigest()


def _questions(item: DataItem) -> dict[str, str]:
    """The questions of an item of the file, by criterion name."""
    rubric, shown = item.rubric, _shown(item)
    assert rubric is not None
    return {name: _question(shown, criterion) for name, criterion in rubric.by_name.items()}


def _said(verdict: Verdict) -> list[dict[str, Any]]:
    """The answers of the judges before people were asked."""
    fields = ("judge", "label", "status", "probability", "reason")
    return [
        {name: getattr(vote, name) for name in fields}
        for vote in verdict.votes
        if vote.judge != People.name
    ]


def _merged(old: DataItem, new: DataItem) -> DataItem:
    """Merge the open criteria into an item of the file, with its labels."""
    assert old.rubric is not None
    assert new.rubric is not None
    known = _questions(old)
    added = [
        criterion
        for name, criterion in new.rubric.by_name.items()
        if known.get(name) != _question(_shown(new), criterion)
    ]
    again = {criterion.name for criterion in added}
    labels = old.ground_truth or [None] * len(old.rubric)
    kept = [
        (criterion, label, old.reason(index))
        for index, (criterion, label) in enumerate(zip(old.rubric, labels, strict=True))
        if criterion.name not in again
    ]
    reasons = [*(reason for *_, reason in kept), *(None for _ in added)]
    verdicts = {**old.metadata.get(VERDICTS, {}), **new.metadata[VERDICTS]}
    return replace(
        old,
        rubric=Rubric(
            [*(criterion for criterion, *_ in kept), *added], guidelines=old.rubric.guidelines
        ),
        ground_truth=[*(label for _, label, _ in kept), *(None for _ in added)],
        ground_truth_reasons=reasons if any(reasons) else None,
        annotations={
            annotator: {name: label for name, label in labels_by_name.items() if name not in again}
            for annotator, labels_by_name in old.annotations.items()
        },
        metadata={**old.metadata, VERDICTS: verdicts},
    )
