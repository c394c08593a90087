"""Text analysis for the built-in judge: tokens, stems, sentences, numbers and negation.

Everything here is a pure function of its text. `analyse` turns a text into a `Text`, whose offsets
are character positions in the original, and caches the most recent results, within limits: a judge
is asked about the same submission once for every criterion, and about the same criterion once for
every submission.
"""

from __future__ import annotations

import re
import tomllib
from collections.abc import Callable
from dataclasses import dataclass, field
from functools import lru_cache, wraps
from importlib import resources
from typing import Any, TypeVar, cast

_Function = TypeVar("_Function", bound=Callable[..., Any])

WORDS = tomllib.loads(
    resources.files("rubricate.judge.builtin").joinpath("words.toml").read_text("utf-8")
)
"""The judge's lists of words, by name."""

LONGEST_SENTENCE = 60
"""Words after which a sentence is cut, so that text without punctuation has places to point at,
too."""

LONGEST_WORD = 40
"""Letters of a word that are read."""

SCOPE = 3
"""Content words that a negation before them denies."""

LONG_TEXT = 20_000
"""Characters from which a text goes to the small cache: the caches take some megabytes at most."""

_TOKEN = re.compile(
    r"[\u3040-\u30ff\u3400-\u9fff]"  # scripts without spaces: a character is a token
    r"|\d+(?:[.,:]\d+)*"  # a time of day is one number
    r"|[^\W\d_]+(?:['\u2019][^\W\d_]+)*\d*",
)
_BREAK = re.compile(
    r"(?<![.!?;\u3002\uff01\uff1f])[.!?;\u3002\uff01\uff1f]+[\"')\]\u201d]*(?=\s|$)"
    r"|\n\s*|[\u2022\u25cf\u25cb]\s*"
)
_HAS_WORD = re.compile(r"[^\W_]")
_MARKER = re.compile(r"\s*(?:[-*+#>]+\s+|\(?\d{1,2}[.)](?=\s|$))\s*")

STOP_WORDS = frozenset(WORDS["stop_words"].split())
"""Words without content of their own. Words of degree, comparison and negation are not included."""

NEGATIONS = frozenset(WORDS["negations"].split())

DENYING = frozenset(
    ("deny", "denies", "denied", "denying", "refuse", "refuses", "refused", "refusing")
)
"""Words with a meaning of their own that deny what follows them."""

_DENIALS = ("n't", "n\u2019t")
_FUNCTION_WORDS = STOP_WORDS | NEGATIONS

REFUTATIONS = frozenset(["myth", "false", "untrue", "wrong", "incorrect", "misconception"])
"""Words that deny all of a following "that" clause: "it is a myth that ..."."""

_SCOPE_ENDS = frozenset(WORDS["ends"].split())
"""Words that begin a new thought, where the effect of a negation ends."""


def _pairs(name: str) -> dict[str, str]:
    return dict(entry.split(":") for entry in WORDS[name].split())


_IRREGULAR = _pairs("irregular")

_UNITS = _pairs("units")

_NUMBER_WORDS = _pairs("number_words")
_MARKED = frozenset(_NUMBER_WORDS) | _SCOPE_ENDS | DENYING | REFUTATIONS
UNIT_NAMES = frozenset(_UNITS.values())
_SIGNS = {"%": "%", "\u00b0": "\u00b0", "$": "$", "\u20ac": "\u20ac"}

_SUFFIXES = _pairs("suffixes")


@lru_cache(maxsize=32_768)
def stem(word: str) -> str:
    """The stem of a lower-case English word: removes up to three suffixes, and leaves three
    letters.

    A light relative of Porter's stemmer (1980) without its measure of syllables. Words of other
    languages are mostly unchanged.
    """
    word = word.replace("\u2019", "'")
    word = _IRREGULAR.get(word, word)
    if len(word) < 4 or not word.isascii():
        return word
    if word.endswith("ss") or word.endswith("us") or word.endswith("is"):
        return word
    for _ in range(3):
        for suffix, instead in _SUFFIXES.items():
            least = 4 if suffix.startswith("at") else 3
            if word.endswith(suffix) and len(word) - len(suffix) + len(instead) >= least:
                bare = word[: len(word) - len(suffix)]
                if suffix in ("s", "es") and bare.endswith("s"):
                    continue
                if suffix in ("ed", "ing", "er", "est") and not any(v in bare for v in "aeiouy"):
                    continue
                if not instead and len(bare) > 3 and bare[-1] == bare[-2] and bare[-1] not in "lsz":
                    bare = bare[:-1]
                word = bare + instead
                break
        else:
            break
    return word


@dataclass(frozen=True, slots=True)
class Sentence:
    """One sentence, line or list entry: its place and its content."""

    start: int
    end: int
    stems: tuple[str, ...]
    """Content stems in order, repeated as in the text."""
    denied: frozenset[str]
    """Content stems that a negation of the sentence reaches: the three after it, up to a comma or a
    word that begins a new thought."""
    amounts: tuple[tuple[str, str], ...]
    """Its numbers in order, each with its unit in the short form, or the word after it, or ""."""
    words: str
    """Its words in lower case, joined by spaces."""


@dataclass(slots=True)
class Text:
    """An analysed text. It is cached, so only `analyse` may change it."""

    length: int = 0
    """The number of words, function words included."""
    sentences: list[Sentence] = field(default_factory=list)
    counts: dict[str, int] = field(default_factory=dict)
    """Content stem -> occurrences, in order of first appearance."""
    surface: dict[str, str] = field(default_factory=dict)
    """Content stem -> the first word with it."""
    places: dict[str, list[int]] = field(default_factory=dict)
    """Content stem -> indices into `sentences`."""
    initials: dict[str, list[str]] = field(default_factory=dict)
    """First two letters -> content stems that start so."""
    numbers: set[str] = field(default_factory=set)
    """Numbers as normalised decimal text, including spelled-out small numbers."""
    opening: list[str] = field(default_factory=list)
    """The first three words, in lower case."""


def spans(text: str) -> list[tuple[int, int]]:
    """Start and end offsets of the sentences, lines and list entries with a letter or digit."""
    pieces: list[tuple[int, int]] = []
    start = 0
    for match in _BREAK.finditer(text):
        _append_span(text, start, match.end(), pieces)
        start = match.end()
    _append_span(text, start, len(text), pieces)
    return pieces


def _append_span(text: str, start: int, end: int, pieces: list[tuple[int, int]]) -> None:
    """Append a piece without its list marker and surrounding spaces, if a word remains."""
    marker = _MARKER.match(text, start, end)
    if marker:
        start = marker.end()
    piece = text[start:end]
    if _HAS_WORD.search(piece):
        pieces.append(
            (start + len(piece) - len(piece.lstrip()), end - len(piece) + len(piece.rstrip()))
        )


def _number(token: str) -> str:
    token = token.rstrip(".,")
    if re.fullmatch(r"\d{1,3}(,\d{3})+(\.\d+)?", token):
        token = token.replace(",", "")
    token = token.replace(",", ".")
    if token.count(".") != 1:
        return token
    whole, _, part = token.partition(".")
    part = part.rstrip("0")
    if whole.isdecimal():  # in a time of day ("4:04.49") the hour is unchanged
        whole = str(int(whole))
    return f"{whole}.{part}" if part else whole


def content_run(sentence: str) -> int:
    """The most content words in a row without a function word, a number or a mark between them."""
    longest = run = before = 0
    for match in _TOKEN.finditer(sentence):
        word = match.group().lower()
        if match.start() - before > 1 and not sentence[before : match.start()].isspace():
            run = 0
        before = match.end()
        run = 0 if word in _FUNCTION_WORDS or word[0].isdecimal() else run + 1
        longest = max(longest, run)
    return longest


def _sign(text: str, start: int, end: int) -> str:
    """The sign of a unit beside a number."""
    return _SIGNS.get(text[end : end + 1], _SIGNS.get(text[max(0, start - 1) : start], ""))


CONTENT, FUNCTION, NUMBER, MARKED = range(4)
"""Kinds of words; marked words have content, and are numbers, deny, or end a denial."""


@lru_cache(maxsize=32_768)
def _read_word(spelled: str) -> tuple[str, int, str]:
    """A word in lower case, its kind, and its stem (for a number: as normalised decimal text)."""
    word = spelled.lower()
    if word in STOP_WORDS or word in NEGATIONS or word.endswith(_DENIALS):
        return word, FUNCTION, ""
    if word[0].isdecimal():
        return word, NUMBER, _number(word)
    return word, MARKED if word in _MARKED else CONTENT, stem(word)


class _Line:
    """A sentence during reading, word by word; adds its numbers to those of the text."""

    def __init__(self, numbers: set[str]) -> None:
        self.words: list[str] = []
        self.stems: list[str] = []
        self.denied: set[str] = set()
        self.numbers = numbers
        self.amounts: list[tuple[str, str]] = []
        self.scope = 0
        """The number of further content words that a negation reaches."""
        self.number = ""
        """A number that may belong to the next unit."""
        self._refuted = False

    def function_word(self, word: str) -> None:
        """Read a word without content; it may deny what follows, or end a denial."""
        if word in _SCOPE_ENDS or (word == "only" and self.scope == SCOPE):
            self.scope = 0
        elif word == "that":
            if self._refuted:
                self.scope = LONGEST_SENTENCE
        elif word not in STOP_WORDS:
            self.scope, self.number = SCOPE, ""

    def figure(self, number: str, sign: str) -> None:
        """Read a number in digits, with the sign beside it."""
        self.number = number
        self.numbers.add(number)
        self.amounts.append((number, sign))
        self.take(number)

    def marked_word(self, word: str, root: str) -> None:
        """Read a word with content that is a number, denies, or ends a denial."""
        if word in _NUMBER_WORDS:
            self.number = _NUMBER_WORDS[word]
            self.numbers.add(self.number)
            if word != "one":  # usually a pronoun
                self.amounts.append((self.number, ""))
        if word in _SCOPE_ENDS:
            self.scope = 0
        self.take(root)
        if word in DENYING:
            self.scope = SCOPE
        elif word in REFUTATIONS:
            self._refuted = True

    def unit(self, word: str, root: str) -> None:
        """Read the word after a number."""
        if self.amounts and not self.amounts[-1][1]:
            self.amounts[-1] = (self.number, _UNITS.get(root, _UNITS.get(word, word)))
        self.number = ""

    def take(self, root: str) -> None:
        """Add a stem, which may be denied."""
        self.stems.append(root)
        if self.scope:
            self.denied.add(root)
            self.scope -= 1


def _read_sentence(
    reading: Text, text: str, start: int, end: int, matches: list[re.Match[str]]
) -> None:
    """Read the words of one sentence of a text, from `start` to `end`."""
    line = _Line(reading.numbers)
    words = line.words
    here = len(reading.sentences)
    before = start
    for match in matches:
        spelled = match.group()[:LONGEST_WORD]
        word, kind, root = _read_word(spelled)
        words.append(word)
        if line.scope and "," in text[before : match.start()]:
            line.scope = 0
        before = match.end()
        if kind == FUNCTION:
            line.function_word(word)
            continue
        if kind == NUMBER:
            line.figure(root, _sign(text, match.start(), before))
        else:
            if line.number:
                line.unit(word, root)
            if kind == MARKED:
                line.marked_word(word, root)
            else:
                line.take(root)
        if root in reading.counts:
            reading.counts[root] += 1
            if reading.places[root][-1] != here:
                reading.places[root].append(here)
        else:
            reading.counts[root] = 1
            reading.surface[root] = spelled
            reading.places[root] = [here]
            reading.initials.setdefault(root[:2], []).append(root)
    reading.length += len(words)
    reading.opening += words[: 3 - len(reading.opening)]
    stems, denied = tuple(line.stems), frozenset(line.denied)
    amounts = tuple(line.amounts)
    reading.sentences.append(Sentence(start, end, stems, denied, amounts, " ".join(words)))


def cached_by_length(function: _Function) -> _Function:
    """Cache the results for 512 short texts and, because they are large, for 4 long ones.

    Args:
        function: a pure function; the lengths of its text arguments count.
    """
    for_short, for_long = lru_cache(512)(function), lru_cache(4)(function)

    @wraps(function)
    def read(*args: Any) -> Any:
        size = sum([len(text) for text in args if isinstance(text, str)])
        return (for_long if size > LONG_TEXT else for_short)(*args)

    return cast(_Function, read)


@cached_by_length
def analyse(text: str) -> Text:
    """Analyse a text, or return the recently cached analysis."""
    reading = Text()
    for start, end in spans(text):
        matches = list(_TOKEN.finditer(text, start, end))
        for first in range(0, len(matches), LONGEST_SENTENCE):
            chunk = matches[first : first + LONGEST_SENTENCE]
            begin = chunk[0].start() if first else start
            finish = end if first + LONGEST_SENTENCE >= len(matches) else chunk[-1].end()
            _read_sentence(reading, text, begin, finish, chunk)
    return reading
