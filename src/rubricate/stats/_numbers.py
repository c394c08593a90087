"""Numbers that people bring, as arrays."""

from __future__ import annotations

import math
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray
from scipy import special

from rubricate.errors import InputError
from rubricate.stats._inputs import LARGEST, is_missing, listed, number_of

Floats: TypeAlias = NDArray[np.float64]


def numbers(values: Any, name: str) -> Floats:
    """Numbers as an array; NaN stands for what is missing.

    Raises:
        InputError: it is no list, or something is no number, or too large.
    """
    given = listed(values, name)
    found = np.empty(len(given))
    for index, value in enumerate(given):
        if isinstance(value, float):
            found[index] = value
        elif is_missing(value):
            found[index] = math.nan
        else:
            found[index] = number_of(value, name, index)
    for index in np.flatnonzero(np.abs(found) > LARGEST)[:1].tolist():
        number_of(given[index], name, index)
    return found


def t_quantile(probability: float, freedom: float) -> float:
    """The quantile of Student's t."""
    return float(special.stdtrit(freedom, probability))


def outcomes(values: Any, name: str) -> Floats:
    """`numbers` that are all true or false (1 or 0), or missing."""
    found = numbers(values, name)
    for index in np.flatnonzero(~(np.isnan(found) | (found == 0) | (found == 1)))[:1].tolist():
        raise InputError(
            f"{name}: {found[index]:g} at position {index} is not true or false (1 or 0)"
        )
    return found
