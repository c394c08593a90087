"""The answers of the judge and of people by criterion, in the form in which they are compared."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Collection, Mapping, Sequence
from typing import Any, NamedTuple

from rubricate.analysis._finished import FinishedRun
from rubricate.errors import InputError
from rubricate.rubric import ABSTENTION, Aggregation, Criterion, Verdict, aggregate
from rubricate.run.results import (
    DOES_NOT_APPLY,
    Answer,
    ResultRow,
    Stratum,
    answer,
    answers_of,
    is_answer,
    key_of,
    merged,
    same,
    stratum_of,
)
from rubricate.stats import (
    Bootstrap,
    StratifiedAgreement,
    Undecided,
    decided_pairs,
    stratified_agreement,
)

_MAJORITY = Aggregation()


class Pair(NamedTuple):
    """Two answers in the form for kappa, whether they are equal, and their criterion and item.

    `stratum` is the stratum in which the pair counts, `criterion` the name of the criterion.
    """

    stratum: Stratum
    item: str
    judge: str | float
    human: str | float
    equal: bool
    criterion: str


class Answers:
    """The answers of the judge and of people to one criterion, or to several combined.

    Args:
        stratum: the stratum in which its pairs count.
        criterion: the criterion, or the first of several.
        rows: the verdicts, each with the criterion of its item.
        of: the names of the criteria, if there are several.
    """

    def __init__(
        self,
        stratum: Stratum,
        criterion: Criterion,
        rows: Sequence[tuple[ResultRow, Criterion]],
        of: Sequence[str] = (),
    ) -> None:
        self.stratum, self.criterion, self.of = stratum, criterion, tuple(of)
        self._rows = rows
        self.rows = [row for row, _ in rows]

    @classmethod
    def together(cls, stratum: Stratum, parts: Sequence[Answers]) -> Answers:
        """Combine several criteria into one."""
        rows = [row for part in parts for row in part._rows]
        names = [part.stratum.name or "" for part in parts]
        return cls(stratum, parts[0].criterion, rows, names)

    @property
    def items(self) -> list[str]:
        """The item of each answer."""
        return [row.item for row in self.rows]

    @property
    def judge(self) -> list[Any]:
        """The judge's answers."""
        return [answer(criterion, self.stratum.level, row) for row, criterion in self._rows]

    @property
    def human(self) -> list[Any]:
        """The labels of the run."""
        return [answer(criterion, self.stratum.level, row.human) for row, criterion in self._rows]

    @property
    def annotators(self) -> list[str]:
        """The names of the annotators with a label."""
        return [*dict.fromkeys(name for row in self.rows for name in row.annotations)]

    def annotator(self, name: str) -> list[Answer]:
        """The answers of one annotator."""
        return self._of_labels(lambda annotator: annotator == name)

    def consensus(self, without: str | None = None) -> list[Answer]:
        """The consensus of the annotators, by the same rule as the run's labels; None if they are
        evenly split."""
        return self._of_labels(lambda annotator: annotator != without)

    def _of_labels(self, is_wanted: Callable[[str], bool]) -> list[Answer]:
        answers = []
        for row, criterion in self._rows:
            votes = [
                _vote(criterion, label)
                for name, label in row.annotations.items()
                if is_wanted(name)
            ]
            verdict = votes[0] if votes else None
            if len(votes) > 1:
                verdict = aggregate(criterion, votes, _MAJORITY)
                verdict = None if verdict.tied else verdict
            answers.append(answer(criterion, self.stratum.level, verdict))
        return answers

    @property
    def binary(self) -> list[ResultRow]:
        """The verdicts on binary criteria."""
        return [row for row, criterion in self._rows if criterion.measurement == "binary"]

    def applicable(self) -> Answers:
        """The answers without those in which one side says that the criterion does not apply."""
        both = zip(self._rows, self.judge, self.human, strict=True)
        rows = [row for row, *sides in both if DOES_NOT_APPLY not in sides]
        return Answers(self.stratum, self.criterion, rows, self.of)

    def decided(self, undecided: Undecided = "exclude") -> list[Pair]:
        """The pairs of verdict and label that count."""
        known = self.applicable()
        policy = "exclude" if self.stratum.level != "labels" else undecided
        kept = decided_pairs(known.judge, known.human, undecided=policy, abstention=ABSTENTION)
        return [self._pair(known.rows[at], judge, human) for at, judge, human in kept]

    def pairs(self, first: Sequence[Answer], second: Sequence[Answer]) -> list[Pair]:
        """The pairs of answers in which both sides decided."""
        rows = zip(self.rows, first, second, strict=True)
        return [self._pair(row, a, b) for row, a, b in rows if is_answer(a) and is_answer(b)]

    def _pair(self, row: ResultRow, judge: Answer, human: Answer) -> Pair:
        keys = key_of(self.stratum, judge), key_of(self.stratum, human)
        return Pair(self.stratum, row.item, *keys, same(judge, human), row.criterion)


def _vote(criterion: Criterion, label: str) -> Verdict:
    status = criterion.status(label)
    value = criterion.value(label) if status == "judged" else None
    return Verdict(criterion.name, status, label, value)


def answers_by_criterion(run: FinishedRun, rows: Sequence[ResultRow]) -> list[Answers]:
    """The answers in rows of a run, by criterion in the rubric's order."""
    order = {name: place for place, name in enumerate(run.criteria)}
    rubrics: dict[int, dict[str, Criterion]] = {}
    by_stratum: dict[Stratum, list[tuple[ResultRow, Criterion]]] = {}
    for row in rows:
        rubric = run.rubric_of(row.item)
        if id(rubric) not in rubrics:
            rubrics[id(rubric)] = rubric.by_name
        criterion = rubrics[id(rubric)][row.criterion]
        by_stratum.setdefault(stratum_of(row.criterion, criterion), []).append((row, criterion))
    ordered = sorted(by_stratum, key=lambda stratum: order[stratum.name or ""])
    return [Answers(stratum, by_stratum[stratum][0][1], by_stratum[stratum]) for stratum in ordered]


def labelled_pairs(run: FinishedRun, criterion: str | None) -> list[Pair]:
    """The pairs that `agreement_report` counts, of all criteria or of one.

    Numbers without a scale are left out, because they have no kappa.

    Raises:
        InputError: there are none.
    """
    labelled = [
        row
        for row in run.rows
        if row.human_label is not None and criterion in (None, row.criterion)
    ]
    pairs = [
        pair
        for answers in answers_by_criterion(run, labelled)
        if answers.stratum.level != "numbers"
        for pair in answers.decided()
    ]
    if not pairs:
        of = "" if criterion is None else f" of the criterion '{criterion}'"
        raise InputError(f"this run has no verdict{of} with a human label", file=run.path)
    return pairs


def stratified(
    pairs: Sequence[Pair],
    criteria: Collection[Answers],
    group_of: Mapping[str, Any],
    bootstrap: Bootstrap | None,
    weights: Mapping[tuple[str, str], float] | None = None,
) -> StratifiedAgreement:
    """The agreement over several criteria. Those with one pair each and the same answers count as
    one."""
    items = len({pair.item for pair in pairs})
    where = strata_of(Counter(pair.stratum for pair in pairs), criteria, items)
    return stratified_agreement(
        [pair.judge for pair in pairs],
        [pair.human for pair in pairs],
        [where[pair.stratum] for pair in pairs],
        equal=[pair.equal for pair in pairs],
        without_kappa={stratum for stratum in where.values() if stratum.level == "numbers"},
        groups=[group_of[pair.item] for pair in pairs],
        weights=worth_of(pairs, weights),
        bootstrap=bootstrap,
    )


def worth_of(
    parts: Sequence[ResultRow] | Sequence[Pair], weights: Mapping[tuple[str, str], float] | None
) -> list[float] | None:
    """The weight of the label of each row or pair; None if all are equal."""
    return None if weights is None else [weights[part.item, part.criterion] for part in parts]


def strata_of(
    counts: Mapping[Stratum, int], criteria: Collection[Answers], items: int
) -> dict[Stratum, Stratum]:
    """The stratum in which the pairs of each criterion count; see `run.results.merged`."""
    labels = {answers.stratum: answers_of(answers.criterion) for answers in criteria}
    return merged(counts, labels, items)
