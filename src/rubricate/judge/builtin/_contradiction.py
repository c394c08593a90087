"""Signs that a submission contradicts the text that it should match, although the words agree.

Four signs are checked in each sentence that has most of a clause: a negation on one side only, an
opposite, another number, and two sides that have changed places. They are rules, not fitted
features: in the training data, correct answers contain more negations than others ("no friction, so
..."), which is no rule to learn.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence

from rubricate.judge.builtin._text import UNIT_NAMES, WORDS, Sentence, Text, stem


def _opposites() -> Mapping[str, frozenset[str]]:
    table: dict[str, set[str]] = {}
    for pair in WORDS["opposites"].split():
        left, right = (stem(word) for word in pair.split("/"))
        table.setdefault(left, set()).add(right)
        table.setdefault(right, set()).add(left)
    return {root: frozenset(others) for root, others in table.items()}


OPPOSITES = _opposites()

_SIDES = ("before", "after"), ("above", "below"), ("up", "down"), ("inside", "outside")
"""Opposites that are function words."""

LEAST_HELD = 0.5
"""Share of a clause that a sentence must have before it can contradict the clause."""

LEAST_DENIED = 0.6
"""The same for a contradiction by negation."""

MOST_STEMS = 10
"""Stems of a clause beyond which a negation, or another number, may belong to a part of it."""

_OPENINGS = {
    "yes": "yes", "agree": "yes", "true": "yes", "correct": "yes", "no": "no", "disagree": "no",
    "false": "no", "not": "no", "nope": "no",
}  # fmt: skip
_LETTER = re.compile(
    r"\W*(?:I (?:think|chose|choose|pick(?:ed)?) )?([A-Z])\b\s*(?:[.,:;)]|because|is|$)"
)
_YEAR = re.compile(r"[12]\d{3}")
_PASSIVE = re.compile(r"\b(?:by|(?:was|were|been|being|gets?|got) \w+(?:ed|en|wn|ght))\b")
_JOINS = re.compile(r"\b(?:and|or|when|while|because|if|so|since|as|which|that|between|with)\b")


def contradiction(
    submission: Text,
    prompt: Text,
    clause: Sentence,
    weights: Mapping[str, float],
    partners: Mapping[str, str],
    shares: Mapping[int, float],
) -> str:
    """Return why the submission contradicts a clause whose words it has; "" if it does not.

    There is no contradiction if another sentence has as much of the clause and does not contradict
    it.

    Args:
        submission: the submission.
        said: the prompt; its numbers prove nothing.
        clause: a clause of the target.
        weights: the relevant stems of the clause, with their rarity.
        partners: stem of the clause -> the stem of the submission that matches it.
        shares: sentence of the submission -> share of the clause that it has.
    """
    most = max(shares.values(), default=0.0)
    if most < LEAST_HELD:
        return ""
    reason = ""
    for place in sorted(shares, key=lambda place: (-shares[place], place)):
        if shares[place] < max(LEAST_HELD, 0.8 * most):
            break
        sentence = submission.sentences[place]
        here = {root: other for root, other in partners.items() if other in sentence.stems}
        own = next(_signs(submission, prompt, clause, sentence, weights, here), "")
        if not own:
            return ""
        reason = reason or own
    return reason


def _signs(
    submission: Text,
    prompt: Text,
    clause: Sentence,
    sentence: Sentence,
    weights: Mapping[str, float],
    here: Mapping[str, str],
) -> Iterator[str]:
    """Yield the signs of a contradiction between a clause and one sentence."""
    denied = _denied(clause, sentence, weights, here)
    opposed = list(_opposed(clause, sentence, weights, here))
    if denied != bool(opposed):  # both together agree: "does not increase", "decreases"
        if denied:
            yield "Only one of the two has a negation."
        for root, other in opposed:
            word, instead = _spelled(clause, root), _spelled(sentence, other)
            yield f"It has {instead!r} where {word!r} is looked for."
    yield from _other_numbers(submission, prompt, clause, sentence)
    if _changed_places(clause, sentence, weights, here):
        yield "Its words are the other way round."


def _denied(
    clause: Sentence, sentence: Sentence, weights: Mapping[str, float], here: Mapping[str, str]
) -> bool:
    """Whether one of the two denies what the other says, at least a fourth of what they share."""
    if len(weights) > MOST_STEMS or len(sentence.stems) > 3 * len(weights) + 6:
        return False
    held = sum(weights[root] for root in here)
    if held < LEAST_DENIED * sum(weights.values()) or (clause.denied and sentence.denied):
        return False
    flipped = [r for r in here if (r in clause.denied) != (here[r] in sentence.denied)]
    return 4 * sum(weights[root] for root in flipped) >= held


def _opposed(
    clause: Sentence, sentence: Sentence, weights: Mapping[str, float], here: Mapping[str, str]
) -> Iterator[tuple[str, str]]:
    """Stems of the clause that the sentence lacks, each with the opposite that it has instead."""
    for root in weights:
        if root in OPPOSITES and root not in here:
            for other in sorted(OPPOSITES[root]):
                if other in sentence.stems and other not in clause.stems:
                    yield root, other
    for side, other_side in (*_SIDES, *(pair[::-1] for pair in _SIDES)):
        wanted, present = f" {clause.words} ", f" {sentence.words} "
        if (
            f" {side} " in wanted
            and f" {other_side} " in present
            and f" {side} " not in present
            and f" {other_side} " not in wanted
        ):
            yield side, other_side


def _spelled(sentence: Sentence, root: str) -> str:
    return next((word for word in sentence.words.split() if stem(word) == root), root)


def _other_numbers(
    submission: Text, prompt: Text, clause: Sentence, sentence: Sentence
) -> Iterator[str]:
    """Numbers in place of the clause's numbers, with the same unit, hour or kind."""
    if len(clause.stems) > MOST_STEMS or len(clause.amounts) > 2:
        return  # a calculation
    own = [amount for amount in sentence.amounts if amount not in clause.amounts]
    for number, unit in clause.amounts:
        if number in prompt.numbers:
            continue
        known = unit if unit in UNIT_NAMES else ""
        for other, its in own:
            theirs = its if its in UNIT_NAMES else ""
            if other == number:
                differs = bool(known and theirs and known != theirs)
            elif number in submission.numbers:
                differs = False
            else:
                alike = _shape(number) == _shape(other) or len(sentence.amounts) == 1
                differs = (known == theirs or its == unit) and alike and other not in prompt.numbers
            if differs:
                yield f"It has {_amount(other, theirs)} where {_amount(number, known)} is due."


def _shape(number: str) -> str:
    """Whether a number is an hour, a year or another number."""
    return "hour" if ":" in number else "year" if _YEAR.fullmatch(number) else "number"


def _amount(number: str, unit: str) -> str:
    return f"{number} {unit}" if unit else number


def _changed_places(
    clause: Sentence, sentence: Sentence, weights: Mapping[str, float], here: Mapping[str, str]
) -> bool:
    """Whether the two sides of one word have changed places.

    Checked only for short clauses that appear in full, unless one side is passive or more than one
    thought: "the salt stays when the water evaporates" has no order.
    """
    if not 3 <= len(weights) <= 7 or len(here) < len(weights):
        return False
    if bool(_PASSIVE.search(clause.words)) != bool(_PASSIVE.search(sentence.words)):
        return False
    wanted = list(weights)
    present = [root for root in _first_places(sentence.stems, here) if root in here]
    for at, pivot in enumerate(wanted[1:-1], 1):
        if pivot not in present:  # one word of the sentence matches it and another of the clause
            continue
        place = present.index(pivot)
        before, after = set(wanted[:at]), set(wanted[at + 1 :])
        came, went = set(present[:place]), set(present[place + 1 :])
        if came and before <= went and came <= after:
            return not _JOINS.search(_inner(sentence.words, here))
    return False


def _first_places(stems: Sequence[str], here: Mapping[str, str]) -> list[str]:
    """Stems of the clause in the order of their first occurrence in the sentence."""
    back = {other: root for root, other in here.items()}
    return list(dict.fromkeys(back[root] for root in stems if root in back))


def _inner(words: str, here: Mapping[str, str]) -> str:
    """The words of a sentence from the first match to the last."""
    all_words = words.split()
    roots = set(here.values())
    places = [at for at, word in enumerate(all_words) if stem(word) in roots]
    return " ".join(all_words[places[0] : places[-1] + 1]) if places else ""


def opening_choice(source: str, text: Text) -> str | None:
    """The choice at the beginning of a text: yes, no, or a capital letter."""
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
