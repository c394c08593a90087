"""Makes text safe for terminals, because other people's text may contain control codes.

Everything that the shell prints passes `clean`: output of `print` and `sys.stderr` through
`CleanStream`, tables and progress through `console`, whose colours are the only codes that remain.
"""

from __future__ import annotations

import re
import sys
from functools import cache
from typing import TYPE_CHECKING, Any, TextIO, cast

if TYPE_CHECKING:
    from collections.abc import Iterable

    from rich.console import Console, ConsoleOptions, RenderableType
    from rich.measure import Measurement
    from rich.segment import Segment
    from rich.text import Text

_HIDING = (
    "\xad\u034f\u061c\u115f\u1160\u17b4\u17b5\u180b-\u180f"
    "\u200b\u200e\u200f\u2028-\u202e\u2060-\u206f\u3164\ufeff\uffa0\ufff0-\ufffb"
    "\U0001bca0-\U0001bca3\U0001d173-\U0001d17a\U000e0000-\U000e00ff\U000e01f0-\U000e0fff"
)
"""Characters that are invisible or change the direction of text."""
_VARIANTS = "\ufe00-\ufe0f\U000e0100-\U000e01ef"
"""Variation selectors: one may follow a character; more of them hide something."""
_JOINERS = "\u200c\u200d"
"""Joiners, which Persian, Hindi, other scripts and emoji need between letters."""
_UNSAFE = re.compile(
    f"[\x00-\x09\x0b-\x1f\x7f-\x9f\ud800-\udfff{_HIDING}]"
    f"|(?<=[{_VARIANTS}])[{_VARIANTS}]"
    f"|(?<![^\x00-\x7f])[{_JOINERS}]|[{_JOINERS}](?![^\x00-\x7f])"
    f"|(?<=[{_JOINERS}])[{_JOINERS}]"
)
FIGURES = 80
"""Minimum width of tables, in columns: a narrower terminal wraps lines but cuts nothing."""
NARROWEST = 40
"""Minimum width of other text, in columns."""
_SHORT = {"\t": "\\t", "\r": "\\r"}


def clean(text: str) -> str:
    """The text with escapes such as `\\u001b` for everything that could affect a terminal.

    These are control characters except the line break, and characters that hide or reverse text.
    The escapes are those of JSON, so JSON keeps its value.
    """
    return text if text.isascii() and text.isprintable() else _UNSAFE.sub(_escape, text)


def one_line(text: str) -> str:
    """The clean text without line breaks, so that it cannot imitate further output."""
    return clean(text).replace("\n", "\\n")


def _escape(match: re.Match[str]) -> str:
    letter = match[0]
    if letter in _SHORT:
        return _SHORT[letter]
    units = letter.encode("utf-16-be", "surrogatepass")
    return "".join(f"\\u{units[at]:02x}{units[at + 1]:02x}" for at in range(0, len(units), 2))


class CleanStream:
    """A text stream that cleans what is written to the stream behind it."""

    def __init__(self, stream: TextIO) -> None:
        self.behind = stream

    def write(self, text: str) -> int:
        """Write text after cleaning it."""
        self.behind.write(clean(text))
        return len(text)

    def writelines(self, lines: Iterable[str]) -> None:
        """Write texts after cleaning them."""
        for line in lines:
            self.write(line)

    def __getattr__(self, name: str) -> Any:
        return getattr(self.behind, name)


class TrimmedStream:
    """A text stream that leaves out the blanks before line ends, with which tables are filled."""

    def __init__(self, stream: TextIO) -> None:
        self.behind, self.encoding = stream, stream.encoding
        self.isatty, self.flush, self.fileno = stream.isatty, stream.flush, stream.fileno

    def write(self, text: str) -> int:
        """Write text without blanks at the ends of its lines."""
        self.behind.write(re.sub(" +\n", "\n", text))
        return len(text)


def console(
    *,
    stderr: bool = False,
    quiet: bool = False,
    file: TextIO | None = None,
    least: int | None = None,
    **options: Any,
) -> Console:
    """A console for tables, styled text and progress, which cleans everything but its own styles.

    Markup (`[red]`) and names of emoji are text like any other.

    Args:
        stderr: print to standard error.
        quiet: print nothing.
        file: print to this file.
        least: minimum width. Default: that of tables; less on standard error.
        options: further options of rich's `Console`.
    """
    stream = file or (sys.stderr if stderr else sys.stdout)
    if isinstance(stream, CleanStream):
        stream = stream.behind
    kind = _console_class()
    made = kind(
        file=stream if stream.isatty() else cast("TextIO", TrimmedStream(stream)),
        stderr=stderr,
        quiet=quiet,
        markup=False,
        emoji=False,
        highlight=False,
        **options,
    )
    if file is None:
        made.width = max(made.width, least or (NARROWEST if stderr else FIGURES))
    return made


class Lines:
    """Text that may have several lines. In other text, line breaks are escaped.

    Args:
        text: the text.
        margin: whether to mark each line with a rule, so that it cannot imitate our output.
    """

    def __init__(self, text: Text, *, margin: bool = False) -> None:
        self._text = text
        self._margin = margin

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> Iterable[Segment]:
        if not self._margin:
            yield from self._text.__rich_console__(console, options)
            return
        from rich.segment import Segment

        narrower = options.update(width=max(1, options.max_width - 2))
        segments = self._text.__rich_console__(console, narrower)
        for line in Segment.split_lines(segments):
            yield Segment("│ ")
            yield from line
            yield Segment.line()

    def __rich_measure__(self, console: Console, options: ConsoleOptions) -> Measurement:
        return self._text.__rich_measure__(console, options)


@cache
def _console_class() -> type[Console]:
    from rich.console import Console
    from rich.text import Text

    class CleanConsole(Console):
        """Cleans every segment that it renders."""

        def render(
            self, renderable: RenderableType, options: ConsoleOptions | None = None
        ) -> Iterable[Segment]:
            if isinstance(renderable, str):
                renderable = one_line(renderable)
            elif isinstance(renderable, Text) and "\n" in renderable.plain:
                renderable = Text("\\n").join(renderable.split("\n", allow_blank=True))
            for segment in super().render(renderable, options):
                if segment.control or not _UNSAFE.search(segment.text):
                    yield segment
                else:
                    yield segment._replace(text=clean(segment.text))

    return CleanConsole


def cleaned(stream: TextIO) -> TextIO:
    """The stream wrapped in a `CleanStream`, unless it is one already."""
    return stream if isinstance(stream, CleanStream) else cast("TextIO", CleanStream(stream))
