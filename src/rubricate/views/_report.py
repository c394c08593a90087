"""A report: figures as data, that every medium shows alike."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import asdict, is_dataclass, replace
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from rich.console import RenderableType

    from rubricate.views._sections import Paragraph, Section


class Report:
    """Data with `sections()`, from which all its forms are made.

    `print(report)` shows it, and so does a notebook; `to_markdown()` is for a pull request,
    `to_html()` a page by itself, `to_dict()` has the figures as JSON values.
    """

    __slots__ = ()

    @property
    @abstractmethod
    def title(self) -> str:
        """What it is, as the heading of a document."""

    @abstractmethod
    def sections(self) -> Iterable[Section]:
        """What it says."""

    def front(self) -> Sequence[Sequence[Paragraph]]:
        """Blocks of lines that a document has before the sections.

        They take the place of the first table's title.
        """
        return ()

    def _documented(self) -> Iterator[Section]:
        from rubricate.views._sections import Table

        has_text = bool(self.front())
        for section in self.sections():
            if isinstance(section, Table) and (has_text or section.title == self.title):
                has_text = False
                yield replace(section, title=None)
            else:
                yield section

    def to_dict(self) -> dict[str, Any]:
        """The figures as JSON values."""
        if is_dataclass(self):
            return asdict(self)
        return self.model_dump(mode="json")  # type: ignore[attr-defined,no-any-return]

    def to_markdown(self) -> str:
        """The report as Markdown."""
        from rubricate.views._markdown import as_markdown

        return as_markdown(self.title, self.front(), self._documented())

    def to_html(self) -> str:
        """The report as an HTML page that loads nothing and runs nothing."""
        from rubricate.views._html import as_page

        return as_page(self.title, self.front(), self._documented())

    def _repr_html_(self) -> str:
        from rubricate.views._html import as_html

        return as_html(self.sections())

    def __rich__(self) -> RenderableType:
        from rubricate.views._terminal import OnTerminal

        return OnTerminal(self.sections)

    def __str__(self) -> str:
        from rubricate.views._terminal import as_text

        return as_text(self.sections)
