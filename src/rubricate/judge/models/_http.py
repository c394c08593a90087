"""A model behind an OpenAI-compatible HTTP interface.

Structured output comes by the best way that the endpoint knows, found out once and remembered:
a JSON Schema, then a JSON object, then text with tags. Parameters that the endpoint refuses by
name (a temperature, say) are left out from then on.
"""

from __future__ import annotations

import asyncio
import time
from typing import TYPE_CHECKING, Any, Literal
from urllib.parse import urlsplit

from rubricate._version import __version__
from rubricate.errors import ModelError
from rubricate.judge.models._model import Completion, Request
from rubricate.judge.models._prices import price
from rubricate.judge.models._providers import api_key, base_url, split_name
from rubricate.judge.models._wire import (
    TAGGED_INSTRUCTION,
    completion_text,
    parse_body,
    retry_after,
    status_error,
    token_counts,
)
from rubricate.rubric import Usage

if TYPE_CHECKING:
    import aiohttp

__all__ = ["HTTPModel"]

Rung = Literal["json_schema", "json_object", "text"]
_LADDER: tuple[Rung, ...] = ("json_schema", "json_object", "text")
_FORMAT_WORDS = ("response_format", "json_schema", "json_object", "structured", "schema")


class HTTPModel:
    """A chat model at an OpenAI-compatible endpoint.

    Args:
        name: `provider/model` (see `rubricate judges`), or the model's own name with `base_url`.
        base_url: the address of the interface, up to and with `/v1`.
        temperature: sampling temperature; None leaves it to the endpoint.
        timeout: seconds that one request may take.

    Raises:
        InputError: the name is not known and no address is given.
        MissingKeyError: the provider's key variable is not set.
    """

    def __init__(
        self,
        name: str,
        *,
        base_url: str | None = None,
        temperature: float | None = 0.0,
        timeout: float = 120.0,
    ) -> None:
        self.name = name
        self._url, self._model = _address(name, base_url)
        self.endpoint = self._url
        self._key, self.key_variable = api_key(name, elsewhere=base_url is not None)
        self._provider = split_name(name)[0] if base_url is None else None
        self._temperature = temperature
        self._timeout = timeout
        self._rung: Rung = "json_schema"
        self._rung_is_proven = False
        self._refused: set[str] = set()
        self._session: aiohttp.ClientSession | None = None
        self._loop: asyncio.AbstractEventLoop | None = None

    def fingerprint(self) -> dict[str, Any]:
        return {"model": self._model, "endpoint": self._url, "temperature": self._temperature}

    async def complete(self, request: Request) -> Completion:
        spent = Usage()
        while True:
            rung, refused = self._rung, frozenset(self._refused)
            try:
                completion = await self._post(self._payload(request, rung, refused))
            except ModelError as error:
                if not self._adapt(error, rung, refused):
                    raise
                spent += Usage(requests=1)
                continue
            if rung == self._rung:
                self._rung_is_proven = True
            return Completion(completion.text, spent + completion.usage)

    def _payload(self, request: Request, rung: Rung, refused: frozenset[str]) -> dict[str, Any]:
        messages: list[dict[str, Any]] = [dict(message) for message in request.messages]
        payload: dict[str, Any] = {"model": self._model, "messages": messages}
        if self._temperature is not None and "temperature" not in refused:
            payload["temperature"] = self._temperature
        if rung == "json_schema":
            payload["response_format"] = {
                "type": "json_schema",
                "json_schema": {"name": "judgement", "strict": True, "schema": request.schema},
            }
        elif rung == "json_object":
            payload["response_format"] = {"type": "json_object"}
        else:
            messages[-1]["content"] += "\n\n" + TAGGED_INSTRUCTION
        return payload

    def _adapt(self, error: ModelError, rung: Rung, refused: frozenset[str]) -> bool:
        """Learn from a refused request what to leave out; whether the request is worth repeating.

        Until a way of structured output has worked once, any refused request may be due to it;
        afterwards only one that says so.
        """
        if error.kind != "bad_request" or error.status not in (400, 404, 415, 422, 501):
            return False
        text = str(error).lower()
        if "temperature" in text and self._temperature is not None:
            if "temperature" in refused:
                return False
            self._refused.add("temperature")
            return True
        if rung == "text":
            return False
        if self._rung_is_proven and not any(word in text for word in _FORMAT_WORDS):
            return False
        if self._rung == rung:  # not yet moved by a request that was in flight beside this one
            self._rung = _LADDER[_LADDER.index(rung) + 1]
            self._rung_is_proven = False
        return True

    async def _post(self, payload: dict[str, Any]) -> Completion:
        import aiohttp
        import orjson

        begin = time.perf_counter()
        try:
            async with self._connected().post(
                f"{self._url}/chat/completions",
                data=orjson.dumps(payload),
                allow_redirects=False,
            ) as response:
                status = response.status
                raw = await response.read()
                wait = retry_after(response.headers)
        except TimeoutError:
            raise ModelError("timeout", f"no answer within {self._timeout:g} s") from None
        except aiohttp.ClientPayloadError as error:
            raise ModelError("truncated", self._clean(f"the answer broke off: {error}")) from None
        except aiohttp.InvalidURL as error:
            raise ModelError("not_found", f"not a usable address: {error}") from None
        except (aiohttp.ClientError, OSError) as error:
            reason = str(error) or type(error).__name__
            raise ModelError(
                "connection", self._clean(f"cannot reach {self._url}: {reason}")
            ) from None
        seconds = time.perf_counter() - begin
        if status != 200:
            raise self._redacted(self._refusal(status, raw, wait))
        try:
            body = parse_body(raw)
            text = completion_text(body)
        except ModelError as error:
            raise self._redacted(error) from None
        read, cached, written, billed = token_counts(body)
        if billed is None and self._provider is not None:
            billed = price(self._provider, self._model, read, cached, written)
        return Completion(text, Usage(1, read, cached, written, billed, seconds))

    def _refusal(self, status: int, raw: bytes, wait: float | None) -> ModelError:
        refusal = status_error(status, raw, wait)
        if refusal.kind != "auth":
            return refusal
        advice = "check the key in" if self._key else "set"
        return ModelError(
            "auth",
            f"{refusal}; {advice} the environment variable {self.key_variable}",
            status=status,
        )

    def _connected(self) -> aiohttp.ClientSession:
        """The session of the running loop, made on first use."""
        import aiohttp

        loop = asyncio.get_running_loop()
        if self._session is None or self._session.closed or self._loop is not loop:
            headers = {
                "Content-Type": "application/json",
                "User-Agent": f"rubricate/{__version__}",
            }
            if self._key:
                headers["Authorization"] = f"Bearer {self._key}"
            self._session = aiohttp.ClientSession(
                connector=aiohttp.TCPConnector(limit=0),
                timeout=aiohttp.ClientTimeout(total=self._timeout),
                headers=headers,
            )
            self._loop = loop
        return self._session

    def _clean(self, text: str) -> str:
        return text.replace(self._key, "[key]") if self._key else text

    def _redacted(self, error: ModelError) -> ModelError:
        return ModelError(
            error.kind,
            self._clean(str(error)),
            status=error.status,
            retry_after=error.retry_after,
        )

    async def aclose(self) -> None:
        session, self._session = self._session, None
        if session is not None and self._loop is asyncio.get_running_loop():
            await session.close()


def _address(name: str, given: str | None) -> tuple[str, str]:
    url, model = base_url(name, given)
    parts = urlsplit(url)
    if parts.username or parts.password:
        raise ValueError("the base URL must not contain a user name or password")
    return url, model
