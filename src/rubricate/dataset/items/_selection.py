"""How the item of a label was chosen, which decides the valid uses of the label."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict
from typing import Any, Literal

from pydantic import ConfigDict, Field
from pydantic.dataclasses import dataclass

from rubricate._documents import check_keys, with_one_line_errors
from rubricate.errors import InputError, check_type, errors_within

How = Literal["random", "active", "uncertainty", "by_hand"]


@with_one_line_errors
@dataclass(frozen=True, config=ConfigDict(strict=True, defer_build=True))
class LabelSelection:
    """How the item of a label was chosen.

    Attributes:
        how: `random`: every item had the same chance. `active`: items with unsure verdicts had a
            higher chance, which is recorded. `uncertainty`: the least sure item came first, and no
            chance is known. `by_hand`: somebody chose it.
        probability: the chance of the item in a single draw from all items of the dataset; these
            sum to 1. None if unknown.
    """

    how: How
    probability: float | None = Field(default=None, gt=0, le=1)

    def __post_init__(self) -> None:
        if self.probability is None and self.how == "active":
            raise InputError("labels that are chosen actively need this", path=("probability",))

    def to_dict(self) -> dict[str, Any]:
        """The selection as in a file."""
        return {name: value for name, value in asdict(self).items() if value is not None}


def read_selection(value: Any) -> dict[str, LabelSelection]:
    """Read how each label of an item was chosen, by criterion name.

    Raises:
        InputError: it has another form; with the path inside it.
    """
    check_type(value, Mapping, "an object: {criterion: {how: random}}")
    read = {}
    for name, each in value.items():
        with errors_within(str(name)):
            read[str(name)] = each if isinstance(each, LabelSelection) else _read(each)
    return read


def _read(value: Any) -> LabelSelection:
    if not isinstance(value, Mapping) or "how" not in value:
        raise InputError("expected an object with 'how'")
    check_keys(value, ("how", "probability"))
    return LabelSelection(value["how"], value.get("probability"))
