"""The verdicts of two runs, scored by the rubric of the second run.

A run stores answers; the rubric turns them into values. Scores of two runs can only be compared if
the same rules produce them from answers to the same criteria.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from rubricate.analysis._finished import FinishedRun
from rubricate.errors import InputError
from rubricate.rubric import (
    TAGS,
    UNANSWERED,
    Criterion,
    Rubric,
    Score,
    ScoringRules,
    Verdict,
    grouped_tags,
    restricted,
    score_with_groups,
    split_tag,
    tags_by,
    values_of,
)
from rubricate.run.results import ResultRow
from rubricate.views import STATUSES

GROUP = "group"
"""The field for the groups of a tree."""
UNDECIDED = UNANSWERED | {"abstained"}
NOT_IN_B = "not in B"
COMPARED, ABSTAINED_BEFORE = "compared", f"{STATUSES['abstained'].text} in A"
UNANSWERED_BEFORE = frozenset(f"{STATUSES[status].text} in A" for status in UNANSWERED)
Reasked = Mapping[tuple[str, str], tuple[Verdict, Verdict]]
"""New verdicts of A and B, by item and B's criterion."""
WORDING = ("name", "weight", "requirement", "note", "tags", "requires")
"""Fields of a criterion that affect neither its possible answers nor their values."""


@dataclass(frozen=True, slots=True)
class VerdictPair:
    """The verdicts of both runs on the same item by the same criterion.

    Attributes:
        a, b: the rows of the runs.
        criterion: the criterion of run B.
        verdict_a: A's verdict with the value that run B's criterion gives it; None if that has no
            such answer.
        verdict_b: B's verdict.
    """

    a: ResultRow
    b: ResultRow
    criterion: Criterion
    verdict_a: Verdict | None
    verdict_b: Verdict

    @property
    def fate(self) -> str:
        """`COMPARED` if both decided, else the reason why not, in words."""
        if self.a.status in UNDECIDED:
            return f"{STATUSES[self.a.status].text} in A"
        if self.b.status in UNDECIDED:
            return f"{STATUSES[self.b.status].text} in B"
        return COMPARED if self.verdict_a is not None else "other answers in B"

    @property
    def is_flip(self) -> bool:
        """Whether both decided, and gave different answers."""
        return self.fate == COMPARED and self.a.label != self.b.label

    @property
    def is_one_sided(self) -> bool:
        """Whether one run decided and the other abstained or has no answer."""
        return (self.a.status in UNDECIDED) != (self.b.status in UNDECIDED)


@dataclass(frozen=True, slots=True)
class AlikeRuns:
    """Two runs scored by one rubric.

    Attributes:
        items: the items in both runs, in B's order.
        pairs: the verdicts on common criteria, in B's order.
        scores: the scores of A and B, for each item with a score in both.
        parts: the scores of parts, by field and name: of criteria with a tag, of items with a tag
            or metadata value, and of the groups of a tree (field `group`).
        differences: the differences between the runs' rubrics and scoring, in words.
    """

    items: tuple[str, ...]
    pairs: tuple[VerdictPair, ...]
    scores: Mapping[str, tuple[float, float]]
    parts: Mapping[tuple[str, str], Mapping[str, tuple[float, float]]]
    differences: tuple[str, ...]

    def values(self, criterion: str) -> dict[str, tuple[float, float]]:
        """The values of A and B on a criterion, for each item on which both decided."""
        return {
            pair.b.item: (pair.verdict_a.value, pair.verdict_b.value)
            for pair in self.pairs
            if pair.b.criterion == criterion
            and pair.verdict_a is not None
            and pair.verdict_a.value is not None
            and pair.verdict_b.value is not None
        }

    def fates(self, a: FinishedRun) -> dict[str, Counter[str]]:
        """Count how run A's verdicts enter the comparison (`VerdictPair.fate`), by A's
        criterion."""
        paired = {(pair.a.item, pair.a.criterion): pair.fate for pair in self.pairs}
        fates: dict[str, Counter[str]] = {}
        for row in a.rows:
            alone = f"{STATUSES[row.status].text} in A" if row.status in UNDECIDED else NOT_IN_B
            fate = paired.get((row.item, row.criterion), alone)
            fates.setdefault(row.criterion, Counter())[fate] += 1
        return fates


def scored_alike(
    a: FinishedRun, b: FinishedRun, by: Sequence[str] = (), reasked: Reasked | None = None
) -> AlikeRuns:
    """Match the verdicts of two runs, and score both by the rules of run B.

    Criteria are matched by name, and otherwise by their question. Only verdicts that count in both
    runs enter the score of an item: what failed in one is left out of both, and so is an abstention
    if abstentions do not count. A length penalty is subtracted if its settings are the same in both
    runs, and left out of both otherwise. Parts consist of verdicts that count in both runs, too; no
    length penalty applies to parts that consist of criteria.

    Args:
        a, b: the runs.
        by: further fields of parts, beside those that run B declares.
        reasked: new verdicts that replace the runs' own.
    """
    rows_a, rows_b = _by_item(a), _by_item(b)
    rules_a, rules = _Rules.of(a), _Rules.of(b)
    matches: dict[tuple[int, int], _Match] = {}
    pairs: list[VerdictPair] = []
    scores: dict[str, tuple[float, float]] = {}
    parts: dict[tuple[str, str], dict[str, tuple[float, float]]] = {}
    fields = tuple(dict.fromkeys((*rules.declared_fields, *by)))
    items = tuple(item for item in rows_b if item in rows_a)
    for item in items:
        rubrics = a.rubric_of(item), b.rubric_of(item)
        match = matches.get((id(rubrics[0]), id(rubrics[1])))
        if match is None:
            match = matches[id(rubrics[0]), id(rubrics[1])] = _Match(*rubrics)
        of_a, of_b = rows_a[item], rows_b[item]
        of_item = list(match.pairs(of_a, of_b, reasked or {}))
        pairs += of_item
        rows = next(iter(of_a.values())), next(iter(of_b.values()))
        values = rules.scores(rubrics[1], of_item, rows, rules_a)
        if values[0] is not None and values[1] is not None:
            scores[item] = values[0], values[1]
            for part in _of_whole(fields, rubrics[1], rows[1]):
                parts.setdefault(part, {})[item] = scores[item]
        for part, both in rules.parts(of_item, rubrics[1], fields):
            parts.setdefault(part, {})[item] = both
    differences = [*rules_a.differences(rules)]
    for match in matches.values():
        differences += match.differences
    return AlikeRuns(items, tuple(pairs), scores, parts, tuple(dict.fromkeys(differences)))


def _of_whole(fields: Sequence[str], rubric: Rubric, row: ResultRow) -> Iterator[tuple[str, str]]:
    """Yield the fields of an item as a whole, with their values."""
    tags = [tag for criterion in rubric for tag in criterion.tags]
    for field in fields:
        if field == TAGS or not tags_by(field, tags):
            for value in values_of(field, row.tags, row.metadata):
                yield field, value


def _by_item(run: FinishedRun) -> dict[str, dict[str, ResultRow]]:
    rows: dict[str, dict[str, ResultRow]] = {}
    for row in run.rows:
        rows.setdefault(row.item, {})[row.criterion] = row
    return rows


@dataclass(frozen=True, slots=True)
class _Rules:
    """The scoring rules of a run.

    `length_penalty` is None if there is none; it has no settings if the run, from an earlier
    version, does not state them."""

    scoring: ScoringRules
    length_penalty: Mapping[str, Any] | None

    @classmethod
    def of(cls, run: FinishedRun) -> _Rules:
        summary, score = run.summary, run.summary.get("score")
        penalized = isinstance(score, Mapping) and score.get("penalty") is not None
        return cls(run.rules, summary.get("length_penalty") or ({} if penalized else None))

    def differences(self, other: _Rules) -> Iterator[str]:
        """Yield the differences to another run's rules, in words."""
        texts = [rules._abstentions for rules in (self, other)]
        if texts[0] != texts[1]:
            yield f"abstentions count as {texts[0]} in A, {texts[1]} in B"
        if self.scoring.of_items != other.scoring.of_items:
            items = ["raw" if rules.scoring.of_items.raw else "clamped" for rules in (self, other)]
            yield f"items are scored {items[0]} in A, {items[1]} in B"
        if not self.same_penalty(other):
            yield "the length penalty, which is left out"

    @property
    def _abstentions(self) -> str:
        rules = self.scoring
        partial = rules.cannot_assess == "partial"
        return f"partial ({rules.partial:g})" if partial else rules.cannot_assess

    def same_penalty(self, other: _Rules) -> bool:
        """Whether both have the same length penalty."""
        return self.length_penalty == other.length_penalty != {}

    def _counts(self, verdict: Verdict) -> bool:
        """Whether a verdict counts in the score."""
        if verdict.status == "abstained":
            return self.scoring.cannot_assess != "skip"
        return verdict.status not in UNANSWERED

    def scores(
        self,
        rubric: Rubric,
        pairs: Iterable[VerdictPair],
        rows: tuple[ResultRow, ResultRow],
        rules_a: _Rules,
    ) -> tuple[float | None, float | None]:
        """The scores of an item by B's rubric, from the verdicts that count in both runs.

        `rows` has one row of the item from each run.
        """
        counted = self._counted(pairs)

        def less(score: float | None, row: ResultRow) -> float | None:
            penalty = row.item_score.penalty * self.same_penalty(rules_a)
            return score if score is None or not penalty else max(0.0, score - penalty)

        a, b = (scored[0].value for scored in self._scored(rubric, counted))
        return less(a, rows[0]), less(b, rows[1])

    def parts(
        self, pairs: Iterable[VerdictPair], rubric: Rubric, fields: Sequence[str]
    ) -> Iterator[tuple[tuple[str, str], tuple[float, float]]]:
        """The scores of A and B for the criteria with each tag of the fields, and for each
        group."""
        tags = grouped_tags(fields, [criterion.tags for criterion in rubric])
        groups = rubric.groups
        if not tags and not groups:
            return
        names, counted = rubric.names, self._counted(pairs)
        for tag, places in tags.items():
            own = {name: counted[name] for name in (names[at] for at in places) if name in counted}
            a, b = (scored[0].value for scored in self._scored(rubric, own))
            if a is None or b is None:
                continue
            for field in fields:
                if tags_by(field, (tag,)):
                    yield (field, tag if field == TAGS else split_tag(tag)[1]), (a, b)
        if groups:
            of_a, of_b = (scored[1] for scored in self._scored(rubric, counted))
            for name in groups:
                a, b = (of[name].value if name in of else None for of in (of_a, of_b))
                if a is not None and b is not None:
                    yield (GROUP, name), (a, b)

    def _counted(self, pairs: Iterable[VerdictPair]) -> dict[str, tuple[Verdict, Verdict]]:
        """Return the verdicts that count in both runs, by criterion."""
        return {
            pair.criterion.name: (pair.verdict_a, pair.verdict_b)
            for pair in pairs
            if pair.verdict_a is not None
            and self._counts(pair.verdict_a)
            and self._counts(pair.verdict_b)
        }

    def _scored(
        self, rubric: Rubric, counted: Mapping[str, tuple[Verdict, Verdict]]
    ) -> list[tuple[Score, dict[str, Score]]]:
        """The scores and groups of A and B, by some criteria of a rubric."""
        tree = restricted(rubric.tree, counted)
        return [
            score_with_groups(tree, [pair[side] for pair in counted.values()], self.scoring)
            for side in (0, 1)
        ]

    @property
    def declared_fields(self) -> tuple[str, ...]:
        """The fields for which the run declares scores."""
        declared = self.scoring.declared
        return () if declared is None else declared.by


class _Match:
    """The matched criteria of two rubrics, and their differences."""

    def __init__(self, a: Rubric, b: Rubric) -> None:
        self._names = dict(_matched(a, b))
        """The names in A by those in B, in B's order."""
        of_a = a.by_name
        self._criteria = {
            name: (of_a[self._names[name]], criterion)
            for name, criterion in b.by_name.items()
            if name in self._names
        }
        self._same = {
            name: _answers(criterion) == _answers(other)
            for name, (criterion, other) in self._criteria.items()
        }
        self.differences = [*self._difference_texts(a, b)]

    def pairs(
        self, of_a: Mapping[str, ResultRow], of_b: Mapping[str, ResultRow], reasked: Reasked
    ) -> Iterator[VerdictPair]:
        """The verdicts of an item on common criteria."""
        for name, row_b in of_b.items():
            row_a = of_a.get(self._names.get(name, ""))
            if row_a is None:
                continue
            criterion = self._criteria[name][1]
            a, b = reasked.get((row_b.item, name), (row_a, row_b))
            yield VerdictPair(row_a, row_b, criterion, self._valued(name, a), b)

    def _valued(self, name: str, row: Verdict) -> Verdict | None:
        """Give A's verdict the value by B's criterion; None if that has no such answer."""
        if self._same[name] or row.label is None or row.status in UNDECIDED:
            return row
        criterion, other = self._criteria[name]
        if not _same_form(criterion, other):
            return None
        try:
            own, value = criterion.value(row.label), other.value(row.label)
            status = other.status(row.label)
        except InputError:
            return None
        if own is not None and row.value is not None and abs(own - row.value) > 1e-9:
            return None  # a mean of votes, which the label does not determine
        return Verdict(name, status, row.label, value)

    def _difference_texts(self, a: Rubric, b: Rubric) -> Iterator[str]:
        if a.guidelines != b.guidelines:
            yield "the guidelines"
        matched = set(self._names.values())
        yield from (f"'{name}' is only in A" for name in a.names if name not in matched)
        yield from (f"'{name}' is only in B" for name in b.names if name not in self._names)
        for name, (criterion, other) in self._criteria.items():
            if self._names[name] != name:
                yield f"'{self._names[name]}' of A is '{name}' in B"
            if criterion.weight != other.weight:
                yield f"'{name}' weighs {criterion.weight:g} in A, {other.weight:g} in B"
            if (criterion.requirement, criterion.note) != (other.requirement, other.note):
                yield f"'{name}' is worded otherwise"
            if not self._same[name]:
                yield from _answer_differences(name, criterion, other)


def _answer_differences(name: str, a: Criterion, b: Criterion) -> Iterator[str]:
    """Yield how the possible answers of a criterion, or their values, differ."""
    if not _same_form(a, b):
        yield f"'{name}' has other answers"
        return
    common = [label for label in a.labels if label in b.labels]
    values = [(label, a.value(label), b.value(label)) for label in common]
    texts = [
        f"'{label}' of '{name}' has the value {_value(before)} in A, {_value(after)} in B"
        for label, before, after in values
        if before != after
    ]
    if set(a.labels) != set(b.labels):
        texts.append(f"'{name}' has other answers")
    yield from texts or [f"'{name}' is asked, or counted, otherwise"]


def _value(value: float | None) -> str:
    return "none (N/A)" if value is None else f"{value:g}"


def _matched(a: Rubric, b: Rubric) -> Iterator[tuple[str, str]]:
    """Yield the names of matched criteria, in B and in A, in B's order."""
    of_a = a.by_name
    of_b = b.by_name
    names = {
        name: name
        for name, criterion in of_b.items()
        if name in of_a and criterion.is_named and of_a[name].is_named
    }
    questions = [
        Counter(_question(criterion) for name, criterion in of.items() if name not in names)
        for of in (of_a, of_b)
    ]
    places = {_question(criterion): name for name, criterion in of_a.items() if name not in names}
    for name, criterion in of_b.items():
        question = _question(criterion)
        if name not in names and questions[0][question] == questions[1][question] == 1:
            names[name] = places[question]
    used = set(names.values())
    for name in of_b:
        if name not in names and name in of_a and name not in used:
            names[name] = name
    yield from ((name, names[name]) for name in of_b if name in names)


def _question(criterion: Criterion) -> str:
    """The question of a criterion, independent of its name and weight."""
    return repr((criterion.requirement, criterion.note, _answers(criterion)))


def _answers(criterion: Criterion) -> dict[str, Any]:
    """The possible answers and their values as JSON values, without name, weight and wording."""
    return {key: value for key, value in criterion.to_dict().items() if key not in WORDING}


def _same_form(a: Criterion, b: Criterion) -> bool:
    """Whether an answer to one criterion can be an answer to the other."""
    if a.options is not None or b.options is not None:
        return a.options is not None and b.options is not None
    if a.labels or b.labels:
        return a.labels == b.labels
    return a.question.verdict_schema == b.question.verdict_schema
