"""PaperBench: papers to be reproduced, each with a tree of what a reproduction has to show.

Starace et al., "PaperBench: Evaluating AI's Ability to Replicate AI Research", 2025
(arXiv:2504.01848). Leaves are judged; a node's score is the weighted mean of its children's, the
root's is the paper's, and the benchmark's is the mean over papers.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from rubricate.dataset.benchmarks._task import Answer, Benchmark, Task, each, rubric_of, text_in
from rubricate.dataset.items import GroundTruth
from rubricate.errors import InputError, shown
from rubricate.rubric import DeclaredScoring


def fits(record: Mapping[str, Any]) -> bool:
    node = record.get("tree", record)
    return isinstance(node, Mapping) and {"requirements", "sub_tasks"} <= {*node}


def task(record: Mapping[str, Any]) -> Task:
    """A tree by itself, or `{id, tree}` with, it may be, the `submission` that people graded in it.

    The grades are the leaves' `score`: 1 and 0.
    """
    root = record.get("tree", record)
    path = ("tree",) if "tree" in record else ()
    grades: GroundTruth | None = None if record.get("submission") is None else []
    try:
        tree = _node(root, (), grades)
    except InputError as error:
        raise error.within(path) from None
    answers = []
    if grades is not None:
        answers = [Answer("", record["submission"], grades if any(grades) else None)]
    return Task(
        text_in(record, "paper_id", "id"),
        text_in(root, "requirements"),
        rubric_of(tree.get("criteria", [tree]), *path),
        answers=answers,
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
    found: dict[str, Any] = {"name": ".".join(map(str, place)) or "1", "weight": float(weight)}
    found["requirement"] = text_in(node, "requirements")
    if not children:
        if grades is not None:
            grades.append(_label(node.get("score")))
        if category := node.get("task_category"):
            found["tags"] = [f"category:{category}"]
        return found
    found["criteria"] = each(
        lambda child: _node(child[1], (*place, child[0]), grades),
        enumerate(children, start=1),
        "sub_tasks",
    )
    return found


def _label(grade: Any) -> str | None:
    """The label that a leaf's grade is; None where it has none."""
    if grade is None:
        return None
    if grade not in (0, 1):
        raise InputError(f"a leaf is graded 0 or 1, found {shown(grade)}", path=("score",))
    return "MET" if grade else "UNMET"


PAPERBENCH = Benchmark("paperbench", fits, task, DeclaredScoring(by=("category",)))
