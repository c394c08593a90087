"""Picked verdicts on a terminal: each item with its text, each verdict with its reason."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, Any

from rich.console import Console, ConsoleOptions, RenderableType, RenderResult
from rich.table import Table
from rich.text import Text

from rubricate._terminal import Lines, one_line
from rubricate.analysis._confidence import confidence
from rubricate.analysis._finished_items import FinishedItem
from rubricate.views import figure, plain_table

if TYPE_CHECKING:
    from rubricate.analysis._selection import Selection

__all__ = ["selection_view"]

EXCERPT, WHOLE = 400, 4000
"""Characters of a submission that are shown: among other items, and of items asked for by name."""
_STYLES = {"failed": "bold red", "abstained": "yellow", "not_applicable": "dim"}


def selection_view(selection: Selection) -> RenderableType:
    """The items one after the other; none is held."""
    return _View(selection)


class _View:
    def __init__(self, selection: Selection) -> None:
        self._selection = selection

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> RenderResult:
        items = verdicts = 0
        yield from self._asked()
        for item in self._selection:
            items, verdicts = items + 1, verdicts + len(item.rows)
            yield from _item_view(item, by_name=bool(self._selection.items))
        counts = f"{_counted(verdicts, 'verdict')} of {_counted(items, 'item')}"
        yield Text(counts if items else "no such verdicts", style="dim")

    def _asked(self) -> Iterator[RenderableType]:
        """What the criteria that were named ask, and how they were answered in the whole run."""
        known = self._selection.run.criteria
        figures = {one["name"]: one for one in self._selection.run.summary["criteria"]}
        for name in self._selection.criteria:
            told = Text(name, style="bold")
            told.append(f", weight {known[name].weight:g}: {known[name].requirement}", "not bold")
            yield told
            counts = [f"{label} {count}" for label, count in figures[name]["labels"].items()]
            if figures[name]["failed"]:
                counts.append(f"failed {figures[name]['failed']}")
            agreement = figures[name]["agreement"]
            if agreement and agreement["accuracy"] is not None:
                counts.append(f"accuracy {figure(agreement['accuracy'])} (n {agreement['n']})")
            yield Text(f"in the run: {', '.join(counts)}", style="dim")
            yield Text()


def _counted(number: int, what: str) -> str:
    return f"{number} {what}{'' if number == 1 else 's'}"


def _item_view(item: FinishedItem, *, by_name: bool) -> Iterator[RenderableType]:
    head = Text(item.id, style="bold")
    if item.description:
        head.append(f"  {item.description}", "not bold")
    score, human = item.rows[0]["item_score"]["value"], item.rows[0].get("human_score")
    head.append(f"  score {figure(score)}", "not bold")
    if human is not None:
        head.append(f", by human labels {figure(human)}", "not bold")
    yield head
    if by_name and item.prompt:
        yield Lines(Text(item.prompt, style="dim"), margin=True)
    if item.submission is not None:
        yield Lines(_excerpt(item, WHOLE if by_name else EXCERPT), margin=True)
    yield _verdicts(item)
    yield Text()


def _excerpt(item: FinishedItem, longest: int) -> Text:
    """The beginning of the submission with the quotes underlined."""
    submission = item.submission or ""
    text = Text(submission[:longest])
    for row in item.rows:
        for evidence in row["evidence"]:
            if evidence["start"] is not None and evidence["start"] < longest:
                text.stylize("underline", evidence["start"], min(evidence["end"], longest))
    if len(submission) > longest:
        text.append(f" … ({len(submission) - longest} characters more)", "dim")
    return text


def _verdicts(item: FinishedItem) -> Table:
    table = plain_table(expand=True)
    table.add_column("criterion", overflow="fold", ratio=2, min_width=9)
    table.add_column("verdict", overflow="fold", max_width=14)
    labelled = any(row["human_label"] is not None for row in item.rows)
    if labelled:
        table.add_column("human", overflow="fold", max_width=14)
    table.add_column("why", overflow="fold", ratio=5)
    for row in item.rows:
        fault = " (fault)" if row["weight"] < 0 else ""
        human = [Text(row["human_label"] or "–")] if labelled else []
        verdict, why = Lines(_verdict(row)), Lines(_why(row))
        table.add_row(Text(row["criterion"] + fault), verdict, *human, why)
    return table


def _verdict(row: Mapping[str, Any]) -> Text:
    status = row["status"]
    text = Text(one_line(row["label"] or status), style=_STYLES.get(status, ""))
    value, sure = row["value"], confidence(row)
    if value is not None and value not in (0.0, 1.0):
        text.append(f"\nworth {figure(value)}", "dim")
    if sure is not None:
        text.append(f"\nsure {figure(sure)}", "dim")
    return text


def _why(row: Mapping[str, Any]) -> Text:
    lines: list[tuple[str, str]] = []
    if row["error"] is not None:
        error = f"{row['error']['kind']}: {row['error']['message']}"
        lines.append((one_line(error), "red"))
    if row["reason"]:
        lines.append((" ".join(row["reason"].split()), ""))
    for evidence in row["evidence"]:
        note = " (a paraphrase)" if evidence.get("paraphrase") else ""
        note = note if evidence["start"] is not None else " (not in the submission)"
        lines.append((f"“{' '.join(evidence['quote'].split())}”{note}", "italic"))
    for vote in row["votes"]:
        told = f"{one_line(vote['judge'])}: {vote['label'] or vote['status']}"
        reason = vote["error"]["message"] if vote["error"] else vote["reason"]
        if reason and reason != row["reason"]:
            told += f", {' '.join(reason.split())}"
        lines.append((told, "dim"))
    return Text("\n").join(Text(words, style) for words, style in lines)
