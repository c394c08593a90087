"""A dataset: a prompt, a rubric, and items with or without human labels."""

from __future__ import annotations

import json
import random
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import KW_ONLY, field, replace
from operator import attrgetter
from pathlib import Path
from typing import TYPE_CHECKING, Any

from pydantic import ConfigDict
from pydantic.dataclasses import dataclass

from rubricate._documents import (
    YAML_SUFFIXES,
    check_keys,
    format_yaml,
    parse_json,
    parse_json_lines,
    read_document,
    read_text,
    validate,
    with_line,
    with_one_line_errors,
)
from rubricate._files import user_path, write_text
from rubricate._spelling import NamesAdvised, OtherName
from rubricate.dataset.items._data_item import (
    ITEM_FIELDS,
    DataItem,
    GroundTruth,
    OwnRubric,
    as_written,
    checked_labels,
    consensus,
)
from rubricate.dataset.items._item import Item, ItemIds, Survey, survey_of
from rubricate.errors import InputError
from rubricate.rubric import (
    ABSTENTION,
    CriterionVerdict,
    DeclaredScoring,
    Rubric,
    ScoringRules,
    Verdict,
    score_with_groups,
)
from rubricate.settings import errors_at_call

if TYPE_CHECKING:
    from rubricate.dataset.items._mapping import TargetUse
    from rubricate.dataset.samples import Sample
    from rubricate.views import Section

SHOWN = 10
"""The maximum number of items that a notebook shows."""
FEW = 10_000
"""The maximum number of items that are read once for a run and kept in the form that a judge sees:
200 bytes each, 2 MB together. More items are read a second time, one after the other."""


@with_one_line_errors
@dataclass(config=ConfigDict(strict=True, defer_build=True, extra="forbid"))
class RubricDataset(NamesAdvised):
    """A collection of items tied to a prompt and a rubric.

    For example:

        dataset = RubricDataset("How fast is light?", ["Says that light is fast."])
        dataset.add_item("Very fast.", ground_truth=["MET"])

    Attributes:
        prompt: the prompt that the items answer; None if each item has its own prompt.
        rubric: the rubric of all items without their own.
        items: the items to grade.
        name: the dataset's name.
        reference_submission: an exemplary response for items without their own.
        metadata: any other data.
        scoring: how scores are computed, if not as usual and not in the rubric.
        extra: unknown keys of its file; written back to the same place.

    Raises:
        ValueError: an item's labels do not match its rubric.
    """

    prompt: str | None = None
    rubric: OwnRubric = None
    items: list[DataItem] = field(default_factory=list)
    name: str | None = None
    reference_submission: str | None = None
    _: KW_ONLY
    metadata: dict[str, Any] = field(default_factory=dict)
    scoring: DeclaredScoring | None = None
    extra: dict[str, Any] = field(default_factory=dict)
    skipped = ()  # a table may have left out rows
    if not TYPE_CHECKING:
        load = OtherName("RubricDataset.from_file")
        from_csv = OtherName("rubricate.read_table")
        from_pandas = OtherName("rubricate.grade(frame, rubric=..., map=...)")

    def __post_init__(self) -> None:
        for index, item in enumerate(self.items):
            self._check_labels(item, ("items", index))

    def _check_labels(self, item: DataItem, path: Sequence[str | int]) -> None:
        rubric = item.rubric if item.rubric is not None else self.rubric
        try:
            item.ground_truth, item.annotations = checked_labels(item, rubric)
        except InputError as error:
            raise error.within(path) from None

    def __len__(self) -> int:
        return len(self.items)

    def __iter__(self) -> Iterator[DataItem]:
        return iter(self.items)

    def __getitem__(self, index: int) -> DataItem:
        return self.items[index]

    # The rubric

    def _global_rubric(self) -> Rubric:
        if self.rubric is None:
            raise InputError("the dataset has no global rubric; its items have their own")
        return self.rubric

    @property
    def criterion_names(self) -> list[str]:
        """The names of the global rubric's criteria. Raises ValueError without one."""
        return self._global_rubric().names

    @property
    def num_criteria(self) -> int:
        """The number of criteria in the global rubric. Raises ValueError without one."""
        return len(self._global_rubric())

    @property
    def total_positive_weight(self) -> float:
        """The sum of the global rubric's positive weights. Raises ValueError without one."""
        return self._global_rubric().total_positive_weight

    def get_item_rubric(self, idx: int) -> Rubric:
        """Return the rubric of item `idx`: its own, else the global one.

        Raises:
            InputError (ValueError): there is neither.
        """
        rubric = self.items[idx].rubric
        rubric = self.rubric if rubric is None else rubric
        if rubric is None:
            raise InputError(f"Item {idx} has no rubric and dataset has no global rubric")
        return rubric

    def get_item_reference_submission(self, idx: int) -> str | None:
        """Return the reference of item `idx`: its own, else the global one, else None."""
        reference = self.items[idx].reference_submission
        return self.reference_submission if reference is None else reference

    def get_item_prompt(self, idx: int) -> str:
        """Return the prompt of item `idx`: its own, else the dataset's.

        Raises:
            InputError (ValueError): there is neither.
        """
        prompt = self.items[idx].prompt
        prompt = self.prompt if prompt is None else prompt
        if prompt is None:
            raise InputError(f"Item {idx} has no prompt and dataset has no global prompt")
        return prompt

    def get_item_labels(self, idx: int) -> list[str | None]:
        """Return the human labels of item `idx`, one per criterion, None if unlabelled.

        They are its `ground_truth`, and for missing labels the consensus of its annotators.
        """
        item, rubric = self.items[idx], self.get_item_rubric(idx)
        together = consensus(item.annotations, rubric) if item.annotations else {}
        own = as_written(item.ground_truth or [None] * len(rubric))
        return [
            label if label is not None else together[name].label if name in together else None
            for name, label in zip(rubric.names, own, strict=False)
        ]

    def item_ids(self) -> list[str]:
        """One identifier per item, in order, all different.

        Items with the same content and no identifier of their own get the suffix `-2`, `-3`, …
        after the hash.

        Raises:
            InputError: two items have the same explicit identifier.
        """
        own_ids = list(map(attrgetter("id"), self.items))
        if len(set(own_ids)) == len(own_ids):
            return own_ids
        names = [(item.id, item.id == item.content_id()) for item in self.items]
        ids = ItemIds()
        for name in own_ids:
            ids.add(name)
        ids.settle(lambda: names)
        return list(map(ids.assigner(), *zip(*names, strict=True)))

    # For a run

    def survey(self, limit: int | None = None) -> Survey:
        """Count all items, or the first `limit`, and check that they can be graded.

        Raises:
            InputError: an item has no rubric, labels do not match, or two items share an id.
        """
        if len(self.items) > FEW:
            return survey_of(self.to_grade(limit), self.scoring)
        read = [*self.to_grade(limit)]
        return survey_of(read, self.scoring, read=read)

    def to_grade(self, limit: int | None = None) -> Iterator[Item]:
        """Iterate over the items, or the first `limit`, each with its rubric, prompt and
        reference."""
        ids = self.item_ids()
        for index, (item, name) in enumerate(zip(self.items[:limit], ids, strict=False)):
            prompt = self.prompt if item.prompt is None else item.prompt
            reference = item.reference_submission
            rubric = self.rubric if item.rubric is None else item.rubric
            yield Item.of(
                item,
                self.get_item_rubric(index) if rubric is None else rubric,
                id=name,
                prompt=self.get_item_prompt(index) if prompt is None else prompt,
                reference=self.reference_submission if reference is None else reference,
            )

    # In a notebook

    def _repr_html_(self) -> str:
        from rubricate.views import as_html

        own = "" if self.rubric is None else self.rubric._repr_html_()
        return as_html(self._sections()) + own

    def _sections(self) -> Iterator[Section]:
        """Its first items in a table."""
        from rubricate.views import Column, Row, Table, opening, say

        name = f"Dataset {self.name}" if self.name else "Dataset"
        labelled = sum(any(self.get_item_labels(index)) for index in range(len(self)))
        if self.prompt:
            yield say(opening(self.prompt, 300), "quiet")
        yield Table(
            [Column(name, is_text=True) for name in ("item", "description", "submission")],
            [
                Row([item.id, item.description, opening(item.submission)])
                for item in self.items[:SHOWN]
            ],
            f"{name}: {len(self.items)} items, {labelled} of them labelled",
        )
        if len(self.items) > SHOWN:
            yield say(f"and {len(self.items) - SHOWN} more items")
        if any(item.rubric is not None for item in self.items):
            yield say("Items have rubrics of their own.")

    # Items and scores

    @errors_at_call
    def add_item(
        self,
        submission: str,
        description: str = "",
        ground_truth: GroundTruth | None = None,
        rubric: Rubric | None = None,
        reference_submission: str | None = None,
        **fields: Any,
    ) -> None:
        """Add an item; the arguments are those of `DataItem`, the other ones by name.

        Raises:
            InputError (ValueError): there is no rubric or prompt for it, or the labels do not match
                the rubric. The dataset is then unchanged.
        """
        item = DataItem(
            submission, description, ground_truth, rubric, reference_submission, **fields
        )
        if item.rubric is None and self.rubric is None:
            raise InputError(
                "Cannot add item: no per-item rubric provided and no global rubric set"
            )
        if item.prompt is None and self.prompt is None:
            raise InputError(
                "Cannot add item: no per-item prompt provided and no global prompt set"
            )
        self._check_labels(item, ("items", len(self.items)))
        self.items.append(item)

    def compute_weighted_score(
        self,
        verdicts: Sequence[CriterionVerdict | str | None],
        normalize: bool = True,
        rubric: Rubric | None = None,
    ) -> float:
        """Return the score of one item's labels, such as its ground truth.

        Args:
            verdicts: one label per criterion, None if there is none.
            normalize: True for the score in [0, 1]; False for the raw weighted sum.
            rubric: the rubric of the labels. Default: the global one.

        Returns:
            The score. CANNOT_ASSESS, N/A options and missing labels are left out; 0.0 if no
            positive weight remains.

        Raises:
            InputError (ValueError): a label is invalid for its criterion, the counts differ, or
                there is no rubric.
        """
        rubric = self.rubric if rubric is None else rubric
        if rubric is None:
            raise InputError("Cannot compute score: no rubric provided and no global rubric set")
        if len(verdicts) != len(rubric):
            raise InputError(f"{len(verdicts)} verdicts for a rubric of {len(rubric)} criteria")
        judged: list[Verdict] = []
        for index, (criterion, label) in enumerate(zip(rubric, verdicts, strict=True)):
            is_verdict = isinstance(label, CriterionVerdict)
            if criterion.is_multi_choice and is_verdict and label != ABSTENTION:
                raise InputError(
                    f"Criterion {index} is multi-choice but got CriterionVerdict; "
                    "expected option label string"
                )
            try:
                judged.append(criterion.verdict(ABSTENTION if label is None else label))
            except InputError as error:
                raise InputError(f"Criterion {index} {error}") from None
        if rubric.gates is not None:
            judged = [
                *rubric.gates.applied(
                    {verdict.criterion: verdict for verdict in judged}, rubric.scoring
                ).values()
            ]
        total, groups = score_with_groups(
            rubric.tree, judged, ScoringRules(declared=rubric.scoring)
        )
        if not normalize:
            return total.raw
        values = {verdict.criterion: verdict.value for verdict in judged}
        values |= {name: score.value for name, score in groups.items()}
        counted = (node for node in rubric.tree if values[node.name] is not None)
        return total.value or 0.0 if any(node.weight > 0 for node in counted) else 0.0

    # Files

    def to_dict(self) -> dict[str, Any]:
        """The dataset as in a file."""
        data = {
            "name": self.name,
            "prompt": self.prompt,
            "rubric": None if self.rubric is None else self.rubric.to_dict(),
            "reference_submission": self.reference_submission,
            "metadata": self.metadata or None,
            "scoring": None if self.scoring is None else self.scoring.to_dict(),
            "items": [item.to_dict() for item in self.items],
        }
        always = ("prompt", "rubric")
        written = {key: data[key] for key in data if key in always or data[key] is not None}
        return {**written, **self.extra}

    def to_json(self, indent: int | None = 2) -> str:
        """The dataset as JSON text; `indent` None for one compact line."""
        return json.dumps(self.to_dict(), indent=indent)

    def to_file(self, path: str | Path) -> None:
        """Write the dataset: YAML for .yaml and .yml, JSON Lines for .jsonl, else JSON.

        In JSON Lines the first line has the dataset's own fields, every other line an item. An
        existing file is replaced once the new one is complete on disk.

        Args:
            path: the file; its suffix decides the format.

        Raises:
            InputError (ValueError): it cannot be written.
        """
        path = user_path(path)
        write_text(path, document_text(path, self.to_dict()), durable=True)

    @classmethod
    @errors_at_call
    def from_dict(cls, data: Any, *, rubric: Rubric | None = None) -> RubricDataset:
        """Build a dataset from loaded JSON or YAML.

        Args:
            data: an object with `prompt` and `rubric` (either may be null if each item has its own)
                and `items`.
            rubric: a rubric that replaces the dataset's own; `rubric` may then be missing.

        Raises:
            InputError (ValueError): with the path inside the document.
        """
        return cls(**arguments_from(data, rubric))

    @classmethod
    @errors_at_call
    def from_json(cls, json_string: str) -> RubricDataset:
        """Build a dataset from JSON text; see `from_dict`.

        Args:
            json_string: the text of a dataset file.

        Raises:
            InputError: it is not JSON, or as for `from_dict`.
        """
        return cls.from_dict(parse_json(json_string))

    @classmethod
    @errors_at_call
    def from_file(cls, path: str | Path, *, rubric: Rubric | None = None) -> RubricDataset:
        """Load a dataset written by `to_file`; the suffix decides the format.

        Args:
            path: the file.
            rubric: a rubric that replaces the file's own.

        Raises:
            FileNotFoundError: there is no such file.
            ValueError: it is not a dataset; the message says where and why.
        """
        document, lines = read_whole(path)
        try:
            return cls(**arguments_from(document, rubric))
        except InputError as error:
            raise at_line(error, path, lines) from None

    @classmethod
    def from_samples(
        cls,
        dataset: Iterable[Sample],
        *,
        rubric: Rubric,
        prompt: str = "",
        submission: str | Callable[[Sample], str] = "submission",
        target: TargetUse = "reference",
        labels: Mapping[str, str] | None = None,
        context: str | None = None,
        name: str | None = None,
    ) -> RubricDataset:
        """Create a dataset from answered samples.

        A sample's input becomes the item's prompt; id and metadata are kept.

        Args:
            dataset: the samples, for example from a reader.
            rubric: the rubric.
            prompt: the prompt of all items; an item's own prompt takes precedence.
            submission: the key of a sample's metadata for the text to grade, or a function from the
                sample to that text.
            target: the use of a sample's target: an exemplary response (`reference`), the labels
                (`ground_truth`: one for each criterion), or none (`ignore`).
            labels: for criteria by name, the key of the metadata for the human label: a label, or
                yes/no, true/false, 1/0 for a binary criterion.
            context: the key of the metadata for the documents that the submission is based on:
                texts, or `{title, text}`.
            name: the dataset's name. Default: the name of `dataset`.

        Raises:
            InputError (ValueError): two samples share an id, a sample has no submission, or a label
                is invalid for its criterion; the error names the sample.
        """
        from rubricate.dataset.items._mapping import items_of

        items = items_of(
            dataset,
            rubric,
            submission=submission,
            target=target,
            labels=labels or {},
            context=context,
        )
        made = cls(prompt, rubric, items, name or getattr(dataset, "name", None))
        made.item_ids()
        return made

    # Splitting

    def split_train_test(
        self, n_train: int, *, stratify: bool = True, seed: int | None = None
    ) -> tuple[RubricDataset, RubricDataset]:
        """Split at random into a training and a test set, which share the item objects.

        Args:
            n_train: the exact number of items in the training set.
            stratify: balance the labels of all criteria over both parts; every item keeps the
                same chance of each part. Needs labels on every item.
            seed: the random seed, for a reproducible split.

        Returns:
            (training set, test set).

        Raises:
            InputError (ValueError): `n_train` is invalid for the dataset, or labels are missing.
        """
        if n_train < 0:
            raise InputError(f"n_train must be non-negative, got {n_train}")
        if n_train > len(self.items):
            raise InputError(f"n_train ({n_train}) exceeds dataset size ({len(self.items)})")
        from rubricate.dataset.items._splitting import labels_by_criterion, stratified_split

        generator = random.Random(seed)
        if stratify:
            all_items = range(len(self))
            labels = labels_by_criterion(
                (self.get_item_rubric(index), self.get_item_labels(index)) for index in all_items
            )
            train, test = stratified_split(labels, n_train, generator)
        else:
            order = list(range(len(self.items)))
            generator.shuffle(order)
            train, test = order[:n_train], order[n_train:]
        return self._part(train), self._part(test)

    def _part(self, indices: Sequence[int]) -> RubricDataset:
        return replace(self, items=[self.items[index] for index in indices])


LINES_SUFFIX = ".jsonl"
KNOWN_BY = frozenset({"prompt", "rubric", "items"})
"""The fields of which a dataset has at least one."""
FIELDS = ("prompt", "rubric", "items", "name", "reference_submission", "metadata", "scoring")
OF_ITEMS = ITEM_FIELDS - {*FIELDS, "id", "description"}
"""The fields of items that mean nothing beside them."""


def arguments_from(data: Any, rubric: Rubric | None) -> dict[str, Any]:
    """Return the constructor's arguments from loaded JSON or YAML; labels are not checked yet.

    Args:
        data: an object with `prompt` and `rubric` (either may be null if each item has its own) and
            `items`.
        rubric: a rubric that replaces the document's own; `rubric` may then be missing.

    Raises:
        InputError: with the path inside the document.
    """
    if not isinstance(data, Mapping):
        raise _no_object(data)
    if "rubrics" in data and "rubric" not in data:
        raise InputError(
            "found 'rubrics': a dataset has one 'rubric'; tasks of ResearchRubrics are graded by "
            "rubricate researchrubrics FOLDER --tasks FILE"
        )
    check_keys(data, FIELDS)
    if not KNOWN_BY & {*data} or OF_ITEMS & {*data}:
        raise _no_dataset(data)
    if "rubric" not in data and rubric is None:
        raise InputError("Missing required field: 'rubric'; add it, or give --rubric (rubric=)")
    if rubric is None and data["rubric"] is not None:
        try:
            rubric = Rubric.from_dict(data["rubric"])
        except InputError as error:
            raise error.within(("rubric",)) from None
    scoring = data.get("scoring")
    if scoring is not None:
        scoring = validate(DeclaredScoring, scoring, ("scoring",))
    raw_items = data.get("items", [])
    if not isinstance(raw_items, Sequence) or isinstance(raw_items, str):
        raise InputError("expected a list of items", path=("items",))
    items: list[DataItem] = []
    for index, raw in enumerate(raw_items):
        try:
            items.append(DataItem.from_dict(raw))
            if items[-1].rubric is None and rubric is None:
                raise InputError(
                    "the item has no rubric and dataset has no global rubric; give --rubric "
                    "(rubric=)"
                )
            if items[-1].prompt is None and data.get("prompt") is None:
                raise InputError("Missing required field: 'prompt', of the item or of the dataset")
        except InputError as error:
            raise error.within(("items", index)) from None
    arguments = {key: data[key] for key in FIELDS if data.get(key) is not None}
    extra = {key: value for key, value in data.items() if key not in FIELDS}
    return {**arguments, "rubric": rubric, "scoring": scoring, "items": items, "extra": extra}


def _no_object(data: object) -> InputError:
    """The error for a document that is not an object."""
    advice = ""
    if isinstance(data, list):
        advice = "; save records as JSON Lines, and give a rubric by --rubric (rubric=)"
    return InputError(f"Expected JSON object, got {type(data).__name__}{advice}")


def _no_dataset(data: Mapping[str, Any]) -> InputError:
    """The error for an object with fields of an item, or without any field of a dataset, with its
    fields and the expected ones."""
    if KNOWN_BY & {*data}:
        return InputError(
            "belongs to an item, not to the dataset: move it into its item (in YAML, indent it)",
            path=[key for key in data if key in OF_ITEMS][:1],
        )
    keys = ", ".join(repr(str(key)[:40]) for key in [*data][:6])
    more = ", ..." if len(data) > 6 else ""
    advice = ""
    if "criteria" in data or "sections" in data:
        advice = "; this looks like a rubric: name the texts to grade, and give it with --rubric"
    elif "@context" in data:
        advice = "; this looks like a file of Karenina: rubricate.dialects.karenina.Benchmark.load"
    elif lists := [key for key, value in data.items() if isinstance(value, list) and value]:
        advice = f"; if {lists[0]!r} has the records to grade, save that list as a file"
    return InputError(
        f"is no dataset: it has {keys or 'no fields'}{more} (missing required field: 'prompt'). A "
        'dataset looks like {"prompt": "...", "rubric": [...], "items": [{"submission": "..."}]}'
        + advice
    )


def read_whole(path: str | Path) -> tuple[dict[str, Any], list[int]]:
    """Read a dataset's file as one unchecked object with `items`.

    Returns:
        The object, and for JSON Lines the line of the dataset's own fields, then of each item.

    Raises:
        InputError: the file cannot be read, or contains no object; with the line.
    """
    path = user_path(path)
    if path.suffix.lower() in (".csv", ".parquet") and path.exists():
        raise InputError(
            "a table is not a dataset file (.json, .yaml or .jsonl): rubricate label makes one of "
            "it (in Python, csv_dataset or parquet_dataset, and RubricDataset.from_samples)",
            file=path,
        )
    lines: list[int] = []
    if path.suffix.lower() == LINES_SUFFIX:
        (head, document), *rest = parse_json_lines(read_text(path), file=path)
        if isinstance(document, dict) and KNOWN_BY & {*document}:
            own = document.get("items", [])
            document = {**document, "items": [*own, *(item for _, item in rest)]}
            lines = [*[head] * (1 + len(own)), *(line for line, _ in rest)]
    else:
        document = read_document(path)
    if not isinstance(document, dict):
        raise _no_object(document).within(file=path)
    return document, lines


def at_line(error: InputError, path: str | Path, lines: Sequence[int]) -> InputError:
    """Return an error with its file; for JSON Lines with the line instead of the item's index."""
    if not lines:
        return with_line(error, path)
    if error.path[:1] == ("items",) and isinstance(index := error.path[1], int):
        return InputError(error.message, file=path, path=error.path[2:], line=lines[index + 1])
    return error.within(file=path, line=lines[0])


def document_text(path: str | Path, document: Mapping[str, Any], before: str = "") -> str:
    """A dataset as text: YAML for .yaml and .yml, JSON Lines for .jsonl, else JSON.

    `before` is the current text of the file: non-ASCII letters keep its form, and so does a JSON
    document on one line.
    """
    path, ascii_only = user_path(path), before.isascii()
    if path.suffix.lower() in YAML_SUFFIXES:
        return format_yaml(dict(document))
    if path.suffix.lower() == LINES_SUFFIX:
        head = {key: value for key, value in document.items() if key != "items"}
        lines = (head, *document["items"])
        return "".join(json.dumps(line, ensure_ascii=ascii_only) + "\n" for line in lines)
    indent = None if before and "\n" not in before.strip() else 2
    end = "\n" if before.endswith("\n") else ""
    return json.dumps(document, indent=indent, ensure_ascii=ascii_only) + end
