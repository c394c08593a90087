"""From a record of a data source to a sample: by field names, or by a function."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import repeat
from operator import itemgetter
from typing import Any

from pydantic import BaseModel, ValidationError

from rubricate.dataset.samples._json_text import without_nan
from rubricate.dataset.samples._sample import Sample, check_frozen, plain_sample, plain_samples
from rubricate.dataset.samples._values import (
    FIELD_READERS,
    read_metadata,
    read_metadata_model,
)
from rubricate.errors import InputError

DatasetRecord = dict[str, Any]
"""A record of the data source: values by field name."""

Record = tuple[int | None, "DatasetRecord | InputError"]
"""The line on which a record ends, if the file has lines, and the record or its error."""

RecordToSample = Callable[[DatasetRecord], "Sample | list[Sample]"]
"""A function from a record to its sample, or to any number of samples (none skips the record)."""

Resolve = Callable[[Sample], None]
"""Makes a sample's relative paths absolute."""

_TEXT = {str}
_TEXT_OR_NUMBER = {str, int}
_OBJECT_OR_NONE = {dict, type(None)}


def decoded(decode: Callable[[Any], DatasetRecord], raw: Any) -> DatasetRecord | InputError:
    """Return the record that `decode` makes, or the error that it raises."""
    try:
        return decode(raw)
    except InputError as error:
        return error


@dataclass
class FieldSpec:
    """The fields of a record for the attributes of a sample.

    Attributes:
        input: the field for the input.
        target: the field for the ideal answer.
        choices: the field for the answer choices.
        id: the field for the identifier.
        metadata: the names of fields to keep as metadata, or a model (with `frozen=True`) that
            names and checks them. None for a field `metadata` that contains an object; an empty
            list for no metadata.
        sandbox: the field for the sandbox.
        files: the field for the files.
        setup: the field for the setup script.
    """

    input: str = "input"
    target: str = "target"
    choices: str = "choices"
    id: str = "id"
    metadata: list[str] | type[BaseModel] | None = None
    sandbox: str = "sandbox"
    files: str = "files"
    setup: str = "setup"


def sample_mapper(
    sample_fields: FieldSpec | RecordToSample | None,
) -> FieldMapper | FunctionMapper:
    """Return the mapper for a reader's `sample_fields`.

    Raises:
        InputError: it is not a `FieldSpec`, a function or None, or has a metadata model that is not
            frozen.
    """
    if sample_fields is None:
        return FieldMapper(FieldSpec())
    if isinstance(sample_fields, FieldSpec):
        return FieldMapper(sample_fields)
    if isinstance(sample_fields, type) and issubclass(sample_fields, FieldSpec):
        raise InputError("sample_fields is the class FieldSpec: pass an instance, FieldSpec(...)")
    if isinstance(sample_fields, type) or not callable(sample_fields):
        name = sample_fields if isinstance(sample_fields, type) else type(sample_fields)
        raise InputError(
            "sample_fields must be a FieldSpec, a function from a record to samples, or None; "
            f"found {name.__name__}"
        )
    return FunctionMapper(sample_fields)


class FieldMapper:
    """Maps a record by field names. One record is one sample."""

    def __init__(self, spec: FieldSpec) -> None:
        self._spec = spec
        metadata = spec.metadata
        self._model: type[BaseModel] | None = None
        self._names: list[str] | None = None
        if isinstance(metadata, type):
            check_frozen(metadata)
            self._model = metadata
        elif isinstance(metadata, str):
            raise InputError(f"metadata must be a list of field names, found {metadata!r}")
        elif metadata is not None:
            self._names = list(metadata)
        self._columns = [
            (field, getattr(spec, field), FIELD_READERS[field]) for field in FIELD_READERS
        ]

    def plain(self, records: Sequence[Any]) -> list[Sample] | None:
        """Return the samples of records that all have the usual form; None if some have not.

        Usual are text as input and target, text or numbers other than 0 as id, an object or nothing
        as metadata, and no other fields of a sample. Column by column takes less time.
        """
        spec = self._spec
        try:
            fields = set().union(*records)
            if self._model or fields & {spec.choices, spec.sandbox, spec.files, spec.setup}:
                return None
            inputs = list(map(itemgetter(spec.input), records))
            targets: Iterable[Any] = [""] * len(records)
            if spec.target in fields:
                targets = list(map(itemgetter(spec.target), records))
            ids: Iterable[Any] = repeat(None)
            if spec.id in fields:
                ids = list(map(itemgetter(spec.id), records))
                if not all(ids) or not set(map(type, ids)) <= _TEXT_OR_NUMBER:
                    return None
            metadata: Iterable[Any] = repeat(None)
            others: set[type] = set()
            if self._names:
                columns = [list(map(itemgetter(name), records)) for name in self._names]
                others = set().union(*(map(type, column) for column in columns)) & {list}
                metadata = [dict(zip(self._names, values)) for values in zip(*columns)]  # noqa: B905
            elif self._names is None and "metadata" in fields:
                metadata = [record.get("metadata") for record in records]
                others = set(map(type, metadata)) - _OBJECT_OR_NONE
            if others:  # a list may contain a NaN
                return None
        except (KeyError, TypeError):  # a field is missing, or a record is an error
            return None
        if not all(inputs) or set(map(type, inputs)) != _TEXT or set(map(type, targets)) != _TEXT:
            return None
        return plain_samples(inputs, targets, ids, metadata)

    def __call__(self, record: DatasetRecord, resolve: Resolve | None = None) -> list[Sample]:
        """Return the record's sample.

        Args:
            record: the fields.
            resolve: called with a sample that may refer to files.

        Raises:
            InputError: a value cannot be read; the error has the field, the value and the fields of
                the record.
        """
        values: dict[str, Any] = {}
        name = "metadata"
        try:
            for field, name, read in self._columns:
                value = record.get(name)
                if value is not None or field == "input":
                    values[field] = read(value)
            name = "metadata"
            values[name] = self._metadata(record)
        except (InputError, ValidationError) as error:
            raise _at_field(error, name, record) from None
        sample = plain_sample(**values)
        if resolve is not None:
            resolve(sample)
        return [sample]

    def _metadata(self, record: DatasetRecord) -> dict[str, Any] | None:
        if self._model is not None:
            return read_metadata_model(record, "metadata", self._model)
        if self._names is None:
            return read_metadata(record.get("metadata"))
        return _named(record, self._names) if self._names else None


def _named(record: DatasetRecord, names: Sequence[str]) -> dict[str, Any]:
    """The fields with these names; a NaN in a list of them becomes None."""
    values = {}
    for name in names:
        value = record.get(name)
        values[name] = without_nan(value) if type(value) is list else value
    return values


def _at_field(error: InputError | ValidationError, name: str, record: DatasetRecord) -> InputError:
    from rubricate._documents import input_error  # its models would slow down each import

    problem = error if isinstance(error, InputError) else input_error(error)
    place = ", ".join([f"field '{name}'", *map(str, problem.path)])
    absent = "" if name in record or name == "metadata" else " (there is no such field)"
    return InputError(
        f"{place}: {problem.message}{absent}; the record has the fields "
        f"{', '.join(map(repr, record)) or '(none)'}"
    )


class FunctionMapper:
    """Maps a record by a function, to any number of samples."""

    def __init__(self, function: Callable[[DatasetRecord], Any]) -> None:
        self._function = function

    def plain(self, records: Sequence[Any]) -> None:
        """Return None, because only the function can read a record."""

    def __call__(self, record: DatasetRecord, resolve: Resolve | None = None) -> list[Sample]:
        """Return the record's samples.

        Args:
            record: the fields.
            resolve: called with each sample.

        Raises:
            InputError: the function did not return samples, or raised an error (its `__cause__`).
        """
        try:
            returned = self._function(record)
            samples: list[Any] | None = None
            if isinstance(returned, Sample):
                samples = [returned]
            elif isinstance(returned, Iterable) and not isinstance(
                returned, str | Mapping | BaseModel
            ):
                samples = list(returned)
        except InputError:
            raise
        except Exception as error:
            raise InputError(
                f"the record function raised {type(error).__name__}: {error}; the record has the "
                f"fields {', '.join(map(repr, record)) or '(none)'}"
            ) from error
        if samples is None:
            raise InputError(
                "the record function must return a Sample or several, and returned "
                f"{'None' if returned is None else type(returned).__name__}"
            )
        for sample in samples:
            if not isinstance(sample, Sample):
                raise InputError(
                    f"the record function must return Samples, and returned {len(samples)} values, "
                    f"one of them a {type(sample).__name__}"
                )
            if resolve is not None:
                resolve(sample)
        return samples
