"""Files that a reader sees whole or not at all."""

from __future__ import annotations

import os
from pathlib import Path
from types import TracebackType
from typing import BinaryIO

from rubricate.errors import InputError

__all__ = ["Replacement", "not_written"]


class Replacement:
    """A file to be written so that a reader sees the old one or the new one, never half of it.

    What is no ordinary file (`/dev/stdout`, a pipe) is written as it is.

    Raises:
        InputError: it cannot be written.
    """

    def __init__(self, path: Path) -> None:
        self._path = path
        is_plain = path.is_file() or not path.exists()
        self._part = path.with_name(f".{path.name}.{os.getpid()}") if is_plain else None

    def __enter__(self) -> BinaryIO:
        try:
            self._file = (self._part or self._path).open("wb")
        except OSError as error:
            raise not_written(self._path, error) from None
        return self._file

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        try:
            self._file.close()
            if self._part is not None and error is None:
                self._part.replace(self._path)
                return
        except OSError as problem:
            error = problem
        if self._part is not None:
            self._part.unlink(missing_ok=True)
        if isinstance(error, OSError):
            raise not_written(self._path, error) from None


def not_written(path: Path, error: OSError) -> InputError:
    """The error for a file that cannot be written."""
    return InputError(f"cannot be written: {error.strerror}", file=path)
