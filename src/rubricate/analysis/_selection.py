"""Some of a finished run's verdicts, picked by item, criterion, failure and disagreement."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping
from contextlib import ExitStack
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from rubricate._documents import did_you_mean
from rubricate.analysis._finished import FinishedRun
from rubricate.analysis._finished_items import FinishedItem, finished_rows
from rubricate.errors import InputError
from rubricate.rubric import Criterion
from rubricate.run.results import Conversations, differs_from_label, vote_of

if TYPE_CHECKING:
    from rich.console import RenderableType

__all__ = ["Selection"]

SHOWN = 20
"""Names up to which all are told where one is not among them."""


@dataclass(frozen=True)
class Selection:
    """The verdicts that all of these pick; iterate it for the items that have some.

    Args:
        run: the run.
        items: identifiers of items; none for all.
        criteria: names of criteria; none for all.
        failed: only verdicts that failed.
        disagreements: only verdicts that differ from the human label; where the run has no labels,
            those whose votes are not all the same answer.
        prompts: whether `to_dict` has what was sent and received for each verdict.

    Raises:
        InputError: an item or a criterion is not in the run, or disagreements are asked for where
            there are neither labels nor votes.
    """

    run: FinishedRun
    items: Collection[str] = ()
    criteria: Collection[str] = ()
    failed: bool = False
    disagreements: bool = False
    prompts: bool = False

    def __post_init__(self) -> None:
        _check("criterion", self.criteria, self.run.criteria)
        if self.items:
            rows = finished_rows(self.run.path)
            _check("item", self.items, dict.fromkeys(row[0]["item"] for row in rows))
        if self.disagreements and not self._has_labels and not self.run.summary.get("judges"):
            raise InputError(
                "no verdict can be disagreed with: the run has no human labels, and one judge",
                file=self.run.path,
            )

    @property
    def _has_labels(self) -> bool:
        return self.run.summary.get("agreement") is not None

    def __iter__(self) -> Iterator[FinishedItem]:
        for item in self.run.items():
            if self.items and item.id not in self.items:
                continue
            rubric = self.run.rubric_of(item.id)
            known = dict(zip(rubric.names, rubric, strict=True))
            rows = tuple(row for row in item.rows if self._has(known[row["criterion"]], row))
            if rows:
                yield replace(item, rows=rows)

    def _has(self, criterion: Criterion, row: Mapping[str, Any]) -> bool:
        if self.criteria and row["criterion"] not in self.criteria:
            return False
        if self.failed and row["status"] != "failed":
            return False
        return not self.disagreements or self._disagrees(criterion, row)

    def _disagrees(self, criterion: Criterion, row: Mapping[str, Any]) -> bool:
        if self._has_labels:
            return differs_from_label(criterion, row)
        answers = {
            vote_of(criterion, vote["status"], vote["label"], vote["value"])
            for vote in row["votes"]
        }
        return len(answers - {None}) > 1

    def to_dict(self) -> dict[str, Any]:
        """The items as JSON values: their texts, scores, and verdicts as in `results.jsonl`."""
        with ExitStack() as stack:
            sent = None
            if self.prompts:
                sent = stack.enter_context(Conversations(self.run.path))
            return {"run": str(self.run.path), "items": [_told(item, sent) for item in self]}

    def __rich__(self) -> RenderableType:
        from rubricate.analysis._selection_view import selection_view

        return selection_view(self)


def _told(item: FinishedItem, sent: Conversations | None) -> dict[str, Any]:
    first = item.rows[0]
    of_item = {"item_score": first["item_score"], "human_score": first.get("human_score")}
    names = ("item", "description", *of_item)
    return {
        "item": item.id,
        "description": item.description,
        "prompt": item.prompt,
        "submission": item.submission,
        "reference": item.reference,
        **of_item,
        "verdicts": [
            {name: value for name, value in row.items() if name not in names} | _sent(row, sent)
            for row in item.rows
        ],
    }


def _sent(row: Mapping[str, Any], sent: Conversations | None) -> dict[str, Any]:
    return {} if sent is None else {"conversations": [one.to_dict() for one in sent.of(row)]}


def _check(what: str, given: Collection[str], known: Collection[str]) -> None:
    for name in given:
        if name not in known:
            hint = did_you_mean(name, known)
            if not hint and len(known) <= SHOWN:
                hint = f" (it has {', '.join(known)})"
            raise InputError(f"the run has no {what} '{name}'{hint}")
