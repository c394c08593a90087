"""Labels that people give while they work, written back to a dataset's file.

A change counts only once it is on disk. The file is replaced as a whole, so that a reader sees it
before or after a change, and a killed process leaves no partial change. Changes are made under a
lock, after reading the changes of other processes, so that several can label one file.
"""

from __future__ import annotations

import json
import os
import re
import threading
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Self

from rubricate._documents import YAML_SUFFIXES
from rubricate._files import (
    is_address,
    missing_file,
    not_written,
    table_name,
    user_path,
    write_text,
)
from rubricate.dataset.items._item import Item
from rubricate.dataset.items._mapping import TableColumns
from rubricate.dataset.items._rubric_dataset import (
    RubricDataset,
    at_line,
    document_text,
    read_whole,
)
from rubricate.dataset.items._selection import LabelSelection
from rubricate.dataset.items._table import is_table, read_table
from rubricate.errors import InputError
from rubricate.rubric import Rubric

LOCK_SECONDS = 30.0
"""How long a change waits for another process to finish its own, in seconds."""
BY_HAND = LabelSelection("by_hand")
COMMENT = re.compile(r"(^|\s)#", re.MULTILINE)


@dataclass(frozen=True, slots=True)
class NewLabel:
    """An annotator's label for an item; None withdraws an earlier label.

    Attributes:
        item: the item's id.
        annotator: the person's name.
        criterion: the criterion's name.
        label: MET, UNMET, an option's label, or CANNOT_ASSESS; None withdraws it.
        selection: how the item was chosen. The first label of a criterion decides; a second
            person's label does not change it.
    """

    item: str
    annotator: str
    criterion: str
    label: str | None
    selection: LabelSelection = BY_HAND


@dataclass(frozen=True, slots=True)
class Adjudication:
    """The final label, whatever annotators chose before; None withdraws a decision."""

    item: str
    annotator: str
    criterion: str
    label: str | None
    reason: str = ""


Change = NewLabel | Adjudication


@dataclass(frozen=True, slots=True)
class _Held:
    """The contents of the file, as far as they were read."""

    dataset: RubricDataset
    items: list[Item]
    indices: dict[str, int]


class LabelFile:
    """A dataset's file to which labels are written.

    One thread may make changes while others read.

    Args:
        path: a dataset in JSON, YAML or JSON Lines.
        rubric: a rubric that replaces the file's own.

    Attributes:
        path: the file.

    Raises:
        InputError: it is not a dataset, or its folder is not writable.
    """

    def __init__(self, path: str | Path, rubric: Rubric | None = None) -> None:
        self.path = user_path(path)
        self._rubric = rubric
        self._seen: tuple[int, ...] | None = None
        self._changing = threading.Lock()
        self._held: _Held
        self.refresh()
        if not os.access(self.path.parent, os.W_OK) or not os.access(self.path, os.W_OK):
            raise InputError("cannot be written: labels go back into it", file=self.path)

    @classmethod
    def of_dataset(cls, path: Path, dataset: RubricDataset) -> Self:
        """Open the file of a dataset, and create it if it does not exist; missing items are added.

        Raises:
            InputError: it cannot be read or written.
        """
        if not path.exists():
            text = json.dumps(dataset.to_dict(), indent=2, ensure_ascii=False) + "\n"
            write_text(path, text, durable=True)
        file = cls(path)
        if not {*dataset.item_ids()} <= file._held.indices.keys():
            file.apply([], dataset)
        return file

    @property
    def dataset(self) -> RubricDataset:
        """The contents of the file."""
        return self._held.dataset

    @property
    def items(self) -> list[Item]:
        """Its items with their ids, rubrics, prompts and references."""
        return self._held.items

    def refresh(self) -> None:
        """Read the file again if somebody else has changed it; must not run during a change."""
        if self._changing.acquire(blocking=False):
            try:
                self._refresh()
            finally:
                self._changing.release()

    def _refresh(self) -> None:
        seen = self._state()
        if seen is not None and seen == self._seen:
            return
        self._document, lines = read_whole(self.path)
        try:
            self._hold(RubricDataset.from_dict(self._document, rubric=self._rubric))
        except InputError as error:
            raise at_line(error, self.path, lines) from None
        self._seen = seen

    def _hold(self, dataset: RubricDataset) -> None:
        items = list(dataset.to_grade())
        indices = {item.id: index for index, item in enumerate(items)}
        self._held = _Held(dataset, items, indices)

    def item(self, name: str) -> Item:
        """Return the item with this id. Raises `InputError` if there is none."""
        held = self._held
        if name not in held.indices:
            raise InputError(f"there is no item '{name}'", file=self.path)
        return held.items[held.indices[name]]

    def apply(self, changes: Sequence[Change], new: RubricDataset | None = None) -> None:
        """Make changes; they are on disk when this returns.

        Args:
            changes: the changes.
            new: items to add first, unless the file has them by now.

        Raises:
            InputError: an item or criterion does not exist (any more), or the file cannot be
                written.
        """
        from filelock import FileLock, Timeout

        lock = self.path.with_name(f".{self.path.name}.lock")
        try:
            with self._changing, FileLock(lock, timeout=LOCK_SECONDS):
                self._refresh()
                if new is not None:
                    self._add(new)
                touched = {self._changed(change) for change in changes}
                before = self.path.read_text("utf-8-sig")
                self._keep_comments(before)
                write_text(
                    self.path, document_text(self.path, self._document, before), durable=True
                )
                self._seen = self._state()
                self._reread(touched)
        except Timeout:
            raise InputError(
                f"another process has held it for {LOCK_SECONDS:g} seconds", file=self.path
            ) from None
        except NotImplementedError:  # from filelock, on a file system without locks
            raise InputError("its file system has no locks", file=self.path) from None
        except OSError as error:
            self._seen = None  # memory and file differ
            raise not_written(self.path, error) from None
        except InputError:
            self._seen = None
            raise

    def _add(self, new: RubricDataset) -> None:
        items = zip(new.item_ids(), new.to_dict()["items"], strict=True)
        self._document["items"] += [item for id, item in items if id not in self._held.indices]
        self._hold(RubricDataset.from_dict(self._document, rubric=self._rubric))

    def _changed(self, change: Change) -> int:
        """Make a change in the document; return the index of its item."""
        rubric, index = self.item(change.item).rubric, self._held.indices[change.item]
        if change.criterion not in rubric.names:
            raise InputError(f"'{change.item}' has no criterion '{change.criterion}'")
        item: dict[str, Any] = self._document["items"][index]
        was_labelled = _is_labelled(item, change.criterion, rubric)
        selection = BY_HAND
        if isinstance(change, NewLabel):
            selection = change.selection
            _put(item, "annotations", change.annotator, change.criterion, change.label)
        else:
            _adjudicate(item, change, rubric)
        if not _is_labelled(item, change.criterion, rubric):
            _put(item, "selection", change.criterion, None, None)
        elif not was_labelled:
            _put(item, "selection", change.criterion, None, selection.to_dict())
        return index

    def _reread(self, touched: Iterable[int]) -> None:
        """Reread changed items, without checking the others again."""
        for index in touched:
            before = self.items[index]
            part = {**self._document, "items": [self._document["items"][index]]}
            data = RubricDataset.from_dict(part, rubric=self._rubric).items[0]
            self.dataset.items[index] = data
            self.items[index] = replace(before, data=data)

    @property
    def loses_comments(self) -> bool:
        """Whether it is YAML with comments, which the first label will remove."""
        is_yaml = self.path.suffix.lower() in YAML_SUFFIXES
        return is_yaml and COMMENT.search(self.path.read_text("utf-8-sig")) is not None

    def _keep_comments(self, before: str) -> None:
        """Copy the file once before its comments are lost, because YAML is written without them."""
        copy = self.path.with_name(f"{self.path.name}.before-labels")
        is_yaml = self.path.suffix.lower() in YAML_SUFFIXES
        if is_yaml and COMMENT.search(before) and not os.path.lexists(copy):
            write_text(copy, before, durable=True)

    def _state(self) -> tuple[int, ...] | None:
        try:
            status = self.path.stat()
        except OSError:
            return None
        return status.st_ino, status.st_size, status.st_mtime_ns


def _adjudicate(item: dict[str, Any], change: Adjudication, rubric: Rubric) -> None:
    """Store a decision in an item of the document."""
    labels = item.get("ground_truth") or [None] * len(rubric)
    labels[rubric.names.index(change.criterion)] = change.label
    item["ground_truth"] = labels if any(label is not None for label in labels) else None
    if item.get("ground_truth_reasons"):  # drop the reason for the old label
        reasons = item["ground_truth_reasons"]
        reasons[rubric.names.index(change.criterion)] = change.reason or None
        item["ground_truth_reasons"] = reasons if item["ground_truth"] else None
    decision = {"annotator": change.annotator, "label": change.label, "reason": change.reason}
    kept = None if change.label is None else {key: text for key, text in decision.items() if text}
    _put(item, "adjudications", change.criterion, None, kept)


def _is_labelled(item: dict[str, Any], criterion: str, rubric: Rubric) -> bool:
    """Whether anybody has labelled a criterion of an item."""
    truth = item.get("ground_truth") or [None] * len(rubric)
    annotations = (item.get("annotations") or {}).values()
    return truth[rubric.names.index(criterion)] is not None or any(
        labels.get(criterion) is not None for labels in annotations
    )


def _put(
    item: dict[str, Any], field: str, outer: str, inner: str | None, value: object | None
) -> None:
    """Set or delete `item[field][outer]`, or `[outer][inner]`; empty objects are deleted."""
    whole = item.get(field) or {}
    if inner is not None:
        part = dict(whole.get(outer) or {})
        part.pop(inner, None)
        if value is not None:
            part[inner] = value
        value = part or None
    whole.pop(outer, None) if value is None else whole.__setitem__(outer, value)
    if whole:
        item[field] = whole
    else:
        item.pop(field, None)


def open_label_file(
    data: str, rubric: Rubric | None = None, columns: TableColumns | None = None
) -> LabelFile:
    """Open the file for the labels of `data`.

    A dataset's labels go back to its file. Those of a table go to a dataset beside it,
    `NAME.labelled.json` (for a URL or `hf:`, in the current folder), which is created if it does
    not exist; new rows are added to it.

    Args:
        data: the data argument of `rubricate grade`.
        rubric: the rubric of a table, or one that replaces the dataset's own.
        columns: the meaning of a table's columns.

    Raises:
        InputError: it cannot be read or written, or a table has no rubric.
    """
    if columns is None and not is_table(data):
        return LabelFile(data, rubric)
    local = user_path(data).exists()
    folder = user_path(data).parent if local else Path()
    name = re.sub(r"[^A-Za-z0-9._-]+", "-", table_name(data)).strip("-.") or "table"
    path = folder / f"{name}.labelled.json"
    if path.is_symlink():  # somebody else may have put it there
        raise InputError("is a link, and labels would be written through it: remove it", file=path)
    if rubric is None:
        if not path.exists():
            if not local and not is_address(data) and not data.startswith("hf:"):
                raise missing_file(user_path(data), data)
            raise InputError("a table has no rubric: give --rubric", file=data)
        rubric = RubricDataset.from_file(path).rubric
    assert rubric is not None
    table = read_table(data, rubric, columns)
    items = [item.data for item in table.to_grade()]
    return LabelFile.of_dataset(path, RubricDataset("", rubric, items, name))
