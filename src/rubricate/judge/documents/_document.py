"""A long document: its parts, and the findings in them as one text."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property, lru_cache

from rubricate.dataset import Item
from rubricate.judge.asking import locate
from rubricate.judge.documents._outline import outline
from rubricate.judge.documents._prompts import NOTHING_HERE
from rubricate.judge.documents._selector import Relevance
from rubricate.judge.documents._splitter import (
    BYTES_PER_TOKEN,
    Chunk,
    CountTokens,
    split_document,
)
from rubricate.rubric import UNANSWERED, Evidence, Verdict

OVERLAP = 1 / 20
"""The part of the budget that a chunk repeats of the one before it."""
LEAST_FINDINGS = 2000
"""The minimum number of tokens for findings in the last request, even if the budget is smaller."""


@dataclass(frozen=True, slots=True)
class Part(Item):
    """A part of a document as an item; `place` says which part."""

    place: str = ""


@dataclass(frozen=True, slots=True)
class Seen(Item):
    """A view of a document (outline or findings) as an item; `whole` is the document."""

    whole: str = ""


def bears(finding: Verdict) -> bool:
    """Whether a part has something on the criterion."""
    return finding.status not in UNANSWERED and finding.label != NOTHING_HERE


class Document:
    """A long document with its parts.

    Args:
        text: the whole text.
        chunk_tokens: the maximum number of tokens of a part.
        count: counts tokens.
    """

    def __init__(self, text: str, chunk_tokens: int, count: CountTokens) -> None:
        self.text = text
        self.chunks = split_document(
            text, budget=chunk_tokens, overlap=int(chunk_tokens * OVERLAP), count=count
        )
        self._budget = chunk_tokens
        self._count = count

    @cached_property
    def outline(self) -> str:
        return outline(self.text, budget=self._budget, count=self._count)

    @cached_property
    def relevance(self) -> Relevance:
        return Relevance(self._text_of(chunk) for chunk in self.chunks)

    def _text_of(self, chunk: Chunk) -> str:
        return self.text[chunk.start : chunk.end]

    def part(self, place: int, item: Item) -> Part:
        """A part as an item, with the document's other data."""
        chunk = self.chunks[place]
        return Part(
            self._text_of(chunk),
            item.prompt,
            item.reference,
            item.guidelines,
            item.context,
            place=self._place(chunk),
        )

    def _place(self, chunk: Chunk) -> str:
        under = " > ".join(name[:120] for name in chunk.path)
        return f"Part {chunk.number} of {len(self.chunks)}" + (f", under: {under}" if under else "")

    def findings(self, findings: dict[int, Verdict], budget: int) -> str:
        """The findings as text of about `budget` tokens, or `LEAST_FINDINGS` if that is more, at
        most."""
        relevant = [place for place in sorted(findings) if bears(findings[place])]
        share = int(BYTES_PER_TOKEN * max(budget, LEAST_FINDINGS) / max(1, len(relevant)))
        lines = [_noted(self._place(self.chunks[p]), findings[p], share) for p in relevant]
        nothing = [str(place + 1) for place in sorted(findings) if place not in relevant]
        if nothing:
            lines.append(f"Nothing on the criterion was found in part {', '.join(nothing)}.")
        if len(findings) < len(self.chunks):
            rest = [str(chunk.number) for chunk in self.chunks if chunk.number - 1 not in findings]
            lines.append(f"Not read, since it has little to do with it: part {', '.join(rest)}.")
        return "\n\n".join(lines)

    def located(self, quote: str, findings: dict[int, Verdict] | None) -> Evidence:
        """Locate a quote in the document, preferably in the parts that bear on the criterion."""
        bearing = [
            self.chunks[place] for place in sorted(findings or ()) if bears((findings or {})[place])
        ]
        return locate(quote, self.text, [(chunk.start, chunk.end) for chunk in bearing])

    def number_at(self, offset: int | None) -> int | None:
        """The number of the part whose own span contains an offset."""
        if offset is None:
            return None
        return next((chunk.number for chunk in self.chunks if offset < chunk.end), None)


def _noted(place: str, finding: Verdict, share: int) -> str:
    """One finding, in about `share` characters."""
    text = f"{place}:\n{_cut(finding.reason or '', share // 2)}"
    for evidence in finding.evidence:
        if len(text) + len(evidence.quote) > share:
            text += f'\n- "{_cut(evidence.quote, max(40, share - len(text)))}"'
            break
        text += f'\n- "{evidence.quote}"'
    return text


def _cut(text: str, length: int) -> str:
    return text if len(text) <= length else f"{text[: max(1, length - 1)]}…"


@lru_cache(maxsize=8)
def document_of(text: str, chunk_tokens: int, count: CountTokens) -> Document:
    """Split a document, cached for its other criteria."""
    return Document(text, chunk_tokens, count)


@lru_cache(maxsize=8)
def tokens_of(text: str, count: CountTokens) -> int:
    """The number of tokens of a text, cached for the other criteria."""
    return count(text)
