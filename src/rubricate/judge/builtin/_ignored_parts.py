"""Parts of a submission without content of their own, which are ignored.

These are copies of the criterion or of the prompt, words without a sentence, and statements of a
submission about itself ("this answer explains ..."): the filler of a text that wants a grade and
has no answer.
"""

from __future__ import annotations

import re

from rubricate.judge.builtin._text import Sentence, Text, analyse, cached_by_length, content_run

LEAST_COPIED = 3
"""The minimum number of words of a criterion or prompt for a copy of it to be recognised."""

LEAST_SALAD = 6
"""The maximum number of words of a sentence that may all be content words."""

FUNCTION_SHARE = 0.2
"""The minimum share of function words in a sentence whose content words are repeated."""

_REPORTS = (
    r"(?:mention|state|say|explain|describ|discuss|address|cover|includ|contain|identif|argu"
    r"|provid|giv|nam|list|report|cit|summari[sz]|recommend|note|satisf|meet|fulfil|answer"
    r"|demonstrat|show|conclud|advis|tell|compar|indicat|acknowledg|appl|apolog)\w*"
)
_TEXTS = (
    r"(?:student|answer|response|reply|submission|text|essay|report|solution|explanation|summary"
    r"|author|writer|candidate|assistant|output|work)s?"
)
_FRAME = re.compile(
    rf"\W*(?:(?:criterion|rubric|requirement)\b|(?:the |a )?{_TEXTS}\b|(?:it )?{_REPORTS}\b"
    r"|(?:does|is|are|do|has|did|how|why|which|what)\b.*\?\s*$)",
    re.I,
)
"""The beginning of a sentence that asks for something instead of stating it."""
_OF_ITSELF = re.compile(
    rf"(?:(?:in|with) )?(?:this|my|our|the above) {_TEXTS}(?: \w+){{0,2}} (?:{_REPORTS})\b"
)
_BEGINNINGS = ("this ", "my ", "our ", "the above ", "in ", "with ")
_ENDINGS = (" the", " a", " an", " of", " of that")


def set_aside(submission: str, requirement: str, prompt: str) -> tuple[str, str]:
    """Return a submission with its ignored parts blanked out, and a description of them.

    Offsets stay valid. If nothing is ignored, returns the text itself and "".
    """
    text = analyse(submission)
    if not text.sentences:
        return submission, ""
    frames = _asking_sentences(requirement)
    copied = _copies_prompt(text, prompt)
    parts: list[tuple[Sentence, str]] = []
    for sentence in text.sentences:
        if copied:
            parts.append((sentence, "a copy of the prompt"))
        elif frames and any(frame in sentence.words for frame in frames):
            parts.append((sentence, "a copy of the criterion"))
        elif _is_salad(sentence, submission):
            parts.append((sentence, "words without a sentence"))
        elif sentence.words.startswith(_BEGINNINGS) and _OF_ITSELF.match(sentence.words):
            parts.append((sentence, "what the submission says about itself"))
    if not parts:
        return submission, ""
    kept, at = [], 0
    for sentence, _ in parts:
        kept += [submission[at : sentence.start], " " * (sentence.end - sentence.start)]
        at = sentence.end
    kept.append(submission[at:])
    return "".join(kept), ", ".join(dict.fromkeys(why for _, why in parts))


def repeats(submission: str, requirement: str) -> bool:
    """Whether a submission consists of the requirement, word for word."""
    text = analyse(submission)
    if text.length != analyse(requirement).length:
        return False
    own = " ".join(sentence.words for sentence in text.sentences)
    return own == " ".join(sentence.words for sentence in analyse(requirement).sentences)


@cached_by_length
def _asking_sentences(requirement: str) -> tuple[str, ...]:
    """The sentences of a requirement that ask; a mere statement may be repeated."""
    return tuple(
        sentence.words
        for sentence in analyse(requirement).sentences
        if sentence.words.count(" ") + 1 >= LEAST_COPIED
        and _FRAME.match(requirement[sentence.start : sentence.end])
    )


def _copies_prompt(text: Text, prompt: str) -> bool:
    """Whether all sentences are the prompt's, and contain at least half of the prompt's words.

    A submission that quotes a passage of a longer prompt is an answer.
    """
    if not prompt or text.length < LEAST_COPIED:
        return False
    prompted = analyse(prompt)
    known = {sentence.words for sentence in prompted.sentences}
    return 2 * text.length >= prompted.length and all(
        sentence.words in known for sentence in text.sentences
    )


def _is_salad(sentence: Sentence, submission: str) -> bool:
    """Whether words follow each other without making a sentence.

    Two signs: hardly any function word among repeated content words, or many content words in a row
    and an end in the middle of a phrase.
    """
    size = sentence.words.count(" ") + 1
    if size < LEAST_SALAD:
        return False
    again = len(sentence.stems) - len(set(sentence.stems))
    few = size - len(sentence.stems) <= FUNCTION_SHARE * size and not sentence.amounts
    unfinished = sentence.words.endswith(_ENDINGS)
    if not unfinished and not (few and again >= 2):
        return False
    run = content_run(submission[sentence.start : sentence.end])
    return run >= (LEAST_SALAD if unfinished else LEAST_SALAD - 1)
