"""Verdicts that must rest on quotes which stand in the submission."""

from __future__ import annotations

import textwrap
from dataclasses import replace

from rubricate.rubric import ABSTENTION, Criterion, Reading, Verdict

REQUIRED = "require_evidence"
"""Where a verdict's detail says how often its judge was asked again for quotes (`asked_again`), and
whether it abstains for want of them (`abstained`)."""
ASKED_AGAIN, ABSTAINED = "asked_again", "abstained"
LONGEST = 200
"""Characters of a quote that are shown to the judge again."""
SEVERAL = 5
"""How many quotes are."""


def key_suffix(required: bool | None, criterion: Criterion) -> bytes:
    """What keys have of the option, where it makes other answers possible than usual."""
    if required:
        return b"-evidence"
    return b"-any-evidence" if required is False and criterion.quotes_items else b""


def unsupported(
    required: bool | None, criterion: Criterion, reading: Reading, verdict: Verdict
) -> str:
    """What is wrong with the quotes of an answer; empty for nothing.

    An answer must quote where it says that something is in the text (`Criterion.must_quote`): one
    quote at least must stand there, if only as a paraphrase. Of an answer about items each item's
    own quote must.

    Args:
        required: whether quotes are required; None for the usual: only those that an answer about
            items gives.
        criterion: what was asked.
        reading: the answer.
        verdict: what it comes to, with its quotes as they were looked up.
    """
    if not (required or reading.claims) or required is False or verdict.status != "judged":
        return ""
    located = verdict.evidence
    found = {one.quote for one in located if not one.invented}
    if reading.claims:
        lost = [
            f"the quote for '{item}' is not in the submission, {_shown(quote)}"
            if quote
            else f"'{item}' has no quote"
            for item, quote in reading.claims
            if quote not in found and (quote or required)
        ]
        return "; ".join(_few(lost))
    if not required or found or not criterion.must_quote(reading.label):
        return ""
    if not located:
        return f"{reading.label} needs a quote from the submission, and there is none"
    quotes = ", ".join(_few([_shown(one.quote) for one in located]))
    return f"{reading.label} needs a quote from the submission, and it does not have {quotes}"


def asked_for_quotes(verdict: Verdict, times: int, wrong: str = "") -> Verdict:
    """The verdict of a judge that was asked again for quotes; it abstains if they are still wrong.

    Args:
        verdict: the last answer.
        times: how often the judge was asked again.
        wrong: what is wrong with the quotes of the last answer.
    """
    if not wrong:
        return replace(verdict, detail={**(verdict.detail or {}), REQUIRED: {ASKED_AGAIN: times}})
    return replace(
        verdict,
        status="abstained",
        label=ABSTENTION,
        value=None,
        reason=f"No evidence: {wrong}. The judge said {verdict.label}: {verdict.reason}",
        detail={REQUIRED: {ASKED_AGAIN: times, ABSTAINED: True}},
        answer=None,
    )


def _shown(quote: str) -> str:
    return f'"{textwrap.shorten(quote, LONGEST, placeholder=" ...")}"'


def _few(parts: list[str]) -> list[str]:
    more = len(parts) - SEVERAL
    return parts if more <= 0 else [*parts[:SEVERAL], f"and {more} more"]
