"""One item to grade."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import KW_ONLY, dataclass, field
from typing import TYPE_CHECKING, Annotated, Any

from pydantic import BeforeValidator, ConfigDict, PlainValidator, WrapValidator
from pydantic.dataclasses import dataclass as checked_dataclass

from rubricate._documents import check_keys, check_writable, with_one_line_errors
from rubricate._spelling import unknown_word
from rubricate.dataset.items._transcript import AnswerList, Transcript
from rubricate.errors import InputError, NamedPart, check_type, errors_within, shown
from rubricate.rubric import (
    BINARY_LABELS,
    CriterionVerdict,
    Rubric,
    Verdict,
    read_tags,
)

if TYPE_CHECKING:
    from rubricate.rubric import Parts, SpokenParts

Annotations = dict[str, dict[str, CriterionVerdict | str | int | float | None]]
"""Each annotator's labels by criterion name; criteria without a label are missing."""


def parse_annotations(annotations: Any, rubric: Rubric | None) -> Annotations:
    """Check labels by annotator and criterion against the rubric, and convert them to text.

    Raises:
        InputError: another form, a criterion outside the rubric, or an invalid label.
    """
    path: tuple[str, ...] = ("annotations",)
    check_type(annotations, Mapping, "labels as {annotator: {criterion: label}}", path)
    parsed: Annotations = {}
    for annotator, labels in annotations.items():
        path = ("annotations", str(annotator))
        if not isinstance(annotator, str) or not annotator:
            raise InputError(f"an annotator's name must be text, found {annotator!r}", path=path)
        check_type(labels, Mapping, "labels as {criterion: label}", path)
        if rubric is None:
            parsed[annotator] = dict(labels)
            continue
        criteria = rubric.by_name
        parsed[annotator] = {}
        for name, label in labels.items():
            if name not in criteria:
                raise InputError(unknown_word("criterion", name, rubric.names), path=path)
            if label is None:
                continue
            try:
                parsed[annotator][name] = criteria[name].label_of(label)
            except InputError as error:
                raise InputError(f"criterion '{name}' {error.message}", path=path) from None
    return parsed


def consensus(annotations: Annotations, rubric: Rubric) -> dict[str, Verdict]:
    """The consensus of annotators by criterion name, aggregated like the votes of a panel.

    The label of the majority; the mean of ordered options, scales and numbers. A criterion with
    tied unordered labels, or without labels, is missing.
    """
    from rubricate.rubric import Aggregation, aggregate  # few datasets have annotators

    together: dict[str, Verdict] = {}
    for criterion in rubric:
        name = criterion.name
        votes = [
            criterion.verdict(label)
            for labels in annotations.values()
            if (label := labels.get(name)) is not None
        ]
        if votes:
            verdict = aggregate(criterion, votes, Aggregation())
            if not verdict.tied:
                together[name] = Verdict(
                    criterion=name, status=verdict.status, label=verdict.label, value=verdict.value
                )
    return together


@dataclass(frozen=True, slots=True)
class ContextDocument:
    """A text that the judge sees together with the submission, and its title, if any.

    Attributes:
        text: the text.
        title: its title; None for none.
    """

    text: str
    title: str | None = None

    def to_json(self) -> str | dict[str, str]:
        """The document as in a file: its text, or an object with its title."""
        return self.text if self.title is None else {"title": self.title, "text": self.text}


def read_context(value: Any) -> list[ContextDocument]:
    """Read documents from a list of texts or `{title, text}`, or from one text.

    Raises:
        InputError: it is something else; the error says which document.
    """
    if value is None:
        return []
    if isinstance(value, str | Mapping | ContextDocument):
        return [_document(value, ())]
    check_type(value, Sequence, "texts or {title, text}")
    return [_document(document, (index,)) for index, document in enumerate(value)]


def _document(value: Any, path: tuple[int, ...]) -> ContextDocument:
    if isinstance(value, ContextDocument):
        return value
    if isinstance(value, str):
        return ContextDocument(value)
    if not isinstance(value, Mapping) or not isinstance(value.get("text"), str):
        raise InputError(f"expected a text, or {{title, text}}, found {shown(value)}", path=path)
    title = value.get("title")
    if value.keys() - {"text", "title"} or not isinstance(title, str | None):
        raise InputError("expected a text, or {title, text} with nothing else", path=path)
    return ContextDocument(value["text"], title)


def _no_flag(label: Any) -> Any:
    if isinstance(label, bool):
        raise ValueError(f"expected a label such as 'MET' or 'UNMET' (a text), found {label}")
    return label


GroundTruth = list[
    Annotated[CriterionVerdict | str | int | float | None, BeforeValidator(_no_flag)]
]
"""One label per criterion: a `CriterionVerdict`, an option's label, a score, or None if
unlabelled."""


def _rubric(value: Any) -> Rubric | None:
    """A rubric, already checked, or its data."""
    return value if isinstance(value, Rubric | None) else Rubric.from_dict(value)


OwnRubric = Annotated[Rubric | None, PlainValidator(_rubric)]


def _selection(value: Any) -> dict[str, Any]:
    from rubricate.dataset.items._selection import read_selection  # few datasets have it

    with errors_within("selection"):
        return read_selection(value)


def _submission(value: Any, checked: Callable[[Any], str]) -> str:
    """Text unchanged; chat messages as a `Transcript`."""
    if isinstance(value, Transcript | AnswerList):
        return value
    return Transcript(value) if isinstance(value, list | tuple) else checked(value)


def _prompt(value: Any, checked: Callable[[Any], str | None]) -> str | None:
    """Text; the text of messages that contain more than text keeps its class."""
    return checked(value) if getattr(value, "unseen", None) is None else value


@with_one_line_errors
@checked_dataclass(config=ConfigDict(strict=True, defer_build=True, extra="forbid"))
class DataItem:
    """A single item to grade, optionally with ground truth.

    Attributes:
        submission: the text to grade; structured data as JSON text. A list of chat messages becomes
            a `Transcript`: their text, with the messages kept.
        description: a short description of the item.
        ground_truth: one label per criterion: a `CriterionVerdict` for a binary criterion, an
            option's label for a multi-choice one, the score for a scale, the value for a metric or
            code, None if unlabelled. Scores become text.
        ground_truth_reasons: the reason for each label of `ground_truth`, in people's words; None
            for a label without a reason. People see them, and so do judges if the item is an
            example.
        rubric: the item's own rubric, used instead of the dataset's.
        reference_submission: an exemplary response; takes precedence over the dataset's.
        annotations: labels of several people, by annotator and criterion name. If `ground_truth`
            has no label, their consensus replaces it: the label of the majority, or the mean of
            ordered answers and numbers.
        adjudications: for labels of `ground_truth` that somebody decided on, by criterion name: the
            `annotator`, the `label` and the `reason`.
        selection: how the item was chosen for each label, a `LabelSelection` by criterion name;
            unknown for labels without an entry.
        id: its identifier. Default: a hash of its content, the same in every process.
        prompt: the prompt that this item answers, if it is not the dataset's.
        context: documents that the submission is based on, such as retrieved passages: texts or
            `{title, text}`, which become `ContextDocument`.
        metadata: any other data.
        unreadable: why its text cannot be read; every verdict on it is then failed.
        unseen: its parts that no text shows, in words (`the prompt has an image`); judges that see
            only text then abstain. None: the parts in its messages.
        extra: unknown keys of its file; written back to the same place.
    """

    submission: Annotated[str, WrapValidator(_submission)]
    description: str = ""
    ground_truth: GroundTruth | None = None
    rubric: OwnRubric = None
    reference_submission: str | None = None
    _: KW_ONLY
    ground_truth_reasons: list[str | None] | None = None
    annotations: Annotations = field(default_factory=dict)
    adjudications: dict[str, dict[str, str]] = field(default_factory=dict)
    selection: Annotated[dict[str, Any], PlainValidator(_selection)] = field(default_factory=dict)
    id: str = ""
    prompt: Annotated[str | None, WrapValidator(_prompt)] = None
    context: Annotated[list[ContextDocument], BeforeValidator(read_context)] = field(
        default_factory=list
    )
    metadata: dict[str, Any] = field(default_factory=dict)
    unreadable: str | None = None
    unseen: str | None = None
    extra: dict[str, Any] = field(default_factory=dict)
    _hash: str = field(default="", repr=False, compare=False)  # `id`, if it is the hash

    def __post_init__(self) -> None:
        if not self.id or self.id == self._hash:  # the latter in `dataclasses.replace`
            self.id = self._hash = self.content_id()
        try:
            check_writable(self.id)
        except InputError as error:
            raise error.within(("id",)) from None
        if self.rubric is not None and self.ground_truth is not None:
            self.ground_truth = parse_ground_truth(self.ground_truth, self.rubric)
        reasons = self.ground_truth_reasons
        if reasons is not None and len(reasons) != len(self.ground_truth or ()):
            raise InputError(
                f"{len(reasons)} reasons for {len(self.ground_truth or ())} labels: one each is "
                "needed, null for none",
                path=("ground_truth_reasons",),
            )

    def content_id(self) -> str:
        """A hash (12 hexadecimal digits) of the judged content: texts and rubric.

        Descriptions, labels and metadata do not change it.
        """
        rubric = None if self.rubric is None else self.rubric.to_dict()
        parts: list[Any] = [self.submission, self.prompt, self.reference_submission, rubric]
        if self.context:
            parts.append([document.to_json() for document in self.context])
        content = json.dumps(parts, sort_keys=True)
        return hashlib.blake2b(content.encode("utf-8", "surrogatepass"), digest_size=6).hexdigest()

    @property
    def parts(self) -> Parts | SpokenParts:
        """The thinking and the output of the submission, for a length penalty."""
        if isinstance(self.submission, Transcript):
            return self.submission.parts
        from rubricate.rubric import split_thinking

        return split_thinking(self.submission)

    def reason(self, index: int) -> str | None:
        """The reason for the label of `ground_truth` at an index; None if there is none."""
        reason = self.ground_truth_reasons[index] if self.ground_truth_reasons else None
        return reason if reason and reason.strip() else None

    @property
    def tags(self) -> tuple[str, ...]:
        """The tags in its file or its metadata (`tags`); none if they have another type."""
        tags = self.metadata.get("tags") or self.extra.get("tags")
        if not tags:
            return ()
        try:
            return (tags,) if isinstance(tags, str) else read_tags(tags)
        except InputError:
            return ()

    def to_dict(self) -> dict[str, Any]:
        """The item as in a file; an id that equals the content hash is omitted."""
        text, unseen = self.submission, self.unseen
        if unseen is None and (parts := getattr(self.prompt, "unseen", "")):
            unseen = f"the prompt has {parts}"  # for a submission, its messages say it
        data = {
            "id": None if self.id == self.content_id() else self.id,
            "prompt": self.prompt,
            "submission": text.to_list() if isinstance(text, Transcript) else text,
            "description": self.description,
            "ground_truth": None if self.ground_truth is None else as_written(self.ground_truth),
            "ground_truth_reasons": self.ground_truth_reasons,
            "annotations": {
                annotator: dict(zip(labels, as_written(labels.values()), strict=True))
                for annotator, labels in self.annotations.items()
            },
            "adjudications": self.adjudications,
            "selection": {name: how.to_dict() for name, how in self.selection.items()},
            "rubric": None if self.rubric is None else self.rubric.to_dict(),
            "reference_submission": self.reference_submission,
            "context": [document.to_json() for document in self.context],
            "metadata": self.metadata,
            "unreadable": self.unreadable,
            "unseen": unseen,
        }
        written = {
            key: value
            for key, value in data.items()
            if key in ALWAYS_WRITTEN or value not in (None, {}, [])
        }
        return {**written, **self.extra}

    @classmethod
    def from_dict(cls, data: Any, global_rubric: Rubric | None = None) -> DataItem:
        """Build an item from loaded JSON or YAML.

        Args:
            data: an object with at least `submission`. A submission that is `{thinking, output}` is
                kept as JSON text; chat messages become a `Transcript`.
            global_rubric: the dataset's rubric, for items without their own.

        Raises:
            InputError: with the path inside the item.
        """
        if not isinstance(data, Mapping):
            raise InputError(f"must be a dict, got {type(data).__name__}")
        check_keys(data, ITEM_FIELDS)
        if data.get("submission") is None:
            raise _no_submission(data)
        values = {key: data[key] for key in ITEM_FIELDS if data.get(key) is not None}
        submission = values["submission"]
        if isinstance(submission, Mapping) and submission.keys() == {"thinking", "output"}:
            values["submission"] = json.dumps(submission, ensure_ascii=False)
        if "rubric" in values:
            try:
                values["rubric"] = Rubric.from_dict(values["rubric"])
            except InputError as error:
                raise error.within(("rubric",)) from None
        rubric = values.get("rubric", global_rubric)
        if "ground_truth" in values:
            values["ground_truth"] = parse_ground_truth(values["ground_truth"], rubric)
        if "annotations" in values:
            values["annotations"] = parse_annotations(values["annotations"], rubric)
        extra = {key: value for key, value in data.items() if key not in ITEM_FIELDS}
        return cls(**values, extra=extra)


ITEM_FIELDS = DataItem.__dataclass_fields__.keys() - {"_hash", "extra"}
"""The fields of an item in a file."""
ALWAYS_WRITTEN = ("submission", "description", "ground_truth")
"""The fields that are written even if they are empty."""


def _no_submission(data: Mapping[str, Any]) -> InputError:
    """The error for an item without a text to grade, with the field that may contain it."""
    others = ", ".join(repr(str(key)) for key in data)
    texts = [key for key in data.keys() - ITEM_FIELDS if isinstance(data[key], str)]
    advice = (
        f"rename '{texts[0]}' to 'submission' (or, if each record has it, --map "
        f"submission={texts[0]}; in Python, map=)"
        if len(texts) == 1
        else "name the one that has the texts (--map submission=FIELD; in Python, map=); two "
        "answers in each record are for rubricate compare-pair"
    )
    return InputError(
        f"missing required field: 'submission'; there are {others or 'none'}: {advice}",
        path=(NamedPart(f"item '{data['id']}'"),) if data.get("id") else (),
    )


def as_written(labels: Iterable[object]) -> list[str | None]:
    """Labels as they are written: texts, also of an enumeration; None for a missing one."""
    return [None if label is None else str(getattr(label, "value", label)) for label in labels]


def checked_labels(item: DataItem, rubric: Rubric | None) -> tuple[GroundTruth | None, Annotations]:
    """Check the labels of an item against its rubric: the ground truth, and the annotations.

    Raises:
        InputError: they do not match the rubric.
    """
    truth, annotations = item.ground_truth, item.annotations
    return (
        None if truth is None else parse_ground_truth(truth, rubric),
        parse_annotations(annotations, rubric) if annotations else annotations,
    )


def parse_ground_truth(labels: Any, rubric: Rubric | None) -> GroundTruth:
    """Check labels against their rubric; binary ones become `CriterionVerdict`.

    Raises:
        InputError: their number differs from the rubric's, or a label is invalid.
    """
    if not isinstance(labels, Sequence) or isinstance(labels, str):
        raise InputError(
            "expected a list with one label per criterion, in the order of the rubric, found "
            f"{shown(labels)}",
            path=("ground_truth",),
        )
    if rubric is None:
        return list(labels)
    criteria = rubric.criteria
    if len(labels) != len(criteria):
        raise InputError(
            f"Ground truth has {len(labels)} values, but rubric has {len(criteria)} criteria "
            f"({', '.join(rubric.names)}): one for each, in this order; None (null) for no label",
            path=("ground_truth",),
        )
    parsed: GroundTruth = []
    for index, (criterion, label) in enumerate(zip(criteria, labels, strict=True)):
        if label is None:
            parsed.append(None)
            continue
        allowed = criterion.labels
        text = label
        if not isinstance(label, str) or label not in allowed:
            try:
                text = criterion.label_of(label)
            except InputError as error:
                raise InputError(
                    f"criterion '{criterion.name}' {error.message}", path=("ground_truth", index)
                ) from None
        parsed.append(CriterionVerdict(text) if allowed == BINARY_LABELS else str(text))
    return parsed
