"""Tasks with their weighted rubrics: `processed_data.jsonl`."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal, get_args

from rubricate._documents import check_keys, parse_json_lines, read_text
from rubricate._spelling import did_you_mean
from rubricate.dataset import unique_name
from rubricate.errors import InputError, MissingFileError
from rubricate.rubric import CounterCriterion, Criterion, CriterionOption, Rubric

DEFAULT_TASKS = "data/researchrubrics/processed_data.jsonl"
SATISFIED, PARTIALLY, NOT_SATISFIED = "Satisfied", "Partially Satisfied", "Not Satisfied"
Grading = Literal["binary", "ternary"]
"""Whether there is a verdict `Partially Satisfied`, worth 0.5, between the other two."""

_TASK_KEYS = ("prompt", "sample_id", "domain", "rubrics")
_COMPLEXITY = ("conceptual_breadth", "logical_nesting", "exploration")
_COUNTER_KEYS = ("counter", "at_least", "at_most")
_CRITERION_KEYS = ("criterion", "weight", "axis", "human_verdict", *_COUNTER_KEYS)
_MEANINGS = {
    SATISFIED: ("the submission meets the criterion", "the fault is present"),
    PARTIALLY: ("it meets it in part", "the fault is present in part"),
    NOT_SATISFIED: ("it does not", "the fault is not present"),
}


@dataclass(frozen=True, slots=True)
class TaskCriterion:
    """One criterion of a task.

    Attributes:
        title: its text, the `rubric_title` of results.
        weight: its weight; negative for a penalty criterion.
        axis: the category it is in; empty if it is in none.
        human: a person's verdict, if the file has one.
    """

    title: str
    weight: float
    axis: str
    human: str | None


@dataclass(frozen=True, slots=True)
class Task:
    """One task.

    Attributes:
        sample_id: its identifier, which its report is named by.
        prompt: what was asked.
        domain: its domain; empty if it has none.
        complexity: `conceptual_breadth`, `logical_nesting` and `exploration`, those that it has.
        criteria: its criteria by their names in the rubric, in the file's order.
        rubric: the same as a rubric, in the same order.
    """

    sample_id: str
    prompt: str
    domain: str
    complexity: Mapping[str, str]
    criteria: Mapping[str, TaskCriterion]
    rubric: Rubric


def check_grading(grading: str) -> Grading:
    """The way of grading, or an `InputError` that suggests the right one."""
    for known in get_args(Grading):
        if grading == known:
            return known  # type: ignore[no-any-return]
    hint = did_you_mean(grading, get_args(Grading))
    raise InputError(f"the grading is binary or ternary, found '{grading}'{hint}")


def verdict_of_label(label: str | None) -> str | None:
    """The page's verdict for a label of the core."""
    return {"MET": SATISFIED, "UNMET": NOT_SATISFIED}.get(label or "", label)


def read_tasks(path: str | Path = DEFAULT_TASKS, *, grading: str = "binary") -> list[Task]:
    """Read a tasks file: JSON Lines, a task a line.

    Raises:
        InputError: the file is not there (says how it is obtained), a line is malformed (says
            which), or a `sample_id` stands twice or could lead out of the folder of reports.
    """
    way = check_grading(grading)
    try:
        text = read_text(path)
    except MissingFileError:
        raise MissingFileError(
            "file not found; the published one comes by: huggingface-cli download "
            "ScaleAI/researchrubrics processed_data.jsonl --repo-type dataset --local-dir "
            "data/researchrubrics",
            file=path,
        ) from None
    tasks: list[Task] = []
    lines: dict[str, int] = {}
    for number, data in parse_json_lines(text, file=path):
        try:
            task = _task(data, way)
        except InputError as error:
            raise error.within(file=path, line=number) from None
        if task.sample_id in lines:
            first = lines[task.sample_id]
            raise InputError(
                f"the sample_id '{task.sample_id}' stands twice, first in line {first}",
                file=path,
                line=number,
            )
        lines[task.sample_id] = number
        tasks.append(task)
    return tasks


def _task(data: Any, grading: Grading) -> Task:
    if not isinstance(data, Mapping):
        raise InputError(f"expected an object with a task, found {type(data).__name__}")
    check_keys(data, {*_TASK_KEYS, *_COMPLEXITY})
    for name in ("sample_id", "prompt"):
        if not isinstance(data.get(name), str) or not data[name].strip():
            raise InputError(f"the task needs a {name}, as text", path=(name,))
    _check_id(data["sample_id"])
    given = data.get("rubrics")
    if not isinstance(given, list) or not given:
        raise InputError("expected a list with one criterion at least", path=("rubrics",))
    criteria: dict[str, TaskCriterion] = {}
    asked: list[Criterion] = []
    for index, entry in enumerate(given):
        try:
            criterion = _criterion(entry)
            name = unique_name(criterion.title, criteria)
            criteria[name] = criterion
            asked.append(_asked(entry, criterion, name, grading))
        except InputError as error:
            raise error.within(("rubrics", index)) from None
    return Task(
        data["sample_id"],
        data["prompt"],
        str(data.get("domain") or ""),
        {name: str(data[name]) for name in _COMPLEXITY if data.get(name)},
        criteria,
        Rubric(asked),
    )


def _check_id(sample_id: str) -> None:
    """Refuse what is no plain file name: reports are looked for by it."""
    if Path(sample_id).name != sample_id or sample_id == ".." or set("\\\0") & {*sample_id}:
        raise InputError(
            f"'{sample_id}' has a path in it; a sample_id is a file's name without its ending",
            path=("sample_id",),
        )


def _criterion(data: Any) -> TaskCriterion:
    if not isinstance(data, Mapping):
        raise InputError(f"expected an object, found {type(data).__name__}")
    check_keys(data, _CRITERION_KEYS)
    title, weight = data.get("criterion"), data.get("weight")
    if not isinstance(title, str) or not title.strip():
        raise InputError("a criterion needs its text", path=("criterion",))
    if isinstance(weight, bool) or not isinstance(weight, int | float):
        raise InputError(f"expected a number, found {weight!r}", path=("weight",))
    if not math.isfinite(weight):
        raise InputError(f"expected a finite number, found {weight}", path=("weight",))
    return TaskCriterion(
        title, float(weight), str(data.get("axis") or "").strip(), _human(data.get("human_verdict"))
    )


def _human(given: Any) -> str | None:
    if given is None:
        return None
    if isinstance(given, bool):
        return SATISFIED if given else NOT_SATISFIED
    known = {name.casefold(): name for name in (SATISFIED, PARTIALLY, NOT_SATISFIED)}
    found = known.get(str(given).strip().casefold())
    if found is None:
        hint = did_you_mean(str(given), list(known.values()))
        raise InputError(
            f"expected {', '.join(known.values())}, true or false, found {given!r}{hint}",
            path=("human_verdict",),
        )
    return found


def _asked(data: Mapping[str, Any], one: TaskCriterion, name: str, grading: Grading) -> Criterion:
    """The criterion as it is judged."""
    given = {key: data[key] for key in _COUNTER_KEYS if data.get(key) is not None}
    common: dict[str, Any] = {
        "name": name,
        "weight": one.weight,
        "requirement": one.title,
        "tags": axis_tag(one.axis),
    }
    if given:
        return Rubric.from_dict([{**common, **given, "kind": "counter"}])[0]
    if grading == "binary":
        return Criterion(**common)
    penalty = one.weight < 0
    options = tuple(
        CriterionOption(label=label, value=value, description=_MEANINGS[label][penalty])
        for label, value in ((SATISFIED, 1.0), (PARTIALLY, 0.5), (NOT_SATISFIED, 0.0))
    )
    return Criterion(**common, options=options, scale_type="ordinal")


def axis_tag(axis: str) -> tuple[str, ...]:
    """The tag that a criterion has for its axis; none for none."""
    return (f"axis:{axis.strip()}",) if axis.strip() else ()


def label_of(criterion: Criterion, human: str | None) -> str | None:
    """A person's verdict as a label of the criterion; in part is not satisfied where the criterion
    has no such answer."""
    if human is None:
        return None
    if isinstance(criterion, CounterCriterion) or criterion.options is None:
        return "MET" if human == SATISFIED else "UNMET"
    return human
