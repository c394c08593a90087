"""The page's results: a line for each criterion of each report, written as verdicts come."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from datetime import datetime
from pathlib import Path
from types import TracebackType
from typing import TYPE_CHECKING, Any

import orjson

from rubricate._documents import parse_json_lines, read_text
from rubricate._files import user_path
from rubricate.dialects.researchrubrics._figures import (
    Compliance,
    Figures,
    Line,
    compliance,
    figures,
    lines_of,
)
from rubricate.dialects.researchrubrics._reports import ResearchReport
from rubricate.dialects.researchrubrics._tasks import Task, TaskCriterion, verdict_of_label
from rubricate.errors import InputError
from rubricate.rubric import Verdict, confidence

if TYPE_CHECKING:
    import pandas

FOLDER = "results"


class UnknownCost:
    """A cost for which there is no price. It is no number: a sum that it enters is not known.

    In every format it is `unknown`, so that `f"{cost:.4f}"` of a sum does not say 0.
    """

    def __add__(self, other: object) -> UnknownCost:
        return self

    __radd__ = __add__

    def __format__(self, spec: str) -> str:
        return "unknown"

    def __repr__(self) -> str:
        return "unknown"

    def __float__(self) -> float:
        return math.nan


UNKNOWN_COST = UnknownCost()


def result_line(
    report: ResearchReport, criterion: TaskCriterion, verdict: Verdict
) -> dict[str, Any]:
    """One line: the page's fields, and more behind them.

    `confidence` is the core's (`rubricate.rubric.confidence`): the judge's probability for its
    verdict or, of a panel, the share of the votes; else what the judge says of itself (`stated`).
    `confidence_source` says which.
    `score` and `verdict` are null and `success` is false where there is no verdict; `error` then
    says why.
    """
    usage = verdict.usage
    judged = verdict.status == "judged"
    sure, source = _confidence(verdict)
    how = _how_read(verdict)
    chunks = how.get("evidence", ())
    if len(chunks) != len(verdict.evidence):
        chunks = [None] * len(verdict.evidence)
    error = verdict.error
    return {
        "sample_id": report.task.sample_id,
        "rubric_title": criterion.title,
        "verdict": verdict_of_label(verdict.label) if judged else None,
        "score": verdict.value,
        "confidence": sure,
        "reasoning": verdict.reason,
        "tokens_used": usage.input_tokens + usage.output_tokens,
        "cost": usage.cost,
        "success": judged,
        "weight": criterion.weight,
        "system": report.system or None,
        "domain": report.task.domain or None,
        "axis": criterion.axis or None,
        "status": verdict.status,
        "judge": verdict.judge,
        "confidence_source": source,
        "evidence": [
            {
                "quote": one.quote,
                "start": one.start,
                "end": one.end,
                "paraphrase": one.paraphrase,
                "chunk": chunk,
            }
            for one, chunk in zip(verdict.evidence, chunks, strict=True)
        ],
        "chunk": {key: how[key] for key in ("read", "parts", "asked", "relevant")} if how else None,
        "error": None if error is None else {"class": error.kind, "message": error.message},
        "human_verdict": criterion.human,
    }


def _how_read(verdict: Verdict) -> Mapping[str, Any]:
    """How a long report was read, of a panel by the first judge that read it in parts."""
    for one in (verdict, *verdict.votes):
        if how := (one.detail or {}).get("document"):
            return dict(how)
    return {}


def _confidence(verdict: Verdict) -> tuple[float | None, str | None]:
    sure = confidence(verdict) if verdict.status == "judged" else None
    if sure is not None:
        return sure, "votes" if verdict.probability is None else "probability"
    stated = (verdict.detail or {}).get("confidence")
    return stated, None if stated is None else "stated"


def results_path(folder: str | Path = FOLDER) -> Path:
    """A new file's path, `batch_evaluation_YYYYMMDD_HHMMSS.jsonl`, in a folder."""
    stem = datetime.now().strftime("batch_evaluation_%Y%m%d_%H%M%S")
    path, number = user_path(folder) / f"{stem}.jsonl", 1
    while path.exists():
        number += 1
        path = path.with_name(f"{stem}-{number}.jsonl")
    return path


class ResultLines:
    """A results file that lines are added to; what it held is gone. Without a line there is none.

    Raises:
        InputError: it cannot be written.
    """

    def __init__(self, path: str | Path) -> None:
        self.path = user_path(path)
        self._empty = True
        try:
            self.path.parent.mkdir(parents=True, exist_ok=True)
            self._file = self.path.open("wb", buffering=0)
        except OSError as error:
            raise self._problem(error) from None

    def add(self, line: Mapping[str, Any]) -> None:
        """Write a line; it is in the file at once."""
        try:
            text = orjson.dumps(line)
        except TypeError:  # half a surrogate pair, which UTF-8 cannot hold
            import json

            text = json.dumps(line, ensure_ascii=False).encode("utf-8", "replace")
        self._empty = False
        try:
            self._file.write(text + b"\n")
        except OSError as error:
            raise self._problem(error) from None

    def _problem(self, error: OSError) -> InputError:
        return InputError(f"the results cannot be written: {error.strerror}", file=self.path)

    def __enter__(self) -> ResultLines:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self._file.close()
        if self._empty:
            self.path.unlink(missing_ok=True)


def read_results(path: str | Path) -> list[dict[str, Any]]:
    """The lines of a results file, this program's or another's with the page's fields.

    Raises:
        InputError: there is no such file, or a line is malformed; says which.
    """
    rows: list[dict[str, Any]] = []
    for number, row in parse_json_lines(read_text(path), file=path):
        if not isinstance(row, dict):
            raise InputError("expected an object", file=path, line=number)
        for name in ("sample_id", "weight", "score"):
            if name not in row:
                raise InputError(f"the line has no '{name}'", file=path, line=number)
        rows.append(row)
    return rows


def calculate_compliance_score(
    results: str | Path | Iterable[Mapping[str, Any]] | pandas.DataFrame,
) -> float | None:
    """The compliance score of one report's results.

    Args:
        results: a results file, its lines, or the table of `evaluate_task_rubrics`.

    Returns: `sum(weight * score) / sum(positive weights)` over the criteria with a score, not
    clamped; 0.0 without positive weights; None where none of those was judged.

    Raises:
        InputError: the results cannot be read, or are of several reports.
    """
    scores = compliance_by_report(results)
    if len(scores) != 1:
        raise InputError(
            f"expected the results of one report, found {len(scores)}: use compliance_by_report"
        )
    return next(iter(scores.values())).value


def compliance_by_report(
    results: str | Path | Iterable[Mapping[str, Any]] | pandas.DataFrame,
) -> dict[str, Compliance]:
    """The compliance score of every report in some results, with its bounds.

    Returns: by `sample_id`, behind the system's name if there is one.
    """
    grouped: dict[str, list[Line]] = {}
    for line in _lines(results):
        name = f"{line.system}/{line.sample_id}" if line.system else line.sample_id
        grouped.setdefault(name, []).append(line)
    return {
        name: compliance((line.weight, line.score) for line in of_report)
        for name, of_report in grouped.items()
    }


def figures_of_results(results: str | Path, tasks: Iterable[Task] = ()) -> Figures:
    """The figures of a results file, this program's or another's; nothing is asked.

    Args:
        results: the file.
        tasks: what it is of; axis, domain and human verdict of a line that does not say them are
            those of its criterion there.

    Raises:
        InputError: the results cannot be read; says in which line.
    """
    known: dict[tuple[str, str], tuple[Task, TaskCriterion]] = {}
    for task in tasks:
        for criterion in task.criteria.values():
            known.setdefault((task.sample_id, criterion.title), (task, criterion))
    rows = []
    for row in read_results(results):
        found = known.get((str(row["sample_id"]), str(row.get("rubric_title"))))
        if found is not None:
            task, criterion = found
            said = {name: value for name, value in row.items() if value is not None}
            told = {
                "axis": criterion.axis,
                "domain": task.domain,
                "human_verdict": criterion.human,
            }
            rows.append({**row, **told, **said})
        else:
            rows.append(row)
    try:
        return figures(lines_of(rows))
    except InputError as error:
        raise error.within(file=results) from None


def _lines(results: Any) -> list[Line]:
    if isinstance(results, str | Path):
        return lines_of(read_results(results))
    if hasattr(results, "to_dict"):
        table = results.astype(object)
        return lines_of(table.where(table.notna(), None).to_dict("records"))
    return lines_of(results)
