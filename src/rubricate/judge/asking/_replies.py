"""Reading a model's reply: the answer comes last, and is unambiguous.

An answer is one JSON object, or the same in tags. White space, one Markdown fence around it and
finished blocks of reasoning (`<think>...</think>` and similar) are removed first. Prose may precede
it even if a structured format was requested, because not every endpoint that accepts one keeps to
it. Anything ambiguous is unreadable: text after the answer, two answers, a duplicate key, an
unfinished block, a truncated reply, an answer copied from the material, an answer in the middle of
a sentence.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from itertools import islice
from typing import Any, TypeVar

import orjson

from rubricate._model_json import model_json, refuse_repeats
from rubricate.errors import ModelError, UnreadableReply, described, shown
from rubricate.judge.asking._prompts import request_schema, sendable
from rubricate.judge.models import Completion, Request
from rubricate.rubric import BINARY_LABELS

VERDICT = "verdict"
"""The key of an answer."""
PARTS = frozenset(("reason", "evidence", VERDICT))
_QUOTED = [*map('"{}"'.format, PARTS)]
_SCALARS = frozenset((str, bool, int))
_T = TypeVar("_T")


@dataclass(slots=True)
class Reply:
    """The parts of a reply: the raw answer, not yet checked against the criterion.

    Attributes:
        answer: the verdict.
        reason: the reason; None if none was requested.
        quotes: the decisive passages.
        data: the whole JSON object.
    """

    answer: Any
    reason: str | None
    quotes: tuple[str, ...]
    data: Mapping[str, Any]


# Completions


def answer_of(
    completion: Completion,
    request: Request,
    read: Callable[[str, str, Mapping[str, Any] | None], _T],
) -> _T:
    """Read the answer in a completion.

    The answer of a reply without text may be where an endpoint puts it by mistake: in its reasoning
    or in the arguments of a tool call. It must then be alone there. Besides text, a tool call
    counts as another answer.

    Args:
        completion: the completion.
        request: its request.
        read: reads a text, with the material shown to the model and the schema of the reply.

    Raises:
        UnreadableReply: there is no answer, or the reply was truncated: the missing part could have
            changed it.
    """
    if completion.cut_off:
        tokens = completion.usage.output_tokens
        after = f" after {tokens} tokens" if tokens else ""
        raise UnreadableReply(
            f"the reply was cut off{after}, before it ended: it was as long as a reply may be"
        )
    material = material_of(request)
    if not completion.elsewhere:
        return read(sendable(completion.text), material, request.schema)
    if completion.text.strip():
        raise UnreadableReply("the reply has a text and a tool call: either may be its answer")
    try:
        if not _ALONE.fullmatch(completion.elsewhere):
            raise UnreadableReply("it is not one whole JSON object and nothing else")
        return read(sendable(completion.elsewhere), material, request.schema)
    except UnreadableReply as error:
        raise UnreadableReply(
            f"the reply's text is empty, and its reasoning or tool call is no answer: {error}"
        ) from None


_ALONE = re.compile(r"\s*[{\[`~].*[}\]`~]\s*", re.DOTALL)
"""JSON, or a fence around it, with no text before or after it."""
NOT_READ = (UnreadableReply, ValueError, LookupError, TypeError)
"""The exceptions of reading an invalid reply. A model may reply anything: in a custom way of
asking, `json.loads` and a missing key mean the same as `UnreadableReply`."""


def wrong_with(error: BaseException) -> str:
    """Return what is wrong with a reply whose reading raised this error."""
    return str(error) if isinstance(error, UnreadableReply) else described(error)


def material_of(request: Request) -> str:
    """The part of a request's first user message that shows the item."""
    if request.shared:
        return request.shared
    for message in request.messages:
        if message["role"] == "user":
            return message["content"]
    return ""


def failure_of(error: ModelError, wrong: str) -> tuple[str, str]:
    """Return the class and message of a judgement that ended with a failed request.

    Args:
        error: the failure of the request.
        wrong: what was wrong with an earlier reply, so that it was asked for again; "" if nothing
            was. If only the repeated request was too long for the model, this is the cause of the
            failure.
    """
    if wrong and error.kind == "context_length":
        return "unreadable_reply", f"{wrong}; and it could not be asked again: {error}"
    return error.kind, str(error)


_SHOWN = 1000
"""Maximum characters of a truncated reply that are shown to the model again: 250 tokens, enough to
see how it began. Reasoned, not measured: at half, that may be only a part of its reason; at double,
asking again costs twice as much, and such a reply is mostly a repetition."""


def shown_again(completion: Completion) -> str:
    """Return a reply as it is shown to the model when asking again.

    A truncated reply may fill the whole context window, so only its beginning is shown.
    """
    text = completion.text or "(empty)"
    if not completion.cut_off or len(text) <= _SHOWN:
        return text
    return f"{text[:_SHOWN]} [...]"


# Answers


def read_reply(text: str, material: str = "", schema: Mapping[str, Any] | None = None) -> Reply:
    """Read the answer that ends a reply: an object with `reason`, `evidence` and `verdict`, or
    tags.

    Args:
        text: the reply.
        material: the material shown to the model; an answer copied from it is rejected.
        schema: the JSON Schema of the reply, used to recognise other answers. Default: the schema
            of a binary criterion.

    Raises:
        UnreadableReply: there is no answer, it lacks a part, or there are several.
    """
    data = _plain_object(text)
    if data is None:
        data = closing_object(text, (VERDICT,), material, schema)
    return checked_reply(data, material)


def _plain_object(text: str) -> dict[str, Any] | None:
    """Return the answer of a reply that consists of its object, in the usual form; else None.

    Same result as `closing_object`, in a fifth of the time, for nearly all replies.
    """
    if text[:1] != "{" or "\\u" in text:  # a key may be written in escapes
        return None
    try:
        data = orjson.loads(text)
    except orjson.JSONDecodeError:
        return None
    if data.keys() != PARTS or type(data[VERDICT]) not in _SCALARS:
        return None
    # Parsing would silently merge a duplicate key.
    return data if [*map(text.count, _QUOTED)] == [1, 1, 1] else None


def checked_reply(data: Any, material: str) -> Reply:
    """Return the parts of an answer's object. Raises `UnreadableReply` if a part is missing or
    mistyped."""
    if not isinstance(data, dict):
        raise UnreadableReply(f"the reply is a JSON {type(data).__name__}, not an object")
    if VERDICT not in data:
        raise UnreadableReply("the reply's JSON object has no 'verdict'")
    reason, quotes = data.get("reason"), data.get("evidence", [])
    if not isinstance(reason, str):
        raise UnreadableReply("the reply's JSON object has no 'reason' text")
    if not (reason[:1].isalnum() or any(map(str.isalnum, reason))) and reason.strip():
        raise UnreadableReply(f"the reply's reason has no word: '{reason.strip()[:20]}'")
    if not isinstance(quotes, list):
        quotes = [quotes] if isinstance(quotes, str) else [] if quotes is None else quotes
    if not isinstance(quotes, list) or (quotes and not {*map(type, quotes)} == {str}):
        raise UnreadableReply("'evidence' in the reply is not a list of quotes")
    if "MET" in reason or "CANNOT_ASSESS" in reason:
        _refuse_other_reason(reason, data[VERDICT], material)
    verdict = data[VERDICT]
    if not isinstance(verdict, str) or _may_hold(material, verdict):
        from rubricate.judge.asking._copied_answers import refuse_repetition

        refuse_repetition({"reason": reason, VERDICT: verdict}, material)
    passages = tuple([quote for quote in quotes if quote.strip()]) if quotes else ()
    return Reply(verdict, reason, passages, data)


@lru_cache(maxsize=256)
def _held_labels(material: str) -> dict[str, bool]:
    """Results of `_may_hold` for labels so far, kept for the criteria of an item."""
    return {}


def _may_hold(material: str, label: str) -> bool:
    """Whether the material may contain an answer with this label, which a reply could copy."""
    held = _held_labels(material)
    if label not in held and len(held) < _MOST_LABELS:
        held[label] = _has_letters(material, label)
    return held.get(label, True)


_MOST_LABELS = 100
"""The maximum number of labels cached for one text: more than a rubric has, and few enough for
memory."""


def _has_letters(material: str, label: str) -> bool:
    """Whether a text may contain the letters of a label, in any case, spacing or markup."""
    is_plain = material.isascii() and not ("\\" in material or "&" in material or "%" in material)
    letters = [letter for letter in label.lower() if letter.isalnum()]
    if not (is_plain and label.isascii() and 0 < len(letters) <= _LONGEST_LABEL):
        return True
    first, *others = letters  # the lookbehind comes after it, which is 20 times as fast
    spelt = r"[\W_]*".join([rf"{first}(?<![^\W_].)", *others])
    return bool(re.search(rf"{spelt}(?![^\W_])", material.lower()))


_LONGEST_LABEL = 100
"""The maximum number of letters of a label that go into the pattern: compiling one of 100 takes 1
ms."""


def _refuse_other_reason(reason: str, verdict: Any, material: str) -> None:
    """Raise `UnreadableReply` if a reason names another verdict, and not the one beside it.

    This applies only to the labels of a binary criterion, because others are ordinary words; if the
    material contains such a label, the reason may be about it.
    """
    own = verdict.strip().upper() if isinstance(verdict, str) else ""
    named = {*re.findall(r"\b(?:MET|UNMET|CANNOT_ASSESS)\b", reason)}
    if named and own in BINARY_LABELS and own not in named:
        other = min(named)
        if not re.search(rf"\b{other}\b", material):
            raise UnreadableReply(f"the reason says {other}, and the verdict is {own}")


def closing_object(
    text: str,
    keys: Sequence[str],
    material: str = "",
    schema: Mapping[str, Any] | None = None,
    *,
    several: bool = False,
) -> dict[str, Any]:
    """Return the JSON object that ends a reply; for tags, one with reason, evidence and verdict.

    Args:
        text, material, schema: as for `read_reply`.
        keys: the keys of the answer.
        several: whether the keys belong to several answers; then the caller checks each of them and
            any other keys, and tags are not accepted.

    Raises:
        UnreadableReply: there is none, or it is ambiguous.
    """
    from rubricate.judge.asking._extra_keys import refuse_other_answers
    from rubricate.judge.asking._reasoning import without_reasoning

    schema = USUAL if schema is None else schema
    whole = _whole(text)
    if whole is None:
        text = without_reasoning(text)
        if not text:
            raise UnreadableReply("the reply is empty")
        text = _unwrapped(text)
        whole = _whole(text)
    if whole is None:
        from rubricate.judge.asking._surrounding_text import refuse_text_before

        before, value = _closing(text, keys, not several)
        if before.strip():
            _check_prose(before, keys)
            _refuse_quoted(keys, material)
            refuse_text_before(before, value, schema, "" if several else keys[0])
    else:
        (value,) = whole
    if not isinstance(value, dict):
        raise UnreadableReply(f"the reply is a JSON {type(value).__name__}, not an object")
    if not several:
        refuse_repeats(value)
        refuse_other_answers(value, schema, keys)
    return value


USUAL = request_schema({"type": "string", "enum": list(BINARY_LABELS)})
"""The schema of a reply whose request has none."""


def _refuse_quoted(keys: Sequence[str], material: str) -> None:
    """Raise `UnreadableReply` if an answer after text may be quoted from the material."""
    from rubricate.judge.asking._copied_answers import holds_answer

    if holds_answer(material, keys):
        raise UnreadableReply(
            "text before the reply's answer may be a quote: the material holds an answer, too"
        )


_ROLE = re.compile(r"(?:<\|im_start\|>)?(?:assistant|model)\s*\n|<\|begin_of_box\|>", re.IGNORECASE)
_END = re.compile(r"(?:<\|[\w-]+\|>|</s>|<(?:end_of_turn|eos)>|\s)+\Z")
_LONGEST_END = 200
"""The maximum number of characters of the tokens that end a turn: there are one or two."""
_WRAPPED = re.compile(
    r"<(?P<name>answer|evaluation|json|judge?ment|output|response|result)>(?P<inner>.*)</(?P=name)>"
    r"|`(?P<code>\{[^`]*\})`",
    re.DOTALL | re.IGNORECASE,
)


def _unwrapped(text: str) -> str:
    """Return a reply without end-of-turn tokens, and without answer tags around all of it."""
    if role := _ROLE.match(text):
        text = text[role.end() :]
    text = text[:-_LONGEST_END] + _END.sub("", text[-_LONGEST_END:])
    wrapped = _WRAPPED.fullmatch(text)
    if wrapped is None or f"<{wrapped['name']}" in (wrapped["inner"] or ""):
        return text
    return (wrapped["inner"] or wrapped["code"] or "").strip()


def _whole(text: str) -> tuple[Any] | None:
    """Return the JSON value that a text consists of; None if it is not JSON, or more than a
    value."""
    try:
        value, ends = model_json(text)
    except ValueError:
        return None
    return (value,) if ends else None


def beginning(completion: Completion) -> str:
    """The beginning of an unreadable reply, for an error message."""
    return f"; it begins: {shown(completion.text)}" if completion.text.strip() else ""


def _no_object(keys: Sequence[str]) -> UnreadableReply:
    if len(keys) == 1:
        return UnreadableReply(f"the reply has no JSON object with a {keys[0]}")
    return UnreadableReply("the reply has no JSON object with an entry for each criterion")


_TAG = re.compile(r"^[ \t]*<(?P<name>[A-Za-z][\w:.-]*)(?:\s[^<>\n]*)?>", re.MULTILINE)
_FENCE = re.compile(
    r"(?P<fence>```|~~~)(?:json\w*|javascript|js|xml|html|te?xt|plaintext)?\s*\Z", re.IGNORECASE
)
"""A fence around an answer. A fence with another language or name (`example`) says what it
contains."""
_START = re.compile(r"\{(?=\s*\")")
_MOST_STARTS = 50
"""Maximum number of braces in a reply that are tried as the beginning of its answer. In a reply of
100 kB they take up to 0.4 s, in which nothing else runs. At half, 0.2 s, but an answer behind 25
braces is asked again; at double, 0.7 s."""


def _closing(text: str, keys: Sequence[str], tags: bool) -> tuple[str, dict[str, Any]]:
    """Return the answer in a text, and the text before it; only a polite remark may follow it."""
    end = text.rfind("}") + 1
    tagged = text.rfind("</verdict>") + len("</verdict>") if tags and "</verdict>" in text else 0
    if not end and not tagged:
        raise _no_object(keys)
    if tagged > end:
        before, answer = _tagged(text[:tagged])
        end = tagged
    else:
        before, answer = _last_object(text[:end], keys)
    after = text[end:].strip()
    if fence := _FENCE.search(before):
        before = before[: fence.start()]
        if not after.startswith(fence["fence"]):
            raise _no_object(keys)
        after = after[3:].strip()
    from rubricate.judge.asking._surrounding_text import is_closing_remark

    if after and not is_closing_remark(after):
        raise UnreadableReply(
            "the reply has no JSON object at its end: what follows an answer can take it back"
        )
    return before, answer


def _last_object(text: str, keys: Sequence[str]) -> tuple[str, dict[str, Any]]:
    """Return the object that ends a text, and the text before it."""
    for begin in islice(_START.finditer(text), _MOST_STARTS):
        try:
            value, ends = model_json(text[begin.start() :])
        except ValueError:
            continue
        if ends and isinstance(value, dict):
            return text[: begin.start()], value
    if re.search(_answers(keys), text):
        raise UnreadableReply("the reply's JSON object is in the midst of other text")
    raise _no_object(keys)


class _Tagged(dict[str, Any]):
    """An answer in tags."""


def _tagged(text: str) -> tuple[str, dict[str, Any]]:
    """Return the answer in tags that ends a text, and the text before it."""
    if text.count("<verdict>") != 1 or text.count("</verdict>") != 1:
        raise UnreadableReply("the reply has several verdict tags")
    before, _, verdict = text.removesuffix("</verdict>").rpartition("<verdict>")
    reasons: list[str] = []
    quotes: list[str] = []
    while True:
        before = before.rstrip()
        name = next((tag for tag in ("reason", "evidence") if before.endswith(f"</{tag}>")), "")
        if not name:
            break
        before, opening, inner = before.removesuffix(f"</{name}>").rpartition(f"<{name}>")
        if not opening:
            raise UnreadableReply(f"a tag </{name}> of the reply was never opened")
        (reasons if name == "reason" else quotes).append(inner.strip())
    if len(reasons) != 1:
        raise UnreadableReply("the reply's verdict tag does not directly follow a reason tag")
    evidence = [quote for quote in reversed(quotes) if quote]
    return before, _Tagged(reason=reasons[0], evidence=evidence, verdict=verdict.strip())


def _answers(keys: Sequence[str]) -> str:
    """A pattern for text that looks like an answer."""
    names = "|".join(map(re.escape, keys))
    return rf"""["'“”‘’`](?:{names})["'“”‘’`]\s*[:=]|</?verdict\b"""


def _check_prose(text: str, keys: Sequence[str]) -> None:
    """Raise `UnreadableReply` if the text makes it doubtful that the answer after it is final."""
    if re.search(_answers(keys), text):
        raise UnreadableReply("the reply has more than one answer")
    if text.count("{") != text.count("}"):
        raise UnreadableReply("the reply's JSON object is inside another that is broken")
    if "<|" in text:
        raise UnreadableReply("tokens of a chat template are in the reply before its answer")
    for number, tag in enumerate(_TAG.finditer(text)):
        if number >= _MOST_STARTS or f"</{tag['name']}" not in text[tag.end() :]:
            raise UnreadableReply(f"the reply begins a block <{tag['name']}> and does not end it")
