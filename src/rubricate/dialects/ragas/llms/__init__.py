"""`ragas.llms`: clients of other libraries as models, without importing these libraries.

Clients are recognised by their methods, and called as they are, so that address and key remain in
the client. Its own retries, timeouts and structured output still apply.
"""

from __future__ import annotations

import asyncio
import hashlib
import inspect
import json
import time
from collections.abc import Awaitable, Callable, Mapping, Sequence
from typing import Any
from urllib.parse import urlsplit

from rubricate.errors import InputError, ModelError
from rubricate.judge import Completion, HTTPModel, Message, Model, Request, status_error
from rubricate.rubric import Usage

BaseRagasLLM = Model
Asked = Callable[[list[Message]], Awaitable[Any]]
SETTINGS = ("temperature", "max_tokens", "top_p", "seed", "reasoning_effort", "model_kwargs")
"""Settings of LangChain models that change the answers."""


class ClientModel(Model):
    """A client of another library as a model of the engine.

    Args:
        name: its name in results.
        ask: the function that calls the client and returns its reply.
        address: the address to which the client says that it sends requests; "" if it does not say.
        settings: what the client sends in addition to the messages.
        timeout: the timeout of a request in seconds. Default: that of the client.
    """

    def __init__(
        self,
        name: str,
        ask: Asked,
        *,
        address: str = "",
        settings: Mapping[str, Any] | None = None,
        timeout: float | None = None,
    ) -> None:
        self.name = name
        self.endpoint = address or name
        self.timeout = timeout
        self._ask = ask
        self._settings = dict(settings or {})

    def fingerprint(self) -> dict[str, Any]:
        text = json.dumps(_plain(self._settings), sort_keys=True).encode("utf-8", "replace")
        digest = hashlib.blake2b(text, digest_size=16).hexdigest()  # may contain secrets
        return {"client": self.name, "endpoint": self.endpoint, "settings": digest}

    async def complete(self, request: Request) -> Completion:
        begin = time.perf_counter()
        try:
            async with asyncio.timeout(self.timeout):
                reply = await self._ask(list(request.messages))
        except TimeoutError as error:
            limit = "in time" if self.timeout is None else f"within {self.timeout:g} s"
            raise ModelError("timeout", f"{self.name} gave no answer {limit}") from error
        except Exception as error:
            raise _model_error(error) from error
        came_in, came_out = _tokens_of(reply)
        ended = _ending_of(reply)
        seconds = time.perf_counter() - begin
        usage = Usage(1, came_in, 0, came_out, cost=None, seconds=seconds)
        return Completion(
            _text_of(reply), usage, cut_off=ended in ("length", "max_tokens"), finish_reason=ended
        )


def client_model(client: object, timeout: float | None = None) -> Model | None:
    """Convert an object of another library to a model; None if it is not supported.

    Args:
        client: a LangChain chat model, or a wrapper with the attribute `langchain_llm`.
        timeout: the timeout of a request in seconds.

    Raises:
        InputError: it is an OpenAI client, which has no model name.
    """
    client = getattr(client, "langchain_llm", client)
    if _creator(client) is not None:
        raise InputError(
            f"llm: a {type(client).__name__} does not say which model to ask: give "
            "llm_factory('gpt-6-luna', client=...), from rubricate.dialects.ragas.llms"
        )
    if not (
        callable(getattr(client, "ainvoke", None)) or callable(getattr(client, "invoke", None))
    ):
        return None
    names = (getattr(client, name, None) for name in ("model_name", "model", "deployment_name"))
    model = next((name for name in names if isinstance(name, str) and name), type(client).__name__)
    address = next(
        (
            getattr(client, name)
            for name in ("openai_api_base", "base_url", "anthropic_api_url")
            if isinstance(getattr(client, name, None), str)
        ),
        "",
    )
    settings = {
        name: getattr(client, name)
        for name in SETTINGS
        if getattr(client, name, None) not in (None, {})
    }
    library = type(client).__module__.partition(".")[0]
    return ClientModel(
        f"{library}/{model}",
        _invoking(client),
        address=_address(address),
        settings=settings,
        timeout=timeout,
    )


def LangchainLLMWrapper(langchain_llm: object, *args: Any, **named: Any) -> Model:
    """Convert a LangChain chat model to a model of the engine. You may also pass it without this.

    Raises:
        InputError: it is not one, or there are further arguments.
    """
    if args or named:
        raise InputError(
            "LangchainLLMWrapper only takes a model: change settings on the model itself"
        )
    model = client_model(langchain_llm)
    if model is None:
        raise InputError(f"expected a LangChain chat model, found a {type(langchain_llm).__name__}")
    return model


def llm_factory(
    model: str, provider: str = "openai", client: object = None, **settings: Any
) -> Model:
    """Create a model by name, or from an OpenAI client.

    Args:
        model: the model's name.
        provider: the provider if there is no client, as listed by `rubricate judges`.
        client: an `OpenAI` or `AsyncOpenAI` object, or another with `chat.completions.create`.
        settings: what the client sends with every request (`temperature`, `max_tokens`, ...);
            without a client, the options of `HTTPModel`.

    Raises:
        InputError: the client is not supported, or a setting is unknown.
        MissingKeyError: there is no client, and the provider's API key is not set.
    """
    for name in ("adapter", "cache"):
        if settings.pop(name, None) not in (None, "auto"):
            raise InputError(
                f"llm_factory does not support {name}: use the engine's journal and cache"
            )
    if client is None:
        parameters = inspect.signature(HTTPModel).parameters
        for name in settings:
            if name not in parameters:
                raise InputError(
                    f"llm_factory: '{name}' needs a client; HTTPModel has no such option"
                )
        return HTTPModel(f"{provider}/{model}", **settings)
    create = _creator(client)
    if create is None:
        raise InputError(
            f"llm_factory: a {type(client).__name__} has no chat.completions.create; give the "
            f"model by name, such as llm='{provider}/{model}'"
        )

    async def ask(messages: list[Message]) -> Any:
        return await _called(lambda: create(model=model, messages=messages, **settings))

    address = _address(str(getattr(client, "base_url", "")))
    return ClientModel(f"{provider}/{model}", ask, address=address, settings=settings)


def _creator(client: object) -> Callable[..., Any] | None:
    """Return the function that creates chat completions if a client is like OpenAI's."""
    completions = getattr(getattr(client, "chat", None), "completions", None)
    create = getattr(completions, "create", None)
    return create if callable(create) else None


def _invoking(client: Any) -> Asked:
    if callable(getattr(client, "ainvoke", None)):
        return client.ainvoke  # type: ignore[no-any-return]
    return lambda messages: _called(lambda: client.invoke(messages))


async def _called(call: Callable[[], Any]) -> Any:
    """Return the result of a call, plain or async; plain ones run in a thread."""
    result = await asyncio.to_thread(call)
    return await result if inspect.isawaitable(result) else result


def _text_of(reply: Any) -> str:
    """Return the text of a LangChain message, a chat completion, or a plain reply."""
    choices = getattr(reply, "choices", None)
    content = choices[0].message.content if choices else getattr(reply, "content", reply)
    if isinstance(content, Sequence) and not isinstance(content, str):
        parts = (part if isinstance(part, str) else _member(part, "text") for part in content)
        content = "".join(part for part in parts if isinstance(part, str))
    return content if isinstance(content, str) else ""


def _ending_of(reply: Any) -> str:
    """Return why a reply ended, if it says so."""
    choices = getattr(reply, "choices", None)
    source = choices[0] if choices else getattr(reply, "response_metadata", None)
    return str(_member(source, "finish_reason") or _member(source, "stop_reason") or "")


def _tokens_of(reply: Any) -> tuple[int, int]:
    """Return the numbers of prompt and completion tokens, if the reply has them."""
    usage = getattr(reply, "usage_metadata", None) or getattr(reply, "usage", None)
    pairs = (("input_tokens", "prompt_tokens"), ("output_tokens", "completion_tokens"))
    counts = [
        next((n for n in (_member(usage, name) for name in names) if isinstance(n, int)), 0)
        for names in pairs
    ]
    return counts[0], counts[1]


def _member(thing: Any, name: str) -> Any:
    return thing.get(name) if isinstance(thing, Mapping) else getattr(thing, name, None)


def _model_error(error: Exception) -> ModelError:
    """Convert an error, so that the engine knows whether to retry."""
    if isinstance(error, ModelError):
        return error
    kind, text = type(error).__name__, " ".join(str(error).split()) or "no message"
    status = getattr(error, "status_code", None)
    if isinstance(status, int):
        headers = getattr(getattr(error, "response", None), "headers", None) or {}
        headers_by_name = {str(key).lower(): str(value) for key, value in headers.items()}
        return status_error(status, text.encode("utf-8", "replace"), headers_by_name)
    if "Timeout" in kind:
        return ModelError("timeout", f"{kind}: {text}")
    if isinstance(error, ConnectionError) or "Connection" in kind or "ConnectError" in kind:
        return ModelError("connection", f"{kind}: {text}")
    return ModelError("bad_request", f"{kind}: {text}")


def _address(url: str) -> str:
    """Return an address without parts that may be secret: user, password, query."""
    parts = urlsplit(url)
    if not parts.hostname:
        return ""
    port = f":{parts.port}" if parts.port else ""
    return f"{parts.scheme}://{parts.hostname}{port}{parts.path}".rstrip("/")


def _plain(value: Any) -> Any:
    """Convert a setting to a JSON value."""
    if isinstance(value, Mapping):
        return {str(key): _plain(entry) for key, entry in sorted(value.items(), key=str)}
    if isinstance(value, list | tuple):
        return [_plain(entry) for entry in value]
    return value if isinstance(value, str | int | float | bool | None) else repr(type(value))
