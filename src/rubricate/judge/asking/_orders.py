"""In which order a criterion's answers are in the prompt.

Judges favour places (Zheng et al. 2023, "Large Language Models Are Not Robust Multiple Choice
Selectors"). Orders come in turns: each odd one has the answers of the one before it reversed, with
CANNOT_ASSESS in its place, and each pair of turns moves all by one place. So two turns show every
two answers in both orders, and twice as many as there are answers show each at every place twice.
"""

from __future__ import annotations

import hashlib
import random
from collections.abc import Sequence

from rubricate.dataset import Item
from rubricate.errors import InputError
from rubricate.rubric import ABSTENTION, Criterion, Question

MOST_TURNS = 6
"""How many different orders every criterion has: the fewest answers are two and CANNOT_ASSESS."""


def check_permutations(value: int) -> int:
    """The number of orders, if it can be one; `InputError` if not."""
    if isinstance(value, bool) or not isinstance(value, int) or not 1 <= value <= MOST_TURNS:
        raise InputError(f"permutations must be a number from 1 to {MOST_TURNS}, found {value!r}")
    return value


def answer_order(
    question: Question, item: Item, turn: int = 0, seed: int | None = None
) -> tuple[int, ...]:
    """The indexes of a question's answers in the order in which they are shown.

    Args:
        question: what is asked.
        item: the item; with a seed, items differ in their orders.
        turn: which of the orders, from 0.
        seed: draws the order that the turns begin with. Default: the criterion's own.
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
    """The order of a criterion's answers; None for its own, or with none to order."""
    if seed is None and not turn:
        return None
    return answer_order(criterion.question, item, turn, seed) or None


def criteria_order(criteria: Sequence[Criterion], item: Item, seed: int) -> list[int]:
    """The indexes of the criteria of one call, drawn by a seed."""
    indexes = list(range(len(criteria)))
    _chance(seed, item, *(criterion.requirement for criterion in criteria)).shuffle(indexes)
    return indexes


def _chance(seed: int, item: Item, *about: str) -> random.Random:
    """Random numbers that are the same for the same seed, item and criterion, on every machine."""
    text = "\0".join((str(seed), item.prompt, item.submission, *about))
    digest = hashlib.blake2b(text.encode("utf-8", "surrogatepass"), digest_size=16)
    return random.Random(digest.digest())
