"""Clients of openai and langchain_openai as far as the programs use them, where neither is."""

from __future__ import annotations

import asyncio
import json
import sys
from http.client import HTTPConnection
from types import ModuleType, SimpleNamespace
from typing import Any
from urllib.parse import urlsplit


def _post(address: str, body: dict[str, Any]) -> Any:
    parts = urlsplit(address)
    connection = HTTPConnection(parts.hostname or "", parts.port)
    path, headers = f"{parts.path}/chat/completions", {"Content-Type": "application/json"}
    connection.request("POST", path, json.dumps(body), headers)
    reply = connection.getresponse().read()
    connection.close()
    return json.loads(reply, object_hook=lambda fields: SimpleNamespace(**fields))


class AsyncOpenAI:
    def __init__(self, *, api_key: str, base_url: str) -> None:
        self.base_url = base_url
        self.chat = SimpleNamespace(completions=SimpleNamespace(create=self._create))

    async def _create(self, **body: Any) -> Any:
        return await asyncio.to_thread(_post, self.base_url, body)


class ChatOpenAI:
    def __init__(self, *, model: str, base_url: str, api_key: str) -> None:
        self.model_name, self.openai_api_base = model, base_url

    async def ainvoke(self, messages: list[Any]) -> Any:
        body = {"model": self.model_name, "messages": messages}
        reply = await asyncio.to_thread(_post, self.openai_api_base, body)
        return reply.choices[0].message


for client in (AsyncOpenAI, ChatOpenAI):
    name = {"AsyncOpenAI": "openai", "ChatOpenAI": "langchain_openai"}[client.__name__]
    module = sys.modules[name] = ModuleType(name)
    setattr(module, client.__name__, client)
