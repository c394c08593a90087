"""The cost of reading long documents in parts, compared with reading every part."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING

from pydantic import AliasChoices, Field

from rubricate._spelling import counted
from rubricate.rubric import Verdict
from rubricate.run.journal import DOCUMENT
from rubricate.run.results._figures import SummaryPart

if TYPE_CHECKING:
    from rubricate.run.results._results import ItemResult


class DocumentTally:
    """Counts long documents, verdict by verdict."""

    def __init__(self) -> None:
        self._counts: Counter[str] = Counter()
        self._oversized = 0

    def add(self, item: ItemResult) -> None:
        """Count an item."""
        for verdict in item.criteria.values():
            if verdict.detail or verdict.votes:
                self.add_verdict(verdict)

    def figures(self) -> DocumentFigures | None:
        """The totals; None if no document was long."""
        return self.counted() if self._counts else None

    def counted(self) -> DocumentFigures:
        """The totals."""
        return DocumentFigures(**self._counts, oversized=self._oversized)

    def add_verdict(self, verdict: Verdict) -> None:
        """Count a verdict, or the votes behind it."""
        for vote in verdict.votes or (verdict,):
            how = (vote.detail or {}).get(DOCUMENT)
            if not (isinstance(how, Mapping) and how.keys() >= {"read", "tokens", "oversized"}):
                continue  # absent, or set by a custom judge
            # Older journals and summaries use the word calls for requests.
            requests, naive = (
                ("requests", "requests_naive") if "requests" in how else ("calls", "calls_naive")
            )
            self._counts.update(
                verdicts=1,
                outlines=how["read"] == "outline",
                requests=how[requests],
                tokens=how["tokens"],
                requests_naive=how[naive],
                tokens_naive=how["tokens_naive"],
            )
            self._oversized = max(self._oversized, len(how["oversized"]))


class DocumentFigures(SummaryPart):
    """Long documents that were read in parts, and what reading every part would have taken."""

    verdicts: int = 0
    """Verdicts, or votes, on documents over the judge's budget."""
    outlines: int = 0
    """Those that came from an outline alone."""
    requests: int = Field(default=0, validation_alias=AliasChoices("requests", "calls"))
    """Requests for parts, for outlines and for the whole that these verdicts took."""
    tokens: int = 0
    """Tokens of document text that were read for them."""
    requests_naive: int = Field(
        default=0, validation_alias=AliasChoices("requests_naive", "calls_naive")
    )
    """The requests, were every part read for every criterion."""
    tokens_naive: int = 0
    """The tokens, likewise."""
    oversized: int = 0
    """The most parts over the budget in any document: tables or code that are not cut."""

    @classmethod
    def tally(cls) -> DocumentTally:
        return DocumentTally()

    def facts(self) -> Iterator[tuple[str, str]]:
        if not self.verdicts:
            return
        text = (
            f"{counted(self.verdicts, 'verdict')} in {self.requests} requests and {self.tokens} "
            f"tokens of text (every part for every criterion: {self.requests_naive} and "
            f"{self.tokens_naive})"
        )
        text += f", {self.outlines} from an outline alone" if self.outlines else ""
        if self.oversized:
            text += f"; up to {self.oversized} tables or code blocks over the budget"
        yield "long documents", text
