"""Opening a benchmark: its tasks, and the texts that answer them, as a dataset."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Mapping
from contextlib import closing
from dataclasses import replace
from itertools import islice
from pathlib import Path
from typing import Any

from rubricate._files import HF, user_path
from rubricate._spelling import did_you_mean, unknown_word
from rubricate.dataset.benchmarks._formats import ANSWERS, FORMATS, IDS, RACE, renamed
from rubricate.dataset.benchmarks._task import Answer, Benchmark, Task, prompt_of, text_in
from rubricate.dataset.items import (
    Converter,
    DataItem,
    RubricDataset,
    TableColumns,
    documents_in,
    parse_pairs,
    read_document,
    text_of_chat,
)
from rubricate.dataset.samples import (
    OnError,
    Records,
    Source,
    check_on_error,
    located,
)
from rubricate.errors import InputError

TEXTS = (*ANSWERS, "article", "report", "model_output", "text")
CRITERIA = ("requirement", "weight", "name")
NAME_THEM = "name those that have other names (--map prompt=FIELD,rubric=FIELD)"


def format_of(data: str) -> Benchmark | None:
    """The format of a file of tasks; None for any other file, or one that does not exist.

    Decided by its first two records, because the first line of a dataset in JSON Lines is its
    header.
    """
    if not data.startswith(HF):
        source = Source(data, None)
        if source.suffix in (".csv", ".tsv"):
            return None  # has no lists
        if not source.remote and not Path(source.address).is_file():
            return None  # reading from a pipe would consume it
    try:
        with closing(Records(data).read()) as records:
            first = [record for _, record in islice(records, 2)]
    except InputError:
        return None  # reading it later reports the error
    for benchmark in FORMATS.values():
        if first and all(isinstance(each, Mapping) and benchmark.fits(each) for each in first):
            return benchmark
    return None


def open_benchmark(
    data: str | Path,
    submissions: str | Path | Mapping[str, str] | None = None,
    *,
    references: str | Path | Mapping[str, str] | None = None,
    format: str | None = None,
    columns: TableColumns | None = None,
    criteria: Mapping[str, str] | str | None = None,
    on_error: OnError = "raise",
    follow_links: bool = False,
) -> RubricDataset:
    """Return a benchmark's tasks with the texts that answer them, ready for grading.

    Args:
        data: the file of tasks: JSON Lines, JSON (a list, or one task) or Parquet, its URL, or
            `hf:NAME@SPLIT`. Nothing else is fetched.
        submissions: the texts: a file with an id and a text in each record, a folder with a file
            for each task named by its id, or texts by id. Default: those in the tasks' records.
        references: for a benchmark that compares scores with a reference: its texts, in the same
            forms.
        format: one of `FORMATS`. Default: the one that the records match.
        columns: the fields for `id` and `submission`, if they have unusual names: in the file of
            submissions or, without one, in the tasks' own records; tasks that also have the field
            for `id` are found by it. Also the fields of a task for `prompt`, `reference` and
            `rubric` (`reward_model.rubrics`).
        criteria: the fields of a criterion for `requirement`, `weight` and `name`, as such pairs or
            as text (`requirement=point,weight=importance`), if they have unusual names.
        on_error: with `skip`, an unreadable document in a folder becomes an item whose verdicts are
            all failed, with the cause.
        follow_links: whether links may lead out of a folder of texts; their targets are then
            judged.

    Returns:
        A dataset of the tasks with a text, each with its own rubric; `metadata` has the format
        (`benchmark`) and the ids of tasks `without_submission`. An item's metadata has the id of
        its `task`, unless the record has a field of that name; a reference's has
        `role: reference`.

    Raises:
        InputError (ValueError): the file cannot be read or has no known format, a record is
            invalid, an id is duplicate or belongs to no task, or no task has a text; the error says
            where.
    """
    source = str(data)
    benchmark = _format(source, format)
    if benchmark is RACE and references is None:
        raise InputError("is scored against references: name them (--references FILE)", file=source)
    columns, skips = columns or TableColumns(), check_on_error(on_error)
    if columns.ignore:
        raise InputError("map: 'ignore' is for tables; a benchmark's other fields are not graded")
    keys = parse_pairs(criteria or {}, CRITERIA, "criteria-map")
    tasks = _tasks(source, benchmark, columns.columns, keys, strict=submissions is None)
    answers = {id: list(task.answers) for id, task in tasks.items()}
    if submissions is not None:
        answers = _by_task(tasks, submissions, columns, skips=skips, links=follow_links)
    if not any(answers.values()):
        raise InputError(
            "has tasks and no texts to grade: name them (--submissions FILE or FOLDER)"
            if submissions is None
            else "no task has a text there",
            file=source,
        )
    beside = (
        {}
        if references is None
        else _by_task(tasks, references, columns, skips=skips, links=follow_links)
    )
    items: list[DataItem] = []
    for task in tasks.values():
        items += [_item(task, answer) for answer in answers[task.id]]
        if answers[task.id]:
            items += [_item(task, answer, "reference") for answer in beside.get(task.id, [])]
    return RubricDataset(
        "",
        items=_numbered(items),
        name=f"{benchmark.name}-{Path(source).name.partition('.')[0]}",
        scoring=benchmark.scoring,
        metadata={
            "benchmark": benchmark.name,
            "without_submission": [id for id in tasks if not answers[id]],
        },
    )


def _format(data: str, name: str | None) -> Benchmark:
    if name is not None:
        if name not in FORMATS:
            raise InputError(unknown_word("format", name, FORMATS))
        return FORMATS[name]
    benchmark = format_of(data)
    if benchmark is None:
        next(Records(data).read(), None)  # raises if unreadable
        raise InputError(
            f"holds no tasks of a known format ({', '.join(FORMATS)}): a record needs a prompt "
            f"and its rubric; {NAME_THEM}",
            file=data,
        )
    return benchmark


def _tasks(
    data: str, format: Benchmark, columns: Mapping[str, str], keys: Mapping[str, str], strict: bool
) -> dict[str, Task]:
    """The tasks by id; records of one task with different answers are combined.

    If it is `strict`, each record must have the field for ids in `columns`; otherwise it may be one
    of the texts' file alone.
    """
    text, own_id = (columns.get(what) for what in ("submission", "id"))
    tasks: dict[str, Task] = {}
    ids: dict[str, int] = {}
    for number, (line, record) in enumerate(Records(data).read(), start=1):
        try:
            if isinstance(record, InputError):
                raise record
            fields = renamed(record, columns, keys)
            if not format.fits(fields):
                raise InputError(
                    f"is no task of the format {format.name}; its fields are "
                    f"{', '.join(record)}: {NAME_THEM}"
                )
            task = format.task(fields)
            answers = task.answers
            if text is not None and record.get(text) is not None:
                answers = [Answer("", record[text])]
            own = text_in(record, own_id) if own_id and (strict or own_id in record) else task.id
            task = replace(
                task,
                id=own or str(number),
                answers=[replace(answer, text=text_of_chat(answer.text)) for answer in answers],
            )
            if (first := tasks.get(task.id)) is not None:
                if not task.answers or (first.prompt, first.rubric) != (task.prompt, task.rubric):
                    raise InputError(
                        f"the id '{task.id}' is defined twice, first in record {ids[task.id]}, "
                        "for another task: name the field that tells them apart (--map id=FIELD)"
                    )
                others = [replace(answer, metadata=task.metadata) for answer in task.answers]
                task = replace(first, answers=[*first.answers, *others])
            ids.setdefault(task.id, number)
            tasks[task.id] = task
        except InputError as error:
            raise located(error, data, number, line) from error.__cause__
    return tasks


Submissions = str | Path | Mapping[str, str]


def _by_task(
    tasks: Mapping[str, Task],
    submissions: Submissions,
    columns: TableColumns,
    *,
    skips: bool,
    links: bool,
) -> dict[str, list[Answer]]:
    """The texts from a file, a folder or a mapping, by the tasks that they answer.

    Raises:
        InputError: a text belongs to no task, or a record has no text.
    """
    texts: Iterable[tuple[str, Answer]]
    if isinstance(submissions, Mapping):
        texts = ((id, Answer("", text)) for id, text in submissions.items())
    elif user_path(submissions).is_dir():
        texts = _in_folder(user_path(submissions), skips=skips, links=links)
    else:
        texts = _in_file(str(submissions), columns, tasks)
    by_task: dict[str, list[Answer]] = {id: [] for id in tasks}
    for id, answer in texts:
        if id not in by_task:
            where = None if isinstance(submissions, Mapping) else submissions
            raise InputError(f"there is no task '{id}'{did_you_mean(id, by_task)}", file=where)
        by_task[id].append(answer)
    return by_task


def _in_folder(folder: Path, *, skips: bool, links: bool) -> Iterator[tuple[str, Answer]]:
    """The documents of a folder, by the task id in their name; unreadable ones are marked."""
    with Converter() as converter:
        for id, path in documents_in(folder, follow_links=links).items():
            try:
                yield id, Answer("", read_document(path, converter=converter).text)
            except InputError as error:
                if not skips:
                    hint = "mend it, or let its item fail with --on-error skip (on_error)"
                    raise InputError(f"{error.message}; {hint}", file=error.file) from None
                yield id, Answer("", "", unreadable=str(error))


def _in_file(
    data: str, columns: TableColumns, tasks: Collection[str]
) -> Iterator[tuple[str, Answer]]:
    """The texts in a file's records, or in an object with a text for each id."""
    own = dict(columns.columns)
    for number, (line, record) in enumerate(Records(data).read(), start=1):
        try:
            if isinstance(record, InputError):
                raise record
            if not record.keys().isdisjoint(tasks):
                for id in record:
                    yield id, Answer("", prompt_of(record, id))
                continue
            id = _column(record, own.get("id"), IDS)
            text = _column(record, own.get("submission"), TEXTS)
            rest = {key: record[key] for key in record if key not in (id, text, "prompt", "task")}
            answer = Answer("", text_of_chat(record[text]), metadata=rest)
        except InputError as error:
            raise located(error, data, number, line) from error.__cause__
        yield str(record[id]), answer


def _column(record: Mapping[str, Any], named: str | None, usual: Iterable[str]) -> str:
    """The field of a record with its id or its text."""
    for key in usual if named is None else (named,):
        if record.get(key) is not None:
            return key
    what = "id" if usual is IDS else "submission"
    wanted = f"'{named}'" if named else f"any of: {', '.join(usual)}"
    raise InputError(
        f"has no {what} ({wanted}); its fields are {', '.join(map(str, record))}: name the field "
        f"(--map {what}=FIELD)"
    )


def _item(task: Task, answer: Answer, role: str = "") -> DataItem:
    metadata = {"task": task.id, **task.metadata, **answer.metadata}
    return DataItem(
        answer.text,
        ground_truth=answer.labels,
        rubric=task.rubric,
        reference_submission=task.reference,
        id="/".join(filter(None, (task.id, answer.name, role))),
        prompt=task.prompt,
        metadata={**metadata, "role": role} if role else metadata,
        unreadable=answer.unreadable,
    )


def _numbered(items: list[DataItem]) -> list[DataItem]:
    """Number items with the same id: the second and later ones get the suffix `#2`, `#3`, ..."""
    seen: Counter[str] = Counter()
    for item in items:
        seen[item.id] += 1
        if seen[item.id] > 1:
            item.id = f"{item.id}#{seen[item.id]}"
    return items
