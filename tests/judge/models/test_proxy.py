"""Requests go through the proxy that the environment names, tunnelled where they are encrypted."""

from __future__ import annotations

import asyncio
import base64
import json
import os
import subprocess
import sys
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import pytest

from rubricate.errors import InputError, ModelError
from rubricate.judge import HTTPModel, Request

REQUEST = Request(({"role": "user", "content": "hello"},), {})
BODY = json.dumps({"choices": [{"message": {"content": '{"reason": "r", "verdict": "MET"}'}}]})
NAMES = ("HTTP_PROXY", "HTTPS_PROXY", "ALL_PROXY", "NO_PROXY")


class Proxy(ThreadingHTTPServer):
    """A proxy that answers plain requests itself, refuses tunnels, and may want a password."""

    daemon_threads = True

    def __init__(self) -> None:
        super().__init__(("127.0.0.1", 0), _Handler)
        self.asked: list[str] = []
        self.wanted: str | None = None

    @property
    def address(self) -> str:
        return f"127.0.0.1:{self.server_address[1]}"


class _Handler(BaseHTTPRequestHandler):
    server: Proxy
    protocol_version = "HTTP/1.1"

    def do_POST(self) -> None:
        self.rfile.read(int(self.headers["Content-Length"]))
        self._answer(200, BODY)

    def do_CONNECT(self) -> None:
        self._answer(502, "")

    def _answer(self, status: int, body: str) -> None:
        self.server.asked.append(f"{self.command} {self.path}")
        given = self.headers.get("Proxy-Authorization")
        if self.server.wanted is not None and given != self.server.wanted:
            status, body = 407, ""
        self.send_response(status)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body.encode())

    def log_message(self, format: str, *args: object) -> None:
        return


@pytest.fixture
def proxy(monkeypatch: pytest.MonkeyPatch) -> Iterator[Proxy]:
    for name in NAMES:
        monkeypatch.delenv(name, raising=False)
        monkeypatch.delenv(name.lower(), raising=False)
    with Proxy() as server:
        threading.Thread(target=server.serve_forever, args=(0.01,), daemon=True).start()
        yield server
        server.shutdown()


def answer_of(base_url: str) -> str:
    async def ask() -> str:
        model = HTTPModel("m", base_url=base_url)
        try:
            return (await model.complete(REQUEST)).text
        finally:
            await model.aclose()

    return asyncio.run(ask())


@pytest.mark.parametrize("scheme", ["", "http://"])
def test_a_plain_request_goes_through_the_proxy(
    proxy: Proxy, monkeypatch: pytest.MonkeyPatch, scheme: str
):
    monkeypatch.setenv("HTTP_PROXY", scheme + proxy.address)
    assert '"MET"' in answer_of("http://judge.invalid/v1")
    assert proxy.asked == ["POST http://judge.invalid/v1/chat/completions"]


def test_an_encrypted_request_asks_the_proxy_for_a_tunnel(
    proxy: Proxy, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setenv("HTTPS_PROXY", f"http://{proxy.address}")
    with pytest.raises(ModelError, match="the proxy cannot reach") as got:
        answer_of("https://judge.invalid/v1")
    assert got.value.kind == "connection"
    assert proxy.asked == ["CONNECT judge.invalid:443"]


def test_user_and_password_are_given_to_the_proxy(proxy: Proxy, monkeypatch: pytest.MonkeyPatch):
    proxy.wanted = "Basic " + base64.b64encode(b"me:secret").decode()
    monkeypatch.setenv("HTTP_PROXY", f"http://me:secret@{proxy.address}")
    assert '"MET"' in answer_of("http://judge.invalid/v1")


@pytest.mark.parametrize("scheme", ["http", "https"])
def test_a_proxy_that_wants_a_password_is_said_and_not_asked_again(
    proxy: Proxy, monkeypatch: pytest.MonkeyPatch, scheme: str
):
    proxy.wanted = "something else"
    monkeypatch.setenv(f"{scheme.upper()}_PROXY", f"http://me:pass-phrase@{proxy.address}")
    with pytest.raises(ModelError, match="user name and password") as got:
        answer_of(f"{scheme}://judge.invalid/v1")
    assert got.value.kind == "auth"
    assert "pass-phrase" not in str(got.value)
    assert len(proxy.asked) == 1


def test_a_proxy_that_is_not_there_is_told_without_its_password(proxy, monkeypatch):
    monkeypatch.setenv("HTTP_PROXY", "http://me:pass-phrase@127.0.0.1:9")
    with pytest.raises(ModelError, match="cannot reach") as got:
        answer_of("http://judge.invalid/v1")
    assert "pass-phrase" not in str(got.value)


@pytest.mark.parametrize("host", ["judge.invalid", ".invalid", "*"])
def test_no_proxy_names_what_is_asked_directly(
    proxy: Proxy, monkeypatch: pytest.MonkeyPatch, host: str
):
    monkeypatch.setenv("HTTP_PROXY", f"http://{proxy.address}")
    monkeypatch.setenv("NO_PROXY", host)
    with pytest.raises(ModelError, match="cannot reach"):
        answer_of("http://judge.invalid/v1")
    assert proxy.asked == []


def test_this_machine_is_asked_directly(proxy: Proxy, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setenv("ALL_PROXY", "http://127.0.0.1:9")
    for host in (proxy.address, proxy.address.replace("127.0.0.1", "localhost")):
        assert '"MET"' in answer_of(f"http://{host}/v1")


def test_another_kind_of_proxy_is_refused_before_anything_is_sent(
    proxy: Proxy, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setenv("ALL_PROXY", "socks5://me:pass-phrase@127.0.0.1:9")
    with pytest.raises(InputError, match="only HTTP proxies are supported") as got:
        HTTPModel("m", base_url="https://judge.invalid/v1")
    assert "pass-phrase" not in str(got.value)


def test_a_run_goes_through_the_proxy(proxy: Proxy, tmp_path: Path):
    environment = {**os.environ, "HTTP_PROXY": f"http://{proxy.address}"}
    command = [sys.executable, "-c", "from rubricate.cli import main; main()", "grade"]
    command += ["examples/physics.json", "--judge", "m", "--base-url", "http://judge.invalid/v1"]
    command += ["--limit", "1", "--no-cache", "--run-dir", str(tmp_path / "run"), "--quiet"]
    subprocess.run(
        command, env=environment, check=True, capture_output=True, cwd=Path(__file__).parents[3]
    )
    assert len(proxy.asked) > 0
