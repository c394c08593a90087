"""Models of one's own: the page's example, against a server that speaks another wire format."""

from __future__ import annotations

import asyncio
import json
import re
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from aiohttp import web

import rubricate
from rubricate import Criterion, InputError, Model, Rubric, RubricDataset, RunStopped
from rubricate.dataset import Item
from rubricate.judge import Completion, ModelJudge, Request

PAGE = Path(__file__).parents[3] / "docs" / "own-judges.md"
KEY = "a key that nobody may see"


def example() -> Any:
    """The class that docs/own-judges.md shows."""
    blocks = re.findall(
        r"^```python\n(.*?)^```$", PAGE.read_text("utf-8"), re.MULTILINE | re.DOTALL
    )
    (block,) = [one for one in blocks if "class Messages(Model)" in one]
    lines = block[block.index("class ") : block.index("\n\n\nclaude")].splitlines()
    assert len([line for line in lines if line.strip()]) <= 25
    names: dict[str, Any] = {}
    exec(block, names)
    return names["Messages"]


class MessagesServer:
    """Anthropic's messages on the wire, as far as its page says; `trouble` is answered first."""

    def __init__(self) -> None:
        self.trouble: list[Any] = []
        self.requests: list[tuple[dict[str, Any], dict[str, str]]] = []
        self.url = ""

    async def answer(self, request: web.Request) -> web.StreamResponse:
        body = await request.json()
        self.requests.append((body, dict(request.headers)))
        if self.trouble:
            trouble = self.trouble.pop(0)
            if trouble is None:
                assert request.transport is not None
                request.transport.abort()
                return web.Response()
            status, headers = trouble
            error = {"type": "error", "error": {"type": "x", "message": f"trouble {status}"}}
            return web.json_response(error, status=status, headers=headers)
        assert body["messages"][0]["role"] == "user"
        assert "JSON" in body["messages"][0]["content"]
        reply = {"reason": "It says so.", "evidence": ["fast"], "verdict": "MET"}
        return web.json_response(
            {
                "content": [{"type": "text", "text": json.dumps(reply)}],
                "stop_reason": "end_turn",
                "usage": {"input_tokens": 50, "output_tokens": 9},
            }
        )


@pytest.fixture
def server() -> Iterator[MessagesServer]:
    made, loop = MessagesServer(), asyncio.new_event_loop()
    app = web.Application()
    app.router.add_post("/v1/messages", made.answer)
    runner = web.AppRunner(app, shutdown_timeout=0)

    async def begin() -> None:
        await runner.setup()
        site = web.TCPSite(runner, "127.0.0.1", 0)
        await site.start()
        made.url = f"http://127.0.0.1:{runner.addresses[0][1]}/v1/messages"

    loop.run_until_complete(begin())
    thread = threading.Thread(target=loop.run_forever)
    thread.start()
    yield made
    asyncio.run_coroutine_threadsafe(runner.cleanup(), loop).result()
    loop.call_soon_threadsafe(loop.stop)
    thread.join()
    loop.close()


def dataset(n: int = 3) -> RubricDataset:
    found = RubricDataset("How fast?", Rubric([Criterion(name="a", requirement="Says how fast")]))
    for index in range(n):
        found.add_item(f"Light is fast {index}.", f"item {index}")
    return found


def test_the_pages_model_speaks_another_wire_and_is_resumed(server: MessagesServer, tmp_path: Path):
    model = example()("claude", KEY, server.url)
    for _ in range(2):
        result = rubricate.grade(dataset(), model, run_dir=tmp_path / "run", cache=None)
        assert [item.criteria["a"].label for item in result] == ["MET"] * 3
        assert len(server.requests) == 3
    spent = result.saved
    body, headers = server.requests[0]
    assert headers["x-api-key"] == KEY
    assert body["system"].startswith("You grade a submission")
    assert (spent.input_tokens, spent.output_tokens, spent.cost) == (150, 27, None)
    for file in (tmp_path / "run").iterdir():
        assert KEY.encode() not in file.read_bytes()


@pytest.mark.parametrize(
    "trouble", [(429, {"Retry-After": "0"}), (529, {}), None], ids=["429", "529", "reset"]
)
def test_what_may_pass_is_tried_again(server: MessagesServer, trouble: Any):
    server.trouble = [trouble]
    result = rubricate.grade(dataset(1), example()("claude", KEY, server.url))
    assert result.failed == 0
    assert len(server.requests) == result.usage.requests == 2


def test_a_key_that_is_refused_ends_the_run_with_the_servers_words(server: MessagesServer):
    server.trouble = [(401, {})] * 3
    with pytest.raises(RunStopped, match="HTTP 401: trouble 401"):
        rubricate.grade(dataset(), example()("claude", KEY, server.url))
    assert len(server.requests) == 1


class Raising(Model):
    """A model that raises what its client does, and then answers."""

    name = "raising"

    def __init__(self, *raised: Exception) -> None:
        self._raised = list(raised)

    def fingerprint(self) -> dict[str, Any]:
        return {"model": self.name}

    async def complete(self, request: Request) -> Completion:
        if self._raised:
            raise self._raised.pop(0)
        return Completion('{"reason": "r", "evidence": [], "verdict": "UNMET"}')


class ClientError(Exception):
    """What somebody's client raises."""


@pytest.mark.parametrize(
    "raised", [ConnectionResetError("reset"), OSError("no"), TimeoutError(), ClientError()]
)
def test_a_lost_connection_and_a_timeout_are_tried_again(raised: Exception):
    result = rubricate.grade(dataset(2), Raising(raised))
    assert [item.criteria["a"].label for item in result] == ["UNMET"] * 2


def test_whatever_else_a_model_raises_fails_that_judgement_and_no_other():
    result = rubricate.grade(dataset(4), Raising(KeyError("content")), concurrency=1)
    failed, *others = [item.criteria["a"] for item in result]
    assert failed.error is not None
    assert (failed.status, failed.error.kind) == ("failed", "judge_error")
    assert failed.error.message == "KeyError: 'content'"
    assert [verdict.label for verdict in others] == ["UNMET"] * 3


class Careless(Raising):
    """A model whose author forgot what `complete` gives."""

    async def complete(self, request: Request) -> Any:
        return "MET"


def test_a_model_that_gives_no_completion_fails_in_words():
    result = rubricate.grade(dataset(1), Careless())
    error = result.items[0].criteria["a"].error
    assert error is not None
    assert error.message == "TypeError: complete gives a Completion, not str"


class Wordless(Model):
    name = endpoint = "wordless"


class Unkeyed(Raising):
    """A model whose fingerprint no key can be made of."""

    def fingerprint(self) -> dict[str, Any]:
        return {"client": object()}


def test_what_a_model_lacks_is_named_before_anything_is_asked():
    with pytest.raises(InputError, match="Wordless lacks a method: write async def complete"):
        rubricate.grade(dataset(1), Wordless())
    with pytest.raises(InputError, match="a model's fingerprint must be JSON values"):
        rubricate.grade(dataset(1), Unkeyed())


def test_a_model_needs_no_more_than_its_three_parts():
    model = Raising()
    assert model.endpoint == "raising"
    assert (model.repeatable, model.opens_connections, model.caches_prefixes) == (False,) * 3
    assert model.gives_probabilities
    assert model.count_tokens is None
    assert model.price(rubricate.Usage(1)) is None
    assert model.parameters(Request((), None)) == model.fingerprint()
    assert asyncio.run(model.aclose()) is None  # type: ignore[func-returns-value]
    assert ModelJudge(model).key(Item("a"), Criterion(name="a", requirement="b"))
