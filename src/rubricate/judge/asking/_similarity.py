"""Finding a passage with nearly the same wording as a quote."""

from __future__ import annotations

import re

ALIKE = 90.0
"""The minimum similarity (0 to 100, `rapidfuzz.fuzz.ratio`) of a passage to the quote.

Tried on 746 sentences of docs/: with one word exchanged at random 562 are found, with two 285, and
of 367 sentences of other pages none. At 80 these are 622 and 500, although a sentence with two
other words mostly means something else; at 95, 342 and 85."""
SHORTEST = 12
"""The minimum number of letters of a quote for a search by similarity; shorter ones resemble
something anywhere. At 6, of 219 pairs of words from other pages 2 are found; at 12 and at 24,
none."""
TRIES = 5
"""The maximum number of passages checked, the most similar first, if earlier ones mean something
else. This bounds the time: with 2 or 10 the same of these sentences are found."""
MARGIN = 40
"""Letters on each side of a passage that are searched for the rest of a word or number. With 20 or
80 the same of these sentences are found."""
SPELLED_ALIKE = 80.0
"""The minimum similarity in spelling of two spellings of one unit. At 90, "12 week" is not "12
weeks"; at 40, 294 instead of 285 sentences with two exchanged words pass."""

_TOKEN = re.compile(
    r"(?<![\w)\]])[-+]?\d+(?:[.,:]\d+)*|\d+(?:[.,:]\d+)*"  # numbers
    r"|[\u3040-\u30ff\u3400-\u9fff\uf900-\ufaff]"  # scripts without spaces: letter by letter
    r"|[^\W\d_\u3040-\u30ff\u3400-\u9fff\uf900-\ufaff]+(?:'[^\W\d_]+)*"
    r"|[^\w\s]"
)


def _words(text: str) -> frozenset[str]:
    return frozenset(text.split())


NUMBERS = _words(
    "zero one two three four five six seven eight nine ten eleven twelve thirteen fourteen fifteen "
    "sixteen seventeen eighteen nineteen twenty thirty forty fifty sixty seventy eighty ninety "
    "hundred hundreds thousand thousands million millions billion billions trillion dozen half "
    "third quarter once twice double triple first second fourth fifth sixth seventh eighth ninth "
    "tenth null zwei drei vier fünf sechs sieben acht neun zehn elf zwölf hundert tausend "
    "deux trois quatre cinq sept huit neuf dix cent mille "
    "dos tres cuatro cinco seis siete ocho nueve diez cien mil "
    "一 二 三 四 五 六 七 八 九 十 百 千 万 亿"
)
NEGATIONS = _words(
    "no not none never neither nor nobody nothing nowhere without cannot hardly scarcely barely "
    "rarely seldom lacks lack lacking fails failed fail except unless "
    "nicht nichts kein keine keinen keiner keinem keines nie niemals niemand ohne weder "
    "ne pas jamais sans aucun aucune rien ni sin nunca jamás ningún ninguna nada "
    "non mai senza nessun nessuno não nem sem niet geen nooit zonder не нет ни без никогда "
    "لا ليس لم لن بدون 不 没 無 无 非 未"
)
IN_UNITS = frozenset("°µ/")
SIGNS = frozenset("%‰°$€£¥<>=≤≥≠±+×÷µ")
CURRENCIES = _words("usd eur gbp chf jpy cny inr cad aud dollar dollars euro euros pounds yen")
OPPOSITES = frozenset(
    frozenset(pair.split("/"))
    for pair in _words(
        "more/less most/least more/fewer higher/lower high/low above/below over/under before/after "
        "increase/decrease increased/decreased increases/decreases increasing/decreasing "
        "rise/fall rises/falls rose/fell up/down left/right with/without always/never all/none "
        "all/some true/false correct/incorrect positive/negative maximum/minimum "
        "larger/smaller greater/smaller faster/slower better/worse best/worst early/late "
        "include/exclude includes/excludes included/excluded accept/reject accepted/rejected "
        "and/or"
    )
)
PREFIXES = ("un", "in", "im", "ir", "il", "non", "dis", "mis", "anti")


def passage_like(quote: str, text: str) -> tuple[int, int] | None:
    """Return the offsets of the passage that is most similar to a quote and means the same.

    A passage means something else if it has another number, unit, comparison or negation, or the
    opposite of a word.

    Args:
        quote: the quote, in lower case.
        text: the text, in lower case.
    """
    if not SHORTEST <= len(quote) <= len(text):
        return None
    from rapidfuzz import fuzz

    for _ in range(TRIES):
        match = fuzz.partial_ratio_alignment(quote, text, score_cutoff=ALIKE)
        if match is None:
            return None
        start, end = match.dest_start, match.dest_end
        if span := _same_in_sense(quote, text, start, end):
            return span
        text = text[:start] + "\0" * (end - start) + text[end:]
    return None


def _same_in_sense(quote: str, text: str, start: int, end: int) -> tuple[int, int] | None:
    """Return the passage in whole words, if it differs from the quote only in words that may
    differ."""
    from rapidfuzz.distance import Levenshtein

    wanted = _TOKEN.findall(quote)
    begin = max(0, start - MARGIN)
    tokens = [
        (match.group(), begin + match.start(), begin + match.end())
        for match in _TOKEN.finditer(text[begin : end + MARGIN])
        if begin + match.start() < end and begin + match.end() > start
    ]
    there = [token for token, _, _ in tokens]
    changes = [
        (edit.tag, edit.src_start, edit.src_end, edit.dest_start, edit.dest_end)
        for edit in Levenshtein.opcodes(wanted, there)
        if edit.tag != "equal"
    ]
    first, last = 0, len(tokens)
    if changes and changes[0][0] == "insert" and changes[0][3] == 0:  # words before the quote
        first = changes.pop(0)[4]
    if changes and changes[-1][0] == "insert" and changes[-1][4] == len(tokens):
        last = changes.pop()[3]
    for _, src, src_end, dest, dest_end in changes:
        ours, theirs = wanted[src:src_end], there[dest:dest_end]
        if any(map(_tells, (*ours, *theirs))):
            return None
        pairs = list(zip(ours, theirs, strict=False)) if len(ours) == len(theirs) else []
        if any(_opposite(*pair) for pair in pairs):
            return None
        before = (*wanted[src - 1 : src][:src], *there[dest - 1 : dest][:dest])
        follows = any(_number(token) or token in IN_UNITS for token in before)
        if follows and not (pairs and _spelled_alike(*pairs[0])):  # a unit
            words = [*ours[:1], *theirs[:1]]
            if any(word[0].isalnum() for word in words):
                return None
    return (tokens[first][1], tokens[last - 1][2]) if first < last else None


def _number(token: str) -> bool:
    return token in NUMBERS or any(map(str.isdigit, token))


def _tells(token: str) -> bool:
    """Whether a token is a number, a negation, a comparison or a currency."""
    return (
        _number(token)
        or token in NEGATIONS
        or token in SIGNS
        or token in CURRENCIES
        or token.endswith("n't")
    )


def _opposite(word: str, other: str) -> bool:
    short, long = sorted((word, other), key=len)
    return (
        frozenset((word, other)) in OPPOSITES
        or any(long == prefix + short for prefix in PREFIXES)
        or word.endswith("less") != other.endswith("less")
    )


def _spelled_alike(word: str, other: str) -> bool:
    from rapidfuzz import fuzz

    return min(len(word), len(other)) > 3 and fuzz.ratio(word, other) >= SPELLED_ALIKE
