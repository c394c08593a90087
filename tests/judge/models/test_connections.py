"""HTTP as servers speak it: whole, in pieces, broken off, kept open or closed, through tunnels."""

from __future__ import annotations

import asyncio
import gc
import shutil
import ssl
import subprocess
import warnings
from collections.abc import Awaitable, Callable, Coroutine
from pathlib import Path
from typing import Any

import pytest

from rubricate.judge.models._connections import (
    Answer,
    BrokenOff,
    Connections,
    NotConnected,
    ProxyRefused,
)

Run = Callable[[Coroutine[Any, Any, Any]], Any]
Serve = Callable[[asyncio.StreamReader, asyncio.StreamWriter], Awaitable[None]]
LENGTH = b"HTTP/1.1 200 OK\r\nContent-Length: 5\r\nX-Thing: a\r\nx-thing: B\r\n\r\nhello"
CHUNKED = b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n2\r\nhe\r\n3\r\nllo\r\n0\r\n\r\n"
TO_THE_END = b"HTTP/1.1 200 OK\r\n\r\nhello"
OLD = b"HTTP/1.0 200 OK\r\nContent-Length: 5\r\n\r\nhello"
LAST = b"HTTP/1.1 200 OK\r\nContent-Length: 5\r\nConnection: close\r\n\r\nhello"
NO_BODY = b"HTTP/1.1 204 No Content\r\n\r\n"


@pytest.fixture(params=["asyncio", "uvloop"])
def run(request: pytest.FixtureRequest) -> Run:
    """Runs a coroutine to its end, in each of the event loops that programs use."""
    loops = asyncio if request.param == "asyncio" else pytest.importorskip("uvloop")

    def run(coroutine: Coroutine[Any, Any, Any]) -> Any:
        with asyncio.Runner(loop_factory=loops.new_event_loop) as runner:
            return runner.run(coroutine)

    return run


async def request_of(reader: asyncio.StreamReader) -> bytes:
    head = await reader.readuntil(b"\r\n\r\n")
    length = int(head.lower().split(b"content-length:")[1].split(b"\r\n")[0])
    return head + await reader.readexactly(length)


class Server:
    """A server that gives each request the same bytes, in pieces, and then may hang up."""

    def __init__(self, answer: bytes, *, size: int = 0, hangs_up: bool = False) -> None:
        self.answer, self.size, self.hangs_up = answer, size or len(answer) or 1, hangs_up
        self.connections = 0
        self.requests: list[bytes] = []

    async def __call__(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self.connections += 1
        try:
            while True:
                self.requests.append(await request_of(reader))
                for start in range(0, len(self.answer), self.size):
                    writer.write(self.answer[start : start + self.size])
                    await writer.drain()
                    await asyncio.sleep(0)
                if self.hangs_up:
                    return
        except (asyncio.IncompleteReadError, ConnectionError):
            return
        finally:
            writer.close()


async def asked(serve: Serve, times: int = 1) -> list[Answer]:
    """What so many requests one after the other are answered."""
    server = await asyncio.start_server(serve, "127.0.0.1", 0)
    port = server.sockets[0].getsockname()[1]
    connections = Connections(f"http://127.0.0.1:{port}/v1/x", {"Accept": "application/json"})
    try:
        return [await connections.post(b'{"a":1}', 5.0) for _ in range(times)]
    finally:
        await connections.aclose()
        server.close()


@pytest.mark.parametrize("size", [0, 1])
@pytest.mark.parametrize("answer", [TO_THE_END, OLD, LAST])
def test_an_answer_that_ends_with_its_connection_is_whole_and_the_next_gets_another(
    run: Run, answer: bytes, size: int
):
    server = Server(answer, size=size, hangs_up=True)
    assert [one.body for one in run(asked(server, 2))] == [b"hello"] * 2
    assert server.connections == 2


def test_headers_are_found_by_their_names_in_lower_case_and_an_empty_body_is_one(run: Run):
    (found,) = run(asked(Server(LENGTH)))
    assert found.headers == {"content-length": "5", "x-thing": "B"}
    (found,) = run(asked(Server(NO_BODY)))
    assert (found.status, found.body) == (204, b"")


def test_a_request_has_its_host_headers_and_length(run: Run):
    server = Server(LENGTH)
    run(asked(server))
    head, _, body = server.requests[0].partition(b"\r\n\r\n")
    first, *lines = head.decode().split("\r\n")
    assert first == "POST /v1/x HTTP/1.1"
    assert lines[0].startswith("Host: 127.0.0.1:")
    assert lines[1:] == ["Accept: application/json", "Content-Length: 7"]
    assert body == b'{"a":1}'


@pytest.mark.parametrize("answer", [LENGTH, CHUNKED])
def test_every_answer_that_ends_too_soon_is_broken_off(run: Run, answer: bytes):
    async def every_cut() -> None:
        for cut in range(1, len(answer)):
            with pytest.raises(BrokenOff):
                await asked(Server(answer[:cut], hangs_up=True))

    run(every_cut())


@pytest.mark.parametrize("answer", [b"SSH-2.0-OpenSSH\r\n", b"\0" * 64, b"HTTP/1.1 abc\r\n\r\n"])
def test_what_is_not_http_is_broken_off(run: Run, answer: bytes):
    with pytest.raises(BrokenOff):
        run(asked(Server(answer, hangs_up=True)))


@pytest.mark.parametrize("answer", [LENGTH, CHUNKED])
def test_an_answer_that_is_too_long_is_broken_off_and_not_collected(
    run: Run, answer: bytes, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setattr("rubricate.judge.models._connections.LONGEST_ANSWER", len(answer) - 1)
    with pytest.raises(BrokenOff, match="MiB came"):
        run(asked(Server(answer, size=7)))
    monkeypatch.setattr("rubricate.judge.models._connections.LONGEST_ANSWER", len(answer))
    assert [one.body for one in run(asked(Server(answer, size=7), 2))] == [b"hello"] * 2


def test_a_server_that_hangs_up_without_a_word_is_a_connection_error(run: Run):
    with pytest.raises(ConnectionResetError):
        run(asked(Server(b"", hangs_up=True)))


def test_a_kept_connection_that_the_server_has_closed_is_not_used_again(run: Run):
    server = Server(LENGTH, hangs_up=True)

    async def twice() -> None:
        listening = await asyncio.start_server(server, "127.0.0.1", 0)
        port = listening.sockets[0].getsockname()[1]
        connections = Connections(f"http://127.0.0.1:{port}/", {})
        for _ in range(2):
            assert (await connections.post(b"{}", 5.0)).body == b"hello"
            await asyncio.sleep(0.05)
        await connections.aclose()
        listening.close()

    run(twice())
    assert server.connections == 2


def test_a_connection_that_is_given_up_on_its_way_leaves_no_socket_open(run: Run):
    async def give_up() -> None:
        listening = await asyncio.start_server(Server(LENGTH), "127.0.0.1", 0)
        port = listening.sockets[0].getsockname()[1]
        connections = Connections(f"http://127.0.0.1:{port}/", {})
        for rounds in [*range(14)] * 10:
            asking = asyncio.create_task(connections.post(b"{}", 5.0))
            for _ in range(rounds):
                await asyncio.sleep(0)
            asking.cancel()
            await asyncio.wait([asking])
        await connections.aclose()
        listening.close()

    with warnings.catch_warnings(record=True) as found:
        warnings.simplefilter("always", ResourceWarning)
        run(give_up())
        gc.collect()
    assert [str(one.message) for one in found] == []


def test_a_late_answer_is_nobodys_and_its_connection_is_not_used_again(run: Run):
    seen: list[int] = []

    async def slow_first(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        seen.append(len(seen))
        await request_of(reader)
        if len(seen) == 1:
            await asyncio.sleep(0.2)
            writer.write(LENGTH.replace(b"hello", b"wrong"))
        else:
            writer.write(LENGTH)
        writer.close()

    async def twice() -> None:
        server = await asyncio.start_server(slow_first, "127.0.0.1", 0)
        port = server.sockets[0].getsockname()[1]
        connections = Connections(f"http://127.0.0.1:{port}/", {})
        with pytest.raises(TimeoutError):
            await connections.post(b"{}", 0.05)
        first = asyncio.create_task(connections.post(b"{}", 5.0))
        assert (await first).body == b"hello"
        await asyncio.sleep(0.3)
        await connections.aclose()
        server.close()

    run(twice())
    assert len(seen) == 2


def test_a_name_that_is_not_there_and_a_port_where_nobody_listens_are_os_errors(run: Run):
    async def post(url: str) -> None:
        await Connections(url, {}).post(b"{}", 5.0)

    for url in ("http://judge.invalid/", "http://127.0.0.1:9/"):
        with pytest.raises(OSError):
            run(post(url))


def certificate_in(folder: Path, name: str) -> Path:
    openssl = shutil.which("openssl")
    if openssl is None:
        pytest.skip("needs openssl")
    path, key = folder / "certificate.pem", folder / "key.pem"
    command = [openssl, "req", "-x509", "-newkey", "ec", "-nodes", "-days", "2"]
    command += ["-pkeyopt", "ec_paramgen_curve:prime256v1"]
    names = f"subjectAltName=DNS:{name},DNS:localhost"
    command += ["-subj", f"/CN={name}", "-addext", names]
    command += ["-keyout", str(key), "-out", str(path)]
    subprocess.run(command, check=True, capture_output=True)
    path.write_text(path.read_text() + key.read_text())
    return path


async def through_a_tunnel(
    certificate: Path, host: str, answer: bytes, *, proxy_is_encrypted: bool = False
) -> tuple[list[bytes], int]:
    """Post three times to a name behind a proxy; what the proxy was asked, and the status.

    The proxy is called localhost where what goes to it is encrypted, too.
    """
    context = ssl.create_default_context(ssl.Purpose.CLIENT_AUTH)
    context.load_cert_chain(certificate)
    behind = await asyncio.start_server(Server(LENGTH), "127.0.0.1", 0, ssl=context)
    port = behind.sockets[0].getsockname()[1]
    heads: list[bytes] = []

    async def copy(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            while data := await reader.read(65536):
                writer.write(data)
        except ConnectionError:
            return
        finally:
            writer.close()

    async def proxy(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        heads.append(await reader.readuntil(b"\r\n\r\n"))
        writer.write(answer)
        if b" 200 " not in answer:
            writer.close()
            return
        inner = await asyncio.open_connection("127.0.0.1", port)
        await asyncio.gather(copy(reader, inner[1]), copy(inner[0], writer))

    front = await asyncio.start_server(
        proxy, "127.0.0.1", 0, ssl=context if proxy_is_encrypted else None
    )
    place = (
        "https://me:pass%20word@localhost"
        if proxy_is_encrypted
        else "http://me:pass%20word@127.0.0.1"
    )
    address = f"{place}:{front.sockets[0].getsockname()[1]}"
    trusting = ssl.create_default_context(cafile=certificate)
    connections = Connections(f"https://{host}/v1", {}, proxy=address, context=trusting)
    try:
        for _ in range(3):
            found = await connections.post(b"{}", 5.0)
            assert found.body == b"hello"
        return heads, found.status
    finally:
        await connections.aclose()
        await asyncio.sleep(0.05)
        front.close()
        behind.close()


ESTABLISHED = b"HTTP/1.1 200 Connection established\r\n\r\n"


def test_an_encrypted_address_is_reached_through_a_tunnel_and_the_tunnel_is_kept(
    run: Run, tmp_path: Path
):
    certificate = certificate_in(tmp_path, "judge.invalid")
    heads, status = run(through_a_tunnel(certificate, "judge.invalid", ESTABLISHED))
    assert status == 200
    assert heads == [
        b"CONNECT judge.invalid:443 HTTP/1.1\r\nHost: judge.invalid:443\r\n"
        b"Proxy-Authorization: Basic bWU6cGFzcyB3b3Jk\r\n\r\n"
    ]


def test_a_tunnel_goes_through_a_proxy_that_is_itself_encrypted(run: Run, tmp_path: Path):
    certificate = certificate_in(tmp_path, "judge.invalid")
    tunnel = through_a_tunnel(certificate, "judge.invalid", ESTABLISHED, proxy_is_encrypted=True)
    heads, status = run(tunnel)
    assert status == 200
    assert [head.split(b"\r\n")[0] for head in heads] == [b"CONNECT judge.invalid:443 HTTP/1.1"]


def test_behind_a_tunnel_the_certificate_must_be_of_the_address(run: Run, tmp_path: Path):
    certificate = certificate_in(tmp_path, "judge.invalid")
    with pytest.raises(NotConnected, match="CERTIFICATE_VERIFY_FAILED"):
        run(through_a_tunnel(certificate, "other.invalid", ESTABLISHED))


@pytest.mark.parametrize(
    ("answer", "error"),
    [
        (b"HTTP/1.1 407 Proxy Authentication Required\r\n\r\n", ProxyRefused),
        (b"HTTP/1.1 502 Bad Gateway\r\n\r\n", ProxyRefused),
        (b"nonsense\r\n\r\n", BrokenOff),
        (b"", ConnectionError),
    ],
)
def test_a_proxy_that_makes_no_tunnel_is_told(
    run: Run, tmp_path: Path, answer: bytes, error: type[Exception]
):
    certificate = certificate_in(tmp_path, "judge.invalid")
    with pytest.raises(error):
        run(through_a_tunnel(certificate, "judge.invalid", answer))
