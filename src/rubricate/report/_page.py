"""`report.html`: a run, or two of them, as one page that needs nothing beside it."""

from __future__ import annotations

import shutil
import tempfile
from array import array
from collections.abc import Iterator
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path
from typing import IO, Any

from rubricate._files import Replacement, not_written, user_path
from rubricate._version import __version__
from rubricate.analysis import (
    LOW_CONFIDENCE,
    FinishedRun,
    RunComparison,
    SubmissionFile,
    compare_runs,
    read_run,
)
from rubricate.errors import InputError, MissingExtraError
from rubricate.report._items import PageItems, chunk_element
from rubricate.report._overview import overview_of
from rubricate.report._sent import PageSent
from rubricate.run.results import Conversations, has_journal
from rubricate.stats import Bootstrap
from rubricate.views import STATUSES, as_html, page_part, page_policy, page_templates

ROOM = "rubricate.report"
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


def write_report(
    run: str | Path,
    output: str | Path | None = None,
    *,
    compare: str | Path | None = None,
    journal: str | None = None,
    bootstrap: Bootstrap | None = None,
) -> ReportPage:
    """Write a finished run as one HTML file that loads nothing from anywhere.

    Items are read and packed one after the other; of the run only the verdicts are held.

    Args:
        run: the run folder.
        output: the file. Default: `report.html` in the run folder.
        compare: another run folder, whose verdicts and texts are shown beside those that differ.
        journal: the database that has the run's prompts and replies, for a folder that somebody
            else has made. Default: as the folder notes it, if you have named that server before.
        bootstrap: how bootstrap intervals are made. Default: 2,000 resamples, 95 %.

    Raises:
        InputError: a folder is no finished run, or the file cannot be written.
    """
    bootstrap = bootstrap or Bootstrap()
    finished = read_run(run)
    comparison = None if compare is None else compare_runs(finished, read_run(compare))
    path = finished.path / "report.html" if output is None else user_path(output)
    try:
        with tempfile.TemporaryFile() as chunks, ExitStack() as stack:
            sent = missing = None
            try:
                sent = PageSent(stack.enter_context(Conversations(finished.path, journal)))
            except (InputError, MissingExtraError) as error:
                # a folder without its journal has a page all the same
                if journal is not None:
                    raise
                if has_journal(finished.path):
                    missing = str(error)
            texts = None
            if compare is not None:
                texts = stack.enter_context(SubmissionFile(compare))
            items, waited = PageItems(chunks, comparison, texts, sent), array("d")
            for item in finished.items():
                items.add(item, finished.rubric_of(item.item))
                waited.extend(row.usage.seconds for row in item.rows)
            items.finish()
            overview = overview_of(finished, waited, bootstrap)
            with Replacement(path) as page:
                _compose(page, chunks, finished, items, comparison, {"overview": overview})
    except OSError as error:
        raise not_written(path, error) from None
    return ReportPage(path, len(items.entries), path.stat().st_size, items.has_texts, missing)


def _compose(
    page: IO[bytes],
    chunks: IO[bytes],
    run: FinishedRun,
    items: PageItems,
    comparison: RunComparison | None,
    context: dict[str, Any],
) -> None:
    script = page_part("base.js") + page_part("report.js", ROOM)
    style = page_part("base.css") + page_part("plots.css") + page_part("report.css", ROOM)
    mark = "<!-- data -->"
    text = (
        page_templates(ROOM)
        .get_template("report.html.jinja")
        .render(
            **context,
            run=run,
            comparison=comparison,
            parts=[as_html([table]) for table in comparison.part_tables] if comparison else [],
            has_texts=items.has_texts,
            low_confidence=LOW_CONFIDENCE,
            statuses=STATUSES,
            version=__version__,
            policy=page_policy(script, style),
            script=script,
            style=style,
            mark=mark,
        )
    )
    before, _, after = text.rpartition(mark)
    page.write(before.encode("utf-8", "replace"))
    chunks.seek(0)
    shutil.copyfileobj(chunks, page)
    for name, data in _index(items, comparison):
        page.writelines(chunk_element(name, data))
    page.write(after.encode("utf-8", "replace"))


def _index(items: PageItems, comparison: RunComparison | None) -> Iterator[tuple[str, Any]]:
    """The page's other data: what the list shows, and what changed: flips, then the one-sided."""
    changes = [] if comparison is None else [*comparison.flips, *comparison.one_sided]
    for start in range(0, len(changes), FLIPS):
        rows = [
            [f.item, f.criterion, f.a, f.b, f.reason_a, f.reason_b, f.human_label]
            for f in changes[start : start + FLIPS]
        ]
        yield f"flips-{start // FLIPS}", rows
    yield (
        "index",
        {
            "entries": items.entries,
            "criteria": list(items.criteria),
            "labels": list(items.labels),
            "flips": [[f.item, f.criterion] for f in changes],
            "changed": 0 if comparison is None else len(comparison.flips),
            "flips_in_chunk": FLIPS,
        },
    )
