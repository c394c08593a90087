"""Validation of numbers, as arrays with NaN for missing values."""

from __future__ import annotations

import math
from contextlib import suppress
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray
from scipy import special

from rubricate.errors import InputError
from rubricate.stats._inputs import LARGEST, brief, is_missing, listed, number_of

Floats: TypeAlias = NDArray[np.float64]
Integers: TypeAlias = NDArray[np.int64]
Flags: TypeAlias = NDArray[np.bool_]
QUICK = frozenset({float, int, bool, type(None), np.float64, np.int64, np.bool_})
"""Types of which every value is a number or missing, unless it is too large."""


def numbers(values: Any, name: str) -> Floats:
    """Numbers as an array, (n,); NaN for a missing one.

    Raises:
        InputError: it is no list, or a value is no number, or too large.
    """
    raw = listed(values, name)
    if QUICK.issuperset(map(type, raw)):
        with suppress(OverflowError):
            array = np.array(raw, dtype=np.float64)
            if not (np.abs(array) > LARGEST).any():
                return array
    array = np.empty(len(raw))
    for index, value in enumerate(raw):
        if isinstance(value, float):
            array[index] = value
        elif is_missing(value):
            array[index] = math.nan
        else:
            array[index] = number_of(value, name, index)
    for index in np.flatnonzero(np.abs(array) > LARGEST)[:1].tolist():
        number_of(raw[index], name, index)
    return array


def outcomes(values: Any, name: str) -> Floats:
    """`numbers` that are all true or false (1 or 0), or missing."""
    array = numbers(values, name)
    for index in np.flatnonzero(~(np.isnan(array) | (array == 0) | (array == 1)))[:1].tolist():
        raise InputError(
            f"{name}: {array[index]:g} at position {index} is not true or false (1 or 0)"
        )
    return array


def probabilities_of(values: Any, name: str) -> Floats:
    """`numbers` that are all between 0 and 1, or missing."""
    array = numbers(values, name)
    for index in np.flatnonzero((array < 0) | (array > 1))[:1].tolist():
        raise InputError(f"{name}: {array[index]:g} at position {index} is not between 0 and 1")
    return array


def bounds_of(bounds: Any, name: str) -> tuple[float, float]:
    """The least and the greatest that a value can be."""
    ends = numbers(bounds, name).tolist()
    if len(ends) != 2 or not ends[0] < ends[1]:
        raise InputError(f"{name} must be two numbers, the lower one first, found {brief(bounds)}")
    return ends[0], ends[1]


def t_quantile(probability: float, freedom: float) -> float:
    """The quantile of Student's t."""
    return float(special.stdtrit(freedom, probability))


def widening(probability: float, freedom: float) -> float:
    """The factor by which fewer outcomes make an interval as wide as the quantile of t does."""
    return (t_quantile(probability, freedom) / float(special.ndtri(probability))) ** 2


def weights_of(weights: Any, length: int, name: str = "weights") -> Floats:
    """Weights above 0, one for each value.

    Raises:
        InputError: there are not as many as values, or one is no number above 0.
    """
    array = numbers(weights, name)
    if len(array) != length:
        raise InputError(f"{name} has {len(array)} entries for {length} values")
    if not (array > 0).all():
        raise InputError(f"{name} must all be numbers above 0")
    return array


def effective(weights: Floats) -> Floats:
    """Weights in proportion, whose sum is the effective number of values (Kish 1965)."""
    squares = float((weights**2).sum())
    return weights * (float(weights.sum()) / squares) if squares else weights
