"""The rule that nothing else in a reply may be an answer to the same question.

An object is the answer of a reply only if all of this holds:

- What stands before it announces it ("Here is my evaluation:") or states the same answer, and what
  stands behind it is polite. Prose of any other kind may quote the answer, refuse it or take it
  back, in more ways than any list of phrases has.
- Its keys are those that were asked for, or cannot hold another answer. Which values are answers is
  read from the JSON Schema of the reply, so that one rule serves all kinds of criteria.
- It does not stand in what the model was shown: a reply that repeats an answer has judged nothing.

Any other reply is asked for again: a second request is cheap, and a wrong verdict is not.
"""

from __future__ import annotations

import html
import re
import sys
import unicodedata
from bisect import bisect_left
from collections.abc import Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from functools import lru_cache
from itertools import accumulate
from typing import Any

from rubricate.errors import UnreadableReply

# Text beside an answer


def _words(text: str) -> frozenset[str]:
    return frozenset(text.split())


_OPENINGS = _words(
    """absolutely accordingly all certainly consequently course finally go good great hence here is
    it now of ok okay right so sure therefore thus understood well you"""
)
"""Words that an announcement may consist of alone ("Okay, here you go:")."""
_SUBJECTS = _words(
    """analysis analyse analyze analyzed analyzing answer assess assessed assessing assessment
    assessments check checked checking conclusion considered considering decision evaluate evaluated
    evaluating evaluation evaluations examined examining explanation finding findings grade graded
    grades grading json judge judged judgement judgements judging judgment judgments object output
    rating ratings reasoning reply response result results review reviewed reviewing score summary
    verdict verdicts"""
)
"""What is announced; an announcement that is more than an opening has one of these words."""
_LEAD_IN = (
    _OPENINGS
    | _SUBJECTS
    | _words(
        """a after against am and are as at based be below by careful complete concise evidence
        final following follows for formal formatted full have having i in including let me my on
        our overall provide quotes reason short step structured the this thorough to us we will
        with"""
    )
)
_OF_IT = re.compile(
    r"\b(of|against|at|for|on|read(?:ing)?|(?:analy|assess|check|consider|evaluat|examin|grad|judg"
    r"|review)\w*)(?: carefully)? (?:each|the|this|your)(?: given| provided)?"
    r" (?:criteri(?:a|on)|information|material|rubric|submission|text)\b(?!')"
)
"""'Of the submission', 'against this criterion': what is judged, as long as it does nothing."""
_AS_JSON = re.compile(
    r"\bas requested\b|\b(?:as|in)(?: (?:an?|json|requested|required|specified|structured|the))+"
    r"(?: form(?:at)?)?\b"
)
_NO_LEAD_IN = re.compile(r"[^\w\s*_#`:.,!'()-]|(?<!\w)'|'(?!\w)")
"""What says more than the words beside it: quotation marks, a cross, an arrow, a question."""
_SENTENCE_END = re.compile(r"(?<=[.!:])[*_`)]*\s+|\n+")


def refuse_text_before(text: str, answer: object) -> None:
    """`UnreadableReply` where text before an answer is more than its announcement.

    Args:
        text: the text before it.
        answer: the verdict, which the text may state, too.
    """
    text = unicodedata.normalize("NFKC", text).replace("’", "'").strip()
    is_label = isinstance(answer, str | int) and not isinstance(answer, bool)
    label = re.findall(r"\w+", str(answer).casefold()) if is_label else []
    sentences = [sentence for sentence in _SENTENCE_END.split(text) if re.search(r"\w", sentence)]
    if sentences and not _NO_LEAD_IN.search(text):
        wrong = next((sentence for sentence in sentences if not _leads_in(sentence, label)), None)
    else:
        wrong = text
    if wrong is not None:
        shown = wrong if len(wrong) <= 60 else f"...{wrong[-57:]}"
        raise UnreadableReply(f"the text before the reply's answer may take it back: '{shown}'")


def _leads_in(sentence: str, label: list[str]) -> bool:
    """Whether a sentence announces what comes behind it, or states the answer of this label."""
    plain = sentence.casefold()
    for short, long in (("'s ", " is "), ("'ve ", " have "), ("'ll ", " will ")):
        plain = plain.replace(short, long)
    plain = " ".join(plain.replace("let is ", "let us ").split())
    words = re.findall(r"[^\W_]+", _AS_JSON.sub(" json ", _OF_IT.sub(r"\1", plain)))
    if label and [word for word in words if word not in _LEAD_IN] == label:
        return True
    return _LEAD_IN.issuperset(words) and (
        _OPENINGS.issuperset(words) or not _SUBJECTS.isdisjoint(words)
    )


_POLITE = re.compile(
    r"(?:best regards|do you want me to|done|end of (?:my )?evaluation|feel free|glad|good luck|"
    r"happy to|have a|hope|i hope|if you|is there anything|let me know|please|thanks?|"
    r"would you like me to)\b"
)
_POLITE_WORDS = _words(
    """a about additional advance all an and another any anything are ask assist assistance at best
    can clarification clarifications clarify criteria day details discuss do done elaborate
    elaboration else end evaluate evaluation evaluations explain explanation feel for free further
    glad good great grading happy have help helpful helps hope i if in information is it know let
    like luck me more my need nice of on opportunity or out part please questions reach regarding
    regards require submission submissions thank thanks that the there this to unclear want with
    would you your"""
)
_END = re.compile(r"(?:<\|[\w-]+\|>|</s>|<(?:end_of_turn|eos)>|-{3,}|\s)+\Z")
"""How a model ends its turn, where a server leaves it in the text, and a rule."""


def is_closing_remark(text: str) -> bool:
    """Whether text behind an answer is no more than polite ("Let me know if you need more.").

    Each sentence begins politely, and is of words that cannot take an answer back.
    """
    text = _END.sub("", text.casefold().replace("’", "'"))
    if not text:
        return True
    text = re.sub(r"(?:do not|don't) hesitate", "feel free", text).replace("you'd", "you would")
    text = re.sub(r"\bi(?:'d| would|'m| am|'ll| will)(?: be)?(?= (?:glad|happy))", "", text)
    text = re.sub(
        r"(\b(?:do you want|is there anything|would you like)\b[^.!?\n]*)\?", r"\1.", text
    )
    if not re.fullmatch(r"[a-z\s.,!()]*", text):
        return False
    sentences = [sentence.split() for sentence in re.split(r"[.!()\n]+", text.replace(",", " "))]
    polite = [
        _POLITE_WORDS.issuperset(words) and _POLITE.match(" ".join(words))
        for words in sentences
        if words
    ]
    return bool(polite) and all(polite)


# Keys of an object that nobody asked for


_FREE = frozenset(("reason", "evidence", "quote", "item"))
"""Parts of an answer that are free text or name what is answered: they are no answer themselves."""
_REFERENCE = re.compile(
    r"(?:for|about|regarding)?(?:criterion|item|question|requirement)(?:id|index|name|no|number)?|"
    r"about|appliesto|for|id|index|key|name|no|number|ref|reference|regarding|subject|target|title"
)
"""Keys, without case and punctuation, that say what is answered."""
_SHORT = 12
"""Words up to which a text that nobody asked for may be an answer in ordinary words ('on reflection
it is not met'). At 6 such sentences are missed; at 24 most remarks that use a label's word in
passing ('a good text') cost a second request. In longer ones only the label as it is spelled
counts."""
_YES_OR_NO = re.compile(
    r"yes|no|nope|not|y|n|true|false|pass(?:e[ds])?|fail(?:ed|s|ure)?|(?:in)?correct|met|meets|unmet|"
    r"(?:un|dis)?(?:satisfied|fulfilled)|accept(?:ed)?|reject(?:ed)?|positive|negative|present|"
    r"absent|right|wrong|[✓✔✅✗✘❌]"
)
"""Words for the two answers of a yes-or-no question, beside its labels."""
_TAKES_BACK = re.compile(
    r"\b(?:abstain\w*|cannot|disregard\w*|ignor\w+|invalid\w*|inver[ts]\w*|opposite|overrid\w+|"
    r"overrul\w+|retract\w*|revers\w+|revok\w+|tak(?:e|en|ing)\b.*\bback|undecid\w*|unsure|verdicts?|"
    r"void|withdr[ae]w\w*)\b",
    re.IGNORECASE,
)
"""Words of a text that may take an answer back, or replace it, without saying another one."""
_ANSWER_NAME = re.compile(
    r"^(?:actual|adjust|amend|answer|best$|better$|choice|conclusion|correct(?:ed|ion)|decision|"
    r"final|grade$|grading$|judge?ment|label|outcome|overall$|overrid|preferred|rating|real|result|"
    r"revis|score|true|updat|winner)"
)
"""Names, without case and punctuation, under which nothing but another answer is expected,
whatever it is written like ('final': 'nicht erfüllt')."""
_NUMBERS = ["zero", "one", "two", "three", "four", "five", "six", "seven", "eight", "nine", "ten"]
_NUMBER = re.compile(r"(?<![\w.])[+-]?\d+(?:\.\d+)?(?![\w%]|\.\d)")


def _squeezed(key: str) -> str:
    """A key without case, space and punctuation."""
    return "".join([letter for letter in key.casefold() if letter.isalnum()])


def keys_and_leaves(value: Any) -> tuple[list[str], list[Any]]:
    """The keys in a JSON value, and its texts, numbers and truth values."""
    keys: list[str] = []
    leaves: list[Any] = []
    pending = [value]
    while pending:
        part = pending.pop()
        if isinstance(part, dict):
            keys += part
            pending += part.values()
        elif isinstance(part, list):
            pending += part
        elif part is not None:
            leaves.append(part)
    return keys, leaves


def refers(key: str) -> bool:
    """Whether a key says which question is answered."""
    return _REFERENCE.fullmatch(_squeezed(key)) is not None


def is_confidence(key: str, value: object) -> bool:
    """Whether a number says how sure the model is."""
    is_number = isinstance(value, int | float) and not isinstance(value, bool)
    return is_number and "confidence" in _squeezed(key)


@dataclass(slots=True)
class _Answers:
    """What can be an answer, by the JSON Schemas of the answers."""

    labels: list[str] = field(default_factory=list)
    names: set[str] = field(default_factory=set)
    bounds: list[tuple[float, float]] = field(default_factory=list)
    yes_or_no: bool = False
    any_text: bool = False

    @classmethod
    def of(cls, schemas: Iterable[Mapping[str, Any]]) -> _Answers:
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
                answers.labels += map(str, schema["enum"])
                answers.yes_or_no |= 2 <= len(schema["enum"]) <= 3  # with CANNOT_ASSESS
            elif kind in ("integer", "number"):
                bounds = schema.get("minimum", float("-inf")), schema.get("maximum", float("inf"))
                answers.bounds.append(bounds)
            answers.yes_or_no |= kind == "boolean"
            answers.any_text |= kind == "string" and "enum" not in schema
        return answers

    def may_be(self, key: str, value: Any, asked: Collection[str]) -> bool:
        """Whether a key that nobody asked for, or anything in it, can be read as an answer."""
        if value in (None, "", [], {}) or is_confidence(key, value):
            return False
        name = _squeezed(key)
        names = {_squeezed(other) for other in (*self.names, *asked) if not other.isdecimal()}
        if any(other in name for other in names if len(other) > 3) or _ANSWER_NAME.search(name):
            return True
        if refers(key) and isinstance(value, int | float) and not isinstance(value, bool):
            return False
        keys, leaves = keys_and_leaves(value)
        names |= {*map(_squeezed, self.labels)} - {""}
        return any(_squeezed(other) in names for other in (key, *keys)) or any(
            map(self._have, leaves)
        )

    def _have(self, value: Any) -> bool:
        """Whether a text, number or truth value can be read as an answer."""
        if isinstance(value, bool):
            return self.yes_or_no or str(value).casefold() in map(str.casefold, self.labels)
        if isinstance(value, int | float):
            return self._have_number(value)
        text = unicodedata.normalize("NFKC", value).replace("_", " ")
        words = re.findall(r"\w+|[✓✔✅✗✘❌]", text.casefold())
        short = len(words) <= _SHORT
        if _TAKES_BACK.search(text) or "".join(words) in map(_squeezed, self.labels):  # 'U N M E T'
            return True
        if self.yes_or_no and len(words) <= _SHORT // 2 and any(map(_YES_OR_NO.fullmatch, words)):
            return True
        numbers: list[float] = [float(word) for word in _NUMBER.findall(text)]
        if short:
            numbers += [_NUMBERS.index(word) for word in words if word in _NUMBERS]
        if any(map(self._have_number, numbers)):
            return True
        return bool(words) and ((self.any_text and short) or self._is_named(text, short))

    def _have_number(self, value: float) -> bool:
        if self.yes_or_no and value in (0, 1):
            return True
        shown = str(int(value)) if float(value).is_integer() else str(value)
        return shown in self.labels or any(low <= value <= high for low, high in self.bounds)

    def _is_named(self, text: str, any_case: bool) -> bool:
        """Whether a label stands in a text as words of its own."""
        labels = [re.escape(label).replace("_", "[_ ]") for label in self.labels if label.strip()]
        pattern = rf"(?<!\w)(?:{'|'.join(labels)})(?!\w)"
        flags = re.IGNORECASE if any_case else 0
        return bool(labels) and re.search(pattern, text, flags) is not None


def refuse_other_answers(
    data: Mapping[str, Any], schema: Mapping[str, Any], asked: Collection[str]
) -> None:
    """`UnreadableReply` where a key that nobody asked for may hold another answer.

    Args:
        data: an object of a reply.
        schema: its JSON Schema.
        asked: the keys of its answers.
    """
    properties: Mapping[str, Any] = schema.get("properties", {})
    answers: _Answers | None = None
    for key, value in data.items():
        name = key.strip() if key.strip().isdecimal() else key
        if name in asked and name in properties:
            _refuse_within(value, properties[name])
        elif name not in properties and name not in _FREE and name not in asked:
            answers = answers or _Answers.of(
                [properties[answer] for answer in asked if answer in properties]
            )
            if answers.may_be(key, value, asked):
                listed = ", ".join([f"'{answer}'" for answer in asked])
                raise UnreadableReply(
                    f"the reply's JSON object has '{key}' beside {listed}: it may be another answer"
                )


def _refuse_within(value: Any, schema: Mapping[str, Any]) -> None:
    """`refuse_other_answers` of the objects that an answer itself consists of."""
    if isinstance(value, list) and "items" in schema:
        for part in value:
            _refuse_within(part, schema["items"])
    elif isinstance(value, dict):
        for kind in (schema, *schema.get("anyOf", ())):
            if inner := kind.get("properties"):
                refuse_other_answers(value, kind, [name for name in inner if name not in _FREE])


# Answers that stand in what the model was shown


_ESCAPED = re.compile(
    r"\\+(?:(?-i:U)([0-9a-f]{8})|u([0-9a-f]{4})|u\{([0-9a-f]{1,6})\}|x([0-9a-f]{2}))"
    r"|%u([0-9a-f]{4})|%([2-7][0-9a-f])|\\+(?P<octal>[01][0-7]{2})",
    re.IGNORECASE,
)
_MAY_HOLD = re.compile(rf"[{{<&]|{_ESCAPED.pattern}", re.IGNORECASE)
_DROPPED = re.compile(r"""\\+[nrtbf]?|[\s"'`*“”‘’]+""")
_INVISIBLE = re.compile(
    "[\u00ad\u0300-\u036f\u061c\u200b-\u200f\u202a-\u202e\u2060-\u206f\ufe00-\ufe0f\ufeff\u25a1]+"
)
"""Characters that are not seen within a word, and what is shown to the model in their place (□)."""
_TAGS = {0xE0000 + code: code for code in range(0x20, 0x7F)}
"""Characters of Unicode that look like nothing and stand for those of ASCII."""
_WORD = re.compile(r"[^\W_]+")
_NEAR = 3
"""Words between a reason and a verdict, or a verdict and its name, that belong together ("... and
the verdict MET"). At 1 such a sentence is missed; at 6 a submission that speaks of a verdict
anywhere behind a sentence that is quoted as the reason would be taken for an answer."""
_WITHIN = 300
"""Words within which an answer's parts stand; quotes may stand between them."""
_NAMES = ("verdict", "score", "rating", "grade")
"""What a verdict that is written in words or in another form is called."""


def holds_answer(material: str, keys: Collection[str]) -> bool:
    """Whether what the model was shown holds an object with one of these keys, or tags of it."""
    if not _MAY_HOLD.search(material):
        return False
    shown = _normal(material)
    return any(
        re.search(rf"[{{,]{re.escape(key)}:(?!\.\.\.)|<{re.escape(key)}>", shown)
        for key in map(str.casefold, keys)
    )


def refuse_repetition(parts: Mapping[str, Any], material: str) -> None:
    """`UnreadableReply` where an answer's reason stands in what the model was shown, and the
    verdict with it.

    They are compared as letters and digits, so that it does not matter how either is spaced,
    escaped, quoted, marked up or capitalized, and in what form they stand there. A reason alone may
    be an honest quote. The verdict is with it where it stands a few words from it, or behind its
    own name (`verdict`) in the same passage.

    Args:
        parts: the answer's keys and values: the reason first, then the verdict.
        material: what the model was shown.
    """
    (reason_name, reason), (name, verdict) = parts.items()
    words = _WORD.findall(_decoded(reason))
    text = _decoded(material)
    if not all(word in text for word in words):
        return
    shown = _shown(text)
    label = _letters(str(verdict)) if isinstance(verdict, str | int | float) else ""
    names = {*_NAMES, _letters(name)}
    for first, last in shown.places("".join(words)):
        if len(words) < _NEAR:  # a few words stand anywhere by chance
            before, after = shown.word(first - 1), shown.word(last)
            is_part = after in (*names, before, "evidence") or shown.ends(label, first - 1)
            if before != _letters(reason_name) or not is_part:
                continue
        elif len(label) > 1 and not label.isdecimal():
            after_it = any(shown.begins(label, last + n) for n in range(_NEAR + 1))
            if after_it or any(shown.ends(label, first - n) for n in range(_NEAR + 1)):
                raise _repeated()
        named = range(max(0, first - _WITHIN), min(last + _WITHIN, len(shown.words)))
        if any(
            shown.words[word] in names
            and (not label or any(shown.begins(label, word + n) for n in range(1, _NEAR + 1)))
            for word in named
        ):
            raise _repeated()


def _repeated() -> UnreadableReply:
    return UnreadableReply("the reply repeats an answer that stands in the material, word for word")


class _Shown:
    """The words of a text, and its letters and digits in one row."""

    def __init__(self, text: str) -> None:
        self.words = _WORD.findall(text)
        self._row = "".join(self.words)
        self._starts = [0, *accumulate(map(len, self.words))]

    def word(self, index: int) -> str:
        return self.words[index] if 0 <= index < len(self.words) else ""

    def places(self, letters: str) -> Iterator[tuple[int, int]]:
        """The words from and up to which letters stand, 50 at most; for "", each word."""
        if not letters:
            yield from ((word, word) for word in range(len(self.words)))
            return
        at = -1
        for _ in range(_MOST):
            at = self._row.find(letters, at + 1)
            if at < 0:
                return
            first, last = self._index(at), self._index(at + len(letters))
            if first is not None and last is not None:
                yield first, last

    def begins(self, letters: str, word: int) -> bool:
        """Whether whole words from one on have these letters."""
        if not letters or not 0 <= word < len(self.words):
            return False
        at = self._starts[word]
        return self._row.startswith(letters, at) and self._index(at + len(letters)) is not None

    def ends(self, letters: str, word: int) -> bool:
        """Whether whole words up to one (excluded) have these letters."""
        if not letters or not 0 < word <= len(self.words):
            return False
        at = self._starts[word] - len(letters)
        return at >= 0 and self._row.startswith(letters, at) and self._index(at) is not None

    def _index(self, at: int) -> int | None:
        """The word that begins at a letter."""
        index = bisect_left(self._starts, at)
        return index if self._starts[index] == at else None


_shown = lru_cache(maxsize=8)(_Shown)
"""Kept for the criteria of an item."""
_MOST = 50
"""Places of a reason in what the model was shown that are looked at."""


def _letters(text: str) -> str:
    return "".join(_WORD.findall(_plain(text)))


def _plain(text: str) -> str:
    """A text in lower case, without accents, invisible characters and other forms of letters."""
    if not text.isascii():
        text = unicodedata.normalize("NFKD", text.translate(_TAGS))
        text = _INVISIBLE.sub("", text)
    return text.casefold()


@lru_cache(maxsize=64)
def _decoded(text: str) -> str:
    """`_plain` of a text whose escapes are read. It is kept for the criteria of an item."""
    if "&" in text:
        text = html.unescape(text)
    if "\\" in text or "%" in text:
        text = _ESCAPED.sub(_character, text)
        text = re.sub(r"\\+[nrtbf]?", " ", text)
        text = text.encode("utf-16", "surrogatepass").decode("utf-16", "replace")  # join halves
    return _plain(text)


def _normal(text: str) -> str:
    """A text without what writing it in another way can change."""
    return _DROPPED.sub("", _decoded(text))


def _character(match: re.Match[str]) -> str:
    code = int(match[match.lastindex or 0], 8 if match["octal"] else 16)
    return chr(code) if code <= sys.maxunicode else match[0]
