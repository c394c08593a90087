"""The run folder: journal.sqlite, results.jsonl, rubric.yaml and summary.json."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any

from rubricate._documents import format_yaml
from rubricate.errors import InputError
from rubricate.run._plan import PlannedItem
from rubricate.run._records import to_json, verdict_record
from rubricate.run._results import ItemResult, Result

__all__ = ["RunFolder", "result_rows"]


class RunFolder:
    """A folder that a run writes into; made, and tried for writing, when it is opened.

    Raises:
        InputError: it cannot be written.
    """

    def __init__(self, path: str | Path) -> None:
        self.path = Path(path)
        self.journal = self.path / "journal.sqlite"
        self.results = self.path / "results.jsonl"
        self.rubric = self.path / "rubric.yaml"
        self.summary = self.path / "summary.json"
        try:
            self.path.mkdir(mode=0o700, parents=True, exist_ok=True)
            probe = self.path / f".probe-{os.getpid()}"
            probe.touch()
            probe.unlink()
        except OSError as error:
            raise InputError(
                f"the run folder cannot be written: {error.strerror}; choose another --run-dir",
                file=self.path,
            ) from None

    def write_rubric(self, planned: list[PlannedItem]) -> None:
        """Write what was asked: the rubric, or one for each item where they differ."""
        rubrics = {id(entry.rubric): entry.rubric for entry in planned}
        content: Any
        if len(rubrics) == 1:
            (content,) = (rubric.to_dict() for rubric in rubrics.values())
        else:
            content = {"items": {entry.id: entry.rubric.to_dict() for entry in planned}}
        _replace(self.rubric, format_yaml(content).encode())

    def write_results(self, result: Result) -> None:
        """Write one line a verdict, in the order of the dataset."""
        _replace(self.results, b"".join(to_json(row) + b"\n" for row in result_rows(result)))

    def write_summary(self, summary: dict[str, Any]) -> None:
        """Write the run's figures."""
        text = json.dumps(summary, indent=2, ensure_ascii=False) + "\n"
        _replace(self.summary, text.encode("utf-8", "replace"))


def _replace(path: Path, content: bytes) -> None:
    """Write a file so that a reader sees the old or the new one, never half of it."""
    part = path.with_name(f".{path.name}.{os.getpid()}")
    try:
        part.write_bytes(content)
        part.replace(path)
    except OSError as error:
        part.unlink(missing_ok=True)
        raise InputError(f"cannot be written: {error.strerror}", file=path) from None


def result_rows(result: Result) -> list[dict[str, Any]]:
    """One object a verdict; the lines of `results.jsonl` and the rows of `to_pandas`.

    `evidence`, `usage`, `error` and `item_score` are dataclasses, which orjson writes as objects.
    """
    return [
        _row(item, criterion.weight, name)
        for item in result.items
        for criterion, name in zip(item.rubric, item.rubric.names, strict=True)
    ]


def _row(item: ItemResult, weight: float, name: str) -> dict[str, Any]:
    verdict, label = item.criteria[name], item.labels.get(name)
    record = verdict_record(verdict)
    return {
        "item": item.id,
        "description": item.description,
        "criterion": name,
        "weight": weight,
        "status": record.pop("status"),
        "label": record.pop("label"),
        "value": verdict.value,
        "human_label": None if label is None else label.label,
        "human_value": None if label is None else label.value,
        **{key: value for key, value in record.items() if key != "answer"},
        "detail": verdict.detail,
        "resumed": verdict.resumed,
        "item_score": item.score,
    }
