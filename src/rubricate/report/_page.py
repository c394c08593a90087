"""The page of one run or two runs, as a self-contained file or served."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import ExitStack, closing
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from rubricate._files import Replacement, not_written, user_path
from rubricate._version import __version__
from rubricate.analysis import (
    LOW_CONFIDENCE,
    FinishedRun,
    RunComparison,
    StartedRun,
    TextFile,
    compare_runs,
    read_run,
    scored_alike,
)
from rubricate.errors import InputError, MissingExtraError
from rubricate.report._chunks import Chunks
from rubricate.report._items import PageItems
from rubricate.report._overview import overview_of
from rubricate.report._sent import PageSent
from rubricate.run.results import Conversations, has_journal
from rubricate.stats import Bootstrap
from rubricate.views import STATUSES, as_html, page_part, page_policy, page_templates

ROOM = "rubricate.report"
SCRIPTS = (
    *("data.js", "markdown.js", "differences.js", "grid.js", "csv.js", "item.js", "changes.js"),
    *("served.js", "main.js"),
)
FLIPS = 100
"""The number of changes per chunk."""


@dataclass(frozen=True, slots=True)
class ReportPage:
    """A written report.

    Attributes:
        path: the file.
        items: the number of items.
        size: the size of the file, in bytes.
        has_texts: whether it has the graded texts; run folders from earlier versions do not.
        has_labels: whether the run has labels of people for verdicts of the judge.
        missing: why it has no prompts and replies although the run has a journal.
    """

    path: Path
    items: int
    size: int
    has_texts: bool
    has_labels: bool
    missing: str | None = None


@dataclass(frozen=True, slots=True)
class PageData:
    """The data of the page of a run.

    Attributes:
        run: the run.
        comparison: the comparison with another run, if any.
        chunks: the data for the script.
        items: the items with their entries.
        missing: why it has no prompts and replies although the run has a journal.
    """

    run: FinishedRun
    comparison: RunComparison | None
    chunks: Chunks
    items: PageItems
    missing: str | None

    @classmethod
    def of(
        cls, run: FinishedRun, other: FinishedRun | None = None, journal: str | None = None
    ) -> PageData:
        """Read the items of a run, keeping only the verdicts in memory.

        Args:
            run: the run.
            other: another run, whose verdicts and texts are shown, too.
            journal: the database with the run's prompts and replies, if the user names it.

        Raises:
            InputError: a file is missing or damaged, or the runs have nothing in common.
        """
        comparison = pairs = sent = missing = texts = None
        _ = run.rows  # read once, for items and figures
        chunks = Chunks()
        try:
            with ExitStack() as stack:
                if other is not None:
                    comparison = compare_runs(run, other)
                    pairs = {(p.a.item, p.a.criterion): p for p in scored_alike(run, other).pairs}
                    texts = stack.enter_context(TextFile(other.path))
                try:
                    sent = PageSent(stack.enter_context(Conversations(run.path, journal)))
                except (InputError, MissingExtraError) as error:
                    # a folder without its journal has a page, too
                    if journal is not None:
                        raise
                    if has_journal(run.path):
                        missing = str(error)
                items = PageItems(chunks, pairs, texts, sent)
                for item in run.items:
                    items.add(item, run.rubric_of(item.item))
                items.flush()
            for name, data in _index(items, comparison):
                chunks.add(name, data)
        except BaseException:
            chunks.close()
            raise
        return cls(run, comparison, chunks, items, missing)

    def html(self, bootstrap: Bootstrap, served: Mapping[str, Any] | None = None) -> str:
        """The page, with `MARK` in place of its data.

        Args:
            bootstrap: the settings of bootstrap intervals.
            served: further data for a served page, such as the run with its current labels; None
                for a file.
        """
        run = self.run if served is None else served["labelled"]
        script, style, comparison = page_script(*SCRIPTS), page_style(), self.comparison
        tables = []
        if comparison is not None:
            tables = [replace(comparison.table, title=None), *comparison.part_tables]
        return (
            page_templates(ROOM)
            .get_template("report.html.jinja")
            .render(
                overview=None if isinstance(run, StartedRun) else overview_of(run, bootstrap),
                run=run,
                comparison=comparison,
                tables=[as_html([table]) for table in tables],
                has_texts=self.items.has_texts,
                low_confidence=LOW_CONFIDENCE,
                statuses=STATUSES,
                version=__version__,
                served=served,
                policy=page_policy(script, style) if served is None else None,
                script=script,
                style=style,
                mark=MARK,
            )
        )


MARK = "<!-- data -->"
"""The place of the data in a file."""


def page_script(*names: str) -> str:
    """The script of a page: the shared part and the named parts."""
    return page_part("base.js") + "".join(page_part(name, ROOM) for name in names)


def page_style() -> str:
    """Return the style sheet of the pages."""
    return page_part("base.css") + page_part("plots.css") + page_part("report.css", ROOM)


def write_report(
    run: str | Path,
    output: str | Path | None = None,
    *,
    compare: str | Path | None = None,
    journal: str | None = None,
    bootstrap: Bootstrap | None = None,
) -> ReportPage:
    """Write a finished run as one HTML file that loads nothing from anywhere.

    Args:
        run: the run folder.
        output: the file. Default: `report.html` in the run folder.
        compare: another run folder, whose verdicts and texts are shown, too.
        journal: the database with the run's prompts and replies, for a folder from somebody else.
            Default: the one noted in the folder, if you have named that server before.
        bootstrap: the settings of bootstrap intervals. Default: 2,000 resamples, 95 %.

    Raises:
        InputError: a folder is not a finished run, or the file cannot be written.
    """
    finished = read_run(run)
    path = finished.path / "report.html" if output is None else user_path(output)
    try:
        data = PageData.of(finished, None if compare is None else read_run(compare), journal)
        with closing(data.chunks):
            before, _, after = data.html(bootstrap or Bootstrap()).rpartition(MARK)
            with Replacement(path) as page:
                page.write(before.encode("utf-8", "replace"))
                page.writelines(data.chunks.elements())
                page.write(after.encode("utf-8", "replace"))
    except OSError as error:
        raise not_written(path, error) from None
    items, size = data.items, path.stat().st_size
    has_labels = finished.summary.get("agreement") is not None
    return ReportPage(path, len(items.entries), size, items.has_texts, has_labels, data.missing)


def _index(items: PageItems, comparison: RunComparison | None) -> Iterator[tuple[str, Any]]:
    """Yield the other data of the page: the grid, and the changes (flips, then one-sided ones)."""
    changes = [] if comparison is None else [*comparison.flips, *comparison.one_sided]
    for start in range(0, len(changes), FLIPS):
        rows = [
            [f.item, f.criterion_a, f.a, f.b, f.reason_a, f.reason_b, f.human_label]
            for f in changes[start : start + FLIPS]
        ]
        yield f"flips-{start // FLIPS}", rows
    yield (
        "index",
        {
            "entries": items.entries,
            "criteria": list(items.criteria),
            "answers": items.answers,
            "labels": list(items.labels),
            "flips": [[f.item, f.criterion_a, f.a, f.b] for f in changes],
            "changed": 0 if comparison is None else len(comparison.flips),
            "flips_in_chunk": FLIPS,
        },
    )
