"""Shares of many criteria, each of few outcomes."""

from __future__ import annotations

import numpy as np
import pytest

from rubricate.stats import exact_interval, pooled_shares


@pytest.mark.parametrize(("a", "b", "criteria"), [(8, 2, 26), (50, 1, 26), (4, 1, 10)])
def test_pooled_shares_are_nearer_to_the_truth_and_their_intervals_hold_it(a, b, criteria):
    generator = np.random.default_rng(0)
    raw, near, held, together = [], [], [], []
    for _ in range(40):
        truth = generator.beta(a, b, criteria)
        hits = (generator.random((criteria, 10)) < truth[:, None]).astype(int)
        shares = [each.share for each in pooled_shares(hits.tolist())]
        raw.append(np.mean((hits.mean(1) - truth) ** 2))
        near.append(np.mean([(each.value - t) ** 2 for each, t in zip(shares, truth, strict=True)]))
        held += [each.low <= t <= each.high for each, t in zip(shares, truth, strict=True)]
        all_of = [exact_interval(int(n), 10, confidence=1 - 0.05 / criteria) for n in hits.sum(1)]
        together.append(all(e.low <= t <= e.high for e, t in zip(all_of, truth, strict=True)))
    assert np.mean(near) < 0.8 * np.mean(raw)
    assert np.mean(held) > 0.93
    assert np.mean(together) >= 0.92


def test_a_criterion_of_many_outcomes_stays_where_it_is_and_one_of_none_is_undefined():
    many = pooled_shares([[1] * 300 + [0] * 700, [1] * 9 + [0], [1] * 8 + [0] * 2, []])
    assert many[0].share.value == pytest.approx(0.3, abs=0.01)
    assert many[0].lowest > 0.95
    assert many[3].share.value is None
    assert sum(each.lowest for each in many) == pytest.approx(1)


def test_outcomes_of_one_group_count_as_one():
    answers = [[1, 1, 1, 1, 0, 0, 0, 0], [1] * 8, [1] * 8]
    single = pooled_shares(answers)[0].share
    grouped = pooled_shares(answers, groups=[[1] * 4 + [2] * 4, [*range(8)], [*range(8)]])[0].share
    assert grouped.high - grouped.low > single.high - single.low
