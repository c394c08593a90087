"""The rows of CSV text.

Most lines are a row each, with cells that stand in quotes as a whole or not at all. Those are cut
by the text's own `split`, several times as quickly as the `csv` module goes through it letter by
letter. Whatever else there is (quotes in quotes, cells of several lines, escapes) goes to it.
"""

from __future__ import annotations

import csv
import itertools
from collections.abc import Iterable, Iterator
from typing import Any

from rubricate.errors import InputError

__all__ = ["numbered_rows"]

QUOTE = '"'


def numbered_rows(text: Iterable[str], options: dict[str, Any]) -> Iterator[tuple[int, list[str]]]:
    """Each row with the line on which it ends, as `csv.reader` gives them.

    Args:
        text: lines with their line ends.
        options: the arguments of `csv.reader`.

    Raises:
        TypeError, ValueError: the options are not a dialect's.
        InputError: a row cannot be read; with its line.
    """
    dialect = csv.reader((), **options).dialect
    if dialect.delimiter == QUOTE or not _is_plain(dialect):
        return _parsed(iter(text), options)
    return _mostly_split(iter(text), dialect.delimiter, options)


def _is_plain(dialect: Any) -> bool:
    return bool(
        dialect.quotechar == QUOTE
        and dialect.doublequote
        and dialect.escapechar is None
        and not dialect.skipinitialspace
        and dialect.quoting in (csv.QUOTE_ALL, csv.QUOTE_MINIMAL)
    )


def _mostly_split(
    lines: Iterator[str], delimiter: str, options: dict[str, Any]
) -> Iterator[tuple[int, list[str]]]:
    number = 0
    for line in lines:
        row = _split(line, delimiter)
        if row is None:
            for used, row in _parsed(itertools.chain((line,), lines), options, number):
                yield used, row
                number = used
                break
        else:
            number += 1
            yield number, row


def _split(line: str, delimiter: str) -> list[str] | None:
    """The cells of a line that is a plain row; None where the `csv` module is needed."""
    text = line[:-1] if line.endswith("\n") else line
    if text.endswith("\r"):
        text = text[:-1]
    if "\r" in text or not text:
        return None
    pieces = text.split(QUOTE)
    if len(pieces) == 1:
        return text.split(delimiter)
    if not len(pieces) % 2:
        return None  # a quote that is not closed on this line
    pieces[0] = delimiter + pieces[0]
    pieces[-1] += delimiter
    cells: list[str] = []
    for index, piece in enumerate(pieces):
        if index % 2:
            cells.append(piece)  # within quotes
        elif piece != delimiter:
            if len(piece) < 2 or piece[0] != delimiter or piece[-1] != delimiter:
                return None  # quotes that do not hold a whole cell
            cells += piece[1:-1].split(delimiter)
    return cells


def _parsed(
    lines: Iterator[str], options: dict[str, Any], before: int = 0
) -> Iterator[tuple[int, list[str]]]:
    """What the `csv` module makes of lines of which the first stands behind line `before`."""
    end = _End()
    reader = csv.reader(itertools.chain(lines, end), **options)
    done = before
    try:
        for row in reader:
            if end.reached:  # it looked for the end of this row where the file ends
                raise InputError(
                    f"a quote that opens in the record that begins on line {done + 1} is not "
                    "closed",
                    line=done + 1,
                )
            done = before + reader.line_num
            yield done, row
    except csv.Error as error:
        raise InputError(str(error), line=before + reader.line_num) from None


class _End:
    """No lines; knows whether a parser has asked for one."""

    reached = False

    def __iter__(self) -> Iterator[str]:
        return self

    def __next__(self) -> str:
        self.reached = True
        raise StopIteration
