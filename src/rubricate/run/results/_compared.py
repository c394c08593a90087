"""How a judge's answers are compared with people's: one set of rules for every view.

The table of a run, its page, `agree`, plots and certificates all count the same pairs:

- Labels (MET and UNMET, unordered options) are equal or not. N/A is a label like any other.
- Ordered options are compared by their order. If one side says that the criterion does not apply,
  the pair has no place in the order and does not count.
- Scales, and options that are whole numbers, are compared as numbers (`Criterion.step`). Several
  annotators or judges together give the mean of their numbers. It is not rounded, except for the
  accuracy, which uses the labels.
- Metrics and code are compared by their value, to two decimal places. They have no kappa.
- Abstentions, failures, missing labels, and labels on which annotators are evenly split are no
  answers: the pair does not count.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from dataclasses import replace
from typing import TYPE_CHECKING, Any, Final, Literal, NamedTuple, TypeAlias

from rubricate.rubric import ABSTENTION, UNANSWERED, Criterion, Verdict
from rubricate.run.results._figures import AgreementFigures, StratifiedFigures
from rubricate.stats import Agreement, agreement_of_counts, stratified

if TYPE_CHECKING:
    from rubricate.run.results._rows import ResultRow

Level: TypeAlias = Literal["labels", "ordered", "steps", "numbers"]


class Step(NamedTuple):
    """An answer on a scale: its number, which can be a mean between two steps, and its label."""

    number: float
    label: str


Answer: TypeAlias = str | float | Step | None
"""A label, a step or a number. `ABSTENTION`, `DOES_NOT_APPLY` and None (a failure) do not count."""
DOES_NOT_APPLY: Final = "\0does not apply"
"""Represents N/A on an ordered criterion. No label equals it."""
DECIDED = frozenset({"judged", "not_applicable"})
NUMBERS = "numbers have no kappa"


def level_of(criterion: Criterion) -> Level:
    """How the answers to a criterion are compared."""
    measurement = criterion.measurement
    if measurement == "numeric":
        return "numbers"
    if measurement != "ordinal":
        return "labels"
    return "steps" if criterion.has_steps else "ordered"


def kappa_name(level: Level) -> str:
    """The kappa for these answers: with quadratic weights if they are ordered."""
    return "cohen_kappa" if level == "labels" else "quadratic_kappa"


def answer(criterion: Criterion, level: Level, verdict: Verdict | None) -> Answer:
    """The value by which a verdict or a human label is compared."""
    if verdict is None or verdict.status == "abstained":
        return None if verdict is None else ABSTENTION
    status, label, value = verdict.status, verdict.label, verdict.value
    if status in UNANSWERED or (label is None and value is None):
        return None
    if level == "labels":
        return label
    if status == "not_applicable" or value is None:
        return DOES_NOT_APPLY
    if level == "ordered" or label is None:
        return label
    return Step(criterion.step(label, value), label) if level == "steps" else value


def is_answer(answer: Answer) -> bool:
    """Whether it counts as an answer; only pairs of two answers are compared."""
    return answer not in (None, ABSTENTION, DOES_NOT_APPLY)


def same(answer: Answer, other: Answer) -> bool:
    """Whether two answers agree: by label, or as numbers to two decimal places."""
    if isinstance(answer, Step) and isinstance(other, Step):
        return answer.label == other.label
    if isinstance(answer, float | int) and isinstance(other, float | int):
        return f"{answer:.2f}" == f"{other:.2f}"
    return answer == other


def number_of(answer: Answer) -> float | None:
    """The number of a step or a number; None for a label."""
    if isinstance(answer, Step):
        return answer.number
    return None if isinstance(answer, str) else answer


def vote_of(criterion: Criterion, verdict: Verdict) -> str | None:
    """The value by which votes of judges are compared; None for a vote that decides nothing.

    Answers without a fixed set of labels are equal if their values are, to two decimal places.
    """
    if verdict.status not in DECIDED:
        return None
    label, value = verdict.label, verdict.value
    return label if criterion.labels or value is None else f"{value:.2f}"


def differs_from_label(criterion: Criterion, row: ResultRow) -> bool:
    """Whether the judge and a person both gave an answer, and the answers differ."""
    level = level_of(criterion)
    judge, human = answer(criterion, level, row), answer(criterion, level, row.human)
    silent = (None, ABSTENTION)
    return judge not in silent and human not in silent and not same(judge, human)


class Stratum(NamedTuple):
    """A criterion, or several, whose pairs are counted together.

    `labels` are those of an order or a scale, so that criteria with the same name but other labels
    stay apart. `name` is None for criteria with one pair each that are merged by their labels.
    """

    name: str | None
    level: Level
    labels: tuple[str, ...]


def stratum_of(name: str, criterion: Criterion) -> Stratum:
    """The stratum of a criterion."""
    level = level_of(criterion)
    if level in ("labels", "numbers"):
        return Stratum(name, level, ())
    return Stratum(name, level, answers_of(criterion))


def answers_of(criterion: Criterion) -> tuple[str, ...]:
    """The comparable answers in order; for a long scale only its ends."""
    level, labels = level_of(criterion), criterion.labels
    if level == "numbers":
        return ()
    if level == "labels":
        return tuple(label for label in labels if label != ABSTENTION)
    if not labels:
        return tuple(f"{criterion.step('', end):g}" for end in (0.0, 1.0))
    return tuple(label for label in labels if criterion.value(label) is not None)


def merged(
    counts: Mapping[Stratum, int], answers: Mapping[Stratum, tuple[str, ...]], items: int | None
) -> dict[Stratum, Stratum]:
    """The stratum in which each criterion counts for a figure over several criteria.

    Criteria with several pairs are separate strata. A single pair has no kappa, so if items have
    their own criteria, those with the same answers are merged. Criteria without a pair are left
    out.

    Args:
        counts: the number of pairs of each criterion.
        answers: its answers (`answers_of`).
        items: the number of items; None for several. With a single item nothing is merged.
    """
    alone = {
        stratum: Stratum(None, stratum.level, answers[stratum])
        for stratum, count in counts.items()
        if count == 1 and items != 1
    }
    often = Counter(alone.values())
    return {
        stratum: alone[stratum] if stratum in alone and often[alone[stratum]] > 1 else stratum
        for stratum, count in counts.items()
        if count
    }


class PairCounts:
    """Counts the pairs of a judge's and people's answers, in any order.

    Args:
        items: the number of items; None for several.
    """

    def __init__(self, items: int | None = None) -> None:
        self.labelled = False
        self._items = items
        self._pairs: dict[Stratum, Counter[tuple[Any, Any]]] = {}
        self._answers: dict[Stratum, tuple[str, ...]] = {}
        self._equal: Counter[Stratum] = Counter()
        self._last: Stratum | None = None
        self._counts: Counter[tuple[Any, Any]] = Counter()

    def add(
        self, stratum: Stratum, criterion: Criterion, verdict: Verdict, human: Verdict | None
    ) -> None:
        """Count a verdict if it has a human label."""
        if human is None:
            return
        self.labelled = True
        level = stratum.level
        if level == "labels":  # the usual case, where the label is the answer
            if verdict.status not in DECIDED or human.status not in DECIDED:
                return
            pair: tuple[Any, Any] = verdict.label, human.label
        else:
            judge = answer(criterion, level, verdict)
            people = answer(criterion, level, human)
            if not (is_answer(judge) and is_answer(people)):
                return
            self._equal[stratum] += same(judge, people)
            pair = key_of(stratum, judge), key_of(stratum, people)
        if stratum is not self._last:
            self._last, self._counts = stratum, self._pairs.setdefault(stratum, Counter())
            self._answers.setdefault(stratum, answers_of(criterion))
        self._counts[pair] += 1

    def include(self, other: PairCounts) -> None:
        """Add the counts of another."""
        self.labelled |= other.labelled
        for stratum, pairs in other._pairs.items():
            self._pairs.setdefault(stratum, Counter()).update(pairs)
        self._equal += other._equal
        self._answers |= other._answers

    def figures(self) -> AgreementFigures | None:
        """The agreement of all pairs, stratified if there are several criteria."""
        if not self.labelled:
            return None
        each = [*self._each().values()]
        agreement = each[0] if len(each) == 1 else stratified(each)
        return AgreementFigures(
            n=agreement.n,
            accuracy=agreement.accuracy,
            kappa=agreement.kappa,
            undefined=agreement.undefined,
        )

    def over_criteria(self) -> StratifiedFigures | None:
        """How many criteria the kappa covers; None if there is only one."""
        each = [
            agreement for stratum, agreement in self._each().items() if stratum.level != "numbers"
        ]
        if len(each) < 2:
            return None
        known = sum(agreement.kappa is not None and agreement.n > 1 for agreement in each)
        return StratifiedFigures(criteria=known, left_out=len(each) - known)

    def _each(self) -> dict[Stratum, Agreement]:
        """The agreement in each stratum."""
        counts = {stratum: pairs.total() for stratum, pairs in self._pairs.items()}
        where = merged(counts, self._answers, self._items)
        strata: dict[Stratum, Counter[tuple[Any, Any]]] = {}
        equal: Counter[Stratum] = Counter()
        for own, stratum in where.items():
            strata.setdefault(stratum, Counter()).update(self._pairs[own])
            equal[stratum] += self._equal[own]
        return {
            stratum: _agreement(stratum, pairs, equal[stratum]) for stratum, pairs in strata.items()
        }


def _agreement(stratum: Stratum, pairs: Counter[tuple[Any, Any]], equal: int) -> Agreement:
    n = pairs.total()
    if stratum.level == "numbers":
        return Agreement(n, equal / n, None, NUMBERS)
    agreement = agreement_of_counts(pairs)
    return agreement if stratum.level == "labels" else replace(agreement, accuracy=equal / n)


def key_of(stratum: Stratum, answer: Answer) -> str | float:
    """The value of an answer for kappa: a label, or a number with distances.

    Ordered labels become their positions. Numbers without a scale, which have no kappa, are rounded
    as for comparison.
    """
    if stratum.level == "ordered":
        return float(stratum.labels.index(str(answer)))
    if isinstance(answer, Step):
        return answer.number
    return answer if isinstance(answer, str) else f"{answer:.2f}"
