"""The formats of benchmarks' files: of each, what tells a record, and the task that it is.

- HealthBench: Arora et al., "HealthBench: Evaluating Large Language Models Towards Improved Human
  Health", 2025 (arXiv:2505.08775). Conversations, each with the points that physicians give. An
  example's score is its points over those that can be had, not clipped; the benchmark's is the
  mean over examples, clipped to [0, 1]; also by theme (tags of examples) and axis (of criteria).
- PaperBench: Starace et al., "PaperBench: Evaluating AI's Ability to Replicate AI Research", 2025
  (arXiv:2504.01848). Papers to be reproduced, each with a tree of what a reproduction has to show.
  Leaves are judged; a node's score is the weighted mean of its children's, and the benchmark's is
  the mean over papers.
- ProfBench: Wang et al., "ProfBench: Multi-Domain Rubrics requiring Professional Knowledge to
  Answer and Judge", 2025 (arXiv:2510.18941). Reports in four domains. Critical, Major, Minor and
  Additional criteria weigh 4, 3, 2 and 1; a domain's score is the mean over its tasks of the mean
  over their responses, and the benchmark's the mean of the domains'. By type of criterion: the
  plain share of all that are fulfilled.
- RACE of DeepResearch Bench: Du et al., "DeepResearch Bench: A Comprehensive Benchmark for Deep
  Research Agents", 2025 (arXiv:2506.11763). Criteria are scored from 0 to 10; a dimension is the
  mean by their weights, a report the mean by the dimensions' weights, and a task's score is the
  report's over the sum of the report's and the reference's.
- Records with a prompt and their own rubric, as data sets for training with rubrics have, in the
  words that such files use; the rubric is a list or one text with a numbered list.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from functools import partial
from typing import Any

from rubricate.dataset.benchmarks._task import (
    Answer,
    Benchmark,
    Task,
    criterion_of,
    each,
    prompt_of,
    rubric_of,
    text_in,
    unique_name,
)
from rubricate.dataset.items import GroundTruth
from rubricate.errors import InputError, shown
from rubricate.rubric import DeclaredScoring

WEIGHTS = {"Critical": 4.0, "Major": 3.0, "Minor": 2.0, "Additional": 1.0}
"""ProfBench's."""
RESPONSE, FULFILMENT = "_response", "_fulfilment"
PROMPTS = ("prompt", "question", "instruction", "input", "problem", "query")
RUBRICS = ("rubrics", "criteria", "rubric", "rubric_list")
IDS = ("id", "task_id", "prompt_id", "sample_id", "question_id", "uid", "uuid")
ANSWERS = ("submission", "response", "completion", "answer", "output", "generation")
_NUMBERED = re.compile(r"^\s*(?:\d+[.)]|[-*•])\s+", re.MULTILINE)
_MARK = re.compile(r"\s*\[([^\[\]\n]{1,40})\]\s*$")


def _has_entries(record: Mapping[str, Any], *keys: str) -> bool:
    """Whether `rubrics` is a list of objects that have these keys."""
    entries = record.get("rubrics")
    return isinstance(entries, list) and all(
        isinstance(entry, Mapping) and {*keys} <= {*entry} for entry in entries
    )


def _label(grade: Any, path: str) -> str | None:
    """The label that a person's grade is: Yes and No, true and false, 1 and 0; None for none."""
    if grade is None:
        return None
    folded = grade.strip().casefold() if isinstance(grade, str) else grade
    for label, grades in (("MET", ("yes", True)), ("UNMET", ("no", False))):
        if folded in grades:  # 1 and 0 equal True and False
            return label
    raise InputError(f"expected yes, no, true, false, 1 or 0, found {shown(grade)}", path=(path,))


def _is_healthbench(record: Mapping[str, Any]) -> bool:
    known = "prompt_id" in record or "example_tags" in record
    return known and _has_entries(record, "criterion", "points")


def _healthbench(record: Mapping[str, Any]) -> Task:
    tags = record.get("example_tags") or []
    if not isinstance(tags, list) or not all(isinstance(tag, str) for tag in tags):
        raise InputError("expected a list of texts", path=("example_tags",))
    return Task(
        text_in(record, "prompt_id"),
        prompt_of(record, "prompt"),
        rubric_of(each(criterion_of, record["rubrics"], "rubrics"), "rubrics"),
        {"tags": tags} if tags else {},
    )


def _is_paperbench(record: Mapping[str, Any]) -> bool:
    node = record.get("tree", record)
    return isinstance(node, Mapping) and {"requirements", "sub_tasks"} <= {*node}


def _paperbench(record: Mapping[str, Any]) -> Task:
    """A tree by itself, or `{id, tree}` with the `submission` that people graded in it, if any.

    The grades are the leaves' `score`: 1 and 0.
    """
    root, path = record.get("tree", record), ("tree",) if "tree" in record else ()
    text = record.get("submission")
    grades: GroundTruth | None = None if text is None else []
    try:
        tree = _node(root, (), grades)
    except InputError as error:
        raise error.within(path) from None
    labels = grades if any(grades or ()) else None
    return Task(
        text_in(record, "paper_id", "id"),
        text_in(root, "requirements"),
        rubric_of(tree.get("criteria", [tree]), *path),
        answers=[] if text is None else [Answer("", text, labels)],
    )


def _node(node: Any, place: tuple[int, ...], grades: GroundTruth | None) -> dict[str, Any]:
    """A node as a criterion or, where it has sub-tasks, as a group of them.

    A node is named by its number in the tree, such as 1.3.2. The leaves' grades go to `grades`.
    """
    if not isinstance(node, Mapping):
        raise InputError(f"expected a node of the tree, found {shown(node)}")
    children = node.get("sub_tasks") or []
    if not isinstance(children, list):
        raise InputError(f"expected a list, found {shown(children)}", path=("sub_tasks",))
    weight = node.get("weight", 1)
    if isinstance(weight, bool) or not isinstance(weight, int | float):
        raise InputError(f"expected a number, found {shown(weight)}", path=("weight",))
    own: dict[str, Any] = {
        "name": ".".join(map(str, place)) or "1",
        "weight": float(weight),
        "requirement": text_in(node, "requirements"),
    }
    if not children:
        if grades is not None:
            grades.append(_label(node.get("score"), "score"))
        category = node.get("task_category")
        return {**own, "tags": [f"category:{category}"]} if category else own
    criteria = each(
        lambda child: _node(child[1], (*place, child[0]), grades),
        enumerate(children, start=1),
        "sub_tasks",
    )
    return {**own, "criteria": criteria}


def _is_profbench(record: Mapping[str, Any]) -> bool:
    return bool(record.get("rubrics")) and _has_entries(record, "criterion_weight")


def _profbench(record: Mapping[str, Any]) -> Task:
    responses = [
        key.removesuffix(RESPONSE)
        for key, text in record.items()
        if key.endswith(RESPONSE) and text is not None
    ]
    labels: dict[str, GroundTruth] = {name: [] for name in responses}

    def read(entry: Mapping[str, Any]) -> dict[str, Any]:
        for name in responses:
            labels[name].append(_label(entry.get(key := f"{name}{FULFILMENT}"), key))
        kept = {key: value for key, value in entry.items() if not key.endswith(FULFILMENT)}
        kept.pop("criterion_id", None)
        return criterion_of(kept, WEIGHTS)

    criteria = each(read, record["rubrics"], "rubrics")
    return Task(
        text_in(record, "task_id"),
        prompt_of(record, "prompt"),
        rubric_of(criteria, "rubrics"),
        {"domain": record["domain"]} if record.get("domain") else {},
        [
            Answer(name, record[f"{name}{RESPONSE}"], labels[name] if any(labels[name]) else None)
            for name in responses
        ],
    )


def _is_race(record: Mapping[str, Any]) -> bool:
    return isinstance(record.get("criterions"), Mapping) and "dimension_weight" in record


def _race(record: Mapping[str, Any]) -> Task:
    weights, dimensions = record["dimension_weight"], record["criterions"]
    if not isinstance(weights, Mapping):
        raise InputError(f"expected an object, found {shown(weights)}", path=("dimension_weight",))
    if missing := [name for name in dimensions if name not in weights]:
        raise InputError(f"has no weight of '{missing[0]}'", path=("dimension_weight",))
    names: set[str] = {*dimensions}
    tree: list[dict[str, Any]] = []
    for dimension, entries in dimensions.items():
        path = ("criterions", dimension)
        if not isinstance(entries, list):
            raise InputError(f"expected a list of criteria, found {shown(entries)}", path=path)
        criteria = each(partial(_race_criterion, dimension, names), entries, *path)
        tree.append({"name": dimension, "weight": weights[dimension], "criteria": criteria})
    language = record.get("language")
    return Task(
        text_in(record, "id"),
        prompt_of(record, "prompt"),
        rubric_of(tree),
        {"language": language} if language else {},
    )


def _race_criterion(dimension: str, names: set[str], entry: Any) -> dict[str, Any]:
    if not isinstance(entry, Mapping):
        raise InputError(f"expected an object, found {shown(entry)}")
    title, why = text_in(entry, "criterion"), entry.get("explanation")
    name = unique_name(title, names)
    names.add(name)
    return {
        **{"name": name, "kind": "scale", "low": 0, "high": 10},
        "weight": entry.get("weight", 1.0),
        "requirement": title if not why else f"{title}\n{why}",
        "tags": [f"dimension:{dimension}"],
    }


def _is_record(record: Mapping[str, Any]) -> bool:
    return (
        "items" not in record
        and any(record.get(key) is not None for key in PROMPTS)
        and any(isinstance(record.get(key), list | str) and record[key] for key in RUBRICS)
    )


def _record(record: Mapping[str, Any]) -> Task:
    key = next(key for key in RUBRICS if record.get(key))
    prompt, answer, own_id = (
        next((name for name in names if record.get(name) is not None), None)
        for names in (PROMPTS, ANSWERS, IDS)
    )
    names: set[str] = set()

    def read(entry: Any) -> dict[str, Any]:
        criterion = criterion_of(entry)
        if isinstance(title := criterion.pop("title", criterion.get("name")), str):
            criterion["name"] = unique_name(title, names)
            names.add(criterion["name"])
        return criterion

    used = {key, prompt, answer, own_id}
    return Task(
        "" if own_id is None else str(record[own_id]),
        prompt_of(record, prompt or ""),
        rubric_of(each(read, _entries(record[key], key), key), key),
        {name: value for name, value in record.items() if name not in used},
        [] if answer is None else [Answer("", record[answer])],
    )


def _entries(rubric: Any, key: str) -> list[Any]:
    """The criteria of a list, or of a text with a numbered list: a mark `[Hard Rule]` at the end of
    one is its tag."""
    if isinstance(rubric, list):
        return rubric
    parts = [part.strip() for part in _NUMBERED.split(rubric) if part.strip()]
    starts = len(_NUMBERED.findall(rubric))
    if not starts:
        raise InputError(
            f"expected a list of criteria, or a text with one in each numbered line; found "
            f"{shown(rubric)}",
            path=(key,),
        )
    entries: list[dict[str, Any]] = []
    for part in parts[-starts:]:
        mark = _MARK.search(part)
        entries.append({"requirement": _MARK.sub("", part)})
        if mark:
            entries[-1]["tags"] = [mark[1]]
    return entries


RACE = Benchmark(
    "race",
    _is_race,
    _race,
    DeclaredScoring(
        aggregate="against_reference", pairs="task", reference="role:reference", by=("dimension",)
    ),
)
FORMATS = {
    benchmark.name: benchmark
    for benchmark in (
        Benchmark(
            "healthbench",
            _is_healthbench,
            _healthbench,
            DeclaredScoring(items="raw", aggregate="clipped_mean", by=("theme", "axis")),
        ),
        Benchmark("paperbench", _is_paperbench, _paperbench, DeclaredScoring(by=("category",))),
        RACE,
        Benchmark(
            "profbench",
            _is_profbench,
            _profbench,
            DeclaredScoring(
                aggregate="macro_mean", groups=("domain", "task"), by=("domain",), pooled=("type",)
            ),
        ),
        Benchmark("records", _is_record, _record),
    )
}
"""The formats by name; a file is of the first that its records fit."""
