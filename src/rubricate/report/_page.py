"""The page of a run, or of two of them: as one file that needs nothing beside it, or served."""

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
    *("data.js", "markdown.js", "differences.js", "grid.js", "item.js", "changes.js", "served.js"),
    "main.js",
)
FLIPS = 100
"""Changes in a chunk."""


@dataclass(frozen=True, slots=True)
class ReportPage:
    """A report that was written.

    Attributes:
        path: the file.
        items: items in it.
        size: its bytes.
        has_texts: whether it has the texts that were judged; a run folder of an earlier version
            does not have them.
        missing: why it has no prompts and replies although the run has a journal.
    """

    path: Path
    items: int
    size: int
    has_texts: bool
    missing: str | None = None


@dataclass(frozen=True, slots=True)
class PageData:
    """What the page of a run is made of.

    Attributes:
        run: the run.
        comparison: with another run; None without one.
        chunks: what its script reads.
        items: the items' entries.
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
        """Read a run's items; of the run only the verdicts are held.

        Args:
            run: the run.
            other: another one, whose verdicts and texts are shown beside those of `run`.
            journal: the database that has the run's prompts and replies, where the user names it.

        Raises:
            InputError: a file is missing or damaged, or the runs have nothing in common.
        """
        comparison = pairs = sent = missing = texts = None
        _ = run.rows  # read once: items and figures are made of the same
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
                    # a folder without its journal has a page all the same
                    if journal is not None:
                        raise
                    if has_journal(run.path):
                        missing = str(error)
                items = PageItems(chunks, pairs, texts, sent)
                for item in run.items():
                    items.add(item, run.rubric_of(item.item))
                items.flush()
            for name, data in _index(items, comparison):
                chunks.add(name, data)
        except BaseException:
            chunks.close()
            raise
        return cls(run, comparison, chunks, items, missing)

    def html(self, bootstrap: Bootstrap, served: Mapping[str, Any] | None = None) -> str:
        """The page, with a mark where a file has its data.

        Args:
            bootstrap: how bootstrap intervals are made.
            served: what the page of a server says of itself, and the run with the labels of now;
                None for a file.
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
"""Where a file has its data."""


def page_script(*names: str) -> str:
    """The script of a page: what all pages share, and these parts."""
    return page_part("base.js") + "".join(page_part(name, ROOM) for name in names)


def page_style() -> str:
    """The style sheet of the pages."""
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
        compare: another run folder, whose verdicts and texts are shown beside those of `run`.
        journal: the database that has the run's prompts and replies, for a folder that somebody
            else has made. Default: as the folder notes it, if you have named that server before.
        bootstrap: how bootstrap intervals are made. Default: 2,000 resamples, 95 %.

    Raises:
        InputError: a folder is no finished run, or the file cannot be written.
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
    items = data.items
    return ReportPage(path, len(items.entries), path.stat().st_size, items.has_texts, data.missing)


def _index(items: PageItems, comparison: RunComparison | None) -> Iterator[tuple[str, Any]]:
    """The page's other data: what the grid shows, and what changed: flips, then the one-sided."""
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
