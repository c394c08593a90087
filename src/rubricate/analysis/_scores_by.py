"""Scores of a finished run by tag, computed from its verdicts; sends no request."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

from rubricate._spelling import no_tag
from rubricate.errors import InputError
from rubricate.rubric import TAGS, DeclaredScoring, split_tag
from rubricate.run.results import (
    DeclaredFigures,
    DeclaredTally,
    ItemResult,
    Summary,
    as_declared,
    result_of,
)

if TYPE_CHECKING:
    from rubricate.analysis._finished import FinishedRun


def scores_by(run: FinishedRun, fields: Sequence[str] = ()) -> DeclaredFigures:
    """The scores of a run by the fields that its rubric declares, and by further ones.

    Args:
        run: the run.
        fields: `tags`, or fields of the criteria's tags, or of the items' tags or metadata.

    Raises:
        InputError: no criterion and no item has a field; the error lists the known fields.
    """
    declared = run.rules.declared or DeclaredScoring()
    by = tuple(dict.fromkeys((*declared.by, *fields)))
    rules = replace(run.rules, declared=declared.model_copy(update={"by": by}))
    tally = DeclaredTally()
    known: dict[str, None] = {}
    for index, (texts, rows) in enumerate(run.with_texts()):
        try:
            rubric = run.rubric_of(rows[0].item)
            result = result_of(rows, rubric, rules, index, texts.prompt)
        except KeyError:
            raise InputError(
                "does not have the verdicts of its rubric; run the same grade command again: it "
                "writes them anew from the journal",
                file=run.path / "results.jsonl",
            ) from None
        tally.add(result)
        known |= dict.fromkeys(_fields(result))
    figures = tally.figures()
    if figures is None:
        raise InputError("has no items", file=run.path / "results.jsonl")
    for field_scores in figures.by:
        if not field_scores.groups:
            raise InputError(no_tag(field_scores.field, sorted(known)), file=run.path)
    return figures


def summary_by(run: FinishedRun, summary: Summary, fields: Sequence[str]) -> Summary:
    """Return the summary of a run with its scores by these fields added."""
    return as_declared(summary, scores_by(run, fields))


def _fields(item: ItemResult) -> Iterator[str]:
    tags = [tag for criterion in item.rubric for tag in criterion.tags] + list(item.tags)
    yield from (TAGS,) if tags else ()
    yield from (split_tag(tag)[0] for tag in tags if split_tag(tag)[0])
    yield from item.metadata
