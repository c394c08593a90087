"""Variance components of verdicts: items, judges, prompts, and sampling."""

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
from rubricate.stats._numbers import Floats, Integers, numbers
from rubricate.stats._resampling import (
    TOO_FEW,
    Bootstrap,
    Groups,
    around,
    blocks,
    check_bootstrap,
    cluster_indices,
    drawn_squares,
    jackknife_error,
)
from rubricate.stats._unseen import FEW_DIFFER, are_few, few_differ

ITEM = "item"
REPLICATE = "replicate"
SAMPLING = "sampling"
SAME = "all numbers are the same"
_Term = tuple[str, ...]


@dataclass(frozen=True, slots=True)
class VarianceComponents:
    """A variance in parts; see `variance_components`.

    Attributes:
        n: the number of items that count: those without a missing number.
        left_out: the number of items with a missing number.
        levels: the number of judges, prompts and replicates.
        components: the variance of each source: `item`, `judge`, `item x judge`, ..., `sampling`,
            in squared units of the numbers. A negative estimate is 0.
        shares: the share of each source in their sum, 0 to 1, with intervals that treat items,
            judges and prompts as samples of all possible ones.
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
    4; Brennan 2001, "Generalizability Theory"). Without replicates, sampling cannot be
    distinguished from the interaction of all factors: they are one source. Intervals of the shares
    are generalized confidence intervals (Weerahandi 1993), which are wide for two judges, because
    two judges are a small sample of all judges.

    Args:
        values: numbers, (n, ..., replicates), with an axis for each factor in between; None for a
            missing one. Items with a missing number are left out.
        factors: the names of the axes between items and replicates.
        groups: the cluster of each item, (n,). Default: items are independent.
        bootstrap: the confidence of the intervals, and the number and seed of the draws that make
            them; None for no intervals.

    Raises:
        InputError: another number of axes, rows of different length, or a single number an item.

    Example:
        >>> two_judges = [[[3.0], [4.0]], [[1.0], [2.0]], [[5.0], [6.0]]]
        >>> variance_components(two_judges).components
        {'item': 4.0, 'judge': 0.5, 'item x judge, sampling': 0.0}
    """
    check_bootstrap(bootstrap)
    factors = listed(factors, "factors")
    axes = (ITEM, *factors, REPLICATE)
    if not all(isinstance(factor, str) for factor in factors) or len(set(axes)) < len(axes):
        raise InputError(f"factors must be different texts, and none of them {ITEM} or {REPLICATE}")
    table = _table(values, axes)
    if math.prod(table.shape[1:]) < 2:
        raise InputError("values: one number an item has no spread to take apart")
    complete = ~np.isnan(table.reshape(len(table), -1)).any(axis=1)
    clusters = cluster_indices(groups, len(values))[complete]
    table = table[complete]
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
    contributions = design.contributions(table - table.mean())
    squares = design.mean_squares(contributions.sum(axis=0, keepdims=True))
    components = {
        term: max(0.0, float(part[0]))
        for term, part in design.components(squares, len(table)).items()
    }
    whole = sum(components.values())
    if whole <= 1e-12 * max(1.0, float((table**2).mean())):
        shares = {term: Estimate(None, undefined=SAME) for term in components}
    else:
        ends = _ends(design, contributions, squares, clusters, bootstrap)
        ends |= _rare(design, table, clusters)
        shares = {}
        for term, part in components.items():
            share, end = part / whole, ends.get(term) if bootstrap else None
            shares[term] = Estimate(share, undefined=end if isinstance(end, str) else None)
            if isinstance(end, tuple):
                shares[term] = around(share, *end)
    return VarianceComponents(
        n=len(table),
        left_out=len(values) - len(table),
        levels=levels,
        components={design.name(term): part for term, part in components.items()},
        shares={design.name(term): share for term, share in shares.items()},
    )


def _rare(design: _Design, table: Floats, clusters: Integers) -> dict[_Term, str]:
    """The sources without an interval, because too few items differ."""
    flat = table.reshape(len(table), -1)
    if few_differ(flat, clusters):
        return dict.fromkeys(design.sources(), FEW_DIFFER)
    if design.rest == () and are_few(
        (np.ptp(table, axis=-1) == 0).reshape(len(table), -1).all(axis=1), clusters
    ):
        return {(): FEW_DIFFER}
    return {}


def _ends(
    design: _Design,
    contributions: Floats,
    squares: Mapping[_Term, Floats],
    clusters: Integers,
    bootstrap: Bootstrap | None,
) -> dict[_Term, tuple[float, float] | str]:
    """The ends of the interval of each source's share, or why there are none.

    Draws of the mean squares of other judges and prompts, plus the jackknife's standard error over
    items times a draw of Student's t.
    """
    if bootstrap is None or len(np.unique(clusters)) < 2:
        return dict.fromkeys(design.sources(), TOO_FEW)
    of_blocks = blocks(contributions, clusters, bootstrap.seed)

    def shares(mean_squares: Mapping[_Term, Floats], n: Any) -> dict[_Term, Floats]:
        parts = design.components(mean_squares, n)
        whole = sum(parts.values())
        return {term: part / whole for term, part in parts.items()}

    totals = contributions.sum(axis=0) - of_blocks
    generator = np.random.default_rng(bootstrap.seed)
    with np.errstate(divide="ignore", invalid="ignore"):
        without = shares(design.mean_squares(totals), totals[:, -1])
        others = {
            term: square
            if ITEM in term or not term
            else drawn_squares(square, design.freedom(term), generator, bootstrap.resamples)
            for term, square in squares.items()
        }
        drawn = shares(others, len(contributions))
    ends: dict[_Term, tuple[float, float] | str] = {}
    for term, share in without.items():
        error = jackknife_error(share, bootstrap.tails[1])
        if isinstance(error, str):
            ends[term] = error
            continue
        noise = generator.standard_t(error.freedom, bootstrap.resamples)
        low, high = np.quantile(
            np.clip(drawn[term] + error.size * noise, 0.0, 1.0), bootstrap.tails
        )
        ends[term] = float(low), float(high)
    return ends


def _table(values: Any, axes: Sequence[str]) -> Floats:
    """Nested lists as an array with these axes; NaN for missing numbers."""
    shape: list[int] = []
    flat = [values]
    for axis in axes:
        if not all(is_nested(part) for part in flat):
            raise InputError(f"values: {len(shape)} axes, expected {', '.join(axes)}")
        parts = [listed(part, "values") for part in flat]
        if len({len(part) for part in parts}) > 1:
            raise InputError(f"values: along the axis {axis} they are not equally long")
        shape.append(len(parts[0]) if parts else 0)
        flat = [value for part in parts for value in part]
    if any(map(is_nested, flat)):
        raise InputError(f"values: more axes than the expected {', '.join(axes)}")
    return numbers(flat, "values").reshape(shape)


class _Design:
    """A table of items by crossed factors with replicates."""

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
        """The terms with a component; the empty term is sampling, if there are replicates."""
        terms = [term for term in self.terms() if term]
        return [*terms, ()] if self._replicates > 1 else terms

    def name(self, term: _Term) -> str:
        """A source in words."""
        if term == self._all and self._replicates == 1:
            return f"{' x '.join(term)}, {SAMPLING}" if len(term) > 1 else SAMPLING
        return " x ".join(term) or SAMPLING

    @property
    def rest(self) -> _Term:
        """The residual: sampling, or the interaction that cannot be distinguished from it."""
        return () if self._replicates > 1 else self._all

    def contributions(self, table: Floats) -> Floats:
        """For each item: its cells' means, the squares of each term with it, the sum of its
        squares, and 1."""
        n = len(table)
        means = table.mean(axis=-1)
        squares = [self._squares(means, term) for term in self.terms() if ITEM in term]
        every = (table**2).reshape(n, -1).sum(1)
        return np.column_stack([means.reshape(n, -1), *squares, every, np.ones(n)])

    def _squares(self, means: Floats, term: _Term) -> Floats:
        """The part of each row in a term's uncorrected sum of squares, in units of cells' means."""
        away = tuple(axis for axis, factor in enumerate(self._sizes, start=1) if factor not in term)
        kept = means.mean(axis=away) if away else means
        each = self._cells / math.prod(kept.shape[1:])
        return np.asarray((kept**2).reshape(len(means), -1).sum(1) * each)

    def freedom(self, term: _Term) -> int:
        """The degrees of freedom of a source without items."""
        return math.prod(self._sizes[factor] - 1 for factor in term)

    def mean_squares(self, totals: Floats) -> dict[_Term, Floats]:
        """The mean square of each source, (b,) each; of sampling if there are replicates."""
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
        if self._replicates > 1:
            freedom = n * self._cells * (self._replicates - 1)
            mean_squares[()] = np.maximum((every - squares[self._all]) / freedom, 0.0)
        return mean_squares

    def components(self, squares: Mapping[_Term, Floats], n: Any) -> dict[_Term, Floats]:
        """The variance of each source, from (b,) mean squares each, of n items; it may be
        negative."""
        sizes: dict[str, Any] = {ITEM: n, **self._sizes}
        components: dict[_Term, Floats] = {}
        terms = [term for term in squares if term]
        for term in terms:
            above = [other for other in terms if set(term) <= set(other)]
            total = sum((-1) ** (len(other) - len(term)) * squares[other] for other in above)
            if term == self._all and self._replicates > 1:
                total = total - squares[()]
            others = [sizes[factor] for factor in self._all if factor not in term]
            times = self._replicates * math.prod(others)
            components[term] = np.asarray(total / times)
        if self._replicates > 1:
            components[()] = squares[()]
        return components
