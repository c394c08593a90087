"""A finished run, read back from its folder."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import groupby
from operator import attrgetter
from pathlib import Path
from statistics import fmean
from typing import TYPE_CHECKING, Any, Protocol, Self, TypeAlias

from pydantic import ValidationError

from rubricate._documents import input_error, parse_json, read_document, read_text, validate
from rubricate._files import check_no_links, user_path
from rubricate._spelling import no_metadata, suggestion
from rubricate.analysis._page_labels import LABELS_NAME, PageLabels
from rubricate.analysis._tables import Tabular
from rubricate.dataset import DataItem, read_context
from rubricate.errors import InputError, MissingFileError, shown
from rubricate.rubric import Criterion, DeclaredScoring, Rubric, ScoringRules, check_cannot_assess
from rubricate.run.results import (
    TEXTS,
    WRITE_ANEW,
    ItemTexts,
    ResultRow,
    Summary,
    Tallies,
    has_journal,
    noted_run,
    prompts_repeat,
    read_lines,
    read_rows,
    result_of,
)

if TYPE_CHECKING:
    from rubricate.stats import Estimate

SUMMARY_NAME = "summary.json"
BY_PROMPT = "prompt"
NO_GROUPS = "none"
MOST_NAMED = 3
"""The maximum number of run folders that an error names; `rubricate runs` lists all."""
LABELS_GO = (
    "give labels in columns label.CRITERION of a table or as ground_truth in a dataset file, "
    "or make them with rubricate label; then grade again"
)
"""Advice for a run without labels."""
AT_ONCE = 1 << 20
"""Bytes to read at a time when lines are counted."""
LOW_CONFIDENCE = 0.75
"""A verdict with a lower confidence is shown as unsure."""


class GradedRun(Protocol):
    """A result of `grade` or a run of `read_run`; reports accept both."""

    def finished(self) -> FinishedRun:
        """Return the run in the form of `read_run`."""
        ...


RunLike: TypeAlias = GradedRun | str | Path
"""What reports take as a run; a path is that of its folder."""


@dataclass(frozen=True, slots=True, kw_only=True)
class FinishedItem(ItemTexts):
    """One item of a finished run.

    Its texts are None if the folder is from an earlier version and does not have them.

    Attributes:
        rows: its verdicts, one per criterion.
    """

    rows: tuple[ResultRow, ...]

    @classmethod
    def of(cls, texts: ItemTexts, rows: tuple[ResultRow, ...]) -> Self:  # type: ignore[override]
        """Create an item from its texts and verdicts."""
        return cls(rows=rows, **{name: getattr(texts, name) for name in ItemTexts.__slots__})

    def data(self) -> DataItem:
        """The item as a `DataItem` without labels."""
        return DataItem(
            self.submission or "",
            self.description,
            reference_submission=self.reference,
            prompt=self.prompt or "",
            context=read_context(list(self.context)),
            metadata=dict(self.rows[0].metadata),
        )


@dataclass(frozen=True)
class FinishedRun(Tabular):
    """A run that has ended.

    Its verdicts are read on first use. Tables (`to_csv` and others) are written from the folder row
    by row.

    Attributes:
        path: the run folder.
        summary: the contents of `summary.json`.
        rubrics: the rubric of all items, or the rubrics by item id.
        document: the rubric or rubrics as JSON values.
        held: the result in memory, if the verdicts are not in a folder.
        labels: the labels from the run's page, which replace those of the graded dataset.
    """

    path: Path
    summary: Mapping[str, Any]
    rubrics: Rubric | Mapping[str, Rubric]
    document: Any
    held: Tabular | None = None
    labels: PageLabels | None = None

    def finished(self) -> FinishedRun:
        return self

    @cached_property
    def rows(self) -> tuple[ResultRow, ...]:
        """All verdicts, in the dataset's order.

        Raises:
            InputError: see `item_rows`.
        """
        return tuple(row for rows in self.item_rows() for row in rows)

    def item_rows(self) -> Iterator[tuple[ResultRow, ...]]:
        """Yield the verdicts of each item, in the dataset's order, one item in memory at a time.

        Raises:
            InputError: `results.jsonl` cannot be read, is damaged, or belongs to another rubric.
        """
        if "rows" in self.__dict__:  # already read
            yield from (tuple(rows) for _, rows in groupby(self.rows, attrgetter("item")))
            return
        for rows in self._graded_rows() if self.held is None else self.held.item_rows():
            if self.labels is None:
                yield rows
            else:
                yield self.labels.applied(rows, self.rubric_of(rows[0].item), self.rules)

    def _graded_rows(self) -> Iterator[tuple[ResultRow, ...]]:
        """Yield the verdicts of each item as stored in the folder."""
        names: dict[int, frozenset[str]] = {}
        for rows in read_rows(self.path / "results.jsonl"):
            item = rows[0].item
            rubric = self.rubrics if isinstance(self.rubrics, Rubric) else self.rubrics.get(item)
            if id(rubric) not in names:
                names[id(rubric)] = frozenset(rubric.names if rubric is not None else ())
            for row in rows:
                if row.criterion not in names[id(rubric)]:
                    raise InputError(
                        f"has no criterion '{row.criterion}' for the item {row.item}, which "
                        f"results.jsonl has; {WRITE_ANEW}",
                        file=self.path / "rubric.yaml",
                    )
            yield rows

    @property
    def items(self) -> Iterator[FinishedItem]:
        """The items with texts and verdicts, in the dataset's order, read one at a time.

        Raises:
            InputError: a file is missing or damaged, or the results belong to another rubric.
        """
        for texts, rows in self.with_texts():
            yield FinishedItem.of(texts, rows)

    def with_texts(self) -> Iterator[tuple[ItemTexts, tuple[ResultRow, ...]]]:
        """Yield the texts and verdicts of each item, in the dataset's order, one at a time.

        Raises:
            InputError: a file is missing or damaged, or the results belong to another rubric.
        """
        if self.held is not None and self.labels is None:
            yield from self.held.with_texts()
            return
        path = self.path / "items.jsonl"
        texts = read_lines(path, TEXTS) if path.exists() else None
        for rows in self.item_rows():
            of_item = ItemTexts(item=rows[0].item, description=rows[0].description)
            if texts is not None:
                of_item = next(texts, None) or ItemTexts(item="")
            if of_item.item != rows[0].item:
                raise InputError(
                    f"does not have the items of results.jsonl; {WRITE_ANEW}", file=path
                )
            yield of_item, rows

    def __repr__(self) -> str:
        return f"<{type(self).__name__}: {self.path}, judged by {self.judge}>"

    def _repr_html_(self) -> str:
        return read_summary(self)._repr_html_()

    def by_criterion(self) -> dict[str, list[ResultRow]]:
        """The verdicts by criterion."""
        rows: dict[str, list[ResultRow]] = {}
        for row in self.rows:
            rows.setdefault(row.criterion, []).append(row)
        return rows

    @property
    def judge(self) -> str:
        """The judge's name."""
        return str(self.summary["judge"])

    @property
    def criteria(self) -> dict[str, Criterion]:
        """The criteria by name; if items have different rubrics, the first of each name."""
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
        """The score of each item from its human labels; None if a criterion has no label."""
        return {row.item: row.human_score for row in self.rows}

    @cached_property
    def rules(self) -> ScoringRules:
        """The scoring rules, without the length penalty, of which a folder has only the amounts.

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
            raise InputError("not a run's summary", file=self.path / SUMMARY_NAME) from None

    def grouping(self, groups: str | None) -> str | None:
        """The field by which items are grouped; None if they are not.

        Args:
            groups: a field of the metadata, `prompt`, or `none`. Default: `prompt`, if there are
                several prompts and some items share one.
        """
        if groups is not None:
            return None if groups == NO_GROUPS else groups
        prompts = self.summary.get("prompts")
        if prompts is not None and not prompts_repeat(prompts, self.summary["items"]):
            return None  # without reading anything
        known = self._prompts
        is_whole = len(known) == self.summary.get("items")
        repeat = prompts_repeat(len({*known.values()}), len(known))
        return BY_PROMPT if is_whole and repeat else None

    @cached_property
    def _prompts(self) -> dict[str, int]:
        """A hash of each item's prompt; empty if the folder does not have them."""
        if self.held is not None:
            return {texts.item: hash(texts.prompt) for texts, _ in self.held.with_texts()}
        return prompts_in(self.path)

    def groups_by(self, field: str | None) -> Mapping[str, Any]:
        """The group of each item: its value of a metadata field, or its prompt for `prompt` (unless
        that is a metadata field); for None, the item itself.

        Raises:
            InputError: an item lacks the field, or its value is not a number or short text.
        """
        if field is None:
            return {row.item: row.item for row in self.rows}
        if field == BY_PROMPT and self._prompts and not any(field in r.metadata for r in self.rows):
            return self._prompts
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
        raise InputError(no_metadata(field, known), file=self.path)

    @cached_property
    def reach(self) -> float:
        """The most that one answer can change an item's score, on average over items."""
        items = dict.fromkeys(row.item for row in self.rows)
        return fmean(self.rubric_of(item).largest_share for item in items) if items else 0.0

    @property
    def item_scores(self) -> dict[str, float | None]:
        """The score of each item, in the dataset's order."""
        return {row.item: row.item_score.value for row in self.rows}


class StartedRun(FinishedRun):
    """A run in progress: the items judged so far, in the order of judging.

    Its `summary` has only the names of the dataset and the judge.
    """

    def item_rows(self) -> Iterator[tuple[ResultRow, ...]]:
        """Yield the verdicts of each complete item; the last lines may be incomplete."""
        with suppress(InputError):
            for rows in super().item_rows():
                if len(rows) == len(self.rubric_of(rows[0].item)):
                    yield rows

    def with_texts(self) -> Iterator[tuple[ItemTexts, tuple[ResultRow, ...]]]:
        """Yield the texts and verdicts of each complete item."""
        with suppress(InputError):
            yield from super().with_texts()


def read_started(folder: str | Path) -> StartedRun:
    """Read what a run in progress has judged so far.

    Raises:
        InputError: no run was started in the folder, or its rubric is damaged.
    """
    path = user_path(folder)
    check_no_links(path)
    if not has_journal(path):
        raise InputError("no run was started here", file=path)
    if not (path / "rubric.yaml").exists():
        raise InputError("nothing is judged yet: look again, or repeat its command", file=path)
    note = noted_run(path)
    document = read_document(path / "rubric.yaml")
    return StartedRun(
        path=path,
        summary={"dataset": note.get("dataset"), "judge": ", ".join(note.get("judges", ()))},
        rubrics=_rubrics(document, path / "rubric.yaml"),
        document=document,
    )


def finished_run(run: RunLike) -> FinishedRun:
    """The run of what the user passes: a result, a run, or the path of a run folder.

    Raises:
        InputError: it is none of these, or the folder cannot be read; see `read_run`.
    """
    if isinstance(run, str | Path):
        return read_run(run)
    if not hasattr(run, "finished"):
        raise InputError(f"a run is a result of grade or a run folder, found {shown(run)}")
    return run.finished()


def _runs_in(folder: Path) -> str:
    """The end of an error about a folder that is not a run folder: the run folders in it."""
    runs = sorted(str(file.parent) for file in folder.glob(f"*/{SUMMARY_NAME}"))
    if not runs:
        return ""
    more = ", ..." if len(runs) > MOST_NAMED else ""
    return f"; name one of those in it: {', '.join(runs[:MOST_NAMED])}{more}"


def _near_runs(path: Path) -> str:
    """The end of an error about a missing run folder: one with a similar name, beside it or in
    `runs`."""
    for folder in (path.parent, path.parent / "runs"):
        runs = {file.parent.name: file.parent for file in folder.glob(f"*/{SUMMARY_NAME}")}
        longer = [name for name in sorted(runs) if name.startswith(path.name)]
        if near := suggestion(path.name, runs) or next(iter(longer), None):
            return f"; did you mean '{runs[near]}'?"
    return "; rubricate runs lists those in the folder runs"


def read_run(folder: str | Path) -> FinishedRun:
    """Read a run folder.

    Args:
        folder: the run folder, such as `runs/physics`.

    Returns:
        The run; its verdicts are read on first use.

    Raises:
        InputError: it is not a run folder, the run has not ended, its summary or rubric is damaged,
            or some results are missing.
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
        raise InputError(f"no such run folder{hint or _near_runs(path)}", file=path)
    check_no_links(path)
    try:
        summary = parse_json(read_text(path / SUMMARY_NAME), file=path / SUMMARY_NAME)
    except MissingFileError:
        if has_journal(path):
            raise InputError(
                "this run has not ended; repeat its command to resume it",
                file=path,
            ) from None
        raise InputError(
            f"not a run folder: it has no summary.json{_runs_in(path)}", file=path
        ) from None
    if not isinstance(summary, dict) or "judge" not in summary:
        raise InputError("not a run's summary", file=path / SUMMARY_NAME)
    check_whole(path, summary)
    document = read_document(path / "rubric.yaml")
    return FinishedRun(
        path=path,
        summary=summary,
        rubrics=_rubrics(document, path / "rubric.yaml"),
        document=document,
        labels=PageLabels.of(path),
    )


def read_summary(run: FinishedRun) -> Summary:
    """The figures of a finished run, with the agreement for its current labels.

    Raises:
        InputError: its `summary.json` is damaged.
    """
    summary = _validated(run.summary, run.path / SUMMARY_NAME)
    if run.labels is None:
        return summary
    tallies = Tallies()
    for index, (texts, rows) in enumerate(run.with_texts()):
        rubric = run.rubric_of(rows[0].item)
        tallies.add(result_of(rows, rubric, run.rules, index, texts.prompt))
    return tallies.relabelled(summary, run.labels.count)


def stored_summary(folder: Path) -> Summary:
    """The figures of a run folder. The rest of the run is read only if its page has labels.

    Raises:
        InputError: its `summary.json` cannot be read, or is damaged.
    """
    path = folder / SUMMARY_NAME
    if (folder / LABELS_NAME).exists():
        return read_summary(read_run(folder))
    return _validated(parse_json(read_text(path), file=path), path)


def _validated(summary: Any, path: Path) -> Summary:
    try:
        return Summary.model_validate(summary)
    except ValidationError as error:
        raise input_error(error).within(file=path) from None


def prompts_in(folder: Path) -> dict[str, int]:
    """A hash of each item's prompt in a run folder; empty if it has none."""
    path = folder / "items.jsonl"
    if not path.exists():
        return {}
    return {texts.item: hash(texts.prompt) for texts in read_lines(path, TEXTS)}


def mean_score(
    scores: Mapping[str, float | None],
    summary: Summary | None = None,
    *,
    groups: Mapping[str, Any] | None = None,
    reach: float = 0.0,
    confidence: float = 0.95,
) -> Estimate:
    """The mean of a run's scores, or of a criterion's values, with its interval.

    Args:
        scores: the score or value of each item; None for an item without one.
        groups: the group of each item. Default: each item by itself.
        reach: the most that one answer can change a score; see `stats.clustered_mean`.
        summary: the summary of the run. If its rubric declares how items are combined, that score
            is used.
        confidence: the nominal coverage of the interval.
    """
    from rubricate.stats import Estimate, mean_of_scores

    if summary is not None and summary.scoring is not None:
        overall = summary.scoring.overall
        return Estimate(overall.value, overall.low, overall.high, overall.no_interval)
    items = {item: score for item, score in scores.items() if score is not None}
    known = [*items.values()]
    of = None if groups is None else [groups[item] for item in items]
    mean = mean_of_scores(known, groups=of, confidence=confidence, reach=reach)
    if summary is not None and known:  # equal to the summary's to the last digit
        mean = replace(mean, value=summary.score.mean)
    return mean


def _rubrics(document: Any, path: Path) -> Rubric | dict[str, Rubric]:
    try:
        if isinstance(document, dict) and set(document) == {"items"}:
            rubrics = document["items"].items()
            return {str(item): Rubric.from_dict(rubric) for item, rubric in rubrics}
        return Rubric.from_dict(document)
    except InputError as error:
        raise error.within(file=path) from None
    except AttributeError:
        raise InputError("not the rubrics of a run", file=path) from None


def check_whole(folder: Path, summary: Mapping[str, Any]) -> None:
    """Check that `results.jsonl` has a complete line for each verdict of the summary.

    Raises:
        InputError: it has fewer, or cannot be read.
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
            f"is incomplete: it has {lines} lines for {expected} verdicts; {WRITE_ANEW}",
            file=path,
        )
