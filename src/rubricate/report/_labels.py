"""Labels from the page of a run, where people see the judge's verdict first.

They are written to a dataset file like those of `rubricate label`, but as decisions
(`dataset.Adjudication`) rather than as blind labels of an annotator. By default, the file is
`labelled.json` in the run folder: a dataset of the items labelled on the page.
"""

from __future__ import annotations

from dataclasses import replace
from functools import cached_property
from itertools import groupby
from operator import attrgetter
from pathlib import Path
from typing import Any

from rubricate._files import check_no_links, user_path
from rubricate.analysis import LABELS_NAME, FinishedItem, FinishedRun, PageLabels, TextFile
from rubricate.dataset import Adjudication, LabelFile, LabelSelection, RubricDataset
from rubricate.errors import InputError
from rubricate.labelling import checked_label, checked_name
from rubricate.rubric import Rubric
from rubricate.run.results import ResultRow, differs_from_label

LONGEST_REASON = 10_000
"""In characters."""


class RunLabels:
    """The labels of a run's items, in a dataset file.

    Args:
        run: the run with the labels of the graded dataset.
        file: the dataset file, in which items are matched by id. Default: `labelled.json` in the
            run folder, which is created with the first label; an item is added with its first.

    Attributes:
        path: the file.

    Raises:
        InputError: the file cannot be read, or has none of the run's items.
    """

    def __init__(self, run: FinishedRun, file: str | Path | None = None) -> None:
        self._run = run
        self._grows = file is None
        self.path = run.path / LABELS_NAME if file is None else user_path(file)
        check_no_links(run.path)
        self._file = LabelFile(self.path) if file is not None or self.path.exists() else None
        if not self._grows and self._item_ids.isdisjoint(run.item_scores):
            raise InputError(f"has none of the items of {run.path}", file=self.path)

    @property
    def _item_ids(self) -> set[str]:
        """The ids of the items in the file."""
        return set() if self._file is None else {item.id for item in self._file.items}

    @property
    def run(self) -> FinishedRun:
        """The run with its current labels."""
        if self._grows:
            labels = PageLabels.of(self._run.path)
        else:
            assert self._file is not None
            self._file.refresh()
            labels = PageLabels(self.path, {item.id: item for item in self._file.items})
        return replace(self._run, held=self._run, labels=labels)

    def shown(self) -> dict[str, dict[str, dict[str, Any]]]:
        """The labels that differ from those of the graded dataset, by item and criterion, for the
        page."""
        changed: dict[str, dict[str, dict[str, Any]]] = {}
        for before, row in zip(self._run.rows, self.run.rows, strict=True):
            if (row.human_label, row.human_reason) != (before.human_label, before.human_reason):
                changed.setdefault(row.item, {})[row.criterion] = self._page_label(row)
        return changed

    def _page_label(self, row: ResultRow) -> dict[str, Any]:
        criterion = self._run.rubric_of(row.item).by_name[row.criterion]
        return {
            "label": row.human_label,
            "value": row.human_value,
            "score": row.human_score,
            "reason": row.human_reason,
            "differs": differs_from_label(criterion, row),
        }

    def decide(self, annotator: str, item: str, criterion: str, label: object, reason: str) -> Any:
        """Write a decision to disk before returning; the label None removes it.

        Returns:
            The data for the page.

        Raises:
            InputError: there is no such item or criterion, the label is not one of the criterion's,
                or the file cannot be written.
        """
        rows = self._rows.get(item)
        if rows is None:
            raise InputError(f"there is no item '{item}'", file=self._run.path)
        annotator = checked_name(annotator)
        rubric = self._run.rubric_of(item)
        chosen = checked_label(rubric, criterion, label)
        change = Adjudication(item, annotator, criterion, chosen, reason.strip()[:LONGEST_REASON])
        new = None
        if self._grows:
            held = PageLabels.of(self._run.path)
            if held is None:
                self._file = None  # no label yet, or the file was deleted
            if item not in self._item_ids:
                new = self._dataset(item)
                self._file = self._file or LabelFile.of_dataset(self.path, new)
            elif held is not None and item not in held.items:
                raise InputError(
                    f"has another text of '{item}': move it away, and label again", file=self.path
                )
        assert self._file is not None
        self._file.apply([change], new)
        labels = PageLabels(self.path, {item: self._file.item(item)})
        now = labels.applied(rows, rubric, self._run.rules)
        return self._page_label(next(row for row in now if row.criterion == criterion))

    @cached_property
    def _rows(self) -> dict[str, tuple[ResultRow, ...]]:
        groups = groupby(self._run.rows, attrgetter("item"))
        return {item: tuple(rows) for item, rows in groups}

    def _dataset(self, name: str) -> RubricDataset:
        """A dataset with one item of the run and its labels."""
        rows, rubrics = self._rows[name], self._run.rubrics
        with TextFile(self._run.path) as file:
            texts = file.get(name)
        if texts is None:
            raise InputError(
                "has no texts to make a dataset of: name one with --labels", file=self._run.path
            )
        item = FinishedItem.of(texts, rows).data()
        item.id = name
        labels: list[Any] = [row.human_label for row in rows]
        if any(label is not None for label in labels):
            item.ground_truth = labels
            item.ground_truth_reasons = [row.human_reason for row in rows]
        item.selection = {
            row.criterion: LabelSelection(
                row.human_selection["how"], row.human_selection.get("probability")
            )
            for row in rows
            if row.human_selection is not None
        }
        shared = rubrics if isinstance(rubrics, Rubric) else None
        if shared is None:
            item.rubric = self._run.rubric_of(name)
        return RubricDataset(None, shared, [item], self._run.summary.get("dataset"))
