"""Plots on one sheet: self-contained SVG, and PNG."""

from __future__ import annotations

import math
import re
import textwrap
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path

from markupsafe import escape

from rubricate._files import Replacement, user_path
from rubricate.errors import InputError, extra_needed
from rubricate.views._charts import Drawing
from rubricate.views._page_parts import page_part

NAMESPACE = "http://www.w3.org/2000/svg"
FONTS = (
    "Helvetica Neue, Helvetica, Arial, Segoe UI, Roboto, Noto Sans, Liberation Sans, DejaVu Sans, "
    "sans-serif"
)
"""The first font that a system has is used. The converter to PNG only tries these."""
SUFFIXES = (".svg", ".png")
EDGE, BETWEEN = 16.0, 24.0
TITLE, HEAD, TEXT = 17.0, 16.0, 14.0
"""The line heights of a sheet's title, a plot's title, and other text."""
LETTER = 6.8
"""The approximate width of a letter of other text."""
SHARPNESS = 2.0
"""Pixels of a PNG per unit of the drawing."""


@dataclass(frozen=True, slots=True)
class Plot:
    """A drawing with its texts; the legend has the colours by class, with their meanings."""

    title: str
    drawing: Drawing
    caption: str = ""
    legend: tuple[tuple[str, str], ...] = ()


@dataclass(frozen=True, slots=True)
class Picture:
    """Plots on one sheet. A notebook shows it; `save` writes it as SVG or PNG (extra `png`).

    Attributes:
        title: the heading above them.
        plots: the plots.
        across: the maximum number of plots side by side.
    """

    title: str
    plots: tuple[Plot, ...]
    across: int = 1

    def __repr__(self) -> str:
        return f"<Picture {self.title!r}: {len(self.plots)} plots; save() writes it>"

    def save(self, path: str | Path) -> None:
        """Write the picture to a file with the suffix .svg or .png.

        Raises:
            InputError: the suffix is another one, the file cannot be written, or, for PNG, this
                system has no font.
            MissingExtraError: the converter to PNG is not installed.
        """
        file = user_path(path)
        suffix = file.suffix.lower()
        if suffix not in SUFFIXES:
            raise InputError(f"a plot's name must end in {' or '.join(SUFFIXES)}", file=path)
        drawn = self.to_svg().encode() if suffix == ".svg" else self.to_png()
        with Replacement(file) as written:
            written.write(drawn)

    def to_svg(self) -> str:
        """Return the picture as SVG."""
        across = max(1, min(self.across, len(self.plots)))
        wide = max((plot.drawing.width for plot in self.plots), default=0.0)
        width = 2 * EDGE + across * wide + (across - 1) * BETWEEN
        title = _wrapped(self.title, (width - 2 * EDGE) / (LETTER * 1.2))
        y = EDGE
        parts = []
        for line in title:
            y += TITLE
            parts.append(_words(EDGE, y, line, "title"))
        for start in range(0, len(self.plots), across):
            y += BETWEEN / 2
            cells = [_Cell(plot, wide) for plot in self.plots[start : start + across]]
            head = max(cell.head for cell in cells)
            for place, cell in enumerate(cells):
                parts += cell.parts(EDGE + place * (wide + BETWEEN), y, head)
            y += max(head + cell.below for cell in cells)
        height = y + EDGE
        size = f'width="{width:g}" height="{height:g}"'
        return (
            f'<svg class="picture" xmlns="{NAMESPACE}" viewBox="0 0 {width:g} {height:g}" {size} '
            f'role="img" aria-label="{escape(self.title)}"><style>{_style()}</style>'
            f'<rect class="sheet" {size}/>{"".join(parts)}</svg>\n'
        )

    def to_png(self) -> bytes:
        """Return the picture as PNG, with two pixels per unit of the SVG.

        Raises:
            InputError: this system has no font.
            MissingExtraError: the converter to PNG is not installed.
        """
        with extra_needed("a plot as PNG", "png"):
            from resvg_py import svg_to_bytes
        letter, nothing = (
            svg_to_bytes(
                svg_string=f'<svg xmlns="{NAMESPACE}" width="20" height="20">'
                f'<text y="15" font-family="{FONTS}">{text}</text></svg>'
            )
            for text in ("A", "")
        )
        if letter == nothing:
            raise InputError("this system has no font to write with: save the plot as SVG")
        return svg_to_bytes(svg_string=self.to_svg(), zoom=SHARPNESS)

    def _repr_svg_(self) -> str:
        return self.to_svg()


class _Cell:
    """A plot with the texts around it.

    Attributes:
        head: the height of the part above the drawing.
        below: the height of the drawing and the part below it.
    """

    def __init__(self, plot: Plot, width: float) -> None:
        self._plot = plot
        self._title = _wrapped(plot.title, width / (LETTER * 1.1))
        self._caption = _wrapped(plot.caption, width / LETTER)
        self._legend = [*_legend_lines(plot.legend, width)]
        self.head = HEAD * len(self._title) + TEXT * len(self._legend) + 6
        self.below = plot.drawing.height + TEXT * len(self._caption) + 8

    def parts(self, x: float, y: float, head: float) -> Iterator[str]:
        """Return its elements; `head` is the common height of the heads in a row."""
        for number, line in enumerate(self._title, start=1):
            yield _words(x, y + HEAD * number, line, "head")
        at = y + HEAD * len(self._title)
        for row in self._legend:
            at += TEXT
            for shift, colour, words in row:
                place = f'x="{x + shift:g}" y="{at - 8:g}"'
                yield f'<rect class="{colour}" {place} width="9" height="9"/>'
                yield _words(x + shift + 13, at, words, "words")
        drawing = self._plot.drawing
        yield drawing.at(x, y + head)
        for number, line in enumerate(self._caption, start=1):
            yield _words(x, y + head + drawing.height + TEXT * number, line, "words")


def _legend_lines(
    legend: Sequence[tuple[str, str]], width: float
) -> Iterator[list[tuple[float, str, str]]]:
    """Return lines of the legend, filled to the width: the position and text of each colour."""
    line: list[tuple[float, str, str]] = []
    at = 0.0
    for colour, words in legend:
        needed = 13 + LETTER * len(words) + 10
        if line and at + needed > width:
            yield line
            line, at = [], 0.0
        line.append((at, colour, words))
        at += needed
    if line:
        yield line


def _words(x: float, y: float, text: str, name: str) -> str:
    return f'<text class="{name}" x="{x:g}" y="{y:g}">{escape(text)}</text>'


def _wrapped(text: str, letters: float) -> list[str]:
    lines = textwrap.wrap(text, max(8, math.floor(letters)), max_lines=2, placeholder=" …")
    return lines or []


@cache
def _style() -> str:
    """Return the style sheet of drawings, with the pages' light colours for variables."""
    values = dict(
        re.findall(r"--([\w-]+): (?:light-dark\()?(#\w+|[^;{]+?)[,;]", page_part("base.css"))
    )
    values["sans"] = FONTS
    style = page_part("plots.css") + page_part("picture.css")
    style = re.sub(r"/\*.*?\*/", "", style, flags=re.DOTALL)
    style = re.sub(r"\bsvg ", ".picture ", style)  # and no other drawings of a notebook
    return re.sub(r"var\(--([\w-]+)\)", lambda match: values[match[1]], style)
