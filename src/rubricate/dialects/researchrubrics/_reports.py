"""Reports with the tasks that they answer, as a dataset."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from rubricate._files import user_path
from rubricate.dataset import (
    Converter,
    DataItem,
    Item,
    Survey,
    documents_in,
    read_document,
    survey_of,
)
from rubricate.dialects.researchrubrics._figures import SCORING
from rubricate.dialects.researchrubrics._tasks import Task, label_of
from rubricate.errors import InputError, MissingExtraError
from rubricate.rubric import DeclaredScoring


@dataclass(frozen=True, slots=True)
class ResearchReport:
    """One report.

    Attributes:
        id: what it goes by in the run: the task's `sample_id`, behind the system's name if it has
            one.
        system: who wrote it; empty where there is only one system.
        task: what it answers.
        path: its file.
    """

    id: str
    system: str
    task: Task
    path: Path


class ResearchReports:
    """Reports as a dataset that can be graded; their files are read when they are needed.

    Args:
        reports: the reports.
        name: the dataset's name.
        cache: where converted text of PDF, HTML and DOCX is kept; None for nowhere.
        without_report: the ids of tasks that no report is for, by system.
        without_task: files that no task is for.

    Attributes:
        unreadable: by the report's id, what is wrong with one that cannot be read.
        hidden: by the report's id, how many characters of it its page hides; they are left out.
    """

    def __init__(
        self,
        reports: Iterable[ResearchReport],
        name: str | None = None,
        *,
        cache: Path | None = None,
        without_report: Mapping[str, Sequence[str]] | None = None,
        without_task: Sequence[Path] = (),
    ) -> None:
        self.reports = {report.id: report for report in reports}
        self.name = name
        self.without_report = dict(without_report or {})
        self.without_task = list(without_task)
        self.unreadable: dict[str, InputError] = {}
        self.hidden: dict[str, int] = {}
        self._cache = cache

    def __len__(self) -> int:
        return len(self.reports)

    def survey(self, limit: int | None = None) -> Survey:
        """Read all reports, and check them.

        Raises:
            InputError: none of them can be read.
        """
        found = survey_of(self.to_grade(limit), self._scoring(limit))
        errors = [self.unreadable.get(name) for name in list(self.reports)[:limit]]
        if errors and errors[0] is not None and all(errors):
            raise errors[0]
        return found

    def _scoring(self, limit: int | None) -> DeclaredScoring:
        """The page's scoring, by what the tasks and reports have."""
        reports = list(self.reports.values())[:limit]
        has = {
            "axis": any(one.axis for r in reports for one in r.task.criteria.values()),
            "domain": any(report.task.domain for report in reports),
            "system": any(report.system for report in reports),
        }
        by = tuple(field for field in SCORING.by if has[field])
        return SCORING.model_copy(update={"by": by})

    def to_grade(self, limit: int | None = None) -> Iterator[Item]:
        """The reports, one after the other."""
        with Converter() as converter:
            for report in list(self.reports.values())[:limit]:
                yield self._item(report, converter)

    def _item(self, report: ResearchReport, converter: Converter) -> Item:
        task = report.task
        text = self._text(report, converter)
        metadata: dict[str, Any] = {"sample_id": task.sample_id, "domain": task.domain}
        metadata |= {"system": report.system} if report.system else {}
        if hidden := self.hidden.get(report.id):
            metadata["hidden_characters"] = hidden
        labels = [
            label_of(criterion, one.human)
            for criterion, one in zip(task.rubric, task.criteria.values(), strict=True)
        ]
        error = self.unreadable.get(report.id)
        item = DataItem(
            text,
            task.domain,
            labels if any(labels) else None,  # type: ignore[arg-type]
            task.rubric,
            id=report.id,
            prompt=task.prompt,
            metadata=metadata,
            unreadable=None if error is None else str(error),
        )
        return Item.of(item, task.rubric, id=report.id, prompt=task.prompt, reference=None)

    def _text(self, report: ResearchReport, converter: Converter) -> str:
        """The report's text; empty where it cannot be read, which is tried once."""
        if report.id in self.unreadable:
            return ""
        try:
            text, hidden = read_document(report.path, cache=self._cache, converter=converter)
        except MissingExtraError:
            raise
        except InputError as error:
            self.unreadable[report.id] = error
            return ""
        if hidden:
            self.hidden[report.id] = hidden
        return text


def find_reports(
    folders: Mapping[str, str | Path],
    tasks: Sequence[Task],
    *,
    cache: Path | None = None,
    follow_links: bool = False,
) -> ResearchReports:
    """Find the reports of tasks by their names.

    Args:
        folders: by system, the folder with its reports; the name is empty where there is only one.
        tasks: the tasks.
        cache: where converted text is kept.
        follow_links: whether links may lead out of a folder.

    Raises:
        InputError: there is no such folder, no report of any task in it, two of one task, or a link
            that leads out of it.
    """
    reports: list[ResearchReport] = []
    without_report: dict[str, list[str]] = {}
    without_task: list[Path] = []
    for system, folder in folders.items():
        files = _files(user_path(folder), follow_links)
        found = {task.sample_id: files.pop(task.sample_id, None) for task in tasks}
        without_report[system] = [name for name, path in found.items() if path is None]
        without_task += files.values()
        if len(without_report[system]) == len(tasks):
            names = ", ".join(sorted(path.name for path in files.values())[:3]) or "none"
            raise InputError(
                f"no report is named by a task, such as {tasks[0].sample_id}.md; files: {names}"
                if tasks
                else "there are no tasks",
                file=folder,
            )
        for task in tasks:
            path = found[task.sample_id]
            if path is not None:
                name = f"{system}/{task.sample_id}" if system else task.sample_id
                reports.append(ResearchReport(name, system, task, path))
    only = next(iter(folders.values())) if len(folders) == 1 else "reports"
    return ResearchReports(
        reports,
        user_path(only).resolve().name,
        cache=cache,
        without_report=without_report,
        without_task=sorted(without_task),
    )


def _files(folder: Path, follow_links: bool) -> dict[str, Path]:
    """The documents in a folder by their names without the ending."""
    if not folder.is_dir():
        what = "is a file, expected a folder" if folder.exists() else "no such folder"
        raise InputError(f"{what} of reports", file=folder)
    return documents_in(folder, follow_links=follow_links)
