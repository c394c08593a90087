"""Requests that are stored on their own, because judgements share them or take several.

Their completions go into the journal under separate keys. So they are sent once, and a judgement
that was interrupted between two requests resumes with the remaining ones.
"""

from __future__ import annotations

import hashlib
from typing import Any

import orjson

from rubricate.judge import Completion, Model, Request
from rubricate.rubric import NO_USAGE
from rubricate.run.journal import Answers, Locks, lock_of
from rubricate.run.sending import Judgement, SendFor


async def kept_completion(
    send: SendFor,
    answers: Answers,
    locks: Locks,
    model: Model,
    request: Request,
    judgement: Judgement,
) -> Completion:
    """The completion of a request: the stored one, or a new one, which is then stored.

    A stored completion has no usage, because that was counted for the judgement which sent the
    request. Failed requests are not stored.

    Args:
        send: sends a request.
        answers: stores completions.
        locks: keep two judgements from sending the same request at once.
        model, request, judgement: as for `send`.
    """
    key = _key(model, request)
    async with lock_of(locks, key):
        record = await answers.find(key)
        if record is None and await answers.own_turn(key):
            record = await answers.find(key)
        try:
            if record is not None:
                return _completion(record)
            completion = await send(model, request, judgement)
            answers.put(key, _record(completion), shared=True)
            return completion
        finally:
            answers.release([key])


def _key(model: Model, request: Request) -> str:
    identity = [model.fingerprint(), request.messages, request.choices, request.sample]
    content = orjson.dumps(identity, option=orjson.OPT_SORT_KEYS)
    return "request-" + hashlib.blake2b(content, digest_size=16).hexdigest()


def _record(completion: Completion) -> dict[str, Any]:
    probabilities = completion.probabilities
    record = {
        "status": "completed",
        "text": completion.text,
        "probabilities": None if probabilities is None else dict(probabilities),
        "usage": completion.usage.to_dict(),
    }
    seldom = {"cut_off": completion.cut_off, "unusable": completion.unusable}
    return record | {name: value for name, value in seldom.items() if value}


def _completion(record: dict[str, Any]) -> Completion:
    return Completion(
        record["text"],
        NO_USAGE,
        None,
        record["probabilities"],
        cut_off=record.get("cut_off", False),
        unusable=record.get("unusable", ""),
    )
