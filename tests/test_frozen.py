"""Frozen dataclasses that are made quickly are like all others."""

from __future__ import annotations

import copy
import inspect
import pickle
from dataclasses import FrozenInstanceError, dataclass, field, fields, replace

import pytest

from rubricate._frozen import quickly_made
from rubricate.rubric import Usage, Verdict


@dataclass(frozen=True, slots=True)
class Plain:
    name: str
    size: int = 0
    parts: tuple[str, ...] = ()


@quickly_made
@dataclass(frozen=True, slots=True)
class Quick:
    name: str
    size: int = 0
    parts: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Child(Quick):
    colour: str = ""


@pytest.mark.parametrize("given", [("a",), ("a", 2), ("a", 2, ("b",))])
def test_it_has_what_it_was_given_and_the_defaults(given: tuple[object, ...]):
    values = [getattr(Quick(*given), field.name) for field in fields(Quick)]
    assert values == [getattr(Plain(*given), field.name) for field in fields(Plain)]


def test_its_signature_is_that_of_a_dataclass():
    assert inspect.signature(Quick) == inspect.signature(Plain)
    for wrong in [{}, {"name": "a", "colour": 1}]:
        with pytest.raises(TypeError):
            Quick(**wrong)


def test_it_is_frozen_equal_hashed_copied_and_pickled_as_others():
    one = Verdict("speed", "judged", "MET", 1.0, usage=Usage(1, 2))
    with pytest.raises(FrozenInstanceError):
        one.value = 0.0  # type: ignore[misc]
    assert replace(one, value=0.0) != one
    for any_ in (one, Child("a", 1, (), "red")):
        for other in (copy.copy(any_), copy.deepcopy(any_), pickle.loads(pickle.dumps(any_))):
            assert other == any_
    assert len({Quick("a"), Quick("a", 0), Quick("b")}) == 2


def test_a_field_without_a_plain_default_is_refused():
    @dataclass(frozen=True, slots=True)
    class Listed:
        parts: list[str] = field(default_factory=list)

    with pytest.raises(TypeError, match=r"Listed\.parts"):
        quickly_made(Listed)
