"""The server of the labelling page."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence

from aiohttp import web

from rubricate.dataset import Change
from rubricate.labelling._session import LabelSession
from rubricate.views import (
    PageServer,
    json_fields,
    json_response,
    page_part,
    page_response,
    page_templates,
)


class LabelServer(PageServer):
    """Serve a session on the loopback interface until it is closed.

    Args:
        session: the labelling session.
        annotator: the name that the page starts with, if any.
        port: the port to listen on. Default: a free one.
    """

    def __init__(self, session: LabelSession, *, annotator: str = "", port: int = 0) -> None:
        super().__init__(port)
        self._session = session
        self._annotator = annotator
        self._writing = asyncio.Lock()

    def _routes(self) -> Sequence[web.RouteDef]:
        return [
            web.get("/{token}/", self._page),
            web.get("/{token}/overview", self._overview),
            web.get("/{token}/item", self._item),
            web.post("/{token}/review", self._review),
            web.post("/{token}/labels", self._label),
            web.post("/{token}/adjudications", self._adjudicate),
        ]

    async def __aexit__(self, *error: object) -> None:
        async with self._writing:  # wait for writes in progress
            pass
        await super().__aexit__(*error)

    async def _page(self, request: web.Request) -> web.StreamResponse:
        script = page_part("base.js") + page_part("label.js", "rubricate.labelling")
        style = page_part("base.css") + page_part("label.css", "rubricate.labelling")
        template = page_templates("rubricate.labelling").get_template("label.html.jinja")
        session = self._session
        text = template.render(
            name=session.file.dataset.name or session.file.path.stem,
            annotator=self._annotator,
            judge=session.judge,
            script=script,
            style=style,
        )
        return page_response(text, script, style)

    async def _overview(self, request: web.Request) -> web.StreamResponse:
        return json_response(self._session.overview(request.query.get("annotator", "")))

    async def _item(self, request: web.Request) -> web.StreamResponse:
        query = request.query
        return json_response(self._session.item(query.get("id", ""), query.get("annotator", "")))

    async def _review(self, request: web.Request) -> web.StreamResponse:
        fields = await json_fields(request, "item", "annotator")
        return json_response(self._session.review(fields["item"], fields["annotator"]))

    async def _label(self, request: web.Request) -> web.StreamResponse:
        fields = await json_fields(request, "item", "annotator", "criterion")
        change = self._session.label(
            fields["item"], fields["annotator"], fields["criterion"], fields.get("label")
        )
        await self._write(change)
        return json_response({"label": change.label})

    async def _adjudicate(self, request: web.Request) -> web.StreamResponse:
        fields = await json_fields(request, "item", "annotator", "criterion")
        change = self._session.adjudicate(
            fields["item"],
            fields["annotator"],
            fields["criterion"],
            fields.get("label"),
            str(fields.get("reason") or ""),
        )
        await self._write(change)
        return json_response({"label": change.label})

    async def _write(self, change: Change) -> None:
        """Write a change to disk before returning."""
        async with self._writing:
            await asyncio.to_thread(self._session.file.apply, [change])
