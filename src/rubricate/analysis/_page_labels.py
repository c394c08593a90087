"""Labels that people give on the page of a run (`rubricate view`).

They are in `labelled.json` in the run folder: a dataset of the items that have such labels, each
an adjudication. Every reader of the run sees them in place of those that the run was graded with;
on other criteria these hold, also where the same command has written the run again since.
"""

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
"""The fields of a row that rest on all labels of its item."""
_LABEL_FIELDS = ("human_label", "human_value", "human_reason", "human_selection", *_ITEM_FIELDS)
"""Those and the fields that rest on its own."""


@dataclass(frozen=True)
class PageLabels:
    """Labels of some items of a run.

    Attributes:
        path: their file.
        items: the items with their labels, by id.
        ignored: items of the file that the run has with another text.
    """

    path: Path
    items: Mapping[str, Item]
    ignored: int = 0

    @classmethod
    def of(cls, folder: Path) -> Self | None:
        """The labels in a run folder; None where it has none.

        Raises:
            InputError: their file is damaged.
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
        """How many labels were given on the page."""
        return sum(len(item.data.adjudications) for item in self.items.values())

    @property
    def text(self) -> str:
        """How many there are, and where, in words."""
        text = f"{self.count} labels are from {self.path}, given beside the judge's verdict"
        if self.ignored:
            text += f"; labels of {self.ignored} items are ignored, because the run has other texts"
        return text

    def applied(
        self, rows: tuple[ResultRow, ...], rubric: Rubric, rules: ScoringRules
    ) -> tuple[ResultRow, ...]:
        """An item's rows with its labels of now.

        Raises:
            InputError: a label is none of the criterion's.
        """
        item = self.items.get(rows[0].item)
        if item is None:
            return rows
        verdicts = {row.criterion: row for row in rows}
        decided = item.data.adjudications
        try:
            of_page = _with_labels(item, rubric, verdicts)
            labelled = ItemResult.scored(of_page, verdicts, rules)
        except KeyError:  # results of another rubric, which their readers complain of
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
    """The item with what was decided on the page; its other labels are those of the run."""
    labels: list[Any] = [graded[name].human_label for name in rubric.names]
    reasons = [graded[name].human_reason for name in rubric.names]
    for place, name in enumerate(rubric.names):
        if name in item.data.adjudications:
            labels[place] = item.data.adjudications[name].get("label")
            reasons[place] = None  # that of the decision
    data = replace(item.data, ground_truth=labels, ground_truth_reasons=reasons, annotations={})
    return replace(item, data=data, rubric=rubric)
