"""A criterion has a name from when its rubric is built."""

from __future__ import annotations

import copy
import pickle

import pytest

from rubricate import Criterion, DataItem, RegexCriterion, Rubric

GIVEN = Criterion(name="speed", requirement="Names the speed of light")
UNNAMED = Criterion(requirement="Is short")


def test_a_criterion_without_a_name_is_named_by_its_index_in_the_rubric():
    rubric = Rubric([GIVEN, UNNAMED, RegexCriterion(pattern="a")])
    assert [criterion.name for criterion in rubric] == ["speed", "criterion_2", "criterion_3"]
    assert [criterion.is_named for criterion in rubric] == [True, False, False]
    assert list(rubric.by_name) == rubric.names
    assert UNNAMED.name == ""


def test_a_name_that_was_given_stays_and_is_the_same_object():
    assert Rubric([GIVEN])[0] is GIVEN


@pytest.mark.parametrize(
    "copied", [copy.deepcopy, lambda rubric: pickle.loads(pickle.dumps(rubric))]
)
def test_a_name_by_index_is_not_written_to_a_file(copied):
    rubric = copied(Rubric([UNNAMED, {"name": None, "requirement": "Is true"}]))
    assert rubric.to_dict() == [
        {"weight": 1.0, "requirement": "Is short"},
        {"weight": 1.0, "requirement": "Is true"},
    ]


def test_a_criterion_of_one_rubric_is_named_anew_in_another():
    first = Rubric([GIVEN, UNNAMED])
    assert Rubric([first[1], first[0]]).names == ["criterion_1", "speed"]


def test_an_items_id_does_not_depend_on_names_by_index():
    written = DataItem("text", rubric=Rubric([UNNAMED]))
    assert written.id == DataItem("text", rubric=Rubric.from_dict(written.rubric.to_dict())).id
    assert written.id == "6e13e75d14b4"
