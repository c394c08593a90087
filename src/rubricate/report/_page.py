"""`report.html`: a run, or two of them, as one page that needs nothing beside it."""

from __future__ import annotations

import base64
import hashlib
import os
import shutil
import tempfile
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache
from importlib.resources import files
from pathlib import Path
from typing import IO, TYPE_CHECKING, Any

from rubricate._version import __version__
from rubricate.errors import InputError
from rubricate.report._comparison import RunComparison, compare_runs
from rubricate.report._confidence import LOW_CONFIDENCE, differs_from_label
from rubricate.report._page_items import PageItems, chunk_element
from rubricate.report._page_overview import Measured, overview_of
from rubricate.run import FinishedItem, FinishedRun, finished_items, read_run
from rubricate.stats import Bootstrap, Estimate

if TYPE_CHECKING:
    from jinja2 import Environment

__all__ = ["ReportPage", "page_part", "page_policy", "page_templates", "write_report"]

FLIPS = 100
"""Changed verdicts in a chunk."""


@dataclass(frozen=True, slots=True)
class ReportPage:
    """A report that was written.

    Attributes:
        path: the file.
        items: items in it.
        size: its bytes.
        has_texts: whether it has the texts that were judged; a run folder of an earlier version
            does not have them.
    """

    path: Path
    items: int
    size: int
    has_texts: bool


def write_report(
    run: str | Path,
    output: str | Path | None = None,
    *,
    compare: str | Path | None = None,
    bootstrap: Bootstrap | None = None,
) -> ReportPage:
    """Write a finished run as one HTML file that loads nothing from anywhere.

    Items are read and packed one after the other; of the run only the verdicts are held.

    Args:
        run: the run folder.
        output: the file. Default: `report.html` in the run folder.
        compare: another run folder, whose verdicts are shown beside those that differ.
        bootstrap: how bootstrap intervals are made. Default: 2,000 resamples, 95 %.

    Raises:
        InputError: a folder is no finished run, or the file cannot be written.
    """
    bootstrap = bootstrap or Bootstrap()
    found = read_run(run)
    comparison = None if compare is None else compare_runs(found, read_run(compare))
    path = found.path / "report.html" if output is None else Path(output)
    part = path.with_name(f".{path.name}.{os.getpid()}")
    try:
        with tempfile.TemporaryFile() as chunks:
            items, measured = PageItems(chunks, comparison), Measured([], [], [])
            for item in finished_items(found.path):
                items.add(item, found.rubric_of(item.id))
                _measure(found, item, measured)
            items.flush()
            overview = overview_of(found, measured, bootstrap)
            with part.open("wb") as page:
                _compose(page, chunks, found, items, comparison, {"overview": overview})
        part.replace(path)
    except OSError as error:
        raise InputError(f"cannot be written: {error.strerror}", file=path) from None
    finally:
        part.unlink(missing_ok=True)
    return ReportPage(path, len(items.entries), path.stat().st_size, items.has_texts)


def _measure(run: FinishedRun, item: FinishedItem, measured: Measured) -> None:
    rubric = run.rubric_of(item.id)
    known = dict(zip(rubric.names, rubric, strict=True))
    for row in item.rows:
        measured.seconds.append(row["usage"]["seconds"])
        decided = row["status"] == "judged" and row["human_value"] is not None
        differs = differs_from_label(known[row["criterion"]], row)
        measured.probabilities.append(row["probability"])
        measured.right.append(not differs if decided else None)


def _compose(
    page: IO[bytes],
    chunks: IO[bytes],
    run: FinishedRun,
    items: PageItems,
    comparison: RunComparison | None,
    context: dict[str, Any],
) -> None:
    script = page_part("base.js") + page_part("report.js")
    style = page_part("base.css") + page_part("report.css")
    mark = "<!-- data -->"
    text = (
        page_templates()
        .get_template("report.html.jinja")
        .render(
            **context,
            run=run,
            comparison=comparison,
            has_texts=items.has_texts,
            low_confidence=LOW_CONFIDENCE,
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
    """The page's other data: what the list shows, and what flipped."""
    flips = [] if comparison is None else comparison.flips
    for start in range(0, len(flips), FLIPS):
        rows = [
            [f.item, f.criterion, f.a, f.b, f.reason_a, f.reason_b, f.human_label]
            for f in flips[start : start + FLIPS]
        ]
        yield f"flips-{start // FLIPS}", rows
    yield (
        "index",
        {
            "entries": items.entries,
            "criteria": list(items.criteria),
            "labels": list(items.labels),
            "flips": [[f.item, f.criterion, f.a, f.b] for f in flips],
            "flips_in_chunk": FLIPS,
        },
    )


@cache
def page_part(name: str, room: str = "rubricate.report") -> str:
    """A file of the folder `page` of a room."""
    return (files(room) / "page" / name).read_text("utf-8")


def page_policy(script: str, style: str, connect: str = "'none'") -> str:
    """A Content-Security-Policy under which this script and this style count, and nothing else.

    Args:
        script, style: the text of the page's only script and only style sheet.
        connect: where the script may send requests.
    """
    return (
        f"default-src 'none'; script-src '{_hash(script)}'; style-src '{_hash(style)}'; "
        f"connect-src {connect}; base-uri 'none'; form-action 'none'"
    )


def _hash(text: str) -> str:
    return "sha256-" + base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()


@cache
def page_templates(room: str = "rubricate.report") -> Environment:
    """The templates in the folder `page` of a room; what they are given is escaped."""
    from jinja2 import Environment, PackageLoader, StrictUndefined

    found = Environment(
        loader=PackageLoader(room, "page"),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    found.filters.update(figure=_figure, interval=_interval, dollars=_dollars, duration=_duration)
    return found


def _figure(value: float | None, digits: int = 2, sign: bool = False) -> str:
    return "–" if value is None else f"{value:{'+' if sign else ''}.{digits}f}"


def _interval(estimate: Estimate, digits: int = 2, sign: bool = False) -> str:
    if estimate.low is None or estimate.high is None:
        return ""
    plus = "+" if sign else ""
    return f"{estimate.low:{plus}.{digits}f} to {estimate.high:{plus}.{digits}f}"


def _dollars(cost: float | None) -> str:
    if cost is None:
        return "unknown"
    return f"${cost:.2f}" if cost >= 1 or cost == 0 else f"${cost:.4f}"


def _duration(seconds: float) -> str:
    minutes, rest = divmod(seconds, 60)
    if seconds < 60:
        return f"{seconds:.1f} s"
    hours, minutes = divmod(int(minutes), 60)
    return f"{hours} h {minutes} min" if hours else f"{minutes} min {rest:.0f} s"
