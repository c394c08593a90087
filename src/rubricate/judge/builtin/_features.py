"""What the built-in judge measures about a submission and the text that it should match.

All shares are of summed rarity (inverse document frequency, Sparck Jones 1972) unless they say
otherwise, so they lie in [0, 1]; more of each always speaks for a match. The *target* is the
criterion, the reference answer or an option; its *clauses* are its sentences, lines and list
entries. *New* words are those that the prompt does not already say.
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

- `coverage`: share of the target's new words that the submission has. Words that nearly match count
  by their likeness.
- `clause_coverage`: the same share of each clause, with the words of the prompt; of these the root
  mean square, so that a clause that is there in full counts for more than two halves.
- `precision`: share of the submission's new words that the target has.
"""

LEAST_CLAUSE = 0.25
"""Share of the mean clause that every clause counts for at least, so that a clause of one word in a
long target ("one of these:") is not all that it takes."""

LEAST_CONTRADICTED = 1 / 3
"""Share of the target that a clause must be for its contradiction to be one of the target."""

LIKE = 0.6
"""Dice coefficient of letter pairs (Adamson and Boreham 1974) above which words nearly match."""

MOST_PLACES = 1_000_000
"""How many places of words (clause by clause) are noted, and how many pairs of words compared.

Both grow with the product of the two lengths: without a bound, two texts of a megabyte take minutes
and gigabytes. Two reports of 50,000 characters have 70,000 places, two of 100,000 have 300,000. At
the bound the judge takes 2.5 s on the worst texts known (numbers only); half and double the bound
take half and double the time."""


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
    sentence: Sentence


@dataclass(frozen=True, slots=True)
class Target:
    """A target, made ready for comparison."""

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
    """Whether it names only what must not be there."""


@dataclass(frozen=True, slots=True)
class Match:
    """A comparison: the features, and what the reason and the evidence are made of."""

    values: tuple[float, ...]
    """One number for each of `FEATURE_NAMES`."""
    present: tuple[str, ...]
    missing: tuple[str, ...]
    """Words of the target as it spells them, rarest first."""
    sentence: int | None
    """Index of the sentence of the submission that matches best."""
    against: str
    """What in the submission contradicts the target, in words; empty where nothing does."""


@cached_by_length
def target(text: str, prompt: str, lexicon: Lexicon, requirement: bool) -> Target:
    """Make a target ready, or return the one kept from a moment ago.

    In a requirement, words of reporting are left out, and so are clauses that exclude.
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
    held = held or excluded  # the whole requirement excludes: look for what it excludes
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
    """Stem of the target -> (similarity, stem of the submission), for those found."""
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
    """Root mean square of the clauses' coverage; clauses with the share that each sentence holds.

    Of the clauses, only those that one sentence holds in part.
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
    """The sentence that holds most of one clause; the first of equals."""
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
    """What contradicts the target: the choice that it opens with, or all clauses held best."""
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
    """Share of the submission's new words that the target has, near matches among them."""
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
