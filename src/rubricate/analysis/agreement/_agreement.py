"""How far a run's judge agrees with the labels in it, criterion by criterion."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from typing import Any, Literal

from rubricate.analysis._finished import LABELS_GO, FinishedRun
from rubricate.analysis.agreement._annotators import (
    AnnotatorsTogether,
    CriterionAnnotators,
    annotators_of,
)
from rubricate.analysis.agreement._discrimination import (
    DecisionRules,
    Discrimination,
    calibration_of,
    decision_lines,
    discrimination_of,
)
from rubricate.analysis.agreement._pairs import Answers, answers_by_criterion, stratified
from rubricate.errors import InputError
from rubricate.rubric import ABSTENTION, Measurement, Rubric
from rubricate.run.results import Stratum, answers_of, kappa_name, number_of
from rubricate.stats import (
    Bootstrap,
    Calibration,
    Estimate,
    LabelAgreement,
    ScoreAgreement,
    StratifiedAgreement,
    Undecided,
    clustered_share,
)
from rubricate.stats import label_agreement as of_labels
from rubricate.stats import score_agreement as of_scores
from rubricate.views import (
    NONE,
    Column,
    Paragraph,
    Report,
    Row,
    Section,
    Table,
    ends,
    estimate_text,
    figure,
    numbers,
    p_text,
    percent,
    say,
    stratified_text,
)

MOST_ROWS = 60
"""Criteria that are shown unless all are asked for."""
FEW = 8
"""With fewer items, or groups of them, an interval is rough."""
NAMED = 3
"""Criteria that a warning names."""
NOTHING = Estimate(None)
_UNDECIDED = {
    "exclude": "left out",
    "label": "an abstention is a label, a failure is left out",
    "wrong": "a judge that does not decide is wrong",
}


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

    @property
    def error_rates(self) -> tuple[Estimate, Estimate]:
        """Of MET, how often the judge gave it wrongly, and how often it missed it."""
        found = self.agreement
        met = found.by_label.get("MET", {}) if isinstance(found, LabelAgreement) else {}
        false_positive = met.get("false_positive_rate", NOTHING)
        return false_positive, met.get("false_negative_rate", NOTHING)

    @property
    def people_labels(self) -> dict[str, int] | None:
        """How often people gave each label, of the pairs that count; None of numbers."""
        found = self.agreement
        if not isinstance(found, LabelAgreement):
            return None
        return {name: sum(row) for name, row in zip(found.labels, found.confusion, strict=True)}


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
        return few_text(found, self._left_out)

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
        """A table of the criteria with labels, one of those with numbers, and what is undefined.

        Criteria of one pair each (those of single items) are shown together, unless `every` is
        true.
        """
        shown = self._shown(every)
        yield from self._labels_table(shown)
        counts = [
            f"{one.name} {people.get('UNMET', 0)} and {people.get('MET', 0)}"
            for one in shown
            if one.measurement == "binary" and (people := one.people_labels) is not None
        ]
        if counts:
            yield say(
                f"n of false pos (people's UNMET) and of false neg (MET): {'; '.join(counts)}"
            )
        yield from self._numbers_table(shown)
        if any(len(one.found.against) > 1 for one in self.annotators):
            yield self._annotators_table(every)
        whole = self.stratified
        if whole is not None:
            if whole.strata > 1:
                told = stratified_text(whole.strata - whole.left_out, whole.left_out)
                yield say(f"all, stratified: kappa is the {told}")
            auc = None if self.discrimination is None else self.discrimination.auc
            yield from _probabilities("all binary", self.calibration, auc)
        if self.discrimination is not None:
            yield from decision_lines(self.discrimination)
        for one in shown:
            yield from _beside(one)
        hidden = len(self.criteria) + len(self.alone) - len(shown)
        if hidden and not every:
            yield say(f"{hidden} criteria have no row of their own: see --every-criterion")
        if self.few is not None:
            yield say(self.few, "warning")
        how = self.bootstrap
        yield say(
            f"Intervals: {percent(how.confidence)}, Wilson's for shares, of the posterior for "
            f"kappa ({how.resamples} draws), else the jackknife over {self._left_out}. Pairs in "
            f"which one did not decide: {_UNDECIDED[self.undecided]}. --json has all figures.",
            "quiet",
        )

    @property
    def _left_out(self) -> str:
        return "items" if self.groups is None else f"groups by {self.groups}"

    def _shown(self, every: bool) -> Sequence[CriterionAgreement]:
        """The rows: criteria of one pair each are one row, unless all are asked for."""
        if every:
            return self.criteria
        several = [one for one in self.criteria if one.name not in self._together]
        return [*several[:MOST_ROWS], *self.alone]

    @property
    def _together(self) -> set[str]:
        """The names of criteria of one pair each."""
        return {name for one in self.alone for name in one.of}

    def _labels_table(self, shown: Sequence[CriterionAgreement]) -> Iterator[Table]:
        rows = [
            Row([one.name, str(one.agreement.n), one.accuracy, one.kappa, *one.error_rates])
            for one in shown
            if isinstance(one.agreement, LabelAgreement)
        ]
        totals, whole = [], self.stratified
        if whole is not None:
            name = "all, stratified" if whole.strata > 1 else "all"
            totals = [Row([name, str(whole.n), whole.accuracy, whole.kappa, "", ""], "strong")]
        if rows or totals:
            headings = numbers("n", "accuracy", "kappa", "false pos", "false neg")
            title = f"{self.judge} against labels of {self.items} items"
            yield Table([Column("criterion", is_text=True), *headings], rows, title, totals)

    def _numbers_table(self, shown: Sequence[CriterionAgreement]) -> Iterator[Table]:
        scored = [one for one in shown if isinstance(one.agreement, ScoreAgreement)]
        steps = any("quadratic_kappa" in one.agreement.figures for one in scored)

        def row(
            name: str,
            agreement: LabelAgreement | ScoreAgreement,
            exact: Estimate,
            kappa: Estimate,
            tone: Literal["", "strong"] = "",
        ) -> Row:
            figures = [agreement.figures[one] for one in ("pearson", "mae", "bias")]
            own = [exact, *([kappa] if steps else [])]
            return Row([name, str(agreement.n), *own, *figures], tone)

        rows = [row(one.name, one.agreement, one.accuracy, one.kappa) for one in scored]
        if self.scores is not None and self.scores.n:
            rows.append(row("item score", self.scores, NOTHING, NOTHING, "strong"))
        for level in self.levels:
            many = f"{level.groups} groups" if level.groups > 1 else "1 group"
            rows.append(row(f"level {level.level}, {many}", level.scores, NOTHING, NOTHING))
        if rows:
            kappa = ("kappa",) if steps else ()
            headings = numbers("n", "exact", *kappa, "correlation", "mean error", "bias")
            title = f"{self.judge} against human scores of {self.items} items"
            yield Table([Column("criterion", is_text=True), *headings], rows, title)

    def _annotators_table(self, every: bool) -> Table:
        """Kappa, or the correlation of numbers: the judge with people, and people among
        themselves."""

        def row(
            name: str,
            against: Sequence[Estimate],
            consensus: Estimate,
            ceiling: float | None,
            alpha: Estimate,
            tone: Literal["", "strong"] = "",
        ) -> Row:
            known = [one.value for one in against if one.value is not None]
            span = ends(min(known), max(known)) if known else NONE
            return Row([name, str(len(against)), span, consensus, figure(ceiling), alpha], tone)

        rows = []
        for one in self.annotators:
            if not every and one.name in self._together:
                continue
            found, name = one.found, "pearson"
            if one.level in ("labels", "ordered"):
                name = kappa_name(one.level)
            against = [agreement.figures[name] for agreement in found.against.values()]
            ceiling = found.ceiling.get(name)
            rows.append(row(one.name, against, found.consensus.figures[name], ceiling, found.alpha))
        totals, whole = [], self.annotators_together
        if whole is not None:
            of_all = whole.consensus, whole.ceiling, whole.alpha
            totals = [row("all, stratified", [*whole.against.values()], *of_all, "strong")]
        headings = ("people", "judge, each", "judge, together", "one of them, others", "alpha")
        return Table(
            [Column("criterion", is_text=True), *numbers(*headings)],
            rows[: None if every else MOST_ROWS],
            "The judge and the annotators: kappa, of numbers the correlation",
            totals,
        )


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
            f"this run has no human labels to compare with: {LABELS_GO}", file=run.path
        )
    group_of = run.groups_by(groups)
    cluster = group_of if groups is not None else None
    every = answers_by_criterion(run, labelled)
    pairs = [answers.decided(undecided) for answers in every]
    alone: dict[Stratum, list[Answers]] = {}
    for answers, counted in zip(every, pairs, strict=True):
        if len(counted) == 1 or (not counted and len(answers.rows) == 1):
            place = Stratum(None, answers.stratum.level, answers_of(answers.criterion))
            alone.setdefault(place, []).append(answers)
    of_binary = {id(row) for answers in every for row in answers.binary}
    binary = [row for row in labelled if id(row) in of_binary]
    several = len({row.criterion for row in binary}) > 1
    flat = [pair for counted in pairs for pair in counted]
    over_all = len({pair.stratum for pair in flat}) > 1
    annotators, annotators_together = annotators_of(run, group_of, bootstrap)
    return AgreementReport(
        judge=run.judge,
        items=len({row.item for row in labelled}),
        criteria=tuple(
            _criterion(
                answers,
                undecided,
                cluster,
                bootstrap,
                only_value=bootstrapped is not None and place >= bootstrapped,
            )
            for place, answers in enumerate(every)
        ),
        alone=tuple(
            _criterion(Answers.together(stratum, parts), undecided, group_of, bootstrap)
            for stratum, parts in alone.items()
            if len(parts) > 1
        ),
        stratified=stratified(flat, every, group_of, bootstrap) if over_all else None,
        scores=_scores(run, cluster, bootstrap),
        annotators=annotators,
        annotators_together=annotators_together,
        undecided=undecided,
        bootstrap=bootstrap,
        groups=groups,
        calibration=calibration_of(binary, group_of, bootstrap) if several else None,
        discrimination=discrimination_of(binary, group_of, bootstrap.confidence, rules),
        levels=tuple(_levels(run, group_of, bootstrap)),
    )


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
    answers: Answers,
    undecided: Undecided,
    group: Mapping[str, Any] | None,
    bootstrap: Bootstrap,
    *,
    only_value: bool = False,
) -> CriterionAgreement:
    level, kind = answers.stratum.level, answers.criterion.measurement
    known = answers.applicable()
    groups = None if group is None else [group[row.item] for row in known.rows]
    found: LabelAgreement | ScoreAgreement
    if level in ("numbers", "steps"):
        scores = of_scores(
            [number_of(one) for one in known.judge],
            [number_of(one) for one in known.human],
            scale=level == "steps",
            groups=groups,
            bootstrap=bootstrap,
        )
        pairs = answers.decided()
        # Of a scale equal labels count, though its numbers may be means.
        exact = clustered_share(
            [pair.equal for pair in pairs],
            groups=None if group is None else [group[pair.item] for pair in pairs],
            confidence=bootstrap.confidence,
        )
        steps = [0.0, 1.0] if level == "numbers" else [*map(float, answers.stratum.labels)]
        found = _bounded(scores, max(steps) - min(steps))
        found = replace(found, figures={**found.figures, "exact_accuracy": exact})
    else:
        judge, human = known.judge, known.human
        labels = answers_of(answers.criterion)
        if level != "ordered":  # those of other items' criteria of this name come last
            given = [one for one in (*judge, *human) if one not in (None, ABSTENTION)]
            labels = (*dict.fromkeys((*labels, *given)), ABSTENTION)
        found = of_labels(
            judge,
            human,
            labels=labels,
            ordered=level == "ordered",
            undecided="exclude" if level == "ordered" else undecided,
            groups=groups,
            bootstrap=None if only_value else bootstrap,
        )
    own = group or {row.item: row.item for row in answers.rows}
    fit = discrimination = None
    if kind == "binary":
        discrimination = discrimination_of(answers.rows, own, bootstrap.confidence)
        fit = calibration_of(answers.rows, own, bootstrap)
    return CriterionAgreement(
        name=answers.stratum.name or f"{len(answers.of)} criteria of one pair",
        measurement=kind,
        statuses=dict(Counter(row.status for row in answers.rows)),
        not_applicable=len(answers.rows) - len(known.rows),
        agreement=found,
        calibration=fit,
        auc=None if discrimination is None else discrimination.auc,
        of=answers.of,
    )


# What a report shows of a criterion beside its row


def few_text(found: Mapping[str, int], what: str) -> str | None:
    """A warning of intervals that rest on few items, or groups of them; None where none does."""
    names = [name for name, clusters in found.items() if clusters < FEW]
    if not names:
        return None
    more = f" and {len(names) - NAMED} more" if len(names) > NAMED else ""
    return f"Rough intervals, of fewer than {FEW} {what}: {', '.join(names[:NAMED])}{more}"


def _beside(one: CriterionAgreement) -> Iterator[Paragraph]:
    """What its row has no room for: probabilities, what is undefined or not decided."""
    yield from _probabilities(one.name, one.calibration, one.auc)
    figures = one.agreement.figures
    shown = {"accuracy": one.accuracy, "kappa": one.kappa, "correlation": figures.get("pearson")}
    reasons: dict[str, list[str]] = {}
    for name, estimate in shown.items():
        if estimate is not None and estimate.value is None and estimate.undefined is not None:
            reasons.setdefault(estimate.undefined, []).append(name)
    for reason, names in reasons.items():
        yield say(f"{one.name}: no {', '.join(names)}: {reason}")
    if isinstance(one.agreement, ScoreAgreement) and one.agreement.levels:
        levels = one.agreement.levels
        steps = (f"{step.level:g}: {estimate_text(step.bias)} (n {step.n})" for step in levels)
        apart, ks = (estimate_text(figures[name]) for name in ("wasserstein", "ks"))
        yield say(
            f"{one.name}: bias by people's step {', '.join(steps)}; earth mover's distance "
            f"{apart}, KS {ks}"
        )
    causes = dict(one.agreement.not_decided)
    if one.not_applicable:
        causes["does not apply"] = one.not_applicable
    if causes:
        told = ", ".join(f"{cause} {count}" for cause, count in causes.items())
        yield say(f"{one.name}: not decided: {told}")


def _probabilities(
    name: str, found: Calibration | None, auc: Estimate | None
) -> Iterator[Paragraph]:
    """How far the judge's probabilities of MET fit."""
    if found is not None:
        told = "" if auc is None else f"AUC {estimate_text(auc)}, "
        fit = f"{told}Brier {estimate_text(found.brier)}, {calibration_text(found)}, n {found.n}"
        yield say(f"{name}: probabilities of MET: {fit}")


def calibration_text(found: Calibration) -> str:
    """The calibration error, and whether it is more than noise."""
    error, p = estimate_text(found.calibration_error), found.miscalibration
    if p is None:
        return f"calibration error {error}"
    shown = "miscalibration is shown" if p < 0.05 else "no miscalibration is shown"
    return f"calibration error {error} ({shown}, p {p_text(p)})"
