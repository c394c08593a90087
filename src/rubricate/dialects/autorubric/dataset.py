"""`autorubric.dataset`."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from rubricate import dataset as core, rubric as core_rubric
from rubricate._documents import parse_json_lines, read_document, read_text
from rubricate._files import user_path
from rubricate.dataset import DataItem as DataItem
from rubricate.dialects.autorubric._criteria import CriterionVerdict
from rubricate.dialects.autorubric._documents import to_autorubric
from rubricate.dialects.autorubric.rubric import Rubric
from rubricate.errors import InputError, errors_within


class RubricDataset(core.RubricDataset):
    """A dataset that is read and written in AutoRubric's file formats."""

    @classmethod
    def from_dict(cls, data: Any, *, rubric: core_rubric.Rubric | None = None) -> RubricDataset:
        """Build a dataset from loaded JSON or YAML; see `Rubric.from_dict` for its rubrics."""
        if not isinstance(data, Mapping):
            raise InputError(f"Expected JSON object, got {type(data).__name__}")
        data = _with_rubric(data, ())
        if isinstance(items := data.get("items"), list):
            items = [_with_rubric(item, ("items", index)) for index, item in enumerate(items)]
            data = {**data, "items": items}
        dataset = super().from_dict(data, rubric=rubric)
        assert isinstance(dataset, RubricDataset)
        return dataset

    @classmethod
    def from_file(
        cls, path: str | Path, *, rubric: core_rubric.Rubric | None = None
    ) -> RubricDataset:
        """Load a dataset from JSON, YAML or JSON Lines."""
        with errors_within(file=path):
            if user_path(path).suffix.lower() != ".jsonl":
                return cls.from_dict(read_document(path), rubric=rubric)
            head, *items = [line for _, line in parse_json_lines(read_text(path))]
            return cls.from_dict({**head, "items": [*head.get("items", ()), *items]}, rubric=rubric)

    def _check_labels(self, item: DataItem, path: Sequence[str | int]) -> None:
        super()._check_labels(item, path)
        item.ground_truth = item.ground_truth and [
            CriterionVerdict(label) if isinstance(label, core_rubric.CriterionVerdict) else label
            for label in item.ground_truth
        ]

    @property
    def criterion_names(self) -> list[str]:
        """The names of the rubric's criteria; without a name, it is `C` and its number."""
        criteria = self._global_rubric().criteria
        return [c.name if c.is_named else f"C{n}" for n, c in enumerate(criteria, start=1)]

    def to_dict(self) -> dict[str, Any]:
        """Return the dataset as it is written to a file."""
        data = super().to_dict()
        items = [_with_rubric_to_autorubric(item) for item in data["items"]]
        return {**_with_rubric_to_autorubric(data), "items": items}


def _with_rubric(data: Any, path: tuple[str | int, ...]) -> Any:
    """Build the rubric of a dataset or item, if it has one."""
    if not isinstance(data, Mapping) or data.get("rubric") is None:
        return data
    with errors_within(*path, "rubric"):
        return {**data, "rubric": Rubric.from_dict(data["rubric"])}


def _with_rubric_to_autorubric(data: dict[str, Any]) -> dict[str, Any]:
    return {**data, "rubric": to_autorubric(data["rubric"])} if data.get("rubric") else data
