"""The page's results file: a line for each criterion of each report, written as verdicts arrive."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from dataclasses import replace
from datetime import datetime
from numbers import Real
from pathlib import Path
from typing import TYPE_CHECKING, Any

import orjson

from rubricate._documents import parse_json_lines, read_text
from rubricate._files import user_path
from rubricate.analysis import Items, Result
from rubricate.dataset import unique_name
from rubricate.dialects.researchrubrics._figures import (
    RULES,
    Compliance,
    Figures,
    ReportFigures,
    figures,
)
from rubricate.dialects.researchrubrics._tasks import (
    NOT_SATISFIED,
    PARTIALLY,
    SATISFIED,
    Grading,
    Task,
    axis_of,
    criterion_of,
    label_of,
    verdict_of,
)
from rubricate.errors import InputError, errors_within
from rubricate.rubric import Criterion, Rubric, Verdict, confidence
from rubricate.run.results import ItemResult

if TYPE_CHECKING:
    import pandas

FOLDER = "results"


class UnknownCost:
    """A cost without a known price. Every sum that includes it is unknown, too.

    It is formatted as `unknown` in every format, so that `f"{cost:.4f}"` of a sum is not 0.
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
    metadata: Mapping[str, Any], criterion: Criterion, verdict: Verdict, person: Verdict | None
) -> dict[str, Any]:
    """Return a line with the page's fields, followed by further ones.

    `confidence` is the core's (`rubricate.rubric.confidence`): the judge's probability of its
    verdict; for a panel, the share of the votes; else the confidence that the judge states.
    `confidence_source` says which. Without a verdict, `score` and `verdict` are null, `success` is
    false, and `error` says why.

    Args:
        metadata: the report's `sample_id`, `domain` and `system`.
        criterion: the criterion.
        verdict: the judge's verdict.
        person: a person's verdict; None if there is none.
    """
    usage, error = verdict.usage, verdict.error
    judged = verdict.status == "judged"
    how = _reading_of_document(verdict)
    chunks = how.get("evidence", ())
    if len(chunks) != len(verdict.evidence):
        chunks = [None] * len(verdict.evidence)
    sure = confidence(verdict) if judged else None
    source = None if sure is None else "votes" if verdict.probability is None else "probability"
    if sure is None and (sure := (verdict.detail or {}).get("confidence")) is not None:
        source = "stated"
    return {
        "sample_id": metadata["sample_id"],
        "rubric_title": criterion.requirement,
        "verdict": verdict_of(verdict.label) if judged else None,
        "score": verdict.value,
        "confidence": sure,
        "reasoning": verdict.reason,
        "tokens_used": usage.input_tokens + usage.output_tokens,
        "cost": usage.cost,
        "success": judged,
        "weight": criterion.weight,
        "system": metadata.get("system") or None,
        "domain": metadata.get("domain") or None,
        "axis": axis_of(criterion) or None,
        "status": verdict.status,
        "judge": verdict.judge,
        "confidence_source": source,
        "evidence": [
            {
                "quote": quote.quote,
                "start": quote.start,
                "end": quote.end,
                "paraphrase": quote.paraphrase,
                "chunk": chunk,
            }
            for quote, chunk in zip(verdict.evidence, chunks, strict=True)
        ],
        "chunk": {key: how[key] for key in ("read", "parts", "asked", "relevant")} if how else None,
        "error": None if error is None else {"class": error.kind, "message": error.message},
        "human_verdict": verdict_of(None if person is None else person.label),
    }


def _reading_of_document(verdict: Verdict) -> Mapping[str, Any]:
    """How a long report was read; for a panel, by its first judge that read it in parts."""
    for vote in (verdict, *verdict.votes):
        if how := (vote.detail or {}).get("document"):
            return dict(how)
    return {}


def results_path(folder: str | Path = FOLDER) -> Path:
    """Return the path of a new file `batch_evaluation_YYYYMMDD_HHMMSS.jsonl` in a folder."""
    stem = datetime.now().strftime("batch_evaluation_%Y%m%d_%H%M%S")
    path, number = user_path(folder) / f"{stem}.jsonl", 1
    while path.exists():
        number += 1
        path = path.with_name(f"{stem}-{number}.jsonl")
    return path


class ResultLines:
    """A results file for adding lines, which replaces an older one. Without lines, no file is
    created.

    Raises:
        InputError: the file cannot be written.
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
        """Write a line to the file immediately."""
        try:
            text = orjson.dumps(line)
        except TypeError:  # an unpaired surrogate, which UTF-8 cannot encode
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

    def __exit__(self, *_: object) -> None:
        self._file.close()
        if self._empty:
            self.path.unlink(missing_ok=True)


def read_results(path: str | Path) -> list[dict[str, Any]]:
    """Read the lines of a results file, by this program or another with the page's fields.

    Raises:
        InputError: the file does not exist, or a line is malformed, which the message names.
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


def result_of(rows: Iterable[Mapping[str, Any]], tasks: Iterable[Task] = ()) -> Result:
    """Convert result lines to a result of the core with an item for each report.

    Args:
        rows: the lines in any order. Lines without success have no score, whatever their `score`.
        tasks: the tasks of the lines, from which missing axes, domains and human verdicts are
            taken.

    Raises:
        InputError: a weight is not a number, or a score is not a number from 0 to 1 or contradicts
            its verdict. The message names the line.
    """
    known: dict[tuple[str, str], dict[str, Any]] = {}
    for task in tasks:
        for place, (criterion, label) in enumerate(zip(task.rubric, task.labels, strict=True)):
            known.setdefault(
                (task.sample_id, criterion.requirement),
                {
                    "place": place,
                    "axis": axis_of(criterion),
                    "domain": task.domain,
                    "human_verdict": verdict_of(label),
                },
            )
    reports: dict[tuple[str, ...], list[dict[str, Any]]] = {}
    for number, row in enumerate(rows, start=1):
        line = {"place": -1} | known.get((str(row["sample_id"]), str(row.get("rubric_title"))), {})
        line |= {name: value for name, value in row.items() if value is not None}
        name = tuple(str(line.get(key, "")) for key in ("system", "sample_id"))
        reports.setdefault(name, []).append({**line, **_check_line(row, number)})
    items = [_graded(reports[name], place) for place, name in enumerate(sorted(reports))]
    return Result(judge="the judge", rules=RULES, items=Items(items))


def _check_line(row: Mapping[str, Any], number: int) -> dict[str, Any]:
    """Check a line, and return its weight, score and verdict."""
    weight, score, verdict = row["weight"], row["score"], row.get("verdict")
    if isinstance(score, Real) and math.isnan(float(score)):  # a missing value in a table
        score = None
    if row.get("success") in (False, 0):  # other programs write a failed verdict with the score 0
        score = verdict = None
    if not _is_number(weight):
        raise InputError(f"result {number}: the weight must be a number, found {weight!r}")
    if score is not None and not (_is_number(score) and 0 <= score <= 1):
        raise InputError(f"result {number}: the score must be from 0 to 1 or null, found {score!r}")
    if (verdict, score) in ((SATISFIED, 0), (NOT_SATISFIED, 1)):
        raise InputError(
            f"result {number}: the verdict is '{verdict}' and the score {score!r}: correct one"
        )
    return {"weight": float(weight), "score": score, "verdict": verdict}


def _is_number(value: object) -> bool:
    return isinstance(value, Real) and not isinstance(value, bool) and math.isfinite(float(value))


def _graded(lines: list[dict[str, Any]], index: int) -> ItemResult:
    """Convert the lines of one report to the verdicts of an item."""
    lines.sort(key=_order)
    first = lines[0]
    grading: Grading = "binary"
    if any(PARTIALLY in (line["verdict"], line.get("human_verdict")) for line in lines):
        grading = "ternary"
    criteria: dict[str, Criterion] = {}
    verdicts: dict[str, Verdict] = {}
    labels: dict[str, Verdict] = {}
    for line in lines:
        title = str(line.get("rubric_title") or "").strip() or "criterion"
        name = unique_name(title, criteria)
        axis = str(line.get("axis") or "").strip()
        criteria[name] = criterion = criterion_of(
            title, line["weight"], axis, name=name, grading=grading
        )
        score, label = line["score"], label_of(criterion, line["verdict"])
        verdicts[name] = Verdict(
            name, "failed" if score is None else "judged", label, score and float(score)
        )
        if human := label_of(criterion, line.get("human_verdict")):
            labels[name] = Verdict(name, "judged", human, criterion.value(human))
    places = ("sample_id", "domain", "system")
    metadata = {key: str(first[key]) for key in places if first.get(key) not in (None, "")}
    rubric = Rubric(list(criteria.values()))
    id = "/".join(metadata[key] for key in ("system", "sample_id") if key in metadata)
    item = ItemResult.of_verdicts(id, rubric, verdicts, RULES, index=index, metadata=metadata)
    return replace(item, labels=labels)


def _order(line: Mapping[str, Any]) -> tuple[Any, ...]:
    """The sort key of a line: the order of the task, else one independent of arrival."""
    texts = ("axis", "rubric_title", "verdict", "human_verdict")
    return (line["place"], line["weight"], *(str(line.get(name) or "") for name in texts))


def calculate_compliance_score(
    results: str | Path | Iterable[Mapping[str, Any]] | pandas.DataFrame,
) -> float | None:
    """Compute the compliance score of one report's results.

    Args:
        results: a results file, its lines, or the table of `evaluate_task_rubrics`.

    Returns: `sum(weight * score) / sum(positive weights)` over the criteria with a score, not
    clamped; None if none of those was judged.

    Raises:
        InputError: the results cannot be read, or belong to several reports.
    """
    scores = compliance_by_report(results)
    if len(scores) != 1:
        raise InputError(
            f"expected the results of one report, found {len(scores)}: use compliance_by_report, "
            "from rubricate.dialects.researchrubrics"
        )
    return next(iter(scores.values())).value


def compliance_by_report(
    results: str | Path | Iterable[Mapping[str, Any]] | pandas.DataFrame,
) -> dict[str, Compliance]:
    """Compute the compliance score of each report in some results, with its bounds.

    Returns: the scores by `sample_id`, after the system's name if there is one.
    """
    rows: Any = results
    if isinstance(results, str | Path):
        rows = read_results(results)
    elif hasattr(results, "to_dict"):
        table = rows.astype(object)
        rows = table.where(table.notna(), None).to_dict("records")
    return {item.id: ReportFigures.of(item).compliance for item in result_of(rows).items}


def figures_of_results(results: str | Path, tasks: Iterable[Task] = ()) -> Figures:
    """Compute the figures of a results file, by this program or another. Sends nothing.

    Args:
        results: the file.
        tasks: as for `result_of`.

    Raises:
        InputError: the results cannot be read; the message names the line.
    """
    with errors_within(file=results):
        return figures(result_of(read_results(results), tasks))
