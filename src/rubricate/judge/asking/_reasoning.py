"""Blocks of reasoning in a reply, as models and chat templates write them."""

from __future__ import annotations

import re

from rubricate.errors import UnreadableReply

_NAMES = (
    r"(?:[\w-]+:)?(?:ant)?(?:think(?:ing)?|thoughts?|reasoning(?:[_-]content)?|reflect(?:ion|ing)|"
    r"scratch[_-]?pad|analysis|cot|chain[_-]of[_-]thoughts?|(?:inner[_-]?)?monologue|deliberation|"
    r"planning|rationale|internal[\w-]*)"
)
_MARK = re.compile(
    rf"<\|?/?{_NAMES}(?:\s[^<>\n]*)?\|?>|\[/?THINK\]|◁/?think▷"
    r"|<\|(?:begin|end)_of_(?:thought|thinking|reasoning)\|>"
    r"|<\|channel\|>final\s*<\|message\|>",
    re.IGNORECASE,
)
"""What begins or ends a block of reasoning."""


def without_reasoning(text: str) -> str:
    """A reply without what the model thought before its answer, and without space around it.

    A block that ends without having begun, as chat templates produce where they begin it in the
    prompt, has begun with the reply. One in another of the same name ends by itself.

    Raises:
        UnreadableReply: a block begins and does not end, or ends without having begun.
    """
    text = _stripped(text)
    outside: list[str] = []
    at, begun, depth = 0, "", 0
    for marks, found in enumerate(_MARK.finditer(text)):
        ends, name = _read_mark(found[0])
        if begun:
            if name == begun:
                depth += -1 if ends else 1
            if not depth:
                at, begun = found.end(), ""
        elif not ends:
            outside.append(text[at : found.start()])
            begun, depth = name, 1
        elif marks == 0:
            at = found.end()
        else:
            raise UnreadableReply(f"the reply ends a block that it did not begin: {found[0]}")
    if begun:
        raise _unfinished(begun)
    if not text[at:].strip() and any(one.strip() for one in outside):
        raise UnreadableReply("the reply ends with a block of reasoning, not with its answer")
    return _stripped("".join([*outside, text[at:]]))


def without_leading_reasoning(text: str) -> str:
    """A reply in free text, which may itself speak of such blocks, without one before it.

    Raises:
        UnreadableReply: the reply begins with a block and does not end it.
    """
    text = _stripped(text)
    first = _MARK.match(text)
    begun = "" if first is None else _read_mark(first[0])[1]
    depth = 0
    for found in _MARK.finditer(text):
        ends, name = _read_mark(found[0])
        if begun and name == begun:
            depth += -1 if ends else 1
        closes = not depth if begun else text[: found.start()].endswith("\n")
        if ends and closes:
            return _stripped(text[found.end() :])
    if begun:
        raise _unfinished(begun)
    return text


def _unfinished(name: str) -> UnreadableReply:
    return UnreadableReply(f"the reply begins a block of reasoning ({name}) and does not end it")


def _stripped(text: str) -> str:
    return text.strip().strip("\ufeff\u200b\u2060").strip()


def _read_mark(mark: str) -> tuple[bool, str]:
    """Whether a mark ends a block, and the name of the block."""
    inner = mark.casefold().strip("<>[]◁▷|")
    ends = inner.startswith(("/", "end_of_", "channel|>final"))
    return ends, inner.strip("/").removeprefix("end_of_").removeprefix("begin_of_").split()[0]
