"""The base of criteria that need no judge because they are computed from the text."""

from __future__ import annotations

from collections.abc import Awaitable
from dataclasses import dataclass
from typing import ClassVar

from pydantic import Field

from rubricate.rubric._criterion import Criterion
from rubricate.rubric._question import Question, label_question
from rubricate.rubric._verdict import Evidence, Verdict

NOT_APPLICABLE = "NOT_APPLICABLE"
"""The label if a callable says that the criterion does not apply."""


@dataclass(frozen=True, slots=True)
class Computed:
    """A computed answer with reason and evidence. It is read like a judge's answer."""

    answer: object
    reason: str | None = None
    evidence: tuple[Evidence, ...] = ()


class ComputedCriterion(Criterion):
    """A criterion whose answer is computed from the submission, without a judge."""

    needs_judge: ClassVar[bool] = False
    sees_item: ClassVar[bool] = False
    """Whether the answer can depend on more of the item than its texts."""
    time_limit: float = Field(default=10.0, gt=0, allow_inf_nan=False)
    """Maximum seconds for one submission; after that the verdict is `failed`."""

    def described(self) -> str:
        """What is checked, in words."""
        return self.requirement

    def compute_at_once(self, submission: str) -> Computed | None:
        """The answer, if it can be computed in a moment; else None.

        Args:
            submission: the text.
        """
        return None

    def compute(
        self, submission: str, item: object = None
    ) -> Computed | Verdict | Awaitable[Computed | Verdict]:
        """The answer for one submission, as a value or an awaitable.

        Args:
            submission: the text.
            item: what it belongs to.

        Raises:
            TimeoutError: it took longer than `time_limit`, if the code itself can notice that.
        """
        raise NotImplementedError

    def identity(self) -> object:
        """Everything that could change the answer for the same text, as JSON values."""
        raise NotImplementedError

    def ask(self) -> Question:
        """The question in words, for display only."""
        return label_question(self.described(), [])
