"""Reading a model's reply: an answer closes it, and nothing else is one.

An answer is one JSON object, or the same in tags. White space, one markdown fence around it and
finished blocks of reasoning (`<think>...</think>` and its kin) are taken off first. Prose may stand
before it, also where a structured format was asked for: not every endpoint that takes one keeps to
it. Whatever could be read in two ways is not read: text behind the answer, two answers, a key that
stands twice, an unfinished block, a reply that was cut off, an answer that stands in the material,
one in the midst of a sentence.
"""

from __future__ import annotations

import html
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from itertools import islice
from typing import Any, TypeVar

import orjson

from rubricate._frozen import quickly_made
from rubricate._model_json import Repeated, model_json, refuse_repeats
from rubricate.errors import ModelError, UnreadableReply
from rubricate.judge.asking._prompts import sendable
from rubricate.judge.models import Completion, Request

__all__ = [
    "NOT_READ",
    "Reply",
    "answer_of",
    "closing_object",
    "failure_of",
    "material_of",
    "read_group",
    "read_reply",
    "refuse_repetition",
    "shown_again",
    "without_leading_reasoning",
    "without_reasoning",
    "wrong_with",
]

VERDICT = "verdict"
_PARTS = frozenset(("reason", "evidence", VERDICT))
_QUOTED = {part: f'"{part}"' for part in _PARTS}
_T = TypeVar("_T")


@quickly_made
@dataclass(frozen=True, slots=True)
class Reply:
    """A reply in parts: the answer as given, not yet checked against the criterion.

    Attributes:
        answer: the verdict.
        reason: why; None where it was not asked for.
        quotes: passages that decide.
        data: the whole JSON object.
    """

    answer: Any
    reason: str | None
    quotes: tuple[str, ...]
    data: Mapping[str, Any]


# What came back


def answer_of(completion: Completion, request: Request, read: Callable[[str, str], _T]) -> _T:
    """What is read in a completion.

    A reply without text may have its answer where an endpoint puts it by mistake: in its reasoning
    or in the arguments of a tool call. It must then be all that stands there.

    Args:
        completion: what came back.
        request: what was asked.
        read: reads a text, given also what the model was shown.

    Raises:
        UnreadableReply: there is no answer, or the reply was cut off: what was to follow could
            have changed it.
    """
    if completion.cut_off:
        tokens = completion.usage.output_tokens
        after = f" after {tokens} tokens" if tokens else ""
        raise UnreadableReply(
            f"the reply was cut off{after}, before it ended: it was as long as a reply may be"
        )
    material = material_of(request)
    if not completion.elsewhere or completion.text.strip():
        return read(sendable(completion.text), material)
    try:
        if not _ALONE.fullmatch(completion.elsewhere):
            raise UnreadableReply("it is not one whole JSON object and nothing else")
        return read(sendable(completion.elsewhere), material)
    except UnreadableReply as error:
        raise UnreadableReply(
            f"the reply's text is empty, and its reasoning or tool call is no answer: {error}"
        ) from None


_ALONE = re.compile(r"\s*[{\[`~].*[}\]`~]\s*", re.DOTALL)
"""JSON, or a fence around it, with no text before or behind."""
NOT_READ = (UnreadableReply, ValueError, LookupError, TypeError)
"""What the reading of a reply raises that is no answer. Nobody knows what a model replies: in a way
of asking of a user's own, `json.loads` and a key that is not there say so too."""


def wrong_with(error: Exception) -> str:
    """What is wrong with a reply whose reading raised this."""
    return str(error) if isinstance(error, UnreadableReply) else f"{type(error).__name__}: {error}"


def material_of(request: Request) -> str:
    """What the first user message of a request shows of the item."""
    if request.shared:
        return request.shared
    for message in request.messages:
        if message["role"] == "user":
            return message["content"]
    return ""


def failure_of(error: ModelError, wrong: str) -> tuple[str, str]:
    """Class and message of a judgement that ended with a request that failed.

    Args:
        error: what the request failed with.
        wrong: what was wrong with an earlier reply, for which it was asked again; "" for nothing.
            Where only asking again was too long for the model, this is what the judgement failed
            for.
    """
    if wrong and error.kind == "context_length":
        return "unreadable_reply", f"{wrong}; and it could not be asked again: {error}"
    return error.kind, str(error)


_SHOWN = 1000
"""How many characters of a reply that was cut off are shown to the model again."""


def shown_again(completion: Completion) -> str:
    """A reply as it is shown to the model that is asked again.

    One that was cut off may fill all the room that there is, so only its beginning is shown.
    """
    text = completion.text or "(empty)"
    if not completion.cut_off or len(text) <= _SHOWN:
        return text
    return f"{text[:_SHOWN]} [...]"


# Answers


def read_reply(text: str, material: str = "") -> Reply:
    """The answer that closes a reply: an object with `reason`, `evidence` and `verdict`, or tags.

    Args:
        text: the reply.
        material: what the model was shown; an answer that stands in it is none.

    Raises:
        UnreadableReply: there is no answer, it lacks a part, or it is not the only one.
    """
    found = _plain_object(text)
    if found is None:
        found = closing_object(text, (VERDICT,))
    return _reply(found, material)


def _plain_object(text: str) -> dict[str, Any] | None:
    """The answer of a reply that is nothing but its object, in the usual form; else None.

    It is what `closing_object` would find, in a fifth of the time. Nearly all replies are so.
    """
    if text[:1] != "{" or "\\u" in text:  # a key may be written in escapes
        return None
    try:
        found = orjson.loads(text)
    except orjson.JSONDecodeError:
        return None
    for key in found:
        quoted = _QUOTED.get(key)
        if quoted is None or text.count(quoted) != 1:  # it may stand twice
            return None
    verdict = type(found.get(VERDICT))
    return found if verdict is str or verdict is bool or verdict is int else None


def read_group(text: str, count: int, material: str = "") -> dict[int, Reply | UnreadableReply]:
    """The answers about several criteria, by their numbers from 1 to `count`.

    Each criterion stands for itself: what is wrong with one answer is said of that one alone.

    Args:
        text, material: as for `read_reply`.
        count: how many criteria were asked about.

    Raises:
        UnreadableReply: no JSON object closes the reply.
    """
    numbers = [str(number) for number in range(1, count + 1)]
    found = closing_object(text, numbers, several=True)
    return {int(number): _entry(found, number, material) for number in numbers}


def _entry(whole: Mapping[str, Any], number: str, material: str) -> Reply | UnreadableReply:
    counts = whole.counts if isinstance(whole, Repeated) else {}
    keys = [key for key in whole if key.strip() == number]
    given = sum(counts.get(key, 1) for key in keys)
    if given != 1:
        what = "no entry" if not given else f"{given} entries"
        return UnreadableReply(f"the reply has {what} for criterion {number}")
    try:
        refuse_repeats(whole[keys[0]])
        return _reply(whole[keys[0]], material)
    except UnreadableReply as error:
        return error


def _reply(data: Any, material: str) -> Reply:
    if not isinstance(data, dict):
        raise UnreadableReply(f"the reply is a JSON {type(data).__name__}, not an object")
    if VERDICT not in data:
        raise UnreadableReply("the reply's JSON object has no 'verdict'")
    for key in data:
        if key not in _PARTS and _plain(key).endswith(VERDICT):
            raise UnreadableReply(f"the reply's JSON object has '{key}' beside 'verdict'")
    reason, quotes = data.get("reason"), data.get("evidence", [])
    if not isinstance(reason, str):
        raise UnreadableReply("the reply's JSON object has no 'reason' text")
    quotes = [quotes] if isinstance(quotes, str) else quotes
    if not isinstance(quotes, list) or not all(isinstance(quote, str) for quote in quotes):
        raise UnreadableReply("'evidence' in the reply is not a list of quotes")
    if "{" in material or isinstance(data, _Tagged):
        refuse_repetition({"reason": reason, VERDICT: data[VERDICT]}, material)
    return Reply(data[VERDICT], reason, tuple([one for one in quotes if one.strip()]), data)


def _plain(key: str) -> str:
    return "".join([one for one in key.casefold() if one.isalnum()])


def closing_object(text: str, keys: Sequence[str], *, several: bool = False) -> dict[str, Any]:
    """The JSON object that closes a reply; that of a tagged answer has reason, evidence, verdict.

    Args:
        text: the reply.
        keys: what the answer stands under.
        several: whether the keys are of several answers; a key that stands twice in the object
            itself is then left to the caller, and tags are no answer.

    Raises:
        UnreadableReply: there is none, or something makes it doubtful.
    """
    found = _whole(text)
    if found is None:
        text = without_reasoning(text)
        if not text:
            raise UnreadableReply("the reply is empty")
        found = _whole(text)
    if found is None:
        text = _unfenced(text)
        found = _whole(text)
    if found is None:
        found = (_closing(text, keys, not several),)
    (value,) = found
    if not isinstance(value, dict):
        raise UnreadableReply(f"the reply is a JSON {type(value).__name__}, not an object")
    # Of several answers, each that has a key twice is refused by itself.
    checked = value if not several else {k: value[k] for k in value if k.strip() not in keys}
    refuse_repeats(checked)
    return value


def _whole(text: str) -> tuple[Any] | None:
    """The JSON value that a text is; None where it is no JSON, or more than a value."""
    try:
        value, ends = model_json(text)
    except ValueError:
        return None
    return (value,) if ends else None


def _no_object(keys: Sequence[str]) -> UnreadableReply:
    if len(keys) == 1:
        return UnreadableReply(f"the reply has no JSON object with a {keys[0]}")
    return UnreadableReply("the reply has no JSON object with an entry for each criterion")


_INFO = re.compile(r"[\w+.-]*[ \t]*")
"""What may stand behind an opening fence on its line."""


def _unfenced(text: str) -> str:
    """What stands inside one fence around all of a text; else the text."""
    fence = text[:3]
    if fence not in ("```", "~~~") or not text.endswith(fence) or text.count(fence) != 2:
        return text
    inner = text[3:-3]
    return inner[_INFO.match(inner).end() :].strip()  # type: ignore[union-attr]


_TAG = re.compile(r"^[ \t]*<(?P<name>[A-Za-z][\w:.-]*)(?:\s[^<>\n]*)?>", re.MULTILINE)
_MOST_BRACES, _MOST_STARTS = 1000, 50
"""How many braces of a reply are looked at, and tried as the beginning of its answer."""


def _closing(text: str, keys: Sequence[str], tags: bool) -> dict[str, Any]:
    """The answer that closes a text in which prose stands before it."""
    before, fence, inner = "", "", text
    if text.endswith("```"):
        before, fence, inner = text[:-3].rstrip().rpartition("```")
        info, line_end, inner = inner.partition("\n")
        if not (line_end and _INFO.fullmatch(info)) or before.rpartition("\n")[2].strip():
            raise _no_object(keys)
    if tags and inner.endswith("</verdict>"):
        prose, found = _tagged(inner)
    elif fence:
        value = _whole(inner)
        if value is None or not isinstance(value[0], dict):
            raise _no_object(keys)
        prose, found = "", value[0]
    elif text.endswith("}"):
        prose, found = _last_object(text, keys)
    elif re.search(_answers(keys), text):
        raise UnreadableReply(
            "the reply has no JSON object at its end: what stands behind an answer can take it back"
        )
    else:
        raise _no_object(keys)
    _check_prose(before + prose, keys)
    return found


def _last_object(text: str, keys: Sequence[str]) -> tuple[str, dict[str, Any]]:
    """The object that a text ends with, and what stands before it."""
    braces = (match.start() for match in islice(re.finditer(r"\{", text), _MOST_BRACES))
    for start in islice((one for one in braces if _begins(text, one)), _MOST_STARTS):
        try:
            value, ends = model_json(text[start:])
        except ValueError:
            continue
        if ends and isinstance(value, dict):
            return text[:start], value
    if re.search(_answers(keys), text):
        raise UnreadableReply("the reply's JSON object stands in the midst of other text")
    raise _no_object(keys)


def _begins(text: str, start: int) -> bool:
    """Whether what begins at a place stands by itself, and is no part of a sentence or a list."""
    line = text[text.rfind("\n", 0, start) + 1 : start].strip()
    if not line:
        return text[:start].rstrip()[-1:] not in ("[", "{", "(", ",")
    return line[-1] in ".!?:;)*" or (line[-1] == ">" and bool(line.strip("> ")))


class _Tagged(dict[str, Any]):
    """An answer that stood in tags."""


def _tagged(text: str) -> tuple[str, dict[str, Any]]:
    """The answer in tags that a text ends with, and what stands before it."""
    if text.count("<verdict>") != 1 or text.count("</verdict>") != 1:
        raise UnreadableReply("the reply has several verdict tags")
    before, _, verdict = text.removesuffix("</verdict>").rpartition("<verdict>")
    reasons: list[str] = []
    quotes: list[str] = []
    while True:
        before = before.rstrip()
        name = next((one for one in ("reason", "evidence") if before.endswith(f"</{one}>")), "")
        if not name:
            break
        before, opened, inner = before.removesuffix(f"</{name}>").rpartition(f"<{name}>")
        if not opened:
            raise UnreadableReply(f"a tag </{name}> of the reply was never opened")
        (reasons if name == "reason" else quotes).append(inner.strip())
    if len(reasons) != 1:
        raise UnreadableReply("the reply's verdict tag does not stand right behind a reason tag")
    if not _begins(text, len(text) - len(text[len(before) :].lstrip())):
        raise UnreadableReply("the reply's tags stand in the midst of a sentence")
    evidence = [quote for quote in reversed(quotes) if quote]
    return before, _Tagged(reason=reasons[0], evidence=evidence, verdict=verdict.strip())


def _answers(keys: Sequence[str]) -> str:
    """A pattern for what looks like an answer."""
    names = "|".join(map(re.escape, keys))
    return rf"""["'“”‘’`](?:{names})["'“”‘’`]\s*[:=]|</?verdict\b"""


def _check_prose(text: str, keys: Sequence[str]) -> None:
    """Refuse what makes doubtful that an answer behind it is the one that is meant."""
    if re.search(_answers(keys), text):
        raise UnreadableReply("the reply has more than one answer")
    if text.count("{") != text.count("}"):
        raise UnreadableReply("the reply's JSON object stands inside of another that is broken")
    if "<|" in text:
        raise UnreadableReply("tokens of a chat template stand in the reply before its answer")
    for number, found in enumerate(_TAG.finditer(text)):
        if number >= _MOST_STARTS or f"</{found['name']}" not in text[found.end() :]:
            raise UnreadableReply(f"the reply begins a block <{found['name']}> and does not end it")


# Reasoning

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


# Repetition


def refuse_repetition(parts: Mapping[str, Any], material: str) -> None:
    """`UnreadableReply` where all parts of an answer stand in what the model was shown.

    However it is spaced, escaped and quoted there, and in whatever order: a model that repeats a
    text has not judged it.

    Args:
        parts: the answer's keys and values, the reason among them.
        material: what the model was shown.
    """
    if "\\" not in material or "\\u00" not in material:  # else words may be written in escapes
        for key in parts:
            if key not in material:
                return
        if not all(word in material for word in _longest_words(parts)):
            return
    shown = _normal(material)
    for key, value in parts.items():
        name = _normal(key)
        if isinstance(value, str):
            text = _normal(value)
            forms: tuple[str, ...] = (
                f"{name}:{text},",
                f"{name}:{text}}}",
                f"<{name}>{text}</{name}>",
            )
        else:  # a number can be written in many ways; the reason beside it cannot
            forms = (f"{name}:", f"<{name}>")
        if not any(form in shown for form in forms):
            return
    raise UnreadableReply("the reply repeats an answer that stands in the material, word for word")


def _longest_words(parts: Mapping[str, Any]) -> list[str]:
    """Words that stand in a text in whatever way the parts are written there."""
    words = [re.findall(r"[A-Za-z0-9]+", one) for one in parts.values() if isinstance(one, str)]
    return [max(found, key=len) for found in words if found]


_ESCAPED = re.compile(r"\\+u([0-9a-fA-F]{4})")
_DROPPED = re.compile(r"""\\+[nrtbf]?|[\s"'`“”‘’*\u200b\u2060\ufeff]+""")


def _normal(text: str) -> str:
    """A text without what writing it in another way can change."""
    if "\\" in text:
        text = _ESCAPED.sub(lambda found: chr(int(found[1], 16)), text)
        text = text.encode("utf-16", "surrogatepass").decode("utf-16", "replace")  # join halves
    if "&" in text:
        text = html.unescape(text)
    return _DROPPED.sub("", text).casefold()
