"""A judge: (case, criterion) -> Verdict."""

from __future__ import annotations

from typing import Protocol, runtime_checkable

from rubricate.judge._case import Case
from rubricate.judge.models import Send
from rubricate.rubric import Criterion, Verdict

__all__ = ["Judge"]


@runtime_checkable
class Judge(Protocol):
    """Something that judges."""

    @property
    def name(self) -> str:
        """What results call it."""
        ...

    @property
    def note(self) -> str | None:
        """One line to be shown beside its results, or None."""
        ...

    def key(self, case: Case, criterion: Criterion) -> str:
        """A hash of everything that could change the verdict; the journal's key."""
        ...

    async def judge(self, case: Case, criterion: Criterion, send: Send) -> Verdict:
        """Judge one criterion. A model is reached only through `send`.

        No usable answer is a verdict whose status is `failed`; only a bug raises.
        """
        ...

    async def aclose(self) -> None:
        """Let go of connections. The judge can be used again afterwards."""
        ...
