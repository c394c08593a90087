"""What judgements took, added up."""

from __future__ import annotations

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


@given(USAGES, st.integers(1, 7))
def test_the_parts_of_a_split_have_the_whole_as_their_total(usage: Usage, parts: int):
    total = Usage.total(usage.split(parts))
    assert (total.requests, total.input_tokens) == (usage.requests, usage.input_tokens)
