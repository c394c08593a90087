"""The runs below a folder: dataset, judge, outcome and time of each."""

from __future__ import annotations

import os
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Literal

import orjson

from rubricate._files import check_no_links, user_path
from rubricate.analysis._attacks import RedTeamReport
from rubricate.analysis._finished import (
    SUMMARY_NAME,
    check_whole,
    mean_score,
    prompts_in,
    read_run,
    stored_summary,
)
from rubricate.analysis._kept_report import kept_report
from rubricate.errors import InputError, RubricateError
from rubricate.run import JOURNAL_NAMES, REPORT_NAME
from rubricate.run.results import Summary, noted_run, prompts_repeat
from rubricate.stats import Estimate
from rubricate.views import (
    NONE,
    Column,
    Report,
    Row,
    Section,
    Table,
    dollars,
    figure,
    numbers,
    say,
)

State = Literal["complete", "stopped early", "not ended", "unreadable"]
DEPTH = 4
"""The maximum depth of the search for run folders."""
_FILES = (SUMMARY_NAME, *JOURNAL_NAMES, "results.jsonl")


@dataclass(frozen=True, slots=True)
class ListedRun:
    """One run of a list.

    Attributes:
        run: its folder, below the one that was listed.
        kind: `grade`, `compare-pair` or `redteam`.
        state: `complete`; `stopped early` if it ended before all was judged; `not ended` if it has
            a journal and no summary; `unreadable` if a file is damaged.
        when: when it ended, in UTC (ISO 8601), by the time of its summary; for a run that has not
            ended, when its journal was last written.
        dataset, judge: their names.
        items: the number of items.
        score: the mean score with its 95 % interval (t, over items); None if nothing was
            judged, and for other kinds of runs.
        failed: the number of failed verdicts.
        accuracy, kappa: the agreement with human labels over all criteria; None without labels.
        labels: the number of pairs of a verdict and a label for these.
        run_cost: US dollars that the run has cost in all; None if unknown.
        run_estimated_cost: the estimated part of it.
        cost, estimated_cost: the same for its last command alone.
        thresholds: the outcome of its thresholds, if it had any.
        problem: why it ended early or cannot be read, or how many items have no score.
    """

    run: str
    kind: str
    state: State
    when: str
    dataset: str | None = None
    judge: str | None = None
    items: int | None = None
    score: Estimate | None = None
    failed: int | None = None
    accuracy: float | None = None
    kappa: float | None = None
    labels: int = 0
    run_cost: float | None = None
    run_estimated_cost: float = 0.0
    cost: float | None = None
    estimated_cost: float = 0.0
    thresholds: str | None = None
    problem: str | None = None


@dataclass(frozen=True, slots=True)
class RunList(Report):
    """The runs below a folder, the oldest first.

    Attributes:
        folder: the folder.
        runs: its runs.
    """

    folder: str
    runs: tuple[ListedRun, ...]

    @property
    def title(self) -> str:
        """The title of the list."""
        return f"Runs in {self.folder}"

    def sections(self) -> Iterator[Section]:
        """The table, with the state of runs that are not complete, and a line for each of them."""
        if not self.runs:
            yield say(f"No runs in {self.folder}. rubricate grade DATA writes one.")
            return
        labelled = any(run.labels for run in self.runs)
        resumed = any(dollars(run.cost) != dollars(run.run_cost) for run in self.runs)
        columns = [
            Column("run", is_text=True),
            Column("dataset", is_text=True),
            Column("judge", is_text=True),
            *numbers("items", "score, 95 %"),
            *(numbers("accuracy", "kappa") if labelled else ()),
            *numbers("cost"),
            *(numbers("last command") if resumed else ()),
            Column("ended, UTC", is_text=True),
        ]
        yield Table(columns, [_row(run, labelled, resumed) for run in self.runs], self.title)
        for run in self.runs:
            if run.problem is not None:
                yield say(f"{run.run}: {run.problem}", "warning")


def _row(run: ListedRun, labelled: bool, resumed: bool) -> Row:
    agreement = [figure(run.accuracy), figure(run.kappa)] if labelled else []
    state: str = run.state
    if state == "complete" and run.failed:
        state = f"{run.failed} failed"
    if run.thresholds not in (None, "passed"):
        missed = "below threshold" if run.thresholds == "below" else "threshold undecided"
        state = missed if state == "complete" else f"{state}, {missed}"
    known = run.dataset is not None or run.judge is not None
    judge = run.judge or NONE
    costs = [NONE, NONE]
    if known:
        costs = [
            dollars(run.run_cost, run.run_estimated_cost),
            dollars(run.cost, run.estimated_cost),
        ]
    return Row(
        [
            run.run,
            run.dataset or NONE,
            judge if run.kind == "grade" else f"{judge} ({run.kind})",
            NONE if run.items is None else str(run.items),
            NONE if run.score is None else run.score,
            *agreement,
            *(costs if resumed else costs[:1]),
            run.when[:16].replace("T", " ") + ("" if state == "complete" else f", {state}"),
        ],
        "" if run.state == "complete" and not run.failed else "warning",
    )


def list_runs(folder: str | Path = "runs") -> RunList:
    """List the runs in a folder and in those below it, the oldest first.

    A run that cannot be read is in the list too, with the reason.

    Args:
        folder: the folder; a run folder itself is a list of one.

    Raises:
        InputError: there is no such folder.
    """
    top = user_path(folder)
    if not top.is_dir():
        what = "is a file, not a folder" if top.is_file() else "no such folder"
        raise InputError(f"{what}: name a run folder, or one that has run folders", file=top)
    runs = [_listed(path, os.path.relpath(path, top)) for path in run_folders(top)]
    return RunList(str(folder), tuple(sorted(runs, key=lambda run: (run.when, run.run))))


def run_folders(folder: Path, depth: int = DEPTH) -> Iterator[Path]:
    """Yield the run folders at and below a folder, but not within one another or behind links."""
    if any((folder / name).exists() for name in _FILES):
        yield folder
        return
    if not depth:
        return
    try:
        inner = sorted(
            entry.path
            for entry in os.scandir(folder)
            if entry.is_dir(follow_symlinks=False) and not entry.name.startswith(".")
        )
    except OSError:
        return
    for path in inner:
        yield from run_folders(Path(path), depth - 1)


def _listed(path: Path, name: str) -> ListedRun:
    kind = "grade"
    try:
        check_no_links(path)
        if not (path / SUMMARY_NAME).exists():
            note = noted_run(path)
            judge = ", ".join(note.get("judges", ())) or None
            return ListedRun(
                *(name, kind, "not ended", _when(path), note.get("dataset"), judge),
                problem=NOT_ENDED,
            )
        summary = stored_summary(path)
        if (path / REPORT_NAME).exists():
            report = kept_report(path)
            kind = "redteam" if isinstance(report, RedTeamReport) else "compare-pair"
        check_whole(path, summary.to_dict())
        score = _score(path, summary) if kind == "grade" else None
    except (RubricateError, OSError, ValueError, KeyError, TypeError) as error:
        return ListedRun(name, kind, "unreadable", _when(path), problem=_problem_text(error, path))
    usage, agreement = summary.usage, summary.agreement
    problem, without = summary.stopped, summary.items - summary.score.scored
    if problem is None and kind == "grade" and without and not summary.unanswered:
        problem = f"{without} of {summary.items} items have no score"
    return ListedRun(
        run=name,
        kind=kind,
        state="complete" if summary.stopped is None else "stopped early",
        when=_when(path),
        dataset=summary.dataset,
        judge=summary.judge,
        items=summary.items,
        score=score,
        failed=summary.unanswered,
        accuracy=None if agreement is None else agreement.accuracy,
        kappa=None if agreement is None else agreement.kappa,
        labels=0 if agreement is None else agreement.n,
        run_cost=usage.run_cost,
        run_estimated_cost=usage.run_estimated_cost,
        cost=usage.cost,
        estimated_cost=usage.estimated_cost,
        thresholds=None if summary.thresholds is None else summary.thresholds.outcome,
        problem=problem,
    )


NOT_ENDED = "has not ended; if it was interrupted, repeat its command to resume it"


def _problem_text(error: Exception, path: Path) -> str:
    """An error without the folder's name, which is printed before it."""
    if not isinstance(error, RubricateError):
        return "a file is damaged; run the same command again: it writes it anew from the journal"
    text = " ".join(str(error).split())
    return text.replace(f"{path}{os.sep}", "").replace(f"{path}: ", "")


def _when(path: Path) -> str:
    """The modification time of the first file of the run that exists."""
    for name in _FILES:
        try:
            written = (path / name).stat().st_mtime
        except OSError:
            continue
        return datetime.fromtimestamp(written, UTC).isoformat(timespec="seconds")
    return datetime.fromtimestamp(0, UTC).isoformat(timespec="seconds")


def _score(path: Path, summary: Summary) -> Estimate | None:
    """The mean score with its interval, from the summary if it has one."""
    if summary.score.mean is None:
        return None
    groups = prompts_in(path) if prompts_repeat(summary.prompts or 0, summary.items) else None
    reach = summary.score.reach
    return mean_score(
        dict(_item_scores(path / "results.jsonl")),
        summary,
        groups=groups or None,
        reach=read_run(path).reach if reach is None else reach,
    )


def _item_scores(path: Path) -> Iterator[tuple[str, float | None]]:
    """Yield each item with its score, from its first line; further lines are skipped."""
    begin: bytes | None = None
    with path.open("rb") as lines:
        for line in lines:
            if begin is None or not line.startswith(begin):
                row = orjson.loads(line)
                begin = b'{"item":' + orjson.dumps(row["item"]) + b","
                yield row["item"], row["item_score"]["value"]
