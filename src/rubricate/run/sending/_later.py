"""Requests to models that answer later (batches): without rate limits, queue or deadline."""

from __future__ import annotations

import hashlib
from collections.abc import Callable
from dataclasses import replace

import orjson

from rubricate._usage import NO_USAGE, Usage
from rubricate.errors import ModelError
from rubricate.judge import Completion, Draw, Request
from rubricate.run.sending._budget import RunEnds
from rubricate.run.sending._hedging import Outgoing, checked, model_error, possible
from rubricate.run.sending._judgement import Judgement, SendFor


async def answered_later(
    out: Outgoing,
    send: SendFor,
    stop: Callable[[ModelError], None],
    check_goes_on: Callable[[Outgoing], None],
    bill: Callable[[Outgoing, Usage, Completion | None], None],
) -> Completion:
    """The answer of a model that answers later, or of its live fallback if the batch expires.

    A request that is still pending when the run ends is billed by the run that gets its answer.

    Args:
        out: the request.
        send: sends expired requests to the live model.
        stop: ends the run if it should not wait (`--no-wait`).
        check_goes_on: raises if nothing more may be sent.
        bill: counts the usage of the request.

    Raises:
        ModelError: the request failed.
        RunEnds: the run should not wait for the answer.
    """
    check_goes_on(out)
    out.request = replace(out.request, draw=draw_of(out.judgement, out.request))
    await out.claim()
    reply: Completion | None = None
    took = NO_USAGE
    out.judgement.aside(True)
    try:
        reply = checked(out.model, await out.model.complete(out.request))
        took = reply.usage
        return reply
    except ModelError as error:
        if error.kind == "not_run":
            stop(error)
            raise RunEnds from None
        took = NO_USAGE if error.kind == "expired" else possible(error.usage)
        error.usage = took
        if error.kind != "expired" or out.model.live is None:
            raise
    except Exception as raised:
        raise model_error(raised) from raised
    finally:
        out.judgement.aside(False)
        if took is NO_USAGE:
            out.takes(took, is_answered=False)
        else:
            bill(out, took, reply)
    return await send(out.model.live, out.request, out.judgement)


def draw_of(judgement: Judgement, request: Request) -> Draw:
    """Which of the answers to equal requests this judgement wants."""
    if not hasattr(judgement, "sent"):
        judgement.sent = {}
    content = orjson.dumps((request.messages, request.choices, request.sample))
    digest = hashlib.blake2b(content, digest_size=16).digest()
    number = judgement.sent.get(digest, 0)
    judgement.sent[digest] = number + 1
    return Draw(judgement.replicate, number, judgement.failed_before, request.sample)
