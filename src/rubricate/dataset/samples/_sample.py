"""One sample: an input, the ideal answer, and related data."""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable, Mapping, Sequence
from itertools import repeat
from operator import attrgetter
from typing import Any, TypeVar

from pydantic import BaseModel, ConfigDict, JsonValue, ValidationError, field_validator

from rubricate.dataset.samples._chat import ChatMessage
from rubricate.errors import InputError


class SandboxEnvironmentSpec(BaseModel):
    """A sandbox: its type and, optionally, its configuration (usually a file).

    A configuration that is a pydantic model becomes an object in JSON. Reading it back keeps the
    object, because its class is unknown; it equals the original.
    """

    model_config = ConfigDict(frozen=True, defer_build=True)

    type: str
    config: Any = None

    def __init__(self, type: str, config: Any = None) -> None:
        super().__init__(type=type, config=config)

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, SandboxEnvironmentSpec):
            return NotImplemented
        if self.type != other.type:
            return False
        return bool(self.config == other.config or _as_json(self.config) == _as_json(other.config))

    def __hash__(self) -> int:
        return hash(self.type)


def _as_json(config: Any) -> Any:
    return config.model_dump(mode="json") if isinstance(config, BaseModel) else config


def sandbox_of(value: Any) -> SandboxEnvironmentSpec:
    """A type, a pair of type and configuration, or an object of both."""
    if isinstance(value, str):
        return SandboxEnvironmentSpec(value)
    if isinstance(value, Mapping):
        if set(value) - {"type", "config"} or "type" not in value:
            raise InputError("an object for 'sandbox' has the keys type and config")
        value = (value["type"], value.get("config"))
    if isinstance(value, list | tuple) and len(value) == 2 and isinstance(value[0], str):
        return SandboxEnvironmentSpec(*value)
    raise InputError(
        f"Invalid 'sandbox' value: {value!r:.80}. Sandbox must be string or 2-item list"
    )


SandboxEnvironmentType = (
    SandboxEnvironmentSpec | str | tuple[str, str] | tuple[str, BaseModel] | Mapping[str, JsonValue]
)
"""The accepted forms of a sandbox: a type, (type, configuration), a specification, or its JSON."""

MT = TypeVar("MT", bound=BaseModel)


class Sample(BaseModel):
    """A sample of an evaluation.

    Attributes:
        input: the input of a model: text, or a list of chat messages.
        choices: the answer choices of a multiple-choice question.
        target: the ideal answer or answers, or guidance for a grader.
        id: its identifier.
        metadata: any other data.
        sandbox: the sandbox for its files and script.
        files: its files by name: paths, inline text, or data URIs.
        setup: a script to run before it: a path, inline text, or a data URI.
    """

    model_config = ConfigDict(defer_build=True)

    input: str | list[ChatMessage]
    choices: list[str] | None = None
    target: str | list[str] = ""
    id: int | str | None = None
    metadata: dict[str, Any] | None = None
    sandbox: SandboxEnvironmentSpec | None = None
    files: dict[str, str] | None = None
    setup: str | None = None

    def __init__(
        self,
        input: str | list[ChatMessage],
        choices: list[str] | None = None,
        target: str | list[str] = "",
        id: int | str | None = None,
        metadata: dict[str, Any] | None = None,
        sandbox: SandboxEnvironmentType | None = None,
        files: dict[str, str] | None = None,
        setup: str | None = None,
    ) -> None:
        """Create a sample; the arguments are its attributes.

        `sandbox` may be a type, a pair of type and configuration, or an object with these keys.

        Raises:
            pydantic.ValidationError (ValueError): a value has the wrong type.
        """
        super().__init__(
            input=input,
            choices=choices,
            target=target,
            id=id,
            metadata=metadata,
            sandbox=sandbox,
            files=files,
            setup=setup,
        )

    @field_validator("target", mode="before")
    @classmethod
    def _numbers_as_text(cls, value: Any) -> Any:
        if isinstance(value, int | float) and not isinstance(value, bool):
            return str(value)
        return value

    @field_validator("id", mode="before")
    @classmethod
    def _no_truth_as_id(cls, value: Any) -> Any:
        if isinstance(value, bool):
            raise ValueError(f"an id is text or a whole number, not {value}")
        return value

    @field_validator("sandbox", mode="before")
    @classmethod
    def _sandbox_in_any_form(cls, value: Any) -> Any:
        is_one = value is None or isinstance(value, SandboxEnvironmentSpec)
        return value if is_one else sandbox_of(value)

    def metadata_as(self, metadata_cls: type[MT]) -> MT:
        """Return the metadata as a model of the given class, without keys that it does not define.

        Args:
            metadata_cls: a pydantic model with `frozen=True`, so that nobody expects changes to
                reach the metadata itself.

        Raises:
            InputError (ValueError): there is no metadata, the class is not frozen, or the values
                are invalid for it.
        """
        if self.metadata is None:
            raise InputError("Sample does not have metadata")
        return metadata_model(self.metadata, metadata_cls)


def metadata_model(values: Mapping[str, Any], metadata_cls: type[MT], *, whole: bool = False) -> MT:
    """Build a metadata model; see `Sample.metadata_as`. `whole` also passes unknown keys."""
    check_frozen(metadata_cls)
    if not whole:
        values = {name: values[name] for name in metadata_cls.model_fields if name in values}
    try:
        return metadata_cls(**values)
    except ValidationError as error:
        raise InputError(
            f"Could not parse metadata into {metadata_cls.__name__}: {error}"
        ) from error


def check_frozen(metadata_cls: type[BaseModel]) -> None:
    """Raise `InputError` unless the model is frozen."""
    if not metadata_cls.model_config.get("frozen"):
        raise InputError(f"Metadata model {metadata_cls.__name__} must have frozen=True")


def sample_input_len(sample: Sample) -> int:
    """The number of characters of a sample's input; for messages, of all their texts together."""
    if isinstance(sample.input, str):
        return len(sample.input)
    return sum(len(message.text) for message in sample.input)


_ALL_FIELDS = set(Sample.model_fields)
# One set for all plain samples: `__init__` too sets every field, so that pydantic, which adds the
# name of an assigned field, has nothing to add.
_new = object.__new__
_dict_of = attrgetter("__dict__")
_set_values = BaseModel.__dict__["__dict__"].__set__
_set_fields_set = BaseModel.__dict__["__pydantic_fields_set__"].__set__
_set_extra = BaseModel.__dict__["__pydantic_extra__"].__set__
_set_private = BaseModel.__dict__["__pydantic_private__"].__set__


class _Values:
    """A sample's values. Instances of a plain class share the table of their attribute names, so
    that their `__dict__` takes half the memory of a dict literal."""

    def __init__(
        self,
        input: Any,
        choices: Any = None,
        target: Any = "",
        id: Any = None,
        metadata: Any = None,
        sandbox: Any = None,
        files: Any = None,
        setup: Any = None,
    ) -> None:
        self.input = input
        self.choices = choices
        self.target = target
        self.id = id
        self.metadata = metadata
        self.sandbox, self.files, self.setup = sandbox, files, setup


def plain_sample(**values: Any) -> Sample:
    """Create a sample from values that are known to have the right types, without validation.

    It equals `Sample(...)` with the same arguments, at about a tenth of the cost, so that a million
    records are read fast. Containers are not copied.
    """
    sample = _new(Sample)
    _set_values(sample, _Values(**values).__dict__)
    _set_fields_set(sample, _ALL_FIELDS)
    _set_extra(sample, None)
    _set_private(sample, None)
    return sample


def plain_samples(
    inputs: Sequence[str],
    targets: Iterable[str],
    ids: Iterable[int | str | None],
    metadata: Iterable[dict[str, Any] | None],
) -> list[Sample]:
    """Call `plain_sample` for each, without choices, using loops in C."""
    samples = [*map(_new, repeat(Sample, len(inputs)))]
    values = map(_Values, inputs, repeat(None), targets, ids, metadata)
    deque(map(_set_values, samples, map(_dict_of, values)), maxlen=0)
    for set_slot, value in (
        (_set_fields_set, _ALL_FIELDS),
        (_set_extra, None),
        (_set_private, None),
    ):
        deque(map(set_slot, samples, repeat(value)), maxlen=0)
    return samples
