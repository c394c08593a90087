"""inspect_ai's names: what its readers take beyond the core's, and what they refuse."""

from __future__ import annotations

import json
from decimal import Decimal
from functools import partial

import pytest

from rubricate.dialects.inspect_ai.dataset import json_dataset
from rubricate.errors import InputError

RECORD = '{"input": "x", "metadata": {"n": 1.10, "odd": NaN}}'


@pytest.fixture(params=["a.json", "a.jsonl"])
def path(request, tmp_path):
    found = tmp_path / request.param
    found.write_text(RECORD)
    return found


@pytest.mark.parametrize(
    "options", [{"parse_float": Decimal}, {"loads": partial(json.loads, parse_float=Decimal)}]
)
def test_options_of_json_reading_reach_the_reader_of_either_kind_of_file(path, options):
    (sample,) = json_dataset(str(path), **options)
    assert sample.metadata == {"n": Decimal("1.10"), "odd": None}
    assert isinstance(sample.metadata["n"], Decimal)


def test_what_a_given_reader_refuses_is_an_error_with_its_place(path):
    path.write_text("{oops\n")
    with pytest.raises(InputError, match=r"a\.jsonl?(:1: record 1)?: not valid JSON: ") as caught:
        list(json_dataset(str(path), strict=False))
    assert isinstance(caught.value, ValueError)
    path.write_text("[1]")
    with pytest.raises(InputError, match="expected an object"):
        list(json_dataset(str(path), loads=json.loads))
