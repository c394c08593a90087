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
"""The beginning or end of a block of reasoning."""


def without_reasoning(text: str) -> str:
    """Return a reply without the model's reasoning before its answer, and without surrounding
    space.

    A block with an end but no beginning (chat templates put the beginning into the prompt) starts
    with the reply. Nested blocks of the same name each need their own end.

    Raises:
        UnreadableReply: a block begins and does not end, or ends without a beginning.
    """
    text = _stripped(text)
    outside: list[str] = []
    at, open_name, depth = 0, "", 0
    for marks, mark in enumerate(_MARK.finditer(text)):
        ends, name = _read_mark(mark[0])
        if open_name:
            if name == open_name:
                depth += -1 if ends else 1
            if not depth:
                at, open_name = mark.end(), ""
        elif not ends:
            outside.append(text[at : mark.start()])
            open_name, depth = name, 1
        elif marks == 0:
            at = mark.end()
        else:
            raise UnreadableReply(f"the reply ends a block that it did not begin: {mark[0]}")
    if open_name:
        raise _unfinished(open_name)
    if not text[at:].strip() and any(part.strip() for part in outside):
        raise UnreadableReply("the reply ends with a block of reasoning, not with its answer")
    return _stripped("".join([*outside, text[at:]]))


def without_leading_reasoning(text: str) -> str:
    """Return a free-text reply, which may itself mention such blocks, without a leading block.

    Raises:
        UnreadableReply: the reply begins with a block and does not end it.
    """
    text = _stripped(text)
    first = _MARK.match(text)
    open_name = "" if first is None else _read_mark(first[0])[1]
    depth = 0
    for mark in _MARK.finditer(text):
        ends, name = _read_mark(mark[0])
        if open_name and name == open_name:
            depth += -1 if ends else 1
        closes = not depth if open_name else text[: mark.start()].endswith("\n")
        if ends and closes:
            return _stripped(text[mark.end() :])
    if open_name:
        raise _unfinished(open_name)
    return text


def _unfinished(name: str) -> UnreadableReply:
    return UnreadableReply(f"the reply begins a block of reasoning ({name}) and does not end it")


def _stripped(text: str) -> str:
    return text.strip().strip("\ufeff\u200b\u2060").strip()


def _read_mark(mark: str) -> tuple[bool, str]:
    """Return whether a mark ends a block, and the name of the block."""
    inner = mark.casefold().strip("<>[]◁▷|")
    ends = inner.startswith(("/", "end_of_", "channel|>final"))
    return ends, inner.strip("/").removeprefix("end_of_").removeprefix("begin_of_").split()[0]
