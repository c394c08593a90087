"""Labels that people give on the page of a run (`rubricate view`).

They are stored in `labelled.json` in the run folder: a dataset of the items with such labels, each
of which is an adjudication. All readers of the run see them in place of the labels in the graded
dataset. For other criteria, the dataset's labels remain, also after the run was repeated."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Self

from rubricate.analysis._texts import TextFile
from rubricate.dataset import Item, RubricDataset
from rubricate.errors import InputError
from rubricate.rubric import Rubric, ScoringRules
from rubricate.run.results import ItemResult, ResultRow, rows_of

LABELS_NAME = "labelled.json"
_ITEM_FIELDS = ("groups", "human_score")
"""The fields of a row that depend on all labels of its item."""
_LABEL_FIELDS = ("human_label", "human_value", "human_reason", "human_selection", *_ITEM_FIELDS)
"""All fields of a row that depend on labels."""


@dataclass(frozen=True)
class PageLabels:
    """Labels of some items of a run.

    Attributes:
        path: the file with the labels.
        items: the items with their labels, by id.
        ignored: the number of items in the file whose text in the run is another one.
    """

    path: Path
    items: Mapping[str, Item]
    ignored: int = 0

    @classmethod
    def of(cls, folder: Path) -> Self | None:
        """Read the labels in a run folder; None if there are none.

        Raises:
            InputError: the file is damaged.
        """
        path = folder / LABELS_NAME
        if not path.exists():
            return None
        items = {item.id: item for item in RubricDataset.from_file(path).to_grade()}
        with TextFile(folder) as texts:
            same = {
                name: item
                for name, item in items.items()
                if (known := texts.get(name)) is None or known.submission in (None, item.submission)
            }
        return cls(path, same, len(items) - len(same))

    @property
    def count(self) -> int:
        """The number of labels from the page."""
        return sum(len(item.data.adjudications) for item in self.items.values())

    @property
    def text(self) -> str:
        """Their number and place, in words."""
        text = f"{self.count} labels are from {self.path}, given beside the judge's verdict"
        if self.ignored:
            text += f"; labels of {self.ignored} items are ignored, because the run has other texts"
        return text

    def applied(
        self, rows: tuple[ResultRow, ...], rubric: Rubric, rules: ScoringRules
    ) -> tuple[ResultRow, ...]:
        """Return the rows of an item with its current labels.

        Raises:
            InputError: a label is not one of the criterion's.
        """
        item = self.items.get(rows[0].item)
        if item is None:
            return rows
        verdicts = {row.criterion: row for row in rows}
        decided = item.data.adjudications
        try:
            of_page = _with_labels(item, rubric, verdicts)
            labelled = ItemResult.scored(of_page, verdicts, rules)
        except KeyError:  # results of another rubric, which readers report
            return rows
        except InputError as error:
            raise InputError(f"{item.id}: {error}", file=self.path) from None
        penalty = rows[0].item_score.penalty
        if labelled.human_score is not None and penalty:
            labelled = replace(labelled, human_score=labelled.human_score.less(penalty))
        now = {row.criterion: row for row in rows_of(labelled)}
        return tuple(
            replace(
                row,
                **{
                    name: getattr(now[row.criterion], name)
                    for name in (_LABEL_FIELDS if row.criterion in decided else _ITEM_FIELDS)
                },
            )
            for row in rows
        )


def _with_labels(item: Item, rubric: Rubric, graded: Mapping[str, ResultRow]) -> Item:
    """Return the item with the decisions from the page and the other labels of the run."""
    labels: list[Any] = [graded[name].human_label for name in rubric.names]
    reasons = [graded[name].human_reason for name in rubric.names]
    for place, name in enumerate(rubric.names):
        if name in item.data.adjudications:
            labels[place] = item.data.adjudications[name].get("label")
            reasons[place] = None  # the reason of the decision counts
    data = replace(item.data, ground_truth=labels, ground_truth_reasons=reasons, annotations={})
    return replace(item, data=data, rubric=rubric)
