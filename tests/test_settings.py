"""The values that options belong to."""

from __future__ import annotations

import copy
import inspect
import pickle
from collections.abc import Callable, Mapping, Sequence
from dataclasses import FrozenInstanceError, replace
from pathlib import Path
from typing import ClassVar, Literal

import pytest

from rubricate.errors import InputError, errors_within
from rubricate.grading import GradeCall, grade
from rubricate.options import GradingOptions
from rubricate.run import Limits, Retries
from rubricate.settings import Settings, option, options_of, part, takes, written_types


class Size(Settings):
    """A value with a check."""

    most: int = option(3, "The most.")
    least: int = option(1, "The least.")

    def check(self) -> None:
        """Refuse an empty range."""
        if self.most < self.least:
            raise InputError("most is less than least")


class Named(Size, kw_only=False):
    """A value with a field that is no option."""

    name: str


def test_a_value_of_settings_cannot_be_changed():
    size = Size(most=4)
    with pytest.raises(FrozenInstanceError, match="most"):
        size.most = 5  # type: ignore[misc]
    with pytest.raises(FrozenInstanceError, match="most"):
        del size.most
    assert replace(size, least=2) == Size(most=4, least=2)


def test_a_changed_copy_is_checked_as_a_new_value_is():
    size = Size(most=4)
    assert (size.changed(least=2), size) == (Size(most=4, least=2), Size(most=4))
    assert Named("a", most=4).changed(name="b") == Named("b", most=4)
    with pytest.raises(InputError, match="most is less than least"):
        size.changed(least=5)
    with pytest.raises(InputError, match="most must be a whole number"):
        size.changed(most="5")
    with pytest.raises(TypeError, match="'leest'; did you mean 'least'"):
        size.changed(leest=2)


def test_two_values_are_equal_where_their_class_and_fields_are():
    assert Size(most=3) == Size()
    assert hash(Size(most=3)) == hash(Size())
    assert Size() != Size(most=4)
    assert Named("a") != Size()
    assert copy.copy(Size(most=4)) == pickle.loads(pickle.dumps(Size(most=4))) == Size(most=4)


def test_a_value_shows_what_it_was_told():
    assert repr(Size(most=4)) == "Size(most=4)"
    assert repr(Named("a")) == "Named(name='a')"


@pytest.mark.parametrize(
    ("args", "given", "wrong"),
    [
        ((), {}, "missing a required argument: 'name'"),
        (("a", "b"), {}, "too many positional arguments"),
        (("a",), {"name": "b"}, "multiple values for argument 'name'"),
        (("a",), {"mots": 4}, "unexpected keyword argument 'mots'; did you mean 'most'?"),
        ((), {"mots": 4}, "unexpected keyword argument 'mots'; did you mean 'most'?"),
    ],
)
def test_a_wrong_call_is_told_as_python_would(args, given, wrong):
    with pytest.raises(TypeError, match=wrong.replace("?", r"\?")):
        Named(*args, **given)


def test_a_value_that_cannot_be_meant_is_refused_wherever_it_is_made():
    for make in (
        lambda: Size(most=0),
        lambda: Named("a", most=0),
        lambda: replace(Size(), most=0),
        lambda: replace(Size(most=9), most=5, least=6),
    ):
        with pytest.raises(InputError, match="most is less than least"):
            make()
    with pytest.raises(InputError, match="least must be a whole number, found '1'"):
        Size(least="1")  # type: ignore[arg-type]


class Foreign(Size, kw_only=False):
    """A value that also takes what another library's function does."""

    elsewhere: ClassVar[dict[str, str]] = {"colour": "every size here is grey"}

    name: str

    def check(self) -> None:
        """Refuse a name that is no text."""
        if not isinstance(self.name, str):
            raise InputError("name: expected a text")


@takes(Foreign)
def paint(call: Foreign) -> str:
    """Say what is painted."""
    return call.name


def test_a_field_that_is_no_option_is_checked_too():
    with pytest.raises(InputError, match="name: expected a text"):
        Foreign(3)  # type: ignore[arg-type]


def test_what_another_library_takes_is_told_of_where_it_says_something():
    assert paint("a", colour=None) == paint("a") == "a"  # type: ignore[call-arg]
    with pytest.raises(InputError, match="paint takes no colour: every size here is grey"):
        paint("a", colour="red")  # type: ignore[call-arg]


def test_a_part_has_the_options_of_its_class_and_no_others():
    options = GradingOptions(concurrency=3, attempts=2)
    assert part(Limits, options) == Limits(concurrency=3)
    assert part(Retries, options) == Retries(attempts=2)
    assert part(GradingOptions, Limits(concurrency=3)) == GradingOptions(concurrency=3)


def test_the_signature_of_settings_names_every_option_with_its_type_and_default():
    shown = inspect.signature(grade).parameters
    assert [*shown][:3] == ["dataset", "judge", "limit"]
    assert str(shown["limit"]) == "limit: int | None = None"
    assert options_of(GradeCall).keys() < shown.keys()


class Kinds(Settings, group="Scores"):
    """Options of many types."""

    file: str | Path | None = option(None, "A file.")
    names: Sequence[str] = option((), "Names.", group="Output")
    either: float | list[float] | Literal["all"] = option(1.0, "Numbers.")
    called: Callable[[], None] | None = option(None, "Called.")
    pairs: Mapping[str, str] | None = option(None, "Pairs.")


def test_options_are_about_what_their_class_is_about_unless_they_say_it():
    groups = {name: declared.group for name, declared in options_of(Kinds).items()}
    assert groups == dict.fromkeys(("file", "either", "called", "pairs"), "Scores") | {
        "names": "Output"
    }
    assert {declared.group for declared in options_of(Size).values()} == {"The run"}


def test_files_and_the_shell_have_of_a_type_what_can_be_written():
    assert written_types(Kinds) == {
        "file": str | None,
        "either": float | list[float] | Literal["all"],
        "names": list[str],
    }


def test_an_error_about_input_says_where_unless_it_knows_a_nearer_place():
    wrong = pytest.raises(InputError, match=r"^b\.json: items\[1\]\.x: wrong$")
    inner = errors_within("items", 1, file="b.json")
    with wrong, errors_within(file="a.json"), inner, errors_within("x"):
        raise InputError("wrong")
    with pytest.raises(KeyError), errors_within(file="a.json"):
        raise KeyError("other errors stay as they are")
