"""The labelling page's server: for this machine only, and for who has the address.

The address holds a random token, which every request must have. A page of another site cannot
reach it: it does not know the token, its requests carry its own `Origin`, and with DNS rebinding
the foreign name is in the request's `Host`.
"""

from __future__ import annotations

import asyncio
import hmac
import secrets
from collections.abc import Awaitable, Callable, Sequence
from typing import Any

import orjson
from aiohttp import web

from rubricate.dataset import Change
from rubricate.errors import InputError
from rubricate.labelling._session import LabelSession
from rubricate.views import page_part, page_policy, page_templates

LOOPBACK = "127.0.0.1"
LARGEST = 64 * 1024
"""Bytes of a request's body."""
_Handler = Callable[[web.Request], Awaitable[web.StreamResponse]]


class LabelServer:
    """Serves a session on the loopback interface, until it is closed.

    Args:
        session: what is labelled.
        annotator: whose name the page begins with, if any.
        port: where to listen. Default: a free one.

    Attributes:
        url: the page's address, once it is open; anyone who knows it may label.
    """

    def __init__(self, session: LabelSession, *, annotator: str = "", port: int = 0) -> None:
        self.url = ""
        self._session = session
        self._annotator = annotator
        self._port = port
        self._token = secrets.token_urlsafe(24)
        self._writing = asyncio.Lock()
        self._waiting: list[tuple[Change, asyncio.Future[None]]] = []
        self._runner: web.AppRunner | None = None

    async def __aenter__(self) -> LabelServer:
        app = web.Application(middlewares=[self._guarded], client_max_size=LARGEST)
        app.add_routes(
            [
                web.get("/{token}/", self._page),
                web.get("/{token}/overview", self._overview),
                web.get("/{token}/item", self._item),
                web.post("/{token}/review", self._review),
                web.post("/{token}/labels", self._label),
                web.post("/{token}/adjudications", self._adjudicate),
            ]
        )
        self._runner = web.AppRunner(app, access_log=None, shutdown_timeout=1.0)
        await self._runner.setup()
        site = web.TCPSite(self._runner, LOOPBACK, self._port)
        try:
            await site.start()
        except OSError as error:
            await self._runner.cleanup()
            raise InputError(
                f"--port {self._port} cannot be listened on: {error.strerror or error}"
            ) from None
        self._port = self._runner.addresses[0][1]
        self.url = f"http://{LOOPBACK}:{self._port}/{self._token}/"
        return self

    async def __aexit__(self, *error: object) -> None:
        async with self._writing:  # wait for writes that have started
            assert self._runner is not None
        await self._runner.cleanup()

    @web.middleware
    async def _guarded(self, request: web.Request, handler: _Handler) -> web.StreamResponse:
        """Let a request through if it is from the page; errors become one line."""
        self._check(request)
        try:
            response = await handler(request)
        except InputError as error:
            response = _json({"error": str(error)}, status=409)
        response.headers.update(
            {
                "Cache-Control": "no-store",
                "Cross-Origin-Resource-Policy": "same-origin",
                "Referrer-Policy": "no-referrer",
                "X-Content-Type-Options": "nosniff",
                "X-Frame-Options": "DENY",
            }
        )
        return response

    def _check(self, request: web.Request) -> None:
        hosts = {f"{name}:{self._port}" for name in (LOOPBACK, "localhost")}
        if request.headers.get("Host") not in hosts:
            raise web.HTTPForbidden(text="not for this host")
        token = request.match_info.get("token", "").encode()
        if not hmac.compare_digest(token, self._token.encode()):
            raise web.HTTPNotFound
        if request.headers.get("Sec-Fetch-Site", "none") not in ("none", "same-origin"):
            raise web.HTTPForbidden(text="not from another site")
        if request.method == "POST":
            if request.headers.get("Origin") not in {f"http://{host}" for host in hosts}:
                raise web.HTTPForbidden(text="not from another page")
            if request.content_type != "application/json":
                raise web.HTTPUnsupportedMediaType

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
        policy = page_policy(script, style, connect="'self'") + "; frame-ancestors 'none'"
        return web.Response(
            text=text, content_type="text/html", headers={"Content-Security-Policy": policy}
        )

    async def _overview(self, request: web.Request) -> web.StreamResponse:
        return _json(self._session.overview(request.query.get("annotator", "")))

    async def _item(self, request: web.Request) -> web.StreamResponse:
        query = request.query
        return _json(self._session.item(query.get("id", ""), query.get("annotator", "")))

    async def _review(self, request: web.Request) -> web.StreamResponse:
        fields = await _fields(request, "item", "annotator")
        return _json(self._session.review(fields["item"], fields["annotator"]))

    async def _label(self, request: web.Request) -> web.StreamResponse:
        fields = await _fields(request, "item", "annotator", "criterion")
        change = self._session.label(
            fields["item"], fields["annotator"], fields["criterion"], fields.get("label")
        )
        await self._write(change)
        return _json({"label": change.label})

    async def _adjudicate(self, request: web.Request) -> web.StreamResponse:
        fields = await _fields(request, "item", "annotator", "criterion")
        change = self._session.adjudicate(
            fields["item"],
            fields["annotator"],
            fields["criterion"],
            fields.get("label"),
            str(fields.get("reason") or ""),
        )
        await self._write(change)
        return _json({"label": change.label})

    async def _write(self, change: Change) -> None:
        """Write a change, with all others that wait by then; it is on disk when this returns."""
        done = asyncio.get_running_loop().create_future()
        self._waiting.append((change, done))
        async with self._writing:
            batch, self._waiting = self._waiting, []
            if batch:
                await self._write_all(batch)
        await done

    async def _write_all(self, batch: Sequence[tuple[Change, asyncio.Future[None]]]) -> None:
        try:
            await asyncio.to_thread(self._session.file.apply, [change for change, _ in batch])
        except Exception as error:
            for _, done in batch:
                done.set_exception(error)
        else:
            for _, done in batch:
                done.set_result(None)


async def _fields(request: web.Request, *names: str) -> dict[str, Any]:
    """The request's JSON object, with text in these fields."""
    try:
        fields = orjson.loads(await request.read())
    except orjson.JSONDecodeError:
        fields = None
    if not isinstance(fields, dict) or not all(isinstance(fields.get(name), str) for name in names):
        raise web.HTTPBadRequest(text=f"expected an object with {', '.join(names)}")
    return fields


def _json(data: Any, status: int = 200) -> web.Response:
    return web.Response(body=orjson.dumps(data), status=status, content_type="application/json")
