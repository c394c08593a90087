"""A threshold chosen on labels keeps what it promises."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import stats

from rubricate import InputError
from rubricate.stats import choose_threshold, threshold_point


def drawn(seed: int, items: int, size: int, together: float) -> tuple[list, list, list]:
    """Confidences, whether they agree, and items whose verdicts hang together."""
    generator = np.random.default_rng(seed)
    level = generator.normal(size=(items, size))
    shift = together * generator.normal(size=(items, 1))
    confidence = 1 / (1 + np.exp(-1.2 - 1.2 * level))
    right = generator.random((items, size)) < 1 / (1 + np.exp(-1.2 - 1.6 * level - shift))
    groups = np.repeat(np.arange(items), size)
    return confidence.ravel().tolist(), right.ravel().tolist(), groups.tolist()


@pytest.mark.parametrize(("items", "size", "together"), [(300, 1, 0.0), (100, 4, 1.0)])
def test_the_promise_holds_in_95_of_100_simulations(items: int, size: int, together: float):
    population, agrees, _ = drawn(999, 100_000, size, together)
    level, right = np.array(population), np.array(agrees)
    broken, chosen, simulations = 0, 0, 300
    for seed in range(simulations):
        confidence, agreed, groups = drawn(seed, items, size, together)
        found = choose_threshold(
            confidence, agreed, promise=0.85, risk=0.05, groups=groups if size > 1 else None
        ).chosen
        if found is not None:
            chosen += 1
            broken += right[level >= found.threshold].mean() < 0.85
    assert broken <= 0.05 * simulations
    assert chosen > 0.15 * simulations  # it is not kept by promising nothing


def test_the_test_is_the_exact_binomial_one():
    # 60 verdicts of one confidence: all stand or none does.
    for wrong in range(10):
        agrees = [place >= wrong for place in range(60)]
        found = choose_threshold([0.9] * 60, agrees, promise=0.9, risk=0.05)
        p_value = stats.binomtest(wrong, 60, 0.1, alternative="less").pvalue
        assert (found.chosen is not None) == (p_value <= 0.05)


def test_the_lowest_threshold_before_the_first_that_fails_is_chosen():
    confidence = [1.0] * 60 + [0.8] * 60 + [0.6] * 60
    agrees = [True] * 60 + [True] * 59 + [False] + [False] * 60
    found = choose_threshold(confidence, agrees)
    assert found.chosen is not None
    assert found.chosen.threshold == 0.8
    assert (found.chosen.kept, found.labelled) == (120, 180)
    assert found.chosen.coverage.value == pytest.approx(2 / 3)
    assert found.chosen.agreement.value == pytest.approx(119 / 120)


def test_verdicts_that_hang_together_count_as_fewer():
    confidence, agrees = [0.9] * 60, [False] + [True] * 59
    together = [place // 10 for place in range(60)]
    assert choose_threshold(confidence, agrees).chosen is not None
    assert choose_threshold(confidence, agrees, groups=together).chosen is None


def test_what_has_no_confidence_never_stands_and_what_has_no_label_only_counts_for_coverage():
    confidence = [0.9] * 60 + [None] * 20 + [0.9] * 20
    agrees = [True] * 60 + [False] * 20 + [None] * 20
    found = choose_threshold(confidence, agrees)
    assert found.chosen is not None
    assert (found.labelled, found.chosen.kept) == (60, 60)
    assert found.chosen.coverage.value == 0.8
    assert threshold_point(confidence, agrees, 0.95).agreement.value is None


def test_why_there_is_no_threshold_is_said():
    few = choose_threshold([0.9] * 10, [True] * 10)
    assert few.why == "at least 29 labelled verdicts are needed, and there are 10"
    bad = choose_threshold([0.9] * 60, [False] * 60)
    assert bad.why is not None
    assert "do not show" in bad.why


@pytest.mark.parametrize("wrong", [{"promise": 1.0}, {"risk": 0.0}, {"groups": [1]}])
def test_bad_arguments_are_refused(wrong: dict):
    with pytest.raises(InputError):
        choose_threshold([0.9] * 40, [True] * 40, **wrong)
