"""The items of a run in a page: a short entry for the grid, and the rest in chunks."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

import orjson

from rubricate.analysis import LOW_CONFIDENCE, FinishedItem, TextFile, VerdictPair
from rubricate.report._chunks import Chunks
from rubricate.report._sent import PageSent, wide
from rubricate.rubric import ABSTENTION, Criterion, Rubric, Usage
from rubricate.run.results import ITEM_FIELDS, ROW_FIELDS, ResultRow, differs_from_label
from rubricate.views import STATUSES, dollars, ends, figure, opening

CHUNK = 256 * 1024
"""The approximate size of a chunk of items before compression, in bytes."""
OPENING = 160
"""The number of characters of prompt and submission in the grid."""
FAILED, ABSTAINED, NOT_APPLICABLE, DIFFERS, UNSURE, FLIPPED, LABELLED, NOT_RUN = (
    1 << n for n in range(8)
)
"""The filters of the grid, as bits that the script of the page uses, too."""
_ON_PAGE = {*ROW_FIELDS} - {
    *ITEM_FIELDS,
    *("item", "description", "keys", "usage", "order", "groups", "tags", "tag_scores"),
}
"""The fields of a row that a page includes for each verdict."""
_STATUS_BITS = {
    "failed": FAILED,
    "not_run": NOT_RUN,
    "abstained": ABSTAINED,
    "not_applicable": NOT_APPLICABLE,
}

Pairs = Mapping[tuple[str, str], VerdictPair]
"""The verdicts of two runs, by item and criterion of the first run."""


def tone(weight: float, value: float | None) -> str:
    """The tone of an answer: it gives points (`good`), costs some (`bad`), in between, or
    neither."""
    if value is None:
        return "none"
    points = 1.0 - value if weight < 0 else value
    return "good" if points >= 0.75 else "bad" if points <= 0.25 else "half"


class PageItems:
    """Compresses items one by one, and collects their entries for the grid.

    Args:
        chunks: the chunks to add to.
        pairs: the verdicts of this run and another, to show both answers.
        other_texts: the submissions of the other run, to show both if they differ.
        sent: the prompts and replies; None to leave them out.
    """

    def __init__(
        self,
        chunks: Chunks,
        pairs: Pairs | None = None,
        other_texts: TextFile | None = None,
        sent: PageSent | None = None,
    ) -> None:
        self.entries: list[list[Any]] = []
        self.criteria: dict[str, int] = {}
        """The names of the criteria with their numbers in the entries."""
        self.answers: list[list[str]] = []
        """The labels of each criterion, in its order."""
        self.labels: dict[str, int] = {}
        self.has_texts = True
        self._chunks = chunks
        self._sent = sent
        self._pairs = pairs or {}
        self._other_texts = other_texts
        self._count = self._size = 0
        self._waiting: list[tuple[orjson.Fragment, Any]] = []

    def add(self, item: FinishedItem, rubric: Rubric) -> None:
        """Add an item."""
        known = rubric.by_name
        verdicts, short = [], []
        for row in item.rows:
            criterion = known[row.criterion]
            number = self.criteria.setdefault(row.criterion, len(self.criteria))
            if number == len(self.answers):
                self.answers.append([*dict.fromkeys((*criterion.labels, ABSTENTION))])
            answer = row.label or STATUSES[row.status].text
            place = self.labels.setdefault(answer, len(self.labels))
            bits = self._bits(criterion, row)
            verdict = self._verdict(row, criterion, item.submission)
            short.append([number, place, bits, verdict["tone"][0]])
            verdicts.append(verdict)
        self.has_texts &= item.submission is not None
        first, score = item.rows[0], item.rows[0].item_score
        bounds = score.lowest, score.highest
        self.entries.append(
            [
                item.item,
                item.description,
                score.value,
                figure(score.value),
                short,
                self._count,
                opening(item.prompt or "", OPENING),
                opening(item.submission or "", OPENING),
                first.metadata,
                first.tags,
            ]
        )
        data: dict[str, Any] = {
            "id": item.item,
            "description": item.description,
            "prompt": item.prompt,
            "submission": item.submission,
            "reference": item.reference,
            "human_score": first.human_score,
            "context": item.context,
            "facts": [
                *(f"{name} {figure(alone.value)}" for name, alone in first.judge_scores.items()),
                *(f"{name} {figure(group.value)}" for name, group in first.groups.items()),
                *(["could be " + ends(*bounds)] if bounds[0] != bounds[1] else []),
            ],
            "warnings": list(first.warnings.values()),
            "verdicts": verdicts,
        }
        if pair := self._pairs.get((item.item, first.criterion)):
            data["other_score"] = figure(pair.b.item_score.value)
        other = None if self._other_texts is None else self._other_texts.get(item.item)
        if other is not None and (text := other.submission) is not None:
            data["other"] = None if text == item.submission else text
        sent = None if self._sent is None else self._sent.of_item(item.rows)
        self._hold(orjson.dumps(data), sent)

    def _bits(self, criterion: Criterion, row: ResultRow) -> int:
        sure, pair = row.confidence, self._pairs.get((row.item, row.criterion))
        return (
            _STATUS_BITS.get(row.status, 0)
            | (DIFFERS if differs_from_label(criterion, row) else 0)
            | (UNSURE if sure is not None and sure < LOW_CONFIDENCE else 0)
            | (FLIPPED if pair is not None and pair.is_flip else 0)
            | (LABELLED if row.human_label is not None else 0)
        )

    def _verdict(self, row: ResultRow, criterion: Criterion, text: str | None) -> dict[str, Any]:
        """The data of a verdict: its row without fields of the item or journal, and what to show
        with it."""
        shown = {name: value for name, value in row.to_dict().items() if name in _ON_PAGE}
        shown |= {
            "status": STATUSES[row.status].text,
            "requirement": criterion.requirement,
            "note": criterion.note,
            "tone": tone(row.weight, row.value),
            "probability_met": row.probability_met,
            "seconds": row.usage.seconds or None,
            "facts": [f"weight {row.weight:g}", *row.facts(), *_usage_facts(row.usage)],
            "votes": [
                {name: vote[name] for name in ("judge", "label", "reason", "error")}
                | {"status": STATUSES[vote["status"]].text}
                | {"tone": tone(row.weight, vote["value"])}
                for vote in shown["votes"]
            ],
            "evidence": [_in_utf16(text, quote) for quote in shown["evidence"]],
        }
        pair = self._pairs.get((row.item, row.criterion))
        if pair is not None:
            error = str(pair.b.error or "").partition(": ")
            failure = error[0].replace("_", " ") + error[1] + error[2]
            shown["other"] = [pair.b.answer_text, pair.b.reason or failure]
        return {key: value for key, value in shown.items() if value or isinstance(value, float)}

    def _hold(self, item: bytes, sent: Any) -> None:
        self._waiting.append((orjson.Fragment(item), sent))
        self._size += len(item)
        if self._size >= CHUNK:
            self.flush()

    def flush(self) -> None:
        """Write the collected items. Prompts and replies get chunks of their own, because they are
        rarely needed."""
        if not self._waiting:
            return
        self._chunks.add(f"items-{self._count}", [item for item, _ in self._waiting])
        self._chunks.add(f"sent-{self._count}", [sent for _, sent in self._waiting])
        self._count += 1
        self._size = 0
        self._waiting = []


def _usage_facts(usage: Usage) -> Iterator[str]:
    if tokens := usage.input_tokens + usage.output_tokens:
        yield f"{tokens:,} tokens"
    if usage.cost:
        yield dollars(usage.cost, usage.estimated_cost)
    if usage.seconds >= 0.05:
        yield f"{usage.seconds:.1f} s"


def _in_utf16(text: str | None, quote: dict[str, Any]) -> dict[str, Any]:
    """Return a quote with offsets in UTF-16 code units, as a browser counts."""
    if text is None or quote["start"] is None or text.isascii():
        return quote
    return {**quote, **{end: wide(text[: quote[end]]) for end in ("start", "end")}}
