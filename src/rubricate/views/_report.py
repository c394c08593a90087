"""The base class of reports: figures as data, with the same contents in every format."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import asdict, is_dataclass, replace
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from rich.console import RenderableType

    from rubricate.views._sections import Paragraph, Section


class Report:
    """Data with `sections()`, from which all formats are generated.

    `print(report)` and notebooks show it, `to_markdown()` is for pull requests, `to_html()` returns
    a complete page, and `to_dict()` the figures as JSON values."""

    __slots__ = ()

    @property
    @abstractmethod
    def title(self) -> str:
        """The title of the report."""

    @abstractmethod
    def sections(self) -> Iterable[Section]:
        """The contents of the report."""

    def front(self) -> Sequence[Sequence[Paragraph]]:
        """Blocks of lines before the sections of a document.

        They replace the title of the first table.
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
        """Return the figures as JSON values."""
        if is_dataclass(self):
            return asdict(self)
        return self.model_dump(mode="json")  # type: ignore[attr-defined,no-any-return]

    def to_markdown(self) -> str:
        """Return the report as Markdown."""
        from rubricate.views._markdown import as_markdown

        return as_markdown(self.title, self.front(), self._documented())

    def to_html(self) -> str:
        """Return the report as an HTML page that loads nothing and runs nothing."""
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
