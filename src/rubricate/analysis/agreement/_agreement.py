"""How far a run's judge agrees with the labels in it, criterion by criterion."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from typing import Any, NamedTuple

from rubricate.analysis._finished import LABELS_GO, FinishedRun
from rubricate.analysis.agreement._annotators import (
    AnnotatorsTogether,
    CriterionAnnotators,
    annotators_of,
)
from rubricate.analysis.agreement._discrimination import (
    DecisionRules,
    Discrimination,
    discrimination_of,
)
from rubricate.analysis.agreement._sections import agreement_sections, few_text
from rubricate.errors import InputError
from rubricate.rubric import ABSTENTION, Criterion, Measurement, Rubric
from rubricate.run.results import (
    DOES_NOT_APPLY,
    ResultRow,
    Stratum,
    answer,
    answers_of,
    key_of,
    merged,
    number_of,
    same,
    stratum_of,
)
from rubricate.stats import (
    Bootstrap,
    Calibration,
    Estimate,
    LabelAgreement,
    ScoreAgreement,
    StratifiedAgreement,
    Undecided,
    calibration,
    clustered_share,
    decided_pairs,
    stratified_agreement,
)
from rubricate.stats import label_agreement as of_labels
from rubricate.stats import score_agreement as of_scores
from rubricate.views import Report, Section

NOTHING = Estimate(None)


@dataclass(frozen=True, slots=True)
class CriterionAgreement:
    """One criterion, or several of one pair each with the same answers.

    Attributes:
        name: its name; in words where it is of several.
        measurement: what its answers are.
        statuses: how many verdicts have each status.
        not_applicable: pairs left out since one of the two said that an ordered criterion does
            not apply; that answer has no place in the order.
        agreement: of labels, or of numbers where the answers are numbers.
        calibration: of the judge's probabilities of MET, where it has any.
        auc: the area under their ROC curve.
        of: the names of the criteria that it is of, where these are several.
    """

    name: str
    measurement: Measurement
    statuses: Mapping[str, int]
    not_applicable: int
    agreement: LabelAgreement | ScoreAgreement
    calibration: Calibration | None = None
    auc: Estimate | None = None
    of: tuple[str, ...] = ()

    @property
    def accuracy(self) -> Estimate:
        """The share of equal answers; of metrics and code of equal values."""
        figures = self.agreement.figures
        return figures.get("accuracy") or figures.get("exact_accuracy") or NOTHING

    @property
    def kappa(self) -> Estimate:
        """Cohen's kappa, with squared distances where the answers are in order."""
        figures = self.agreement.figures
        return figures.get("quadratic_kappa") or figures.get("cohen_kappa") or NOTHING


@dataclass(frozen=True, slots=True)
class LevelAgreement:
    """The scores of a tree's groups at one level, against those by the labels.

    Attributes:
        level: 1 for the outermost groups.
        groups: how many different groups there are.
        scores: over all of them and all items with a label on every criterion; items are resampled
            whole.
    """

    level: int
    groups: int
    scores: ScoreAgreement


@dataclass(frozen=True, slots=True)
class AgreementReport(Report):
    """A run's judge against its labels.

    Attributes:
        judge: the judge's name.
        items: items with a label.
        criteria: those with a label, in the rubric's order.
        alone: where several criteria have one pair each, such as those of single items: these
            together, by what their answers are. They are among `criteria`, too.
        stratified: all criteria; None with fewer than two. Metrics and code have no kappa in it.
        calibration: of the judge's probabilities of MET, on all binary criteria.
        discrimination: how far they tell MET from UNMET, and what was to be decided by them, on
            all binary criteria.
        scores: the items' scores against those by their labels; None where no item has a label on
            every criterion.
        annotators: where several annotators labelled the items, the judge beside each of them and
            they among themselves; see `CriterionAnnotators`.
        annotators_together: the same over all criteria with labels or steps of a scale, stratified;
            None with fewer than two.
        undecided: the policy for pairs in which one did not decide.
        bootstrap: how the intervals were made.
        groups: the field of the metadata that says which items belong together; None for none.
        levels: of rubrics that are trees, the scores of their groups against those by the labels,
            the outermost first.
    """

    judge: str
    items: int
    criteria: tuple[CriterionAgreement, ...]
    alone: tuple[CriterionAgreement, ...]
    stratified: StratifiedAgreement | None
    scores: ScoreAgreement | None
    annotators: tuple[CriterionAnnotators, ...]
    annotators_together: AnnotatorsTogether | None
    undecided: Undecided
    bootstrap: Bootstrap
    groups: str | None = None
    calibration: Calibration | None = None
    discrimination: Discrimination | None = None
    levels: tuple[LevelAgreement, ...] = ()

    def to_dict(self) -> dict[str, Any]:
        data = {**asdict(self), "few": self.few}
        return data if self.levels else {name: data[name] for name in data if name != "levels"}

    @property
    def few(self) -> str | None:
        """A warning, where an interval rests on fewer than 8 items or groups of items."""
        found = {one.name: one.agreement.clusters for one in self.criteria if one.agreement.n > 1}
        if self.stratified is not None:
            found["all, stratified"] = self.stratified.clusters
        return few_text(found, "items" if self.groups is None else f"groups by {self.groups}")

    @property
    def calibration_of_all(self) -> Calibration | None:
        """Of all binary criteria together, or of the only one; None without probabilities."""
        each = [one.calibration for one in self.criteria if one.calibration is not None]
        found = self.calibration or (each[0] if len(each) == 1 else None)
        return found if found is not None and found.n else None

    @property
    def whole(self) -> tuple[Estimate, Estimate, int]:
        """Accuracy, kappa and n of the run: stratified, or those of its only criterion."""
        if self.stratified is not None:
            return self.stratified.accuracy, self.stratified.kappa, self.stratified.n
        known = [one for one in self.criteria if one.accuracy.value is not None]
        if len(known) != 1:
            return NOTHING, NOTHING, sum(one.agreement.n for one in self.criteria)
        return known[0].accuracy, known[0].kappa, known[0].agreement.n

    @property
    def title(self) -> str:
        return f"{self.judge} and people"

    def sections(self, *, every: bool = False) -> Iterator[Section]:
        """Tables of the criteria, and what is undefined; with `every` a row for each criterion."""
        return agreement_sections(self, every=every)


def agreement_report(
    run: FinishedRun,
    *,
    undecided: Undecided = "exclude",
    groups: str | None = None,
    rules: DecisionRules = DecisionRules(),  # noqa: B008 (it is frozen)
    bootstrap: Bootstrap | None = None,
    bootstrapped: int | None = None,
) -> AgreementReport:
    """Agreement for every kind of criterion that has labels.

    Binary and nominal answers are compared as labels, ordinal ones with their order; a scale's
    scores and the values of metrics and code as numbers. Over all criteria, kappa is stratified
    (`stats.stratified_agreement`).

    Args:
        run: a run, from `read_run`.
        undecided: what an abstention or a failure is where a person decided: see
            `stats.label_agreement`. Numbers and ordered labels always leave such pairs out.
        groups: a field of the items' metadata, such as the document that they come from: items of
            one value are resampled together. Default: each item by itself.
        rules: what is to be decided by probabilities of MET: a threshold by costs, sets of labels.
            Default: nothing.
        bootstrap: how intervals are made. Default: 2,000 draws, 95 %.
        bootstrapped: of how many criteria with labels, from the first, the figures have such
            intervals; a tree can have a thousand. Default: of all.

    Raises:
        InputError: the run has no labels, or an item lacks the field to group by.
    """
    bootstrap = bootstrap or Bootstrap()
    labelled = [row for row in run.rows if row.human_label is not None]
    if not labelled:
        raise InputError(
            f"this run has no human labels to compare with: {LABELS_GO}",
            file=run.path,
        )
    group_of = run.groups_by(groups)
    own = _own_criteria(run)
    every = _by_stratum(run, labelled, own)
    cluster = group_of if groups is not None else None
    counted = {pairs.stratum: pairs.decided(undecided) for pairs in every}
    where = merged(
        {stratum: len(pairs) for stratum, pairs in counted.items()},
        {pairs.stratum: answers_of(pairs.criterion) for pairs in every},
    )
    alone: dict[Stratum, list[_Pairs]] = {}
    for pairs in every:
        count = len(counted[pairs.stratum])
        if count == 1 or (not count and len(pairs.rows) == 1):
            answers = answers_of(pairs.criterion)
            place = Stratum(None, pairs.stratum.level, answers)
            alone.setdefault(place, []).append(pairs)
    binary = [row for row in labelled if own(row).measurement == "binary"]
    several = len({row.criterion for row in binary}) > 1
    annotators, annotators_together = annotators_of(run, group_of, bootstrap, own)
    return AgreementReport(
        judge=run.judge,
        items=len({row.item for row in labelled}),
        criteria=tuple(
            _criterion(
                pairs,
                undecided,
                cluster,
                bootstrap,
                only_value=bootstrapped is not None and place >= bootstrapped,
            )
            for place, pairs in enumerate(every)
        ),
        alone=tuple(
            _criterion(_Pairs.together(stratum, parts), undecided, group_of, bootstrap)
            for stratum, parts in alone.items()
            if len(parts) > 1
        ),
        stratified=_stratified(counted, where, group_of, bootstrap),
        scores=_scores(run, cluster, bootstrap),
        annotators=annotators,
        annotators_together=annotators_together,
        undecided=undecided,
        bootstrap=bootstrap,
        groups=groups,
        calibration=_calibration(binary, group_of, bootstrap) if several else None,
        discrimination=discrimination_of(binary, group_of, bootstrap.confidence, rules),
        levels=tuple(_levels(run, group_of, bootstrap)),
    )


def _by_stratum(
    run: FinishedRun, labelled: Sequence[ResultRow], own: Callable[[ResultRow], Criterion]
) -> list[_Pairs]:
    """The pairs of every criterion, in the rubric's order."""
    order = {name: place for place, name in enumerate(run.criteria)}
    found: dict[Stratum, _Pairs] = {}
    for row in labelled:
        criterion = own(row)
        stratum = stratum_of(row.criterion, criterion)
        found.setdefault(stratum, _Pairs(stratum, criterion)).add(row, criterion)
    return sorted(found.values(), key=lambda pairs: order[pairs.stratum.name or ""])


def labelled_pairs(run: FinishedRun, criterion: str | None) -> list[LabelledPair]:
    """The pairs that count as `agreement_report` counts them, of all criteria or of one.

    Answers that are numbers of no scale are left out: they have no kappa.

    Raises:
        InputError: the run has none.
    """
    labelled = [
        row
        for row in run.rows
        if row.human_label is not None and criterion in (None, row.criterion)
    ]
    every = _by_stratum(run, labelled, _own_criteria(run))
    found = [
        LabelledPair(pairs.stratum, *pair)
        for pairs in every
        if pairs.stratum.level != "numbers"
        for pair in pairs.decided("exclude")
    ]
    if not found:
        of = "" if criterion is None else f" of the criterion '{criterion}'"
        raise InputError(f"this run has no verdict{of} with a human label", file=run.path)
    return found


def _levels(
    run: FinishedRun, group_of: Mapping[str, Any], bootstrap: Bootstrap
) -> Iterator[LevelAgreement]:
    """Agreement about groups, level by level; nothing where no rubric is a tree."""
    rubrics = [run.rubrics] if isinstance(run.rubrics, Rubric) else run.rubrics.values()
    if not any(rubric.groups for rubric in rubrics):
        return
    found: dict[int, list[tuple[str, float | None, float | None, Any]]] = {}
    for rows in run.item_rows():
        item, groups = rows[0].item, rows[0].groups
        paths = run.rubric_of(item).paths if groups else {}
        for name, score in groups.items():
            if score.human is not None:
                pairs = found.setdefault(len(paths[name]) + 1, [])
                pairs.append((name, score.value, score.human, group_of[item]))
    for level, pairs in sorted(found.items()):
        yield LevelAgreement(
            level,
            len({name for name, *_ in pairs}),
            of_scores(
                [judge for _, judge, _, _ in pairs],
                [human for _, _, human, _ in pairs],
                groups=[group for *_, group in pairs],
                bootstrap=bootstrap,
            ),
        )


def _own_criteria(run: FinishedRun) -> Callable[[ResultRow], Criterion]:
    """Gives the criterion of a line: that of its item, where items have rubrics of their own."""
    rubrics: dict[int, dict[str, Criterion]] = {}

    def own(row: ResultRow) -> Criterion:
        rubric = run.rubric_of(row.item)
        if id(rubric) not in rubrics:
            rubrics[id(rubric)] = rubric.by_name
        return rubrics[id(rubric)][row.criterion]

    return own


class _Pairs:
    """The answers of the judge and of people to one criterion, as they are compared."""

    def __init__(self, stratum: Stratum, criterion: Criterion) -> None:
        self.stratum, self.criterion = stratum, criterion
        self.rows: list[ResultRow] = []
        self.items: list[str] = []
        self.judge: list[Any] = []
        self.human: list[Any] = []
        self.not_applicable = 0
        self.of: tuple[str, ...] = ()

    def add(self, row: ResultRow, criterion: Criterion) -> None:
        level = self.stratum.level
        judge, human = answer(criterion, level, row), answer(criterion, level, row.human)
        self.rows.append(row)
        if DOES_NOT_APPLY in (judge, human):
            self.not_applicable += 1
            return
        self.items.append(row.item)
        self.judge.append(judge)
        self.human.append(human)

    @classmethod
    def together(cls, stratum: Stratum, parts: Sequence[_Pairs]) -> _Pairs:
        """Several criteria as one."""
        whole = cls(stratum, parts[0].criterion)
        whole.of = tuple(part.stratum.name or "" for part in parts)
        for part in parts:
            whole.rows += part.rows
            whole.items += part.items
            whole.judge += part.judge
            whole.human += part.human
            whole.not_applicable += part.not_applicable
        return whole

    def decided(self, undecided: Undecided) -> list[_Pair]:
        """The pairs that count."""
        policy = "exclude" if self.stratum.level != "labels" else undecided
        kept = decided_pairs(self.judge, self.human, undecided=policy, abstention=ABSTENTION)
        return [
            _Pair(
                self.items[at],
                key_of(self.stratum, judge),
                key_of(self.stratum, human),
                same(judge, human),
            )
            for at, judge, human in kept
        ]


class _Pair(NamedTuple):
    """Two answers as kappa takes them, whether they are equal, and the item that they are of."""

    item: str
    judge: str | float
    human: str | float
    equal: bool


class LabelledPair(NamedTuple):
    """A pair that counts, with its criterion."""

    stratum: Stratum
    item: str
    judge: str | float
    human: str | float
    equal: bool


def _stratified(
    counted: Mapping[Stratum, Sequence[_Pair]],
    where: Mapping[Stratum, Stratum],
    group_of: Mapping[str, Any],
    bootstrap: Bootstrap,
) -> StratifiedAgreement | None:
    if len(where) < 2:
        return None
    pairs = [(stratum, pair) for one, stratum in where.items() for pair in counted[one]]
    return stratified_agreement(
        [pair.judge for _, pair in pairs],
        [pair.human for _, pair in pairs],
        [stratum for stratum, _ in pairs],
        equal=[pair.equal for _, pair in pairs],
        without_kappa={stratum for stratum in where.values() if stratum.level == "numbers"},
        groups=[group_of[pair.item] for _, pair in pairs],
        bootstrap=bootstrap,
    )


def _calibration(
    rows: Sequence[ResultRow], group_of: Mapping[str, Any], bootstrap: Bootstrap
) -> Calibration | None:
    """How far the judge's probabilities of MET fit the labels; None where there are none.

    Of what was decided, by the judge and by people.
    """
    known = [row for row in rows if row.status == "judged" and row.human_label in ("MET", "UNMET")]
    if all(row.probability_met is None for row in known):
        return None
    return calibration(
        [row.probability_met for row in known],
        [row.human_label == "MET" for row in known],
        groups=[group_of[row.item] for row in known],
        bootstrap=bootstrap,
    )


def _scores(
    run: FinishedRun, group: Mapping[str, Any] | None, bootstrap: Bootstrap
) -> ScoreAgreement | None:
    """The items' scores against those of their labels."""
    judge, human = run.item_scores, run.human_scores
    if all(score is None for score in human.values()):
        return None
    found = of_scores(
        [judge[item] for item in human],
        list(human.values()),
        groups=None if group is None else [group[item] for item in human],
        bootstrap=bootstrap,
    )
    return _bounded(found, 1.0)


def _bounded(found: ScoreAgreement, most: float) -> ScoreAgreement:
    """Differences inside what they can be: their intervals know no bounds."""
    figures = {
        name: found.figures[name].within(-most if name == "bias" else 0.0, most)
        for name in ("bias", "mae", "rmse", "wasserstein")
    }
    levels = tuple(replace(one, bias=one.bias.within(-most, most)) for one in found.levels)
    return replace(found, figures={**found.figures, **figures}, levels=levels)


def _criterion(
    pairs: _Pairs,
    undecided: Undecided,
    group: Mapping[str, Any] | None,
    bootstrap: Bootstrap,
    *,
    only_value: bool = False,
) -> CriterionAgreement:
    level, kind = pairs.stratum.level, pairs.criterion.measurement
    groups = None if group is None else [group[item] for item in pairs.items]
    found: LabelAgreement | ScoreAgreement
    if level in ("numbers", "steps"):
        scores = of_scores(
            [number_of(one) for one in pairs.judge],
            [number_of(one) for one in pairs.human],
            scale=level == "steps",
            groups=groups,
            bootstrap=bootstrap,
        )
        found = _bounded(scores, _width(pairs.stratum))
        exact = _exact(pairs, group, bootstrap)
        found = replace(found, figures={**found.figures, "exact_accuracy": exact})
    else:
        found = of_labels(
            pairs.judge,
            pairs.human,
            labels=_labels(pairs),
            ordered=level == "ordered",
            undecided="exclude" if level == "ordered" else undecided,
            groups=groups,
            bootstrap=None if only_value else bootstrap,
        )
    own = group or {row.item: row.item for row in pairs.rows}
    told = discrimination_of(pairs.rows, own, bootstrap.confidence) if kind == "binary" else None
    return CriterionAgreement(
        name=pairs.stratum.name or f"{len(pairs.of)} criteria of one pair",
        measurement=kind,
        statuses=dict(Counter(row.status for row in pairs.rows)),
        not_applicable=pairs.not_applicable,
        agreement=found,
        calibration=_calibration(pairs.rows, own, bootstrap) if kind == "binary" else None,
        auc=None if told is None else told.auc,
        of=pairs.of,
    )


def _exact(pairs: _Pairs, group: Mapping[str, Any] | None, bootstrap: Bootstrap) -> Estimate:
    """The share of equal answers: of a scale equal labels, though its numbers may be means."""
    kept = pairs.decided("exclude")
    return clustered_share(
        [pair.equal for pair in kept],
        groups=None if group is None else [group[pair.item] for pair in kept],
        confidence=bootstrap.confidence,
    )


def _width(stratum: Stratum) -> float:
    """How far two answers can be apart."""
    if stratum.level == "numbers":
        return 1.0
    steps = [float(label) for label in stratum.labels]
    return max(steps) - min(steps)


def _labels(pairs: _Pairs) -> list[str]:
    """The criterion's labels in their order, then those that only other items' have of its name."""
    names = answers_of(pairs.criterion)
    if pairs.stratum.level == "ordered":
        return [*names]
    given = [one for one in (*pairs.judge, *pairs.human) if one not in (None, ABSTENTION)]
    return [*dict.fromkeys((*names, *given)), ABSTENTION]
