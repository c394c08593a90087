"""The items of a run as the report page holds them: an entry for the list, the whole for later.

Both are JSON, deflated and in base64 letters, so that nothing in them can be taken for a part of
the page, and a page of many items stays small. The page unpacks a chunk when an item of it is
looked at.
"""

from __future__ import annotations

import base64
import zlib
from collections.abc import Iterator
from typing import Any, BinaryIO

import orjson

from rubricate.analysis import (
    LOW_CONFIDENCE,
    FinishedItem,
    RunComparison,
    SubmissionFile,
)
from rubricate.report._sent import PageSent, wide
from rubricate.rubric import Criterion, Rubric, Usage
from rubricate.run.results import ITEM_FIELDS, ROW_FIELDS, ResultRow, differs_from_label
from rubricate.views import STATUSES, dollars, opening, tell_apart

CHUNK = 256 * 1024
"""Bytes of items in a chunk before they are packed, about."""
FAILED, ABSTAINED, NOT_APPLICABLE, DIFFERS, UNSURE, FLIPPED, LABELLED, NOT_RUN = (
    1 << n for n in range(8)
)
"""What the list can be filtered by; the page's script has the same bits."""
_ON_PAGE = {*ROW_FIELDS} - {
    *ITEM_FIELDS,
    *("item", "description", "keys", "usage", "order", "groups", "tags", "tag_scores"),
}
"""Fields of a row that the page has with each verdict."""
_STATUS_BITS = {
    "failed": FAILED,
    "not_run": NOT_RUN,
    "abstained": ABSTAINED,
    "not_applicable": NOT_APPLICABLE,
}


def packed(data: Any) -> str:
    """JSON, deflated, in base64."""
    deflate = zlib.compressobj(6, zlib.DEFLATED, -zlib.MAX_WBITS)
    text = deflate.compress(orjson.dumps(data)) + deflate.flush()
    return base64.b64encode(text).decode("ascii")


def tone(weight: float, value: float | None) -> str:
    """Whether an answer gives points (`good`), costs some (`bad`), half of both, or neither."""
    if value is None:
        return "none"
    points = 1.0 - value if weight < 0 else value
    return "good" if points >= 0.75 else "bad" if points <= 0.25 else "half"


class PageItems:
    """Packs items as they come, and keeps their entries for the list.

    Args:
        chunks: where the packed items go, a line each.
        other: a comparison with another run, whose answers are shown beside those that differ.
        other_texts: the texts of that run, which are shown beside those that differ.
        sent: what was sent and received; None to leave it out.
    """

    def __init__(
        self,
        chunks: BinaryIO,
        other: RunComparison | None = None,
        other_texts: SubmissionFile | None = None,
        sent: PageSent | None = None,
    ) -> None:
        self.entries: list[list[Any]] = []
        self.criteria: dict[str, int] = {}
        """Each criterion's name with its number in the entries."""
        self.labels: dict[str, int] = {}
        self.has_texts = True
        self._chunks = chunks
        self._sent = sent
        self._other = other_texts
        self._count = self._size = 0
        self._waiting: list[bytes] = []
        self._openings: list[str] = []
        self._flips = {} if other is None else {(f.item, f.criterion_a): f for f in other.flips}

    def add(self, item: FinishedItem, rubric: Rubric) -> None:
        """Pack an item in."""
        known = rubric.by_name
        verdicts, short = [], []
        for row in item.rows:
            number = self.criteria.setdefault(row.criterion, len(self.criteria))
            place = self.labels.setdefault(row.answer_text, len(self.labels))
            bits = self._bits(known[row.criterion], row)
            verdict = self._verdict(row, known[row.criterion], bits, item.submission)
            short.append([number, place, bits, verdict["tone"][0]])
            verdicts.append(verdict)
        self.has_texts &= item.submission is not None
        sent = None if self._sent is None else self._sent.of_item(item.rows)
        if sent is not None:
            for verdict, conversations in zip(verdicts, sent[1], strict=True):
                verdict["sent"] = conversations
        first = item.rows[0]
        score = first.item_score
        self.entries.append([item.item, item.description, score.value, short, self._count])
        self._openings.append(opening(item.submission or ""))
        other = None if self._other is None else self._other.get(item.item)
        self._hold(
            {
                "id": item.item,
                "description": item.description,
                "prompt": item.prompt,
                "submission": item.submission,
                "reference": item.reference,
                "context": item.context,
                "score": score,
                "alone": {name: alone.value for name, alone in first.judge_scores.items()},
                "warnings": list(first.warnings.values()),
                "verdicts": verdicts,
                "texts": None if sent is None else sent[0],
                **({} if other is None else {"other": None if other == item.submission else other}),
            }
        )

    def finish(self) -> None:
        """Write what waits; entries that their descriptions do not tell apart get an opening."""
        self.flush()
        apart = tell_apart(entry[1] for entry in self.entries)
        for entry, is_apart, begin in zip(self.entries, apart, self._openings, strict=True):
            if not is_apart:
                entry.append(begin)

    def _bits(self, criterion: Criterion, row: ResultRow) -> int:
        sure = row.confidence
        return (
            _STATUS_BITS.get(row.status, 0)
            | (DIFFERS if differs_from_label(criterion, row) else 0)
            | (UNSURE if sure is not None and sure < LOW_CONFIDENCE else 0)
            | (FLIPPED if (row.item, row.criterion) in self._flips else 0)
            | (LABELLED if row.human_label is not None else 0)
        )

    def _verdict(
        self, row: ResultRow, criterion: Criterion, bits: int, text: str | None
    ) -> dict[str, Any]:
        """A row without what is the item's or the journal's, with what is shown beside it."""
        shown = {name: value for name, value in row.to_dict().items() if name in _ON_PAGE}
        shown |= {
            "status": STATUSES[row.status].text,
            "requirement": criterion.requirement,
            "note": criterion.note,
            "tone": tone(row.weight, row.value),
            "bits": bits,
            "facts": [f"weight {row.weight:g}", *row.facts(), *_usage_facts(row.usage)],
            "votes": [
                {name: vote[name] for name in ("judge", "label", "reason", "error")}
                | {"status": STATUSES[vote["status"]].text}
                | {"tone": tone(row.weight, vote["value"])}
                for vote in shown["votes"]
            ],
            "evidence": [_in_utf16(text, quote) for quote in shown["evidence"]],
        }
        flip = self._flips.get((row.item, row.criterion))
        if flip is not None:
            shown["other"] = [flip.b, flip.reason_b]
        return {key: value for key, value in shown.items() if value not in (None, [], {}, False)}

    def _hold(self, item: dict[str, Any]) -> None:
        text = orjson.dumps(item)
        self._waiting.append(text)
        self._size += len(text)
        if self._size >= CHUNK:
            self.flush()

    def flush(self) -> None:
        """Write what waits."""
        if not self._waiting:
            return
        for line in chunk_element(
            f"items-{self._count}", list(map(orjson.Fragment, self._waiting))
        ):
            self._chunks.write(line)
        self._count += 1
        self._size = 0
        self._waiting = []


def chunk_element(name: str, data: Any) -> Iterator[bytes]:
    """An element of the page that holds packed data; nothing runs it."""
    yield f'<script type="text/plain" id="{name}">'.encode()
    yield packed(data).encode()
    yield b"</script>\n"


def _usage_facts(usage: Usage) -> Iterator[str]:
    if tokens := usage.input_tokens + usage.output_tokens:
        yield f"{tokens} tokens"
    if usage.cost:
        yield dollars(usage.cost, usage.estimated_cost)
    if usage.seconds:
        yield f"{usage.seconds:.1f} s"


def _in_utf16(text: str | None, quote: dict[str, Any]) -> dict[str, Any]:
    """A quote with its place as a browser counts it, in units of UTF-16."""
    if text is None or quote["start"] is None or text.isascii():
        return quote
    return {**quote, **{end: wide(text[: quote[end]]) for end in ("start", "end")}}
