"""When a request is sent again, and after how long."""

from __future__ import annotations

import random
from typing import get_args

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from rubricate.errors import ModelError, ModelErrorKind
from rubricate.run import Retries

PROPERTY = settings(derandomize=True, deadline=None)
PASSING = {"connection", "timeout", "rate_limit", "loading", "server", "truncated"}


class Policy(Retries):
    first_wait, longest_wait = 0.5, 8.0


POLICY = Policy(attempts=4, deadline=60.0)


def wait(
    kind: ModelErrorKind = "server",
    attempt: int = 1,
    elapsed: float = 0.0,
    retry_after: float | None = None,
    seed: int = 0,
) -> float | None:
    error = ModelError(kind, "text", retry_after=retry_after)
    return POLICY.back_off(error, attempt, elapsed, random.Random(seed))


@pytest.mark.parametrize("kind", get_args(ModelErrorKind))
def test_only_what_may_pass_is_sent_again(kind: ModelErrorKind):
    assert (wait(kind) is not None) is (kind in PASSING)


def test_a_request_is_sent_so_many_times_at_most():
    assert [wait(attempt=n) is None for n in range(1, 6)] == [False, False, False, True, True]


def test_a_rate_limit_is_bounded_by_the_deadline_and_not_by_attempts():
    assert wait("rate_limit", attempt=50, elapsed=59.0) is not None
    assert wait("rate_limit", attempt=50, elapsed=61.0) is None
    assert wait("rate_limit", elapsed=50.0, retry_after=20.0) is None


@PROPERTY
@given(st.integers(1, 3), st.integers())
def test_waits_double_with_jitter_up_to_a_bound(attempt: int, seed: int):
    longest = min(8.0, 0.5 * 2 ** (attempt - 1))
    assert longest / 2 <= wait(attempt=attempt, seed=seed) <= longest


def test_no_wait_is_longer_than_the_longest():
    assert wait("rate_limit", attempt=10_000, elapsed=0.0) <= 8.0


@PROPERTY
@given(st.floats(0, 60), st.sampled_from(["server", "rate_limit"]), st.integers())
def test_what_the_endpoint_asks_for_is_never_undercut(asked: float, kind, seed: int):
    assert asked <= wait(kind, retry_after=asked, seed=seed) <= asked + 0.5


def test_an_endpoint_that_asks_for_too_long_is_given_up():
    assert wait("server", retry_after=61.0) is None
