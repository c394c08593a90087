"""What benchmarks score is what their papers say, to 1e-12, on simulated verdicts.

The reference arithmetic is written here from the papers, for one item or one benchmark at a time.
Missing verdicts are then completed at random: the score of every completion is inside the bounds.
"""

from __future__ import annotations

import json
import random
from collections.abc import Callable, Mapping
from pathlib import Path
from statistics import fmean
from typing import Any

import pytest

from rubricate import RubricDataset, Verdict, grade
from rubricate.dataset import open_benchmark
from rubricate.judge import Judge
from rubricate.rubric import Failure

TASKS = 200
Answers = Mapping[tuple[str, str], float | None]
"""The value that a judge gives, by item and criterion; None where it fails."""


class Simulated(Judge):
    """A judge that says what was drawn for it."""

    def __init__(self, drawn: Answers) -> None:
        self._drawn = drawn

    @property
    def name(self) -> str:
        return "simulated"

    def key(self, item: Any, criterion: Any, replicate: int = 0) -> str:
        return f"{item.id} {criterion.name} {self._drawn[item.id, criterion.name]}"

    async def judge(self, item: Any, criterion: Any, send: Any, replicate: int = 0) -> Verdict:
        value = self._drawn[item.id, criterion.name]
        if value is None:
            return Verdict(criterion.name, "failed", error=Failure("Simulated", "no answer"))
        if criterion.kind == "scale":
            return criterion.verdict(str(round(10 * value)))
        return criterion.verdict("MET" if value else "UNMET")


def drawn_for(dataset: RubricDataset, rng: random.Random, missing: float = 0.0) -> dict[Any, Any]:
    found: dict[Any, Any] = {}
    for item in dataset.items:
        share = rng.random()
        for one in item.rubric:
            value: float | None = float(rng.random() < share)
            if one.kind == "scale":
                value = rng.randint(0, 10) / 10
            found[item.id, one.name] = None if rng.random() < missing else value
    return found


def completed(dataset: RubricDataset, drawn: Answers, rng: random.Random) -> dict[Any, Any]:
    """The same with an answer in place of each that failed."""
    fresh = drawn_for(dataset, rng)
    return {key: fresh[key] if value is None else value for key, value in drawn.items()}


def write(path: Path, records: list[dict[str, Any]]) -> str:
    path.write_text("".join(json.dumps(record) + "\n" for record in records))
    return str(path)


# HealthBench (Arora et al. 2025, section 4): an example's score is its points over the positive
# ones; the benchmark's is the mean over examples, clipped to [0, 1]. By theme, of its examples; by
# axis, of the criteria of the axis, of examples that have points to give there.

THEMES, AXES = ("emergencies", "context"), ("accuracy", "completeness", "communication")


def healthbench(folder: Path, rng: random.Random) -> RubricDataset:
    records = [
        {
            "prompt_id": f"p{number}",
            "prompt": [{"role": "user", "content": "What now?"}],
            "example_tags": [f"theme:{rng.choice(THEMES)}"],
            "rubrics": [
                {
                    "criterion": f"Criterion {place}",
                    "points": rng.randint(1, 10) if rng.random() < 0.7 else -rng.randint(1, 8),
                    "tags": ["level:example", f"axis:{rng.choice(AXES)}"],
                }
                for place in range(rng.randint(2, 9))
            ],
        }
        for number in range(TASKS)
    ]
    texts = {record["prompt_id"]: "text" for record in records}
    return open_benchmark(write(folder / "tasks.jsonl", records), texts)


def healthbench_score(folder: Path, drawn: Answers, tag: str = "") -> float | None:
    scores = []
    for line in (folder / "tasks.jsonl").read_text().splitlines():
        task = json.loads(line)
        if tag.startswith("theme") and tag not in task["example_tags"]:
            continue
        met = total = 0
        for place, entry in enumerate(task["rubrics"], start=1):
            if tag.startswith("axis") and tag not in entry["tags"]:
                continue
            total += max(entry["points"], 0)
            met += entry["points"] * int(drawn[task["prompt_id"], f"criterion_{place}"] or 0)
        if total:
            scores.append(met / total)
    return min(1.0, max(0.0, fmean(scores))) if scores else None


# PaperBench (Starace et al. 2025, section 2): a leaf is 0 or 1, an inner node the weighted mean of
# its children, the benchmark the mean of the roots.


def tree(rng: random.Random, depth: int) -> dict[str, Any]:
    children = [tree(rng, depth - 1) for _ in range(rng.randint(1, 3))] if depth else []
    return {
        "id": str(rng.random()),
        "requirements": "Something is done.",
        "weight": rng.randint(1, 9),
        "sub_tasks": children,
        **({} if children else {"task_category": rng.choice(("Code", "Result"))}),
    }


def paperbench(folder: Path, rng: random.Random) -> RubricDataset:
    records = [
        {"id": f"p{number}", "tree": tree(rng, rng.randint(1, 4))} for number in range(TASKS)
    ]
    texts = {record["id"]: "text" for record in records}
    return open_benchmark(write(folder / "tasks.jsonl", records), texts)


def paperbench_score(folder: Path, drawn: Answers) -> float:
    def node(entry: dict[str, Any], place: str) -> float:
        children = [
            (child["weight"], node(child, f"{place}.{index}" if place else str(index)))
            for index, child in enumerate(entry["sub_tasks"], start=1)
        ]
        if not children:
            return drawn[paper["id"], place] or 0.0
        return sum(weight * value for weight, value in children) / sum(w for w, _ in children)

    roots = []
    for line in (folder / "tasks.jsonl").read_text().splitlines():
        paper = json.loads(line)
        roots.append(node(paper["tree"], ""))
    return fmean(roots)


# ProfBench (Wang et al. 2025, section 4): a response fulfils a share of the weights 4, 3, 2 and 1;
# means over a task's responses, over a domain's tasks, over domains. By type: all verdicts alike.

WORDS = {"Critical": 4, "Major": 3, "Minor": 2, "Additional": 1}
DOMAINS = ("Physics PhD", "Chemistry PhD", "Finance MBA", "Consulting MBA")


def profbench(folder: Path, rng: random.Random) -> RubricDataset:
    records = [
        {
            "task_id": f"t{number}",
            "domain": DOMAINS[min(number % 7, 3)],
            "prompt": "Work it out.",
            "rubrics": [
                {
                    "criterion_id": str(place),
                    "criterion_description": f"Criterion {place}",
                    "criterion_type": rng.sample(["Reasoning", "Style", "Extraction"], 2),
                    "criterion_weight": rng.choice([*WORDS]),
                }
                for place in range(rng.randint(1, 8))
            ],
            **{f"{name}_response": "text" for name in rng.sample(["a", "b", "c"], 2)},
        }
        for number in range(TASKS)
    ]
    return open_benchmark(write(folder / "tasks.jsonl", records))


def profbench_score(folder: Path, drawn: Answers, type_of: str = "", domain: str = "") -> float:
    domains: dict[str, list[float]] = {}
    of_type: list[float] = []
    for line in (folder / "tasks.jsonl").read_text().splitlines():
        task = json.loads(line)
        responses = []
        for name in (key.removesuffix("_response") for key in task if key.endswith("_response")):
            met = total = 0.0
            for place, entry in enumerate(task["rubrics"], start=1):
                value = drawn[f"{task['task_id']}/{name}", f"criterion_{place}"] or 0.0
                total += WORDS[entry["criterion_weight"]]
                met += WORDS[entry["criterion_weight"]] * value
                if type_of in entry["criterion_type"]:
                    of_type.append(value)
            responses.append(met / total)
        domains.setdefault(task["domain"], []).append(fmean(responses))
    if domain:
        return fmean(domains[domain])
    return fmean(of_type) if type_of else fmean(fmean(tasks) for tasks in domains.values())


# RACE (Du et al. 2025, section 3.1): dimensions by their criteria's weights, a report by its
# dimensions', a task's score the report's over the sum of the report's and the reference's.


def race(folder: Path, rng: random.Random) -> RubricDataset:
    records = []
    for number in range(TASKS):
        share = rng.randint(1, 99) / 100
        records.append(
            {
                "id": number,
                "prompt": "Write.",
                "dimension_weight": {"insight": share, "readability": 1 - share},
                "criterions": {
                    dimension: [
                        {"criterion": f"{dimension} {place}", "weight": rng.randint(1, 5) / 10}
                        for place in range(rng.randint(1, 4))
                    ]
                    for dimension in ("insight", "readability")
                },
            }
        )
    texts = {str(record["id"]): "text" for record in records}
    return open_benchmark(write(folder / "tasks.jsonl", records), texts, references=texts)


def race_score(folder: Path, drawn: Answers, only: str = "") -> float:
    scores = []
    for line in (folder / "tasks.jsonl").read_text().splitlines():
        task = json.loads(line)

        def report(id: str, task: dict[str, Any] = task) -> float:
            total = 0.0
            for dimension, entries in task["criterions"].items():
                if only not in ("", dimension):
                    continue
                given = [(e["weight"], 10 * (drawn[id, e["criterion"]] or 0.0)) for e in entries]
                mean = sum(w * v for w, v in given) / sum(w for w, _ in given)
                total += task["dimension_weight"][dimension] * mean
            return total

        target, reference = report(f"{task['id']}"), report(f"{task['id']}/reference")
        if target + reference:
            scores.append(target / (target + reference))
    return fmean(scores)


BENCHMARKS: dict[str, tuple[Callable[..., RubricDataset], Callable[..., float | None]]] = {
    "healthbench": (healthbench, healthbench_score),
    "paperbench": (paperbench, paperbench_score),
    "profbench": (profbench, profbench_score),
    "race": (race, race_score),
}


@pytest.mark.parametrize("name", BENCHMARKS)
def test_a_benchmark_scores_as_its_paper_says(tmp_path, name):
    make, score = BENCHMARKS[name]
    rng = random.Random(name)
    dataset = make(tmp_path, rng)
    drawn = drawn_for(dataset, rng)
    found = grade(dataset, Simulated(drawn)).summary().scoring.overall
    assert found.value == pytest.approx(score(tmp_path, drawn), abs=1e-12)
    assert found.lowest == found.highest == found.value


@pytest.mark.parametrize("name", BENCHMARKS)
def test_a_benchmarks_bounds_hold_for_every_completion(tmp_path, name):
    make, score = BENCHMARKS[name]
    rng = random.Random(f"{name} missing")
    dataset = make(tmp_path, rng)
    drawn = drawn_for(dataset, rng, missing=0.2)
    found = grade(dataset, Simulated(drawn)).summary().scoring.overall
    assert found.lowest < found.value < found.highest
    for _ in range(50):
        value = score(tmp_path, completed(dataset, drawn, rng))
        assert found.lowest - 1e-12 <= value <= found.highest + 1e-12
    for extreme in (0.0, 1.0):
        ends = {key: extreme if value is None else value for key, value in drawn.items()}
        assert found.lowest - 1e-12 <= score(tmp_path, ends) <= found.highest + 1e-12


def test_healthbench_scores_by_theme_and_axis_as_published(tmp_path):
    rng = random.Random(5)
    dataset = healthbench(tmp_path, rng)
    drawn = drawn_for(dataset, rng)
    by = {one.field: one for one in grade(dataset, Simulated(drawn)).summary().scoring.by}
    assert {*by} == {"theme", "axis"}
    for field, values in (("theme", THEMES), ("axis", AXES)):
        for group in by[field].groups:
            wanted = healthbench_score(tmp_path, drawn, f"{field}:{group.name}")
            assert group.value == pytest.approx(wanted, abs=1e-12)
        assert {group.name for group in by[field].groups} == {*values}


def test_bounds_by_theme_and_axis_hold_for_every_completion(tmp_path):
    rng = random.Random(7)
    dataset = healthbench(tmp_path, rng)
    drawn = drawn_for(dataset, rng, missing=0.3)
    by = grade(dataset, Simulated(drawn)).summary().scoring.by
    for _ in range(20):
        whole = completed(dataset, drawn, rng)
        for field in by:
            for group in field.groups:
                value = healthbench_score(tmp_path, whole, f"{field.field}:{group.name}")
                assert group.lowest - 1e-12 <= value <= group.highest + 1e-12


@pytest.mark.parametrize(
    ("name", "field", "option", "of"),
    [
        ("profbench", "type", "type_of", "verdicts"),
        ("profbench", "domain", "domain", "items"),
        ("race", "dimension", "only", "criteria"),
    ],
)
def test_scores_by_field_are_as_published(tmp_path, name, field, option, of):
    make, score = BENCHMARKS[name]
    rng = random.Random(6)
    dataset = make(tmp_path, rng)
    drawn = drawn_for(dataset, rng)
    found = grade(dataset, Simulated(drawn)).summary().scoring
    (scores,) = (one for one in found.by if one.field == field)
    assert scores.of == of
    assert len(scores.groups) > 1
    for group in scores.groups:
        wanted = score(tmp_path, drawn, **{option: group.name})
        assert group.value == pytest.approx(wanted, abs=1e-12)
