"""Reports as a dataset, with the tasks that they answer."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from rubricate._files import user_path
from rubricate.dataset import Converter, DataItem, RubricDataset, documents_in, read_document
from rubricate.dialects.researchrubrics._figures import SCORING
from rubricate.dialects.researchrubrics._tasks import Task, axis_of
from rubricate.errors import InputError, MissingExtraError


@dataclass(frozen=True, slots=True)
class ResearchReports:
    """The reports of a folder or several.

    Attributes:
        dataset: the reports, each with the rubric of its task. The id of an item is the task's
            `sample_id`, after the system's name and a slash if there is one.
        without_report: the ids of tasks that have no report, by system.
        without_task: files that belong to no task.
        unreadable: the problems of reports that cannot be read, by item id; their verdicts fail.
        hidden: the number of characters that pages hide, by item id; they are left out.
    """

    dataset: RubricDataset
    without_report: dict[str, list[str]] = field(default_factory=dict)
    without_task: Sequence[Path] = ()
    unreadable: dict[str, InputError] = field(default_factory=dict)
    hidden: dict[str, int] = field(default_factory=dict)


def find_reports(
    folders: Mapping[str, str | Path],
    tasks: Sequence[Task],
    *,
    limit: int | None = None,
    cache: Path | None = None,
    follow_links: bool = False,
) -> ResearchReports:
    """Find and read the reports of tasks by their names.

    Args:
        folders: the folders with reports by system; the name is empty if there is only one.
        tasks: the tasks.
        limit: read the first N reports only. Default: all.
        cache: the folder for the converted text of PDF, HTML and DOCX files. Default: none.
        follow_links: whether links may lead out of a folder.

    Raises:
        InputError: a folder is missing, has no reports, has two reports for a task, or has a link
            that leads out of it; or no report can be read.
    """
    if not tasks:
        raise InputError("there are no tasks")
    files: dict[tuple[str, str], Path] = {}
    without_report: dict[str, list[str]] = {}
    without_task: list[Path] = []
    for system, folder in folders.items():
        documents = _files(user_path(folder), follow_links)
        paths = {task.sample_id: documents.pop(task.sample_id, None) for task in tasks}
        without_report[system] = [name for name, path in paths.items() if path is None]
        without_task += documents.values()
        if len(without_report[system]) == len(tasks):
            names = ", ".join(sorted(path.name for path in documents.values())[:3]) or "none"
            raise InputError(
                f"no report is named after a task, such as {tasks[0].sample_id}.md; files: {names}",
                file=folder,
            )
        files |= {(system, name): path for name, path in paths.items() if path is not None}
    by_id = {task.sample_id: task for task in tasks}
    chosen = [(system, by_id[name], path) for (system, name), path in files.items()][:limit]
    only = next(iter(folders.values())) if len(folders) == 1 else "reports"
    return replace(
        reports_of(chosen, name=user_path(only).resolve().name, cache=cache),
        without_report=without_report,
        without_task=sorted(without_task),
    )


def reports_of(
    files: Sequence[tuple[str, Task, Path]], *, name: str, cache: Path | None = None
) -> ResearchReports:
    """Create a dataset from reports, each with its system, task and file.

    Raises:
        InputError: no report can be read.
    """
    items: list[DataItem] = []
    unreadable: dict[str, InputError] = {}
    hidden: dict[str, int] = {}
    with Converter() as converter:
        for system, task, path in files:
            id = f"{system}/{task.sample_id}" if system else task.sample_id
            metadata: dict[str, Any] = {"sample_id": task.sample_id, "domain": task.domain}
            metadata |= {"system": system} if system else {}
            text = ""
            try:
                text, count = read_document(path, cache=cache, converter=converter)
                if count:
                    hidden[id] = metadata["hidden_characters"] = count
            except MissingExtraError:
                raise
            except InputError as error:
                unreadable[id] = error
            item = DataItem(
                text,
                task.domain,
                list(task.labels) if any(task.labels) else None,
                task.rubric,
                id=id,
                prompt=task.prompt,
                metadata=metadata,
                unreadable=str(unreadable[id]) if id in unreadable else None,
            )
            items.append(item)
    if len(unreadable) == len(files):
        raise next(iter(unreadable.values()))
    has = {
        "axis": any(axis_of(criterion) for _, task, _ in files for criterion in task.rubric),
        "domain": any(task.domain for _, task, _ in files),
        "system": any(system for system, _, _ in files),
    }
    by = tuple(name for name in SCORING.by if has[name])
    scoring = SCORING.model_copy(update={"by": by})
    dataset = RubricDataset("", items=items, name=name, scoring=scoring)
    return ResearchReports(dataset, unreadable=unreadable, hidden=hidden)


def _files(folder: Path, follow_links: bool) -> dict[str, Path]:
    """Return the documents in a folder by name without suffix."""
    if not folder.is_dir():
        what = "is a file, expected a folder" if folder.exists() else "no such folder"
        raise InputError(f"{what} of reports", file=folder)
    return documents_in(folder, follow_links=follow_links)
