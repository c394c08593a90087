"""Samples of one turn or of several, and datasets of them."""

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
from rubricate.errors import InputError, shown, extra_needed, check_type

if TYPE_CHECKING:
    import pandas


class _Sample(Document):
    """What samples of both kinds share."""

    metric_type: ClassVar[MetricType]
    """What a metric scores in it."""
    judged: ClassVar[tuple[str, ...]]
    """The fields that a judge is shown."""

    @field_validator("rubrics", mode="before", check_fields=False)
    @classmethod
    def _levels_are_clear(cls, rubrics: Any) -> Any:
        return None if rubrics is None else check_rubrics(rubrics)

    def fields(self) -> dict[str, Any]:
        """The fields that a judge is shown, those that are given."""
        values = {name: getattr(self, name) for name in self.judged}
        return {name: value for name, value in values.items() if value is not None}

    def get_features(self) -> list[str]:
        """The names of the fields that are given."""
        return list(self.to_dict())

    def to_dict(self) -> dict[str, Any]:
        """The sample as it is written to a file: the fields that are given."""
        return self.model_dump(exclude_none=True)


class SingleTurnSample(_Sample):
    """A question and its answer. Every field may be left out; those given reach the judge."""

    metric_type: ClassVar[MetricType] = MetricType.SINGLE_TURN
    judged: ClassVar[tuple[str, ...]] = (
        "user_input",
        "retrieved_contexts",
        "reference_contexts",
        "reference",
        "response",
    )

    user_input: str | None = None
    """What the user asked."""
    retrieved_contexts: list[str] | None = None
    """What was retrieved to answer with."""
    reference_contexts: list[str] | None = None
    """What the reference rests on."""
    retrieved_context_ids: list[str | int] | None = None
    """The names of what was retrieved; no judge is shown it, nor what is not in `judged`."""
    reference_context_ids: list[str | int] | None = None
    """The names of what should have been."""
    response: str | None = None
    """The answer, which is scored."""
    multi_responses: list[str] | None = None
    """Other answers to the same question."""
    reference: str | None = None
    """A correct answer."""
    rubrics: dict[str, str] | None = None
    """The sample's own rubric; replaces the metric's for this sample."""
    persona_name: str | None = None
    """Whose question it was made up to be."""
    query_style: str | None = None
    """How the question was made up to sound."""
    query_length: str | None = None
    """How long the question was made up to be."""


class MultiTurnSample(_Sample):
    """A conversation."""

    metric_type: ClassVar[MetricType] = MetricType.MULTI_TURN
    judged: ClassVar[tuple[str, ...]] = ("user_input", "reference")

    user_input: list[AnyMessage] = Field(min_length=1)
    """The messages, in their order."""
    reference: str | None = None
    """What the conversation should have led to."""
    reference_tool_calls: list[ToolCall] | None = None
    """The tool calls that were to be expected; no judge is shown this, nor the topics."""
    rubrics: dict[str, str] | None = None
    """The sample's own rubric; replaces the metric's for this sample."""
    reference_topics: list[str] | None = None
    """What it should have been about."""

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
        """The messages as JSON values."""
        return [message.model_dump() for message in self.user_input]

    def pretty_repr(self) -> str:
        """The conversation as text, the way a judge is shown it."""
        return pretty_repr(self.user_input)


Sample = SingleTurnSample | MultiTurnSample


def sample_of(data: Any) -> Sample:
    """A sample of loaded data: of several turns where `user_input` is a list of messages.

    Raises:
        InputError: with the field that is wrong.
    """
    if isinstance(data, SingleTurnSample | MultiTurnSample):
        return data
    if isinstance(data, dict) and isinstance(data.get("user_input"), list):
        return validate(MultiTurnSample, data)
    return validate(SingleTurnSample, data)


class EvaluationDataset:
    """Samples, all of one turn or all of several.

    Args:
        samples: the samples.
        name: what results call the dataset.

    Raises:
        InputError: they are of both kinds, or one is not a sample.
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
        """Whether the samples are conversations."""
        return bool(self.samples) and isinstance(self.samples[0], MultiTurnSample)

    def get_sample_type(self) -> type[SingleTurnSample] | type[MultiTurnSample]:
        """The class of the samples."""
        return MultiTurnSample if self.is_multi_turn() else SingleTurnSample

    def features(self) -> list[str]:
        """The fields that at least one sample has."""
        return list(dict.fromkeys(name for row in self.to_list() for name in row))

    @classmethod
    def from_list(cls, data: Sequence[Any], *, name: str | None = None) -> EvaluationDataset:
        """Build a dataset from dicts (or samples).

        A dict whose `user_input` is a list of messages is a conversation; a message is a dict
        with `type` (`human`, `ai` or `tool`) and `content`. Fields that are not a sample's own
        are kept, and no judge is shown them.

        Raises:
            InputError: with the index and the field that is wrong.
        """
        samples: list[Sample] = []
        for index, row in enumerate(data):
            try:
                samples.append(sample_of(row))
            except InputError as error:
                raise error.within(("samples", index)) from None
        return cls(samples, name=name)

    def to_list(self) -> list[dict[str, Any]]:
        """A dict for each sample, with the fields that it has."""
        return [sample.to_dict() for sample in self.samples]

    @classmethod
    def from_dict(cls, data: Sequence[Any], *, name: str | None = None) -> EvaluationDataset:
        """The same as `from_list`."""
        return cls.from_list(data, name=name)

    @classmethod
    def from_hf_dataset(cls, dataset: Any, *, name: str | None = None) -> EvaluationDataset:
        """Build a dataset from one of the library `datasets`.

        None is a missing field: in such a dataset every row has every field, and every rubric every
        key.

        Raises:
            InputError: it is a dict of splits, or a row is no sample.
        """
        if isinstance(dataset, Mapping):
            known = ", ".join(map(str, dataset))
            raise InputError(f"the dataset has splits ({known}): give one of them")
        return cls.from_list([_without_none(row) for row in dataset], name=name)

    def to_hf_dataset(self) -> Any:
        """The samples as a `Dataset` of the library `datasets` (extra `hf`)."""
        with extra_needed("to_hf_dataset", "hf"):
            from datasets import Dataset
        rows, columns = self.to_list(), self.features()
        return Dataset.from_dict({name: [row.get(name) for row in rows] for name in columns})

    @classmethod
    def from_jsonl(cls, path: str | PathLike[str]) -> EvaluationDataset:
        """Read a JSON Lines file, a sample a line: a path or an address, also `.gz` and `.zst`.

        Raises:
            InputError: with file, line and field of what is wrong.
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
        """Write a CSV file with a column for each field; lists and dicts are JSON text."""
        with user_path(path).open("w", encoding="utf-8", newline="") as file:
            writer = csv.DictWriter(file, self.features(), lineterminator="\n")
            writer.writeheader()
            for row in self.to_list():
                writer.writerow(
                    {
                        name: value if isinstance(value, str) else json.dumps(value)
                        for name, value in row.items()
                    }
                )

    @classmethod
    def from_pandas(cls, table: pandas.DataFrame) -> EvaluationDataset:
        """Build a dataset from a table with a row for each sample; NaN, NA and None are missing."""
        columns = [str(column) for column in table.columns]
        rows = table.itertuples(index=False, name=None)
        return cls.from_list([_given(dict(zip(columns, row, strict=True))) for row in rows])

    def to_pandas(self) -> pandas.DataFrame:
        """A row for each sample (extra `pandas`)."""
        with extra_needed("to_pandas", "pandas"):
            import pandas
        columns = self.features()
        rows = [[row.get(name) for name in columns] for row in self.to_list()]
        return pandas.DataFrame(rows, columns=columns, dtype=object)


def _check_suffix(path: str) -> None:
    if not path.endswith((".jsonl", ".ndjson")):
        raise InputError("JSON Lines files end in .jsonl or .ndjson", file=path)


def dataset_of(data: Any, columns: Mapping[str, str] | None = None) -> EvaluationDataset:
    """A dataset of what the user passed: a dataset, samples or dicts, or one of `datasets`.

    Args:
        data: what is given.
        columns: for a sample's field, what its column is called where that is another name.

    Raises:
        InputError: it is none, or a row is no sample.
    """
    if isinstance(data, EvaluationDataset):
        if not columns:  # looked at again: samples may have been added
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
"""By field, the name that its column had before Ragas 0.2."""


def _renamed(row: Mapping[str, Any], columns: Mapping[str, str]) -> dict[str, Any]:
    """A row whose columns have the names of the fields; those of older versions are known.

    Raises:
        InputError: it has no such column.
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
    """A row without what is None in it, in its rubric and in its messages."""
    if isinstance(value, Mapping):
        return {key: _without_none(entry) for key, entry in value.items() if entry is not None}
    return [_without_none(entry) for entry in value] if isinstance(value, list) else value


def _given(row: dict[str, Any]) -> dict[str, Any]:
    """A table's row as plain values, without those that are missing."""
    import pandas

    plain = {
        name: value.tolist() if hasattr(value, "tolist") else value for name, value in row.items()
    }
    return {
        name: value
        for name, value in plain.items()
        if isinstance(value, list | dict) or not pandas.isna(value)
    }
