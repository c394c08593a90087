"""`rubricate compare-pair`."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from rubricate._documents import read_text
from rubricate._terminal import console
from rubricate.analysis import PairSummary
from rubricate.choosing import chosen_rubric
from rubricate.cli._commands import command
from rubricate.cli._ending import READ, ExitCode, print_next
from rubricate.cli._judging import (
    Shell,
    print_estimate,
    print_judged,
    shared_places,
)
from rubricate.cli._run_dirs import OnProgress, place_of, run_dir_for
from rubricate.comparing import PAIRS_NAME, PairOptions, estimate_pair, stream_of_pairs
from rubricate.dataset import Gradable, ItemTable, RubricDataset, TableColumns, open_dataset
from rubricate.errors import InputError, RunStopped, errors_within
from rubricate.judge import SAMPLING
from rubricate.settings import option, part

if TYPE_CHECKING:
    from rubricate.options import Columns, RubricLike

TEXTS = (".txt", ".md", ".markdown", ".text", ".html", ".tex", "")
"""The suffixes of files with one text; others are datasets or tables."""


class PairSettings(Shell, PairOptions, group="What is graded"):
    """The options of `rubricate compare-pair`."""

    first: str = option(
        "", "A text file, or a dataset or table with an answer in each item.", is_argument=True
    )
    second: str | None = option(
        None,
        "The same for the other side; not needed with --columns.",
        is_argument=True,
    )
    columns: str | None = option(
        None,
        "The two columns of one table that have the submissions: old,new.",
        common=True,
    )
    texts: bool = option(False, "The arguments are the two texts themselves, not files.")
    judge: Sequence[str] = option(
        (),
        "A language model: openai/gpt-6-luna, ... Given several times, they vote.",
        group="Who judges",
        common=True,
    )

    def sides(self) -> tuple[str | Gradable, str | Gradable]:
        """Read both sides.

        Raises:
            InputError: they do not fit together, or a file cannot be used.
        """
        one_text = self.texts or _is_text(self.first)
        if one_text and (self.columns or self.map):
            raise InputError("--columns and --map are for a table; two texts were given")
        if not one_text and (self.prompt or self.reference):
            raise InputError("--prompt and --reference are for two texts; a dataset has its own")
        if self.columns is not None:
            return self._of_one_table(self.columns)
        if self.second is None:
            raise InputError("name what to compare it with, or two columns of it with --columns")
        if one_text:
            first, second = (
                side if self.texts else _text(side) for side in (self.first, self.second)
            )
            return first, second
        first_items, second_items = (
            _items(side, self.rubric, self.map) for side in (self.first, self.second)
        )
        return first_items, second_items

    def _of_one_table(self, columns: str) -> tuple[Gradable, Gradable]:
        names = [name.strip() for name in columns.split(",")]
        if self.second is not None:
            raise InputError("--columns names two columns of one table; two files were given")
        if len(names) != 2 or not all(names) or names[0] == names[1]:
            raise InputError(f"--columns: '{columns}' is not of the form old,new")
        mapped = TableColumns.parse(self.map or {})
        others = {**mapped.columns, "ignore": mapped.ignore}
        first, second = (
            _items(self.first, self.rubric, {**others, "submission": name}) for name in names
        )
        return first, second

    @property
    def named(self) -> dict[str, Any]:
        """The options that distinguish this run from others."""
        raw, texts = self.raw, self.texts
        return {
            "command": "compare-pair",
            "first": self.first if texts else place_of(self.first),
            "second": self.second if texts else place_of(self.second),
            "rubric": place_of(raw.get("rubric")),
            "columns": self.columns,
            "map": self.map,
            "prompt": raw.get("prompt"),
            "reference": place_of(self.reference),
            # options that change the answers of a judge
            "base_url": self.base_url,
            **{name: raw.get(name) for name in SAMPLING},
            "replicates": raw.get("replicates"),
        }

    @property
    def run_name(self) -> str:
        """The name of the run folder, without the judge."""
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


def _items(data: str, rubric: RubricLike | None, columns: Columns | None) -> Gradable:
    if _is_text(data):
        raise InputError("a dataset and a text cannot be compared", file=data)
    chosen = None if rubric is None else chosen_rubric(rubric)
    dataset = open_dataset(data, chosen, columns)
    if isinstance(dataset, RubricDataset):
        with errors_within(file=data):
            dataset.survey()
    return dataset


@command(
    PairSettings,
    defaults={"run_dir": "runs/pair-A-B-JUDGE", "cache": "the user's cache folder"},
)
def compare_pair(settings: PairSettings) -> int:
    """Ask which of two submissions is better, in both orders.

    Each criterion is asked about by itself. Answers that differ between the orders are a tie.
    """
    judges = list(settings.judge)
    if not judges:
        raise InputError(
            "name a language model: --judge openai/gpt-6-luna (rubricate judges lists them)"
        )
    judge = judges[0] if len(judges) == 1 else "panel"
    run_name = f"{settings.run_name}-{judge}"
    chosen = run_dir_for(settings, run_name, judges, settings.named)
    first, second = settings.sides()
    reference = settings.reference
    options = replace(
        part(PairOptions, settings),
        reference=None if reference is None else read_text(reference),
        run_dir=chosen.path,
        **shared_places(settings),
    )
    if settings.dry_run:
        estimated = estimate_pair(first, second, **vars(options))
        print_estimate(estimated, settings.json_output, pairs=estimated.items // 2)
        return 0
    if isinstance(first, ItemTable) and not any(item.prompt for item in first.to_grade(1)):
        console(stderr=True, quiet=settings.quiet).print(
            f"No column of {settings.first} is the prompt: the judge does not see the task. "
            "Name it: --map prompt=COLUMN",
            soft_wrap=True,
        )

    async def compared_pairs(on_progress: OnProgress, stop: asyncio.Event) -> PairSummary:
        running = options.changed(on_progress=on_progress)
        stream = stream_of_pairs(first, second, running, stop)
        async with stream:
            with contextlib.suppress(RunStopped):  # the summary shows the reason
                async for _ in stream:
                    pass
        return stream.summary()

    code = print_judged(compared_pairs, chosen, settings, PAIRS_NAME)
    if code == ExitCode.FINE:
        print_next(READ, settings, run=chosen.path)
    return code
