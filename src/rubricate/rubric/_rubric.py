"""A rubric: criteria of any kind, with guidelines, loaded from and written to files."""

from __future__ import annotations

import json
import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import cached_property
from html import escape
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Self

from pydantic import ConfigDict, Field, PlainValidator, PrivateAttr, SerializeAsAny, model_validator

from rubricate._documents import (
    YAML_SUFFIXES,
    PythonDocument,
    check_keys,
    format_yaml,
    line_of,
    parse_json,
    parse_yaml,
    read_document,
    validate,
    with_line,
)
from rubricate._files import user_path, write_text
from rubricate._spelling import OtherName, counted
from rubricate.errors import InputError, NamedPart, errors_within, shown
from rubricate.rubric._criterion import Criterion
from rubricate.rubric._declared import DeclaredScoring
from rubricate.rubric._group import (
    Group,
    Node,
    build_node,
    largest_share,
    paths,
    placed,
    with_sentences,
)
from rubricate.settings import errors_at_call

if TYPE_CHECKING:
    from rubricate.rubric._gates import Gates


_SHAPES = (
    "a rubric is a list of criteria, {criteria: [...]}, {rubric: ...} or "
    "{sections: [{name, criteria}]}"
)


Entry = Annotated[SerializeAsAny[Criterion], PlainValidator(build_node)]
"""A criterion; during validation of a rubric also a group."""


class Rubric(PythonDocument):
    """A list or a tree of criteria, with optional name and guidelines.

    `Rubric([Criterion(...), Group(...), "The reply says sorry.", ...])`: a sentence becomes a
    criterion named by its first words. `criteria` (also available as `rubric`) has all criteria,
    including those in groups, depth-first; `names` has their names. `tree` has the criteria and
    groups of the first level. For example:

        Rubric(["The reply apologises.", Criterion(name="blame", weight=-1, requirement="Blames")])
    """

    criteria: tuple[Entry, ...] = Field(strict=False)
    """The criteria: at least one, with unique names. Unnamed ones are numbered."""
    name: str | None = None
    """The name of the rubric."""
    guidelines: str | None = None
    """Guidelines for judges, shown with every criterion."""
    scoring: DeclaredScoring | None = None
    """How verdicts become scores, if different from the default."""
    _nested: tuple[Node, ...] | None = PrivateAttr(default=None)
    if not TYPE_CHECKING:
        model_config = ConfigDict(ignored_types=(OtherName,))
        load = OtherName("Rubric.from_file")
        from_list = OtherName("Rubric([...])")

    @errors_at_call
    def __init__(
        self,
        criteria: Iterable[Node | Mapping[str, Any] | str] = (),
        /,
        **data: Any,
    ) -> None:
        if "criteria" not in data:
            data["criteria"] = tuple(with_sentences(criteria))
        super().__init__(**data)

    __init__.__pydantic_base_init__ = True  # type: ignore[attr-defined]

    @model_validator(mode="after")
    def _criteria_fit_together(self) -> Rubric:
        if self._nested is not None:  # pydantic validates again after a custom `__init__`
            return self
        if not self.criteria:
            raise InputError("a rubric needs at least one criterion, found none")
        nodes: tuple[Node, ...] = self.criteria
        leaves: list[Criterion] = []
        tree = _named(nodes, leaves)
        is_nested = Group in map(type, nodes)
        self.__dict__["criteria"] = tuple(leaves)
        self._nested = tree if is_nested else None
        first: dict[str, tuple[int, str, Node]] = {}
        gated = False
        for index, (place, node) in enumerate(placed(tree)):
            gated |= bool(node.requires)
            if node.name in first:
                other, where, same = first[node.name]
                both = f"{where} and {place}"
                path: tuple[str | int, ...] = (NamedPart(f"'{node.name}'"),)
                if not is_nested:
                    both = f"criteria {other + 1} and {index + 1}"
                    path = ("criteria", index, NamedPart(f"criterion '{node.name}'"))
                if node.requirement == same.requirement:
                    raise InputError(f"is there twice: {both}; delete one", path=path)
                message = f"the name is defined twice: {both}; rename one"
                raise InputError(message, path=path)
            first[node.name] = index, place, node
        if not math.isfinite(sum([abs(node.weight) for node in tree])):
            raise InputError("the weights are too large to be added up")
        self.__dict__["gates"] = _gates(tree) if gated else None
        return self

    def model_copy(self, *, update: Mapping[str, Any] | None = None, deep: bool = False) -> Self:
        """A copy. New `criteria` define a new tree."""
        if update and "criteria" in update:
            fields = {name: getattr(self, name) for name in type(self).model_fields}
            return type(self)(**{**fields, "extra": self.model_extra, **update})
        return super().model_copy(update=update, deep=deep)

    @property
    def tree(self) -> tuple[Node, ...]:
        """The criteria and groups of the first level; the others are in the `criteria` of groups.

        Without groups, it equals `criteria`.
        """
        return self.criteria if self._nested is None else self._nested

    @property
    def groups(self) -> dict[str, Group]:
        """All groups by name, each before those inside it; empty for a list."""
        return {node.name: node for _, node in placed(self.tree) if isinstance(node, Group)}

    @cached_property
    def gates(self) -> Gates | None:
        """The requirements between criteria; None if there are none."""
        if any(node.requires for _, node in placed(self.tree)):
            return _gates(self.tree)
        return None

    @cached_property
    def paths(self) -> dict[str, tuple[str, ...]]:
        """The names of the groups around each criterion and group, outermost first."""
        return dict(paths(self.tree))

    @property
    def rubric(self) -> tuple[Criterion, ...]:
        """The criteria."""
        return self.criteria

    @property
    def names(self) -> list[str]:
        """The names of the criteria; unnamed ones are `criterion_N`, numbered from 1."""
        return [criterion.name for criterion in self.criteria]

    @property
    def by_name(self) -> dict[str, Criterion]:
        """The criteria by name, in order."""
        return {criterion.name: criterion for criterion in self.criteria}

    @property
    def total_positive_weight(self) -> float:
        """The sum of the positive weights; for a tree, on its first level."""
        return sum(node.weight for node in self.tree if node.weight > 0)

    @cached_property
    def largest_share(self) -> float:
        """The most that the answer to one criterion can change the score, 0 to 1."""
        return largest_share(self.tree)

    def __len__(self) -> int:
        return len(self.criteria)

    def __iter__(self) -> Iterator[Criterion]:  # type: ignore[override]
        return iter(self.criteria)

    def __getitem__(self, index: int) -> Criterion:
        return self.criteria[index]

    # Loading

    def _repr_html_(self) -> str:
        return rubric_html(self)

    @classmethod
    @errors_at_call
    def from_dict(cls, data: Any) -> Rubric:
        """Build a rubric from loaded JSON or YAML.

        Accepts a list of criteria, `{criteria: [...]}`, `{rubric: ...}` (any of the shapes), or
        `{sections: [{name, criteria}]}`, optionally with name, guidelines and scoring. An entry
        with `criteria` is a group; a sentence becomes a criterion named by its first words.

        Args:
            data: the loaded JSON or YAML.

        Raises:
            InputError: the data are invalid. The error has the path inside the document.
        """
        if isinstance(data, Rubric):
            return data
        if isinstance(data, Mapping) and "rubric" in data:
            if isinstance(data["rubric"], str):
                raise InputError("is a configuration, not a rubric: give it by --config")
            check_keys(data, {*cls.model_fields, "rubric", "sections"})
            for other in ("criteria", "sections"):
                if other in data:
                    raise InputError(f"found both 'rubric' and '{other}'; keep one of them")
            beside = {key: value for key, value in data.items() if key != "rubric"}
            with errors_within("rubric"):
                rubric = cls.from_dict(data["rubric"])
            fields = _together(_top_level(rubric), beside)
            return validate(cls, {**fields, "criteria": rubric.tree})
        if isinstance(data, list):
            prefix: tuple[str, ...] = ()
            data = {"criteria": data}
        elif isinstance(data, Mapping):
            check_keys(data, {*cls.model_fields, "rubric", "sections"})
            prefix = ("criteria",)
        else:
            advice = ": begin each line with '- '" if isinstance(data, str) else ""
            is_path = str(data).endswith((".yaml", ".yml", ".json"))
            advice = (
                ": a file is given by --rubric, in Python Rubric.from_file" if is_path else advice
            )
            raise InputError(f"{_SHAPES}; found {shown(data)}{advice}")
        criteria: list[Node] = []
        fields = {key: value for key, value in data.items() if key not in ("criteria", "sections")}
        if "criteria" not in data and "sections" not in data:
            if not data.keys().isdisjoint(("requirement", "kind", "weight")):
                raise InputError(
                    "is one criterion, and a rubric is a list of them: begin its first line with "
                    "'- ', and the others with two spaces (in JSON, put it into [ ])"
                )
            texts = [key for key, text in data.items() if isinstance(text, str)]
            advice = f"; write - {{name: {texts[0]}, requirement: ...}}" if texts else ""
            keys = ", ".join(map(str, data)) or "none"
            raise InputError(f"{_SHAPES}; found keys: {keys}{advice}")
        if "criteria" in data:
            criteria += _criteria(data["criteria"], prefix)
        for index, section in enumerate(_list(data.get("sections", []), ("sections",))):
            criteria += _section(section, ("sections", index))
        return validate(cls, {**fields, "criteria": tuple(criteria)})

    @classmethod
    @errors_at_call
    def from_json(cls, text: str) -> Rubric:
        """Build a rubric from JSON text; see `from_dict`.

        Raises:
            InputError: the text is not JSON, or as for `from_dict`.
        """
        return cls.from_dict(parse_json(text))

    @classmethod
    @errors_at_call
    def from_yaml(cls, text: str) -> Rubric:
        """Build a rubric from YAML text; see `from_dict`.

        Raises:
            InputError: the text is not YAML, or as for `from_dict`.
        """
        try:
            return cls.from_dict(parse_yaml(text))
        except InputError as error:
            raise error.within(line=line_of(error.path, text)) from None

    @classmethod
    @errors_at_call
    def from_file(cls, path: str | Path) -> Rubric:
        """Load a rubric from a .json, .yaml or .yml file; see `from_dict`.

        Args:
            path: the file.
        """
        try:
            return cls.from_dict(read_document(path))
        except InputError as error:
            advices = {
                "empty": "; write a criterion in each line, such as: - Says sorry",
                "no_json": "; were the rubric and the data swapped?",
            }
            if error.problem in advices and not str(path).lower().endswith(".json"):
                error.message += advices[error.problem]
            raise with_line(error, path) from None

    # Writing

    def to_dict(self) -> dict[str, Any] | list[dict[str, Any]]:
        """The rubric as written to a file: a plain list if it has only criteria."""
        criteria = [node.to_dict() for node in self.tree]
        beside = _top_level(self)
        return {**beside, "criteria": criteria} if beside else criteria

    def to_json(self, indent: int | None = 2) -> str:
        """The rubric as JSON text.

        Args:
            indent: spaces for each level; None for a single line.
        """
        return json.dumps(self.to_dict(), indent=indent, ensure_ascii=False)

    def to_yaml(self) -> str:
        """The rubric as YAML text."""
        return format_yaml(self.to_dict())

    def to_file(self, path: str | Path) -> None:
        """Write the rubric to a file: YAML if the name ends in .yaml or .yml, else JSON.

        An existing file is replaced only after the new one is complete.

        Args:
            path: the file.

        Raises:
            InputError (ValueError): it cannot be written.
        """
        path = user_path(path)
        text = self.to_yaml() if path.suffix.lower() in YAML_SUFFIXES else self.to_json() + "\n"
        write_text(path, text)


def _gates(tree: tuple[Node, ...]) -> Gates:
    from rubricate.rubric._gates import Gates  # few rubrics have gates

    return Gates(tree)


def _top_level(rubric: Rubric) -> dict[str, Any]:
    declared = None if rubric.scoring is None else rubric.scoring.to_dict()
    named = {"name": rubric.name, "guidelines": rubric.guidelines, "scoring": declared}
    present = {key: value for key, value in named.items() if value is not None}
    return {**present, **(rubric.model_extra or {})}


def _together(inside: Mapping[str, Any], beside: Mapping[str, Any]) -> dict[str, Any]:
    """The fields inside and beside `rubric`. Raises `InputError` for two different guidelines."""
    texts = [fields.get("guidelines") for fields in (inside, beside)]
    if not any(map(_blank, texts)):
        raise InputError("'guidelines' are inside 'rubric' and beside it; keep one of them")
    return {**inside, **{key: value for key, value in beside.items() if not _blank(value)}}


def _blank(value: object) -> bool:
    return value is None or (isinstance(value, str) and not value.strip())


def _list(data: Any, path: tuple[str | int, ...]) -> list[Any]:
    if not isinstance(data, list | tuple):
        raise InputError(
            f"expected a list (in YAML, begin each entry with '- '), found {shown(data)}", path=path
        )
    return list(data)


def _criteria(data: Any, path: tuple[str | int, ...]) -> list[Node]:
    entries = _list(data, path)
    if str in {*map(type, entries)}:
        entries = with_sentences(entries)
    return [build_node(raw, (*path, index)) for index, raw in enumerate(entries)]


def _named(nodes: Sequence[Node], leaves: list[Criterion]) -> tuple[Node, ...]:
    """The nodes with a name for each criterion. Criteria are also added to `leaves`."""
    named: list[Node] = []
    for node in nodes:
        if isinstance(node, Group):
            inner = _named(node.criteria, leaves)
            same = all(
                named_node is other for named_node, other in zip(inner, node.criteria, strict=True)
            )
            named.append(node if same else node.model_copy(update={"criteria": inner}))
        else:
            leaves.append(node.at(len(leaves)))
            named.append(leaves[-1])
    return tuple(named)


def _section(data: Any, path: tuple[str | int, ...]) -> list[Node]:
    if not isinstance(data, Mapping):
        raise InputError("a section is an object with name and criteria", path=path)
    with errors_within(*path):
        check_keys(data, {"name", "criteria"})
    if not isinstance(data.get("name"), str) or "criteria" not in data:
        raise InputError("a section needs a name and criteria", path=path)
    if other := [str(key) for key in data if key not in ("name", "criteria")]:
        raise InputError(
            f"a section has only name and criteria; move '{other[0]}' to the rubric or a criterion",
            path=path,
        )
    tag = data["name"]
    criteria: list[Node] = []
    for index, node in enumerate(_criteria(data["criteria"], (*path, "criteria"))):
        if isinstance(node, Group):
            raise InputError(
                "a section has no groups: write a tree under 'criteria', not 'sections'",
                path=(*path, "criteria", index),
            )
        criteria.append(node.model_copy(update={"tags": (tag, *node.tags)}))
    return criteria


_LEFT = ' style="text-align: left"'


def rubric_html(rubric: Rubric) -> str:
    """The criteria in order, those of a group below it."""
    named = f"Rubric {rubric.name}" if rubric.name else "Rubric"
    count = counted(len(rubric), "criterion", "criteria")
    guidelines = f"<p>{escape(rubric.guidelines)}</p>" if rubric.guidelines else ""
    headings = "".join(
        f"<th{_LEFT}>{name}</th>" for name in ("criterion", "weight", "answers", "requirement")
    )
    return (
        f"<table><caption{_LEFT}>{escape(named)}: {count}</caption><thead><tr>{headings}</tr>"
        f"</thead><tbody>{''.join(_rows(rubric.tree, 0))}</tbody></table>{guidelines}"
    )


def _rows(nodes: Sequence[Node], depth: int) -> Iterator[str]:
    for node in nodes:
        answers = "group" if isinstance(node, Group) else ", ".join(node.labels) or "a value"
        name = f'<td style="text-align: left; padding-left: {depth + 0.5}em">'
        name += f"<b>{escape(node.name or '')}</b></td>"
        rest = (f"{node.weight:g}", answers, node.requirement or "")
        yield f"<tr>{name}{''.join(f'<td{_LEFT}>{escape(text)}</td>' for text in rest)}</tr>"
        if isinstance(node, Group):
            yield from _rows(node.criteria, depth + 1)
