"""What an endpoint reports is a usage that can be right, or unknown; nothing checks it again."""

from __future__ import annotations

from itertools import product
from typing import Any

import pytest

from rubricate.judge.models import HTTPModel
from rubricate.judge.models._prices import ModelPrice
from rubricate.judge.models._responses import COST_HEADER

REPORTED: list[Any] = [-1, 0, 5, 2**24, 2**70, 1e308, 0.5, "7", "1e999", None, True, []]
EXTRAS: list[dict[str, Any]] = [
    {},
    {"cost": -1},
    {"cost": 1e308},
    {"cost": "NaN"},
    {"prompt_tokens_details": {"cached_tokens": -5}},
    {"cache_read_input_tokens": 2**24},
]


@pytest.mark.parametrize(
    "names",
    [
        ("prompt_tokens", "completion_tokens", "total_tokens"),
        ("input_tokens", "output_tokens", "cache_creation_input_tokens"),
    ],
)
def test_no_report_of_an_endpoint_is_an_impossible_usage(names: tuple[str, str, str]):
    highest = ModelPrice(input=1e6, output=1e6, cache_write=1e6)
    model = HTTPModel("m", base_url="http://localhost/v1", prices={"m": highest})
    headers: list[dict[str, str]] = [{}, {COST_HEADER: "-5"}, {COST_HEADER: "1e999"}]
    for counts, extra, header in product(product(REPORTED, repeat=3), EXTRAS, headers):
        body = {"usage": dict(zip(names, counts, strict=True)) | extra}
        usage = model._reported(body, repr(body).encode(), header)
        assert usage.is_possible, (body, header)
