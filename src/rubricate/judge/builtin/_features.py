"""What the built-in judge measures about a submission and the text that it should match.

All shares are of summed rarity (inverse document frequency, Sparck Jones 1972) unless they say
otherwise, so they lie in [0, 1]. The *target* is the criterion, the reference answer or an option;
its *clauses* are its sentences, lines and list entries. *New* words are those that the prompt does
not already say.
"""

from __future__ import annotations

import math
import re
from bisect import bisect_left
from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import lru_cache

from rubricate.judge.builtin._inputs import REPORTING, excludes
from rubricate.judge.builtin._text import LONG_TEXT, Text, analyse, stem

FEATURE_NAMES = (
    "clause_in_sentence",
    "clause_by_length",
    "new_overlap",
    "new_precision",
    "common_order",
    "numbers_missing",
    "denial",
    "opposites",
    "choice_conflict",
)
"""The features, in the order of the weights.

- `clause_in_sentence`: the largest share of a clause that one sentence of the submission holds.
- `clause_by_length`: (clause_in_sentence - 0.5) * (log(1 + words of the target) - 2): half a short
  target says less than half a long one.
- `new_precision`: share of the submission's new words that are in the target.
- `new_overlap`: geometric mean of new_precision and the share of the target's new words found.
- `common_order`: longest common subsequence with the target / words of the target (by count).
- `numbers_missing`: share of the best clause's new numbers, alone and with their units, that the
  submission lacks (by count).
- `denial`: share of the best clause that its best sentence holds but denies, or holds but does not
  deny where the clause does.
- `opposites`: opposites, in that sentence, of words that the submission lacks; at most 2.
- `choice_conflict`: 1 where yes, no or a letter opens the target and another opens the submission.
"""

LEAST_CLAUSE = 0.25
"""Share of the mean clause that every clause counts for at least, so that a clause of one word in a
long target ("one of these:") is not all that it takes."""

LIKE = 0.6
"""Dice coefficient of letter pairs (Adamson and Boreham 1974) above which words nearly match."""

_OPPOSITES = """more/less more/fewer most/least high/low hot/cold warm/cool fast/slow long/short
big/small large/small increase/decrease up/down rise/fall heavy/light same/different open/close
positive/negative above/below before/after hard/soft true/false gain/lose top/bottom inside/outside
rough/smooth deep/shallow thick/thin loud/quiet strong/weak float/sink appear/disappear
agree/disagree always/never all/none start/stop near/far wet/dry possible/impossible accept/reject
win/lose add/remove maximum/minimum push/pull attract/repel begin/end expand/contract
likely/unlikely safe/unsafe legal/illegal buy/sell import/export internal/external"""


def _opposites() -> Mapping[str, frozenset[str]]:
    table: dict[str, set[str]] = {}
    for pair in _OPPOSITES.split():
        left, right = (stem(word) for word in pair.split("/"))
        table.setdefault(left, set()).add(right)
        table.setdefault(right, set()).add(left)
    return {root: frozenset(others) for root, others in table.items()}


OPPOSITES = _opposites()

_OPENINGS = {
    "yes": "yes", "agree": "yes", "true": "yes", "correct": "yes", "no": "no", "disagree": "no",
    "false": "no", "not": "no", "nope": "no",
}  # fmt: skip
_LETTER = re.compile(
    r"\W*(?:I (?:think|chose|choose|pick(?:ed)?) )?([A-Z])\b\s*(?:[.,:;)]|because|is|$)"
)


@dataclass(frozen=True, eq=False)
class Lexicon:
    """How rare words are: stem -> inverse document frequency in nats."""

    rarity: Mapping[str, float]
    unlisted: float
    """The rarity of stems that are not listed."""

    def weight(self, root: str) -> float:
        """The rarity of a stem."""
        return self.rarity.get(root, self.unlisted)


@dataclass(frozen=True, slots=True)
class Clause:
    """One sentence, line or list entry of the target."""

    weights: Mapping[str, float]
    total: float
    """Their sum, or what the clause counts for at least."""
    negated: bool
    numbers: frozenset[object]
    """Numbers, and numbers with their units, that the prompt does not say."""


@dataclass(frozen=True, slots=True)
class Target:
    """A target, made ready for comparison."""

    weights: Mapping[str, float]
    total: float
    new: Mapping[str, float]
    new_total: float
    said: frozenset[str]
    clauses: tuple[Clause, ...]
    order: tuple[str, ...]
    denied: frozenset[str]
    choice: str | None
    surface: Mapping[str, str]


@dataclass(frozen=True, slots=True)
class Match:
    """A comparison: the features, and what the reason and the evidence are made of."""

    values: tuple[float, ...]
    """One number for each of `FEATURE_NAMES`."""
    found: tuple[str, ...]
    missing: tuple[str, ...]
    """Words of the target as it spells them, rarest first."""
    sentence: int | None
    """Index of the sentence of the submission that matches best."""
    contradicts: bool
    """Whether the submission opens with the other choice, denies, or has an opposite."""


def target(text: str, prompt: str, lexicon: Lexicon, requirement: bool) -> Target:
    """Make a target ready, or return the one kept from a moment ago.

    In a requirement, words of reporting are left out, and so are clauses that exclude.
    """
    read = _target_of_long if len(text) + len(prompt) > LONG_TEXT else _target_of_short
    return read(text, prompt, lexicon, requirement)


def _target(text: str, prompt: str, lexicon: Lexicon, requirement: bool) -> Target:
    analysed, prompted = analyse(text), analyse(prompt)
    clauses: list[Clause] = []
    order: list[str] = []
    excluding: list[Clause] = []
    for sentence in analysed.sentences:
        roots = [root for root in sentence.stems if not (requirement and root in REPORTING)]
        if not roots:
            continue
        weights = {root: lexicon.weight(root) for root in roots}
        own = analyse(text[sentence.start : sentence.end])
        numbers: frozenset[object] = (own.numbers - prompted.numbers) | (
            own.quantities - prompted.quantities
        )
        clause = Clause(weights, sum(weights.values()), sentence.negated, numbers)
        if requirement and excludes(text[sentence.start : sentence.end]):
            excluding.append(clause)
            continue
        clauses.append(clause)
        order += roots
    denied = analysed.denied
    if not clauses:  # the whole requirement excludes: look for what it excludes
        clauses = [replace(clause, negated=False) for clause in excluding]
        order = [root for clause in clauses for root in clause.weights]
        denied = frozenset()
    least = LEAST_CLAUSE * sum(clause.total for clause in clauses) / max(1, len(clauses))
    clauses = [replace(clause, total=max(clause.total, least)) for clause in clauses]
    weights = {root: weight for clause in clauses for root, weight in clause.weights.items()}
    said = frozenset(prompted.counts)
    new = {root: weight for root, weight in weights.items() if root not in said} or weights
    return Target(
        weights=weights,
        total=sum(weights.values()) or 1.0,
        new=new,
        new_total=sum(new.values()) or 1.0,
        said=said,
        clauses=tuple(clauses),
        order=tuple(order[:200]),
        denied=denied,
        choice=None if requirement else _choice(text, analysed),
        surface=analysed.surface,
    )


_target_of_short = lru_cache(maxsize=512)(_target)
_target_of_long = lru_cache(maxsize=8)(_target)


@lru_cache(maxsize=32_768)
def likeness(left: str, right: str) -> float:
    """Dice coefficient of the letter pairs of two words."""
    pairs = {left[at : at + 2] for at in range(len(left) - 1)}
    others = {right[at : at + 2] for at in range(len(right) - 1)}
    return 2 * len(pairs & others) / max(1, len(pairs) + len(others))


def compare(submission: Text, source: str, aim: Target, lexicon: Lexicon) -> Match:
    """Compare an analysed submission (`source` is its text) with a target."""
    counts = submission.counts
    found = _near_matches(submission, aim)
    share, place, clause = _best_clause(submission, aim)
    if place is None:
        place = _best_near_sentence(submission, aim, found)
    coverage = sum(weight for root, weight in aim.new.items() if root in counts) / aim.new_total
    precision = _precision(submission, aim, found, lexicon)
    numbers = clause.numbers if clause else frozenset()
    held = sum(item in submission.numbers or item in submission.quantities for item in numbers)
    denial, opposed = _against(submission, aim, found, clause, place)
    conflict = _conflict(source, submission, aim)
    values = (
        share,
        (share - 0.5) * (math.log1p(len(aim.weights)) - 2.0),
        math.sqrt(coverage * precision),
        precision,
        _common_order(submission, aim),
        1.0 - held / len(numbers) if numbers else 0.0,
        denial,
        float(min(opposed, 2)),
        float(conflict),
    )
    rarest = sorted(aim.weights, key=lambda root: -aim.weights[root])
    return Match(
        values=values,
        found=tuple(aim.surface[root] for root in rarest if root in found),
        missing=tuple(aim.surface[root] for root in rarest if root not in found),
        sentence=place,
        contradicts=conflict or opposed > 0 or denial > 0.0,
    )


def _near_matches(submission: Text, aim: Target) -> dict[str, tuple[float, str]]:
    """Stem of the target -> (similarity, stem of the submission), for those found."""
    found: dict[str, tuple[float, str]] = {}
    counts, initials = submission.counts, submission.initials
    for root in aim.weights:
        if root in counts:
            found[root] = (1.0, root)
        elif len(root) > 3:
            best, partner = LIKE, ""
            for other in initials.get(root[:2], ()):
                if len(other) > 3 and 2 * abs(len(other) - len(root)) <= len(root):
                    similarity = likeness(root, other)
                    if similarity > best:
                        best, partner = similarity, other
            if partner:
                found[root] = (best, partner)
    return found


def _best_clause(submission: Text, aim: Target) -> tuple[float, int | None, Clause | None]:
    """The largest share of a clause within one sentence, that sentence, and the clause."""
    best, where, which = 0.0, None, None
    for clause in aim.clauses:
        shares: dict[int, float] = {}
        for root, weight in clause.weights.items():
            for place in submission.places.get(root, ()):
                shares[place] = shares.get(place, 0.0) + weight
        for place, share in shares.items():
            if share > best * clause.total:
                best, where, which = share / clause.total, place, clause
    return min(best, 1.0), where, which


def _best_near_sentence(
    submission: Text, aim: Target, found: Mapping[str, tuple[float, str]]
) -> int | None:
    """The sentence with the most near matches, where no word is the same."""
    scores: dict[int, float] = {}
    for root, (similarity, partner) in found.items():
        for place in submission.places[partner]:
            scores[place] = scores.get(place, 0.0) + aim.weights[root] * similarity
    return max(scores, key=scores.__getitem__, default=None)


def _against(
    submission: Text,
    aim: Target,
    found: Mapping[str, tuple[float, str]],
    clause: Clause | None,
    place: int | None,
) -> tuple[float, int]:
    """What in the best sentence speaks against its clause: share denied, number of opposites."""
    if clause is None or place is None:
        return 0.0, 0
    flipped = 0.0
    opposed = 0
    differ = clause.negated != submission.sentences[place].negated
    for root, weight in clause.weights.items():
        if root in found:
            partner = found[root][1]
            denied = (root in aim.denied) != (partner in submission.denied)
            if differ and denied and place in submission.places[partner]:
                flipped += weight
        elif root in OPPOSITES:
            opposed += any(
                place in submission.places.get(other, ()) and other not in aim.weights
                for other in OPPOSITES[root]
            )
    return flipped / clause.total, opposed


def _precision(
    submission: Text, aim: Target, found: Mapping[str, tuple[float, str]], lexicon: Lexicon
) -> float:
    """Share of the submission's new words that the target has, near matches among them."""
    partners = {partner for _, partner in found.values()}
    new = matched = 0.0
    for root in submission.counts:
        if root not in aim.said:
            weight = lexicon.weight(root)
            new += weight
            if root in partners:
                matched += weight
    return matched / new if new else 0.0


def _common_order(submission: Text, aim: Target) -> float:
    """Longest common subsequence by Hunt and Szymanski (1977), over a stem's first 40 places."""
    if not aim.order:
        return 0.0
    where: dict[str, list[int]] = {}
    at = 0
    wanted = aim.weights
    for sentence in submission.sentences:
        for root in sentence.stems:
            if root in wanted:
                places = where.setdefault(root, [])
                if len(places) < 40:
                    places.append(at)
            at += 1
    ends: list[int] = []
    for root in aim.order:
        for place in reversed(where.get(root, ())):
            slot = bisect_left(ends, place)
            if slot == len(ends):
                ends.append(place)
            else:
                ends[slot] = place
    return len(ends) / len(aim.order)


def _choice(source: str, text: Text) -> str | None:
    """The choice that a text opens with: yes, no, or a capital letter."""
    words = text.opening
    if words and words[0] == "i":
        words = words[1:]
    if not words:
        return None
    if words[0] in ("do", "would") and words[-1] == "not":
        return "no"
    if words[0] in _OPENINGS:
        return _OPENINGS[words[0]]
    letter = _LETTER.match(source[:80])
    return letter.group(1) if letter else None


def _conflict(source: str, submission: Text, aim: Target) -> bool:
    if aim.choice is None:
        return False
    own = _choice(source, submission)
    return own is not None and own != aim.choice
