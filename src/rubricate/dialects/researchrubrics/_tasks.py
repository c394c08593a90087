"""Tasks with their weighted rubrics: `processed_data.jsonl`."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal, get_args

from rubricate._documents import check_keys, parse_json_lines, read_text
from rubricate._spelling import did_you_mean, unknown_word
from rubricate.dataset import unique_name
from rubricate.errors import InputError, MissingFileError, errors_within, check_type
from rubricate.rubric import Criterion, CriterionOption, Rubric

DEFAULT_TASKS = "data/researchrubrics/processed_data.jsonl"
SATISFIED, PARTIALLY, NOT_SATISFIED = "Satisfied", "Partially Satisfied", "Not Satisfied"
Grading = Literal["binary", "ternary"]
"""`ternary` adds a verdict `Partially Satisfied`, worth 0.5, between the other two."""

_TASK_KEYS = {
    *("prompt", "sample_id", "domain", "rubrics"),
    *("conceptual_breadth", "logical_nesting", "exploration"),
}
_COUNTER_KEYS = ("counter", "at_least", "at_most")
_CRITERION_KEYS = ("criterion", "weight", "axis", "human_verdict", *_COUNTER_KEYS)
_OPTIONS = (
    (SATISFIED, 1.0, "the submission meets the criterion", "the fault is present"),
    (PARTIALLY, 0.5, "it meets it in part", "the fault is present in part"),
    (NOT_SATISFIED, 0.0, "it does not", "the fault is not present"),
)
"""The options of ternary grading: label, value, and meaning for a merit and a penalty."""


@dataclass(frozen=True, slots=True)
class Task:
    """A task.

    Attributes:
        sample_id: its identifier, which is the name of its report.
        prompt: the question.
        domain: its domain; empty if it has none.
        rubric: its criteria in the order of the file; the axis is a tag `axis:NAME`.
        labels: a person's verdict on each criterion as a label, in the same order; None if the file
            has none.
    """

    sample_id: str
    prompt: str
    domain: str
    rubric: Rubric
    labels: tuple[str | None, ...]


def check_grading(grading: str) -> Grading:
    """Check a grading.

    Raises:
        InputError: the grading is neither `binary` nor `ternary`.
    """
    for known in get_args(Grading):
        if grading == known:
            return known  # type: ignore[no-any-return]
    raise InputError(unknown_word("grading", grading, get_args(Grading)))


def verdict_of(label: str | None) -> str | None:
    """Convert a criterion's label to the page's verdict."""
    return {"MET": SATISFIED, "UNMET": NOT_SATISFIED}.get(label or "", label)


def label_of(criterion: Criterion, verdict: str | None) -> str | None:
    """Convert the page's verdict to a criterion's label. `Partially Satisfied` is UNMET if the
    criterion has no such label."""
    if verdict is None or criterion.options is not None:
        return verdict
    return "MET" if verdict == SATISFIED else "UNMET"


def axis_of(criterion: Criterion) -> str:
    """The axis of a criterion; empty if it has none."""
    axes = [tag.removeprefix("axis:") for tag in criterion.tags if tag.startswith("axis:")]
    return axes[0] if axes else ""


def criterion_of(
    title: str, weight: float, axis: str, *, name: str, grading: Grading, **counter: Any
) -> Criterion:
    """Create the criterion of a task's entry or of a result line.

    Args:
        title: its text.
        weight: its weight; negative for a penalty.
        axis: its axis; empty if it has none.
        name: its name in the rubric.
        grading: `ternary` if it can be satisfied in part.
        counter: `counter`, `at_least` and `at_most` for a criterion that code counts.
    """
    fields: dict[str, Any] = {"name": name, "weight": weight, "requirement": title}
    fields["tags"] = (f"axis:{axis}",) if axis else ()
    if counter:
        return Rubric.from_dict([{**fields, **counter, "kind": "counter"}])[0]
    if grading == "ternary":
        fields["scale_type"] = "ordinal"
        fields["options"] = tuple(
            CriterionOption(label=label, value=value, description=meanings[weight < 0])
            for label, value, *meanings in _OPTIONS
        )
    return Criterion(**fields)


def read_tasks(path: str | Path = DEFAULT_TASKS, *, grading: str = "binary") -> list[Task]:
    """Read a tasks file: JSON Lines with one task per line.

    Args:
        path: the file.
        grading: `binary`, or `ternary` with `Partially Satisfied`.

    Raises:
        InputError: the file is missing (the message says where to get it), a line is malformed, or
            a `sample_id` is defined twice or is not a file name.
    """
    how = check_grading(grading)
    try:
        text = read_text(path)
    except MissingFileError:
        raise MissingFileError(
            "file not found; to download the published one: huggingface-cli download "
            "ScaleAI/researchrubrics processed_data.jsonl --repo-type dataset --local-dir "
            "data/researchrubrics",
            file=path,
        ) from None
    tasks: dict[str, Task] = {}
    lines: dict[str, int] = {}
    for number, data in parse_json_lines(text, file=path):
        with errors_within(file=path, line=number):
            task = _task(data, how)
            if first := lines.get(task.sample_id):
                raise InputError(
                    f"the sample_id '{task.sample_id}' is defined twice, first in line {first}"
                )
        tasks[task.sample_id], lines[task.sample_id] = task, number
    return list(tasks.values())


def _task(data: Any, grading: Grading) -> Task:
    check_type(data, Mapping, "an object with a task")
    check_keys(data, _TASK_KEYS)
    for name in ("sample_id", "prompt"):
        if not isinstance(data.get(name), str) or not data[name].strip():
            raise InputError(f"the task needs a {name}, as text", path=(name,))
    _check_id(data["sample_id"])
    entries = data.get("rubrics")
    if not isinstance(entries, list) or not entries:
        raise InputError("expected a list with one criterion at least", path=("rubrics",))
    criteria: dict[str, Criterion] = {}
    labels = []
    for index, entry in enumerate(entries):
        with errors_within("rubrics", index):
            criterion = _criterion(entry, criteria, grading)
            labels.append(label_of(criterion, _human_verdict(entry.get("human_verdict"))))
        criteria[str(criterion.name)] = criterion
    domain = str(data.get("domain") or "")
    rubric = Rubric(list(criteria.values()))
    return Task(data["sample_id"], data["prompt"], domain, rubric, tuple(labels))


def _check_id(sample_id: str) -> None:
    """Reject ids that are not plain file names, because reports are found by them."""
    if Path(sample_id).name != sample_id or sample_id == ".." or set("\\\0") & {*sample_id}:
        raise InputError(
            f"'{sample_id}' contains a path; a sample_id is the name of a file without its suffix",
            path=("sample_id",),
        )


def _criterion(data: Any, criteria: Mapping[str, Criterion], grading: Grading) -> Criterion:
    check_type(data, Mapping, "an object")
    check_keys(data, _CRITERION_KEYS)
    title, weight = data.get("criterion"), data.get("weight")
    if not isinstance(title, str) or not title.strip():
        raise InputError("a criterion needs its text", path=("criterion",))
    if isinstance(weight, bool) or not isinstance(weight, int | float):
        raise InputError(f"expected a number, found {weight!r}", path=("weight",))
    if not math.isfinite(weight):
        raise InputError(f"expected a finite number, found {weight}", path=("weight",))
    counter = {key: data[key] for key in _COUNTER_KEYS if data.get(key) is not None}
    axis, name = str(data.get("axis") or "").strip(), unique_name(title, criteria)
    return criterion_of(title, float(weight), axis, name=name, grading=grading, **counter)


def _human_verdict(value: Any) -> str | None:
    if value is None:
        return None
    if isinstance(value, bool):
        return SATISFIED if value else NOT_SATISFIED
    known = {name.casefold(): name for name in (SATISFIED, PARTIALLY, NOT_SATISFIED)}
    verdict = known.get(str(value).strip().casefold())
    if verdict is None:
        hint = did_you_mean(str(value), list(known.values()))
        raise InputError(
            f"expected {', '.join(known.values())}, true or false, found {value!r}{hint}",
            path=("human_verdict",),
        )
    return verdict
