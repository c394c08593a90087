"""A rubric as a notebook shows it: a table, in which every text is escaped."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from html import escape
from typing import TYPE_CHECKING

from rubricate.rubric._group import Group, Node

if TYPE_CHECKING:
    from rubricate.rubric._rubric import Rubric

_LEFT = ' style="text-align: left"'


def rubric_html(rubric: Rubric) -> str:
    """The criteria in their order, those of a group below it."""
    named = f"Rubric {rubric.name}" if rubric.name else "Rubric"
    count = "1 criterion" if len(rubric) == 1 else f"{len(rubric)} criteria"
    guidelines = f"<p>{escape(rubric.guidelines)}</p>" if rubric.guidelines else ""
    headings = "".join(
        f"<th{_LEFT}>{name}</th>" for name in ("criterion", "weight", "answers", "requirement")
    )
    return (
        f"<table><caption{_LEFT}>{escape(named)}: {count}</caption><thead><tr>{headings}</tr>"
        f"</thead><tbody>{''.join(_rows(rubric.tree, 0))}</tbody></table>{guidelines}"
    )


def _rows(nodes: Sequence[Node], depth: int) -> Iterator[str]:
    for node in nodes:
        answers = "group" if isinstance(node, Group) else ", ".join(node.labels) or "a value"
        name = f'<td style="text-align: left; padding-left: {depth + 0.5}em">'
        name += f"<b>{escape(node.name or '')}</b></td>"
        rest = (f"{node.weight:g}", answers, node.requirement or "")
        yield f"<tr>{name}{''.join(f'<td{_LEFT}>{escape(text)}</td>' for text in rest)}</tr>"
        if isinstance(node, Group):
            yield from _rows(node.criteria, depth + 1)
