"""Validation of arguments, some of whose values may be missing.

None, NaN of any type of number, pandas' NA and NaT are missing (`is_missing`). What cannot be used
is an `InputError` that names the argument. Nothing here needs numpy.
"""

from __future__ import annotations

import math
import operator
import reprlib
from collections.abc import Callable, Iterable, Mapping, Set
from numbers import Real
from typing import Any

from rubricate.errors import InputError

LARGEST = 1e40
"""No number may be larger: products of a few of them would be infinite."""
SHOWN = 60
"""Characters of a value in an error."""
NEAREST = 1e-12
"""A confidence nearer to 0 or 1 has no finite quantile."""
MOST = 2**53
"""The largest count: beyond it, floating-point numbers are no longer all whole numbers."""


def brief(value: object) -> str:
    """A value as an error shows it: not too long."""
    try:
        text = reprlib.repr(value)
    except ValueError:  # a whole number of thousands of digits
        return f"a {type(value).__name__} that is too long"
    return text if len(text) <= SHOWN else f"{text[: SHOWN // 2]}...{text[-SHOWN // 2 :]}"


def is_missing(value: object) -> bool:
    """Whether a value is None, NaN, or pandas' or numpy's mark of a missing value."""
    if value is None:
        return True
    if isinstance(value, (str, int)):
        return False
    try:
        differs: Any = operator.ne(value, value)  # only NaN and NaT differ from themselves
        if differs is value and operator.eq(value, value) is value:
            return True  # both comparisons of pandas' NA give NA
        return bool(differs)
    except (TypeError, ValueError, ArithmeticError):
        return False


def listed(values: Any, name: str) -> list[Any]:
    """A sequence, an array or a column of a table as a list.

    Raises:
        InputError: it is a text, a mapping, a set or a single value.
    """
    if type(values) is list:
        return values
    unfit = isinstance(values, (str, bytes, Mapping, Set)) or values is None
    if not unfit:
        try:
            whole = values.to_numpy() if hasattr(values, "to_numpy") else values
            len(whole)
            return list(whole)
        except TypeError:
            pass
    raise InputError(f"{name}: a list is needed, found {brief(values)}")


def is_nested(value: object) -> bool:
    """Whether it holds values itself, as a list or an array does."""
    return hasattr(value, "__len__") and not isinstance(value, (str, bytes))


def same_length(**sequences: Any) -> int:
    """The length that all have; `InputError` where they differ or one is no list."""
    lengths = {name: len(listed(sequence, name)) for name, sequence in sequences.items()}
    if len(set(lengths.values())) > 1:
        each = ", ".join(f"{name} has {length}" for name, length in lengths.items())
        raise InputError(f"not equally long: {each}")
    return next(iter(lengths.values()))


PLAIN = frozenset({str, int, bool})
"""Types of which every value is a label."""
SIMPLE = PLAIN | {float, type(None)}
"""Types of which every value is a label, missing (None or NaN) or infinite."""


def answers(values: Any, name: str) -> list[Any]:
    """Labels, or numbers that are taken as such, as a list: None where one is missing.

    Raises:
        InputError: it is no list, or something in it can be no label.
    """
    raw = listed(values, name)
    types = set(map(type, raw))
    if types <= PLAIN:
        return list(raw)
    if types <= SIMPLE and not (math.inf in raw or -math.inf in raw):
        return [None if value != value else value for value in raw]  # noqa: PLR0124 (only NaN)
    labels: list[Any] = []
    for index, value in enumerate(raw):
        missing = is_missing(value)
        if not (missing or _is_label(value)):
            raise InputError(f"{name}: {brief(value)} at position {index} is no label")
        labels.append(None if missing else value)
    return labels


def _is_label(value: object) -> bool:
    try:
        hash(value)
    except TypeError:
        return False
    return not (isinstance(value, float) and math.isinf(value))


def in_order(labels: Iterable[Any], name: str = "labels", *, ranked: bool = False) -> list[Any]:
    """Labels sorted; of mixed types numbers first, then the others by type and text.

    Raises:
        InputError: the order means something (`ranked`), and types are mixed.
    """
    labels = list(labels)
    try:
        return sorted(labels)
    except TypeError:
        if ranked:
            types = ", ".join(sorted({type(label).__name__ for label in labels}))
            raise InputError(
                f"{name}: labels of mixed types ({types}) have no order; set it with labels="
            ) from None
        return sorted(labels, key=_rank)


def _rank(label: Any) -> tuple[Any, ...]:
    if isinstance(label, Real):
        return 0, "", label
    return 1, type(label).__name__, str(label)


def labels_of(values: Any, name: str = "labels") -> list[Any]:
    """`answers` of which none is missing, without duplicates."""
    labels = list(dict.fromkeys(answers(values, name)))
    if None in labels:
        raise InputError(f"{name}: one is missing, at position {labels.index(None)}")
    return labels


def abstention_of(value: Any) -> Any:
    """The label that is an abstention, None for none; `InputError` where it is no label."""
    return answers([value], "abstention")[0]


def check_flag(value: Any, name: str) -> None:
    """`InputError` unless it is true or false."""
    if not isinstance(value, bool):
        raise InputError(f"{name} must be True or False, found {brief(value)}")


def number_of(value: Any, name: str, index: int | None = None) -> float:
    """A number; `InputError` where it is missing, no number, or beyond `LARGEST`."""
    if type(value) in (float, int) and abs(value) <= LARGEST:
        return float(value)
    shown = brief(value) + ("" if index is None else f" at position {index}")
    if isinstance(value, (str, bytes)) or is_nested(value) or is_missing(value):
        raise InputError(f"{name}: {shown} is not a number")
    try:
        number = float(value)
    except OverflowError:
        number = math.inf
    except (TypeError, ValueError, ArithmeticError):
        raise InputError(f"{name}: {shown} is not a number") from None
    if not abs(number) <= LARGEST:
        size = "infinite" if math.isinf(number) else "too large"
        raise InputError(f"{name}: {shown} is {size}; numbers go up to {LARGEST:g}")
    return number


def number_between(value: float, name: str, low: float, high: float = math.inf) -> float:
    """A number within these limits; `InputError` for any other."""
    number = number_of(value, name)
    if not low <= number <= high:
        limits = f"{low:g} or more" if math.isinf(high) else f"from {low:g} to {high:g}"
        raise InputError(f"{name} must be {limits}, found {brief(value)}")
    return number


def count_of(value: Any, name: str, least: int = 0, most: int = MOST) -> int:
    """A whole number from `least` to `most`; `InputError` where it is none."""
    try:
        count = operator.index(value)
    except TypeError:
        count = None
    if count is None or isinstance(value, bool) or not least <= count <= most:
        limits = f"{least} or more" if most == MOST else f"from {least} to {most}"
        raise InputError(f"{name} must be {limits}, a whole number, found {brief(value)}")
    return count


def check_share(value: Any, name: str) -> None:
    """`InputError` unless it lies between 0 and 1, and no nearer to them than `NEAREST`."""
    if not NEAREST <= number_of(value, name) <= 1 - NEAREST:
        raise InputError(f"{name} must be between 0 and 1, found {brief(value)}")


def check_choice(value: Any, name: str, *choices: str) -> None:
    """`InputError` unless it is one of the choices."""
    if not (isinstance(value, str) and value in choices):
        others = ", ".join(choices[:-1])
        raise InputError(f"{name} must be {others} or {choices[-1]}, found {brief(value)}")


def named(values: Any, name: str, read: Callable[[Any, str], Any]) -> dict[str, Any]:
    """A mapping of names to what `read` makes of each value; `InputError` where it is none."""
    if not isinstance(values, Mapping):
        raise InputError(f"{name}: a mapping by name is needed, found {brief(values)}")
    return {key: read(value, f"{name}[{brief(key)}]") for key, value in values.items()}
