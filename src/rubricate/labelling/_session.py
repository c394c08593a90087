"""Labelling sessions: blind labels first, then the labels of the judge and of others."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from rubricate._files import user_path
from rubricate._spelling import unknown_word
from rubricate.analysis import read_run
from rubricate.dataset import Adjudication, Change, Item, LabelFile, LabelSelection, NewLabel
from rubricate.errors import InputError
from rubricate.labelling._order import Order, chances, label_order
from rubricate.rubric import ABSTENTION, Criterion, Rubric, confidence
from rubricate.views import opening, tell_apart

LONGEST_NAME = 60
"""The maximum length of an annotator's name."""
DIGITS = "0123456789"
BINARY_KEYS = {"MET": "m", "UNMET": "u"}
DECIDED = ("judged", "not_applicable", "skipped")
"""The statuses of verdicts that are not pending."""


@dataclass(frozen=True, slots=True)
class _JudgeVerdicts:
    """The judge's verdicts on an item, by criterion, as far as page and order need them."""

    confidences: dict[str, float | None]
    labels: dict[str, str]
    reasons: dict[str, str | None]


class LabelSession:
    """The labelling of a dataset by any number of annotators.

    Labels are blind: the verdicts of the judge and the labels of others are shown only once all
    criteria of an item are labelled. From then on, the annotator's own labels of the item are
    fixed, and an annotator who changes their mind adjudicates.

    Args:
        file: the file for the labels.
        run: the folder of a run on the dataset, whose verdicts are shown afterwards.
        order: which items come first; see `label_order`. Each label records how its item was
            chosen. Default: `random`; with `items` and no order, items count as chosen by hand.
        seed: the random seed of the order.
        items: the ids of the items to label, such as those from `trust ppi --next`; empty for all.

    Attributes:
        order: the ids of all items, in the order in which to label them.
        how: the kind of order.

    Raises:
        InputError: it is not a run folder, or has none of the dataset's items; an item is not in
            the dataset; or the order needs a run.
    """

    def __init__(
        self,
        file: LabelFile,
        *,
        run: str | Path | None = None,
        order: Order | None = None,
        seed: int = 0,
        items: Collection[str] = (),
    ) -> None:
        if not file.items:
            raise InputError("the dataset has no items to label", file=file.path)
        known = [entry.id for entry in file.items]
        for item in items:
            if item not in known:
                raise InputError(unknown_word("item", item, known[:20]), file=file.path)
        self.file = file
        self.items = frozenset(items)
        self.judge: str | None = None
        self._judged: dict[str, _JudgeVerdicts] = {}
        if run is not None:
            self._read(user_path(run))
        self.how: Order = order or "random"
        if run is None and self.how != "random":
            raise InputError(
                f"the order '{self.how}' needs a run (--run): its judge says where it is unsure"
            )
        confidences = {item: verdicts.confidences for item, verdicts in self._judged.items()}
        self._chances = chances(file.items, confidences if self.how == "active" else {})
        self._by_hand = bool(items) and order is None
        self.order = label_order(
            file.items,
            self.how,
            confidences=confidences,
            labels={item: verdicts.labels for item, verdicts in self._judged.items()},
            seed=seed,
        )
        self._seen = {
            (annotator, entry.id)
            for entry in file.items
            for annotator in entry.data.annotations
            if self._complete(entry, annotator) and self._something_to_show(entry, annotator)
        }

    def _read(self, folder: Path) -> None:
        run = read_run(folder)
        self.judge = run.judge
        known = {entry.id for entry in self.file.items}
        for rows in run.item_rows():
            if rows[0].item in known:
                self._judged[rows[0].item] = _JudgeVerdicts(
                    {
                        row.criterion: confidence(row) if row.status in DECIDED else 0.0
                        for row in rows
                    },
                    {row.criterion: row.answer_text for row in rows},
                    {row.criterion: row.reason for row in rows},
                )
        if not self._judged:
            raise InputError(f"has none of the items of {self.file.path}", file=folder)

    # What annotators see

    def overview(self, annotator: str) -> dict[str, Any]:
        """The dataset and its items in order, with the progress of the annotator."""
        self.file.refresh()
        annotator = checked_name(annotator)
        dataset = self.file.dataset
        ordered = list(self._ordered())
        apart = tell_apart(entry.data.description for entry in ordered)
        return {
            "name": dataset.name or self.file.path.stem,
            "annotator": annotator,
            "judge": self.judge,
            "order": self.how,
            "items": [
                self._line(entry, annotator)
                | ({} if is_apart else {"opening": opening(entry.data.submission)})
                for entry, is_apart in zip(ordered, apart, strict=True)
            ],
        }

    def _ordered(self) -> Iterator[Item]:
        entries = {entry.id: entry for entry in self.file.items}
        for item in dict.fromkeys((*self.order, *entries)):
            if item in entries and (not self.items or item in self.items):
                yield entries[item]

    def _line(self, entry: Item, annotator: str) -> dict[str, Any]:
        return {
            "id": entry.id,
            "description": entry.data.description,
            "labelled": len(self._own(entry, annotator).keys() & _asked(entry)),
            "criteria": len(_asked(entry)),
        }

    def item(self, item: str, annotator: str) -> dict[str, Any]:
        """The texts and criteria of an item, with only the annotator's own labels."""
        self.file.refresh()
        entry, annotator = self.file.item(item), checked_name(annotator)
        return {
            **self._line(entry, annotator),
            "prompt": entry.prompt,
            "reference": entry.reference,
            "context": [document.to_json() for document in entry.data.context],
            "submission": entry.data.submission,
            "guidelines": entry.rubric.guidelines,
            "questions": [
                {**_question(entry.rubric.by_name[name]), "path": entry.rubric.paths[name]}
                for name in _asked(entry)
            ],
            "labels": self._own(entry, annotator),
            "reviewed": (annotator, entry.id) in self._seen,
        }

    def review(self, item: str, annotator: str) -> dict[str, Any]:
        """The labels of the judge and of others. The annotator's own labels are fixed from now on.

        Raises:
            InputError: some criteria are not labelled yet.
        """
        entry, annotator = self.file.item(item), checked_name(annotator)
        if not self._complete(entry, annotator):
            raise InputError("the judge's verdict is shown when every criterion has a label")
        if self._something_to_show(entry, annotator):
            self._seen.add((annotator, entry.id))
        verdicts = self._judged.get(entry.id)
        people = entry.labels()
        decided: Mapping[str, Any] = entry.data.adjudications
        return {
            "judge": self.judge,
            "locked": (annotator, entry.id) in self._seen,
            "criteria": {
                name: {
                    "judge": None if verdicts is None else verdicts.labels.get(name),
                    "reason": None if verdicts is None else verdicts.reasons.get(name),
                    "others": {
                        other: labels[name]
                        for other, labels in entry.data.annotations.items()
                        if other != annotator and labels.get(name) is not None
                    },
                    "label": people[name].label if name in people else None,
                    "why": people[name].reason if name in people else None,
                    "decided": decided.get(name),
                }
                for name in _asked(entry)
            },
        }

    # What annotators do

    def label(self, item: str, annotator: str, criterion: str, label: object) -> Change:
        """The change that sets a label of an item, or removes it (None).

        Raises:
            InputError: the criterion has no such label, or the annotator has seen the labels of the
                judge or others.
        """
        entry, annotator = self.file.item(item), checked_name(annotator)
        if (annotator, item) in self._seen:
            raise InputError("you have seen what the others say: decide instead of relabelling")
        chosen = checked_label(entry.rubric, criterion, label)
        return NewLabel(item, annotator, criterion, chosen, self._selection(item))

    def _selection(self, item: str) -> LabelSelection:
        if self._by_hand or item not in self._chances:  # the item was added in the meantime
            return LabelSelection("by_hand")
        return LabelSelection(self.how, None if self.how == "uncertainty" else self._chances[item])

    def adjudicate(
        self, item: str, annotator: str, criterion: str, label: object, reason: str
    ) -> Change:
        """The change that adjudicates a label of an item, or removes the decision (None).

        Raises:
            InputError: the criterion has no such label, or the annotator has not labelled the item.
        """
        entry, annotator = self.file.item(item), checked_name(annotator)
        if not self._complete(entry, annotator):
            raise InputError("label every criterion of the item first")
        chosen = checked_label(entry.rubric, criterion, label)
        return Adjudication(item, annotator, criterion, chosen, reason.strip()[:10_000])

    def progress(self) -> tuple[int, int]:
        """The numbers of completely labelled items and of all items."""
        entries = [*self._ordered()]
        return sum(entry.labels().keys() >= {*_asked(entry)} for entry in entries), len(entries)

    def _own(self, entry: Item, annotator: str) -> dict[str, str]:
        own = entry.data.annotations.get(annotator, {})
        return {name: str(label) for name, label in own.items() if label is not None}

    def _complete(self, entry: Item, annotator: str) -> bool:
        return self._own(entry, annotator).keys() >= {*_asked(entry)}

    def _something_to_show(self, entry: Item, annotator: str) -> bool:
        others = [name for name in entry.data.annotations if name != annotator]
        return entry.id in self._judged or bool(others) or entry.data.ground_truth is not None


def _asked(entry: Item) -> list[str]:
    """The criteria that annotators label: those that need a judge, unless code computes all."""
    names = [criterion.name for criterion in entry.rubric if criterion.needs_judge]
    return names or entry.rubric.names


def checked_name(annotator: str) -> str:
    """Return an annotator's name, stripped; `InputError` if it is invalid."""
    name = annotator.strip()
    if not name or len(name) > LONGEST_NAME or not name.isprintable():
        raise InputError(f"an annotator's name has 1 to {LONGEST_NAME} letters, found {name!r}")
    return name


def checked_label(rubric: Rubric, criterion: str, label: object) -> str | None:
    """Check a label of a criterion; None, which removes a label, is valid, too."""
    question = rubric.by_name.get(criterion)
    if question is None:
        raise InputError(f"the rubric has no criterion '{criterion}'")
    if label is None:
        return None
    try:
        return question.label_of(label)
    except InputError as error:
        raise InputError(f"'{criterion}' {error.message}") from None


def _question(criterion: Criterion) -> dict[str, Any]:
    """A criterion for display, without its weight, except for whether MET costs points."""
    question = criterion.question
    meanings = {answer.label: answer.meaning for answer in question.answers}
    return {
        "criterion": criterion.name,
        "requirement": question.requirement,
        "note": criterion.note,
        "material": question.material,
        "fault": criterion.weight < 0,
        "answers": [
            {"label": label, "meaning": meanings.get(label), "key": key}
            for label, key in _keys(criterion)
        ],
        "typed": _typed(criterion),
    }


def _keys(criterion: Criterion) -> list[tuple[str, str | None]]:
    """The answers, each with its key; None for an answer that is typed."""
    labels = [label for label in criterion.labels if label != ABSTENTION]
    keys: Sequence[str | None]
    if all(label in BINARY_KEYS for label in labels):
        keys = [BINARY_KEYS[label] for label in labels]
    elif set(labels) <= {*DIGITS, "10"} and not {"0", "10"} <= set(labels):
        keys = [label[-1] for label in labels]
    elif len(labels) < len(DIGITS):
        keys = DIGITS[1 : len(labels) + 1]
    else:
        keys = [None] * len(labels)
    return [*zip(labels, keys, strict=True), (ABSTENTION, "c")]


def _typed(criterion: Criterion) -> str | None:
    """Say what to type for an answer without a key; None if every answer has one."""
    if not criterion.labels:
        numeric = criterion.measurement == "numeric"
        return "a number from 0 to 1" if numeric else "a whole number"
    return None if all(key for _, key in _keys(criterion)) else "an answer, or its number"
