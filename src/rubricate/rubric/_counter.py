"""Criteria decided by counting: words, headings, links, citations, tables and so on."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator, Sequence
from functools import cache, lru_cache
from typing import TYPE_CHECKING, ClassVar, Literal

from pydantic import Field, field_validator, model_validator

from rubricate._spelling import unknown_word
from rubricate.errors import InputError
from rubricate.rubric._computed import Computed, ComputedCriterion
from rubricate.rubric._verdict import CriterionVerdict

if TYPE_CHECKING:
    from markdown_it import MarkdownIt
    from markdown_it.token import Token

COUNTERS = {
    "words": "words of visible text",
    "characters": "characters of the text as it is",
    "paragraphs": "paragraphs outside lists, tables and quotations",
    "headings": "headings of any level",
    "list_items": "items of lists",
    "tables": "tables",
    "code_blocks": "blocks of code",
    "links": "links, bare addresses included",
    "images": "images",
    "citations": "references in brackets ([3], [1, 4-6], [^note]) and by author and year "
    "((Smith et al., 2020))",
}
"""What can be counted in a Markdown text, with descriptions."""
SHORT = 20_000
"""Longest text, in characters, that is counted directly; longer ones are counted in a thread."""
_STARTS = {
    "heading_open": "headings",
    "list_item_open": "list_items",
    "table_open": "tables",
    "fence": "code_blocks",
    "code_block": "code_blocks",
    "link_open": "links",
    "image": "images",
}
_WORD = re.compile(r"[^\W_]+(?:['’.,\-][^\W_]+)*")
_ADDRESS = re.compile(r"https?://\S+")
_CITATION = re.compile(
    r"\[\^[^\]\s]+\]|\[\d{1,4}(?:\s*[,;–-]\s*\d{1,4})*\]"
    r"|\([^()\d]{2,60},?\s(?:1[5-9]|20)\d\d[a-z]?(?:,\s*pp?\.\s*[\d–-]+)?\)"
)


class CounterCriterion(ComputedCriterion):
    """Compares a count in the submission, read as Markdown, with bounds.

    MET if the count is within the bounds, else UNMET; the reason has the count. See `COUNTERS` for
    what can be counted.
    """

    telltale: ClassVar[Sequence[str]] = ("at_least", "at_most")
    own_fields: ClassVar[Sequence[str]] = ("counter", "at_least", "at_most", "time_limit")
    kind: Literal["counter"] = "counter"
    requirement: str = ""
    """What is required, in words. Default: the counter and its bounds."""
    counter: str
    """What is counted: one of `COUNTERS`."""
    at_least: int | None = Field(default=None, ge=0)
    """The minimum count."""
    at_most: int | None = Field(default=None, ge=0)
    """The maximum count."""

    @field_validator("counter")
    @classmethod
    def _is_known(cls, counter: str) -> str:
        if counter not in COUNTERS:
            raise InputError(unknown_word("counter", counter, COUNTERS))
        return counter

    @model_validator(mode="after")
    def _has_bounds(self) -> CounterCriterion:
        if self.at_least is None and self.at_most is None:
            raise InputError(f"give at_least or at_most: the bounds for the {self.counter}")
        if None not in (self.at_least, self.at_most) and self.at_least > self.at_most:  # type: ignore[operator]
            raise InputError(f"at_least {self.at_least} is above at_most {self.at_most}")
        return self

    def described(self) -> str:
        """What is checked, in words."""
        low = [] if self.at_least is None else [f"at least {self.at_least}"]
        high = [] if self.at_most is None else [f"at most {self.at_most}"]
        bounds = " and ".join(low + high)
        return self.requirement or f"The submission has {bounds} {self.counter.replace('_', ' ')}"

    def compute_at_once(self, submission: str) -> Computed | None:
        return self.compute(submission) if len(submission) <= SHORT else None

    def compute(self, submission: str, item: object = None) -> Computed:
        """Count, and compare with the bounds."""
        count = document_counts(submission)[self.counter]
        low = 0 if self.at_least is None else self.at_least
        met = low <= count and (self.at_most is None or count <= self.at_most)
        label = CriterionVerdict.MET if met else CriterionVerdict.UNMET
        return Computed(label.value, f"{self.counter.replace('_', ' ')}: {count}")

    def identity(self) -> object:
        return [self.counter, self.at_least, self.at_most]


@lru_cache(maxsize=4)
def document_counts(text: str) -> dict[str, int]:
    """Every count of a Markdown text, by the names in `COUNTERS`."""
    counts = Counter(dict.fromkeys(COUNTERS, 0))
    counts["characters"] = len(text)
    for token in _tokens(_parser().parse(text)):
        if name := _STARTS.get(token.type):
            counts[name] += 1
        elif token.type == "paragraph_open" and token.level == 0:
            counts["paragraphs"] += 1
        if token.type == "inline":
            words = _visible(token)
            addresses = _ADDRESS.findall(words)
            counts["links"] += len(addresses)
            counts["citations"] += len(_CITATION.findall(words))
            counts["words"] += len(_WORD.findall(_ADDRESS.sub(" ", words))) + len(addresses)
        elif token.type in ("fence", "code_block"):
            counts["words"] += len(_WORD.findall(token.content))
    return dict(counts)


@cache
def _parser() -> MarkdownIt:
    from markdown_it import MarkdownIt

    return MarkdownIt("commonmark", {"maxNesting": 100}).enable("table")


def _tokens(tokens: list[Token]) -> Iterator[Token]:
    for token in tokens:
        yield token
        yield from token.children or ()


def _visible(token: Token) -> str:
    """The visible words of a block of text, with the text of links in brackets."""
    parts: list[str] = []
    hidden = False
    for child in token.children or ():
        if child.type == "link_open":
            hidden = child.markup == "autolink"
            parts.append("[")
        elif child.type == "link_close":
            hidden = False
            parts.append("]")
        elif child.type in ("text", "code_inline") and not hidden:
            parts.append(child.content)
        elif child.type == "image":
            parts.append(f" {child.content} ")
        elif child.type in ("softbreak", "hardbreak"):
            parts.append("\n")
    return "".join(parts)
