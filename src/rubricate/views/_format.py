"""How figures are written: each kind in one way, in every view.

A share that is not quite 1 is not written as 1: it gets as many digits as it takes.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterable
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from rubricate.stats import Estimate

NONE = "–"
"""In place of a figure that there is not."""
NOTHING = 1e-9
"""What is left of rounding."""
MOST_DIGITS = 9


def figure(value: float | None, digits: int = 2, sign: bool = False) -> str:
    """A number with `digits` decimal places, or one more where it would else be written as 0 or 1.

    What is nearer to these than that is shown by its limit: `>0.999`.
    """
    if value is None or not math.isfinite(value):
        return NONE
    nearest = round(value)
    if abs(value - nearest) < NOTHING:
        value = float(nearest)  # and -0.0 is 0
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
    """The ends of an interval; empty where there is none."""
    if low is None or high is None:
        return ""
    return f"{figure(low, digits, sign=sign)} to {figure(high, digits, sign=sign)}"


def estimate_text(estimate: Estimate, sign: bool = False) -> str:
    """A figure with its interval, to two decimal places."""
    text = figure(estimate.value, sign=sign)
    if estimate.value is None or estimate.low is None or estimate.high is None:
        return text
    return f"{text} [{figure(estimate.low, sign=sign)}, {figure(estimate.high, sign=sign)}]"


def p_text(p_value: float | None) -> str:
    """A p-value to three decimal places; never 0."""
    if p_value is None:
        return NONE
    return "<0.001" if p_value < 0.001 else f"{p_value:.3f}"


def percent(share: float | None, digits: int = 0) -> str:
    """A share in per cent, rounded down, so that 100 % is all; with more places near 0 and 100."""
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
    """What the kappa over several criteria is: the mean of `kappas`; `left_out` have none."""
    if not kappas:
        return "none, because each criterion has one answer throughout, or one pair"
    text = f"mean of the kappas of {kappas} criteria, weighted by n"
    return (
        f"{text}; {left_out} have none (one answer throughout, or one pair)" if left_out else text
    )


def dollars(cost: float | None, estimated: float = 0.0, digits: int = 4) -> str:
    """US dollars; `unknown` where a price is not known, which is not 0.

    Args:
        cost: US dollars.
        estimated: those of them that are an estimate, which the text then says.
        digits: of a dollar; from $1 on at most two.
    """
    if cost is None:
        return "unknown"
    digits = digits if abs(cost) < 1 else min(digits, 2)
    text = f"${cost:.{digits}f}" if cost else "$0"
    if not estimated:
        return text
    part = "" if estimated >= cost else f", ${estimated:.{digits}f}"
    return f"{text}{part} estimated"


def unit_prices(cost: float, verdicts: float, items: float) -> str:
    """What a verdict and an item cost, to two figures: `$0.0018 a verdict, $0.037 an item`.

    Args:
        cost: US dollars, more than 0.
        verdicts, items: how many it was for.
    """
    units = {"a verdict": cost / verdicts, "an item": cost / items}
    return ", ".join(
        f"${price:.{max(2, 1 - math.floor(math.log10(price)))}f} {name}"
        for name, price in units.items()
    )


def weight_text(weight: float | None, between: tuple[float, float] | None = None) -> str:
    """A criterion's weight; the lowest and the highest, where items differ in it."""
    if weight is None and between is not None:
        return f"{between[0]:g} to {between[1]:g}"
    return NONE if weight is None else f"{weight:g}"


def opening(text: str, most: int = 80) -> str:
    """The beginning of a text as one line of at most `most` characters."""
    line = " ".join(text[: 4 * most].split())
    if len(line) <= most and len(text) <= 4 * most:
        return line
    return f"{line[: most - 1].rstrip()}…"


def tell_apart(descriptions: Iterable[str]) -> list[bool]:
    """Whether each description tells its item from the others: it has a letter, and is the only
    one of its kind."""
    listed = list(descriptions)
    counts = Counter(listed)
    return [counts[text] == 1 and any(map(str.isalpha, text)) for text in listed]
