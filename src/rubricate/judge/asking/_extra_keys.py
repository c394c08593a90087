"""Unexpected keys of a reply: none of them may contain another answer.

The JSON Schema of the reply says which values are answers: a label, a number within bounds, a
boolean for a question with two answers. So one rule covers all kinds of criteria, all prompts, and
answers with several parts.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

from rubricate.errors import UnreadableReply

_FREE = frozenset(("reason", "evidence", "quote", "item"))
"""Parts of an answer that are free text or name its subject: they are never answers."""
_REFERENCE = re.compile(
    r"(?:for|about|regarding)?(?:criterion|item|question|requirement)(?:id|index|name|no|number)?|"
    r"about|appliesto|for|id|index|key|name|no|number|ref|reference|regarding|subject|target|title"
)
"""Keys, without case and punctuation, that name the subject of an answer."""
_SHORT = 12
"""The maximum number of words of an unexpected text that may be an answer in plain words ('on
reflection it is not met'). At 6 such sentences are missed; at 24 most remarks that use a label's
word in passing ('a good text') cost a second request. In longer texts only the label in its exact
spelling counts."""
_YES_OR_NO = re.compile(
    r"yes|no|nope|not|y|n|true|false|pass(?:e[ds])?|fail(?:ed|s|ure)?|(?:in)?correct|met|meets|unmet|"
    r"(?:un|dis)?(?:satisfied|fulfilled)|accept(?:ed)?|reject(?:ed)?|positive|negative|present|"
    r"absent|right|wrong|[✓✔✅✗✘❌]"
)
"""Words for yes and no, besides the labels."""
_TAKES_BACK = re.compile(
    r"\b(?:abstain\w*|cannot|disregard\w*|ignor\w+|invalid\w*|inver[ts]\w*|opposite|overrid\w+|"
    r"overrul\w+|retract\w*|revers\w+|revok\w+|tak(?:e|en|ing)\b.*\bback|undecid\w*|unsure|verdicts?|"
    r"void|withdr[ae]w\w*)\b",
    re.IGNORECASE,
)
"""Words that may take an answer back, or replace it, without naming another one."""
_ANSWER_NAME = re.compile(
    r"^(?:actual|adjust|amend|answer|best$|better$|choice|conclusion|correct(?:ed|ion)|decision|"
    r"final|grade$|grading$|judge?ment|label|outcome|overall$|overrid|preferred|rating|real|result|"
    r"revis|score|true|updat|winner)"
)
"""Names, without case and punctuation, that can only hold another answer, in any wording ('final':
'nicht erfüllt')."""
_REMARK = re.compile(
    r"ambigu|count|description|explanation|injection|justification|language|length|location|"
    r"manipulat|position|rationale|review|schema|sentence|timestamp|token|version"
)
"""Names of remarks: a number or a boolean under them is not an answer."""
NUMBER_WORDS = (
    "zero",
    "one",
    "two",
    "three",
    "four",
    "five",
    "six",
    "seven",
    "eight",
    "nine",
    "ten",
)
_NUMBER = re.compile(r"(?<![\w.])[+-]?\d+(?:\.\d+)?(?![\w%]|\.\d)")


def _plain(key: str) -> str:
    """Return a key without case, space and punctuation."""
    return "".join([character for character in key.casefold() if character.isalnum()])


def _parts(value: Any) -> Iterator[Any]:
    """Yield a JSON value and everything in it."""
    pending = [value]
    while pending:
        yield (part := pending.pop())
        if isinstance(part, dict | list):
            pending += part.values() if isinstance(part, dict) else part


def leaves(value: Any) -> list[Any]:
    """Return the texts, numbers and booleans of a JSON value."""
    return [
        part for part in _parts(value) if part is not None and not isinstance(part, dict | list)
    ]


def refers(key: str) -> bool:
    """Whether a key names the question that is answered."""
    return _REFERENCE.fullmatch(_plain(key)) is not None


def is_remark(key: str) -> bool:
    """Whether a number or a boolean under this key is not an answer."""
    return "confidence" in _plain(key) or _REMARK.search(_plain(key)) is not None


@dataclass(slots=True)
class Answers:
    """The possible answers, from the JSON Schemas of the answers."""

    labels: list[str] = field(default_factory=list)
    names: set[str] = field(default_factory=set)
    bounds: list[tuple[float, float]] = field(default_factory=list)
    yes_or_no: bool = False
    any_text: bool = False

    @classmethod
    def of(cls, schemas: Iterable[Mapping[str, Any]]) -> Answers:
        answers = cls()
        pending: list[Any] = list(schemas)
        while pending:
            schema = pending.pop()
            if not isinstance(schema, Mapping):  # true and false are schemas, too
                continue
            pending += (*schema.get("anyOf", ()), schema.get("items"))
            for name, inner in schema.get("properties", {}).items():
                if name not in _FREE:
                    answers.names.add(name)
                    pending.append(inner)
            kind = schema.get("type")
            if "enum" in schema:
                answers.labels += [str(label) for label in schema["enum"]]
                answers.yes_or_no |= 2 <= len(schema["enum"]) <= 3  # with CANNOT_ASSESS
            elif kind in ("integer", "number"):
                bounds = schema.get("minimum", float("-inf")), schema.get("maximum", float("inf"))
                answers.bounds.append(bounds)
            answers.yes_or_no |= kind == "boolean"
            answers.any_text |= kind == "string" and "enum" not in schema
        return answers

    def have(self, value: Any) -> bool:
        """Whether a text, number or boolean can be read as an answer."""
        if isinstance(value, bool):
            return self.yes_or_no or str(value).casefold() in map(str.casefold, self.labels)
        if isinstance(value, int | float):
            return self._have_number(value)
        text = unicodedata.normalize("NFKC", value)
        text = text.replace("_", " ")
        words = re.findall(r"\w+|[✓✔✅✗✘❌]", text.casefold())
        short = len(words) <= _SHORT
        if _TAKES_BACK.search(text) or "".join(words) in map(_plain, self.labels):  # 'U N M E T'
            return True
        if self.yes_or_no and len(words) <= _SHORT // 2 and any(map(_YES_OR_NO.fullmatch, words)):
            return True
        numbers: list[float] = [float(word) for word in _NUMBER.findall(text)]
        if short:
            numbers += [NUMBER_WORDS.index(word) for word in words if word in NUMBER_WORDS]
        if any(map(self._have_number, numbers)):
            return True
        return bool(words) and ((self.any_text and short) or bool(self.mentions(text, short)))

    def may_be(self, key: str, value: Any, answers: Collection[str]) -> bool:
        """Whether an unexpected key, or anything in it, can be read as an answer.

        Not an answer are a model's confidence as a number, and the number of a criterion.
        """
        name = _plain(key)
        is_number = isinstance(value, int | float) and not isinstance(value, bool)
        if value in (None, "", [], {}) or (is_number and "confidence" in name):
            return False
        known = {_plain(answer) for answer in (*self.names, *answers) if not answer.isdecimal()}
        # Short names are left out: "n" is in half of all words.
        is_named = any(answer in name for answer in known if len(answer) > 3)
        if is_named or _ANSWER_NAME.search(name):
            is_text = isinstance(value, str) and _REMARK.search(name) is not None
            return not is_text or self.have(value)
        counts = "count" in name and (self.bounds or any(map(str.isdecimal, self.labels)))
        is_other = (is_remark(key) and not counts) or (is_number and refers(key))
        is_code = "confidence" not in name and _is_code(value)
        if is_other and (isinstance(value, int | float) or is_code):
            return False
        names = known | {_plain(label) for label in self.labels} - {""}
        inner = [name for part in _parts(value) if isinstance(part, dict) for name in part]
        if any(_plain(name) in names for name in (key, *inner)):
            return True
        return any(self.have(leaf) for leaf in leaves(value))

    def _have_number(self, value: float) -> bool:
        if self.yes_or_no and value in (0, 1):
            return True
        shown = str(int(value)) if float(value).is_integer() else str(value)
        return shown in self.labels or any(low <= value <= high for low, high in self.bounds)

    def mentions(self, text: str, any_case: bool) -> list[re.Match[str]]:
        """Return the labels that a text mentions as separate words."""
        longest = sorted({label.strip() for label in self.labels}, key=len, reverse=True)
        if not longest:
            return []
        either = "|".join([re.escape(label).replace("_", "[_ ]") for label in longest])
        pattern = rf"(?<!\w)(?:{either})(?!\w)"
        return list(re.finditer(pattern, text, re.IGNORECASE if any_case else 0))


def _is_code(value: Any) -> bool:
    """Whether a text has digits and no words: a date, a version."""
    return isinstance(value, str) and re.fullmatch(r"\d[\d.:TZ+ -]*", value) is not None


def refuse_other_answers(
    data: Mapping[str, Any], schema: Mapping[str, Any], answers: Collection[str]
) -> None:
    """Raise `UnreadableReply` if an unexpected key may contain another answer.

    Args:
        data: an object of a reply.
        schema: its JSON Schema.
        answers: the keys of its answers.
    """
    properties: Mapping[str, Any] = schema.get("properties", {})
    known: Answers | None = None
    for key, value in data.items():
        name = key.strip() if key.strip().isdecimal() else key
        if name in answers and name in properties:
            _refuse_within(value, properties[name])
        elif name not in properties and name not in _FREE and name not in answers:
            known = known or Answers.of(
                [properties[answer] for answer in answers if answer in properties]
            )
            if known.may_be(key, value, answers):
                listed = ", ".join([f"'{answer}'" for answer in answers])
                raise UnreadableReply(
                    f"the reply's JSON object has '{key}' beside {listed}: it may be another answer"
                )


def _refuse_within(value: Any, schema: Mapping[str, Any]) -> None:
    """`refuse_other_answers` for the objects inside an answer."""
    if isinstance(value, list) and "items" in schema:
        for part in value:
            _refuse_within(part, schema["items"])
    elif isinstance(value, dict):
        for kind in (schema, *schema.get("anyOf", ())):
            if inner := kind.get("properties"):
                refuse_other_answers(value, kind, [part for part in inner if part not in _FREE])
