"""The texts of the items in a run folder."""

from __future__ import annotations

from pathlib import Path
from typing import BinaryIO, Self

import orjson

from rubricate._files import user_path
from rubricate.errors import InputError
from rubricate.run.results import TEXTS, WRITE_ANEW, ItemTexts


class TextFile:
    """The texts of a run's items; only their positions in the file are kept in memory.

    Raises:
        InputError: the file is damaged.
    """

    def __init__(self, folder: str | Path) -> None:
        self._path = user_path(folder) / "items.jsonl"
        self._places: dict[str, int] = {}
        self._file: BinaryIO | None = None
        if not self._path.exists():  # a run folder from an earlier version
            return
        place = 0
        self._file = self._path.open("rb")
        for number, line in enumerate(self._file, start=1):
            try:
                self._places[orjson.loads(line)["item"]] = place
            except (orjson.JSONDecodeError, KeyError, TypeError, AttributeError):
                self._file.close()
                raise InputError(
                    f"not a line of a run's items; {WRITE_ANEW}", file=self._path, line=number
                ) from None
            place += len(line)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        if self._file is not None:
            self._file.close()

    def get(self, item: str) -> ItemTexts | None:
        """Return the texts of an item; None if the run does not have them."""
        place = self._places.get(item)
        if place is None or self._file is None:
            return None
        self._file.seek(place)
        return TEXTS.validate_json(self._file.readline())
