"""Criteria measured by a confusion matrix over items that a text should or should not name."""

from __future__ import annotations

import re
import reprlib
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar, Literal

from pydantic import Field, model_validator

from rubricate._spelling import unknown_word
from rubricate.errors import InputError, UnreadableReply
from rubricate.rubric._criterion import Criterion, Measurement
from rubricate.rubric._question import (
    ABSTENTION,
    Question,
    Reading,
    closed_object,
    listed,
    read_object,
    read_share,
)

METRICS = ("precision", "recall", "f1", "accuracy", "specificity")
NEED_NEGATIVES = ("accuracy", "specificity")
CLASSES = ("positive", "negative", "unmentioned")
CELLS = ("tp", "fp", "tn", "fn")
_LABEL = re.compile(r"\s*tp (\d{1,9}), fp (\d{1,9}), tn (\d{1,9}), fn (\d{1,9})\s*", re.IGNORECASE)


@dataclass(frozen=True, slots=True)
class ConfusionCounts:
    """The cells of a confusion matrix."""

    tp: int
    fp: int
    tn: int
    fn: int

    def __str__(self) -> str:
        return f"tp {self.tp}, fp {self.fp}, tn {self.tn}, fn {self.fn}"

    def metric(self, name: str) -> float | None:
        """A metric in [0, 1] by name; None if its denominator is 0."""
        above, below = {
            "precision": (self.tp, self.tp + self.fp),
            "recall": (self.tp, self.tp + self.fn),
            "f1": (2 * self.tp, 2 * self.tp + self.fp + self.fn),
            "accuracy": (self.tp + self.tn, self.tp + self.tn + self.fp + self.fn),
            "specificity": (self.tn, self.tn + self.fp),
        }[name]
        return above / below if below else None


class MetricCriterion(Criterion):
    """Measures how well a text names, or classifies, a list of items.

    A judge says how the text classifies each item, without knowing which list it is in; code does
    the counting. Without `tn_instructions` (`tp_only`) an item that the
    text names as positive is a true positive if it is expected, else a false positive, and an
    expected item that it does not name is a false negative. With them (`full_matrix`) only items
    that the text classifies count; the others are `unmentioned`.
    """

    telltale: ClassVar[Sequence[str]] = (
        "tp_instructions",
        "tn_instructions",
        "fp_instructions",
        "fn_instructions",
        "score_metric",
        "repeated_extraction",
        "count_unmentioned",
    )
    own_fields: ClassVar[Sequence[str]] = (
        *("tp_instructions", "tn_instructions", "fp_instructions", "fn_instructions"),
        *("metrics", "score_metric", "repeated_extraction", "count_unmentioned"),
    )
    always_written: ClassVar[Sequence[str]] = ("metrics",)
    kind: Literal["metric"] = "metric"
    tp_instructions: tuple[str, ...] = Field(strict=False)
    """Items that the text should name, or classify as positive."""
    tn_instructions: tuple[str, ...] = Field(default=(), strict=False)
    """Items that the text should classify as negative."""
    fp_instructions: tuple[str, ...] = Field(default=(), strict=False)
    """Expected mistakes: items that are often wrongly named or classified as positive."""
    fn_instructions: tuple[str, ...] = Field(default=(), strict=False)
    """Expected mistakes: positive items that are often missed."""
    metrics: tuple[str, ...] = Field(default=("precision", "recall", "f1"), strict=False)
    """The metrics to compute: `precision`, `recall`, `f1`, `accuracy`, `specificity`."""
    score_metric: str | None = None
    """The metric that enters the score. Default: the first of `metrics`."""
    repeated_extraction: bool = True
    """Whether repeated mentions of an item count once. Otherwise each mention counts."""
    count_unmentioned: bool = False
    """Whether, in `full_matrix`, items that the text does not mention count as negative."""

    @model_validator(mode="after")
    def _lists_and_metrics_fit(self) -> MetricCriterion:
        mode = (self.model_extra or {}).get("evaluation_mode", self.evaluation_mode)
        if mode != self.evaluation_mode:
            raise InputError(
                f"evaluation_mode is {self.evaluation_mode} here, found {mode!r}: it follows from "
                "whether there are tn_instructions"
            )
        if not self.tp_instructions:
            raise InputError("tp_instructions: at least one item is needed, found none")
        for name in ("tp", "tn", "fp", "fn"):
            items = getattr(self, f"{name}_instructions")
            if any(not item.strip() for item in items):
                raise InputError(f"{name}_instructions: an item must not be empty")
            repeated = [key for key, count in Counter(map(_key, items)).items() if count > 1]
            if repeated:
                raise InputError(f"{name}_instructions: '{repeated[0]}' is listed twice")
        positive = {_key(item): "tp_instructions" for item in self.tp_instructions}
        positive |= {
            _key(item): "fn_instructions"
            for item in self.fn_instructions
            if _key(item) not in positive
        }
        for name in ("tn_instructions", "fp_instructions"):
            for item in getattr(self, name):
                if other := positive.get(_key(item)):
                    raise InputError(f"'{item}' is in both {other} and {name}")
        if not self.metrics:
            raise InputError("metrics: at least one is needed, found none")
        for name in (*self.metrics, *filter(None, [self.score_metric])):
            self._check_metric(name)
        if len(set(self.metrics)) < len(self.metrics):
            raise InputError(f"metrics: one is listed twice: {', '.join(self.metrics)}")
        return self

    def _check_metric(self, name: str) -> None:
        if name not in METRICS:
            raise InputError(unknown_word("metric", name, METRICS))
        if name in NEED_NEGATIVES and not self.tn_instructions:
            raise InputError(
                f"the metric '{name}' needs true negatives: give tn_instructions, or leave it out"
            )

    @property
    def evaluation_mode(self) -> Literal["tp_only", "full_matrix"]:
        """`full_matrix` if there are `tn_instructions`, else `tp_only`."""
        return "full_matrix" if self.tn_instructions else "tp_only"

    @property
    def measurement(self) -> Measurement:
        return "numeric"

    @property
    def labels(self) -> tuple[str, ...]:
        """Empty, because every combination of counts is a label."""
        return ()

    @property
    def items(self) -> tuple[str, ...]:
        """Every item of the four lists once, sorted so that the order reveals nothing."""
        lists = (
            *self.tp_instructions,
            *self.fn_instructions,
            *self.tn_instructions,
            *self.fp_instructions,
        )
        first: dict[str, str] = {}
        for item in lists:
            first.setdefault(_key(item), " ".join(item.split()))
        return tuple(first[key] for key in sorted(first))

    def ask(self) -> Question:
        entry: dict[str, Any] = {
            "item": {"type": "string", "enum": list(self.items)},
            "classified": {"type": "string", "enum": list(CLASSES)},
            "quote": {"type": "string"},
        }
        further: dict[str, Any] = {"item": {"type": "string"}, "quote": {"type": "string"}}
        if not self.repeated_extraction:
            entry["times"] = further["times"] = {"type": "integer", "minimum": 0}
        fields = {"items": {"type": "array", "items": closed_object(entry)}}
        if self.evaluation_mode == "tp_only":
            fields["others"] = {"type": "array", "items": closed_object(further)}
        return Question(
            self.requirement,
            (),
            {"anyOf": [closed_object(fields), {"type": "string", "enum": [ABSTENTION]}]},
            self._form(),
            "Items:\n" + "\n".join(f"- {item}" for item in self.items),
        )

    def _form(self) -> str:
        times = "" if self.repeated_extraction else ', "times": 1'
        form = (
            'The verdict is an object: {"items": [{"item": "...", "classified": "...", '
            f'"quote": "..."{times}}}, ...]'
        )
        if self.evaluation_mode == "tp_only":
            form += f', "others": [{{"item": "...", "quote": "..."{times}}}, ...]'
        form += (
            "}, with one entry in items for each of the items above, spelled as above. classified "
            "is positive where the submission names the item as one of those that the criterion "
            "is about, negative where it says that the item is not one of them, and unmentioned "
            "where it says neither; another name for the same thing counts. quote is the passage "
            "that says so, word for word, or empty. Where the material does not allow a decision, "
            f'the verdict is the text "{ABSTENTION}".'
        )
        if self.evaluation_mode == "tp_only":
            form += (
                " others has whatever else the submission names as one of those that the "
                "criterion is about; it is empty where there is nothing else."
            )
        if not self.repeated_extraction:
            form += " times is how many times the submission does so; 0 where it does not."
        return form

    def read(self, answer: object) -> Reading:
        """Read an answer about every item.

        Raises:
            UnreadableReply: an item is missing, unknown, repeated or contradictory, or a part has
                another form.
        """
        data = read_object(answer, "an object with 'items'")
        if data is None:
            return Reading(ABSTENTION)
        entries = self._entries(data)
        others = self._others(data, entries) if self.evaluation_mode == "tp_only" else []
        cells, unmentioned = self._cells(entries, others)
        counts = ConfusionCounts(*(sum(times for _, times in cells[name]) for name in CELLS))
        detail: dict[str, Any] = {name: [item for item, _ in cells[name]] for name in CELLS}
        detail["unmentioned"] = unmentioned
        detail["expected_fp"] = _among(detail["fp"], self.fp_instructions)
        detail["expected_fn"] = _among(detail["fn"], self.fn_instructions)
        detail |= self.measured(str(counts))
        quotes = [entry["quote"] for entry in (*entries.values(), *others) if entry["quote"]]
        kept = {"items": list(entries.values()), "others": others}
        named = [entry for entry in entries.values() if entry["classified"] != "unmentioned"]
        claims = tuple((entry["item"], entry["quote"]) for entry in (*named, *others))
        return Reading(str(counts), tuple(dict.fromkeys(quotes)), detail, kept, claims=claims)

    def _entries(self, answer: Mapping[str, Any]) -> dict[str, dict[str, Any]]:
        """The checked entries of the answer, by item."""
        known = {_key(item): item for item in self.items}
        entries: dict[str, dict[str, Any]] = {}
        for raw in _objects(answer.get("items"), "items"):
            name, classified = raw.get("item"), raw.get("classified")
            key = _key(name) if isinstance(name, str) else ""
            if key not in known:
                raise UnreadableReply(f"{reprlib.repr(name)} in 'items' is not one of the items")
            if key in entries:
                raise UnreadableReply(f"the item '{known[key]}' is in 'items' twice")
            if classified not in CLASSES:
                raise UnreadableReply(
                    f"'classified' of '{known[key]}' is {reprlib.repr(classified)}, not one of: "
                    + ", ".join(CLASSES)
                )
            entries[key] = {"item": known[key], "classified": classified, **self._rest(raw)}
        if missing := [item for key, item in known.items() if key not in entries]:
            raise UnreadableReply(f"'items' lacks {listed(missing)}")
        return entries

    def _others(
        self, answer: Mapping[str, Any], entries: Mapping[str, Mapping[str, Any]]
    ) -> list[dict[str, Any]]:
        """Other items that the text names, without listed ones and, if set, repetitions."""
        known = {_key(item) for item in self.items}
        others: list[dict[str, Any]] = []
        for raw in _objects(answer.get("others", []), "others"):
            name = raw.get("item")
            if not isinstance(name, str) or not name.strip():
                raise UnreadableReply("an entry of 'others' has no 'item'")
            entry = entries.get(_key(name))
            if entry and entry["classified"] != "positive":
                raise UnreadableReply(
                    f"'{entry['item']}' is {entry['classified']} in 'items' and named in 'others'"
                )
            if _key(name) in known:
                continue
            known |= {_key(name)} if self.repeated_extraction else set()
            others.append({"item": name.strip(), **self._rest(raw)})
        return others

    def _rest(self, raw: Mapping[str, Any]) -> dict[str, Any]:
        quote, times = raw.get("quote") or "", raw.get("times", 1)
        if not isinstance(quote, str):
            raise UnreadableReply("a 'quote' is not text")
        if self.repeated_extraction:
            return {"quote": quote.strip()}
        if isinstance(times, bool) or not isinstance(times, int) or not 0 <= times <= 10**6:
            raise UnreadableReply(f"'times' is {reprlib.repr(times)}, not a number of mentions")
        return {"quote": quote.strip(), "times": times}

    def _cells(
        self, entries: Mapping[str, Mapping[str, Any]], others: Iterable[Mapping[str, Any]]
    ) -> tuple[dict[str, list[tuple[str, int]]], list[str]]:
        """The items of each cell with their counts, and those in no cell."""
        positive = {_key(item) for item in (*self.tp_instructions, *self.fn_instructions)}
        cells: dict[str, list[tuple[str, int]]] = {name: [] for name in CELLS}
        unmentioned: list[str] = []
        full = self.evaluation_mode == "full_matrix"
        for key, entry in entries.items():
            item, classified = entry["item"], entry["classified"]
            times = max(1, entry.get("times", 1))
            if classified == "positive":
                cells["tp" if key in positive else "fp"].append((item, times))
                continue
            if classified == "unmentioned":
                unmentioned.append(item)
                if full and not self.count_unmentioned:
                    continue
                times = 1
            if key in positive:
                cells["fn"].append((item, times if full else 1))
            elif full:
                cells["tn"].append((item, times))
        cells["fp"] += [(entry["item"], max(1, entry.get("times", 1))) for entry in others]
        return cells, unmentioned

    def counts(self, label: str) -> ConfusionCounts:
        """The counts in a label such as `tp 2, fp 1, tn 0, fn 2`.

        Raises:
            InputError: the label has another form.
        """
        match = _LABEL.fullmatch(label)
        if match is None:
            raise InputError(f"'{label}' is not of the form 'tp 2, fp 1, tn 0, fn 2'")
        return ConfusionCounts(*map(int, match.groups()))

    def measured(self, label: str) -> dict[str, Any]:
        """The metrics of a label: `{"metrics": {name: value}, "undefined": [name, ...]}`.

        A metric whose denominator is 0 is 0.0 and is listed as undefined.
        """
        counts = self.counts(label)
        values = {name: counts.metric(name) for name in self.metrics}
        return {
            "metrics": {name: value or 0.0 for name, value in values.items()},
            "undefined": [name for name, value in values.items() if value is None],
        }

    def value(self, label: str) -> float | None:
        """The score metric of a label: of four counts, or the value itself if a person gave it."""
        share = read_share(label)
        if share is not None:
            return share
        return self.counts(str(label)).metric(self.score_metric or self.metrics[0]) or 0.0

    @property
    def quotes_items(self) -> bool:
        return True

    def must_quote(self, label: str) -> bool:
        return False  # its items do

    def label_of(self, label: object) -> str:
        """A person's label: the four counts, or the value of the score metric in [0, 1]."""
        if label == ABSTENTION:
            return ABSTENTION
        share = read_share(label)
        if share is not None:
            return f"{share:g}"
        if not isinstance(label, str) or not _LABEL.fullmatch(label):
            raise InputError(
                f"has no label {label!r}; allowed: a number from 0 to 1, or counts such as "
                "'tp 2, fp 1, tn 0, fn 2'"
            )
        return str(self.counts(label))


def _key(item: str) -> str:
    """A key that is equal for different spellings of an item."""
    return " ".join(item.split()).casefold()


def _among(items: Iterable[str], expected: Iterable[str]) -> list[str]:
    keys = {_key(item) for item in expected}
    return [item for item in items if _key(item) in keys]


def _objects(data: object, name: str) -> list[Mapping[str, Any]]:
    if not isinstance(data, list) or not all(isinstance(entry, Mapping) for entry in data):
        raise UnreadableReply(f"'{name}' in the verdict is not a list of objects")
    return data
