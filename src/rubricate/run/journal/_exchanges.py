"""Exchanges: what was sent to models for a judgement and what came back, word for word.

The journal stores them with each answer: one line of JSON for each request, preceded by a checksum.
Texts that many requests share (the instructions, an item's material, a criterion's question) are
stored once under a hash, and the line lists the hashes. Joined in order, the texts of a line are
exactly what was sent.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from functools import lru_cache
from typing import Any
from zlib import crc32

import orjson

from rubricate.errors import ModelError
from rubricate.judge import Completion, Message, Model, Request
from rubricate.run.journal._records import to_json

LONGEST = 16_000
"""Characters of a reply that are kept. If it is longer, its beginning and its end."""
_END = 4_000
"""How many of those come from the end."""
_HASH = 12
"""Bytes of a text's hash."""
TEXTS, MATERIALS = 4096, 256
"""How many texts have their hashes cached, and how many of them may be long."""


@dataclass(frozen=True, slots=True)
class Exchange:
    """One request of a judgement, and its reply.

    Attributes:
        model: the model's name.
        sent_at: when it was sent, in seconds since 1970.
        messages: exactly what was sent (earlier replies shortened in the same way as `reply`).
        reply: what came back; None if nothing did.
        left_out: characters omitted from the reply, after its first 12,000.
        cut_off: whether the reply ended because it reached the maximum length.
        probabilities: of the reply's first token, if they were requested.
        error: why there is no reply: the class and the text of the error.
        requests: how many requests this took, including retries; 0 if the reply was already stored.
        damaged: whether parts of it cannot be read in the journal.
        elsewhere: what a reply without text had in its reasoning or in a tool call.
        thinking: the model's reasoning or a summary of it, if it came separately; shortened in the
            same way as `reply`.
    """

    model: str
    sent_at: float
    messages: tuple[Message, ...]
    reply: str | None = None
    left_out: int = 0
    cut_off: bool = False
    probabilities: Mapping[str, float] | None = None
    error: tuple[str, str] | None = None
    requests: int = 1
    damaged: bool = False
    elsewhere: str = ""
    thinking: str = ""

    def to_dict(self) -> dict[str, Any]:
        """The exchange as JSON values, without fields at their usual value."""
        values = {name: getattr(self, name) for name in self.__slots__}
        values["messages"] = [dict(message) for message in self.messages]
        if self.error is not None:
            values["error"] = dict(zip(("kind", "message"), self.error, strict=True))
        return {name: value for name, value in values.items() if value or name in _ALWAYS}


_ALWAYS = ("model", "sent_at", "messages", "reply", "requests")


class TextNames:
    """Caches the hashes of texts that occur repeatedly.

    Attributes:
        text: the hash of a text that is short, or occurs for many items.
        material: the hash of a text that all requests of an item share.
    """

    def __init__(self) -> None:
        self.text = lru_cache(TEXTS)(_hashed)
        self.material = lru_cache(MATERIALS)(_hashed)


class Transcript:
    """Collects the exchanges of a judgement. False while it is empty.

    They are serialised together with their batch, which takes half the time.
    """

    __slots__ = ("_names", "_noted", "_written")

    def __init__(self, names: TextNames) -> None:
        self._names = names
        self._noted: list[tuple[str, Request, float, Completion | ModelError] | str] = []
        self._written: tuple[bytes, dict[str, str]] | None = None

    def __bool__(self) -> bool:
        return bool(self._noted)

    def answered(self, model: Model, request: Request, sent_at: float, reply: Completion) -> None:
        """Record an answered request."""
        self._noted.append((model.name, request, sent_at, reply))

    def failed(self, model: Model, request: Request, sent_at: float, error: ModelError) -> None:
        """Record a failed request."""
        self._noted.append((model.name, request, sent_at, error))

    def part(self, key: str) -> None:
        """Record that the answer under another key is part of the judgement."""
        self._noted.append(key)

    def written(self) -> tuple[bytes, dict[str, str]]:
        """What the journal stores: the lines, and by hash the texts that they name."""
        if self._written is None:
            texts: dict[str, str] = {}
            lines: list[bytes] = []
            for noted in self._noted:
                if isinstance(noted, str):
                    line: dict[str, Any] = {"part": noted}
                else:
                    model, request, sent_at, outcome = noted
                    messages = self._messages(request, outcome.sent or request.messages, texts)
                    line = {"model": model, "asked": sent_at, "messages": messages}
                    if isinstance(outcome, ModelError):
                        _add_error(line, outcome)
                    else:
                        _add_reply(line, outcome, request)
                content = to_json(line)
                lines += (b"%08x " % crc32(content), content, b"\n")
            self._written = b"".join(lines), texts
        return self._written

    def _messages(
        self, request: Request, messages: tuple[Message, ...], texts: dict[str, str]
    ) -> list[list[Any]]:
        shown: list[list[Any]] = []
        shared, names = request.shared, self._names
        for message in messages:
            role, content = message["role"], message["content"]
            if shared and role == "user" and content.startswith(shared):
                rest = content[len(shared) :]
                texts[name := names.material(shared)] = shared
                texts[other := names.text(rest)] = rest
                shown.append([role, name, other])
                shared = ""
                continue
            if role == "assistant":
                content, left_out = _bounded(content)
                if left_out:
                    shown.append([role, name := names.text(content), left_out])
                    texts[name] = content
                    continue
            texts[name := names.text(content)] = content
            shown.append([role, name])
        return shown


def _add_reply(line: dict[str, Any], reply: Completion, request: Request) -> None:
    """Add a reply to a line."""
    text, left_out = reply.text or reply.elsewhere, 0
    if len(text) > LONGEST:
        text, left_out = _bounded(text)
    line["reply"] = text if reply.text else ""
    if reply.elsewhere:
        line["elsewhere"] = text
    if reply.thinking:
        line["thinking"] = _bounded(reply.thinking)[0]
    if (requests := reply.usage.requests) != 1 and (requests or request.kept):
        line["requests"] = requests
    if left_out:
        line["left_out"] = left_out
    if reply.cut_off:
        line["cut_off"] = True
    if reply.probabilities is not None:
        line["probabilities"] = dict(reply.probabilities)


def _add_error(line: dict[str, Any], error: ModelError) -> None:
    """Add the error of a failed request to a line."""
    line["reply"], line["error"] = None, [error.kind, _bounded(str(error))[0]]
    if error.usage.requests != 1:
        line["requests"] = error.usage.requests


def _hashed(text: str) -> str:
    content = text.encode("utf-8", "replace")
    return hashlib.blake2b(content, digest_size=_HASH).hexdigest()


def _bounded(text: str) -> tuple[str, int]:
    """A text, shortened if too long, and the number of characters omitted."""
    if len(text) <= LONGEST:
        return text, 0
    left_out = len(text) - LONGEST
    note = f"\n[... {left_out} characters are not kept ...]\n"
    return f"{text[: LONGEST - _END]}{note}{text[-_END:]}", left_out


def _read(lines: bytes) -> Iterator[dict[str, Any] | None]:
    """The lines as written; None for a damaged one."""
    for line in lines.splitlines():
        checksum, _, content = line.partition(b" ")
        intact = checksum == b"%08x" % crc32(content)
        yield orjson.loads(content) if intact else None


def named_texts(lines: bytes) -> set[str]:
    """The hashes of the texts that lines name."""
    return {
        name
        for line in _read(lines)
        for message in (line or {}).get("messages", ())
        for name in message[1:]
        if isinstance(name, str)
    }


def named_keys(lines: bytes) -> list[str]:
    """The keys of the parts that lines name."""
    return [line["part"] for line in _read(lines) if line is not None and "part" in line]


def read_lines(
    lines: bytes, texts: Callable[[str], str | None], part: Callable[[str], bytes | None]
) -> Iterator[Exchange]:
    """The exchanges in these lines, including those of parts.

    Args:
        lines: what the journal has for an answer.
        texts: returns the text with a hash; None if it is missing.
        part: returns the lines of another key; None if there are none.
    """
    for line in _read(lines):
        if line is None:
            yield Exchange("", 0.0, (), damaged=True)
        elif "part" in line:
            yield from read_lines(part(line["part"]) or b"", texts, lambda key: None)
        else:
            yield _exchange(line, texts)


def _exchange(line: dict[str, Any], texts: Callable[[str], str | None]) -> Exchange:
    messages = [
        (role, [texts(name) for name in names if isinstance(name, str)])
        for role, *names in line["messages"]
    ]
    return Exchange(
        model=line["model"],
        sent_at=line["asked"],
        messages=tuple(
            Message(role=role, content="".join(part or "" for part in parts))
            for role, parts in messages
        ),
        reply=line["reply"],
        left_out=line.get("left_out", 0),
        cut_off=line.get("cut_off", False),
        probabilities=line.get("probabilities"),
        error=tuple(line["error"]) if "error" in line else None,
        requests=line.get("requests", 1),
        damaged=any(part is None for _, parts in messages for part in parts),
        elsewhere=line.get("elsewhere", ""),
        thinking=line.get("thinking", ""),
    )
