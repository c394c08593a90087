"""Every public name of the reference says what it takes, gives and raises, and where a formula is
from."""

from __future__ import annotations

import ast
import inspect
import re
import textwrap
from collections.abc import Iterator
from functools import cache, cached_property
from importlib import import_module
from pathlib import Path
from types import FunctionType
from typing import Any, NamedTuple

import pytest

import rubricate.errors

API = Path(__file__).parents[2] / "docs" / "api"
ENTRIES = [
    name
    for page in sorted(API.glob("*.md"))
    for name in re.findall(r"^::: (\S+)$", page.read_text("utf-8"), re.MULTILINE)
]
SECTION = re.compile(r"^(Args|Attributes|Returns|Yields|Raises):\n((?:(?: .*)?\n)*)", re.MULTILINE)
FIELD = re.compile(r"^    (\*{0,2}\w+(?:,\s+\*{0,2}\w+)*):", re.MULTILINE)
ELSEWHERE = re.compile(r"arguments (as in|are those of)")
"""Where arguments are described by another name of the reference."""
PLAIN = re.compile(r"\b(float|int|tuple|list|dict|Sequence|Mapping|Iterator|Iterable|NDArray)\b")
"""What does not say by itself what it is: a figure, or a collection."""
FIGURE = re.compile(r"^(float|int)\b")
MEASURE = re.compile(
    r"[\[(]0, 1]|\bfrom 0\b|seconds|dollars|tokens|characters|points|share|index|how many"
)
YEAR = re.compile(r"\b(1[89]|20)\d\d\b")


LEFT_OUT = {
    "model_copy",  # pydantic's own
    "rubricate.PairStream.__init__",  # is given by a function, and not made by users
    "rubricate.ResultStream.__init__",
    "rubricate.Rubric.__init__",  # its fields are those of the class
}
WITHOUT_FORMULA = {"rubricate.stats.decided_pairs", "rubricate.stats.likely_differing"}
PLAIN_NAMES = ("str", "int", "float", "path")


class Public(NamedTuple):
    """A function, or a method of a class, of the reference."""

    name: str
    function: Any
    owner: type | None = None

    @property
    def doc(self) -> str:
        """Its documentation, with that of what it overrides, and of a constructor's class."""
        if self.owner is None:
            return inspect.getdoc(self.function) or ""
        name = self.function.__name__
        own = [vars(base).get(name) for base in self.owner.__mro__ if _is_own(base)]
        found = [inspect.cleandoc(one.__doc__) for one in own if one is not None and one.__doc__]
        if name == "__init__":
            found.insert(0, inspect.getdoc(self.owner) or "")
        return "\n\n".join(found)


def _is_own(kind: type) -> bool:
    return kind.__module__.startswith("rubricate")


def _named(name: str) -> Any:
    module, _, own = name.rpartition(".")
    return getattr(import_module(module), own)


def _publics() -> Iterator[Public]:
    for name in ENTRIES:
        one = _named(name)
        if inspect.isclass(one):
            for own, member in dict(vars(one)).items():
                shown = own == "__init__" or not own.startswith("_")
                if not shown or own in LEFT_OUT or f"{name}.{own}" in LEFT_OUT:
                    continue
                # Not asked of the others: a look at what pydantic has not built yet builds it, and
                # puts its own __init__ in the place of DataItem's, for all tests that follow.
                function = getattr(member, "__func__", member)
                if isinstance(function, FunctionType) and _is_ours(function):
                    yield Public(f"{name}.{own}", function, one)
        elif isinstance(one, FunctionType):
            yield Public(name, one)


def _is_ours(function: FunctionType) -> bool:
    return (
        function.__module__.startswith("rubricate") and function.__code__.co_filename != "<string>"
    )


PUBLIC = list(_publics())


def sections(doc: str) -> dict[str, str]:
    found: dict[str, str] = {}
    for name, text in SECTION.findall(doc + "\n"):
        found[name] = found.get(name, "") + text
    return found


def fields(doc: str) -> set[str]:
    """What the sections of arguments and attributes describe."""
    parts = sections(doc)
    listed = FIELD.findall(parts.get("Args", "") + parts.get("Attributes", ""))
    return {name.lstrip("*") for names in listed for name in re.split(r",\s+", names)}


def takes(one: Public) -> list[str]:
    """Parameters that are not described: by the sections, in a sentence, or by what they are."""
    parameters = list(inspect.signature(one.function).parameters.values())
    if one.owner is not None:
        parameters = [each for each in parameters if each.name not in ("self", "cls")]
    doc = one.doc
    described = fields(doc)
    if ELSEWHERE.search(doc):
        return []
    return [
        each.name
        for each in parameters
        if each.name not in described
        and (one.owner is None or not re.search(rf"\b{each.name}\b", doc))
        and (one.owner is None or not _says_itself(each))
    ]


def _says_itself(parameter: inspect.Parameter) -> bool:
    """Whether a type says all: `item: Item`, `criteria: Sequence[Criterion]`."""
    kind = str(parameter.annotation).lower()
    name = parameter.name.removesuffix("s").replace("_", "").replace("criteria", "criterion")
    return name in kind and name not in PLAIN_NAMES


def gives(one: Public) -> bool:
    """Whether a figure, or a function's collection, that comes back is not described."""
    if one.function.__name__.startswith("__") or sections(one.doc).keys() & {"Returns", "Yields"}:
        return False
    back = str(one.function.__annotations__.get("return", ""))
    if one.owner is not None:
        return bool(FIGURE.search(back)) and not MEASURE.search(one.doc)
    return bool(PLAIN.search(back))


def bare_fields(kind: type) -> list[str]:
    """Public fields and properties of a class that are not described."""
    described: set[str] = set()
    there: set[str] = set()
    for base in filter(_is_own, kind.__mro__):
        doc = inspect.cleandoc(base.__doc__ or "")
        described |= fields(doc) | set(re.findall(r"`(\w+)`", doc))
        tree = _tree(base)
        body = [] if tree is None else tree.body[0].body  # type: ignore[attr-defined]
        for node, after in zip(body, [*body[1:], None], strict=True):
            if isinstance(node, ast.AnnAssign) and isinstance(node.target, ast.Name):
                there.add(node.target.id)
                said = isinstance(after, ast.Expr) and isinstance(after.value, ast.Constant)
                described |= {node.target.id} if said else set()
        members = {n: m for n, m in vars(base).items() if isinstance(m, property | cached_property)}
        there |= members.keys()
        described |= {name for name, member in members.items() if member.__doc__}
    return sorted(name for name in there - described if not name.startswith("_"))


@cache
def _tree(function: FunctionType | type) -> ast.Module | None:
    try:
        return ast.parse(textwrap.dedent(inspect.getsource(function)))
    except (OSError, TypeError, SyntaxError):
        return None


def _raised(function: Any, globals_: dict[str, Any], deep: bool = True) -> Iterator[str]:
    """The errors of ours that a function raises, or what it calls directly."""
    tree = _tree(function)
    if tree is None:
        return
    caught = {
        name.id
        for node in ast.walk(tree)
        if isinstance(node, ast.ExceptHandler) and node.type is not None
        for name in ast.walk(node.type)
        if isinstance(name, ast.Name)
    }
    for node in ast.walk(tree):
        if isinstance(node, ast.Raise) and isinstance(node.exc, ast.Call):
            target = ast.unparse(node.exc.func).rpartition(".")[2]
            if _is_error(target):
                yield target
        elif deep and isinstance(node, ast.Call) and isinstance(node.func, ast.Name):
            called = globals_.get(node.func.id)
            if isinstance(called, FunctionType) and called.__module__.startswith("rubricate"):
                for name in _raised(called, called.__globals__, deep=False):
                    if name not in caught:
                        yield name


def _is_error(name: str) -> bool:
    found = getattr(rubricate.errors, name, None)
    return inspect.isclass(found) and issubclass(found, rubricate.errors.RubricateError)


def raises(one: Public) -> set[str]:
    """Errors that it can raise and does not name, itself or by what they derive from."""
    said = sections(one.doc).get("Raises", "")
    return {
        name
        for name in _raised(one.function, one.function.__globals__)
        if not any(
            re.search(rf"\b{base.__name__}\b", said)
            for base in getattr(rubricate.errors, name).__mro__
            if issubclass(base, rubricate.errors.RubricateError)
        )
    }


def has_no_source(one: Public) -> bool:
    """Whether a function of statistics names no paper of its formula."""
    has_formula = one.name.startswith("rubricate.stats.") and one.name not in WITHOUT_FORMULA
    return has_formula and one.owner is None and not YEAR.search(one.doc)


def test_every_parameter_is_described() -> None:
    assert {one.name: missing for one in PUBLIC if (missing := takes(one))} == {}


def test_every_field_is_described() -> None:
    kinds = {name: one for name in ENTRIES if inspect.isclass(one := _named(name))}
    assert {name: bare for name, one in kinds.items() if (bare := bare_fields(one))} == {}


def test_every_figure_and_collection_that_comes_back_is_described() -> None:
    assert [one.name for one in PUBLIC if gives(one)] == []


def test_every_error_that_is_raised_is_named() -> None:
    assert {one.name: missing for one in PUBLIC if (missing := raises(one))} == {}


def test_every_formula_has_a_source() -> None:
    assert [one.name for one in PUBLIC if has_no_source(one)] == []


def test_what_is_not_described_is_found() -> None:
    def bare(ratio: float, names: list[str]) -> list[float]:
        """Does something with `names`."""
        if not names:
            raise rubricate.errors.InputError("none")
        return [ratio]

    one = Public("rubricate.stats.bare", bare)
    assert takes(one) == ["ratio", "names"]
    assert gives(one)
    assert has_no_source(one)
    assert raises(one) == {"InputError"}


EXAMPLES = [
    *("grade", "agrade", "grade_one", "agrade_one", "agrade_stream", "estimate", "compare_pair"),
    *("redteam", "confirm", "anchors", "check_anchors", "RewardFunction", "Rubric", "Criterion"),
    *("RubricDataset", "Panel", "Cascade"),
]


@pytest.mark.parametrize("name", EXAMPLES)
def test_the_main_names_have_an_example_with_arguments_that_they_take(name: str) -> None:
    doc = inspect.getdoc(getattr(rubricate, name)) or ""
    before = re.split(r"^(?:Args|Attributes):$", doc, flags=re.MULTILINE)[0]
    example = textwrap.dedent("\n".join(re.findall(r"^ {4,}.*$", before, re.MULTILINE)))
    calls = [node for node in ast.walk(ast.parse(example)) if isinstance(node, ast.Call)]
    [call, *_] = [one for one in calls if ast.unparse(one.func).rpartition(".")[2] == name]
    parameters = inspect.signature(getattr(rubricate, name)).parameters
    assert {each.arg for each in call.keywords} <= parameters.keys()
