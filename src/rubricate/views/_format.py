"""Formatting of figures, the same in every view.

A share slightly below 1 is never written as 1.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterable
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from rubricate.stats import Estimate

NONE = "–"
"""Shown for a missing figure."""
NOTHING = 1e-9
"""Smaller numbers are rounding errors."""
MOST_DIGITS = 9


def figure(value: float | None, digits: int = 2, sign: bool = False) -> str:
    """Format a number with `digits` decimal places, or one more if it would otherwise read 0 or 1.

    Numbers even closer to 0 or 1 are shown by a limit: `>0.999`.
    """
    if value is None or not math.isfinite(value):
        return NONE
    nearest = round(value)
    if abs(value - nearest) < NOTHING:
        value = float(nearest)  # -0.0 becomes 0
        if not nearest:
            value = 0.0
    elif abs(nearest) <= 1 and float(f"{value:.{digits}f}") == nearest:
        digits += 1
        if float(f"{value:.{digits}f}") == nearest:
            side = 1 if value > nearest else -1
            limit = f"{nearest + side * 10**-digits:{'+' if sign else ''}.{digits}f}"
            return f"{'<' if side > 0 else '>'}{limit}"
    return f"{value:{'+' if sign else ''}.{digits}f}"


def ends(low: float | None, high: float | None, digits: int = 2, sign: bool = False) -> str:
    """Format the ends of an interval; empty without one."""
    if low is None or high is None:
        return ""
    return f"{figure(low, digits, sign=sign)} to {figure(high, digits, sign=sign)}"


def estimate_text(estimate: Estimate, sign: bool = False) -> str:
    """Format a figure with its interval, with two decimal places."""
    text = figure(estimate.value, sign=sign)
    if estimate.value is None or estimate.low is None or estimate.high is None:
        return text
    return f"{text} [{figure(estimate.low, sign=sign)}, {figure(estimate.high, sign=sign)}]"


def p_text(p_value: float | None) -> str:
    """Format a p-value with three decimal places; never 0."""
    if p_value is None:
        return NONE
    return "<0.001" if p_value < 0.001 else f"{p_value:.3f}"


def percent(share: float | None, digits: int = 0) -> str:
    """Format a share in per cent, rounded down so that 100 % means all, with more digits near 0 and
    100."""
    if share is None:
        return NONE
    while True:
        factor = 10**digits
        floor = math.floor(share * 100 * factor + 1e-9)
        exact = abs(share * 100 * factor - floor) < NOTHING * factor
        if exact or digits == MOST_DIGITS or 0 < floor < 100 * factor - 1:
            return f"{floor / factor:.{digits}f}%"
        digits += 1


def stratified_text(kappas: int, left_out: int) -> str:
    """Describe the kappa over several criteria: the mean of `kappas`; `left_out` have none."""
    if not kappas:
        return "none, because each criterion has one answer throughout, or one pair"
    text = f"mean of the kappas of {kappas} criteria, weighted by n" if kappas > 1 else "of one"
    return f"{text}; {left_out} without (one answer throughout, or one pair)" if left_out else text


def dollars(cost: float | None, estimated: float = 0.0, digits: int = 4) -> str:
    """Format US dollars; `unknown` if the price is unknown, which is not 0.

    Args:
        cost: US dollars.
        estimated: the estimated part, which is mentioned.
        digits: the number of decimal places; at most two from $1 on, more if only zeros are shown.
    """
    if cost is None:
        return "unknown"
    digits = digits if abs(cost) < 1 else min(digits, 2)
    if 0 < abs(cost) < 10**-digits:  # a cost is not 0
        digits = -math.floor(math.log10(abs(cost)))
    text = f"${cost:.{digits}f}" if cost else "$0"
    if not estimated:
        return text
    part = "" if estimated >= cost else f", ${estimated:.{digits}f}"
    return f"{text}{part} estimated"


def unit_prices(cost: float, verdicts: float, items: float) -> str:
    """Format the cost per verdict and item with two digits: `$0.0018 a verdict, $0.037 an item`.

    Args:
        cost: US dollars, above 0.
        verdicts, items: their numbers.
    """
    units = {"a verdict": cost / verdicts, "an item": cost / items}
    return ", ".join(
        f"${price:.{max(2, 1 - math.floor(math.log10(price)))}f} {name}"
        for name, price in units.items()
    )


def weight_text(weight: float | None, between: tuple[float, float] | None = None) -> str:
    """Format the weight of a criterion; the lowest and highest if items differ."""
    if weight is None and between is not None:
        return f"{between[0]:g} to {between[1]:g}"
    return NONE if weight is None else f"{weight:g}"


def opening(text: str, most: int = 80) -> str:
    """Return the beginning of a text as one line of at most `most` characters."""
    line = " ".join(text[: 4 * most].split())
    if len(line) <= most and len(text) <= 4 * most:
        return line
    return f"{line[: most - 1].rstrip()}…"


def tell_apart(descriptions: Iterable[str]) -> list[bool]:
    """Whether each description identifies its item: it contains a letter, and is unique."""
    listed = list(descriptions)
    counts = Counter(listed)
    return [counts[text] == 1 and any(map(str.isalpha, text)) for text in listed]
