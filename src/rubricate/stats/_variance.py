"""Where the spread of verdicts comes from: items, judges, prompts, or asking again."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations
from typing import Any

import numpy as np

from rubricate.errors import InputError
from rubricate.stats._estimate import Estimate
from rubricate.stats._inputs import is_nested, listed
from rubricate.stats._numbers import numbers
from rubricate.stats._resampling import Bootstrap, Floats, Groups, bootstrap_totals, groups_at

__all__ = ["VarianceComponents", "variance_components"]

ITEM = "item"
REPLICATE = "replicate"
SAMPLING = "sampling"
SAME = "all numbers are the same"
_Term = tuple[str, ...]


@dataclass(frozen=True, slots=True)
class VarianceComponents:
    """A variance in parts; see `variance_components`.

    Attributes:
        n: items that count: those with all their numbers.
        left_out: items with one missing.
        levels: how many of each there are: judges, prompts, replicates.
        components: the variance of each source: `item`, `judge`, `item x judge`, ..., `sampling`.
            An estimate below 0 is given as 0.
        shares: of each in their sum, with bootstrap intervals by item.
    """

    n: int
    left_out: int
    levels: Mapping[str, int]
    components: Mapping[str, float]
    shares: Mapping[str, Estimate]


def variance_components(
    values: Sequence[Any],
    factors: Sequence[str] = ("judge",),
    *,
    groups: Groups = None,
    bootstrap: Bootstrap | None = Bootstrap(),  # noqa: B008 (it is frozen)
) -> VarianceComponents:
    """Random-effects variance components of a crossed, balanced table, by analysis of variance.

    Mean squares are set equal to their expectations (Searle, Casella and McCulloch 1992, chapter
    4; Brennan 2001, "Generalizability Theory"). Where nothing was asked twice, the interaction of
    all factors and sampling cannot be told apart, and are one source.

    Args:
        values: numbers with an axis for items, one for each factor, and one for replicates; None
            where there is none. Items with one missing are left out.
        factors: what the axes between items and replicates are.
        groups: the cluster of each item. Default: each by itself.
        bootstrap: how intervals are made; None for none.

    Raises:
        InputError: another number of axes, rows of different length, or a single number an item.
    """
    factors = listed(factors, "factors")
    axes = (ITEM, *factors, REPLICATE)
    if not all(isinstance(factor, str) for factor in factors) or len(set(axes)) < len(axes):
        raise InputError(
            f"factors must be texts, each another one, and none of them {ITEM} or {REPLICATE}"
        )
    table = _table(values, axes)
    if math.prod(table.shape[1:]) < 2:
        raise InputError("values: one number an item has no spread to take apart")
    indices = np.flatnonzero(~np.isnan(table.reshape(len(table), -1)).any(axis=1))
    table = table[indices]
    levels = dict(zip((*factors, REPLICATE), table.shape[1:], strict=True))
    crossed = [factor for factor in factors if levels[factor] > 1]
    table = table.reshape(len(table), *(levels[factor] for factor in crossed), levels[REPLICATE])
    design = _Design(crossed, table.shape[1:-1], table.shape[-1])
    if len(table) < 2:
        nothing = Estimate(None, undefined="it needs two items with all their numbers")
        names = [design.name(term) for term in design.sources()]
        return VarianceComponents(
            len(table), len(values) - len(table), levels, {}, dict.fromkeys(names, nothing)
        )
    middle = table.mean()

    def statistics(totals: Floats) -> dict[str, Floats]:
        found = design.components(totals)
        whole = np.sum(list(found.values()), axis=0)
        known = np.where(whole > 1e-12 * max(1.0, float((table**2).mean())), whole, np.nan)
        return {
            **{design.name(term): part / known for term, part in found.items()},
            **{f"variance of {design.name(term)}": part for term, part in found.items()},
        }

    found = bootstrap_totals(
        design.contributions(table - middle),
        statistics,
        groups=groups_at(groups, indices, len(values)),
        bootstrap=bootstrap,
    )
    names = [design.name(term) for term in design.sources()]
    return VarianceComponents(
        n=len(table),
        left_out=len(values) - len(table),
        levels=levels,
        components={name: float(found[f"variance of {name}"].value) for name in names},
        shares={name: found[name].estimate(SAME) for name in names},
    )


def _table(values: Any, axes: Sequence[str]) -> Floats:
    """Nested lists as an array with these axes; NaN stands for what is missing."""
    shape: list[int] = []
    flat = [values]
    for axis in axes:
        if not all(is_nested(part) for part in flat):
            raise InputError(f"values: {len(shape)} axes, expected {', '.join(axes)}")
        parts = [listed(part, "values") for part in flat]
        if len({len(part) for part in parts}) > 1:
            raise InputError(f"values: along the axis {axis} they are not equally long")
        shape.append(len(parts[0]) if parts else 0)
        flat = [one for part in parts for one in part]
    if any(is_nested(one) for one in flat):
        raise InputError(f"values: more axes than the expected {', '.join(axes)}")
    return numbers(flat, "values").reshape(shape)


class _Design:
    """A table of items by crossed factors with replicates; all from totals over items."""

    def __init__(self, crossed: Sequence[str], sizes: Sequence[int], replicates: int) -> None:
        self._sizes = dict(zip(crossed, sizes, strict=True))
        self._replicates = replicates
        self._all = (ITEM, *crossed)
        self._cells = math.prod(sizes)

    def terms(self) -> Iterator[_Term]:
        """The factors' subsets, the empty one too, smaller ones first."""
        for size in range(len(self._all) + 1):
            yield from combinations(self._all, size)

    def sources(self) -> list[_Term]:
        """What has a component; the empty term is sampling, where something was asked twice."""
        terms = [term for term in self.terms() if term]
        return [*terms, ()] if self._replicates > 1 else terms

    def name(self, term: _Term) -> str:
        """A source in words."""
        if term == self._all and self._replicates == 1:
            return f"{' x '.join(term)}, {SAMPLING}" if len(term) > 1 else SAMPLING
        return " x ".join(term) or SAMPLING

    def contributions(self, table: Floats) -> Floats:
        """Of each item: its cells' means, the squares that each term with it takes, the sum of its
        squares, and 1."""
        n = len(table)
        means = table.mean(axis=-1)
        squares = [self._squares(means, term) for term in self.terms() if ITEM in term]
        every = (table**2).reshape(n, -1).sum(1)
        return np.column_stack([means.reshape(n, -1), *squares, every, np.ones(n)])

    def _squares(self, means: Floats, term: _Term) -> Floats:
        """What each row adds to a term's uncorrected sum of squares, in units of cells' means."""
        away = tuple(axis for axis, factor in enumerate(self._sizes, start=1) if factor not in term)
        kept = means.mean(axis=away) if away else means
        each = self._cells / math.prod(kept.shape[1:])
        return np.asarray((kept**2).reshape(len(means), -1).sum(1) * each)

    def components(self, totals: Floats) -> dict[_Term, Floats]:
        """The variance of each source, (b,) each."""
        n, every = totals[:, -1], totals[:, -2]
        sizes: dict[str, Any] = {ITEM: n, **self._sizes}
        cell_means = totals[:, : self._cells] / n[:, None]
        shape = (len(totals), *self._sizes.values())
        squares: dict[_Term, Floats] = {}
        column = self._cells
        for term in self.terms():
            if ITEM in term:
                squares[term] = totals[:, column] * self._replicates
                column += 1
            else:
                own = self._squares(cell_means.reshape(shape), term)
                squares[term] = own * n * self._replicates
        mean_squares: dict[_Term, Floats] = {}
        for term in self.terms():
            if term:
                inner = [sub for size in range(len(term) + 1) for sub in combinations(term, size)]
                total = sum((-1) ** (len(term) - len(sub)) * squares[sub] for sub in inner)
                freedom = math.prod(sizes[factor] - 1 for factor in term)
                mean_squares[term] = np.asarray(total / freedom)
        found: dict[_Term, Floats] = {}
        within = np.zeros(len(totals))
        if self._replicates > 1:
            freedom = n * self._cells * (self._replicates - 1)
            within = np.maximum((every - squares[self._all]) / freedom, 0.0)
        for term in mean_squares:
            above = [other for other in mean_squares if set(term) <= set(other)]
            total = sum((-1) ** (len(other) - len(term)) * mean_squares[other] for other in above)
            if term == self._all:
                total = total - within
            others = [sizes[factor] for factor in self._all if factor not in term]
            times = self._replicates * math.prod(others)
            found[term] = np.maximum(np.asarray(total / times), 0.0)
        if self._replicates > 1:
            found[()] = within
        return found
