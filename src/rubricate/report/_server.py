"""The server of `rubricate view`: runs, items, comparisons and labelling, on this machine."""

from __future__ import annotations

import asyncio
import os
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, TypeVar
from urllib.parse import urlencode

from aiohttp import web

from rubricate._files import user_path
from rubricate.analysis import (
    FinishedRun,
    ListedRun,
    RunList,
    agreement_report,
    list_runs,
    read_run,
    read_started,
    run_folders,
)
from rubricate.errors import InputError
from rubricate.report._chunks import packed
from rubricate.report._labels import RunLabels
from rubricate.report._overview import NOTHING
from rubricate.report._page import ROOM, SCRIPTS, PageData, page_script, page_style
from rubricate.run.results import has_journal
from rubricate.stats import Bootstrap
from rubricate.views import (
    Drawing,
    PageServer,
    Table,
    ends,
    figure,
    json_fields,
    json_response,
    number_help,
    page_response,
    page_templates,
    timeline,
)

RESAMPLES = 200
"""Resamples for intervals that are updated while somebody labels; a page starts with 2,000."""
HELD = 4
"""The number of pages with data in the cache; each has a file of some megabytes."""
REST = 4.0
"""A run in progress is not read again before this multiple of the time that reading took. At half,
reading uses a third of a core; at double, a page of 10,000 items lags by minutes."""
FILES = ("summary.json", "results.jsonl", "items.jsonl", "rubric.yaml")
_T = TypeVar("_T")


@dataclass(slots=True)
class _Page:
    """The data of a page, and the state of the files when they were read."""

    data: PageData
    labels: RunLabels | None
    state: tuple[Any, ...]
    version: int
    ended: bool
    next_look: float


class ViewServer(PageServer):
    """Serve the pages of a run, or of all runs in a folder, until it is closed.

    Args:
        path: a run folder, or a folder of run folders.
        compare: another run folder, to compare with the run.
        journal: the database with the run's prompts and replies, if the user names it.
        labels: the dataset file for labels. Default: `labelled.json` in the run folder.
        annotator: the name for labels.
        port: the port to listen on. Default: a free one.

    Raises:
        InputError: there is no run, or the file of labels has other items.
    """

    def __init__(
        self,
        path: str | Path,
        *,
        compare: str | Path | None = None,
        journal: str | None = None,
        labels: str | Path | None = None,
        annotator: str = "",
        port: int = 0,
    ) -> None:
        super().__init__(port)
        self._top = user_path(path)
        self._journal = journal
        self._labels_file = labels
        self._annotator = annotator
        self._pages: dict[tuple[str, str], _Page] = {}
        self._versions = 0
        self._working = asyncio.Lock()
        self._single = has_journal(self._top) or (self._top / "summary.json").exists()
        self._folders = {self._top.name: self._top} if self._single else {}
        self._first = {"run": self._top.name}
        if not self._single and (compare or journal or labels):
            raise InputError(
                "--compare, --journal and --labels are of one run: name its folder", file=self._top
            )
        if compare is not None:
            other = user_path(compare)
            name = str(other) if other.name == self._top.name else other.name
            self._folders[name] = other
            self._first["compare"] = name
        if self._single:
            self._read(self._first["run"], self._first.get("compare", ""))
        else:
            list_runs(self._top)

    def _routes(self) -> Sequence[web.RouteDef]:
        return [
            web.get("/{token}/", self._start),
            web.get("/{token}/run", self._page),
            web.get("/{token}/data", self._data),
            web.get("/{token}/state", self._state),
            web.get("/{token}/agreement", self._agreement),
            web.post("/{token}/label", self._label),
        ]

    async def __aexit__(self, *error: object) -> None:
        await super().__aexit__(*error)
        for shown in self._pages.values():
            shown.data.chunks.close()

    async def _in_thread(self, work: Callable[..., _T], *arguments: Any) -> _T:
        """Run work on files in a thread, one at a time, because it changes the cache."""
        async with self._working:
            return await asyncio.to_thread(work, *arguments)

    # Reading folders

    def _folder(self, name: str) -> Path:
        """A run folder by its name in the pages; no other folder is accessible."""
        if name not in self._folders and not self._single:
            self._folders = {
                os.path.relpath(path, self._top): Path(path) for path in run_folders(self._top)
            }
        if name not in self._folders:
            raise InputError(f"there is no run '{name}'", file=self._top)
        return self._folders[name]

    def _read(self, name: str, other: str = "") -> _Page:
        """The data of a page, read again if the run has changed."""
        shown = self._pages.pop((name, other), None)
        folders = [self._folder(run) for run in ((name, other) if other else (name,))]
        state = tuple(_state(folder / file) for folder in folders for file in FILES)
        changed = shown is None or state != shown.state
        if shown is not None and (not changed or time.monotonic() < shown.next_look):
            self._pages[name, other] = shown
            return shown
        if shown is not None:
            shown.data.chunks.close()
        began = time.monotonic()
        ended = (folders[0] / "summary.json").exists() or not has_journal(folders[0])
        run: FinishedRun = read_run(folders[0]) if ended else read_started(folders[0])
        run = replace(run, labels=None)  # labels change while the page is open
        data = PageData.of(run, read_run(folders[1]) if other else None, self._journal)
        labels = RunLabels(run, self._labels_file) if ended else None
        self._versions += 1
        now = time.monotonic()
        next_look = now if ended else now + REST * (now - began)
        shown = _Page(data, labels, state, self._versions, ended, next_look)
        self._pages[name, other] = shown
        while len(self._pages) > HELD:
            self._pages.pop(next(iter(self._pages))).data.chunks.close()
        return shown

    # Pages

    async def _start(self, request: web.Request) -> web.StreamResponse:
        if self._single:
            raise web.HTTPFound(f"run?{urlencode(self._first)}")
        return await self._list()

    async def _list(self, problem: InputError | None = None) -> web.StreamResponse:
        """The list of runs, with a problem if another page cannot be shown."""
        script, style = page_script("runs.js"), page_style()
        text = await self._in_thread(self._runs_text, problem, script, style)
        response = page_response(text, script, style)
        response.set_status(200 if problem is None else 409)
        return response

    def _runs_text(self, problem: InputError | None, script: str, style: str) -> str:
        listed = RunList(str(self._top), ()) if self._single else list_runs(self._top)
        table = next((part for part in listed.sections() if isinstance(part, Table)), None)
        return (
            page_templates(ROOM)
            .get_template("runs.html.jinja")
            .render(
                folder=self._top,
                problem=problem,
                table=table,
                help=number_help(column.heading for column in table.columns) if table else "",
                runs=listed.runs,
                timelines=_timelines(listed.runs),
                address=_address,
                script=script,
                style=style,
            )
        )

    async def _page(self, request: web.Request) -> web.StreamResponse:
        try:
            text = await self._in_thread(self._page_text, *_names(request))
        except InputError as error:
            return await self._list(error)
        return page_response(text, page_script(*SCRIPTS), page_style())

    def _page_text(self, name: str, other: str) -> str:
        shown = self._read(name, other)
        served = {
            "query": urlencode({"run": name, **({"compare": other} if other else {})}),
            "version": shown.version,
            "continues": not shown.ended,
            "labelled": shown.data.run if shown.labels is None else shown.labels.run,
            "labels": None if shown.labels is None else shown.labels.path,
            "annotator": self._annotator,
            "has_list": not self._single,
        }
        return shown.data.html(Bootstrap(), served)

    async def _data(self, request: web.Request) -> web.StreamResponse:
        name, version = request.query.get("name", ""), request.query.get("version", "")
        data = await self._in_thread(self._chunk, *_names(request), name, version)
        return web.Response(body=data, content_type="application/octet-stream")

    def _chunk(self, name: str, other: str, chunk: str, version: str) -> bytes:
        shown = self._pages.get((name, other)) or self._read(name, other)
        if version != str(shown.version):
            raise InputError("the run has changed: open the page again")
        if chunk == "labels":
            return packed({} if shown.labels is None else shown.labels.shown())
        data = shown.data.chunks.get(chunk)
        if data is None:
            raise web.HTTPNotFound
        return data

    async def _state(self, request: web.Request) -> web.StreamResponse:
        shown = await self._in_thread(self._read, *_names(request))
        return json_response({"version": shown.version, "ended": shown.ended})

    async def _agreement(self, request: web.Request) -> web.StreamResponse:
        shown = await self._in_thread(self._read, *_names(request))
        return json_response(await asyncio.to_thread(self._agreement_of, shown))

    @staticmethod
    def _agreement_of(shown: _Page) -> dict[str, Any]:
        run = shown.data.run if shown.labels is None else shown.labels.run
        if all(row.human_label is None for row in run.rows):
            return {"n": 0}
        report = agreement_report(run, bootstrap=Bootstrap(resamples=RESAMPLES), bootstrapped=0)
        accuracy, kappa, n = report.whole
        return {
            "n": n,
            "accuracy": figure(accuracy.value),
            "accuracy_interval": ends(accuracy.low, accuracy.high),
            "kappa": figure(kappa.value),
        }

    async def _label(self, request: web.Request) -> web.StreamResponse:
        names = "run", "item", "criterion", "annotator", "reason"
        fields = await json_fields(request, *names)
        return json_response(await self._in_thread(self._decide, fields))

    def _decide(self, fields: dict[str, Any]) -> Any:
        shown = self._read(fields["run"], str(fields.get("compare") or ""))
        if shown.labels is None:
            raise InputError("labels can be given when the run has ended")
        label, reason = fields.get("label"), fields["reason"]
        return shown.labels.decide(
            fields["annotator"], fields["item"], fields["criterion"], label, reason
        )


def _names(request: web.Request) -> tuple[str, str]:
    """The run of a request, and the other run, if any."""
    return request.query.get("run", ""), request.query.get("compare", "")


def _state(path: Path) -> tuple[int, int] | None:
    try:
        status = path.stat()
    except OSError:
        return None
    return status.st_size, status.st_mtime_ns


def _address(run: ListedRun) -> str:
    return f"run?{urlencode({'run': run.run})}"


def _timelines(runs: Sequence[ListedRun]) -> list[tuple[str, Drawing, list[ListedRun]]]:
    """Each dataset with several runs, the scores of these over time, and the runs."""
    of: dict[str, list[ListedRun]] = {}
    for run in runs:
        if run.dataset is not None and run.score is not None:
            of.setdefault(run.dataset, []).append(run)
    return [
        (name, timeline([(run.run, _address(run), run.score or NOTHING) for run in some]), some)
        for name, some in of.items()
        if len(some) > 1
    ]
