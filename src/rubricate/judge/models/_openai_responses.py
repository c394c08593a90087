"""OpenAI's Responses API: `payload`, `reply` and `usage`, as in `_openai.py`.

Some models have no other API. Requests and replies are not stored at OpenAI (`store`), unless the
user's own options say so.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from rubricate.errors import ModelError
from rubricate.judge.models import _openai
from rubricate.judge.models._forms import Form
from rubricate.judge.models._model import Message, Request
from rubricate.judge.models._wire import Reply, Sampling, TokenCounts, texts_of

PATH = "/responses"
headers = _openai.headers


def payload(
    model: str,
    request: Request,
    messages: tuple[Message, ...],
    form: Form,
    sampling: Sampling,
) -> dict[str, Any]:
    """Return the request body; the arguments are those of `_openai.payload`."""
    sent: dict[str, Any] = {"model": model, "input": messages, "store": False}
    sent |= parameters(request, form, sampling)
    if request.schema is not None and form.rung == "json_schema":
        shape = {"name": "judgement", "strict": True, "schema": request.schema}
        sent["text"] = {**sent.get("text", {}), "format": {"type": "json_schema", **shape}}
    elif request.schema is not None and form.rung == "json_object":
        sent["text"] = {**sent.get("text", {}), "format": {"type": "json_object"}}
    return sent


def parameters(request: Request, form: Form, sampling: Sampling) -> dict[str, Any]:
    """The sampling parameters in the form of the API: `max_output_tokens`, `temperature` and the
    like."""
    own = replace(form, most="max_output_tokens", logprobs=0, seed=False)
    return _openai.parameters(request, own, sampling)


def reply(body: Mapping[str, Any]) -> Reply:
    """Return the reply in a body: the text of its messages, not its reasoning.

    Raises:
        ModelError: `truncated` if there is no output, `refused` if the model or a filter declined,
            `server` if it was interrupted.
    """
    output = body.get("output")
    if not isinstance(output, list):
        raise ModelError("truncated", "the answer has no output")
    if body.get("status") in ("failed", "cancelled"):
        error = body.get("error") or {}
        why = error.get("message") if isinstance(error, dict) else None
        raise ModelError("server", f"the answer is {body['status']}: {why or 'no reason given'}")
    items = [item for item in output if isinstance(item, dict)]
    parts = _parts(items, "message", "content")
    if refusals := [part.get("refusal") for part in parts if part.get("type") == "refusal"]:
        raise ModelError("refused", f"the model refused: {refusals[0]}")
    details = body.get("incomplete_details") or {}
    end = details.get("reason") if isinstance(details, dict) else None
    if end == "content_filter":
        raise ModelError("refused", "the endpoint's content filter stopped the answer")
    status, end = body.get("status"), end if isinstance(end, str) else "max_output_tokens"
    if status not in ("completed", "incomplete"):
        raise ModelError("truncated", f"the answer is {status}, and not completed")
    return Reply(
        texts_of(parts, "output_text", name="text"),
        texts_of(items, "function_call", "\n", name="arguments"),
        "stop" if status == "completed" else end,
        thinking=texts_of(_parts(items, "reasoning", "summary"), "summary_text", "\n\n", "text"),
    )


def _parts(items: list[dict[str, Any]], kind: str, name: str) -> list[dict[str, Any]]:
    """The entries under this name in all items of a kind."""
    lists = [item.get(name) for item in items if item.get("type") == kind]
    return [
        part for each in lists if isinstance(each, list) for part in each if isinstance(part, dict)
    ]


def usage(body: object, raw: bytes, headers: Mapping[str, str]) -> TokenCounts | None:
    """The token counts of a body in OpenAI's format; None for any other."""
    counts = body.get("usage") if isinstance(body, dict) else None
    if not isinstance(counts, dict) or b"cost" in raw.lower():
        return None
    chat = {
        name: counts.get(name.replace("prompt", "input").replace("completion", "output"))
        for name in _openai.COUNTS
    }
    return _openai.usage({"usage": chat}, raw, headers)
