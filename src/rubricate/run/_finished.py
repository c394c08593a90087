"""A finished run, read back from its folder."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import orjson

from rubricate._documents import parse_json, read_document, read_text
from rubricate.errors import InputError, MissingFileError
from rubricate.rubric import Criterion, Rubric, Status

__all__ = ["FinishedRun", "RowVerdict", "read_run"]


@dataclass(frozen=True, slots=True)
class RowVerdict:
    """One line of `results.jsonl`: what the judge and a person said; see the fields of `Verdict`.

    `score` is that of the whole item, by the judge.
    """

    item: str
    criterion: str
    weight: float
    status: Status
    label: str | None
    value: float | None
    human_label: str | None
    human_value: float | None
    reason: str | None
    error: str | None
    score: float | None


@dataclass(frozen=True, slots=True)
class FinishedRun:
    """A run that has ended.

    Attributes:
        path: its folder.
        summary: what `summary.json` holds.
        rows: its verdicts, in the dataset's order.
        criteria: what was asked, by name; where items have rubrics of their own, the first of a
            name.
        rubric: the rubric as JSON values, or each item's by its id.
    """

    path: Path
    summary: Mapping[str, Any]
    rows: tuple[RowVerdict, ...]
    criteria: Mapping[str, Criterion]
    rubric: Any

    @property
    def judge(self) -> str:
        """The judge's name."""
        return str(self.summary["judge"])

    @property
    def item_scores(self) -> dict[str, float | None]:
        """Each item's score, in the dataset's order."""
        return {row.item: row.score for row in self.rows}


def read_run(folder: str | Path) -> FinishedRun:
    """Read a run folder.

    Raises:
        InputError: it is no run folder, the run has not ended, or a file in it is damaged.
    """
    path = Path(folder)
    if not path.is_dir():
        raise InputError("no such run folder", file=path)
    try:
        summary = parse_json(read_text(path / "summary.json"), file=path / "summary.json")
    except MissingFileError:
        if (path / "journal.sqlite").exists():
            raise InputError(
                "this run has not ended; the command that began it goes on from where it is",
                file=path,
            ) from None
        raise InputError("not a run folder: it has no summary.json", file=path) from None
    if not isinstance(summary, dict) or "judge" not in summary:
        raise InputError("not a run's summary", file=path / "summary.json")
    rubric = read_document(path / "rubric.yaml")
    return FinishedRun(
        path=path,
        summary=summary,
        rows=_rows(path / "results.jsonl"),
        criteria=_criteria(rubric, path / "rubric.yaml"),
        rubric=rubric,
    )


def _rows(path: Path) -> tuple[RowVerdict, ...]:
    rows = []
    try:
        with path.open("rb") as lines:
            for number, line in enumerate(lines, start=1):
                try:
                    rows.append(_row(orjson.loads(line)))
                except (orjson.JSONDecodeError, KeyError, TypeError):
                    raise InputError(
                        "not a line of a run's results; run the same grade command again: it "
                        "writes them anew from the journal",
                        file=path,
                        line=number,
                    ) from None
    except OSError as error:
        raise InputError(f"cannot be read: {error.strerror}", file=path) from None
    return tuple(rows)


def _row(data: dict[str, Any]) -> RowVerdict:
    error = data["error"]
    return RowVerdict(
        item=data["item"],
        criterion=data["criterion"],
        weight=data["weight"],
        status=data["status"],
        label=data["label"],
        value=data["value"],
        human_label=data["human_label"],
        human_value=data["human_value"],
        reason=data["reason"],
        error=None if error is None else f"{error['kind']}: {error['message']}",
        score=data["item_score"]["value"],
    )


def _criteria(rubric: Any, path: Path) -> dict[str, Criterion]:
    try:
        if (
            isinstance(rubric, dict)
            and set(rubric) == {"items"}
            and isinstance(rubric["items"], dict)
        ):
            rubrics = [Rubric.from_dict(one) for one in rubric["items"].values()]
        else:
            rubrics = [Rubric.from_dict(rubric)]
    except InputError as error:
        raise error.within(file=path) from None
    criteria: dict[str, Criterion] = {}
    for one in rubrics:
        for name, criterion in zip(one.names, one, strict=True):
            criteria.setdefault(name, criterion)
    return criteria
