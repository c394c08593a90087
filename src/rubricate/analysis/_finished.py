"""A finished run, read back from its folder."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from functools import cached_property
from itertools import groupby
from operator import itemgetter
from pathlib import Path
from typing import TYPE_CHECKING, Any, BinaryIO, Self

import orjson
from pydantic import ValidationError

from rubricate._documents import input_error, parse_json, read_document, read_text, validate
from rubricate._files import check_no_links, user_path
from rubricate._spelling import suggestion
from rubricate.analysis._tables import Tabular
from rubricate.errors import InputError, MissingFileError, described
from rubricate.rubric import (
    ABSTENTION,
    Criterion,
    DeclaredScoring,
    Rubric,
    ScoringRules,
    Status,
    Verdict,
    check_cannot_assess,
    confidence_of,
)
from rubricate.run.results import DeclaredFigures, Summary, has_journal

if TYPE_CHECKING:
    from rubricate.analysis._plots import Plots
    from rubricate.analysis._result import Result
    from rubricate.stats import Estimate

WRITE_ANEW = "run the same grade command again: it writes them anew from the journal"
LABELS_GO = (
    "give labels in columns label.CRITERION of a table or as ground_truth in a dataset file "
    "(docs/datasets.md), or make them with rubricate label; then grade again"
)
"""What to do about a run without labels."""
AT_ONCE = 1 << 20
"""Bytes that are counted through together."""
LOW_CONFIDENCE = 0.75
"""A verdict with less confidence than this is shown as unsure."""


@dataclass(frozen=True, slots=True)
class RowVerdict:
    """One line of `results.jsonl`: what the judge and a person said; see the fields of `Verdict`.

    `score` is that of the whole item, by the judge, `human_score` that by the labels; `penalty` is
    what length took from the score. `probability_met` is the judge's probability of MET, against
    UNMET, where it has one and the criterion is binary. `annotations` are the labels of several
    people by annotator, `metadata` is that of the item (numbers and short texts), `votes` are the
    votes of several judges as they stand in the line, `stage` is the stage of a cascade that
    decided, `tags` are the item's (in its first line alone).
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
    probability_met: float | None
    probability: float | None = None
    cost: float | None = None
    annotations: Mapping[str, str] = field(default_factory=dict)
    metadata: Mapping[str, Any] = field(default_factory=dict)
    votes: tuple[Mapping[str, Any], ...] = ()
    stage: int | None = None
    penalty: float = 0.0
    human_score: float | None = None
    tags: tuple[str, ...] = ()

    @property
    def confidence(self) -> float | None:
        """How sure the verdict is, as `rubric.confidence` has it."""
        labels = [vote["label"] for vote in self.votes]
        return confidence_of(self.status, self.label, self.probability, labels)


@dataclass(frozen=True, slots=True)
class FinishedItem:
    """One item of a finished run.

    Attributes:
        id: its identifier.
        description: what it is, in a few words.
        rows: its lines of `results.jsonl`, one a criterion.
        submission, prompt, reference: its texts as they were judged; None where the folder, of an
            earlier version, does not have them (or where there is no reference).
        context: its documents: texts, or objects with `title` and `text`.
    """

    id: str
    description: str
    rows: tuple[dict[str, Any], ...]
    submission: str | None = None
    prompt: str | None = None
    reference: str | None = None
    context: tuple[str | dict[str, str], ...] = ()


@dataclass(frozen=True)
class FinishedRun(Tabular):
    """A run that has ended.

    Its verdicts are read when they are asked for. Its tables (`to_csv` and the others) are read
    from the folder row by row.

    Attributes:
        path: its folder.
        summary: what `summary.json` holds.
        rubrics: the rubric of all items, or that of each by its id.
        document: the rubric or rubrics as JSON values.
    """

    path: Path
    summary: Mapping[str, Any]
    rubrics: Rubric | Mapping[str, Rubric]
    document: Any

    @cached_property
    def rows(self) -> tuple[RowVerdict, ...]:
        """All verdicts, in the dataset's order.

        Raises:
            InputError: `results.jsonl` cannot be read, is damaged, or is not of this rubric.
        """
        rows = _rows(self.path / "results.jsonl")
        self._check_criteria((row.item, row.criterion) for row in rows)
        return rows

    def items(self) -> Iterator[FinishedItem]:
        """The items with all that was said of each, in the dataset's order; one is held at a time.

        Raises:
            InputError: a file is missing or damaged, or the results are not of this rubric.
        """
        for item in finished_items(self.path):
            self._check_criteria((item.id, row["criterion"]) for row in item.rows)
            yield item

    def _check_criteria(self, places: Iterable[tuple[str, str]]) -> None:
        for item, criterion in places:
            if criterion not in self._names_of(item):
                raise InputError(
                    f"has no criterion '{criterion}' for the item {item}, which results.jsonl has; "
                    f"{WRITE_ANEW}",
                    file=self.path / "rubric.yaml",
                )

    @cached_property
    def _names(self) -> dict[int, frozenset[str]]:
        return {}

    def _names_of(self, item: str) -> frozenset[str]:
        rubric = self.rubrics if isinstance(self.rubrics, Rubric) else self.rubrics.get(item)
        if rubric is None:
            return frozenset()
        if id(rubric) not in self._names:
            self._names[id(rubric)] = frozenset(rubric.names)
        return self._names[id(rubric)]

    def item_rows(self) -> Iterator[tuple[dict[str, Any], ...]]:
        return finished_rows(self.path)

    @property
    def plot(self) -> Plots:
        """Plots of the run."""
        from rubricate.analysis._plots import Plots

        return Plots(self)

    def _repr_html_(self) -> str:
        return read_summary(self)._repr_html_()

    @property
    def judge(self) -> str:
        """The judge's name."""
        return str(self.summary["judge"])

    @property
    def criteria(self) -> dict[str, Criterion]:
        """What was asked, by name; where items have rubrics of their own, the first of a name."""
        rubrics = (
            [self.rubrics] if isinstance(self.rubrics, Rubric) else list(self.rubrics.values())
        )
        criteria: dict[str, Criterion] = {}
        for rubric in rubrics:
            for name, criterion in rubric.by_name.items():
                criteria.setdefault(name, criterion)
        return criteria

    def rubric_of(self, item: str) -> Rubric:
        """The rubric that an item was judged by."""
        return self.rubrics if isinstance(self.rubrics, Rubric) else self.rubrics[item]

    @property
    def human_scores(self) -> dict[str, float | None]:
        """Each item's score by its human labels; None where not every criterion has one."""
        if any(row.human_score is not None for row in self.rows):
            return {row.item: row.human_score for row in self.rows}
        rows: dict[str, dict[str, RowVerdict]] = {}  # of a folder that does not say it
        for row in self.rows:
            rows.setdefault(row.item, {})[row.criterion] = row
        return {item: self._human_score(item, of_item) for item, of_item in rows.items()}

    def _human_score(self, item: str, rows: Mapping[str, RowVerdict]) -> float | None:
        rubric = self.rubric_of(item)
        labels = [_human_verdict(rows[name]) for name in rubric.names if name in rows]
        verdicts = [label for label in labels if label is not None]
        if len(verdicts) < len(rubric):
            return None
        return self.rules.score(rubric.tree, verdicts).value

    @cached_property
    def rules(self) -> ScoringRules:
        """How its scores were made; a length penalty, of which a folder has the sums, left out.

        Raises:
            InputError: its `summary.json` is damaged.
        """
        declared = (self.summary.get("scoring") or {}).get("declared")
        try:
            partial = float(self.summary.get("partial", 0.5))
            return ScoringRules(
                check_cannot_assess(str(self.summary.get("cannot_assess", "skip")), partial),
                partial,
                declared=None if declared is None else validate(DeclaredScoring, declared),
            )
        except (AttributeError, TypeError, ValueError):
            raise InputError("not a run's summary", file=self.path / "summary.json") from None

    def scores_by(self, *fields: str) -> DeclaredFigures:
        """Its scores by tag: by the fields that it declares, and by these.

        Args:
            fields: `tags`, or fields such as `axis` and `domain`, of the criteria's tags or of the
                items' tags or metadata.

        Raises:
            InputError: neither a criterion nor an item has a field, with those that there are.
        """
        from rubricate.analysis._scores_by import scores_by

        return scores_by(self, fields)

    def groups_by(self, field: str | None) -> Mapping[str, Any]:
        """Each item's group: its value of a field of the metadata, or itself for None.

        Raises:
            InputError: an item lacks the field, or has no number or short text there.
        """
        if field is None:
            return {row.item: row.item for row in self.rows}
        metadata = {row.item: row.metadata for row in self.rows}
        lacking = [item for item, fields in metadata.items() if field not in fields]
        if not lacking:
            return {item: fields[field] for item, fields in metadata.items()}
        known = [*dict.fromkeys(name for fields in metadata.values() for name in fields)]
        if len(lacking) < len(metadata):
            raise InputError(
                f"{len(lacking)} of {len(metadata)} items have no metadata '{field}' to group them "
                f"by, such as {lacking[0]}",
                file=self.path,
            )
        near = suggestion(field, known)
        hint = (
            f"did you mean '{near}'?" if near else f"there is {', '.join(known) or 'none at all'}"
        )
        raise InputError(
            f"no item has metadata '{field}' (a number or a short text) to group them by; {hint}",
            file=self.path,
        )

    @property
    def item_scores(self) -> dict[str, float | None]:
        """Each item's score, in the dataset's order."""
        return {row.item: row.score for row in self.rows}


@dataclass(frozen=True)
class _HeldRun(FinishedRun):
    """A run whose verdicts are in memory."""

    result: Result

    @cached_property
    def rows(self) -> tuple[RowVerdict, ...]:
        return tuple([_row(row) for rows in self.item_rows() for row in rows])

    def item_rows(self) -> Iterator[tuple[dict[str, Any], ...]]:
        return self.result.item_rows()


def held_run(result: Result) -> FinishedRun:
    """A result as a finished run, for the reports on one."""
    return _HeldRun(
        path=result.run_dir or Path("result"),
        summary=result.summary().to_dict(),
        rubrics={item.id: item.rubric for item in result.items},
        document=None,
        result=result,
    )


def read_run(folder: str | Path) -> FinishedRun:
    """Read a run folder.

    Args:
        folder: the run folder, such as `runs/physics`.

    Returns:
        The run; its verdicts are read when they are asked for.

    Raises:
        InputError: it is no run folder, the run has not ended, its summary or rubric is damaged, or
            its results are not all there.
    """
    path = user_path(folder)
    if not path.is_dir():
        hint = ""
        if path.is_file():
            hint = (
                ": this is a file; if it is a dataset, grade it first (rubricate grade FILE "
                "--judge NAME), which writes a run folder, or read the verdicts that it holds "
                "with rubricate trust replay FILE"
            )
        raise InputError(f"no such run folder{hint}", file=path)
    check_no_links(path)
    try:
        summary = parse_json(read_text(path / "summary.json"), file=path / "summary.json")
    except MissingFileError:
        if has_journal(path):
            raise InputError(
                "this run has not ended; the command that began it goes on from where it is",
                file=path,
            ) from None
        raise InputError("not a run folder: it has no summary.json", file=path) from None
    if not isinstance(summary, dict) or "judge" not in summary:
        raise InputError("not a run's summary", file=path / "summary.json")
    check_whole(path, summary)
    document = read_document(path / "rubric.yaml")
    return FinishedRun(
        path=path,
        summary=summary,
        rubrics=_rubrics(document, path / "rubric.yaml"),
        document=document,
    )


def read_summary(run: FinishedRun) -> Summary:
    """A finished run's figures.

    Raises:
        InputError: its `summary.json` is damaged.
    """
    try:
        return Summary.model_validate(run.summary)
    except ValidationError as error:
        raise input_error(error).within(file=run.path / "summary.json") from None


def mean_score(
    scores: Iterable[float | None], summary: Summary | None = None, *, confidence: float = 0.95
) -> Estimate:
    """The mean of a run's scores, or of a criterion's values, with the interval that reports show.

    Args:
        scores: each item's score or value; None for an item without one.
        summary: the run's. Where its rubric declares how items are put together, that is the score.
        confidence: the interval's nominal coverage.
    """
    from rubricate.stats import Estimate, clustered_mean

    if summary is not None and summary.scoring is not None:
        overall = summary.scoring.overall
        return Estimate(overall.value, overall.low, overall.high)
    known = [score for score in scores if score is not None]
    in_unit = known and min(known) >= 0 and max(known) <= 1
    bounds = (0.0, 1.0) if in_unit else None  # raw scores can be anything
    mean = clustered_mean(known, confidence=confidence, bounds=bounds).mean
    if summary is not None and known:  # its last digit is as the summary's
        mean = replace(mean, value=summary.score.mean)
    return mean.within(*bounds) if bounds else mean


@contextmanager
def as_written(path: Path) -> Iterator[None]:
    """What is read inside is a run folder's, which may have been changed by hand.

    Raises:
        InputError: a value in it is of another type than rubricate writes.
    """
    try:
        yield
    except InputError:
        raise
    except (ArithmeticError, AttributeError, LookupError, TypeError, ValueError) as error:
        why = described(error)
        raise InputError(f"is not as rubricate wrote it ({why}); {WRITE_ANEW}", file=path) from None


def _rows(path: Path) -> tuple[RowVerdict, ...]:
    rows = []
    try:
        with path.open("rb") as lines:
            for number, line in enumerate(lines, start=1):
                try:
                    rows.append(_row(orjson.loads(line)))
                except (orjson.JSONDecodeError, KeyError, TypeError, AttributeError):
                    raise InputError(
                        f"not a line of a run's results; {WRITE_ANEW}", file=path, line=number
                    ) from None
    except OSError as error:
        raise InputError(f"cannot be read: {error.strerror}", file=path) from None
    return tuple(rows)


_TYPES: dict[str, Any] = {
    **dict.fromkeys(("item", "criterion", "status"), str),
    **dict.fromkeys(("label", "human_label", "reason"), str | None),
    **dict.fromkeys(("value", "human_value"), int | float | None),
    **{"weight": int | float, "item_score": dict, "error": dict | None},
}
_LATER_TYPES: dict[str, Any] = {
    **dict.fromkeys(("usage", "metadata", "annotations"), dict),
    **{"votes": list, "evidence": list, "detail": dict | None},
}
"""What a row of results has, as it is written; the latter may be missing in older ones."""


def check_row(data: dict[str, Any]) -> None:
    """Raise `KeyError` or `TypeError` for a row of results that is not as it is written."""
    for name, kind in _TYPES.items():
        if not isinstance(data[name], kind):
            raise TypeError(name)
    for name, kind in _LATER_TYPES.items():
        if name in data and not isinstance(data[name], kind):
            raise TypeError(name)
    for part in (*data.get("votes", ()), *data.get("evidence", ())):
        if not isinstance(part, dict):
            raise TypeError("votes")
    hash(tuple(data.get("metadata", {}).values()))  # scores are told by them


def _row(data: dict[str, Any]) -> RowVerdict:
    check_row(data)
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
        probability_met=_probability_met(data),
        probability=data.get("probability"),
        cost=data.get("usage", {}).get("cost"),
        annotations=data.get("annotations", {}),
        metadata=data.get("metadata", {}),
        votes=tuple(data.get("votes", ())),
        stage=data.get("stage"),
        penalty=data["item_score"].get("penalty", 0.0),
        human_score=data.get("human_score"),
        tags=tuple(data.get("tags", ())),
    )


def _probability_met(data: dict[str, Any]) -> float | None:
    shares = (data.get("detail") or {}).get("probabilities")
    label, probability = data["label"], data.get("probability")
    if shares is None and probability is not None:
        other = {"MET": "UNMET", "UNMET": "MET"}.get(label, "")
        shares = {label: probability, other: 1.0 - probability}
    if shares is None or not {"MET", "UNMET"} <= set(shares):
        return None
    both = shares["MET"] + shares["UNMET"]
    return shares["MET"] / both if both else None


def _human_verdict(row: RowVerdict) -> Verdict | None:
    if row.human_label is None:
        return None
    status: Status = "judged"
    if row.human_value is None:
        status = "abstained" if row.human_label == ABSTENTION else "not_applicable"
    return Verdict(row.criterion, status, row.human_label, row.human_value)


def _rubrics(document: Any, path: Path) -> Rubric | dict[str, Rubric]:
    try:
        if isinstance(document, dict) and set(document) == {"items"}:
            return {str(item): Rubric.from_dict(one) for item, one in document["items"].items()}
        return Rubric.from_dict(document)
    except InputError as error:
        raise error.within(file=path) from None
    except AttributeError:
        raise InputError("not the rubrics of a run", file=path) from None


def finished_items(folder: str | Path) -> Iterator[FinishedItem]:
    """The items of a run folder in the dataset's order; one is held at a time.

    Raises:
        InputError: a file is missing or damaged; with its line.
    """
    path = user_path(folder)
    texts = path / "items.jsonl"
    items = _objects(texts, _check_texts) if texts.exists() else None
    for found in finished_rows(path):
        name = found[0]["item"]
        text = {} if items is None else next(items, {})
        if items is not None and text.get("item") != name:
            raise InputError(
                "does not have the items of results.jsonl; run the same grade command again: it "
                "writes both anew from the journal",
                file=texts,
            )
        yield FinishedItem(
            id=name,
            description=found[0].get("description") or "",
            rows=found,
            submission=text.get("submission"),
            prompt=text.get("prompt"),
            reference=text.get("reference"),
            context=tuple(text.get("context", ())),
        )


def _check_texts(data: dict[str, Any]) -> None:
    """Raise `TypeError` for a line of an item's texts that is not as it is written."""
    if not isinstance(data.get("context", []), list):
        raise TypeError("context")


class SubmissionFile:
    """The submissions of a run folder by item; none is held, only where each stands.

    Raises:
        InputError: the file is damaged.
    """

    def __init__(self, folder: str | Path) -> None:
        self._path = user_path(folder) / "items.jsonl"
        self._places: dict[str, int] = {}
        self._file: BinaryIO | None = None
        if not self._path.exists():  # a run folder of an earlier version
            return
        place = 0
        self._file = self._path.open("rb")
        for number, line in enumerate(self._file, start=1):
            try:
                self._places[orjson.loads(line)["item"]] = place
            except (orjson.JSONDecodeError, KeyError, TypeError, AttributeError):
                self._file.close()
                raise InputError(
                    f"not a line of a run's items; {WRITE_ANEW}", file=self._path, line=number
                ) from None
            place += len(line)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        if self._file is not None:
            self._file.close()

    def get(self, item: str) -> str | None:
        """An item's submission; None where the run does not have it."""
        place = self._places.get(item)
        if place is None or self._file is None:
            return None
        self._file.seek(place)
        text: str | None = orjson.loads(self._file.readline()).get("submission")
        return text


def finished_rows(folder: str | Path) -> Iterator[tuple[dict[str, Any], ...]]:
    """The lines of each item in `results.jsonl`, in the dataset's order; one item is held.

    Raises:
        InputError: the file is missing or damaged; with its line.
    """
    lines = _objects(user_path(folder) / "results.jsonl", check_row)
    for _, rows in groupby(lines, key=itemgetter("item")):
        yield tuple(rows)


def check_whole(folder: Path, summary: Mapping[str, Any]) -> None:
    """See that `results.jsonl` has a whole line for each verdict of the summary.

    Raises:
        InputError: it has not, or it cannot be read.
    """
    path, verdicts = folder / "results.jsonl", summary.get("verdicts")
    if not isinstance(verdicts, dict) or not all(type(n) is int for n in verdicts.values()):
        return
    expected = sum(verdicts.values())
    lines, rest = 0, b""
    try:
        with path.open("rb") as file:
            while part := file.read(AT_ONCE):
                lines += part.count(b"\n")
                rest = part
    except OSError as error:
        raise InputError(f"cannot be read: {error.strerror}; {WRITE_ANEW}", file=path) from None
    if lines < expected or not rest.endswith(b"\n"):
        raise InputError(
            f"is not whole: it has {lines} lines for {expected} verdicts; {WRITE_ANEW}",
            file=path,
        )


def _objects(
    path: Path, check: Callable[[dict[str, Any]], None] = lambda found: None
) -> Iterator[dict[str, Any]]:
    try:
        with path.open("rb") as lines:
            for number, line in enumerate(lines, start=1):
                try:
                    found = orjson.loads(line)
                    found["item"]
                    check(found)
                except (orjson.JSONDecodeError, KeyError, TypeError, AttributeError):
                    raise InputError(
                        f"not a line of a run's results; {WRITE_ANEW}", file=path, line=number
                    ) from None
                yield found
    except OSError as error:
        raise InputError(f"cannot be read: {error.strerror}", file=path) from None


def confidence(row: Mapping[str, Any]) -> float | None:
    """How sure a verdict is, as `rubric.confidence` has it.

    Args:
        row: a line of `results.jsonl`.
    """
    labels = [vote["label"] for vote in row.get("votes") or ()]
    return confidence_of(row["status"], row["label"], row.get("probability"), labels)
