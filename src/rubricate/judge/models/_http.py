"""A model behind an HTTP API: OpenAI's, unless the table of providers names another.

Replies are requested in the best form that the endpoint supports, which is determined once and
remembered: a JSON Schema, then a JSON object, then text with tags. Parameters that the endpoint
rejects by name (a temperature, logprobs) are then omitted.
"""

from __future__ import annotations

import asyncio
import hashlib
import math
import re
import time
from collections.abc import Mapping
from dataclasses import replace
from functools import partial
from importlib import import_module
from typing import TYPE_CHECKING, Any, cast

import orjson

from rubricate._sync import running_loop
from rubricate._version import __version__
from rubricate.errors import InputError, ModelError, shown
from rubricate.judge.models._forms import (
    REFUSALS,
    TOP_LOGPROBS,
    Form,
    Structured,
    checked_headers,
    checked_options,
    forms_of,
    ignores_schema,
    simpler_choice,
    with_instruction,
)
from rubricate.judge.models._model import TEMPERATURE, TIMEOUT, Completion, Model, Request
from rubricate.judge.models._providers import access, password, proxy_for, split_name
from rubricate.judge.models._responses import (
    LONGEST_ANSWER,
    BrokenOff,
    NoDescriptor,
    NotConnected,
    NotConnectedInTime,
    ProxyRefused,
    parse_body,
    plain_body,
    quota,
    status_error,
)
from rubricate.judge.models._wire import Sampling, Wire
from rubricate.rubric import NO_USAGE, Usage

if TYPE_CHECKING:
    import ssl

    from rubricate.judge.models._model import ReplyForm
    from rubricate.judge.models._prices import ModelPrice
    from rubricate.judge.models._wire import Transport

NO_ANSWER = (OSError, BrokenOff, ProxyRefused, UnicodeError)
"""The exceptions of a transport; a timeout is an `OSError`, too."""
_PROXY_ASKS = 407
_SHOWN = 300
"""The maximum number of characters of an endpoint's message that an error repeats."""
_NO_WORD = 16
"""The length from which a key cannot be a word of a reply; keys of your own servers may be
shorter."""
_VERSION = re.compile(r"/v\d")
"""A part of nearly all addresses of OpenAI-compatible servers."""
_PLAIN = ("gpt-3.5", "gpt-4", "claude-", "mistral-", "deepseek-chat")
"""Beginnings of the names of models that, by their documentation, think only on request."""
_ASKS = ("thinking", "reasoning", "reasoning_effort", "extra_body", "output_config")
"""Fields of a request that make a model think."""
_NO_CHAT = "v1/responses"
"""The text in OpenAI's rejection of a model that supports only the Responses API."""


class HTTPModel(Model):
    """A chat model at an OpenAI-compatible endpoint.

    Args:
        name: `provider/model` (see `rubricate judges`), or the model's own name with `base_url`.
        base_url: the address of the API, up to and including `/v1`.
        temperature: the sampling temperature; None for the endpoint's default.
        max_tokens: the maximum number of tokens of a reply; None for the endpoint's default. (A
            reply of one token, in probability mode, has its own limit.)
        model_options: other fields to send with each request, with the endpoint's names, such as
            `{"reasoning_effort": "high"}`. They are part of the fingerprint.
        headers: HTTP headers for each request. They are part of the fingerprint.
        timeout: the timeout of one request in seconds.
        structured: the form in which replies are requested: `schema` (structured output), `json`
            (JSON mode) or `text`. `auto` starts with the first, and falls back to the next if the
            endpoint rejects it or its replies ignore it. It is not part of the fingerprint.
        prices: prices of models by name, which take precedence over the price tables (see
            `read_prices`).
        needs_key: False for estimates, which send nothing.

    Raises:
        InputError: the name is unknown and there is no address, a value is invalid, or the
            environment names a proxy that is not an HTTP proxy.
        MissingKeyError: the provider's key variable is not set, and `needs_key`.
    """

    repeatable = opens_connections = True

    def __init__(
        self,
        name: str,
        *,
        base_url: str | None = None,
        temperature: float | None = TEMPERATURE,
        max_tokens: int | None = None,
        model_options: Mapping[str, Any] | None = None,
        headers: Mapping[str, str] | None = None,
        timeout: float = TIMEOUT,
        structured: Structured = "auto",
        prices: Mapping[str, ModelPrice] | None = None,
        needs_key: bool = True,
    ) -> None:
        if not timeout > 0:
            raise InputError(f"the timeout must be more than 0 seconds, found {timeout}")
        if max_tokens is not None and max_tokens < 1:
            raise InputError(f"max_tokens must be at least 1, found {max_tokens}")
        is_number = isinstance(temperature, int | float)
        if temperature is not None and not (is_number and 0 <= temperature < math.inf):
            raise InputError(f"the temperature must be 0 or more, found {shown(temperature)}")
        self.name = name
        self._given = partial(
            type(self),
            base_url=base_url,
            temperature=temperature,
            max_tokens=max_tokens,
            model_options=model_options,
            headers=headers,
            timeout=timeout,
            structured=structured,
            prices=prices,
        )
        self._headers = checked_headers(headers) if headers else {}
        where = access(name, base_url, needs_key)
        self._url = self.endpoint = where.url
        self._model, self._key, self.key_variable = where.model, where.key, where.key_variable
        self.account = hashlib.blake2b((self._key or "").encode(), digest_size=16).hexdigest()
        self._proxy = proxy_for(self._url)
        self._secrets = [secret for secret in (self._key, password(self._proxy)) if secret]
        self._long_secrets = [secret for secret in self._secrets if len(secret) >= _NO_WORD]
        self._provider = split_name(name)[0] if base_url is None else None
        self.caches_prefixes = self._provider is not None and self._provider.caches_prefixes
        self._wire = _wire("_openai" if self._provider is None else self._provider.wire)
        # Claude, also behind OpenRouter, caches what is marked; the others decide for themselves.
        self.marks_prefixes = base_url is None and name.startswith(
            ("anthropic/", "openrouter/anthropic/")
        )
        self._sampling = Sampling(
            checked_options(model_options),
            max_tokens,
            bounds_quotes=self._provider is None or not self._provider.key_required,
            marks=self.marks_prefixes,
        )
        self._own_price = (prices or {}).get(name)
        self._temperature = temperature
        self._timeout = timeout
        self.gives_probabilities = self._provider is None or self._provider.gives_logprobs
        logprobs = TOP_LOGPROBS if self.gives_probabilities else 0
        self._form = Form("json_schema", temperature, logprobs)
        self._reply_forms = forms_of(self._url, self._model, structured)
        self._connections: dict[asyncio.AbstractEventLoop, Transport] = {}
        self.is_trusted = type(self) is HTTPModel

    def __reduce__(self) -> tuple[Any, ...]:
        """Copies are created from the arguments: with their own connections, and the local key.

        So what is sent to other processes contains no key.
        """
        return self._given, (self.name,)

    def fingerprint(self) -> dict[str, Any]:
        settings: dict[str, Any] = {"model": self._model, "endpoint": self._url}
        settings["temperature"] = self._temperature
        options, most = self._sampling.options, self._sampling.max_tokens
        if most is not None:
            settings["max_tokens"] = most
        settings |= {"headers": self._headers} if self._headers else {}
        return settings | {"model_options": options} if options else settings

    async def complete(self, request: Request) -> Completion:
        """Return the reply to a request, repeated in a simpler form if one is rejected."""
        free = request.schema is None
        form, forms = self._form, self._reply_forms
        first_rung = form.rung
        is_noted = not free and (first_rung != forms.settled or bool(request.lost_in))
        if is_noted and (first_rung := forms.choose(request.lost_in)) != form.rung:
            form = replace(form, rung=first_rung)
        spent = NO_USAGE
        refused: list[ReplyForm] = []
        try:
            while True:
                try:
                    sent = with_instruction(request, form)
                    messages = sent or request.messages
                    payload = self._wire.payload(
                        self._model, request, messages, form, self._sampling
                    )
                    completion = await self._post(payload, None if free else form.rung)
                except ModelError as error:
                    spent = error.usage = spent + error.usage
                    if request.choices:
                        simpler = simpler_choice(form, error)
                    else:
                        simpler = self._simpler(form, error, free)
                    if simpler is None:
                        error.sent = sent
                        raise
                    if simpler.rung != form.rung:
                        refused.append(form.rung)
                    form = simpler
                    continue
                if spent is not NO_USAGE:
                    self._form = form
                    completion = replace(completion, usage=spent + completion.usage)
                if is_noted or refused:
                    forms.answered(form.rung, refused)
                return completion if sent is None else replace(completion, sent=sent)
        finally:
            if is_noted:
                forms.end(first_rung)

    @property
    def may_think(self) -> bool:  # type: ignore[override]
        """Whether replies may contain thinking, by the model's name and the options."""
        options = self._sampling.options
        if options.get("reasoning_effort") == "none":
            return False
        name = self._model.rpartition("/")[2]
        return not name.startswith(_PLAIN) or not options.keys().isdisjoint(_ASKS)

    def parameters(self, request: Request) -> dict[str, Any]:
        """The sampling parameters in the form of the API: `temperature`, `max_tokens` and the
        like."""
        return self._wire.parameters(request, self._form, self._sampling)

    def _simpler(self, form: Form, error: ModelError, free: bool) -> Form | None:
        """Return the form to repeat a rejected request in; None if none would help.

        A request for `free` text has no simpler form.
        """
        if error.kind != "bad_request" or error.status not in REFUSALS:
            return None
        text = str(error).lower()
        if self._is_about_an_option(text):
            return None
        if "temperature" in text and form.temperature is not None:
            return replace(form, temperature=None)
        if "max_tokens" in text and self._sampling.max_tokens and form.most == "max_tokens":
            return replace(form, most="max_completion_tokens")
        rung = None if free else self._reply_forms.after_refusal(form.rung, text)
        return None if rung is None else replace(form, rung=rung)

    def _is_about_an_option(self, text: str) -> bool:
        """Whether a rejection with this text (in lower case) names one of the user's own
        options."""
        names = map(re.escape, map(str.lower, self._sampling.options))
        return any(re.search(rf"\b{name}\b", text) for name in names)

    def after_unreadable(self, request: Request, completion: Completion) -> Request:
        """Return the same request in a simpler form if the reply ignored the requested one.

        If that happens too often, all requests for this model use the simpler form.
        """
        form = completion.form
        if form is None or request.schema is None or not ignores_schema(completion, request.schema):
            return request
        self._reply_forms.lost(form, request.lost_in)
        return replace(request, lost_in=(*request.lost_in, form))

    @property
    def note(self) -> str | None:  # type: ignore[override]
        """The forms that the endpoint accepts and ignores."""
        names = {"json_schema": "structured output", "json_object": "JSON mode"}
        ignored = " and ".join(names[form] for form in self._reply_forms.ignored)
        if not ignored:
            return None
        return (
            f"The endpoint of {self.name} accepts {ignored}, but its replies ignore it, so they "
            "were asked for in a simpler form (see the option structured)"
        )

    async def _post(self, payload: dict[str, Any], form: ReplyForm | None) -> Completion:
        begin = time.perf_counter()
        try:
            answer = await self._connected().post(orjson.dumps(payload), self._timeout)
        except NO_ANSWER as error:
            raise self._unanswered(error, self._timeout) from None
        seconds = time.perf_counter() - begin
        headers = answer.headers
        raw = answer.body
        if "content-encoding" in headers:
            try:
                raw = plain_body(answer, LONGEST_ANSWER)
            except ModelError as error:
                unread = self._redacted(error)
                unread.usage = Usage(1, cost=None)
                raise unread from None
        if not 200 <= answer.status < 300:
            raise self._billed(self._refusal(answer.status, raw, headers), raw, headers)
        try:
            body = parse_body(raw)
            reply = self._wire.reply(body)
        except ModelError as error:
            raise self._billed(self._explained(self._redacted(error)), raw, headers) from None
        usage = self._reported(body, raw, headers, seconds)
        model = body.get("model")
        if not isinstance(model, str):
            model = ""
        if self._long_secrets:
            model = self._without_keys(model)
            reply.text = self._without_keys(reply.text)
            reply.elsewhere = self._without_keys(reply.elsewhere)
            reply.unusable = self._without_keys(reply.unusable)
            reply.finish_reason = self._without_keys(reply.finish_reason)
            reply.thinking = self._without_keys(reply.thinking)
        return Completion(
            reply.text,
            usage,
            quota(headers),
            reply.probabilities,
            reply.finish_reason != "stop" and reply.cut_off,
            None,
            reply.elsewhere,
            reply.unusable,
            model,
            reply.finish_reason,
            form,
            "" if usage.input_tokens or usage.cost is not None else _written(body),
            reply.thinking,
        )

    def _unanswered(self, error: Exception, seconds: float) -> ModelError:
        """The error for a missing (`NO_ANSWER`) or incomplete response."""
        text = str(error) or type(error).__name__
        match error:
            case TimeoutError():
                usage = Usage(1) if isinstance(error, NotConnectedInTime) else None
                late = ModelError("timeout", f"no answer within {seconds:g} s", usage=usage)
                return self._explained(late)
            case BrokenOff():
                broken = ModelError("truncated", self._clean(f"the answer broke off: {error}"))
                return self._billed(broken, error.body, {})
            case ProxyRefused():
                return self._refused_by_proxy(error.status)
            case UnicodeError():  # an invalid host name
                return ModelError("not_found", f"not a usable address: {error}")
            case NoDescriptor():
                return ModelError("files", f"no connection can be opened: {error}")
        remedies = {
            "Connect call failed": "; start the server, or correct the port",
            "not known": "; check the name in the address",
            "No address associated": "; check the name in the address",
            "WRONG_VERSION_NUMBER": "; the server speaks http: write http://, not https://",
        }
        advice = next((words for part, words in remedies.items() if part in text), "")
        text = self._clean(f"cannot reach {self._url}: {text}{advice}")
        return ModelError("connection", text, unsent=isinstance(error, NotConnected))

    def _reported(
        self, body: object, raw: bytes, headers: Mapping[str, str], seconds: float = 0.0
    ) -> Usage:
        """The usage that a body reports; a cost of None if it reports none.

        The endpoint's own cost counts, unless it is 0: gateways that do not know a price report 0.
        """
        tokens = self._wire.usage(body, raw, headers)
        if tokens is not None:
            read, cached, written, output, reasoning, _ = tokens
            priced = self._price(read, cached, output, written)
            return Usage(1, read, cached, output, priced, seconds, reasoning)
        from rubricate.judge.models._token_counts import reported_cost, reported_tokens

        tokens, stated = reported_tokens(body), reported_cost(body, headers)
        cost = stated.dollars if stated.is_whole else None
        if tokens is None:
            return Usage(1, cost=cost or self._free, seconds=seconds)
        read, cached, written, output, reasoning, kept = tokens
        if not cost:
            # Tokens cached for an hour cost twice the input's price, and not 1.25 times.
            priced = self._price(read + math.ceil(0.75 * kept), cached, output, written)
            if priced is not None:
                cost = priced if stated.is_whole else priced + (stated.dollars or 0.0)
        return Usage(1, read, cached, output, cost, seconds, reasoning)

    @property
    def _free(self) -> float | None:
        """The cost of a request whatever its tokens: 0 on the user's own server, else None."""
        is_own = self._provider is not None and not self._provider.key_required
        return 0.0 if is_own and self._own_price is None else None

    def _billed(self, error: ModelError, raw: bytes, headers: Mapping[str, str]) -> ModelError:
        """Add the usage that the body reports, if any, to an error."""
        try:
            body = orjson.loads(raw)
        except orjson.JSONDecodeError:
            from rubricate.judge.models._token_counts import unfinished

            body = unfinished(raw)
        usage = self._reported(body, raw, headers)
        if usage.cost is not None or usage.input_tokens:
            error.usage = usage
        return error

    def price(self, usage: Usage) -> float | None:
        """US dollars for these tokens; None if the price of this model is unknown."""
        return self._price(usage.input_tokens, usage.cached_tokens, usage.output_tokens)

    def write_price(self, tokens: int) -> float | None:
        """US dollars for input that is written into the endpoint's cache.

        Args:
            tokens: the number of input tokens.
        """
        return self._price(tokens, 0, 0, tokens)

    def _price(self, *counts: int) -> float | None:
        if self._own_price is not None:
            return self._own_price.cost(*counts)
        if self._provider is None:
            return None
        from rubricate.judge.models._prices import price

        return price(self._provider, self._model, *counts)

    def _refusal(
        self, status: int, raw: bytes, headers: Mapping[str, str], path: str | None = None
    ) -> ModelError:
        if status == _PROXY_ASKS and self._proxy:
            return self._refused_by_proxy(status)
        refusal = self._redacted(status_error(status, raw, headers))
        if 300 <= status < 400 and (target := headers.get("location")):
            text = (
                "redirects are not followed: give the right address as the base URL. "
                f"This one leads to {target.partition('?')[0]}"
            )
            return self._redacted(ModelError(refusal.kind, f"HTTP {status}: {text}", status=status))
        return self._explained(refusal, path)

    def _explained(self, error: ModelError, path: str | None = None) -> ModelError:
        """Add advice to an error if it depends on the address, the model or the key."""
        at = f"{self._url}{path or self._wire.PATH}"
        match error.kind:
            case "not_found":
                advice = f"the request was for model '{self._model}' at {at}"
                if not _VERSION.search(self._url):
                    advice += " (most addresses end in /v1)"
                elif re.search(r"(/v\d+)\1", self._url):
                    advice += " (write /v1 once)"
                if _NO_CHAT in str(error):
                    advice += f"; name it openai-responses/{self._model}"
                advice += "; rubricate judges --check tries a judge with one question"
            case "auth":
                advice = "check the key in" if self._key else "set"
                advice += f" the environment variable {self.key_variable}"
            case "server" | "truncated":
                advice = f"from {at}"
                if "web page" in str(error) and not _VERSION.search(self._url):
                    advice += " (most addresses end in /v1)"
            case "timeout":
                advice = (
                    f"from {at}: a slow server needs a longer --timeout, or fewer requests at once "
                    "(--concurrency)"
                )
            case _:
                return error
        return error.copy(f"{error}; {advice}", error.usage)

    def _refused_by_proxy(self, status: int) -> ModelError:
        """The error for a proxy that rejects a request."""
        if status == _PROXY_ASKS:
            return ModelError(
                "auth",
                f"HTTP {status}: the proxy wants another user name and password; give them in "
                "HTTPS_PROXY or HTTP_PROXY, as http://user:password@host:port",
                status=status,
            )
        text = f"the proxy cannot reach {self._url}: HTTP {status}"
        return ModelError("connection", self._clean(text), unsent=True)

    def _connected(self) -> Transport:
        """The connections of the running loop, created on first use."""
        loop = asyncio.get_running_loop()
        connections = self._connections.get(loop)
        if connections is None:
            from rubricate.judge.models._connections import Connections

            self._forget_ended()
            headers = {
                "Accept": "application/json",
                "Accept-Encoding": "identity",
                "Content-Type": "application/json",
                "User-Agent": f"rubricate/{__version__}",
            }
            if self._key:
                headers |= self._wire.headers(self._key)
            headers |= self._headers
            connections = self._connections[loop] = Connections(
                f"{self._url}{self._wire.PATH}",
                headers,
                proxy=self._proxy,
                context=self._verified(),
            )
        return connections

    def _verified(self) -> ssl.SSLContext | None:
        """How certificates are verified: by the system's authorities and `SSL_CERT_FILE`."""
        if not (self._url.startswith("https:") or (self._proxy or "").startswith("https:")):
            return None
        import ssl

        return ssl.create_default_context()

    def _clean(self, text: str) -> str:
        from rubricate.judge.models._redaction import redacted

        return redacted(text, self._secrets) if self._secrets else text

    def _without_keys(self, reply: str) -> str:
        """Remove the key from a reply, in case a server repeats what it was sent."""
        if len(reply) < _NO_WORD:  # shorter than any of them
            return reply
        from rubricate.judge.models._redaction import redacted

        return redacted(reply, self._long_secrets)

    def _redacted(self, error: ModelError) -> ModelError:
        """Remove the key from an error, and only then shorten it, so that no half of a key remains.

        Terminal control characters become '?'.
        """
        text = self._clean(str(error))
        shown = text if len(text) <= _SHOWN else f"{text[:_SHOWN]}..."
        return error.copy("".join([letter if letter.isprintable() else "?" for letter in shown]))

    async def aclose(self) -> None:
        connections = self._connections.pop(running_loop(), None)
        if connections is not None:
            await connections.aclose()
        self._forget_ended()

    def _forget_ended(self) -> None:
        """Drop the connections of loops that have ended."""
        for loop in [loop for loop in list(self._connections) if loop.is_closed()]:
            self._connections.pop(loop, None)


def _written(body: object) -> str:
    from rubricate.judge.models._token_counts import written_text

    return written_text(body)


def _wire(name: str) -> Wire:
    """Load the API module with this name."""
    wire: Any = import_module(f"rubricate.judge.models.{name}")
    return cast("Wire", wire)
