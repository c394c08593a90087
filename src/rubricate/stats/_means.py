"""The mean with a bootstrapped interval."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from rubricate.stats._estimate import Estimate
from rubricate.stats._numbers import numbers
from rubricate.stats._resampling import Bootstrap, Groups, bootstrap_totals, groups_at

__all__ = ["bootstrapped_mean"]


def bootstrapped_mean(
    values: Sequence[float | None],
    *,
    groups: Groups = None,
    bootstrap: Bootstrap | None = Bootstrap(),  # noqa: B008 (it is frozen)
) -> Estimate:
    """The mean with a clustered bootstrap interval (Efron 1979; Field and Welsh 2007).

    Args:
        values: numbers; None for a missing one, which is left out.
        groups: the cluster of each value. Default: each by itself.
        bootstrap: how the interval is made; None for none.

    Raises:
        InputError: something is no number, or there are not as many groups as values.
    """
    every = numbers(values, "values")
    places = np.flatnonzero(~np.isnan(every))
    kept = every[places]
    found = bootstrap_totals(
        np.column_stack([kept, np.ones(len(kept))]),
        lambda totals: {"mean": totals[:, 0] / totals[:, 1]},
        groups=groups_at(groups, places),
        bootstrap=bootstrap,
    )
    return found["mean"].estimate("there are no values")
