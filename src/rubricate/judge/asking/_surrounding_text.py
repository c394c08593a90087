"""Text around a reply's answer: it may neither take the answer back nor state another one.

Models that do not keep to a format write a sentence before their JSON ("Here is my evaluation:"),
or all of their reasoning, and some a polite one after it. They also quote, refuse and illustrate
("a wrong answer would be:"), in more ways than any list of phrases covers. So the rule is an
allowlist. The text that introduces an answer must be one of a closed class of announcements. The
last sentence before that must state the same answer, or be a plain finding: one that agrees with
the verdict and has no word that could refer to the answer itself, to somebody else's words, or to a
condition. Everything else is asked for again: a second request is cheap, a wrong verdict is not.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Mapping
from typing import Any

from rubricate.errors import UnreadableReply
from rubricate.judge.asking._extra_keys import NUMBER_WORDS, Answers

_JUDGEMENT = (
    "analysis|assessments?|evaluations?|findings?|grades?|grading|judge?ments?|ratings?|verdicts?"
)
_RESULT = "answers?|conclusion|decision|json|object|output|reply|response|result|score|verdict"
_THEN = (
    "accordingly|consequently|finally|hence|in conclusion|in short|in summary|now|overall|so|"
    "therefore|thus|to conclude|to summari[sz]e"
)
_WORK = (
    "analy[sz]ed?|analy[sz]ing|assess(?:ed|ing)?|check(?:ed|ing)?|consider(?:ed|ing)?|"
    "evaluat(?:e|ed|ing)|examin(?:e|ed|ing)|grad(?:e|ed|ing)|judg(?:e|ed|ing)|review(?:ed|ing)?"
)
"""Verbs for a judge's work on a submission."""
_OF_IT = re.compile(
    rf"""\b(
        (?:analysis|assessments?|evaluations?|grading|judge?ments?|my\ verdicts?|ratings?|review)
        \ of
        |{_WORK}|against|at|for|on|read(?:ing)?
    )(?:\ carefully)?\ (?:each|the|this|your)(?:\ given|\ provided)?
    \ (?:criteria|criterion|information|material|rubric|submission|text)\b(?!')""",
    re.VERBOSE,
)
_AS_JSON = re.compile(
    r"\bas requested\b"
    r"|\b(?:as|in)(?: (?:an?|json|my|requested|required|specified|structured|the)\b)* form(?:at)?\b"
    r"|\b(?:(?:an?|as|in|the) )+json\b"
)
_OPENINGS = """absolutely accordingly all certainly consequently course done finally go good great
hence here is it now of ok okay right so sure therefore thing thus understood well you"""
_OPENING = frozenset(_OPENINGS.split())
_ANNOUNCEMENTS = """after against am and are as at based be below by careful complete concise
containing criteria criterion each evidence final following follows for formal formatted full
have having i in including let me my need on our overall provide quote quotes reason required
return returning short step structured the this thorough to us we will with your"""
_ANNOUNCING = _OPENING | frozenset(_ANNOUNCEMENTS.split())
_SUBJECT = re.compile(
    rf"(?:{_JUDGEMENT}|{_RESULT}|{_WORK}|conclude|explanation|reasoning|report|results|summary)"
)
"""Words of which an announcement needs one, besides filler words."""
_NO_ANNOUNCEMENT = re.compile(r"[ *_]*[\"“'>«„]")
"""The beginning of a quoted line."""
_SIGN = re.compile(r"[^\w\s*_#`:.,!'’()-]")
"""Signs that say more than the words around them, such as a cross or an arrow."""
_FINDING = re.compile(rf"(?P<finding>.*\S)(?:[,;] (?:and )?| and )(?P<rest>(?:{_THEN})\b.*)", re.I)
"""'The text does not say so, hence my verdict': a finding, and the introduction of the answer."""
_PROCESS = re.compile(
    r"\b(?:I(?:'ve| have|'ll| will| can| would| need to)?(?: now| first| then| have| therefore)?|"
    r"let me|let's) (?:analy[sz]ed?|assess(?:ed)?|check(?:ed)?|compared?|conclude|consider(?:ed)?|"
    r"determine|evaluated?|examined?|find|found|give it|grade|look(?:ed)?|note|noted|"
    r"(?:rate|score) (?:it|this)|read|review(?:ed)?|say (?:that )?(?:the|it)|search(?:ed)?|see|"
    r"think|work)\b",
    re.IGNORECASE,
)
"""Statements about the judge's work: the only sentences in the first person that are findings."""
_NO_FINDING = re.compile(
    r"""
    # The judge itself, and others who judge, ask or say something
    \b(?:i|me|my|mine|we|us|our|you|yours?|nobody|no\ one|somebody|someone|anybody|anyone|people|
        person|attacker|colleague|evaluators?|examiners?|graders?|judges?|prompt|reviewers?)\b
    | \b(?:demand\w*|expect\w*|forced|hop(?:e|es|ed|ing)|inject\w+|instruct\w*|invit\w+|
        order(?:s|ed)|order\ to|tempt\w*|trick\w*|tr(?:y|ies|ied|ying)\ to|urg(?:e|es|ed)|want\w*|
        wish\w*)\b
    # The reply, and what points at it
    | \b(?:above|below|decoy|dummy|draft|e\.g|for\ instance|judge?ments?|labels?|output|parser|
        placeholders?|print\w*|reply|replies|verdicts?|
        (?:last|final)\ (?:line|paragraph|part|thing|words?)|words?\ are)\b
    | \b(?:the\ following\W*$|follows\W*$|next\ (?:answer|line|object|json))
    | ^(?:this|that|these|those|it)\ is\ (?:a|an|the|just|only|merely|what|how|so)\b
    | ^(?:those|what|how|here|hereby)\b | \b(?:it|its|their)\ own\b | \b(?:him|her|it)self\b
    | \b(?:evaluations?|assessments?)\b | \bcriterion\ (?:\d|of\b)
    | ^(?:an?|another|the)\ (?:context|corrected|criterion's|earlier|instructions?|other|previous|
        question|reference|submission's\ author|task|title|\w+\ version)\b | ^another\b
    | \b(?:these|this|that|those|here|such|thus|like|words|as|is|are|be|reads?|says?|said|
        wrote|writes?|with|of|on|to|from|by|the|an?|were|was)\W*$
    # Doubt and reversal
    | \b(?:contrary|decline\w*|disagree\w*|disregard\w*|endors\w+|fake\w*|forged|iron(?:y|ic\w*)|
        jok\w+|nearly|refus\w+\ to\ (?:answer|give|grade|judge|say)|reject\w*|retract\w*|sarcas\w+|
        scrap|swap\w*|the\ other\ way|trust\w*|withdraw\w*)\b
    | ^(?:do|don't|never|not|please|treat|read|take|use|forget|remember|mind|see|strike|under|
        against|for)\b | (?:\.\.\.|…|\?)\W*$
    """,
    re.VERBOSE | re.IGNORECASE,
)
"""Words that a plain finding about a submission does not need. Many honest sentences contain one,
too, and then cost a second request."""
_NO_STATEMENT = re.compile(
    r"""
    # Conditions and possibilities
    \b(?:if|unless|could|might|must|shall|should|would|suppos\w+|assum\w+|imagin\w+|pretend\w*|
        hypothe\w+|otherwise|(?:had|were)\ (?:he|i|it|she|the|they))\b | 'd\b
    # Words for the reply that are also words for a submission
    | \b(?:example|following|format|illustrat\w+|json|model|next|objects?|others?|quot\w+|
        repeat\w*|cop(?:y|ies|ied|ying)|request\w*|sample|template|test|told|users?)\b
    # Doubt and reversal
    | \b(?:almost|bad|ignor\w+|incorrect|instead|inver(?:t|se)\w*|mistake\w*|opposite|rather|
        refus\w+|revers\w+|wrong)\b | ^no\b
    """,
    re.VERBOSE | re.IGNORECASE,
)
"""Words that a finding may contain only if it describes the submission."""
_ABOUT_SUBMISSION = re.compile(
    r"^(?:\W*(?:also|although|but|finally|first|however|instead|no|overall|second|so|still|then|"
    r"there|therefore|thus|while|yes)\W+){0,2}(?:(?:an?|his|her|its|their|the|this)\W+)?(?:\w+'s\W+)?"
    r"(?:answer|argument|assistant|author|candidate|claim|code|criterion|essay|explanation|he|it|"
    r"item|requirement|response|rubric|she|solution|statement|student|submission|text|they|tone|"
    r"writer)s?\b(?! (?:is|are|was|were) (?:what|that)\b)",
    re.IGNORECASE,
)
_HEADING = re.compile(
    r"\A(?:analysis|assessment|evaluation|explanation|findings?|rationale|reasoning): (?=\w)",
    re.IGNORECASE,
)
"""A heading before a finding."""
_QUOTE = re.compile(r"\"[^\"]*\"|“[^”]*”")
"""Quoted words, which do not state the answer."""
_NEGATIVE = re.compile(
    r"""
    n't\b | [✗✘❌] | \b(?:absent|abstain\w*|allegedly|almost|anything\ but|barely|cannot|claimed|
    contradict\w*|den(?:y|ies|ied)|differ\w*|doubt\w*|empty|fails?|failed|false|far\ from|hardly|
    ignor\w*|im(?:possible|precise\w*)|in(?:accura|adequa|comple|conclusive|consisten|correct|stead|
    sufficien|valid)\w*|irrelevan\w*|lack\w*|lea(?:ves?|ving)\ out|likely|may|maybe|merely|
    miss(?:es|ed|ing)|mis(?:takes?|taken|represent\w*|understand\w*)|negative|neither|never|no|none|
    nor|not|nothing|nowhere|omit\w*|only|opposite|part(?:ly|ial|ially)|perhaps|possibly|rather|
    seems?|short|silent|something\ else|un(?!der|i|til)\w{3,}|vague\w*|violat\w*|weak\w*|without|
    wrong\w*)\b
    """,
    re.VERBOSE | re.IGNORECASE,
)
"""Words with which a finding speaks against a criterion, or leaves it open."""
_TURN = re.compile(r".*\b(?:but|however|yet)\b", re.IGNORECASE)
"""'It does not name the source, but it gives the number': the end of such a sentence decides."""
_IF = re.compile(r"\b(?:could|if|might|must|should|unless|would)\b", re.IGNORECASE)
_IS_HELD = re.compile(r"\b(?:fulfil\w*|meets?|met|passes|passed|satisf\w+|true)\b", re.IGNORECASE)
_ASKED_FOR = re.compile(
    r"\b(?:condition|criteri(?:on|a)|items?|requirements?|rubric)\b", re.IGNORECASE
)
_ENGLISH = re.compile(
    r"\b(?:and|answer|are|because|but|by|criterion|does|for|has|have|is|isn't|it|its|item|mention\w*|met|"
    r"never|none|not|nothing|only|requirement|response|says|states|submission|text|that|the|there|"
    r"they|this|to|which|with)\b",
    re.IGNORECASE,
)
"""Text in another language cannot be checked for what it says about the answer after it."""
_VERDICT_IS = re.compile(
    rf"\W*(?:(?:correct|final|hence|my|overall|so|the|therefore|thus)\W+)*(?:{_RESULT}|{_JUDGEMENT})\W+"
    r"(?:is\W+)?(?:therefore\W+|thus\W+)?",
    re.IGNORECASE,
)
_BOUNDARY = re.compile(
    r"(?<=[.!?…])[\"'”)*_]*\s+|(?<!:)\n\s*\n\s*|(?<!:)\n\s*(?=[-*+•] |\d+[.)] |#)"
)
_MARKUP = re.compile(r"[*_#`>~]+|^\s*(?:[-+•]|\d+[.)])\s+", re.MULTILINE)
_LONGEST = 1000
"""The maximum number of characters of a sentence. Longer text is not a sentence, and would take
long to search."""


def refuse_text_before(
    text: str, data: Mapping[str, Any], schema: Mapping[str, Any], key: str
) -> None:
    """Raise `UnreadableReply` if text before an answer may take it back, or states another one.

    Args:
        text: the text before it.
        data: the object of the answer.
        schema: its JSON Schema.
        key: the key of the answer; "" for several answers.
    """
    text = unicodedata.normalize("NFKC", re.sub(r"</[^<>\n]*>", ".\n\n", text)).replace("’", "'")
    parts = [part for part in _BOUNDARY.split(text.strip()) if _plain(part)]
    if not parts and text.strip():
        raise _contradicted(text.strip())
    known = Answers.of([schema.get("properties", {}).get(key, {})])
    label = data.get(key)
    is_label = isinstance(label, str | int) and not isinstance(label, bool)
    own = str(label).strip().casefold() if is_label else ""
    for line in (*text.splitlines(), *map(_plain, parts)):
        if own and _stated(known, line) not in ("", own):
            raise UnreadableReply(
                f"the text before the reply's answer says '{_stated(known, line)}'"
            )
    if not key:
        _refuse_of_several([*map(_plain, parts)], data, schema)
    is_announced = False
    while parts and len(parts[-1]) <= _LONGEST and _is_neutral(parts[-1]):
        parts.pop()
        is_announced = True
    if not parts:
        return
    last = _HEADING.sub("", _plain(parts[-1]))
    if len(last) > _LONGEST or (_NO_ANNOUNCEMENT.match(parts[-1]) and not is_announced):
        raise _contradicted(last)
    if _leads_up(known, last, own):
        return
    finding = f"{last}." if is_announced and last[-1].isalnum() else _finding(known, last, own)
    if _is_neutral(finding):
        return
    if not _is_finding(finding):
        raise _contradicted(last)
    if own:
        _refuse_other(known, finding, own)


def _plain(part: str) -> str:
    """Return a part of a text in one line, without its Markdown."""
    return " ".join(_MARKUP.sub(" ", part).split())


def _finding(known: Answers, sentence: str, own: str) -> str:
    """Return the finding in a sentence; "" if it only introduces what follows.

    'The text does not say so, hence my verdict': the part before the announcement, or before the
    answer itself.
    """
    match = _FINDING.fullmatch(sentence)
    if match and _leads_up(known, match["rest"], own):
        return match["finding"]
    finding, _, rest = sentence.rpartition(", ")
    if own and _stated(known, rest) == own:
        return finding
    return sentence if sentence.rstrip("\"'”")[-1:] in (".", "!", ")") else ""


def _is_finding(sentence: str) -> bool:
    """Whether a sentence describes the submission, and not the answer."""
    words = _QUOTE.sub("X", _PROCESS.sub("it did", sentence))
    if _NO_FINDING.search(words) or not _ENGLISH.search(sentence):
        return False
    if not _NO_STATEMENT.search(words):
        return True
    is_condition = _IF.search(words) and _IS_HELD.search(words)
    return _ABOUT_SUBMISSION.search(words) is not None and not is_condition


def _refuse_of_several(
    sentences: list[str], data: Mapping[str, Any], schema: Mapping[str, Any]
) -> None:
    """Raise `UnreadableReply` if text before several answers states others, or renumbers them."""
    known = Answers.of(schema.get("properties", {}).values())
    own = ""
    for sentence in sentences:
        if numbered := _CRITERION.search(sentence):
            entry = data.get(numbered[1])
            own = str(entry.get("verdict")).casefold() if isinstance(entry, dict) else ""
        labels = {
            match[0].casefold() for match in known.mentions(sentence, False) if match[0].isupper()
        }
        if not labels and _ASKED_FOR.search(sentence):
            labels |= {"unmet"} if _NEGATIVE.search(sentence) else set()
            labels |= {"met"} if not labels and _IS_HELD.search(sentence) else set()
        if labels - {own} or _NUMBERED.search(sentence):
            raise _contradicted(sentence)


_CRITERION = re.compile(r"(?:\bcriterion|^)\W*(\d+)\b", re.IGNORECASE)
_NUMBERED = re.compile(
    r"\b(?:entries|numbered|numbering|(?:different|other|reverse) order|order (?:below|is)|"
    r"swap\w*)\b",
    re.IGNORECASE,
)


def _leads_up(known: Answers, sentence: str, own: str) -> bool:
    """Whether a sentence announces the answer, or states the same one."""
    yes_or_no = _YES_OR_NO.fullmatch(sentence)
    if yes_or_no and {"MET", "UNMET"} <= {*known.labels}:
        return own == ("met" if yes_or_no[1].casefold() == "yes" else "unmet")
    return _is_neutral(sentence) or (bool(own) and _stated(known, sentence) == own)


def _is_neutral(part: str) -> bool:
    """Whether a part of a text only announces what follows ("Here is my verdict, as JSON:").

    It may contain only the words that models use for that. Any other word may say that the object
    is quoted, wrong or not intended, and text in quotation marks does not announce anything.
    """
    if _NO_ANNOUNCEMENT.match(part) or _SIGN.search(part):
        return False
    plain = (
        part.casefold().replace("'s ", " is ").replace("'ve ", " have ").replace("'ll ", " will ")
    )
    plain = " ".join(_MARKUP.sub(" ", plain).replace("let is", "let us").split())
    words = re.findall(r"\w+", _AS_JSON.sub(" json ", _OF_IT.sub(r"\1", plain)))
    others = [word for word in words if word not in _ANNOUNCING]
    if not all(map(_SUBJECT.fullmatch, others)):
        return False
    return bool(words) and (_OPENING.issuperset(words) or any(map(_SUBJECT.fullmatch, words)))


def _contradicted(sentence: str) -> UnreadableReply:
    shown = sentence if len(sentence) <= 60 else f"...{sentence[-57:]}"
    return UnreadableReply(f"the text before the reply's answer may take it back: '{shown}'")


def _stated(known: Answers, line: str) -> str:
    """The answer that a line consists of ("Verdict: UNMET"), in lower case; "" if none."""
    match = _VERDICT_IS.match(line[:_LONGEST])
    rest = line[match.end() :] if match else line
    label = rest.strip(" \t*_#`>\"'.!:-").casefold()
    if label not in map(str.casefold, known.labels) or (rest == line and label.isdecimal()):
        return ""
    return label


def _refuse_other(known: Answers, sentence: str, own: str) -> None:
    """Raise `UnreadableReply` if a finding states, or may state, another verdict than the answer.

    It does if it contains another label. A finding before MET may not speak against the criterion,
    one before UNMET must.
    """
    sentence = _TURN.sub("", _QUOTE.sub("X", sentence)) or sentence
    is_binary = {"MET", "UNMET"} <= {*known.labels}
    labels = _labels_in(known, sentence, is_binary) - {own}
    if own.isdecimal() and (extreme := _EXTREME.search(sentence)):
        labels.add(extreme[0])
    if not labels and is_binary:
        yes = _YES_OR_NO.match(sentence)
        is_against = yes[1].casefold() == "no" if yes else bool(_NEGATIVE.search(sentence))
        names_it = re.search(rf"\b{own.upper()}\b", sentence) is not None
        if own == "met" and is_against:
            labels = {"not met"}
        if own == "unmet" and is_against == names_it:
            labels = {"not unmet" if names_it else "met"}
    if labels:
        raise UnreadableReply(
            f"the text before the reply's answer may say '{', '.join(sorted(labels))}'"
        )


def _labels_in(known: Answers, sentence: str, is_binary: bool) -> set[str]:
    """The answers, in lower case, that a sentence names.

    "a" is a word, and a number is an answer only if the sentence rates something.
    """
    sentence = _OUT_OF.sub("", sentence)
    words = [word[0].casefold() for word in known.mentions(sentence, not is_binary)]
    words = [word for word in words if len(word) > 1 or word.isdecimal()]
    if _RATES.search(sentence):
        numbers = [word for word in re.findall(r"\w+", sentence.casefold()) if word in NUMBER_WORDS]
        return {*words, *(str(NUMBER_WORDS.index(word)) for word in numbers)}
    return {word for word in words if not word.isdecimal()}


_YES_OR_NO = re.compile(r"(?:so )?(yes|no)\W*(?:,|$)", re.IGNORECASE)
_OUT_OF = re.compile(
    r"(?:\b(?:in|of|on|out of)|/) ?(?:a )?(?:scale of .*|\d+|[a-z]+)(?=\W*$)", re.IGNORECASE
)
_RATES = re.compile(
    r"\b(?:assign\w*|deserv\w*|gave|give|grades?|graded|levels?|marks?|rat(?:e|ed|es|ing)|"
    r"scor(?:e|ed|es)|stars?|is an?)\b",
    re.IGNORECASE,
)


_EXTREME = re.compile(
    r"\b(?:best|bottom|full (?:marks|score)|highest|lowest|maximum|minimum|perfect|poor|top|"
    r"worst)\b",
    re.IGNORECASE,
)


_POLITE = re.compile(
    r"(?:best regards|do you want me to|done|end of (?:my )?evaluation|feel free|glad|good luck|"
    r"happy to|have a|hope|i hope|if you|is there anything|let me know|please|thanks?|"
    r"would you like me to)\b"
)
_POLITE_WORDS = """a about additional advance all an and another any anything are ask assist
assistance at best can clarification clarifications clarify criteria day details discuss do done
elaborate elaboration else end evaluate evaluation evaluations explain explanation feel for free
further glad good great grading happy have help helpful helps hope i if in information is it know
let like luck me more my need nice of on opportunity or out part please questions reach regarding
regards require submission submissions thank thanks that the there this to unclear want with would
you your"""
_END = re.compile(r"(?:<\|[\w-]+\|>|</s>|<(?:end_of_turn|eos)>|-{3,}|\s)+\Z")
"""End-of-turn tokens, if a server leaves them in the text, and a horizontal rule."""


def is_closing_remark(text: str) -> bool:
    """Whether text after an answer is only polite ("Let me know if you need more.").

    Each sentence must begin politely, and consist of words that cannot take an answer back.
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
    known = frozenset(_POLITE_WORDS.split())
    sentences = [sentence.split() for sentence in re.split(r"[.!()\n]+", text.replace(",", " "))]
    polite = [
        known.issuperset(words) and _POLITE.match(" ".join(words)) for words in sentences if words
    ]
    return bool(polite) and all(polite)
