"""What HTTP clients take for a judge's requests, in a bare loop: no journal, nothing rendered.

    python benchmarks/judge/clients.py URL [REQUESTS] [IN FLIGHT]

URL is that of an OpenAI-compatible endpoint up to `/v1`, such as the mock judge of the ruler with a
project's name in it. Clients that are not installed are left out.
"""

from __future__ import annotations

import asyncio
import importlib.util
import sys
import time
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from importlib.metadata import version

import orjson

Post = Callable[[bytes], Awaitable[bytes]]
HEADERS = {"Content-Type": "application/json", "Authorization": "Bearer sk-mock"}


@asynccontextmanager
async def rubricate_connections(url: str) -> AsyncIterator[Post]:
    from rubricate.judge.models._connections import Connections

    connections = Connections(url, HEADERS)

    async def post(body: bytes) -> bytes:
        return (await connections.post(body, 120.0)).body

    yield post
    await connections.aclose()


@asynccontextmanager
async def aiohttp_session(url: str) -> AsyncIterator[Post]:
    import aiohttp

    connector = aiohttp.TCPConnector(limit=0)
    async with aiohttp.ClientSession(connector=connector, headers=HEADERS) as session:

        async def post(body: bytes) -> bytes:
            async with session.post(url, data=body) as response:
                return await response.read()

        yield post


@asynccontextmanager
async def pyreqwest_client(url: str) -> AsyncIterator[Post]:
    from pyreqwest.client import ClientBuilder

    async with ClientBuilder().default_headers(HEADERS).build() as client:

        async def post(body: bytes) -> bytes:
            response = await client.post(url).body_bytes(body).build().send()
            return bytes(await response.bytes())

        yield post


@asynccontextmanager
async def pyqwest_client(url: str) -> AsyncIterator[Post]:
    import pyqwest

    client = pyqwest.Client(pyqwest.HTTPTransport())

    async def post(body: bytes) -> bytes:
        return (await client.post(url, HEADERS, body)).content

    yield post


CLIENTS = {
    "httptools": rubricate_connections,
    "aiohttp": aiohttp_session,
    "pyreqwest": pyreqwest_client,
    "pyqwest": pyqwest_client,
}


async def measured(name: str, url: str, requests: int, in_flight: int) -> tuple[float, float]:
    """Requests a second, and CPU milliseconds a request."""
    text = "The present system came about in several steps. " * 45
    numbers = iter(range(requests))
    async with CLIENTS[name](f"{url}/chat/completions") as post:

        async def work() -> None:
            for number in numbers:
                asked = f"SUB#{number // 10}# CRIT#{number % 10}# {text}"
                message = {"role": "user", "content": asked}
                body = orjson.dumps({"model": "m", "messages": [message]})
                assert b"choices" in await post(body)

        begin, cpu = time.perf_counter(), time.process_time()
        await asyncio.gather(*[work() for _ in range(in_flight)])
        seconds, used = time.perf_counter() - begin, time.process_time() - cpu
    return requests / seconds, used / requests * 1000


def main(url: str, requests: int = 5000, in_flight: int = 100) -> None:
    """Three rounds over all clients that are installed; prints the medians."""
    names = [name for name in CLIENTS if importlib.util.find_spec(name)]
    found: dict[str, list[tuple[float, float]]] = {name: [] for name in names}
    for _ in range(3):
        for name in names:
            found[name].append(asyncio.run(measured(name, url, requests, in_flight)))
    print("| client | requests/s | CPU ms a request |\n|---|---:|---:|")
    for name, rounds in found.items():
        rate, cpu = (sorted(one[place] for one in rounds)[1] for place in (0, 1))
        shown = "rubricate's, over httptools" if name == "httptools" else name
        print(f"| {shown} {version(name)} | {rate:.0f} | {cpu:.2f} |")


if __name__ == "__main__":
    if len(sys.argv) < 2:
        sys.exit(__doc__)
    main(sys.argv[1].rstrip("/"), *(int(given) for given in sys.argv[2:]))
