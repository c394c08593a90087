"""Records with a prompt and a rubric of their own, as data sets for training with rubrics have.

`{prompt, rubric}` in the words that such files use: `question`, `instruction`, `input`; `rubrics`,
`criteria`; each criterion a text or an object, or the rubric one text with a numbered list.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

from rubricate.dataset.benchmarks._task import (
    Answer,
    Benchmark,
    Task,
    criterion_of,
    each,
    prompt_of,
    rubric_of,
    unique_name,
)
from rubricate.errors import InputError, shown

PROMPTS = ("prompt", "question", "instruction", "input", "problem", "query")
RUBRICS = ("rubrics", "criteria", "rubric", "rubric_list")
IDS = ("id", "task_id", "prompt_id", "sample_id", "question_id", "uid", "uuid")
ANSWERS = ("submission", "response", "completion", "answer", "output", "generation")
_NUMBERED = re.compile(r"^\s*(?:\d+[.)]|[-*•])\s+", re.MULTILINE)
_MARK = re.compile(r"\s*\[([^\[\]\n]{1,40})\]\s*$")


def fits(record: Mapping[str, Any]) -> bool:
    return (
        "items" not in record
        and any(record.get(key) is not None for key in PROMPTS)
        and any(isinstance(record.get(key), list | str) and record[key] for key in RUBRICS)
    )


def task(record: Mapping[str, Any]) -> Task:
    key = next(key for key in RUBRICS if record.get(key))
    taken: set[str] = set()

    def read(entry: Any) -> dict[str, Any]:
        criterion = criterion_of(entry)
        if isinstance(title := criterion.pop("title", criterion.get("name")), str):
            criterion["name"] = unique_name(title, taken)
            taken.add(criterion["name"])
        return criterion

    criteria = each(read, _entries(record[key], key), key)
    answer = next((name for name in ANSWERS if record.get(name) is not None), None)
    own_id = next((name for name in IDS if record.get(name) is not None), None)
    prompt = next(name for name in PROMPTS if record.get(name) is not None)
    used = {key, prompt, answer, own_id}
    return Task(
        "" if own_id is None else str(record[own_id]),
        prompt_of(record, prompt),
        rubric_of(criteria, key),
        {name: value for name, value in record.items() if name not in used},
        [] if answer is None else [Answer("", record[answer])],
    )


def _entries(given: Any, key: str) -> list[Any]:
    """The criteria of a list, or of a text with a numbered list: a mark `[Hard Rule]` at the end of
    one is its tag."""
    if isinstance(given, list):
        return given
    parts = [part.strip() for part in _NUMBERED.split(given) if part.strip()]
    starts = len(_NUMBERED.findall(given))
    if not starts:
        raise InputError(
            f"expected a list of criteria, or a text with one in each numbered line; found "
            f"{shown(given)}",
            path=(key,),
        )
    entries: list[dict[str, Any]] = []
    for part in parts[-starts:]:
        mark = _MARK.search(part)
        entries.append({"requirement": _MARK.sub("", part)})
        if mark:
            entries[-1]["tags"] = [mark[1]]
    return entries


RECORDS = Benchmark("records", fits, task)
