"""What a judge is given beside the criterion: the same for all criteria of an item."""

from __future__ import annotations

from dataclasses import dataclass, field

from rubricate.dataset import ContextDocument, DataItem

__all__ = ["Case"]


@dataclass(frozen=True, slots=True)
class Case:
    """One submission and what belongs to it.

    Attributes:
        submission: the text to be judged.
        prompt: the task that it answers; empty if there is none.
        reference: an exemplary response, if there is one.
        context: documents that the submission rests on, or should.
        guidelines: the rubric's guidelines, if it has any.
        item: what the submission belongs to, for criteria that are computed and for judges with
            a prompt of their own; the usual prompt does not show it.
    """

    submission: str
    prompt: str = ""
    reference: str | None = None
    guidelines: str | None = None
    context: tuple[ContextDocument, ...] = ()
    item: DataItem | None = field(default=None, compare=False, repr=False)
