"""What was sent to models for a judgement and what came back, word for word.

The journal keeps it beside each answer: a line of JSON a request, with a checksum before it. Texts
that many requests share (the instructions, an item's material, a criterion's question) are kept
once, under a hash, and the line names the hashes. The texts of a line, one after the other, are
what was sent, to the letter.
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
"""Characters of a reply that are kept: of a longer one the beginning and the end."""
_END = 4_000
"""Those of them that are from its end."""
_HASH = 12
"""Bytes of a text's hash."""
TEXTS, MATERIALS = 4096, 256
"""Texts whose hashes are held, and those of them that may be long."""


@dataclass(frozen=True, slots=True)
class Exchange:
    """One request of a judgement, and its reply.

    Attributes:
        model: the model's name.
        sent_at: when it was sent, in seconds since 1970.
        messages: what was sent, to the letter (of a reply that is shown again, as much as is kept).
        reply: what came back; None where nothing did.
        left_out: characters that are left out of the reply, after its first 12,000.
        cut_off: whether the model stopped only because the reply was as long as it may be.
        probabilities: of the reply's first token, where they were asked for.
        error: why there is no reply: the error's class and its text.
        requests: how many requests this took, those that were sent again included; 0 where the
            same had been asked before, and the reply was known.
        damaged: whether parts of it cannot be read in the journal.
        elsewhere: what a reply without text had in its reasoning or in a tool call.
        thinking: the model's reasoning, or a summary of it, where it came apart from the reply; of
            a longer one the beginning and the end, as of a reply.
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
        """It as JSON values; what is usual is left out."""
        values = {name: getattr(self, name) for name in self.__slots__}
        values["messages"] = [dict(message) for message in self.messages]
        if self.error is not None:
            values["error"] = dict(zip(("kind", "message"), self.error, strict=True))
        return {name: value for name, value in values.items() if value or name in _ALWAYS}


_ALWAYS = ("model", "sent_at", "messages", "reply", "requests")


class TextNames:
    """Gives the hashes of texts that come again and again.

    Attributes:
        text: that of a text that is short, or comes for many items.
        material: that of a text that all of an item's requests share.
    """

    def __init__(self) -> None:
        self.text = lru_cache(TEXTS)(_hashed)
        self.material = lru_cache(MATERIALS)(_hashed)


class Transcript:
    """The exchanges of a judgement as they come; false while there are none.

    They are written as bytes only with their batch: one after the other that takes half the time.
    """

    __slots__ = ("_names", "_noted", "_written")

    def __init__(self, names: TextNames) -> None:
        self._names = names
        self._noted: list[tuple[str, Request, float, Completion | ModelError] | str] = []
        self._written: tuple[bytes, dict[str, str]] | None = None

    def __bool__(self) -> bool:
        return bool(self._noted)

    def answered(self, model: Model, request: Request, asked: float, reply: Completion) -> None:
        """Note a request that was answered."""
        self._noted.append((model.name, request, asked, reply))

    def failed(self, model: Model, request: Request, asked: float, error: ModelError) -> None:
        """Note a request that was not."""
        self._noted.append((model.name, request, asked, error))

    def part(self, key: str) -> None:
        """Note that the answer under another key is a part of the judgement."""
        self._noted.append(key)

    def written(self) -> tuple[bytes, dict[str, str]]:
        """What the journal keeps: lines, and the texts that they name, by their hashes."""
        if self._written is None:
            texts: dict[str, str] = {}
            lines: list[bytes] = []
            for noted in self._noted:
                if isinstance(noted, str):
                    line: dict[str, Any] = {"part": noted}
                else:
                    model, request, asked, came = noted
                    messages = self._messages(request, came.sent or request.messages, texts)
                    line = {"model": model, "asked": asked, "messages": messages}
                    if isinstance(came, ModelError):
                        _add_error(line, came)
                    else:
                        _add_reply(line, came, request)
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
    """Put what a line says of a reply into it."""
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
    """Put what a line says of a request that failed into it."""
    line["reply"], line["error"] = None, [error.kind, _bounded(str(error))[0]]
    if error.usage.requests != 1:
        line["requests"] = error.usage.requests


def _hashed(text: str) -> str:
    content = text.encode("utf-8", "replace")
    return hashlib.blake2b(content, digest_size=_HASH).hexdigest()


def _bounded(text: str) -> tuple[str, int]:
    """A text of bounded length, and how many characters are left out of it."""
    if len(text) <= LONGEST:
        return text, 0
    left_out = len(text) - LONGEST
    note = f"\n[... {left_out} characters are not kept ...]\n"
    return f"{text[: LONGEST - _END]}{note}{text[-_END:]}", left_out


def _read(lines: bytes) -> Iterator[dict[str, Any] | None]:
    """The lines as they were written; None for a damaged one."""
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
    """The exchanges in lines, those of parts where they are named.

    Args:
        lines: what the journal has beside an answer.
        texts: gives the text with a hash; None where it is not there.
        part: gives the lines of another key; None where there are none.
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
