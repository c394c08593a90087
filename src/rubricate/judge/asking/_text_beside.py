"""Text beside a reply's answer: it may neither take the answer back nor say another one.

Models that do not keep to a format write a sentence before their JSON ("Here is my evaluation:"),
or all of their reasoning, and some a polite one behind it. They also quote, refuse and illustrate
("a wrong answer would be:"). What leads up to an answer is therefore of a closed class, and so is
what follows it. A finished sentence may say anything that is not about the answer itself. Where it
is not sure, the model is asked again: a second request is cheap, a wrong verdict is not.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Mapping
from typing import Any

from rubricate.errors import UnreadableReply
from rubricate.judge.asking._other_answers import Answers

__all__ = ["is_courtesy", "refuse_text_before"]

_DOUBTED = re.compile(
    r"n't\b|\b(?:cannot|could|false|if|incorrect|instead|might|must|neither|never|no|nor|not|"
    r"rather|should|unless|were|would|wrong)\b",
    re.IGNORECASE,
)
_NEAR = 30
"""Characters on each side of a label, within its clause, in which a word takes it back: 'not MET',
'MET would be wrong'. At 15 a label is out of reach of 'I could not say that it is MET'; at 60 the
reason in the same clause ('as it does not say blue the verdict is UNMET') counts against it."""

_JUDGEMENT = "analysis|assessment|evaluation|findings?|grade|grading|judge?ment|rating|verdict"
_RESULT = "answer|conclusion|decision|json|object|output|reply|response|result|score|verdict"
_QUALITY = "complete|final|formal|formatted|full|json|overall|requested|required|structured"
_OF = r"\ (?:against|based\ on|for|of|on)\ (?:the|this)\ (?:criterion|submission|text)"
_THEN = (
    "accordingly|consequently|finally|hence|in conclusion|in short|in summary|now|overall|so|"
    "therefore|thus|to conclude|to summari[sz]e"
)
_LOOKING = (
    "above|against|all|analysis|analyzing|and|assessed|assessing|careful|carefully|considered|"
    "considering|consideration|criterion|evaluating|evaluation|evidence|material|my|provided|read|"
    "reading|review|reviewed|reviewing|submission|text|the|this|thorough|thoroughly"
)
_NEUTRAL = re.compile(
    rf"""
    (?:(?:absolutely|all\ ?right|certainly|done|of\ course|ok|okay|sure|understood|well)\b\ ?)?
    (?:(?:after|based\ on|considering|given|having|looking\ at)(?:\ (?:{_LOOKING})\b)+\ ?)?
    (?:i(?:\ have|\ ve)\ (?:{_LOOKING})(?:\ (?:{_LOOKING})\b)*\ ?)?
    (?:and\ )?(?:(?:{_THEN})\b\ ?)?
    (?:
        here\ (?:it\ is|you\ go)
        | i\ (?:(?:therefore|thus|hence|will|ll)\ )?(?:answer|conclude|judge)
        | (?:(?:here|below|the\ following|this)\ (?:are|is|s)\ |(?:i|let\ me)\ (?:ll\ |will\ )?
            (?:now\ )?(?:answer\ with|give|output|provide|return)\ )?
          (?:(?:my|the)\ )?(?:(?:{_QUALITY})\ )*
          (?:(?:{_JUDGEMENT})(?:{_OF})*|(?:{_RESULT})(?:\ json)?(?:\ for\ (?:the|this)\ criterion)?)
          (?:\ (?:as|in|with)(?:\ (?:a|json|my|requested|required|specified|the)\b)*
            (?:\ (?:form|format|json|object|{_JUDGEMENT}))?)?
          (?:\ (?:is|follows|below|is\ (?:as\ follows|below|this|therefore|thus)))?
    )?
    """,
    re.VERBOSE | re.IGNORECASE,
)
"""What may lead up to an answer ("here is my verdict:"): a closed class of the words that models
use for it. Whatever else leads up to an object may say that it is quoted, wrong or not meant."""
_FINDING = re.compile(rf"(?P<finding>.*\S)(?:[,;] (?:and )?| and )(?P<rest>(?:{_THEN})\b.*)", re.I)
"""'The text does not say so, hence my verdict': a finding, and what leads up to the answer."""
_UNREAL = re.compile(
    r"\b(?:if|unless|suppos\w+|assum\w+|imagin\w+|pretend\w*|hypothe\w+)\b"
    r"|\b(?:had|were) (?:he|i|it|she|the|they)\b"
    r"|\bI\b[^,;:]*\b(?:could|had|might|must|should|would)\b",
    re.IGNORECASE,
)
"""A finding that is none: a condition."""
_OPEN = re.compile(
    r"\b(?:a|an|are|as|be|by|from|is|like|of|on|read|reads|said|say|says|saying|that|the|to|was|"
    r"were|with|write|writes|wrote)\W*$",
    re.IGNORECASE,
)
"""Words with which no sentence ends, only what leads up to something."""
_ANSWER = (
    r"(?:verdict|judge?ment|(?:my|right|wrong|(?:in)?correct|bad|false)\W+(?:\w+\W+)?"
    r"(?:answer|assessment|evaluation|grade|json|object|output|rating|reply|response|score))"
)
_SAY = r"(?:accept|agree|answer(?:ing)?|conclude|give|mean|output|reply|respond|return|say|write)"
_DENY = (
    r"(?:\w+n't|bad|cannot|compar\w+|contain\w*|contrary|could|demand\w*|draft|ends?|fake|false|"
    r"forged|from|hope\w*|hypothe\w+|if|ignor\w+|includ\w+|incorrect|inject\w+|invalid|"
    r"looks?\ like|might|mistake\w*|must|never|nobody|no\ one|not|opposite|placeholder|quot\w+|"
    r"refus\w+|reject\w*|sample|should|suppos\w+|tries|try|unless|want\w*|would|wrong)"
)
_TAKES_BACK = re.compile(
    rf"""
    \b{_DENY}\b[^,;:]*\b{_ANSWER}\b | \b{_ANSWER}\b[^,;:]*\b{_DENY}\b
    | \bI\b[^,;:]*\b(?:asked|forced|tempted|told|{_DENY})\b(?:\ \w+){{0,3}}?\ {_SAY}\b
    | \bI\ (?:\w+\ )?(?:almost|disagree|disregard|ignore|nearly|refuse|reject|retract|take)\b
    | \bI\ (?:\w+\ )?withdraw\b
    | \b(?:grader|it\ is|judge|me|model)\b[^,;:]*\b(?:asked|tempt\w+|told|want\w*)\ to\ {_SAY}\b
    | \b{_DENY}\b[^,;:]*\b(?:answer(?:ing)?|output|reply|respond)\ (?:as|like|so|that|this|with)\b
    | \bopposite\ of\ (?:it|my|that|the\ following|this)\b
    | \bhow\ (?:an?\ |the\ )?(?:\w+\ )?(?:answer|reply|response|verdict)\b
    | ^this\ is\ (?:how|what)\b
    | \b(?:it|that|this)\ is\ (?:just\ |merely\ |only\ )?(?:an?\ |the\ )?
      (?:draft|example|illustration|joke|opposite|placeholder|quot\w+|sample|template|test)\b
    | ^\W*(?:do\ not|don't|disregard|forget|ignore|never|note|please|remember|scrap|strike)\b
    """,
    re.VERBOSE | re.IGNORECASE,
)
"""A sentence that is about the answer and takes it back, or makes it depend on something."""
_POINTS = re.compile(
    r"""
    \bthe\ following\b(?!\ \w+:) | \b(?:that|what|which)\ (?:\w+\ )?follows\b | ^(?:below|here)\b
    | \bnext\ (?:answer|json|line|object|verdict)\b | \b(?:answer|json|object|verdict)\ below\b
    | \b(?:below|follows|here)\W*$
    | \b(?:are|as|be|is|like|not|said|say|wrote)\ (?:follows|such|that|these|this(?:\ one)?)\W*$
    | \b(?:cf|e\.g|for\ (?:example|instance)|i\.e|such\ as|viz)\W*$ | (?:\.\.\.|…|\?)\W*$
    """,
    re.VERBOSE | re.IGNORECASE,
)
"""A sentence that points at what comes behind it, or that leaves it open."""
_ENGLISH = re.compile(
    r"\b(?:and|answer|are|because|but|by|criterion|does|for|has|have|isn't|it|its|mention\w*|met|"
    r"never|none|not|nothing|only|requirement|response|says|states|submission|text|that|the|there|"
    r"they|this|to|which|with)\b",
    re.IGNORECASE,
)
"""Of text in another language nobody here can tell what it says about the answer behind it."""
_VERDICT_IS = re.compile(
    rf"\W*(?:(?:final|hence|my|overall|so|the|therefore|thus)\W+)*(?:{_RESULT}|{_JUDGEMENT})\W+"
    r"(?:is\W+)?(?:therefore\W+|thus\W+)?",
    re.IGNORECASE,
)
_BOUNDARY = re.compile(
    r"(?<=[.!?…])[\"'”)*_]*\s+|(?<!:)\n\s*\n\s*|(?<!:)\n\s*(?=[-*+•] |\d+[.)] |#)"
)
_MARKUP = re.compile(r"[*_#`>~]+|^\s*(?:[-+•]|\d+[.)])\s+", re.MULTILINE)
_MOST_BEFORE = 3
"""How many sentences before an answer are looked at for what they say of it."""
_LONGEST = 1000
"""Characters of a sentence. What has more is none, and would take long to look through."""


def refuse_text_before(
    text: str, data: Mapping[str, Any], schema: Mapping[str, Any], key: str
) -> None:
    """`UnreadableReply` where text before an answer may take it back, or says another one.

    What leads up to the answer ("... :") must be of the closed class of announcements. A finished
    sentence may say anything that is not about the answer itself.

    Args:
        text: the text before it.
        data: the answer's object.
        schema: its JSON Schema.
        key: what the answer stands under; "" for several answers.
    """
    text = unicodedata.normalize("NFKC", re.sub(r"</[^<>\n]*>", ".\n\n", text)).replace("’", "'")
    sentences = [" ".join(_MARKUP.sub(" ", one).split()) for one in _BOUNDARY.split(text.strip())]
    sentences = [one for one in sentences if one][-_MOST_BEFORE:]
    if not sentences:
        if text.strip():
            raise _taken_back(text.strip())
        return
    known = Answers.of([schema.get("properties", {}).get(key, {})])
    given = data.get(key)
    is_label = isinstance(given, str | int) and not isinstance(given, bool)
    own = str(given).strip().casefold() if is_label else ""
    last = sentences[-1]
    if max(map(len, sentences)) > _LONGEST:
        raise _taken_back(last)
    for line in (*text.splitlines(), *sentences):
        if own and _stated(known, line) not in ("", own):
            raise UnreadableReply(
                f"the text before the reply's answer says '{_stated(known, line)}'"
            )
    is_said = _is_neutral(last) or (bool(own) and _stated(known, last) == own)
    if not is_said and not _is_finished(last, text):
        found = _FINDING.fullmatch(last)
        if not found or not _is_neutral(found["rest"]) or _UNREAL.search(found["finding"]):
            raise _taken_back(last)
    if not is_said and not _ENGLISH.search(last):
        raise _taken_back(last)
    for one in sentences:
        if _TAKES_BACK.search(one) or (_POINTS.search(one) and not _is_neutral(one)):
            raise _taken_back(one)
    if own:
        _refuse_doubted(known, last, own)


def _is_finished(sentence: str, text: str) -> bool:
    """Whether the last sentence of a text does not lead up to what comes behind the text."""
    if sentence[-1] in ".!)":
        return True
    is_paragraph = text[len(text.rstrip()) :].count("\n") > 1 and sentence[-1].isalnum()
    return is_paragraph and sentence.count(" ") > 1 and not _OPEN.search(sentence)


def _is_neutral(sentence: str) -> bool:
    words = " ".join(re.findall(r"\w+", sentence))
    return bool(words) and _NEUTRAL.fullmatch(words) is not None


def _taken_back(sentence: str) -> UnreadableReply:
    shown = sentence if len(sentence) <= 60 else f"...{sentence[-57:]}"
    return UnreadableReply(f"the text before the reply's answer may take it back: '{shown}'")


def _stated(known: Answers, line: str) -> str:
    """The answer that a line is ("Verdict: UNMET"), in lower case; "" for none."""
    found = _VERDICT_IS.match(line[:_LONGEST])
    said = line[found.end() :] if found else line
    label = said.strip(" \t*_#`>\"'.!:-").casefold()
    if label not in map(str.casefold, known.labels) or (said == line and label.isdecimal()):
        return ""
    return label


def _refuse_doubted(known: Answers, sentence: str, own: str) -> None:
    """`UnreadableReply` where a sentence says another verdict, or that it is not this one.

    Only of labels in capitals, which are no other words.
    """
    found = [one for one in known.mentions(sentence, False) if one[0].isupper()]
    if not found:
        return
    last = found[-1]
    if last[0].casefold() != own:
        raise UnreadableReply(f"the text before the reply's answer says '{last[0]}'")
    before = re.split(r"[,;:.]|\bbut\b", sentence[: last.start()])[-1][-_NEAR:]
    after = re.split(r"[,;:.]|\b(?:as|because|since)\b", sentence[last.end() :])[0][:_NEAR]
    if _DOUBTED.search(before) or _DOUBTED.search(after):
        raise _taken_back(sentence)


_POLITE = re.compile(
    r"(?:feel free|glad|happy to|hope|i hope|if you|is there anything|let me know|please|thanks?)\b"
)
_POLITE_WORDS = """a about additional advance all an and any anything are ask assist assistance at
can clarification clarifications clarify day details discuss elaborate elaboration else evaluation
explain explanation feel for free further glad good great grading happy have help helpful helps hope
i if in information is know let like me more my need of on or out please questions reach regarding
require thank thanks that the there this to want with would you your"""


def is_courtesy(text: str) -> bool:
    """Whether text behind an answer is no more than polite ("Let me know if you need more.").

    Each sentence begins politely, and is of words that cannot take an answer back.
    """
    text = re.sub(r"(?:do not|don't) hesitate", "feel free", text.casefold().replace("’", "'"))
    text = re.sub(r"\bi(?:'d| would|'m| am|'ll| will)(?: be)?(?= (?:glad|happy))", "", text)
    if not re.fullmatch(r"[a-z\s.,!()]*", text):
        return False
    known = frozenset(_POLITE_WORDS.split())
    sentences = [one.split() for one in re.split(r"[.!()\n]+", text.replace(",", " "))]
    polite = [
        known.issuperset(words) and _POLITE.match(" ".join(words)) for words in sentences if words
    ]
    return bool(polite) and all(polite)
