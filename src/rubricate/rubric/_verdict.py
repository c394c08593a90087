"""What comes back for one (item, criterion, judge), and the answers a binary criterion has."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum
from typing import Any, Literal

from rubricate._frozen import quickly_made
from rubricate._usage import NO_USAGE, Usage

Status = Literal["judged", "abstained", "not_applicable", "failed", "skipped", "not_run"]
NOT_RUN = "not_run"
"""The kind of a failure that is none: nobody was asked, because the run or the model had ended."""
UNANSWERED: frozenset[Status] = frozenset({"failed", "not_run"})
"""What a verdict is that has no answer."""


class CriterionVerdict(StrEnum):
    """The answers to a binary criterion."""

    MET = "MET"
    UNMET = "UNMET"
    CANNOT_ASSESS = "CANNOT_ASSESS"


@quickly_made
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


@quickly_made
@dataclass(frozen=True, slots=True)
class Paraphrase(Evidence):
    """A passage that says nearly the same as what was quoted for it, in other words.

    Other evidence is the passage, but for spacing, letter case and marks.
    """

    paraphrase: bool = True


GATE = "gate"
"""The kind of a failure whose cause is that of a gate."""


@dataclass(frozen=True, slots=True)
class Failure:
    """Why there is no usable answer: the error's class and its text."""

    kind: str
    message: str

    @property
    def status(self) -> Status:
        """What a verdict is for want of an answer: `failed`, or `not_run` if nobody was asked."""
        return "not_run" if self.kind == NOT_RUN else "failed"

    def __str__(self) -> str:
        return f"{self.kind}: {self.message}"


@quickly_made
@dataclass(frozen=True, slots=True)
class Verdict:
    """A judge's answer for one item and one criterion.

    `status` says what kind of answer it is: `judged` (has a label and a value), `abstained` (the
    judge cannot tell), `not_applicable`, `failed` (no usable answer; `error` says why), `skipped`
    (nobody was asked: what the criterion requires does not hold; `reason` says what), or `not_run`
    (nobody was asked because the run ended early; `error` says so).
    `value`, between 0 and 1, is there only when `judged`. `probability` is the judge's own
    probability for its label, where it has one. `resumed` marks an answer read from the journal
    of an earlier run instead of being asked for. `detail` is what the answer says beyond its
    label, as JSON values, such as the items of a confusion matrix; `answer` is the answer itself
    where the label alone does not hold it, and what the journal keeps. `votes` are the verdicts of
    a panel's judges, from which this one was made; `tied` says that they were evenly split. `stage`
    is the place, from 1, of the judge in a cascade that gave it; `votes` are then the verdicts of
    all that were asked.
    `order` is how things stood in the prompt, where that was not the rubric's own order: `answers`
    (labels), and `criteria` (names) where several were asked about together.

    Attributes:
        criterion: the criterion's name.
        label: MET, UNMET, an option's label or a number as text; CANNOT_ASSESS where it abstained,
            None where it failed.
        evidence: the judge's quotes.
        judge: the judge's name.
        usage: what it took.
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


def confidence(verdict: Verdict) -> float | None:
    """How sure a verdict is, from 0 to 1; None where nothing was decided or nothing tells.

    It is the judge's own probability for its label and, where several voted, the share of all
    votes that are this label (those that abstained or have no answer are none); of both, the lower
    one.
    """
    if verdict.status not in ("judged", "not_applicable"):
        return None
    known = [] if verdict.probability is None else [float(verdict.probability)]
    if len(verdict.votes) > 1:
        alike = sum(vote.label == verdict.label for vote in verdict.votes)
        known.append(alike / len(verdict.votes))
    return min(known, default=None)
