"""`rubricate compare-pair`."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from rubricate._documents import read_text
from rubricate._terminal import console
from rubricate.analysis import PairSummary
from rubricate.cli._datasets import check_kind, rubric_dataset
from rubricate.cli._judging import cache_folder, print_estimate, print_judged
from rubricate.cli._progress import ProgressView
from rubricate.cli._run_dirs import place_of, run_dir_for
from rubricate.comparing import PAIRS_NAME, acompare_pair_stream, estimate_pair
from rubricate.dataset import Gradable, TableColumns, is_table, open_items
from rubricate.errors import InputError, RunStopped
from rubricate.rubric import Rubric

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

    def arguments(self) -> tuple[str | Gradable, str | Gradable, dict[str, Any]]:
        """The two sides, and the options of `acompare_pair` that go with them.

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
            told: dict[str, Any] = {"rubric": rubric, "reference": reference}
            return texts[0], texts[1], {**told, "prompt": self.prompt or ""}
        columns = TableColumns.parse(self.map or {})
        first, second = (_items(one, rubric, columns) for one in (self.first, self.second))
        return first, second, {"rubric": rubric}

    def _of_one_table(
        self, columns: str, rubric: Rubric | None
    ) -> tuple[Gradable, Gradable, dict[str, Any]]:
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
        return first, second, {"rubric": rubric}

    @property
    def named(self) -> dict[str, Any]:
        """What makes the run another one."""
        texts = self.texts
        return {
            "first": self.first if texts else place_of(self.first),
            "second": self.second if texts else place_of(self.second),
            "rubric": place_of(self.rubric),
            "columns": self.columns,
            "map": self.map,
            "prompt": self.prompt,
            "reference": place_of(self.reference),
        }

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
    check_kind(data)
    if columns.columns or is_table(data):
        if rubric is None:
            raise InputError("a table has no rubric: give --rubric", file=data)
        return open_items(data, rubric, columns)
    found = rubric_dataset(data, rubric)
    try:
        found.survey()
    except InputError as error:
        raise error.within(file=data) from None
    return found


def _asked(options: dict[str, Any]) -> dict[str, Any]:
    """Of the options, those with which a judge would answer anew."""
    names = ("base_url", "temperature", "max_tokens", "replicates")
    return {name: options.get(name) for name in names}


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
    options: dict[str, Any],
) -> int:
    """Compare pairs; returns the exit code."""
    if not judges:
        raise InputError("name a language model: --judge openai/gpt-4.1-mini (see judges)")
    notes = console(stderr=True, quiet=quiet)
    judge = judges[0] if len(judges) == 1 else "panel"
    chosen = run_dir_for(
        run_dir, f"{compared.run_name}-{judge}", judges, compared.named | _asked(options)
    )
    folder = chosen.path
    first, second, arguments = compared.arguments()
    told: dict[str, Any] = {
        **options,
        **arguments,
        "judge": list(judges),
        "limit": limit,
        "run_dir": folder,
        "cache": cache_folder(cache, no_cache),
    }
    if dry_run:
        found = estimate_pair(first, second, **told)
        print_estimate(found, json_output, pairs=found.items // 2)
        return 0
    view, stop = ProgressView(notes), asyncio.Event()
    told["on_progress"] = chosen.begin(view.update, quiet=quiet)
    stream = acompare_pair_stream(first, second, stop=stop, **told)

    async def compared_pairs() -> PairSummary:
        async with stream:
            with contextlib.suppress(RunStopped):  # the summary says why
                async for _ in stream:
                    pass
        return stream.summary()

    return print_judged(
        compared_pairs,
        folder,
        view=view,
        stop=stop,
        json_output=json_output,
        quiet=quiet,
        results=PAIRS_NAME,
    )
