"""Verdicts: the result for one item, criterion and judge; and the answers of binary criteria."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum
from typing import Any, Literal

from rubricate._spelling import NamesAdvised
from rubricate._usage import NO_USAGE, Usage

Status = Literal["judged", "abstained", "not_applicable", "failed", "skipped", "not_run"]
NOT_RUN = "not_run"
"""The failure kind of verdicts that were not asked because the run or the model had ended."""
UNANSWERED: frozenset[Status] = frozenset({"failed", "not_run"})
"""The statuses of verdicts without an answer."""


class CriterionVerdict(StrEnum):
    """The answers to a binary criterion."""

    MET = "MET"
    UNMET = "UNMET"
    CANNOT_ASSESS = "CANNOT_ASSESS"


@dataclass(frozen=True, slots=True)
class Evidence:
    """A passage that a verdict rests on.

    `start` and `end` are character offsets into the submission; both are None if the quoted words
    are not in it.

    Attributes:
        quote: the words, as the judge gave them.
    """

    quote: str
    start: int | None = None
    end: int | None = None

    @property
    def invented(self) -> bool:
        """Whether the quoted words are not in the submission."""
        return self.start is None

    @property
    def paraphrase(self) -> bool:
        """Whether the passage says nearly the same as the quote in other words."""
        return False


@dataclass(frozen=True, slots=True)
class Paraphrase(Evidence):
    """A passage that says nearly the same as the quote, in other words.

    In other evidence, quote and passage differ only in spacing, letter case and punctuation.
    """

    paraphrase: bool = True


SHOWN = 60
"""The maximum number of characters of a reason in the representation of a verdict."""
GATE = "gate"
"""The failure kind if a required criterion failed."""


@dataclass(frozen=True, slots=True)
class Failure:
    """Why there is no usable answer: the error's class and its text."""

    kind: str
    message: str

    @property
    def status(self) -> Status:
        """The status of a verdict with this failure: `failed` or `not_run`."""
        return "not_run" if self.kind == NOT_RUN else "failed"

    def __str__(self) -> str:
        return f"{self.kind}: {self.message}"


@dataclass(frozen=True, slots=True)
class Verdict(NamesAdvised):
    """A judge's answer for one item and one criterion.

    Attributes:
        criterion: the criterion's name.
        status: `judged` (with a label and a value), `abstained` (the judge cannot tell),
            `not_applicable`, `failed` (no usable answer; see `error`), `skipped` (a required
            criterion does not hold; see `reason`), or `not_run` (the run ended early).
        label: MET, UNMET, the label of an option, or a number as text; CANNOT_ASSESS if it
            abstained, None if it failed.
        value: the value of the label, between 0 and 1; only if `judged`.
        probability: the judge's probability for its label, if it gave one.
        reason: the judge's explanation.
        evidence: the judge's quotes.
        usage: what the answer cost.
        error: why there is no usable answer.
        judge: the judge's name.
        resumed: whether the answer comes from the journal of an earlier run.
        detail: parts of the answer beyond its label, as JSON values, such as the items of a
            confusion matrix.
        answer: the answer itself, if the label is not enough to restore it; kept in the journal.
        votes: the verdicts of a panel's judges, or of all judges asked in a cascade.
        tied: whether the votes were evenly split.
        stage: the number, from 1, of the deciding stage of a cascade.
        order: the order in the prompt, if it differed from the rubric's: `answers` (labels), and
            `criteria` (names) if several were asked together.
    """

    criterion: str
    status: Status
    label: str | None = None
    value: float | None = None
    probability: float | None = None
    reason: str | None = None
    evidence: tuple[Evidence, ...] = ()
    usage: Usage = NO_USAGE
    error: Failure | None = None
    judge: str | None = None
    resumed: bool = False
    detail: Mapping[str, Any] | None = None
    answer: Any = None
    votes: tuple[Verdict, ...] = ()
    tied: bool = False
    order: Mapping[str, Any] | None = None
    stage: int | None = None

    def __repr__(self) -> str:
        why = str(self.error) if self.error is not None else self.reason or ""
        why = why if len(why) <= SHOWN else f"{why[:SHOWN]}…"
        return f"Verdict({self.criterion}: {self.label or self.status}, {why!r})"


def confidence(verdict: Verdict) -> float | None:
    """The confidence of a verdict, from 0 to 1; None if nothing was decided or it is unknown.

    It is the judge's probability for its label or, if several voted, the share of all votes for
    this label (abstentions and missing answers count against it). If there are both, the lower one.
    """
    if verdict.status not in ("judged", "not_applicable"):
        return None
    known = [] if verdict.probability is None else [float(verdict.probability)]
    if len(verdict.votes) > 1:
        alike = sum(vote.label == verdict.label for vote in verdict.votes)
        known.append(alike / len(verdict.votes))
    return min(known, default=None)
