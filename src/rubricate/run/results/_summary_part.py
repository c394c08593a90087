"""A part of a summary: the figures of one matter, with how they are added up and shown."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Iterator
from typing import TYPE_CHECKING, Protocol

from pydantic import BaseModel, ConfigDict

if TYPE_CHECKING:
    from rubricate.run.results._results import ItemResult
    from rubricate.views import Table


class PartTally(Protocol):
    """The figures of one matter, added up as items come, in any order."""

    def add(self, item: ItemResult) -> None:
        """Count an item in."""
        ...

    def figures(self) -> SummaryPart | None:
        """What has come together; None where there is nothing to say."""
        ...


class SummaryPart(BaseModel):
    """Figures that are a field of `Summary`: `name: Part | None = None`, and need no more there."""

    model_config = ConfigDict(frozen=True, defer_build=True)

    @classmethod
    @abstractmethod
    def tally(cls) -> PartTally:
        """What adds them up, with nothing in it yet."""

    @abstractmethod
    def facts(self) -> Iterator[tuple[str, str]]:
        """The lines below the summary's tables that show them: a name, and what is said."""

    def tables(self) -> Iterator[Table]:
        """The tables that show them, below those of criteria."""
        return iter(())
