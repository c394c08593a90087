"""The table that all views on a terminal are made of."""

from __future__ import annotations

from rich import box
from rich.table import Table

__all__ = ["plain_table"]


def plain_table(title: str | None = None, *, expand: bool = False) -> Table:
    """A table with a line below its headings and no other; over the whole width if expanded."""
    return Table(
        title=title,
        title_justify="left",
        title_style="bold",
        box=box.SIMPLE_HEAD,
        show_edge=False,
        padding=(0, 1, 0, 0),
        expand=expand,
    )
