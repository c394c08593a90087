"""`rubricate compare-pair`."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from rubricate._documents import read_text
from rubricate.cli._judging import cache_folder, named_run_dir, print_judged
from rubricate.comparing import PairOptions, acompare_pair, estimate_pair
from rubricate.dataset import Gradable, RubricDataset, TableColumns, is_table, open_items
from rubricate.errors import InputError
from rubricate.report import PairReport, estimate_figures, estimate_text
from rubricate.rubric import Rubric
from rubricate.run import Progress

__all__ = ["Compared", "compare_pair_command"]

TEXTS = (".txt", ".md", ".markdown", ".text", ".html", ".tex", "")
"""What files of one text end in; others are datasets or tables."""


@dataclass(frozen=True)
class Compared:
    """What is compared; the arguments and options of these names."""

    first: str
    second: str | None
    rubric: str | None
    columns: str | None
    map: str | None
    texts: bool
    prompt: str | None
    reference: str | None

    def arguments(self) -> dict[str, Any]:
        """The arguments of `acompare_pair`.

        Raises:
            InputError: they do not go together, or a file cannot be used.
        """
        rubric = None if self.rubric is None else Rubric.from_file(self.rubric)
        one_text = self.texts or _is_text(self.first)
        if one_text and (self.columns or self.map):
            raise InputError("--columns and --map are for a table; two texts were given")
        if not one_text and (self.prompt or self.reference):
            raise InputError("--prompt and --reference are for two texts; a dataset has its own")
        if self.columns is not None:
            return self._of_one_table(self.columns, rubric)
        if self.second is None:
            raise InputError("name what to compare it with, or two columns of it with --columns")
        if one_text:
            texts = [one if self.texts else _text(one) for one in (self.first, self.second)]
            reference = None if self.reference is None else read_text(self.reference)
            told = {"rubric": rubric, "prompt": self.prompt or "", "reference": reference}
            return {"first": texts[0], "second": texts[1], **told}
        columns = TableColumns.parse(self.map or {})
        first, second = (_items(one, rubric, columns) for one in (self.first, self.second))
        return {"first": first, "second": second, "rubric": rubric}

    def _of_one_table(self, columns: str, rubric: Rubric | None) -> dict[str, Any]:
        names = [name.strip() for name in columns.split(",")]
        if self.second is not None:
            raise InputError("--columns names two columns of one table; two files were given")
        if len(names) != 2 or not all(names) or names[0] == names[1]:
            raise InputError(f"--columns: '{columns}' is not of the form old,new")
        others = TableColumns.parse(self.map or {}).columns
        first, second = (
            _items(self.first, rubric, TableColumns({**others, "submission": name}))
            for name in names
        )
        return {"first": first, "second": second, "rubric": rubric}

    @property
    def run_name(self) -> str:
        """What the run's folder is called, without the judge."""
        if self.texts:
            return "pair"
        second = self.columns or Path(self.second or "").stem
        return f"pair-{Path(self.first).stem}-{second}"


def _is_text(name: str) -> bool:
    return not name.startswith("hf:") and Path(name).suffix.lower() in TEXTS


def _text(name: str) -> str:
    if not _is_text(name):
        raise InputError("a text and a dataset cannot be compared", file=name)
    return read_text(name).rstrip("\n")


def _items(data: str, rubric: Rubric | None, columns: TableColumns) -> Gradable:
    if _is_text(data):
        raise InputError("a dataset and a text cannot be compared", file=data)
    if not columns.columns and not is_table(data):
        return RubricDataset.from_file(data, rubric=rubric)
    if rubric is None:
        raise InputError("a table has no rubric: give --rubric", file=data)
    return open_items(data, rubric, columns)


def compare_pair_command(
    compared: Compared,
    judges: Sequence[str],
    *,
    run_dir: str | None,
    cache: str | None,
    no_cache: bool,
    dry_run: bool,
    limit: int | None,
    json_output: bool,
    quiet: bool,
    options: PairOptions,
) -> int:
    """Compare pairs; returns the exit code."""
    from rich.console import Console

    if not judges:
        raise InputError("name a language model: --judge openai/gpt-4.1-mini (see judges)")
    notes = Console(stderr=True, quiet=quiet)
    judge = judges[0] if len(judges) == 1 else "panel"
    folder = Path(run_dir) if run_dir else named_run_dir(f"{compared.run_name}-{judge}")
    options["run_dir"] = folder
    options["cache"] = cache_folder(cache, no_cache)
    arguments = {**compared.arguments(), "judge": list(judges), "limit": limit}
    if dry_run:
        found = estimate_pair(**arguments, **options)
        print(
            json.dumps(estimate_figures(found), indent=2) if json_output else estimate_text(found)
        )
        return 0

    async def asked(on_progress: Callable[[Progress], None], stop: asyncio.Event) -> PairReport:
        options["on_progress"] = on_progress
        return await acompare_pair(**arguments, stop=stop, **options)

    return print_judged(asked, folder, notes=notes, json_output=json_output, quiet=quiet)
