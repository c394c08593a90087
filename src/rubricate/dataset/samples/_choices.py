"""Shuffling a sample's choices, with the target following them."""

from __future__ import annotations

import random
from collections.abc import Sequence

from rubricate.dataset.samples._sample import Sample
from rubricate.errors import InputError

LETTERS = "ABCDEFGHIJKLMNOPQRSTUVWXYZ"
_POSITIONS = {
    label: position for position, letter in enumerate(LETTERS) for label in (letter, letter.lower())
}


def choice_label(position: int) -> str:
    """What the choice at `position` (from 0) is called: A to Z, then 1, 2, 3, ..."""
    return LETTERS[position] if position < len(LETTERS) else str(position - len(LETTERS) + 1)


def shuffle_choices(samples: Sequence[Sample], generator: random.Random | None) -> None:
    """Shuffle the choices of each sample and rewrite its target to match, in place.

    One generator serves all samples, in order; samples without choices draw nothing from it. A
    target is a choice's label (A, b, ...) or its text; a list is rewritten item by item.

    Args:
        samples: what to shuffle.
        generator: where chance comes from; None for the `random` module's own.

    Raises:
        InputError (ValueError): a target is none of its sample's choices. No sample is changed.
    """
    shuffle = random.shuffle if generator is None else generator.shuffle
    state = random.getstate() if generator is None else generator.getstate()
    changed: list[Sample] = []  # three lists, not one of tuples: these cost collections
    orders: list[list[str]] = []
    targets: list[str | list[str]] = []
    try:
        for index, sample in enumerate(samples):
            choices, target = sample.choices, sample.target
            if not choices:
                continue
            order = list(range(len(choices)))
            shuffle(order)
            targets.append(_relabelled(target, order) or _followed(sample, index, order))
            orders.append([choices[old] for old in order])
            changed.append(sample)
    except InputError:
        (random if generator is None else generator).setstate(state)
        raise
    for sample, ordered, followed in zip(changed, orders, targets, strict=True):
        sample.choices = ordered
        sample.target = followed


def _relabelled(target: str | list[str], order: list[int]) -> str | list[str] | None:
    """A target of letters after `order`; None where it is not as most are."""
    try:
        if type(target) is str:
            return LETTERS[order.index(_POSITIONS[target])]
        return [LETTERS[order.index(_POSITIONS[one])] for one in target]
    except (LookupError, ValueError):  # no letter, that of no choice, or a new place without one
        return None


def _followed(sample: Sample, index: int, order: list[int]) -> str | list[str]:
    """The sample's target after `order`, which has each new position's old one."""
    target = sample.target
    if isinstance(target, str):
        return _moved(target, sample, index, order) if target.strip() else target
    return [_moved(one, sample, index, order) for one in target]


def _moved(target: str, sample: Sample, index: int, order: list[int]) -> str:
    choices = sample.choices or []
    old = _position(target.strip())
    if old is None or old >= len(choices):
        if target in choices:
            return target  # a choice's text moves with it
        known = ", ".join(
            f"{choice_label(position)}={choice!r}" for position, choice in enumerate(choices[:8])
        )
        more = ", ..." if len(choices) > 8 else ""
        which = f"index {index}" if sample.id is None else f"id {sample.id!r}"
        raise InputError(
            f"Unexpected multiple choice answer: {target!r} (must be a letter or number) in the "
            f"sample with {which}; its {len(choices)} choices are {known}{more}"
        )
    return choice_label(order.index(old))


def _position(label: str) -> int | None:
    if label in _POSITIONS:
        return _POSITIONS[label]
    if label.isascii() and label.isdigit() and int(label) > 0:
        return len(LETTERS) + int(label) - 1
    return None
