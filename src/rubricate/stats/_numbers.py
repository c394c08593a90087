"""Numbers that people bring, some of them missing."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np

from rubricate.errors import InputError
from rubricate.stats._resampling import Floats

__all__ = ["numbers", "same_length"]


def numbers(values: Sequence[float | None], name: str) -> Floats:
    """Numbers as an array; NaN stands for None (and for NaN) in it.

    Raises:
        InputError: something is no number, or infinite.
    """
    found = np.empty(len(values))
    for index, value in enumerate(values):
        found[index] = math.nan if value is None else _number(value, index, name)
    return found


def _number(value: Any, index: int, name: str) -> float:
    try:
        number = float(value)
    except (TypeError, ValueError):
        raise InputError(f"{name}: {value!r} at position {index} is not a number") from None
    if math.isinf(number):
        raise InputError(f"{name}: the number at position {index} is infinite")
    return number


def same_length(**sequences: Sequence[Any]) -> int:
    """The length that all have; `InputError` where they differ."""
    lengths = {name: len(sequence) for name, sequence in sequences.items()}
    if len(set(lengths.values())) > 1:
        told = ", ".join(f"{name} has {length}" for name, length in lengths.items())
        raise InputError(f"not equally long: {told}")
    return next(iter(lengths.values()))
