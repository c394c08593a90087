"""HTTP/1.1 to one address: requests with one method over connections that are kept alive.

General clients take more CPU time than all the rest of a judgement, for features that judges never
need (measured in benchmarks/README.md). Responses are parsed by llhttp, the parser of Node.js
(`httptools`); encryption, certificates and name look-up are `asyncio`'s.
"""

from __future__ import annotations

import asyncio
import base64
import errno
import os
import socket
import time
from collections.abc import AsyncGenerator
from typing import TYPE_CHECKING, Any
from urllib.parse import quote, unquote, urlsplit

import httptools

from rubricate.judge.models._responses import (
    LONGEST_ANSWER,
    Answer,
    BrokenOff,
    NoDescriptor,
    NotConnected,
    NotConnectedInTime,
    ProxyRefused,
)

if TYPE_CHECKING:
    import ssl

LONGEST_IDLE = 15.0
"""Seconds after which an idle connection is not reused, because servers close idle ones."""
NEXT_ADDRESS_AFTER = 0.25
"""Seconds before a host's next address is tried in parallel with one that does not answer (RFC
8305)."""
MOST_OF_A_PROXYS_ANSWER = 65536
"""The maximum number of bytes of a proxy's response to CONNECT."""
_SAFE = "/%:@!$&'()*+,;=~"


class Connections:
    """Connections to one address, in one event loop; as many as there are concurrent requests.

    They also close when the loop ends, as with `asyncio.run`.

    Args:
        url: the URL for all requests, http or https.
        headers: sent with every request.
        proxy: the URL of an HTTP proxy; None for none.
        context: how certificates are verified; required if the address or the proxy is https.
        method: the method of all requests.
        longest: the most bytes of a response; None for the default of 16 MiB.
    """

    def __init__(
        self,
        url: str,
        headers: dict[str, str],
        *,
        proxy: str | None = None,
        context: ssl.SSLContext | None = None,
        method: str = "POST",
        longest: int | None = None,
    ) -> None:
        self._longest = LONGEST_ANSWER if longest is None else longest
        parts = urlsplit(url)
        self._context = context
        self._encrypted = parts.scheme == "https"
        self._host = _ascii(parts.hostname or "")
        self._port = parts.port or (443 if self._encrypted else 80)
        self._proxy = None if proxy is None else urlsplit(proxy)
        self._free: list[_Connection] = []
        self._all: set[_Connection] = set()
        self._with_loop: AsyncGenerator[None] | None = None
        shown = f"[{self._host}]" if ":" in self._host else self._host
        self._authority = f"{shown}:{self._port}"
        usual = self._port == (443 if self._encrypted else 80)
        target = quote(parts.path or "/", safe=_SAFE)
        if parts.query:
            target += "?" + quote(parts.query, safe=_SAFE + "?")
        sent = {"Host": shown if usual else self._authority, **headers}
        if self._proxy is not None and not self._encrypted:
            target = f"http://{sent['Host']}{target}"
            sent |= self._for_proxy()
        lines = [f"{method} {target} HTTP/1.1"] + [f"{name}: {text}" for name, text in sent.items()]
        self._head = "\r\n".join([*lines, "Content-Length: "]).encode("latin-1")

    async def post(self, body: bytes, seconds: float) -> Answer:
        """Send a request and return its response, redirects included.

        Raises:
            TimeoutError: there was no response within `seconds`; `NotConnectedInTime` if there was
                no connection.
            BrokenOff: only a part of it arrived.
            ProxyRefused: the proxy rejects the request.
            NoDescriptor: no file descriptor is available for a connection.
            NotConnected: the address cannot be reached.
            OSError: the connection ended before a response.
        """
        connection = self._idle()
        if connection is None:
            begin = time.monotonic()
            try:
                async with asyncio.timeout(seconds):
                    try:
                        connection = await self._connected()
                    except OSError as error:
                        kind = NoDescriptor if _lacks_descriptors(error) else NotConnected
                        raise kind(str(error) or type(error).__name__) from error
            except TimeoutError:
                raise NotConnectedInTime from None
            seconds -= time.monotonic() - begin
        request = b"".join((self._head, b"%d\r\n\r\n" % len(body), body))
        try:
            answer = await connection.ask(request, seconds)
        except BaseException:  # also cancelled: a late response belongs to no request
            self._drop(connection)
            raise
        if connection.keeps:
            connection.idle_since = time.monotonic()
            self._free.append(connection)
        else:
            self._drop(connection)
        return answer

    async def aclose(self) -> None:
        """Close all connections."""
        with_loop, self._with_loop = self._with_loop, None
        if with_loop is not None:
            await with_loop.aclose()
        for connection in list(self._all):
            self._drop(connection)
        self._free.clear()
        await asyncio.sleep(0)  # they close in the loop's next round

    def _idle(self) -> _Connection | None:
        now = time.monotonic()
        while self._free:
            connection = self._free.pop()
            if connection.is_open and now - connection.idle_since < LONGEST_IDLE:
                return connection
            self._drop(connection)
        return None

    def _drop(self, connection: _Connection) -> None:
        self._all.discard(connection)
        connection.end()

    async def _until_the_loop_ends(self) -> AsyncGenerator[None]:
        """Started once, because the loop closes unfinished generators when it ends."""
        try:
            yield
        finally:
            self._with_loop = None
            await self.aclose()

    async def _connected(self) -> _Connection:
        loop = asyncio.get_running_loop()
        if self._with_loop is None:
            self._with_loop = self._until_the_loop_ends()
            await anext(self._with_loop)
        connection = _Connection(loop, self._longest)
        self._all.add(connection)
        try:
            if self._proxy is None:
                await self._open(connection, self._host, self._port, self._encrypted)
            else:
                host, proxied = self._proxy.hostname or "", self._proxy.scheme == "https"
                port = self._proxy.port or (443 if proxied else 80)
                await self._open(connection, host, port, proxied)
                if self._encrypted:
                    await self._tunnel(connection)
        except BaseException:
            self._drop(connection)
            raise
        return connection

    async def _open(self, connection: _Connection, host: str, port: int, encrypted: bool) -> None:
        loop = asyncio.get_running_loop()
        options: dict[str, Any] = {}
        # A numeric address, unlike a name, has no next one; and if the race of addresses is
        # cancelled,
        # for example by a timeout, Python may leave one of its sockets open.
        is_name = ":" not in host and not host[-1:].isdigit()
        if is_name and isinstance(loop, asyncio.BaseEventLoop):  # not in uvloop's
            options["happy_eyeballs_delay"] = NEXT_ADDRESS_AFTER
        await loop.create_connection(
            lambda: connection,
            host,
            port,
            ssl=self._context if encrypted else None,
            **options,
        )

    async def _tunnel(self, connection: _Connection) -> None:
        """Make the proxy connect to the address, and start TLS through the tunnel."""
        headers = {"Host": self._authority, **self._for_proxy()}
        lines = [f"CONNECT {self._authority} HTTP/1.1"]
        lines += [f"{name}: {text}" for name, text in headers.items()]
        head = await connection.head_of_answer("\r\n".join([*lines, "", ""]).encode("latin-1"))
        status = head.split(None, 2)[1:2]
        if not head.startswith(b"HTTP/") or not status or not status[0].isdigit():
            raise BrokenOff("the proxy's answer is not HTTP")
        if not 200 <= int(status[0]) < 300:
            raise ProxyRefused(int(status[0]))
        assert self._context is not None
        connection.transport = await asyncio.get_running_loop().start_tls(
            connection.transport, connection, self._context, server_hostname=self._host
        )

    def _for_proxy(self) -> dict[str, str]:
        if self._proxy is None or self._proxy.username is None:
            return {}
        login = f"{unquote(self._proxy.username)}:{unquote(self._proxy.password or '')}"
        code = base64.b64encode(login.encode()).decode()
        return {"Proxy-Authorization": f"Basic {code}"}


class _Connection(asyncio.Protocol):
    """One connection, with one request at a time.

    Attributes:
        transport: the transport; None before it is connected.
        is_open: whether it can be used.
        keeps: whether it can be reused after the last response.
        idle_since: the time of its last use (monotonic clock).
    """

    def __init__(self, loop: asyncio.AbstractEventLoop, longest: int = LONGEST_ANSWER) -> None:
        self.transport: Any = None
        self.is_open = self.keeps = False
        self.idle_since = 0.0
        self._loop = loop
        self._longest = longest
        self._parser = httptools.HttpResponseParser(self)
        self._answer: asyncio.Future[Answer] | None = None
        self._timer: asyncio.TimerHandle | None = None
        self._late_at = 0.0
        self._tunnel: asyncio.Future[bytes] | None = None
        self._head = bytearray()
        self._headers: dict[str, str] = {}
        self._body: list[bytes] = []
        self._came = 0  # bytes of the response
        self._has_headers = False

    def ask(self, request: bytes, seconds: float) -> asyncio.Future[Answer]:
        """Send a request; the future has its response, or a `TimeoutError` after `seconds`."""
        self._headers, self._body = {}, []
        self._came = 0
        self._has_headers = self.keeps = False
        self._answer = self._loop.create_future()
        # One timer is rescheduled if it fires too early; a new one per request is expensive.
        self._late_at = self._loop.time() + seconds
        if self._timer is None or self._timer.when() > self._late_at:
            self._watch()
        if self.is_open:
            self.transport.write(request)
        else:
            self._fail(ConnectionResetError("the connection was closed"))
        return self._answer

    def _watch(self) -> None:
        if self._timer is not None:
            self._timer.cancel()
        self._timer = self._loop.call_at(self._late_at, self._look)

    def _look(self) -> None:
        """Fail the current request if its time is up; it may be a later one than at the start."""
        self._timer = None
        if self._answer is None or self._answer.done():
            return
        if self._loop.time() < self._late_at:
            self._watch()
        else:
            self._fail(TimeoutError())

    def head_of_answer(self, request: bytes) -> asyncio.Future[bytes]:
        """Send a request to a proxy; the future has its response up to the empty line."""
        self._tunnel = self._loop.create_future()
        self.transport.write(request)
        return self._tunnel

    def end(self) -> None:
        """Close the connection at once."""
        self.is_open = False
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None
        if self.transport is not None and not self._loop.is_closed():
            self.transport.abort()

    # Of asyncio

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self.transport, self.is_open = transport, True

    def data_received(self, data: bytes) -> None:
        if self._tunnel is not None:
            self._of_proxy(data)
        elif self._answer is None:  # no request is waiting
            self.end()
        else:
            self._came += len(data)
            if self._came > self._longest:
                self._fail(BrokenOff(f"more than {self._longest >> 20} MiB came"))
                self.end()
                return
            try:
                self._parser.feed_data(data)
            except (httptools.HttpParserError, httptools.HttpParserUpgrade) as error:
                self._fail(BrokenOff(f"what came is not HTTP: {error}"))
                self.end()

    def connection_lost(self, error: Exception | None) -> None:
        self.is_open = self.keeps = False
        if self._tunnel is not None and not self._tunnel.done():
            self._tunnel.set_exception(error or ConnectionResetError("the proxy hung up"))
        if self._answer is None:
            return
        if error is None and self._has_headers and self._ends_with_connection():
            self._end()
        elif self._came:
            body = b"".join(self._body)
            message = f"the connection ended after {len(body)} bytes of the body"
            self._fail(BrokenOff(message, body))
        else:
            self._fail(error or ConnectionResetError("the server closed the connection"))

    # Of httptools

    def on_message_begin(self) -> None:
        if self._answer is None:  # unrequested data: whatever follows belongs to no request
            self.keeps = False

    def on_header(self, name: bytes, value: bytes) -> None:
        if not self._has_headers:  # trailers after the body are irrelevant
            self._headers[name.decode("latin-1").lower()] = value.decode("latin-1")

    def on_headers_complete(self) -> None:
        self._has_headers = True

    def on_body(self, body: bytes) -> None:
        self._body.append(body)

    def on_message_complete(self) -> None:
        if self._answer is None:
            return
        if self._parser.get_status_code() < 200:  # an informational response: more follows
            self._headers, self._body, self._has_headers = {}, [], False
            return
        self.keeps = self.is_open and self._parser.should_keep_alive()
        self._end()

    def _ends_with_connection(self) -> bool:
        return not {"content-length", "transfer-encoding"} & self._headers.keys()

    def _end(self) -> None:
        answer, self._answer = self._answer, None
        if answer is not None and not answer.done():
            status = self._parser.get_status_code()
            answer.set_result(Answer(status, self._headers, b"".join(self._body)))

    def _fail(self, error: Exception) -> None:
        answer, self._answer = self._answer, None
        if answer is not None and not answer.done():
            answer.set_exception(error)

    def _of_proxy(self, data: bytes) -> None:
        assert self._tunnel is not None
        self._head += data
        if b"\r\n\r\n" in self._head or len(self._head) > MOST_OF_A_PROXYS_ANSWER:
            if not self._tunnel.done():
                self._tunnel.set_result(bytes(self._head))
            self._tunnel = None


def _lacks_descriptors(error: OSError) -> bool:
    """Whether a connection failed for lack of file descriptors; name look-up does not tell."""
    if isinstance(error, socket.gaierror):
        try:
            os.close(os.open(os.devnull, os.O_RDONLY))
        except OSError as failure:
            error = failure
        else:
            return False
    return error.errno in (errno.EMFILE, errno.ENFILE) or os.strerror(errno.EMFILE) in str(error)


def _ascii(host: str) -> str:
    return host if host.isascii() else host.encode("idna").decode()
