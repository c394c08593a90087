"""What judgements took, added up."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rubricate.rubric import Usage

COUNTS = st.integers(0, 1000)
USAGES = st.builds(Usage, COUNTS, COUNTS, COUNTS, COUNTS, st.none() | COUNTS, COUNTS)


@given(st.lists(USAGES, max_size=5))
def test_the_total_is_the_sum(usages: list[Usage]):
    assert Usage.total(usages) == sum(usages, Usage())


@given(USAGES, USAGES)
def test_one_unknown_cost_makes_the_total_unknown(one: Usage, other: Usage):
    assert (Usage.total([one, other]).cost is None) == (None in (one.cost, other.cost))


@given(
    parts=st.integers(1, 9),
    counts=st.tuples(*[st.integers(0, 1000)] * 4),
    cost=st.none() | st.floats(0, 10),
)
def test_a_split_usage_adds_up_again(
    parts: int, counts: tuple[int, int, int, int], cost: float | None
) -> None:
    total = Usage.total(Usage(*counts, cost, 3.0).split(parts))
    assert (total.requests, total.input_tokens, total.cached_tokens, total.output_tokens) == counts
    assert total.cost == (None if cost is None else pytest.approx(cost))
    assert total.seconds == pytest.approx(3.0)
