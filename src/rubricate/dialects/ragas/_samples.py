"""Samples of one or several turns, and datasets of them."""

from __future__ import annotations

import csv
import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from os import PathLike, fspath
from typing import TYPE_CHECKING, Any, ClassVar, overload

from pydantic import Field, field_validator, model_validator

from rubricate import dataset as core
from rubricate._documents import Document, validate
from rubricate._files import user_path
from rubricate.dialects.ragas._rubrics import MetricType, check_rubrics
from rubricate.dialects.ragas.messages import (
    AIMessage,
    AnyMessage,
    ToolCall,
    ToolMessage,
    pretty_repr,
)
from rubricate.errors import InputError, shown, extra_needed, check_type, errors_within

if TYPE_CHECKING:
    import pandas


class _Sample(Document):
    """What both kinds of samples share."""

    metric_type: ClassVar[MetricType]
    """The kind of samples, as metrics name it."""
    judged: ClassVar[tuple[str, ...]]
    """The fields that judges see."""

    @field_validator("rubrics", mode="before", check_fields=False)
    @classmethod
    def _levels_are_clear(cls, rubrics: Any) -> Any:
        return None if rubrics is None else check_rubrics(rubrics)

    def fields(self) -> dict[str, Any]:
        """Return the fields that judges see, if set."""
        values = {name: getattr(self, name) for name in self.judged}
        return {name: value for name, value in values.items() if value is not None}

    def get_features(self) -> list[str]:
        """Return the names of the fields that are set."""
        return list(self.to_dict())

    def to_dict(self) -> dict[str, Any]:
        """Return the sample as it is written to a file: the fields that are set."""
        return self.model_dump(exclude_none=True)


class SingleTurnSample(_Sample):
    """A question and its answer. All fields are optional; the judge sees those that are set."""

    metric_type: ClassVar[MetricType] = MetricType.SINGLE_TURN
    judged: ClassVar[tuple[str, ...]] = (
        "user_input",
        "retrieved_contexts",
        "reference_contexts",
        "reference",
        "response",
    )

    user_input: str | None = None
    """The user's question."""
    retrieved_contexts: list[str] | None = None
    """The passages that were retrieved for the answer."""
    reference_contexts: list[str] | None = None
    """The passages that the reference is based on."""
    retrieved_context_ids: list[str | int] | None = None
    """The ids of the retrieved passages. Judges only see fields that are in `judged`."""
    reference_context_ids: list[str | int] | None = None
    """The ids of the passages that should have been retrieved."""
    response: str | None = None
    """The answer to score."""
    multi_responses: list[str] | None = None
    """Other answers to the same question."""
    reference: str | None = None
    """A correct answer."""
    rubrics: dict[str, str] | None = None
    """The sample's own rubric; replaces the metric's for this sample."""
    persona_name: str | None = None
    """The persona for which the question was generated."""
    query_style: str | None = None
    """The style in which the question was generated."""
    query_length: str | None = None
    """The length with which the question was generated."""


class MultiTurnSample(_Sample):
    """A conversation."""

    metric_type: ClassVar[MetricType] = MetricType.MULTI_TURN
    judged: ClassVar[tuple[str, ...]] = ("user_input", "reference")

    user_input: list[AnyMessage] = Field(min_length=1)
    """The messages in order."""
    reference: str | None = None
    """The intended outcome of the conversation."""
    reference_tool_calls: list[ToolCall] | None = None
    """The expected tool calls; judges see neither these nor the topics."""
    rubrics: dict[str, str] | None = None
    """The sample's own rubric; replaces the metric's for this sample."""
    reference_topics: list[str] | None = None
    """The topics that it should have been about."""

    @model_validator(mode="after")
    def _tools_answer_calls(self) -> MultiTurnSample:
        called = False
        for index, message in enumerate(self.user_input):
            if isinstance(message, ToolMessage) and not called:
                raise InputError(f"user_input[{index}]: a ToolMessage without a tool call before")
            called = called or (isinstance(message, AIMessage) and bool(message.tool_calls))
        return self

    def fields(self) -> dict[str, Any]:
        return {**super().fields(), "user_input": self.pretty_repr()}

    def to_messages(self) -> list[dict[str, Any]]:
        """Return the messages as JSON values."""
        return [message.model_dump() for message in self.user_input]

    def pretty_repr(self) -> str:
        """Return the conversation as text, as judges see it."""
        return pretty_repr(self.user_input)


Sample = SingleTurnSample | MultiTurnSample


def sample_of(data: Any) -> Sample:
    """Create a sample from loaded data, of several turns if `user_input` is a list of messages.

    Raises:
        InputError: a field is invalid, which the message names.
    """
    if isinstance(data, SingleTurnSample | MultiTurnSample):
        return data
    if isinstance(data, dict) and isinstance(data.get("user_input"), list):
        return validate(MultiTurnSample, data)
    return validate(SingleTurnSample, data)


class EvaluationDataset:
    """Samples, either all of one turn or all of several.

    Args:
        samples: the samples.
        name: the name of the dataset in results.

    Raises:
        InputError: there are samples of both kinds, or one is not a sample.
    """

    def __init__(self, samples: Iterable[Sample], *, name: str | None = None) -> None:
        self.samples = list(samples)
        self.name = name
        for index, sample in enumerate(self.samples):
            check_type(sample, SingleTurnSample | MultiTurnSample, "a sample", ("samples", index))
            if type(sample) is not type(self.samples[0]):
                raise InputError(
                    f"found a {type(sample).__name__} among samples of the kind "
                    f"{type(self.samples[0]).__name__}; evaluate them apart",
                    path=("samples", index),
                )

    def __len__(self) -> int:
        return len(self.samples)

    def __iter__(self) -> Iterator[Sample]:
        return iter(self.samples)

    @overload
    def __getitem__(self, index: int) -> Sample: ...
    @overload
    def __getitem__(self, index: slice) -> EvaluationDataset: ...
    def __getitem__(self, index: int | slice) -> Sample | EvaluationDataset:
        if isinstance(index, slice):
            return EvaluationDataset(self.samples[index], name=self.name)
        return self.samples[index]

    def __eq__(self, other: object) -> bool:
        return isinstance(other, EvaluationDataset) and self.samples == other.samples

    __hash__ = None  # type: ignore[assignment]

    def __repr__(self) -> str:
        return f"EvaluationDataset(features={self.features()}, len={len(self)})"

    def is_multi_turn(self) -> bool:
        """Return whether the samples are conversations."""
        return bool(self.samples) and isinstance(self.samples[0], MultiTurnSample)

    def get_sample_type(self) -> type[SingleTurnSample] | type[MultiTurnSample]:
        """Return the class of the samples."""
        return MultiTurnSample if self.is_multi_turn() else SingleTurnSample

    def features(self) -> list[str]:
        """Return the fields that at least one sample has."""
        return list(dict.fromkeys(name for row in self.to_list() for name in row))

    @classmethod
    def from_list(cls, data: Sequence[Any], *, name: str | None = None) -> EvaluationDataset:
        """Create a dataset from dicts or samples.

        A dict whose `user_input` is a list of messages is a conversation; a message is a dict with
        `type` (`human`, `ai` or `tool`) and `content`. Unknown fields are kept, but judges do not
        see them.

        Raises:
            InputError: a field is invalid; the message names it with the index of the sample.
        """
        samples: list[Sample] = []
        for index, row in enumerate(data):
            with errors_within("samples", index):
                samples.append(sample_of(row))
        return cls(samples, name=name)

    from_dict = from_list

    def to_list(self) -> list[dict[str, Any]]:
        """Return a dict for each sample with the fields that it has."""
        return [sample.to_dict() for sample in self.samples]

    @classmethod
    def from_hf_dataset(cls, dataset: Any, *, name: str | None = None) -> EvaluationDataset:
        """Create a dataset from one of the library `datasets`.

        None means that a field is missing, because in such a dataset all rows have all fields, and
        all rubrics have all keys.

        Raises:
            InputError: it is a dict of splits, or a row is not a sample.
        """
        if isinstance(dataset, Mapping):
            known = ", ".join(map(str, dataset))
            raise InputError(f"the dataset has splits ({known}): pass one of them")
        return cls.from_list([_without_none(row) for row in dataset], name=name)

    def to_hf_dataset(self) -> Any:
        """Return the samples as a `Dataset` of the library `datasets` (extra `hf`)."""
        with extra_needed("to_hf_dataset", "hf"):
            from datasets import Dataset
        rows, columns = self.to_list(), self.features()
        return Dataset.from_dict({name: [row.get(name) for row in rows] for name in columns})

    @classmethod
    def from_jsonl(cls, path: str | PathLike[str]) -> EvaluationDataset:
        """Read a JSON Lines file with one sample per line, from a path or address, also `.gz` and
        `.zst`.

        Raises:
            InputError: a sample is invalid; the message has its file, line and field.
        """
        _check_suffix(fspath(path).removesuffix(".gz").removesuffix(".zst"))

        def to_sample(record: dict[str, Any]) -> core.Sample:
            return core.Sample(input="", metadata={"sample": sample_of(record)})

        return cls((row.metadata or {})["sample"] for row in core.json_dataset(path, to_sample))

    def to_jsonl(self, path: str | PathLike[str]) -> None:
        """Write a JSON Lines file."""
        _check_suffix(fspath(path))
        lines = "".join(json.dumps(row) + "\n" for row in self.to_list())
        user_path(path).write_text(lines, encoding="utf-8")

    def to_csv(self, path: str | PathLike[str]) -> None:
        """Write a CSV file with a column for each field. Lists and dicts become JSON text."""
        with user_path(path).open("w", encoding="utf-8", newline="") as file:
            writer = csv.DictWriter(file, self.features(), lineterminator="\n")
            writer.writeheader()
            for row in self.to_list():
                other = {name: value for name, value in row.items() if not isinstance(value, str)}
                writer.writerow(row | {name: json.dumps(value) for name, value in other.items()})

    @classmethod
    def from_pandas(cls, table: pandas.DataFrame) -> EvaluationDataset:
        """Create a dataset from a table with one row per sample. NaN, NA and None mean missing."""
        columns = [str(column) for column in table.columns]
        rows = table.itertuples(index=False, name=None)
        return cls.from_list([_plain_row(dict(zip(columns, row, strict=True))) for row in rows])

    def to_pandas(self) -> pandas.DataFrame:
        """Return a row for each sample (extra `pandas`)."""
        with extra_needed("to_pandas", "pandas"):
            import pandas
        columns = self.features()
        rows = [[row.get(name) for name in columns] for row in self.to_list()]
        return pandas.DataFrame(rows, columns=columns, dtype=object)


def _check_suffix(path: str) -> None:
    if not path.endswith((".jsonl", ".ndjson")):
        raise InputError("JSON Lines files end in .jsonl or .ndjson", file=path)


def dataset_of(data: Any, columns: Mapping[str, str] | None = None) -> EvaluationDataset:
    """Create a dataset from a dataset, from samples or dicts, or from one of the library
    `datasets`.

    Args:
        data: the samples.
        columns: the names of columns by the field of samples, if they differ.

    Raises:
        InputError: it is not a dataset, or a row is not a sample.
    """
    if isinstance(data, EvaluationDataset):
        if not columns:  # checked again, because samples may have been added
            return EvaluationDataset(data.samples, name=data.name)
        data = data.to_list()
    if isinstance(data, str) or not isinstance(data, Iterable):
        raise InputError(f"expected an EvaluationDataset, found {shown(data)}", path=("dataset",))
    if not isinstance(data, Mapping):
        data = [_renamed(row, columns or {}) if isinstance(row, Mapping) else row for row in data]
    return EvaluationDataset.from_hf_dataset(data)


_OLDER = {
    "user_input": "question",
    "response": "answer",
    "retrieved_contexts": "contexts",
    "reference": "ground_truth",
}
"""The names of columns before Ragas 0.2, by field."""


def _renamed(row: Mapping[str, Any], columns: Mapping[str, str]) -> dict[str, Any]:
    """Rename the columns of a row to fields, including the columns of older versions.

    Raises:
        InputError: a column is missing.
    """
    for field, column in columns.items():
        if column not in row:
            raise InputError(f"column_map: there is no column '{column}' for '{field}'")
    older = {
        field: column for field, column in _OLDER.items() if column in row and field not in row
    }
    columns = {**older, **columns}
    renamed = set(columns.values())
    own = {name: value for name, value in row.items() if name not in renamed}
    return own | {field: row[column] for field, column in columns.items()}


def _without_none(value: Any) -> Any:
    """Remove None from a row, its rubric and its messages."""
    if isinstance(value, Mapping):
        return {key: _without_none(entry) for key, entry in value.items() if entry is not None}
    return [_without_none(entry) for entry in value] if isinstance(value, list) else value


def _plain_row(row: dict[str, Any]) -> dict[str, Any]:
    """Convert the row of a table to plain values, without missing ones."""
    import pandas

    plain = {
        name: value.tolist() if hasattr(value, "tolist") else value for name, value in row.items()
    }
    return {
        name: value
        for name, value in plain.items()
        if isinstance(value, list | dict) or not pandas.isna(value)
    }
