"""The two priors of coefficients: coverage is counted over all outcomes, not simulated."""

from itertools import product
from math import lgamma

import numpy as np
import pytest
from scipy import stats

from rubricate.stats import Bootstrap, _confusion
from rubricate.stats._posterior import DIFFER, coefficient_intervals, table_priors

PAIRS = 14
COEFFICIENTS = {
    "kappa": _confusion.cohen_kappa,
    "AC1": _confusion.gwet_ac,
    "alpha": lambda tables: _confusion.krippendorff_alpha(tables + tables.swapaxes(1, 2)),
    "Matthews": _confusion.matthews,
}


def test_rare_errors_are_covered_whatever_their_rate():
    few, many = DIFFER
    errors = np.arange(80)
    low = stats.gamma.ppf(0.025, errors + few)
    high = stats.gamma.ppf(0.975, errors + many)
    # Coverage is least just beside the ends of an interval, where one outcome more is missed.
    rates = np.concatenate([np.geomspace(0.01, 30, 200), low * 0.9999, high * 1.0001])
    rates = rates[(rates > 0.01) & (rates < 30)]
    held = (low <= rates[:, None]) & (rates[:, None] <= high)
    assert (stats.poisson.pmf(errors, rates[:, None]) * held).sum(axis=1).min() >= 0.93


@pytest.fixture(scope="module")
def tables():
    """All confusion matrices of 14 pairs (UNMET first, people in rows), and their intervals."""
    every = [
        np.array([a, b, c, PAIRS - a - b - c])
        for a, b, c in product(range(PAIRS + 1), repeat=3)
        if a + b + c <= PAIRS
    ]
    functions = {
        name: lambda counts, of=of: of(counts.reshape(-1, 2, 2))
        for name, of in COEFFICIENTS.items()
    }
    intervals = [
        coefficient_intervals(
            np.repeat(np.arange(4), counts),
            np.arange(PAIRS),
            table_priors(2, ordered=False),
            functions,
            Bootstrap(1000),
        )
        for counts in every
    ]
    ends = {
        name: np.array([(of[name].low, of[name].high) for of in intervals], dtype=float)
        for name in COEFFICIENTS
    }
    return np.array(every), ends


def coverage(tables, name, share, missed, alarms):
    """How often the interval of a coefficient holds the truth, where there is an interval."""
    cells = np.array(
        [(1 - share) * (1 - alarms), (1 - share) * alarms, share * missed, share * (1 - missed)]
    )
    every, ends = tables
    ways = lgamma(PAIRS + 1) - np.array([[lgamma(x + 1) for x in row] for row in every]).sum(axis=1)
    chances = np.exp(ways) * (cells**every).prod(axis=1)
    truth = float(COEFFICIENTS[name](cells.reshape(1, 2, 2) * 1e6)[0])
    low, high = ends[name].T
    held = (low <= truth) & (truth <= high)
    return chances[held].sum() / chances[~np.isnan(low)].sum()


@pytest.mark.parametrize("name", COEFFICIENTS)
def test_coefficients_of_few_pairs_hold_the_truth(tables, name):
    for share, wrong in product((0.05, 0.2, 0.5), (0.3, 0.1, 0.03)):
        for missed, alarms in ((wrong, wrong), (wrong / share, 0.0), (0.0, wrong / (1 - share))):
            if missed < 1:
                assert coverage(tables, name, share, missed, alarms) >= 0.92


@pytest.mark.parametrize("name", ["AC1", "alpha"])
def test_a_judge_that_never_gives_the_rare_label_is_covered(tables, name):
    for share in np.linspace(0.02, 0.5, 49):
        assert coverage(tables, name, share, 1.0, 0.0) >= 0.92
