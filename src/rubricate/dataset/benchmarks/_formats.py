"""The file formats of benchmarks: how to recognise a record, and how to read its task.

- HealthBench: Arora et al., "HealthBench: Evaluating Large Language Models Towards Improved Human
  Health", 2025 (arXiv:2505.08775). Conversations, each with points assigned by physicians. The
  score of an example is its points over the maximum, not clipped; the benchmark's is the mean over
  examples, clipped to [0, 1]; also by theme (tags of examples) and axis (of criteria).
- PaperBench: Starace et al., "PaperBench: Evaluating AI's Ability to Replicate AI Research", 2025
  (arXiv:2504.01848). Papers to be reproduced, each with a tree of requirements for a reproduction.
  Leaves are judged; a node's score is the weighted mean of its children's, and the benchmark's is
  the mean over papers.
- ProfBench: Wang et al., "ProfBench: Multi-Domain Rubrics requiring Professional Knowledge to
  Answer and Judge", 2025 (arXiv:2510.18941). Reports in four domains. Critical, Major, Minor and
  Additional criteria weigh 4, 3, 2 and 1; a domain's score is the mean over its tasks of the mean
  over their responses, and the benchmark's the mean over domains. By type of criterion: the plain
  share of fulfilled criteria.
- RACE of DeepResearch Bench: Du et al., "DeepResearch Bench: A Comprehensive Benchmark for Deep
  Research Agents", 2025 (arXiv:2506.11763). Criteria are scored from 0 to 10; a dimension is the
  mean by their weights, a report the mean by the dimensions' weights, and a task's score is the
  report's over the sum of the report's and the reference's.
- Records with a prompt and their own rubric, as in data sets for training with rubrics, with the
  usual field names of such files. The rubric is a list, an object, JSON text or one text with a
  numbered list; it may be nested, as in verl (`reward_model`). Levels (`score1_description`, ...),
  as in BiGGen-Bench and the Feedback Collection, are a scale.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Mapping, Sequence
from contextlib import suppress
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
from rubricate.dataset.samples import parse_json_bytes
from rubricate.errors import InputError, check_type, errors_within, shown
from rubricate.rubric import DeclaredScoring

WEIGHTS = {"Critical": 4.0, "Major": 3.0, "Minor": 2.0, "Additional": 1.0}
"""The weights of ProfBench's words."""
RESPONSE, FULFILMENT = "_response", "_fulfilment"
PROMPTS = (
    *("prompt", "question", "instruction", "conversation_input", "user_query", "user_input"),
    *("input", "problem", "query", "messages"),
)
RUBRICS = (
    *("rubrics", "criteria", "rubric", "rubric_list", "Rubrics", "score_rubric", "checklist"),
    *("grading_criteria", "evaluation_criteria"),
)
REFERENCES = (
    *("reference", "reference_answer", "reference_response", "reference_submission", "references"),
    *("ideal_answer", "ideal_response", "gold_answer", "golden_answer", "gold", "ground_truth"),
    *("target", "expected_output", "expected_answer", "correct_answer", "ref_answer", "ideal"),
    *("ideal_completion", "solution", "gold_response", "golden_response", "model_answer"),
    *("answer_key", "sample_answer"),
)
IDS = (*("id", "task_id", "prompt_id", "sample_id", "question_id", "instance_id", "uid", "uuid"),)
ANSWERS = ("submission", "response", "completion", "answer", "output", "generation")
_NUMBERED = re.compile(r"^\s*(?:\d+[.)]|[-*•])\s+", re.MULTILINE)
_LEVEL = re.compile(r"score_?([0-9]{1,3})(?:_description)?")
_MARK = re.compile(r"\s*\[([^\[\]\n]{1,40})\]\s*$")


def _has_entries(record: Mapping[str, Any], *keys: str) -> bool:
    """Whether `rubrics` is a list of objects that have these keys."""
    entries = record.get("rubrics")
    return isinstance(entries, list) and all(
        isinstance(entry, Mapping) and {*keys} <= {*entry} for entry in entries
    )


def _label(grade: Any, path: str) -> str | None:
    """The label of a human grade: Yes and No, true and false, 1 and 0; None if there is none."""
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
    """Read a tree by itself, or `{id, tree}` with the human-graded `submission`, if any.

    The grades are the leaves' `score`: 1 and 0.
    """
    root, path = record.get("tree", record), ("tree",) if "tree" in record else ()
    text = record.get("submission")
    grades: GroundTruth | None = None if text is None else []
    with errors_within(*path):
        tree = _node(root, (), grades)
    labels = grades if any(grades or ()) else None
    return Task(
        text_in(record, "paper_id", "id"),
        text_in(root, "requirements"),
        rubric_of(tree.get("criteria", [tree]), *path),
        answers=[] if text is None else [Answer("", text, labels)],
    )


def _node(node: Any, place: tuple[int, ...], grades: GroundTruth | None) -> dict[str, Any]:
    """Convert a node to a criterion or, if it has sub-tasks, to a group of criteria.

    The name of a node is its number in the tree, such as 1.3.2. The grades of leaves are added to
    `grades`.
    """
    check_type(node, Mapping, "a node of the tree")
    children = node.get("sub_tasks") or []
    check_type(children, list, "a list", ("sub_tasks",))
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
    check_type(weights, Mapping, "an object", ("dimension_weight",))
    if missing := [name for name in dimensions if name not in weights]:
        raise InputError(f"has no weight of '{missing[0]}'", path=("dimension_weight",))
    names: set[str] = {*dimensions}
    tree: list[dict[str, Any]] = []
    for dimension, entries in dimensions.items():
        path = ("criterions", dimension)
        check_type(entries, list, "a list of criteria", path)
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
    check_type(entry, Mapping, "an object")
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
    if "items" in record:
        return False
    record = _plain_names(record)
    return _first(record, PROMPTS) is not None and _rubric_in(record) is not None


def _record(record: Mapping[str, Any]) -> Task:
    record = _plain_names(record)
    located = _rubric_in(record)
    prompt, answer, own_id = (_first(record, names) for names in (PROMPTS, ANSWERS, IDS))
    path, rubric = located or (("rubrics",), [])
    names: set[str] = set()

    def read(entry: Any) -> dict[str, Any]:
        criterion = criterion_of(entry)
        title = criterion.pop("title", criterion.get("name", criterion.pop("check_id", None)))
        if isinstance(title, str):
            criterion["name"] = unique_name(title, names)
            names.add(criterion["name"])
        return criterion

    criteria = rubric_of(each(read, _entries(rubric, path), *path), *path)
    reference_key, reference = _reference_in(record, {answer})
    used = {path[0], prompt, answer, own_id, reference_key}
    rest = {
        name: value
        for name, value in record.items()
        if name not in used and not _LEVEL.fullmatch(name)
    }
    labels: GroundTruth | None = None
    score = record.get("human_score")  # BiGGen-Bench's
    if type(score) is int and score in (getattr(criteria[0], "levels", None) or ()):
        labels = [score]
    return Task(
        "" if own_id is None else str(record[own_id]),
        _prompt_in(record, prompt or ""),
        criteria,
        rest,
        [] if answer is None else [Answer("", record[answer], labels)],
        reference,
    )


def renamed(
    record: Mapping[str, Any], fields: Mapping[str, str], criteria: Mapping[str, str]
) -> Mapping[str, Any]:
    """Rename a record's fields to the names that its format expects.

    Args:
        record: the record.
        fields: the fields for `prompt`, `reference` and `rubric`; a nested field is written as
            `reward_model.rubrics`.
        criteria: the fields of its criteria for `requirement`, `weight` and `name`.

    Raises:
        InputError: the record has no such field.
    """
    known = {"prompt": PROMPTS[0], "reference": REFERENCES[0], "rubric": RUBRICS[0]}
    for what, field in fields.items():
        value: Any = record
        for key in field.split(".") if what in known else ():
            value = value.get(key) if isinstance(value, Mapping) else None
        if what in known:
            if value is None:
                raise InputError(f"has no field '{field}'; its fields are {', '.join(record)}")
            rest = {key: kept for key, kept in record.items() if key != field}
            record = {**rest, known[what]: value}
    if not criteria or (located := _rubric_in(record)) is None:
        return record
    path, rubric = located
    rest = {key: value for key, value in record.items() if key not in (path[0], RUBRICS[0])}
    return {**rest, RUBRICS[0]: [_renamed(entry, criteria) for entry in _entries(rubric, path)]}


def _renamed(entry: Any, fields: Mapping[str, str]) -> Any:
    if not isinstance(entry, Mapping):
        return entry
    own = {what: entry[field] for what, field in fields.items() if field in entry}
    return {**{key: entry[key] for key in entry if key not in fields.values()}, **own}


def _plain_names(record: Mapping[str, Any]) -> Mapping[str, Any]:
    """Rename `orig_response` to `response`, and so on, in a record of a Feedback Collection."""
    if "orig_criteria" not in record:
        return record
    own = {key.removeprefix("orig_"): record[key] for key in record if key.startswith("orig_")}
    rest = {key: value for key, value in record.items() if not key.startswith("orig_")}
    return {**rest, **own}


def _first(record: Mapping[str, Any], names: Iterable[str]) -> str | None:
    return next((name for name in names if record.get(name) is not None), None)


def _rubric_in(record: Mapping[str, Any]) -> tuple[tuple[str, ...], Any] | None:
    """The rubric and its place: in the record, or nested as trainers do (`reward_model`)."""
    for path in ((), ("reward_model",), ("extra_info",), ("extra_info", "reward_model")):
        place: Any = record
        for key in path:
            place = _decoded(place.get(key)) if isinstance(place, Mapping) else None
        if not isinstance(place, Mapping):
            continue
        if scale := _scale(place):
            return (*path, "criteria"), [scale]
        for key in RUBRICS:
            rubric = _decoded(place.get(key))
            if isinstance(rubric, list | str | Mapping) and rubric:
                return (*path, key), rubric
    return None


def _decoded(value: Any) -> Any:
    """A value that may be written as JSON text, as in columns of a table; other text as it is."""
    if isinstance(value, str) and value.lstrip()[:1] in ("[", "{"):
        with suppress(InputError):
            return parse_json_bytes(value.encode())
    return value


def _scale(rubric: Mapping[str, Any]) -> dict[str, Any] | None:
    """The criterion from `criteria` and `score1_description` to `score5_description`, if
    present."""
    levels = {
        int(level[1]): text
        for key, text in rubric.items()
        if (level := _LEVEL.fullmatch(str(key))) and isinstance(text, str) and text.strip()
    }
    if len(levels) < 2:
        return None
    question = rubric.get("criteria") or "The score that the levels below describe best."
    return {"name": "score", "kind": "scale", "requirement": question, "levels": levels}


def _reference_in(
    record: Mapping[str, Any], other: Collection[str | None]
) -> tuple[str | None, str | None]:
    """The field and the text of an exemplary response; a list or object may contain one text.

    `answer` is the reference if the graded text is another field.
    """
    nested = _decoded(record.get("reward_model"))
    for key in (*REFERENCES, "answer", "reward_model"):
        value = record.get(key)
        if key == "reward_model" and isinstance(nested, Mapping):
            value = nested.get("ground_truth")
        if isinstance(value, list | Mapping) and len(value) == 1:
            (value,) = value.values() if isinstance(value, Mapping) else value
        if key not in other and isinstance(value, str) and value.strip():
            return key, value
    return None, None


def _prompt_in(record: Mapping[str, Any], key: str) -> str:
    """The prompt, after its system prompt and before its input, if there are any."""
    value, system, text = record.get(key), record.get("system_prompt"), record.get("input")
    if isinstance(value, list) and value and all(isinstance(part, str) for part in value):
        value = "\n\n".join(value)
    if key == "instruction" and isinstance(value, str) and isinstance(text, str) and text.strip():
        value = f"{value}\n\n{text}"
    if isinstance(value, str) and isinstance(system, str) and system.strip():
        value = [{"role": "system", "content": system}, {"role": "user", "content": value}]
    return prompt_of({key: value}, key)


def _entries(rubric: Any, path: Sequence[str]) -> list[Any]:
    """The criteria in a list, in an object, or in a text with a numbered list.

    A mark `[Hard Rule]` at the end of a numbered line becomes its tag. An object has a list of
    criteria, one list for each group, or their texts by name, or their weights by text.
    """
    if isinstance(rubric, list):
        return rubric
    if isinstance(rubric, Mapping):
        if scale := _scale(rubric):
            return [scale]
        if (entries := _listed(rubric)) is not None:
            return entries
        with errors_within(*path):
            return [entry for name, value in rubric.items() for entry in _named(name, value)]
    parts = [part.strip() for part in _NUMBERED.split(rubric) if part.strip()]
    starts = len(_NUMBERED.findall(rubric))
    if not starts:
        raise InputError(
            f"expected a list of criteria, or a text with one in each numbered line; found "
            f"{shown(rubric)}",
            path=path,
        )
    marked = [(_MARK.sub("", part), _MARK.search(part)) for part in parts[-starts:]]
    return [{"requirement": text, "tags": [mark[1]] if mark else []} for text, mark in marked]


def _listed(rubric: Any) -> list[Any] | None:
    if isinstance(rubric, Mapping) and (key := _first(rubric, (*RUBRICS, "checks"))):
        rubric = rubric[key]
    return rubric if isinstance(rubric, list) else None


def _named(name: str, value: Any) -> list[Any]:
    """The criteria under a name: one with this name, one with this text, or a group."""
    if isinstance(value, str):
        return [{"title": name, "requirement": value}]
    if isinstance(value, int | float):
        return [{"requirement": name, "weight": value}]
    if (entries := _listed(value)) is None:
        raise InputError(f"expected a criterion, found {shown(value)}")
    plain = ({"requirement": entry} if isinstance(entry, str) else entry for entry in entries)
    return [{**entry, "category": name} if isinstance(entry, Mapping) else entry for entry in plain]


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
"""The formats by name; a file has the first one that its records match."""
