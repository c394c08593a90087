"""Certificates are verified: one that nobody vouches for is refused."""

from __future__ import annotations

import asyncio
import shutil
import ssl
import subprocess
from pathlib import Path

import pytest
from aiohttp import web

from rubricate.errors import ModelError
from rubricate.judge import HTTPModel, Request

REQUEST = Request(({"role": "user", "content": "hello"},), {})
BODY = {"choices": [{"message": {"content": "fine"}}]}


@pytest.fixture
def certificate(tmp_path: Path) -> Path:
    """A self-made certificate for 127.0.0.1, with its key in the same file."""
    openssl = shutil.which("openssl")
    if openssl is None:
        pytest.skip("needs openssl")
    path, key = tmp_path / "certificate.pem", tmp_path / "key.pem"
    command = [openssl, "req", "-x509", "-newkey", "ec", "-nodes", "-days", "2"]
    command += ["-pkeyopt", "ec_paramgen_curve:prime256v1"]
    command += ["-subj", "/CN=127.0.0.1", "-addext", "subjectAltName=IP:127.0.0.1"]
    command += ["-keyout", str(key), "-out", str(path)]
    subprocess.run(command, check=True, capture_output=True)
    path.write_text(path.read_text() + key.read_text())
    return path


async def answer_of(certificate: Path) -> str:
    """What a model at an https address with this certificate answers."""

    async def respond(request: web.Request) -> web.Response:
        return web.json_response(BODY)

    context = ssl.create_default_context(ssl.Purpose.CLIENT_AUTH)
    context.load_cert_chain(certificate)
    application = web.Application()
    application.router.add_post("/v1/chat/completions", respond)
    runner = web.AppRunner(application)
    await runner.setup()
    try:
        await web.TCPSite(runner, "127.0.0.1", 0, ssl_context=context).start()
        port = runner.addresses[0][1]
        model = HTTPModel("m", base_url=f"https://127.0.0.1:{port}/v1")
        try:
            return (await model.complete(REQUEST)).text
        finally:
            await model.aclose()
    finally:
        await runner.cleanup()


def test_a_certificate_that_nobody_vouches_for_is_refused(certificate: Path):
    with pytest.raises(ModelError, match="certificate") as caught:
        asyncio.run(answer_of(certificate))
    assert caught.value.kind == "connection"


def test_a_certificate_that_the_user_trusts_is_accepted(
    certificate: Path, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setenv("SSL_CERT_FILE", str(certificate))
    assert asyncio.run(answer_of(certificate)) == "fine"
