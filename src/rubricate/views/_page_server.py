"""A server of pages for this machine only, and for anyone who has the address.

The address contains a random token that every request needs. Pages of other sites cannot use the
server: they do not know the token, their requests carry their own `Origin`, and with DNS rebinding
the foreign name is in the `Host` header.
"""

from __future__ import annotations

import hmac
import secrets
from abc import ABC, abstractmethod
from collections.abc import Awaitable, Callable, Sequence
from typing import Any, Self

import orjson
from aiohttp import web

from rubricate.errors import InputError
from rubricate.views._page_parts import page_policy

LOOPBACK = "127.0.0.1"
LARGEST = 64 * 1024
"""The maximum size of a request body, in bytes."""
_Handler = Callable[[web.Request], Awaitable[web.StreamResponse]]


class PageServer(ABC):
    """Serves pages on the loopback interface until it is closed.

    Args:
        port: the port to listen on. Default: a free one.

    Attributes:
        url: the address of the first page, once it is open. Anyone who knows it can use the pages.
    """

    def __init__(self, port: int = 0) -> None:
        self.url = ""
        self._port = port
        self._token = secrets.token_urlsafe(24)
        self._runner: web.AppRunner | None = None

    @abstractmethod
    def _routes(self) -> Sequence[web.RouteDef]:
        """The routes; each path begins with `/{token}/`."""

    async def __aenter__(self) -> Self:
        app = web.Application(middlewares=[self._guarded], client_max_size=LARGEST)
        app.add_routes(self._routes())
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
        assert self._runner is not None
        await self._runner.cleanup()

    @web.middleware
    async def _guarded(self, request: web.Request, handler: _Handler) -> web.StreamResponse:
        """Handle a request if it comes from the page; errors become one line."""
        self._check(request)
        try:
            response = await handler(request)
        except InputError as error:
            response = json_response({"error": str(error)}, status=409)
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


async def json_fields(request: web.Request, *names: str) -> dict[str, Any]:
    """The JSON object of a request, checked to have texts in these fields."""
    try:
        fields = orjson.loads(await request.read())
    except orjson.JSONDecodeError:
        fields = None
    if not isinstance(fields, dict) or not all(isinstance(fields.get(name), str) for name in names):
        raise web.HTTPBadRequest(text=f"expected an object with {', '.join(names)}")
    return fields


def json_response(data: Any, status: int = 200) -> web.Response:
    """A response with JSON."""
    return web.Response(body=orjson.dumps(data), status=status, content_type="application/json")


def page_response(text: str, script: str, style: str) -> web.Response:
    """A page with only this script and style sheet, which may only contact its server."""
    policy = page_policy(script, style, connect="'self'") + "; frame-ancestors 'none'"
    return web.Response(
        text=text, content_type="text/html", headers={"Content-Security-Policy": policy}
    )
