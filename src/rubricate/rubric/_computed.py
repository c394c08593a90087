"""What the kinds that need no judge have in common: their answer is computed from the text."""

from __future__ import annotations

from collections.abc import Awaitable
from dataclasses import dataclass
from typing import ClassVar

from pydantic import Field

from rubricate.rubric._criterion import Criterion
from rubricate.rubric._question import Question, label_question
from rubricate.rubric._verdict import Evidence, Verdict

NOT_APPLICABLE = "NOT_APPLICABLE"
"""The label of what a callable says does not apply."""


@dataclass(frozen=True, slots=True)
class Computed:
    """A computed answer, to be read as a judge's answer is, with its reason and evidence."""

    answer: object
    reason: str | None = None
    evidence: tuple[Evidence, ...] = ()


class ComputedCriterion(Criterion):
    """A criterion whose answer is computed from the submission, without a judge."""

    needs_judge: ClassVar[bool] = False
    sees_item: ClassVar[bool] = False
    """Whether the answer may depend on more of the item than its texts."""
    time_limit: float = Field(default=10.0, gt=0, allow_inf_nan=False)
    """Seconds that one submission may take; past it the verdict is `failed`."""

    def described(self) -> str:
        """What is checked, in words."""
        return self.requirement

    def compute_at_once(self, submission: str) -> Computed | None:
        """The answer, where it can be had in a moment; None where that takes longer.

        Args:
            submission: the text.
        """
        return None

    def compute(
        self, submission: str, item: object = None
    ) -> Computed | Verdict | Awaitable[Computed | Verdict]:
        """The answer for one submission, as a value or as something to await.

        Args:
            submission: the text.
            item: what it belongs to.

        Raises:
            TimeoutError: it took longer than `time_limit`, where that can be noticed from inside.
        """
        raise NotImplementedError

    def identity(self) -> object:
        """Everything, as JSON values, that could change the answer for one and the same text."""
        raise NotImplementedError

    def ask(self) -> Question:
        """The question in words; nobody is asked it."""
        return label_question(self.described(), [])
