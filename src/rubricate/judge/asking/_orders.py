"""The order of a criterion's answers in the prompt.

Judges are biased towards positions (Zheng et al. 2023, "Large Language Models Are Not Robust
Multiple Choice Selectors"). Orders come in turns: each odd turn reverses the answers of the one
before it, with CANNOT_ASSESS in its place, and each pair of turns rotates all by one place. So two
turns show any two answers in both orders, and twice as many turns as answers show each answer at
every place twice.
"""

from __future__ import annotations

import hashlib
import random
from collections.abc import Sequence

from rubricate.dataset import Item
from rubricate.errors import InputError
from rubricate.rubric import ABSTENTION, Criterion, Question

MOST_TURNS = 6
"""The number of different orders that every criterion has: at least two answers and
CANNOT_ASSESS."""


def check_permutations(value: int) -> int:
    """Return the number of orders. Raises `InputError` if it is invalid."""
    if isinstance(value, bool) or not isinstance(value, int) or not 1 <= value <= MOST_TURNS:
        raise InputError(f"permutations must be a number from 1 to {MOST_TURNS}, found {value!r}")
    return value


def answer_order(
    question: Question, item: Item, turn: int = 0, seed: int | None = None
) -> tuple[int, ...]:
    """Return the indexes of a question's answers in the order in which to show them.

    Args:
        question: the question.
        item: the item; with a seed, each item has its own order.
        turn: which of the orders, from 0.
        seed: draws the order of the first turn. Default: the criterion's own order.
    """
    indexes = range(len(question.answers))
    decided = [index for index in indexes if question.answers[index].label != ABSTENTION]
    undecided = [index for index in indexes if index not in decided]
    start = turn // 2
    if seed is not None and decided:
        chance = _chance(seed, item, question.requirement)
        chance.shuffle(decided)
        start += chance.randrange(len(indexes))
    if turn % 2:
        decided.reverse()
    order = decided + undecided
    start %= max(1, len(order))
    return tuple(order[start:] + order[:start])


def turned_order(
    criterion: Criterion, item: Item, turn: int, seed: int | None
) -> tuple[int, ...] | None:
    """The order of a criterion's answers; None for its own order, or if there is nothing to
    order."""
    if seed is None and not turn:
        return None
    return answer_order(criterion.question, item, turn, seed) or None


def criteria_order(criteria: Sequence[Criterion], item: Item, seed: int) -> list[int]:
    """The indexes of the criteria of one call, shuffled with a seed."""
    indexes = list(range(len(criteria)))
    _chance(seed, item, *(criterion.requirement for criterion in criteria)).shuffle(indexes)
    return indexes


def _chance(seed: int, item: Item, *about: str) -> random.Random:
    """A random generator with the same numbers for the same seed, item and criterion on every
    machine."""
    text = "\0".join((str(seed), item.prompt, item.submission, *about))
    digest = hashlib.blake2b(text.encode("utf-8", "surrogatepass"), digest_size=16)
    return random.Random(digest.digest())
