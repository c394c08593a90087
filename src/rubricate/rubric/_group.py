"""A group of criteria: an inner node of a rubric that is a tree."""

from __future__ import annotations

import math
import re
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from typing import Annotated, Any, Self, final

from pydantic import (
    Field,
    PlainValidator,
    PrivateAttr,
    SerializeAsAny,
    field_validator,
    model_validator,
)

from rubricate._documents import PythonDocument, validate
from rubricate.errors import InputError, NamedPart, check_type, shown
from rubricate.rubric._criterion import (
    Criterion,
    Requires,
    build_criterion,
    checked_name,
    present,
    written_gates,
)

MOST_LEVELS = 100
"""Maximum depth of nested groups, in files and in Python."""
_OF_LEAVES = ("kind", "options", "scale_type", "note", "tags")
"""Fields of criteria only, because a group is not judged."""


@final
class Group(PythonDocument):
    """Criteria that are scored together: their weighted mean counts as one value.

    `Group(name="code", weight=2, criteria=[Criterion(...), Group(...), ...])`. Weights are relative
    to those of the same group.
    """

    name: str
    """Short name, unique in the rubric."""
    weight: float = Field(default=1.0, allow_inf_nan=False)
    """Its weight among its siblings; a finite number, not negative."""
    requirement: str | None = None
    """A description, which judges do not see."""
    requires: Requires = ()
    """Requirements of every criterion in it; see `Criterion.requires`."""
    criteria: tuple[AnyNode, ...] = Field(strict=False)
    """Its criteria and groups, at least one."""
    _levels: int = PrivateAttr(default=1)
    """Its number of nested levels."""

    @model_validator(mode="before")
    @classmethod
    def _has_nothing_of_a_criterion(cls, data: Any) -> Any:
        for key in _OF_LEAVES:
            if isinstance(data, Mapping) and data.get(key) is not None:
                raise InputError(
                    f"a group of criteria is not judged and has no '{key}': give it to its criteria"
                )
        return data

    _is_a_name = field_validator("name")(checked_name)

    @field_validator("weight")
    @classmethod
    def _is_no_penalty(cls, weight: float) -> float:
        if weight < 0:
            raise InputError(
                "a group's weight must not be negative: give the criteria in it negative weights"
            )
        return weight

    @model_validator(mode="after")
    def _has_criteria(self) -> Group:
        if not self.criteria:
            raise InputError(f"the group '{self.name}' needs at least one criterion, found none")
        if not math.isfinite(sum(abs(node.weight) for node in self.criteria)):
            raise InputError("the weights are too large to be added up")
        inner = [node._levels for node in self.criteria if isinstance(node, Group)]
        self._levels = 1 + max(inner, default=0)
        check_levels(self._levels)
        return self

    def model_copy(self, *, update: Mapping[str, Any] | None = None, deep: bool = False) -> Self:
        """A copy. New criteria are validated as in a new group."""
        if update and "criteria" in update:
            fields = {name: getattr(self, name) for name in type(self).model_fields}
            return type(self)(**{**fields, **(self.model_extra or {}), **update})
        return super().model_copy(update=update, deep=deep)

    def __hash__(self) -> int:
        return hash((type(self), self.name, self.weight, self.criteria))

    def to_dict(self) -> dict[str, Any]:
        """The group as written to a file."""
        data = {
            "name": self.name,
            "weight": self.weight,
            "requirement": self.requirement,
            "requires": written_gates(self.requires),
            "criteria": [node.to_dict() for node in self.criteria],
        }
        return {**present(data), **(self.model_extra or {})}


Node = Criterion | Group
"""An element of a rubric."""


def check_levels(levels: int) -> None:
    """Reject a tree with more than `MOST_LEVELS` levels of groups."""
    if levels > MOST_LEVELS:
        raise InputError(f"a tree has {MOST_LEVELS} levels at most")


def with_sentences(entries: Iterable[Any]) -> list[Any]:
    """The entries of a rubric, with a criterion for each sentence among them.

    Its name consists of its first words: at least five, and enough to be unique. Equal sentences
    have equal names.
    """
    if isinstance(entries, str | Criterion | None):
        raise InputError(
            f"a rubric is a list of criteria, found {shown(entries)}: write Rubric([...]), or "
            "Rubric.from_file(PATH) for a file"
        )
    built: list[Any] = []
    names: dict[str, str] = {}  # with their sentences
    for entry in entries:
        words = re.findall(r"\w+", entry.casefold()) if isinstance(entry, str) else []
        if len(words) < 2:  # a single word is no requirement
            built.append(entry)
            continue
        of_words = ["_".join(words[:count]) for count in range(5, max(6, len(words) + 1))]
        free = (name for name in of_words if names.setdefault(name, entry) == entry)
        built.append({"name": next(free, of_words[-1]), "requirement": entry})
    return built


def build_node(data: Any, path: Sequence[str | int] = ()) -> Node:
    """Build a group from loaded data with `criteria`, else a criterion.

    Raises:
        InputError: the data fit neither. The error has the path.
    """
    if isinstance(data, Criterion | Group):
        return data
    if not isinstance(data, Mapping):
        if isinstance(data, str):
            raise InputError(
                f"a criterion is a sentence of at least two words, found {shown(data)}: write "
                "what the text must do, such as 'Says sorry'",
                path=path,
            )
        raise InputError(
            f"a criterion is a sentence or {{name: ..., requirement: ...}}, found {shown(data)}",
            path=path,
        )
    if len(data) == 1 and not re.fullmatch("[a-z_]+", str(*data)):  # no field has such a name
        raise InputError(
            f"found {shown(data)}: put a sentence with ': ' in it into quotes", path=path
        )
    if isinstance(name := data.get("name"), str) and name.strip():
        path = (*path, NamedPart(f"{'group' if 'criteria' in data else 'criterion'} '{name}'"))
    if "criteria" not in data:
        return build_criterion(data, path)
    if data.get("name") is None:
        raise InputError("a group of criteria needs a name", path=path)
    inner = data["criteria"]
    check_type(inner, list | tuple, "a list of criteria", (*path, "criteria"))
    check_levels(path.count("criteria"))  # before Python's own limit is reached
    nodes = [
        build_node(entry, (*path, "criteria", index))
        for index, entry in enumerate(with_sentences(inner))
    ]
    return validate(Group, {**data, "criteria": nodes}, path)


AnyNode = Annotated[SerializeAsAny[Criterion] | SerializeAsAny["Group"], PlainValidator(build_node)]


def restricted(nodes: Sequence[Node], names: Collection[str]) -> tuple[Node, ...]:
    """The tree reduced to the criteria with these names, and the groups that contain them."""
    kept: list[Node] = []
    for node in nodes:
        if not isinstance(node, Group):
            if node.name in names:
                kept.append(node)
        elif inner := restricted(node.criteria, names):
            kept.append(node.model_copy(update={"criteria": inner}))
    return tuple(kept)


def largest_share(nodes: Sequence[Node]) -> float:
    """The most that the answer to one criterion can change the score of these nodes, 0 to 1.

    It is the largest weight as a share of the positive weights, or of all if there are only faults;
    the share of a group is divided among its members.
    """
    weights = [node.weight for node in nodes]
    total = sum(weight for weight in weights if weight > 0) or sum(map(abs, weights))
    shares = [
        abs(node.weight) * (largest_share(node.criteria) if isinstance(node, Group) else 1.0)
        for node in nodes
    ]
    return min(1.0, max(shares) / total) if total else 0.0


def flat_weights(nodes: Sequence[Node]) -> dict[str, float]:
    """The weight of each criterion of a tree in the whole, as if it was one list.

    The weight of a group is divided among its members in proportion to the absolute values of their
    weights. For a list of criteria, these are simply their weights.
    """
    weights: dict[str, float] = {}
    for node in nodes:
        if isinstance(node, Group):
            inner = flat_weights(node.criteria)
            total = sum(map(abs, inner.values()))
            weights |= {
                name: node.weight * weight / total if total else 0.0
                for name, weight in inner.items()
            }
        else:
            weights[node.name] = node.weight
    return weights


def paths(
    nodes: Sequence[Node], above: tuple[str, ...] = ()
) -> Iterator[tuple[str, tuple[str, ...]]]:
    """The name of each node, with the names of the groups around it, outermost first."""
    for node in nodes:
        yield node.name, above
        if isinstance(node, Group):
            yield from paths(node.criteria, (*above, node.name))


def placed(nodes: Sequence[Node], path: str = "criteria") -> Iterator[tuple[str, Node]]:
    """The nodes of a tree, groups before their members, with their paths in the file."""
    for index, node in enumerate(nodes):
        place = f"{path}[{index}]"
        yield place, node
        if isinstance(node, Group):
            yield from placed(node.criteria, f"{place}.criteria")
