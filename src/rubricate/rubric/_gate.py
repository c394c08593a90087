"""A gate: what a criterion or a group requires of another one, before it is asked about."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Annotated, Any

from pydantic import BeforeValidator, Field, field_validator, model_validator

from rubricate._documents import PythonDocument
from rubricate.errors import InputError


class Gate(PythonDocument):
    """What another criterion must have come to.

    Without `label` and `at_least` it is the criterion's best answer, such as MET.
    """

    criterion: str
    """The name of the criterion, or of a group, for which `at_least` is needed."""
    label: str | None = None
    """The answer that it must have."""
    at_least: float | None = None
    """The least value, or the least score of a group, from 0 to 1."""

    @field_validator("at_least")
    @classmethod
    def _is_a_share(cls, given: float | None) -> float | None:
        if given is not None and not 0.0 <= given <= 1.0:
            raise InputError(f"must be between 0 and 1, found {given}")
        return given

    @model_validator(mode="after")
    def _asks_for_one_thing(self) -> Gate:
        if self.label is not None and self.at_least is not None:
            raise InputError("label and at_least exclude each other: give one of them")
        return self

    def to_value(self) -> Any:
        """The gate as it is written to a file: a name alone where there is nothing else."""
        said = {"label": self.label, "at_least": self.at_least, **(self.model_extra or {})}
        present = {key: value for key, value in said.items() if value is not None}
        return {"criterion": self.criterion, **present} if present else self.criterion


def _gates(given: Any) -> Any:
    """What may stand under `requires` as a list of gates: a name, a gate, or a list of them."""
    if given is None:
        return ()
    if isinstance(given, str | Mapping | Gate):
        given = [given]
    if not isinstance(given, Sequence):
        raise InputError(f"expected a criterion's name, found {given!r}")
    return tuple({"criterion": one} if isinstance(one, str) else one for one in given)


Requires = Annotated[tuple[Gate, ...], BeforeValidator(_gates), Field(strict=False)]


def written_gates(gates: Sequence[Gate]) -> Any:
    """What is written under `requires`; None for nothing."""
    written = [gate.to_value() for gate in gates]
    return written[0] if len(written) == 1 else written or None
