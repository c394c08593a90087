"""Reading a record's values into the types of a sample's fields.

Each function takes a value of the data source and returns the value of the field. An unreadable
value raises an `InputError` that shows it.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any, cast

from pydantic import BaseModel, TypeAdapter, ValidationError

from rubricate.dataset.samples._chat import ChatMessage, ChatMessageBase
from rubricate.dataset.samples._json_text import parse_json_bytes, without_nan
from rubricate.dataset.samples._media import kind_of
from rubricate.dataset.samples._sample import (
    SandboxEnvironmentSpec,
    metadata_model,
    sandbox_of,
)
from rubricate.errors import InputError, check_type, shown

ROLES = ("system", "user", "assistant", "tool")


def is_missing(value: Any) -> bool:
    """Whether a value is missing: None or NaN."""
    return value is None or (isinstance(value, float) and math.isnan(value))


def read_input(value: Any) -> str | list[ChatMessage]:
    """Return text, a number as text, or a list of chat messages."""
    if isinstance(value, str) and value:
        return value
    if is_missing(value) or value in ("", []) or value is False:
        raise InputError(f"No input in dataset: found {shown(value)}")
    if isinstance(value, int | float) and not isinstance(value, bool):
        return str(value)
    if not isinstance(value, list):
        raise InputError(
            f"expected text or a list of chat messages, found {shown(value)} "
            f"({type(value).__name__})"
        )
    return read_messages(value)


def read_messages(values: Iterable[Any]) -> list[ChatMessage]:
    """Read chat messages from objects with a role and content, including OpenAI's.

    Raises:
        InputError: there are no messages, or one has another form; the error says which.
    """
    if read := [_message(item, index) for index, item in enumerate(values)]:
        return read
    raise InputError("expected chat messages, found none")


_messages: TypeAdapter[ChatMessage] | None = None


def _message(value: Any, index: int) -> ChatMessage:
    where = (f"message {index + 1}",)
    if isinstance(value, ChatMessageBase) and getattr(value, "role", None) in ROLES:
        return cast("ChatMessage", value.model_copy(update={"source": "input"}, deep=True))
    if isinstance(value, BaseModel):  # a message of another package
        value = value.model_dump()
    check_type(value, Mapping, "a chat message (an object)", where)
    role, content = value.get("role"), value.get("content")
    if role not in ROLES:
        problem = "" if role is None else f": found {shown(role)}, known are {', '.join(ROLES)}"
        raise InputError(f"role not specified for chat input in dataset{problem}", path=where)
    if content is None and role == "assistant" and value.get("tool_calls"):
        content = ""  # OpenAI's messages with tool calls only
    if content is None:
        raise InputError("content not specified for chat input in dataset", path=where)
    fields = {
        key: inner
        for key, inner in value.items()
        if inner is not None and key not in ("source", "tool_calls")
    }
    fields["content"] = content if isinstance(content, str) else _parts(content)
    if role == "assistant" and (calls := value.get("tool_calls")):
        if not isinstance(calls, list | tuple):
            raise InputError(f"tool_calls: expected a list, found {shown(calls)}", path=where)
        fields["tool_calls"] = [_tool_call(call, where) for call in calls]
    global _messages  # noqa: PLW0603 - built when first needed: most datasets have no messages
    if _messages is None:
        _messages = TypeAdapter(ChatMessage)
    try:
        return _messages.validate_python({**fields, "source": "input"})
    except ValidationError as error:
        from rubricate._documents import input_error

        raise input_error(error, where) from None


def _parts(content: Any) -> Any:
    """Return a message's parts; images and the like in another API's format become `data` parts."""
    if not isinstance(content, list | tuple):
        return content
    return [
        {"type": "data", "data": dict(part)}
        if (kind := kind_of(part)) and not isinstance(part.get(kind), str)
        else part
        for part in content
    ]


def _tool_call(call: Any, where: tuple[str, ...]) -> Any:
    """Return a tool call in this package's format; OpenAI's nests name and arguments as
    `function`."""
    if not isinstance(call, Mapping):
        return call
    call = {key: value for key, value in call.items() if value is not None}
    if isinstance(function := call.get("function"), Mapping):
        call |= {"function": function.get("name"), "arguments": function.get("arguments")}
    if isinstance(call.get("arguments"), str):
        try:
            call["arguments"] = parse_json_bytes(call["arguments"] or "{}")
        except InputError as error:
            raise InputError(f"tool call's arguments: {error.message}", path=where) from None
    return call


def read_target(value: Any) -> str | list[str]:
    """Return text; for a list, the text of each item; empty text for a missing value."""
    if type(value) is str:
        return value
    if is_missing(value):
        return ""
    if isinstance(value, list):
        return [str(item) for item in value if item is None or not is_missing(item)]
    return str(value)


def read_choices(value: Any) -> list[str] | None:
    """Return a list, from a list, a JSON list as text, or text split at commas, else at spaces.

    None if missing, blank or `null`.
    """
    if _is_none(value):
        return None
    if isinstance(value, str):
        if value.lstrip().startswith("["):
            try:
                parsed = parse_json_bytes(value.strip())
            except InputError:
                parsed = None  # text that merely begins with a bracket
            if isinstance(parsed, list):
                return read_choices(parsed)
        pieces = value.split(",")
        if len(pieces) == 1:
            pieces = value.split()
        return [piece.strip() for piece in pieces if piece.strip()]
    if isinstance(value, Sequence):
        texts = [str(item) for item in value if item is None or not is_missing(item)]
        return [text for text in texts if text.strip()]
    return [str(value)]


def read_id(value: Any) -> int | str | None:
    """Return a whole number or text; None if missing or blank."""
    if is_missing(value) or (isinstance(value, str) and not value.strip()):
        return None
    if isinstance(value, float) and value.is_integer():
        return int(value)
    if isinstance(value, bool) or not isinstance(value, int | str):
        raise InputError(f"expected text or a whole number, found {shown(value)}")
    return value


def read_metadata(value: Any) -> dict[str, Any] | None:
    """Return an object, or parse one from JSON text; None if missing, blank or `null`."""
    if _is_none(value):
        return None
    if isinstance(value, str):
        value = without_nan(_parsed(value))
    if not isinstance(value, dict):
        raise InputError(
            f"Unexpected type for 'metadata' field: {type(value)}; expected an object, found "
            f"{shown(value)}"
        )
    return value


def read_metadata_model(
    record: Mapping[str, Any], name: str, model: type[BaseModel]
) -> dict[str, Any]:
    """Return metadata as the given model, from its own column or from the record's fields."""
    own = read_metadata(record.get(name))
    values = without_nan(dict(record)) if own is None else own
    metadata = metadata_model(values, model, whole=own is not None)
    return metadata.model_dump()


def read_sandbox(value: Any) -> SandboxEnvironmentSpec | None:
    """Read a type, a list of type and configuration (also as JSON text), or an object of both."""
    if _is_none(value):
        return None
    is_json = isinstance(value, str) and value.lstrip().startswith(("[", "{"))
    return sandbox_of(_parsed(value) if is_json else value)


def read_files(value: Any) -> dict[str, str] | None:
    """Return texts by name, also from JSON text; None if missing, blank or `null`."""
    if _is_none(value):
        return None
    if isinstance(value, str):
        value = _parsed(value)
    if not isinstance(value, dict):
        raise InputError(
            f"Unexpected type for 'files' field: {type(value)}; expected an object of texts"
        )
    for key, text in value.items():
        if not isinstance(text, str):
            raise InputError(
                f"Unexpected type for 'files' field: {type(value)}; '{key}' is not text but "
                f"{shown(text)}"
            )
    return value


def read_setup(value: Any) -> str | None:
    """Return text, or a number as text; None if missing or blank."""
    if is_missing(value) or (isinstance(value, str) and not value.strip()):
        return None
    if isinstance(value, list | Mapping):
        raise InputError(f"expected text, found {shown(value)}")
    return str(value)


def _is_none(value: Any) -> bool:
    """Whether a field with JSON as text has no value."""
    return is_missing(value) or (isinstance(value, str) and value.strip() in ("", "null"))


def _parsed(text: str) -> Any:
    try:
        return parse_json_bytes(text)
    except InputError as error:
        raise InputError(f"{error.message} (in {shown(text)})") from None


FieldReader = Callable[[Any], Any]
FIELD_READERS: dict[str, FieldReader] = {
    "input": read_input,
    "target": read_target,
    "choices": read_choices,
    "id": read_id,
    "sandbox": read_sandbox,
    "files": read_files,
    "setup": read_setup,
}
"""The reader of each field but metadata, in the order in which errors are reported."""
