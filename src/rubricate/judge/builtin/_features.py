"""The features of the built-in judge: how a submission compares with the text it should match.

All shares are of summed rarity (inverse document frequency, Sparck Jones 1972) unless stated
otherwise, so they are in [0, 1]; higher values always favour a match. The *target* is the
criterion, the reference answer or an option; its *clauses* are its sentences, lines and list
entries. *New* words are those that are not in the prompt.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache

from rubricate.judge.builtin._contradiction import contradiction, opening_choice
from rubricate.judge.builtin._inputs import REPORTING, excludes
from rubricate.judge.builtin._text import Sentence, Text, analyse, cached_by_length

FEATURE_NAMES = ("coverage", "clause_coverage", "precision")
"""The features, in the order of the weights.

- `coverage`: share of the target's new words that the submission has. Near matches count by their
  similarity.
- `clause_coverage`: root mean square of the same share of each clause, prompt words included, so
  that one complete clause counts for more than two halves.
- `precision`: share of the submission's new words that the target has.
"""

LEAST_CLAUSE = 0.25
"""The minimum weight of a clause as a share of the mean clause, so that a clause of one word in a
long target ("one of these:") is not enough by itself."""

LEAST_CONTRADICTED = 1 / 3
"""The minimum share of the target for a clause whose contradiction counts for the target."""

LIKE = 0.6
"""Dice coefficient of letter pairs (Adamson and Boreham 1974) above which words nearly match."""

MOST_PLACES = 1_000_000
"""The maximum number of places of words (clause by clause) that are stored, and pairs of words
compared.

Both grow with the product of the two lengths: without a limit, two texts of a megabyte take minutes
and gigabytes. Two reports of 50,000 characters have 70,000 places, two of 100,000 have 300,000. At
the limit the judge takes 2.5 s on the worst known texts (numbers only); half and double the limit
take half and double the time."""


@dataclass(frozen=True, eq=False)
class Lexicon:
    """The rarity of words: stem -> inverse document frequency in nats."""

    rarity: Mapping[str, float]
    unlisted: float
    """The rarity of unlisted stems."""

    def weight(self, root: str) -> float:
        """The rarity of a stem."""
        return self.rarity.get(root, self.unlisted)


@dataclass(frozen=True, slots=True)
class Clause:
    """One sentence, line or list entry of the target."""

    weights: Mapping[str, float]
    total: float
    """Their sum, or the least weight of a clause."""
    sentence: Sentence


@dataclass(frozen=True, slots=True)
class Target:
    """A target, prepared for comparison."""

    weights: Mapping[str, float]
    new: Mapping[str, float]
    new_total: float
    prompt: Text
    """The prompt."""
    clauses: tuple[Clause, ...]
    choice: str | None
    surface: Mapping[str, str]
    rarest: tuple[str, ...]
    """Its stems, the rarest first."""
    excludes: bool
    """Whether it names only what must be absent."""


@dataclass(frozen=True, slots=True)
class Match:
    """A comparison: the features, and the data for the reason and the evidence."""

    values: tuple[float, ...]
    """One number for each of `FEATURE_NAMES`."""
    present: tuple[str, ...]
    missing: tuple[str, ...]
    """Missing words of the target in its spelling, rarest first."""
    sentence: int | None
    """Index of the best matching sentence of the submission."""
    against: str
    """What in the submission contradicts the target, in words; empty if nothing does."""


@cached_by_length
def target(text: str, prompt: str, lexicon: Lexicon, requirement: bool) -> Target:
    """Prepare a target, or return the recently cached one.

    In a requirement, reporting words and clauses that exclude are ignored.
    """
    analysed, prompted = analyse(text), analyse(prompt)
    held: list[tuple[Sentence, dict[str, float]]] = []
    excluded: list[tuple[Sentence, dict[str, float]]] = []
    for sentence in analysed.sentences:
        weights = {
            root: lexicon.weight(root)
            for root in sentence.stems
            if not (requirement and root in REPORTING)
        }
        if weights:
            excluding = requirement and excludes(text[sentence.start : sentence.end])
            (excluded if excluding else held).append((sentence, weights))
    only_excludes = not held
    held = held or excluded  # the whole requirement excludes: search for what it excludes
    least = LEAST_CLAUSE * sum(sum(own.values()) for _, own in held) / max(1, len(held))
    weights = {root: weight for _, own in held for root, weight in own.items()}
    new = {r: weight for r, weight in weights.items() if r not in prompted.counts} or weights
    return Target(
        weights=weights,
        new=new,
        new_total=sum(new.values()) or 1.0,
        prompt=prompted,
        clauses=tuple(
            Clause(own, max(sum(own.values()), least), sentence) for sentence, own in held
        ),
        choice=None if requirement else opening_choice(text, analysed),
        surface=analysed.surface,
        rarest=tuple(sorted(weights, key=lambda root: -weights[root])),
        excludes=only_excludes,
    )


@lru_cache(maxsize=32_768)
def likeness(word: str, other: str) -> float:
    """Dice coefficient of the letter pairs of two words."""
    pairs = {word[at : at + 2] for at in range(len(word) - 1)}
    others = {other[at : at + 2] for at in range(len(other) - 1)}
    return 2 * len(pairs & others) / max(1, len(pairs) + len(others))


def compare(submission: Text, source: str, aim: Target, lexicon: Lexicon) -> Match:
    """Compare an analysed submission (`source` is its text) with a target."""
    matches = _near_matches(submission, aim)
    clauses, parts = _clause_coverage(submission, aim, matches)
    held = sum(weight * matches[root][0] for root, weight in aim.new.items() if root in matches)
    against = _against(submission, source, aim, matches, parts)
    surface = aim.surface
    return Match(
        values=(
            held / aim.new_total,
            clauses,
            _precision(submission, aim, matches, lexicon),
        ),
        present=tuple([surface[root] for root in aim.rarest if root in matches]),
        missing=tuple([surface[root] for root in aim.rarest if root not in matches]),
        sentence=_best_sentence(parts),
        against=against,
    )


def _near_matches(submission: Text, aim: Target) -> dict[str, tuple[float, str]]:
    """Stem of the target -> (similarity, stem of the submission), for near matches."""
    matches: dict[str, tuple[float, str]] = {}
    counts, initials = submission.counts, submission.initials
    compared = 0
    for root in aim.weights:
        if root in counts:
            matches[root] = (1.0, root)
        elif len(root) > 3 and compared < MOST_PLACES:
            best, partner = LIKE, ""
            others = initials.get(root[:2], ())
            compared += len(others)
            for other in others:
                if len(other) > 3 and 2 * abs(len(other) - len(root)) <= len(root):
                    similarity = likeness(root, other)
                    if similarity > best:
                        best, partner = similarity, other
            if partner:
                matches[root] = (best, partner)
    return matches


def _clause_coverage(
    submission: Text, aim: Target, matches: Mapping[str, tuple[float, str]]
) -> tuple[float, list[tuple[Clause, Mapping[int, float]]]]:
    """Root mean square of the clauses' coverage; and clauses with the share that each sentence has.

    Only clauses that some sentence has in part are returned.
    """
    squares = 0.0
    looked_at = 0
    held: list[tuple[Clause, Mapping[int, float]]] = []
    for clause in aim.clauses:
        shares: dict[int, float] = {}
        covered = 0.0
        for root, weight in clause.weights.items():
            if root in matches:
                similarity, partner = matches[root]
                share = weight * similarity / clause.total
                covered += share
                if looked_at < MOST_PLACES:
                    places = submission.places[partner]
                    looked_at += len(places)
                    for place in places:
                        shares[place] = shares.get(place, 0.0) + share
        squares += covered * covered
        if shares:
            held.append((clause, shares))
    return math.sqrt(squares / max(1, len(aim.clauses))), held


def _best_sentence(parts: Sequence[tuple[Clause, Mapping[int, float]]]) -> int | None:
    """The sentence that has most of one clause; the first of equals."""
    best, where = 0.0, None
    for _, shares in parts:
        for place, share in shares.items():
            if share > best:
                best, where = share, place
    return where


def _against(
    submission: Text,
    source: str,
    aim: Target,
    matches: Mapping[str, tuple[float, str]],
    held: Sequence[tuple[Clause, Mapping[int, float]]],
) -> str:
    """The contradiction of the target: by its opening choice, or by all its best covered
    clauses."""
    if aim.choice is not None:
        own = opening_choice(source, submission)
        if own is not None and own != aim.choice:
            return f"It opens with {own!r} where {aim.choice!r} is looked for."
    if aim.excludes:
        return ""
    least = LEAST_CONTRADICTED * sum(clause.total for clause in aim.clauses)
    most = max((max(shares.values()) for _, shares in held), default=0.0)
    reason = ""
    for clause, shares in held:
        if max(shares.values()) >= 0.8 * most:
            if clause.total < least:
                return ""
            partners = {root: matches[root][1] for root in clause.weights if root in matches}
            own = contradiction(
                submission, aim.prompt, clause.sentence, clause.weights, partners, shares
            )
            if not own:
                return ""
            reason = reason or own
    return reason


def _precision(
    submission: Text, aim: Target, matches: Mapping[str, tuple[float, str]], lexicon: Lexicon
) -> float:
    """Share of the submission's new words that the target has, near matches included."""
    partners = {partner for _, partner in matches.values()}
    prompted = aim.prompt.counts
    rarity, unlisted = lexicon.rarity, lexicon.unlisted
    new = matched = 0.0
    for root in submission.counts:
        if root not in prompted:
            weight = rarity.get(root, unlisted)
            new += weight
            if root in partners:
                matched += weight
    return matched / new if new else 0.0
