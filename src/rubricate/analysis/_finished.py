"""A finished run, read back from its folder."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import groupby
from operator import attrgetter
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol, Self

from pydantic import ValidationError

from rubricate._documents import input_error, parse_json, read_document, read_text, validate
from rubricate._files import check_no_links, user_path
from rubricate._spelling import no_metadata, suggestion
from rubricate.analysis._page_labels import LABELS_NAME, PageLabels
from rubricate.analysis._tables import Tabular
from rubricate.dataset import DataItem, read_context
from rubricate.errors import InputError, MissingFileError
from rubricate.rubric import Criterion, DeclaredScoring, Rubric, ScoringRules, check_cannot_assess
from rubricate.run.results import (
    TEXTS,
    WRITE_ANEW,
    CriterionFigures,
    ItemTexts,
    ResultRow,
    Summary,
    Tallies,
    has_journal,
    noted_run,
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
"""How many run folders an error names; `rubricate runs` lists all."""
LABELS_GO = (
    "give labels in columns label.CRITERION of a table or as ground_truth in a dataset file, "
    "or make them with rubricate label; then grade again"
)
"""Advice for a run without labels."""
AT_ONCE = 1 << 20
"""Bytes that are read together when lines are counted."""
LOW_CONFIDENCE = 0.75
"""A verdict with less confidence than this is shown as unsure."""


class GradedRun(Protocol):
    """What `grade` gives and `read_run` reads: the reports on a run take either."""

    def finished(self) -> FinishedRun:
        """The run as the reports read it."""
        ...


@dataclass(frozen=True, slots=True, kw_only=True)
class FinishedItem(ItemTexts):
    """One item of a finished run.

    Its texts are None where the folder, of an earlier version, does not have them.

    Attributes:
        rows: its verdicts, one for each criterion.
    """

    rows: tuple[ResultRow, ...]

    @classmethod
    def of(cls, texts: ItemTexts, rows: tuple[ResultRow, ...]) -> Self:  # type: ignore[override]
        """An item with its texts."""
        return cls(rows=rows, **{name: getattr(texts, name) for name in ItemTexts.__slots__})

    def data(self) -> DataItem:
        """The item as one of a dataset, without labels."""
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

    Its verdicts are read on first use. Its tables (`to_csv` and the others) are read from the
    folder row by row.

    Attributes:
        path: its folder.
        summary: the contents of `summary.json`.
        rubrics: the rubric of all items, or that of each by its id.
        document: the rubric or rubrics as JSON values.
        held: where the verdicts are, if not in the folder: the result of a run in memory.
        labels: those of the run's page, which hold in place of those that it was graded with.
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
        """The verdicts of each item, in the dataset's order; those of one item are held.

        Raises:
            InputError: `results.jsonl` cannot be read, is damaged, or is not of this rubric.
        """
        if "rows" in self.__dict__:  # they are read
            yield from (tuple(rows) for _, rows in groupby(self.rows, attrgetter("item")))
            return
        for rows in self._graded_rows() if self.held is None else self.held.item_rows():
            if self.labels is None:
                yield rows
            else:
                yield self.labels.applied(rows, self.rubric_of(rows[0].item), self.rules)

    def _graded_rows(self) -> Iterator[tuple[ResultRow, ...]]:
        """The verdicts of each item as the folder has them."""
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

    def items(self) -> Iterator[FinishedItem]:
        """The items with their texts and verdicts, in the dataset's order; one is held at a time.

        Raises:
            InputError: a file is missing or damaged, or the results are not of this rubric.
        """
        for texts, rows in self.with_texts():
            yield FinishedItem.of(texts, rows)

    def with_texts(self) -> Iterator[tuple[ItemTexts, tuple[ResultRow, ...]]]:
        """The texts and the verdicts of each item, in the dataset's order; one is held at a time.

        Raises:
            InputError: a file is missing or damaged, or the results are not of this rubric.
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

    def _repr_html_(self) -> str:
        return read_summary(self)._repr_html_()

    def by_criterion(self) -> dict[str, list[ResultRow]]:
        """The verdicts by the names of their criteria."""
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
        """The criteria by name; where items have different rubrics, the first of each name."""
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
        return {row.item: row.human_score for row in self.rows}

    @cached_property
    def rules(self) -> ScoringRules:
        """How its scores were made, without a length penalty: a folder has only its amounts.

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
        """By what items are grouped; None where each is by itself.

        Args:
            groups: a field of the metadata, `prompt`, or `none`. Default: by prompt, where items
                have several different ones and some have the same.
        """
        if groups is not None:
            return None if groups == NO_GROUPS else groups
        prompts = self.summary.get("prompts")
        if prompts is not None and not prompts_repeat(prompts, self.summary["items"]):
            return None  # nothing is read
        known = self._prompts
        is_whole = len(known) == self.summary.get("items")
        repeat = prompts_repeat(len({*known.values()}), len(known))
        return BY_PROMPT if is_whole and repeat else None

    @cached_property
    def _prompts(self) -> dict[str, int]:
        """A hash of each item's prompt; nothing where the folder does not have them."""
        if self.held is not None:
            return {texts.item: hash(texts.prompt) for texts, _ in self.held.with_texts()}
        return prompts_in(self.path)

    def groups_by(self, field: str | None) -> Mapping[str, Any]:
        """Each item's group: its value of a field of the metadata, or its prompt (`prompt`, unless
        the metadata has that); for None, the item itself.

        Raises:
            InputError: an item lacks the field, or has no number or short text there.
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

    @property
    def item_scores(self) -> dict[str, float | None]:
        """Each item's score, in the dataset's order."""
        return {row.item: row.item_score.value for row in self.rows}


class StartedRun(FinishedRun):
    """A run that has not ended: the items that are judged by now, in the order in which they were.

    Its `summary` has the names of dataset and judge alone.
    """

    def item_rows(self) -> Iterator[tuple[ResultRow, ...]]:
        """The verdicts of each item that is whole by now: the last lines may be half written."""
        with suppress(InputError):
            for rows in super().item_rows():
                if len(rows) == len(self.rubric_of(rows[0].item)):
                    yield rows

    def with_texts(self) -> Iterator[tuple[ItemTexts, tuple[ResultRow, ...]]]:
        """The texts and the verdicts of each item, likewise."""
        with suppress(InputError):
            yield from super().with_texts()


def read_started(folder: str | Path) -> StartedRun:
    """Read what a run that has not ended has judged by now.

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


def _runs_in(folder: Path) -> str:
    """The end of an error about a folder that is no run folder: the run folders in it."""
    runs = sorted(str(file.parent) for file in folder.glob(f"*/{SUMMARY_NAME}"))
    if not runs:
        return ""
    more = ", ..." if len(runs) > MOST_NAMED else ""
    return f"; name one of those in it: {', '.join(runs[:MOST_NAMED])}{more}"


def _near_runs(path: Path) -> str:
    """The end of an error about a missing run folder: one with a similar name, beside it or in
    runs."""
    for folder in (path.parent, path.parent / "runs"):
        runs = {file.parent.name: file.parent for file in folder.glob(f"*/{SUMMARY_NAME}")}
        if near := suggestion(path.name, runs):
            return f"; did you mean '{runs[near]}'?"
    return "; rubricate runs lists those in the folder runs"


def read_run(folder: str | Path) -> FinishedRun:
    """Read a run folder.

    Args:
        folder: the run folder, such as `runs/physics`.

    Returns:
        The run; its verdicts are read on first use.

    Raises:
        InputError: it is no run folder, the run has not ended, its summary or rubric is damaged, or
            some results are missing.
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
    """A finished run's figures; those of agreement are of the labels of now.

    Raises:
        InputError: its `summary.json` is damaged.
    """
    summary = _validated(run.summary, run.path / SUMMARY_NAME)
    if run.labels is None:
        return summary
    tallies = Tallies()
    for index, rows in enumerate(run.item_rows()):
        tallies.add(result_of(rows, run.rubric_of(rows[0].item), run.rules, index))
    return tallies.relabelled(summary, run.labels.count)


def stored_summary(folder: Path) -> Summary:
    """The figures of a run folder; the rest of the run is read only where its page has labels.

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


def prompts_repeat(prompts: int, items: int) -> bool:
    """Whether items are grouped by prompt: they have several different ones, and some the same."""
    return 1 < prompts < items


def prompts_in(folder: Path) -> dict[str, int]:
    """A hash of each item's prompt in a run folder; nothing where it has none."""
    path = folder / "items.jsonl"
    if not path.exists():
        return {}
    return {texts.item: hash(texts.prompt) for texts in read_lines(path, TEXTS)}


def mean_score(
    scores: Mapping[str, float | None],
    summary: Summary | None = None,
    *,
    groups: Mapping[str, Any] | None = None,
    confidence: float = 0.95,
) -> Estimate:
    """The mean of a run's scores, or of a criterion's values, with its interval.

    Args:
        scores: each item's score or value; None for an item without one.
        groups: each item's group. Default: each item is by itself.
        summary: the run's. If its rubric declares how items are combined, that score is used.
        confidence: the interval's nominal coverage.
    """
    from rubricate.stats import Estimate, mean_of_scores

    if summary is not None and summary.scoring is not None:
        overall = summary.scoring.overall
        return Estimate(overall.value, overall.low, overall.high, overall.no_interval)
    items = {item: score for item, score in scores.items() if score is not None}
    known = [*items.values()]
    of = None if groups is None else [groups[item] for item in items]
    is_flat = summary is not None and summary.tree is None
    reach = reach_of(summary.criteria) if summary is not None and is_flat else 0.0
    mean = mean_of_scores(known, groups=of, confidence=confidence, reach=reach)
    if summary is not None and known:  # its last digit is as the summary's
        mean = replace(mean, value=summary.score.mean)
    return mean


def reach_of(criteria: Iterable[Criterion | CriterionFigures]) -> float:
    """The most that the answer to one criterion can change a score.

    That is the largest weight as a share of the positive ones; 0 if items differ in a weight.
    """
    weights = [criterion.weight for criterion in criteria]
    known = [weight for weight in weights if weight is not None]
    positive = sum(weight for weight in known if weight > 0)
    if len(known) < len(weights) or not positive:
        return 0.0
    return min(1.0, max(map(abs, known)) / positive)


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
    """Check that `results.jsonl` has a whole line for each verdict of the summary.

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
