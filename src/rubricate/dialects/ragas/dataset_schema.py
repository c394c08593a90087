"""`ragas.dataset_schema`: samples of one turn or of several, and datasets of them."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from os import PathLike
from typing import TYPE_CHECKING, Any, ClassVar, overload

from pydantic import Field, field_validator, model_validator

from rubricate._documents import Document, validate
from rubricate.dialects.ragas._files import read_samples, write_csv, write_jsonl
from rubricate.dialects.ragas._rubrics import check_rubrics
from rubricate.dialects.ragas._types import MetricType
from rubricate.dialects.ragas.messages import (
    AIMessage,
    AnyMessage,
    HumanMessage,
    ToolCall,
    ToolMessage,
    pretty_repr,
)
from rubricate.errors import InputError, MissingExtraError

if TYPE_CHECKING:
    import pandas

__all__ = [
    "AIMessage",
    "EvaluationDataset",
    "HumanMessage",
    "MultiTurnSample",
    "Sample",
    "SingleTurnSample",
    "ToolCall",
    "ToolMessage",
]


class _Sample(Document):
    """What samples of both kinds share."""

    metric_type: ClassVar[MetricType]
    """What a metric scores in it."""
    judged: ClassVar[tuple[str, ...]]
    """The fields that a judge is shown."""

    rubrics: dict[str, str] | None = None
    """The sample's own rubric; replaces the metric's for this sample."""

    @field_validator("rubrics", mode="before")
    @classmethod
    def _levels_are_clear(cls, rubrics: Any) -> Any:
        return None if rubrics is None else check_rubrics(rubrics)

    def fields(self) -> dict[str, Any]:
        """The fields that a judge is shown, those that are given."""
        found = {name: getattr(self, name) for name in self.judged}
        return {name: value for name, value in found.items() if value is not None}

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
    response: str | None = None
    """The answer, which is scored."""
    retrieved_contexts: list[str] | None = None
    """What was retrieved to answer with."""
    reference: str | None = None
    """A correct answer."""
    reference_contexts: list[str] | None = None
    """What the reference rests on."""


class MultiTurnSample(_Sample):
    """A conversation."""

    metric_type: ClassVar[MetricType] = MetricType.MULTI_TURN
    judged: ClassVar[tuple[str, ...]] = ("user_input", "reference")

    user_input: list[AnyMessage] = Field(min_length=1)
    """The messages, in their order."""
    reference: str | None = None
    """What the conversation should have led to."""

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
            if not isinstance(sample, SingleTurnSample | MultiTurnSample):
                found = type(sample).__name__
                raise InputError(f"expected a sample, found {found}", path=("samples", index))
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

    @property
    def is_multi_turn(self) -> bool:
        """Whether the samples are conversations."""
        return bool(self.samples) and isinstance(self.samples[0], MultiTurnSample)

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
    def from_jsonl(cls, path: str | PathLike[str]) -> EvaluationDataset:
        """Read a JSON Lines file, a sample a line: a path or an address, also `.gz` and `.zst`.

        Raises:
            InputError: with file, line and field of what is wrong.
        """
        return cls(read_samples(path, ".jsonl", sample_of))

    def to_jsonl(self, path: str | PathLike[str]) -> None:
        """Write a JSON Lines file."""
        write_jsonl(path, self.to_list())

    @classmethod
    def from_csv(cls, path: str | PathLike[str]) -> EvaluationDataset:
        """Read a CSV file whose columns are named as a sample's fields.

        Lists, rubrics and conversations are JSON text in their cells. An empty cell is a field
        that the sample does not have.

        Raises:
            InputError: with file, line and field of what is wrong.
        """
        return cls(read_samples(path, ".csv", sample_of))

    def to_csv(self, path: str | PathLike[str]) -> None:
        """Write a CSV file that `from_csv` reads back to the same samples.

        Raises:
            InputError: a field has what CSV cannot hold (a blank text, a number in a field of
                your own); nothing has been written.
        """
        write_csv(path, self.to_list())

    @classmethod
    def from_pandas(cls, table: pandas.DataFrame) -> EvaluationDataset:
        """Build a dataset from a table with a row for each sample; NaN, NA and None are missing."""
        columns = [str(column) for column in table.columns]
        rows = table.itertuples(index=False, name=None)
        return cls.from_list([_given(dict(zip(columns, row, strict=True))) for row in rows])

    def to_pandas(self) -> pandas.DataFrame:
        """A row for each sample (extra `pandas`)."""
        try:
            import pandas
        except ImportError:
            raise MissingExtraError("to_pandas", "pandas") from None
        columns = self.features()
        rows = [[row.get(name) for name in columns] for row in self.to_list()]
        return pandas.DataFrame(rows, columns=columns, dtype=object)


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
