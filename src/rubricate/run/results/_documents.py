"""What reading long documents in parts took, beside what reading every part would."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING

from pydantic import AliasChoices, Field

from rubricate.rubric import Verdict
from rubricate.run.journal import DOCUMENT
from rubricate.run.results._summary_part import SummaryPart

if TYPE_CHECKING:
    from rubricate.run.results._results import ItemResult


@dataclass(slots=True)
class DocumentWork:
    """Long documents, added up verdict by verdict.

    Attributes:
        verdicts: verdicts (or votes) on documents over the judge's budget.
        outlines: how many of them came from an outline alone.
        requests: those for parts, for outlines and for the whole that they take.
        tokens: the tokens of document text that these read, outlines included.
        requests_naive, tokens_naive: the same, were every part read for every criterion.
        oversized: the most parts over the budget in any of the documents.
    """

    verdicts: int = 0
    outlines: int = 0
    requests: int = 0
    tokens: int = 0
    requests_naive: int = 0
    tokens_naive: int = 0
    oversized: int = 0

    def add(self, item: ItemResult) -> None:
        """Count an item in."""
        for verdict in item.criteria.values():
            if verdict.detail or verdict.votes:
                self.add_verdict(verdict)

    def figures(self) -> DocumentFigures | None:
        """All that was added; None where no document was long."""
        return DocumentFigures(**asdict(self)) if self.verdicts else None

    def add_verdict(self, verdict: Verdict) -> None:
        """Count a verdict in, or the votes that it was made from."""
        for one in verdict.votes or (verdict,):
            how = (one.detail or {}).get(DOCUMENT)
            if not (isinstance(how, Mapping) and how.keys() >= {"read", "tokens", "oversized"}):
                continue  # nothing, or what a judge of a user's calls so
            self.verdicts += 1
            self.outlines += how["read"] == "outline"
            # In older journals and summaries requests go by the name of calls.
            self.requests += how["requests"] if "requests" in how else how["calls"]
            self.tokens += how["tokens"]
            naive = "requests_naive" if "requests_naive" in how else "calls_naive"
            self.requests_naive += how[naive]
            self.tokens_naive += how["tokens_naive"]
            self.oversized = max(self.oversized, len(how["oversized"]))

    def __str__(self) -> str:
        text = (
            f"{self.verdicts} verdicts in {self.requests} requests and {self.tokens} tokens of "
            f"text (every part for every criterion: {self.requests_naive} and {self.tokens_naive})"
        )
        text += f", {self.outlines} from an outline alone" if self.outlines else ""
        if self.oversized:
            text += f"; up to {self.oversized} tables or code blocks over the budget"
        return text


class DocumentFigures(SummaryPart):
    """Long documents that were read in parts, and what reading every part would have taken."""

    verdicts: int
    """Verdicts, or votes, on documents over the judge's budget."""
    outlines: int
    """Those that came from an outline alone."""
    requests: int = Field(validation_alias=AliasChoices("requests", "calls"))
    """Requests for parts, for outlines and for the whole that these verdicts took."""
    tokens: int
    """Tokens of document text that were read for them."""
    requests_naive: int = Field(validation_alias=AliasChoices("requests_naive", "calls_naive"))
    """The requests, were every part read for every criterion."""
    tokens_naive: int
    """The tokens, likewise."""
    oversized: int
    """The most parts over the budget in any document: tables or code that are not cut."""

    @classmethod
    def tally(cls) -> DocumentWork:
        return DocumentWork()

    def facts(self) -> Iterator[tuple[str, str]]:
        yield "long documents", str(DocumentWork(**self.model_dump()))
