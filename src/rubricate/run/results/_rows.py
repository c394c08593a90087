"""The files of a run: `results.jsonl`, one line for each verdict, and `items.jsonl`, the texts.

`ResultRow` declares a line of `results.jsonl` once: lines are written from it and read into it, and
a finished run consists of such rows. The JSON Schema, tables, exports, `show` and the report page
derive their keys, columns and facts from its fields.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, fields, replace
from pathlib import Path
from typing import Any, TypeVar

import orjson
from pydantic import TypeAdapter, ValidationError

from rubricate.errors import InputError
from rubricate.rubric import (
    ABSTENTION,
    Evidence,
    Paraphrase,
    Rubric,
    Score,
    ScoringRules,
    Status,
    Verdict,
    confidence,
)
from rubricate.run.journal import to_json
from rubricate.run.results._results import STRICT, ItemFacts, ItemResult, ItemTexts
from rubricate.views import figure

WRITE_ANEW = "run the same grade command again, which restores them from the journal"
SHOWN = {"shown": True}
"""Metadata of a field that `show` and the report page list among the facts of a verdict."""


@dataclass(frozen=True, slots=True)
class GroupRow:
    """The score of a group in a tree; `human` is the score by human labels."""

    value: float | None
    lowest: float | None
    highest: float | None
    coverage: float
    human: float | None


@dataclass(frozen=True, slots=True, kw_only=True)
class Vote(Verdict):
    """A judge's vote. Its criterion is that of its row."""

    criterion: str = ""
    evidence: tuple[Evidence | Paraphrase, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class ResultRow(Verdict, ItemFacts):
    """A line of `results.jsonl`: a verdict, its human label, and the scores of its item.

    To add a column, declare a field here and set its value in `_of_verdicts`. With
    `field(metadata=SHOWN)`, `show` and the report page list it among the facts of the verdict.
    """

    __pydantic_config__ = STRICT

    evidence: tuple[Evidence | Paraphrase, ...] = ()
    votes: tuple[Vote, ...] = ()
    item: str
    """The item's identifier."""
    weight: float
    """The criterion's weight."""
    human_label: str | None
    """The human label; None if there is none."""
    human_value: float | None
    """The value of the human label, in [0, 1]."""
    human_reason: str | None = None
    """The reason for the human label, if given."""
    human_selection: Mapping[str, Any] | None = None
    """How the item was chosen for labelling: `how`, `probability`, and whether the label was
    `adjudicated`. None if that was not recorded; see `dataset.LabelSelection`."""
    annotations: Mapping[str, str] = field(default_factory=dict)
    """The labels of several annotators, by name."""
    keys: tuple[str, ...] | None = None
    """The journal's keys of the answers behind the verdict, one for each vote."""
    groups: Mapping[str, GroupRow] = field(default_factory=dict)
    """The scores of the groups of a tree; only in the first line of an item."""
    item_score: Score
    """The score of the whole item."""
    human_score: float | None = None
    """The item's score by human labels, if every criterion has one."""

    @property
    def answer_text(self) -> str:
        """The label, or the status of a verdict without one."""
        return self.label or self.status

    @property
    def human(self) -> Verdict | None:
        """The human label as a verdict."""
        if self.human_label is None:
            return None
        status: Status = "judged"
        if self.human_value is None:
            status = "abstained" if self.human_label == ABSTENTION else "not_applicable"
        return Verdict(self.criterion, status, self.human_label, self.human_value)

    @property
    def confidence(self) -> float | None:
        """The confidence of the verdict; see `rubric.confidence`."""
        return confidence(self)

    @property
    def probability_met(self) -> float | None:
        """The judge's probability of MET against UNMET; None if it gave none."""
        shares = (self.detail or {}).get("probabilities")
        if shares is None and self.probability is not None:
            other = {"MET": "UNMET", "UNMET": "MET"}.get(self.label or "", "")
            shares = {self.label: self.probability, other: 1.0 - self.probability}
        if shares is None or not {"MET", "UNMET"} <= set(shares):
            return None
        both = shares["MET"] + shares["UNMET"]
        return shares["MET"] / both if both else None

    def facts(self) -> Iterator[str]:
        """Facts about the verdict besides label and reason, in a few words each."""
        if self.value not in (None, 0.0, 1.0):
            yield f"value {figure(self.value)}"
        if self.confidence is not None:
            yield f"confidence {figure(self.confidence)}"
        if self.tied:
            yield "votes tied"
        for column in fields(self):
            if column.metadata.get("shown") and (value := getattr(self, column.name)) is not None:
                yield f"{column.name.replace('_', ' ')} {value}"

    def to_dict(self) -> dict[str, Any]:
        """The row as JSON values, as in its line."""
        values = {name: getattr(self, name) for name in ROW_FIELDS}
        for name in _IN_FIRST_LINE:
            if not values[name]:
                del values[name]
        line: dict[str, Any] = orjson.loads(_line(b"{", values, b"}"))
        return line


_FIRST = (
    *("item", "description", "criterion", "weight", "status", "label", "value"),
    *("human_label", "human_value", "human_reason", "human_selection"),
)
_NAMES = dict.fromkeys((*_FIRST, *ResultRow.__dataclass_fields__))
del _NAMES["answer"]  # only the journal keeps it
ROW_FIELDS = tuple(_NAMES)
"""The fields of a row: first those that identify the verdict, then all others as declared."""
ITEM_FIELDS = ("item_score", "human_score", "judge_scores", "warnings", "metadata")
"""Fields at the end of every line of an item, which are serialised once."""
_OFTEN_ALIKE = (
    *("item", "description", "weight", "value", "human_value", "annotations", "groups"),
    *("tag_scores", *ITEM_FIELDS),
)
"""Fields whose values rows share in memory if they are equal."""
_IN_FIRST_LINE = ("groups", "tags", "tag_scores")
_SELDOM = ("human_reason", "human_selection", *_IN_FIRST_LINE)
"""Fields that are left out of a line if they are empty."""


def rows_of(item: ItemResult) -> Iterator[ResultRow]:
    """The rows of an item, one for each criterion."""
    of_item = _of_item(item)
    return (ResultRow(**of_item, **values) for values in _of_verdicts(item))


def result_of(
    rows: Sequence[ResultRow],
    rubric: Rubric,
    rules: ScoringRules,
    index: int,
    prompt: str | None = None,
) -> ItemResult:
    """The item behind these rows, as far as scores and agreement need it."""
    first = rows[0]
    result = ItemResult.of_verdicts(
        first.item,
        rubric,
        {row.criterion: row for row in rows},
        rules,
        index=index,
        metadata=first.metadata,
        tags=first.tags,
    )
    return replace(
        result,
        score=first.item_score,
        labels={row.criterion: human for row in rows if (human := row.human) is not None},
        human_score=_human(first.human_score),
        human_groups={
            name: score
            for name, group in first.groups.items()
            if (score := _human(group.human)) is not None
        },
        judge_scores=dict(first.judge_scores),
        prompt=prompt,
    )


def _human(value: float | None) -> Score | None:
    return None if value is None else Score(value, value, value, 0.0, 1.0)


def result_lines(item: ItemResult) -> Iterator[bytes]:
    """The lines of an item as bytes, without line ends; the same as `rows_of`."""
    of_item = _of_item(item)
    head, tail = _ends(of_item)
    return (_line(head, values, tail) for values in _of_verdicts(item))


def _of_item(item: ItemResult) -> dict[str, Any]:
    return {
        "item": item.id,
        "description": item.description,
        "item_score": item.score,
        "human_score": None if item.human_score is None else item.human_score.value,
        "judge_scores": item.judge_scores,
        "warnings": item.warnings,
        "metadata": item.metadata,
    }


def _of_verdicts(item: ItemResult) -> Iterator[dict[str, Any]]:
    """The values that differ between the rows of an item, in the order of the line.

    The scores of groups and tags, of which there can be hundreds, are only in the first one.
    """
    first: dict[str, Any] = {}
    if item.groups or item.tags or item.tag_scores:
        first = {"groups": _groups(item), "tags": item.tags, "tag_scores": item.tag_scores}
        first = {name: value for name, value in first.items() if value}
    for criterion in item.rubric:
        name = criterion.name
        verdict, label = item.criteria[name], item.labels.get(name)
        yield {
            "criterion": name,
            "weight": criterion.weight,
            "status": verdict.status,
            "label": verdict.label,
            "value": verdict.value,
            "human_label": None if label is None else label.label,
            "human_value": None if label is None else label.value,
            "human_reason": None if label is None else label.reason,
            "human_selection": None if label is None else _selection(item, name),
            "probability": verdict.probability,
            "reason": verdict.reason,
            "evidence": verdict.evidence,
            "usage": verdict.usage,
            "error": verdict.error,
            "judge": verdict.judge,
            "order": verdict.order,
            "detail": verdict.detail,
            "resumed": verdict.resumed,
            "votes": verdict.votes,
            "tied": verdict.tied,
            "stage": verdict.stage,
            "annotations": _annotations(item, name) if item.annotations else {},
            "keys": tuple(item.keys.get(name, ())),
            **first,
        }
        first = {}


def _selection(item: ItemResult, name: str) -> dict[str, Any] | None:
    if item.item is None or (selection := item.item.data.selection.get(name)) is None:
        return None
    record: dict[str, Any] = selection.to_dict()
    return record | ({"adjudicated": True} if name in item.item.data.adjudications else {})


def _annotations(item: ItemResult, name: str) -> dict[str, str]:
    annotations = item.annotations.items()
    return {annotator: labels[name] for annotator, labels in annotations if name in labels}


def _groups(item: ItemResult) -> dict[str, GroupRow]:
    human = item.human_groups
    return {
        name: GroupRow(
            score.value,
            score.lowest,
            score.highest,
            score.coverage,
            human[name].value if human else None,
        )
        for name, score in item.groups.items()
    }


def _ends(values: Mapping[str, Any]) -> tuple[bytes, bytes]:
    """The start and the end of all lines of an item."""
    head = to_json({"item": values["item"], "description": values["description"]})
    tail = to_json({name: values[name] for name in ITEM_FIELDS})
    return head[:-1] + b",", b"," + tail[1:]


def _line(head: bytes, values: dict[str, Any], tail: bytes) -> bytes:
    for name in ("human_reason", "human_selection"):
        if not values[name]:
            del values[name]
    # orjson is ten times slower for a dataclass than for a dictionary
    values["usage"] = values["usage"].to_dict()
    if values["votes"]:
        values["votes"] = [_vote(vote) for vote in values["votes"]]
    return b"".join((head, to_json(values)[1:-1], tail))


def _vote(vote: Verdict) -> dict[str, Any]:
    return {
        "status": vote.status,
        "label": vote.label,
        "probability": vote.probability,
        "reason": vote.reason,
        "evidence": vote.evidence,
        "usage": vote.usage.to_dict(),
        "error": vote.error,
        "judge": vote.judge,
        "order": vote.order,
        "value": vote.value,
        "detail": vote.detail,
        "resumed": vote.resumed,
    }


_Line = TypeVar("_Line", ResultRow, ItemTexts)


ROWS, TEXTS = TypeAdapter(ResultRow), TypeAdapter(ItemTexts)
"""Validators for the lines of `results.jsonl` and `items.jsonl`, also used for their schemas."""


def read_lines(path: Path, lines: TypeAdapter[_Line]) -> Iterator[_Line]:
    """Iterate over the lines of `results.jsonl` or `items.jsonl`.

    Raises:
        InputError: the file is missing or damaged; names the line.
    """
    try:
        with path.open("rb") as file:
            for number, line in enumerate(file, start=1):
                try:
                    yield lines.validate_json(line)
                except ValidationError as error:
                    cause = error.errors(include_url=False, include_input=False)[0]
                    where = ".".join(map(str, cause["loc"]))
                    raise InputError(
                        f"not a line of a run's results ({where and f'{where}: '}{cause['msg']}); "
                        f"{WRITE_ANEW}",
                        file=path,
                        line=number,
                    ) from None
    except OSError as error:
        raise InputError(f"cannot be read: {error.strerror}", file=path) from None


def read_rows(path: Path) -> Iterator[tuple[ResultRow, ...]]:
    """Iterate over a `results.jsonl` item by item, in the order of the dataset.

    Raises:
        InputError: see `read_lines`.
    """
    rows: list[ResultRow] = []
    for line in read_lines(path, ROWS):
        row = line if line.error is None else _with_status(line)
        if rows:
            _share(row, rows[-1])  # saves a third of the memory (one judge, ten criteria)
            if row.item != rows[0].item:
                yield tuple(rows)
                rows = []
        rows.append(row)
    if rows:
        yield tuple(rows)


def _with_status(row: ResultRow) -> ResultRow:
    """The row with the status `not_run`, which earlier versions called failed."""
    votes = tuple(
        replace(vote, status=vote.error.status) if vote.error is not None else vote
        for vote in row.votes
    )
    assert row.error is not None
    return replace(row, status=row.error.status, votes=votes)


def _share(row: ResultRow, before: ResultRow) -> None:
    for name in _OFTEN_ALIKE:
        value, earlier = getattr(row, name), getattr(before, name)
        if value is not earlier and value == earlier:
            object.__setattr__(row, name, earlier)


def line_schema(lines: TypeAdapter[_Line]) -> dict[str, Any]:
    """The JSON Schema of a line. Fields outside `_SELDOM` are required."""
    made = lines.json_schema(mode="serialization")
    made["properties"].pop("answer", None)
    made["required"] = [name for name in made["properties"] if name not in _SELDOM]
    return made
