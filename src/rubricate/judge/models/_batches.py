"""A model that answers later: its requests are sent in batches, at half the price.

`BatchModel` is an `HTTPModel` whose transport is `Batches` instead of connections. Requests, the
reading of replies and the token counts are therefore the same as for live requests.
"""

from __future__ import annotations

import asyncio
import hashlib
import logging
import time
from collections.abc import Awaitable, Callable, Iterable, Mapping
from contextvars import ContextVar
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any, TypeVar

import orjson

from rubricate.errors import InputError, ModelError, described
from rubricate.judge.models._batch_folder import Batch, BatchFolder
from rubricate.judge.models._batch_protocols import (
    AnthropicBatches,
    BatchProtocol,
    GeminiBatches,
    Http,
    OpenAIBatches,
)
from rubricate.judge.models._connections import Connections
from rubricate.judge.models._forms import with_instruction
from rubricate.judge.models._http import NO_ANSWER, HTTPModel
from rubricate.judge.models._model import Completion, Draw, Request
from rubricate.judge.models._providers import split_name
from rubricate.judge.models._responses import Answer

logger = logging.getLogger(__name__)
_T = TypeVar("_T")

PRICE = 0.5
"""The price of a request in a batch as a fraction of the live price, at all three providers."""
QUIET, LOOKS = 2.0, 8
"""Seconds without a new request before the collected ones are sent, and the number of checks in
these seconds. Checks are counted because a loop that was busy, or a machine that slept, has then
checked once and not waited. Reasoned, not measured: at half, a slow disk can split a batch; at
double, each round of a run takes 2 s longer."""
OLD = 600.0
"""Seconds after which the oldest request is sent in any case, for example after a live first stage.
At half, there are twice as many batches; at double, the first answers come ten minutes later."""
MOST_TIMES = 3
"""Batches that may leave a request unanswered before it fails. A batch expires after 24 hours."""
TRIES = 60
"""Attempts, a minute apart, to get the status of a batch: enough for an outage of an hour."""
LONGEST_WAIT = 60.0
LONGEST_FILE = 2**30
"""The maximum number of bytes of results to read; 50,000 replies have 100 MB."""
SECONDS = 600.0
"""The timeout of one upload or download, in seconds."""
OUT = "not waiting for answers"
"""The beginning of the error that ends a run which does not wait for its batches."""

HINT = ", up to a day. You can end this command: the same one collects the answers"

_draw: ContextVar[Draw] = ContextVar("_draw")


class BatchModel(HTTPModel):
    """A model at a provider with a batch API.

    Args:
        name: as for `HTTPModel`, whose other arguments are also accepted.
        then_live: whether requests that a batch leaves unanswered are sent live, and not in the
            next batch.
        waits: whether to wait for pending batches; otherwise their requests fail with `not_run`.
        every: seconds between two status requests for a pending batch.
        options: the other arguments of `HTTPModel`.

    Raises:
        InputError: the provider has no supported batch API.

    Attributes:
        live: the same model live, which answers what batches left unanswered; None if the next
            batch does.
    """

    answers_later = True

    def __init__(
        self,
        name: str,
        *,
        then_live: bool = False,
        waits: bool = True,
        every: float = 30.0,
        **options: Any,
    ) -> None:
        provider = split_name(name)[0] if options.get("base_url") is None else None
        kind = "openai" if provider is None else provider.company
        if kind not in _PROTOCOLS:
            known = ", ".join(f"{prefix}/" for prefix in _PROTOCOLS)
            raise InputError(f"no batches are known of '{name}', only of {known}: leave out batch")
        super().__init__(name, **options)
        self._given = partial(self._given, then_live=then_live, waits=waits, every=every)
        self.live = HTTPModel(name, **options) if then_live else None
        self.caches_prefixes = False  # the requests of a batch have no order
        self.waits, self.every = waits, every
        self.protocol = _PROTOCOLS[kind]()
        self.protocol.path = self._wire.PATH
        self._address = self._url
        self._batch_headers = self._wire.headers(self._key) if self._key else {}
        if kind == "gemini":
            self._address = self._url.removesuffix("/openai")
            self._batch_headers = {"x-goog-api-key": self._key or ""}
            self.gives_probabilities = False
            self._form = replace(self._form, logprobs=0)
        self._folder: BatchFolder | None = None

    def keep_in(self, folder: Path) -> None:
        if self._folder is None or self._folder.path != folder:
            self._folder = BatchFolder(folder)

    async def complete(self, request: Request) -> Completion:
        token = _draw.set(request.draw or Draw())
        try:
            return await super().complete(request)
        finally:
            _draw.reset(token)

    def has_sent(self, request: Request) -> bool:
        form = replace(self._form, rung=self._reply_forms.settled or self._form.rung)
        messages = with_instruction(request, form) or request.messages
        body = self._wire.payload(self._model, request, messages, form, self._sampling)
        return self._connected().holds(orjson.dumps(body), request.draw or Draw())

    def _price(self, *counts: int) -> float | None:
        price = super()._price(*counts)
        return None if price is None else PRICE * price

    def _connected(self) -> Batches:
        """The batches of the running loop, in place of connections."""
        if self._folder is None:
            raise InputError(
                "batches need a run folder, which stores pending requests: give run_dir"
            )
        loop = asyncio.get_running_loop()
        batches = self._connections.get(loop)
        if not isinstance(batches, Batches) or batches.folder is not self._folder:
            self._forget_ended()
            batches = self._connections[loop] = Batches(self, self._folder)
        return batches

    async def http(
        self, method: str, path: str, body: bytes = b"", kind: str = "application/json"
    ) -> bytes:
        """Send a request to the batch API and return the body of a successful response.

        Args:
            method: the HTTP method, such as `GET`.
            path: the path after the endpoint's address.
            body: the request body.
            kind: its content type.

        Raises:
            ModelError: there is no response, or an unsuccessful one.
        """
        connections = Connections(
            self._address + path,
            {"Content-Type": kind, "Accept-Encoding": "identity"}
            | self._batch_headers
            | self._headers,
            proxy=self._proxy,
            context=self._verified(),
            method=method,
            longest=LONGEST_FILE,
        )
        try:
            answer = await connections.post(body, SECONDS)
        except NO_ANSWER as error:
            raise self._unanswered(error, SECONDS) from None
        finally:
            await connections.aclose()
        if answer.status == 404:
            text = f"{self._address}{path}: HTTP 404"
            if body:
                text = f"no batches of this model at {self._address} (POST {path}: HTTP 404)"
                text += ": correct its name, or leave out --batch"
            raise ModelError("not_found", self._clean(text), status=404)
        if not 200 <= answer.status < 300:
            raise self._refusal(answer.status, answer.body, answer.headers, path)
        return answer.body


_PROTOCOLS: Mapping[str, Callable[[], BatchProtocol]] = {
    "openai": OpenAIBatches,
    "anthropic": AnthropicBatches,
    "gemini": GeminiBatches,
    "groq": OpenAIBatches,
}
"""The batch protocols by company. Servers with a custom address may have OpenAI's."""


_Outcome = Answer | ModelError | int
"""What comes of a request: the number is that of the batches that left it unanswered, 0 if its
batch was not sent."""


class Batches:
    """Collects requests, sends them in batches and waits for the results, in one event loop.

    A request is identified by a hash of its body and its `Draw`. If a batch of the folder contains
    it, whichever process sent that batch, the request is answered from it.

    Args:
        model: the model.
        folder: the folder for the state of batches.
    """

    def __init__(self, model: BatchModel, folder: BatchFolder) -> None:
        self.folder = folder
        self._model = model
        self._protocol = model.protocol
        self._http: Http = model.http
        self._every = model.every
        self._quiet = min(QUIET, 4 * model.every)
        self._collected: dict[str, bytes] = {}
        self._bytes = 0
        self._began = time.time()
        self._since = 0.0
        self._news = 0  # counts requests and answers
        self._futures: dict[str, asyncio.Future[_Outcome]] = {}
        self._answers: dict[str, Answer] = {}  # of ended batches, until they are requested
        self._following: dict[str, asyncio.Task[None]] = {}
        self._pending: set[str] = set()  # keys of batches that were pending at the last check
        self._foreign: set[str] = set()  # ids of batches that are not ours
        self._gathering: asyncio.Task[None] | None = None
        folder.refresh()

    async def post(self, body: bytes, seconds: float) -> Answer:
        """Return the answer to a request, however long it takes.

        Raises:
            ModelError: its batch could not be sent, or is lost; `expired` if batches ended without
                answering it; `not_run` if the run does not wait for it.
        """
        row, times = self._row(body, _draw.get()), 0
        while True:
            future = self._futures.get(row)
            if future is None:
                future = self._futures[row] = asyncio.get_running_loop().create_future()
                self._ask(row, body)
            outcome = await asyncio.shield(future)
            if isinstance(outcome, Answer):
                return outcome
            if isinstance(outcome, ModelError):
                raise outcome.copy()
            times += outcome
            if times and (self._model.live is not None or times >= MOST_TIMES):
                text = "its batch ended without an answer" + (f", {times} times" * (times > 1))
                raise ModelError("expired", text)

    def holds(self, body: bytes, draw: Draw) -> bool:
        """Whether a batch contains this request already."""
        return self.folder.holding(self._row(body, draw)) is not None

    async def aclose(self) -> None:
        """Stop waiting; pending batches stay at the provider."""
        tasks = [*self._following.values(), *filter(None, [self._gathering])]
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)
        for future in self._futures.values():
            future.cancel()

    def _row(self, body: bytes, draw: Draw) -> str:
        number = draw.number
        while True:
            digest = hashlib.blake2b(body, digest_size=16)
            which = f"{draw.replicate}\0{number}" + (f"\0{draw.sample}" if draw.sample else "")
            digest.update(f"\0{self._model.endpoint}\0{which}".encode())
            row = digest.hexdigest()
            batch = self.folder.holding(row) if draw.is_anew else None
            if batch is None or batch.state != "ended":
                return row
            number += 1

    def _ask(self, row: str, body: bytes) -> None:
        self._news += 1
        batch = self.folder.holding(row)
        if row in self._answers:
            self._settle(row, self._answers.pop(row))
        elif batch is not None:
            self._follow(batch)
        else:
            size = len(body) + 200  # the rest of its line
            is_full = len(self._collected) >= self._protocol.most_requests
            if self._collected and (is_full or self._bytes + size > self._protocol.most_bytes):
                self._send()
            if not self._collected:
                self._since = time.monotonic()
            self._collected[row] = body
            self._bytes += size
        if self._gathering is None or self._gathering.done():
            self._gathering = asyncio.create_task(self._gather())

    async def _gather(self) -> None:
        """Send the collected requests once no more arrive, or the oldest has waited too long."""
        seen = looks = 0
        while self._futures:
            await asyncio.sleep(self._quiet / LOOKS)
            looks = looks + 1 if self._news == seen else 0
            seen = self._news
            is_last = looks >= LOOKS
            if self._collected and (is_last or time.monotonic() - self._since > OLD):
                self._send()
                looks = 0
            elif is_last and not self._model.waits and self._following.keys() <= self._pending:
                self._leave()

    def _leave(self) -> None:
        """Fail all waiting requests, because the run does not wait for batches."""
        out = [batch for batch in self.folder.batches if batch.state != "ended"]
        rows = [row for batch in out for row in batch.rows]
        text = f"{len(rows)} requests are out in {len(out)} batch{'es' * (len(out) > 1)}"
        if out and all(batch.created < self._began for batch in out):
            first = min(out, key=lambda batch: batch.created)
            text = f"not ready: {text} {first.since}"
        own = [batch for batch in out if batch.id and batch.model == self._model.name]
        unasked = [str(b.id) for b in own if self._futures.keys().isdisjoint(b.rows)]
        if unasked:
            text += f"; {', '.join(unasked)} of another shard, or of other options or texts"
        self._end(list(self._futures), ModelError("not_run", f"{OUT}: {text}"))

    def _send(self) -> None:
        """Send the collected requests; follow those that another process has sent meanwhile."""
        collected, self._collected, self._bytes = self._collected, {}, 0
        rows: list[str] = []
        try:
            self.folder.refresh()
            for row in collected:
                batch = self.folder.holding(row)
                if batch is None:
                    rows.append(row)
                else:
                    self._follow(batch)
            if rows:
                lines = [self._protocol.line(row, collected[row]) for row in rows]
                batch = self.folder.new(self._model.name, self._model.endpoint, rows)
                self._follow(batch, lines)
        except Exception as raised:  # from the disk, or from an option
            self._end(rows or collected, _unusable(raised))

    # A batch

    def _follow(self, batch: Batch, lines: Iterable[bytes] = ()) -> None:
        if batch.key not in self._following:
            task = asyncio.create_task(self._followed(batch, list(lines)))
            self._following[batch.key] = task

    async def _followed(self, batch: Batch, lines: list[bytes]) -> None:
        """Follow a batch from any state to the answers of its requests."""
        rows = batch.rows
        try:
            if batch.state == "sending":
                await self._send_or_find(batch, lines)
            lines.clear()
            if batch.state == "out":
                await self._wait_for(batch)
            results = self.folder.results(batch)
            answers = {} if results is None else self._by_row(results)
            if results is None:  # it was not sent, or somebody deleted them
                self.folder.drop(batch)
            for row in batch.rows:
                answer = answers.get(row)
                if answer is not None and not self._settle(row, answer):
                    self._answers[row] = answer
            self._end([row for row in rows if answers.get(row) is None], int(batch.id is not None))
        except ModelError as error:
            if error.kind == "not_found" and batch.id:
                file = self.folder.path / f"{batch.key}.json"
                text = f"the provider no longer has {batch.id}, or the key is of another account"
                text = f"{text} ({error}); to send its requests again, remove {file}"
                error = ModelError("not_found", text, status=404)
            self._end(rows, error)
        except Exception as raised:  # from the disk, or an unknown format of the provider
            self._end(rows, _unusable(raised))
        finally:
            self._following.pop(batch.key, None)
            self._pending.discard(batch.key)

    async def _send_or_find(self, batch: Batch, lines: list[bytes]) -> bool:
        """Send a batch, or find the one that an earlier process may have sent; return whether it
        exists."""
        batch.id = await self._persist(partial(self._sent_or_found, batch, lines))
        if batch.id is not None:
            batch.state = "out"
            self.folder.write(batch)
        return batch.id is not None

    async def _sent_or_found(self, batch: Batch, lines: list[bytes], attempt: int) -> str | None:
        """The id of a batch; None if it was not sent before, and its requests are unavailable."""
        others = {each.id for each in self.folder.batches if each.id and each.key != batch.key}
        known = others | self._foreign
        batch_id = None
        if attempt or not lines:
            batch_id = await self._protocol.find(self._http, batch, known)
        if batch_id is None and not lines:
            await asyncio.sleep(self._every)  # a new one is not in the list at once
            batch_id = await self._protocol.find(self._http, batch, known)
        if batch_id is None and lines:
            try:
                return await self._protocol.create(self._http, batch, lines)
            except ModelError as error:
                if not error.retryable:
                    self.folder.drop(batch)
                raise
        return batch_id

    async def _wait_for(self, batch: Batch) -> None:
        """Wait until a batch has ended, and store its results.

        Raises:
            ModelError: it was rejected as a whole, or its status is unavailable.
        """
        assert batch.id is not None
        batch_id = batch.id
        while True:
            look = await self._persist(lambda _: self._protocol.look(self._http, batch_id))
            if look.has_ended:
                break
            if self._model.waits and batch.key not in self._pending:
                hint = "" if self._pending else HINT
                logger.warning("waiting for %s with %d requests%s", batch_id, len(batch.rows), hint)
            self._pending.add(batch.key)
            await asyncio.sleep(self._every)
        self._pending.discard(batch.key)
        if look.failed:
            self.folder.drop(batch)
            if not look.is_queue_full:
                raise ModelError("bad_request", f"the batch {batch_id} was refused: {look.failed}")
            logger.info("the provider's queue is full: %s", look.failed)
            await asyncio.sleep(LOOKS * self._every)
            batch.id = None
            return
        answers: dict[str, Answer | None] = {}
        for _ in range(3):  # a truncated file is complete the second time
            results = await self._persist(
                lambda _: self._protocol.results(self._http, batch_id, look)
            )
            answers = self._by_row(results)
            if answers.keys() >= set(batch.rows):
                break
        if not self._protocol.is_named and answers and answers.keys().isdisjoint(batch.rows):
            self._foreign.add(batch_id)
            batch.state, batch.id = "sending", None
            self.folder.write(batch)
            if await self._send_or_find(batch, []):
                await self._wait_for(batch)
            return
        answered = [row for row in batch.rows if answers.get(row) is not None]
        self.folder.keep_results(batch, results, answered)

    def _by_row(self, results: bytes) -> dict[str, Answer | None]:
        """The answers in results, by request; the first one if there are several."""
        answers: dict[str, Answer | None] = {}
        for row, answer in self._protocol.answers(results):
            if answers.get(row) is None:
                answers[row] = answer
        return answers

    async def _persist(self, act: Callable[[int], Awaitable[_T]]) -> _T:
        """Retry an exchange after temporary errors; `act` gets the number of the attempt."""
        attempt = 0
        while True:
            try:
                return await act(attempt)
            except ModelError as error:
                if not error.retryable or attempt + 1 == TRIES:
                    raise
                level = logging.INFO if attempt else logging.WARNING  # warn once
                logger.log(level, "a batch has to wait, an hour at most: %s", error)
            await asyncio.sleep(min(LONGEST_WAIT, self._every * 2.0 ** min(attempt, 8)))
            attempt += 1

    # A request

    def _settle(self, row: str, outcome: _Outcome) -> bool:
        """Pass an outcome to the waiting requests; return whether there were any."""
        self._news += 1
        future = self._futures.pop(row, None)
        if future is None or future.done():
            return False
        future.set_result(outcome)
        return True

    def _end(self, rows: Iterable[str], outcome: _Outcome) -> None:
        for row in rows:
            self._settle(row, outcome)


def _unusable(raised: Exception) -> ModelError:
    """The error for requests that would otherwise wait for ever; repeating them does not help."""
    logger.debug("a batch", exc_info=raised)
    text = str(raised) if isinstance(raised, InputError) else described(raised)
    return ModelError("bad_request", text)
