"""What was sent to judges and what came back, as text: to the letter."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import UTC, datetime

from rubricate._terminal import one_line
from rubricate.analysis._selection import Selection
from rubricate.run import Exchange
from rubricate.run.results import Conversation, Conversations


def conversation_lines(selection: Selection) -> Iterator[str]:
    """The requests and replies behind each picked verdict, in order; texts can have many lines.

    Raises:
        InputError: the journal cannot be read.
    """
    with Conversations(selection.run.path, selection.journal) as conversations:
        for item in selection:
            for row in item.rows:
                for found in conversations.of(row):
                    yield from _exchange_lines(item.item, row.criterion, found)


def _exchange_lines(item: str, criterion: str, found: Conversation) -> Iterator[str]:
    head = f"=== {one_line(item)}, {one_line(criterion)}"
    if found.judge is not None:
        head += f", judged by {one_line(found.judge)}"
    if found.missing is not None:
        yield f"{head}: {found.missing}"
        yield ""
    for number, exchange in enumerate(found.exchanges, start=1):
        yield f"{head}: {_about(exchange, number, len(found.exchanges))}"
        for message in exchange.messages:
            yield f"--- {message['role']}"
            yield message["content"]
        if exchange.damaged:
            yield "--- parts of this are damaged in the journal and left out"
        if exchange.reply is not None:
            yield f"--- reply{_note(exchange)}"
            yield exchange.reply
        if exchange.elsewhere:
            yield "--- in place of its text: its reasoning, or the arguments of a tool call"
            yield exchange.elsewhere
        if exchange.error is not None:
            yield "--- no reply"
            yield one_line(": ".join(exchange.error))
        yield ""


def _about(exchange: Exchange, number: int, count: int) -> str:
    asked = datetime.fromtimestamp(exchange.asked, UTC)
    about = f"exchange {number} of {count}, model {one_line(exchange.model)}"
    about += f", {asked:%Y-%m-%d %H:%M:%S} UTC"
    if exchange.requests == 0:
        return f"{about}, answered before"
    return about if exchange.requests == 1 else f"{about}, {exchange.requests} requests"


def _note(exchange: Exchange) -> str:
    notes = []
    if exchange.cut_off:
        notes.append("cut off: as long as a reply may be")
    if exchange.left_out:
        notes.append(f"{exchange.left_out} characters of it were not kept")
    if exchange.probabilities is not None:
        likely = sorted(exchange.probabilities.items(), key=lambda one: -one[1])
        notes.append(", ".join(f"{token!r} {share:.4f}" for token, share in likely))
    return f" ({'; '.join(notes)})" if notes else ""
