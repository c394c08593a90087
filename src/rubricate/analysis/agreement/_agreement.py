"""Agreement of a run's judge with the labels in the run, by criterion."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from typing import Any, Literal

from rubricate._spelling import counted, listed
from rubricate.analysis._finished import BY_PROMPT, LABELS_GO, FinishedRun, RunLike, finished_run
from rubricate.analysis._label_choice import (
    LabelChoice,
    item_weights,
    label_choice,
    label_weights,
)
from rubricate.analysis.agreement._annotators import (
    AnnotatorsTogether,
    CriterionAnnotators,
    annotators_of,
    perfect_of,
)
from rubricate.analysis.agreement._pairs import (
    Answers,
    Pair,
    answers_by_criterion,
    stratified,
    worth_of,
)
from rubricate.analysis.agreement._probabilities import (
    DecisionRules,
    Probabilities,
    decision_texts,
    fit_row,
    probabilities_of,
)
from rubricate.errors import InputError
from rubricate.rubric import ABSTENTION, Measurement, Rubric
from rubricate.run.results import ResultRow, Stratum, answers_of, kappa_name, number_of
from rubricate.stats import (
    Bootstrap,
    Estimate,
    LabelAgreement,
    PooledShare,
    ScoreAgreement,
    StratifiedAgreement,
    Undecided,
    clustered_share,
    label_agreement,
    pooled_shares,
    score_agreement,
)
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
    percent,
    say,
    stratified_text,
)

MOST_ROWS = 60
"""The maximum number of criteria shown by default; more do not fit on a few screens."""
FEW = 8
"""With fewer items, or groups of items, an interval is only rough."""
LEAST_POOLED = 5
"""The minimum number of criteria for partial pooling; fewer say hardly anything about how much
criteria differ."""
NAMED = 3
"""The maximum number of criteria that a warning names."""
NOTHING = Estimate(None)
CRITERION = Column("criterion", is_text=True)
UNDECIDED = {
    "exclude": "left out",
    "label": "an abstention is a label, a failure is left out",
    "wrong": "a judge that does not decide is wrong",
}
_FOR_LABELS = {
    "accuracy": "accuracy",
    "kappa": "kappa",
    "false pos": "false_positive_rate",
    "false neg": "false_negative_rate",
}
"""The columns of the table of labels: heading and figure; see `figure_of`."""
_FOR_NUMBERS = {
    "exact": "accuracy",
    "kappa": "kappa",
    "correlation": "pearson",
    "mean error": "mae",
    "bias": "bias",
}
_NAMES = {
    "accuracy": ("accuracy", "exact_accuracy"),
    "kappa": ("quadratic_kappa", "cohen_kappa"),
}
"""Figures that depend on the kind of answers: the first one that exists."""


def figure_of(agreement: LabelAgreement | ScoreAgreement, name: str) -> Estimate:
    """Return a figure of agreement by its name, without a value if it is undefined for the answers.

    `accuracy` is the share of equal answers. `kappa` is Cohen's kappa, with quadratic weights for
    ordered answers. Error rates are those of MET.
    """
    met = agreement.by_label.get("MET", {}) if isinstance(agreement, LabelAgreement) else {}
    for known in _NAMES.get(name, (name,)):
        estimate = agreement.figures.get(known) or met.get(known)
        if estimate is not None:
            return estimate
    return NOTHING


@dataclass(frozen=True, slots=True)
class CriterionAgreement:
    """The agreement on one criterion, or on several with one pair each and the same answers.

    Attributes:
        name: the name of the criterion; a description if there are several.
        measurement: the kind of its answers.
        statuses: the number of verdicts by status.
        not_applicable: pairs left out because the judge or a person said that an ordered criterion
            does not apply, which has no place in the order.
        agreement: the agreement of labels, or of numbers.
        probabilities: the quality of the judge's probabilities of MET, if it gives any.
        of: the names of the criteria, if there are several.
    """

    name: str
    measurement: Measurement
    statuses: Mapping[str, int]
    not_applicable: int
    agreement: LabelAgreement | ScoreAgreement
    probabilities: Probabilities | None = None
    of: tuple[str, ...] = ()

    @property
    def accuracy(self) -> Estimate:
        """The share of equal answers; see `figure_of`."""
        return figure_of(self.agreement, "accuracy")

    @property
    def kappa(self) -> Estimate:
        """Cohen's kappa; see `figure_of`."""
        return figure_of(self.agreement, "kappa")

    @property
    def people_labels(self) -> dict[str, int] | None:
        """The number of pairs by human label; None for numbers."""
        agreement = self.agreement
        if not isinstance(agreement, LabelAgreement):
            return None
        rows = zip(agreement.labels, agreement.confusion, strict=True)
        return {label: sum(row) for label, row in rows}


@dataclass(frozen=True, slots=True)
class LevelAgreement:
    """The scores of a tree's groups at one level, against scores from labels.

    Attributes:
        level: the level; 1 for the outermost groups.
        groups: the number of different groups.
        scores: the agreement over all groups and all items with a label on every criterion; whole
            items are resampled.
    """

    level: int
    groups: int
    scores: ScoreAgreement


@dataclass(frozen=True, slots=True)
class AgreementReport(Report):
    """The agreement of a run's judge with the labels.

    Attributes:
        judge: the judge's name.
        items: the number of items with a label.
        criteria: the labelled criteria, in the rubric's order.
        alone: criteria with one pair each, such as those of single items, combined by the kind of
            their answers. They are among `criteria`, too.
        stratified: all criteria together; None with fewer than two. It has no kappa for metrics and
            code.
        probabilities: the quality of the judge's probabilities of MET and of decisions by them, on
            all binary criteria.
        scores: the items' scores against scores from labels; None if no item has a label on every
            criterion.
        annotators: with several annotators, the agreement of the judge with each of them, and among
            themselves; see `CriterionAnnotators`.
        annotators_together: the same over all criteria with labels or steps of a scale, stratified;
            None with fewer than two.
        labels: how the labelled items were chosen; figures are weighted accordingly if possible.
        undecided: the policy for pairs in which one side did not decide.
        bootstrap: the settings of the intervals.
        groups: the metadata field that says which items belong together, if any.
        levels: for trees, the scores of groups against scores from labels, the outermost first.
        pooled: with five criteria or more, the accuracy of each by partial pooling, by name (see
            `stats.pooled_shares`).
        simultaneous: whether all intervals of criteria hold together.
    """

    judge: str
    items: int
    criteria: tuple[CriterionAgreement, ...]
    alone: tuple[CriterionAgreement, ...]
    stratified: StratifiedAgreement | None
    scores: ScoreAgreement | None
    annotators: tuple[CriterionAnnotators, ...]
    annotators_together: AnnotatorsTogether | None
    labels: LabelChoice
    undecided: Undecided
    bootstrap: Bootstrap
    groups: str | None = None
    probabilities: Probabilities | None = None
    levels: tuple[LevelAgreement, ...] = ()
    pooled: Mapping[str, PooledShare] = field(default_factory=dict)
    simultaneous: bool = False

    def to_dict(self) -> dict[str, Any]:
        data = {**asdict(self), "few": self.few}
        return data if self.levels else {name: data[name] for name in data if name != "levels"}

    @property
    def few(self) -> str | None:
        """A warning if an interval is based on fewer than 8 items or groups of items."""
        clusters = {
            criterion.name: criterion.agreement.clusters
            for criterion in self.criteria
            if criterion.agreement.n > 1
        }
        if self.stratified is not None:
            clusters["all"] = self.stratified.clusters
        return few_text(clusters, self.groups)

    @property
    def whole(self) -> tuple[Estimate, Estimate, int]:
        """Accuracy, kappa and n of the run: stratified, or of its only criterion."""
        if self.stratified is not None:
            return self.stratified.accuracy, self.stratified.kappa, self.stratified.n
        known = [criterion for criterion in self.criteria if criterion.accuracy.value is not None]
        if len(known) != 1:
            return NOTHING, NOTHING, sum(criterion.agreement.n for criterion in self.criteria)
        return known[0].accuracy, known[0].kappa, known[0].agreement.n

    @property
    def title(self) -> str:
        return f"How far {self.judge} agrees with people"

    def sections(self, *, every: bool = False) -> Iterator[Section]:
        """A table of criteria with labels, one of criteria with numbers, and what is undefined.

        Criteria with one pair each (those of single items) are shown together unless `every` is
        true.
        """
        in_groups = {name for criterion in self.alone for name in criterion.of}
        shown: Sequence[CriterionAgreement] = self.criteria
        if not every:
            several = [criterion for criterion in shown if criterion.name not in in_groups]
            shown = [*several[:MOST_ROWS], *self.alone]
        yield from self._labels_table(shown)
        labelled = [each for each in shown if isinstance(each.agreement, LabelAgreement)]
        if labelled:
            unshown = [each.name for each in labelled if (each.kappa.low or 0.0) <= 0]
            text = f"shown for {len(labelled) - len(unshown)} of {len(labelled)} criteria"
            if unshown:
                text += f", not for {listed(unshown, NAMED)}"
            yield say(f"Agreement beyond chance is {text}.", "strong")
        if self.stratified is not None and self.stratified.strata > 1:
            left_out = self.stratified.left_out
            mean = stratified_text(self.stratified.strata - left_out, left_out)
            yield say(f"kappa of all: {mean}")
        counts = [
            f"{criterion.name} {people.get('UNMET', 0)} and {people.get('MET', 0)}"
            for criterion in shown
            if criterion.measurement == "binary" and (people := criterion.people_labels) is not None
        ]
        if counts:
            yield say(
                "Labels UNMET (false pos is a share of them) and MET (false neg is): "
                f"{'; '.join(counts)}"
            )
        yield from self._numbers_table(shown)
        if any(len(criterion.agreement.against) > 1 for criterion in self.annotators):
            yield self._annotators_table(() if every else in_groups, None if every else MOST_ROWS)
        yield from self._probabilities_table(shown)
        for criterion in shown:
            yield from _notes(criterion)
        hidden = len(self.criteria) + len(self.alone) - len(shown)
        if hidden and not every:
            yield say(f"{hidden} criteria have no row here: see --every-criterion")
        if self.pooled:
            ranked = sorted(self.pooled.items(), key=lambda each: -each[1].lowest)[:NAMED]
            named = ", ".join(f"{name} {percent(each.lowest)}" for name, each in ranked)
            yield say(
                "pooled: the accuracy drawn to those of the other criteria, the more the fewer its "
                f"labels. Probability of the lowest accuracy of all: {named}"
            )
        if self.few is not None:
            yield say(self.few, "warning")
        if self.labels.text is not None:
            yield say(self.labels.text, "quiet" if self.labels.problem is None else "warning")
        together = ""
        if self.simultaneous:
            together = f" for all {len(self.criteria)} criteria together (Bonferroni)"
        yield say(
            f"In brackets: intervals of {percent(self.bootstrap.confidence)}{together}, over "
            f"{with_way_out(self.groups)}; see the guide 'Statistics'. Undecided pairs: "
            f"{UNDECIDED[self.undecided]}. --json has all figures.",
            "quiet",
        )

    def _labels_table(self, shown: Sequence[CriterionAgreement]) -> Iterator[Table]:
        rows = [
            self._with_pooled(_row(criterion.name, criterion.agreement, _FOR_LABELS))
            for criterion in shown
            if isinstance(criterion.agreement, LabelAgreement)
        ]
        totals, whole = [], self.stratified
        if whole is not None:
            figures = [getattr(whole, key, "") for key in _FOR_LABELS.values()]
            totals = [self._with_pooled(Row(["all", str(whole.n), *figures], "strong"))]
        if rows or totals:
            title = f"{self.judge} against labels of {counted(self.items, 'item')}"
            columns = [CRITERION, *numbers("n", *_FOR_LABELS, *(["pooled"] if self.pooled else []))]
            yield Table(columns, rows, title, totals)

    def _with_pooled(self, row: Row) -> Row:
        if not self.pooled:
            return row
        pooled = self.pooled.get(str(row.cells[0]))
        return replace(row, cells=[*row.cells, "" if pooled is None else pooled.share])

    def _numbers_table(self, shown: Sequence[CriterionAgreement]) -> Iterator[Table]:
        scored = [
            criterion for criterion in shown if isinstance(criterion.agreement, ScoreAgreement)
        ]
        columns = dict(_FOR_NUMBERS)
        if not scored:
            del columns["exact"]
        if all("quadratic_kappa" not in criterion.agreement.figures for criterion in scored):
            del columns["kappa"]
        rows = [_row(criterion.name, criterion.agreement, columns) for criterion in scored]
        if self.scores is not None and self.scores.n:
            rows.append(_row("item score", self.scores, columns, "strong"))
        for level in self.levels:
            groups = f"{level.groups} groups" if level.groups > 1 else "1 group"
            rows.append(_row(f"level {level.level}, {groups}", level.scores, columns))
        if rows:
            title = f"{self.judge} against human scores of {self.items} items"
            yield Table([CRITERION, *numbers("n", *columns)], rows, title)

    def _probabilities_table(self, shown: Sequence[CriterionAgreement]) -> Iterator[Section]:
        """The quality of probabilities of MET, and of decisions by them."""
        if self.probabilities is None:
            return
        rows = [
            fit_row(criterion.name, criterion.probabilities)
            for criterion in shown
            if criterion.probabilities is not None
        ]
        whole = fit_row("all", self.probabilities, "strong")
        headings = ("n", "AUC", "Brier", "calibration error", "p")
        title = f"{self.judge}'s probabilities of MET"
        yield Table([CRITERION, *numbers(*headings)], rows, title, [whole] if rows[1:] else [])
        yield from map(say, decision_texts(self.probabilities))

    def _annotators_table(self, without: Collection[str], most: int | None) -> Table:
        """Kappa, or the correlation for numbers: the judge with people, and people among
        themselves."""
        rows = []
        for criterion in self.annotators:
            if criterion.name in without:
                continue
            agreement, name = criterion.agreement, "pearson"
            if criterion.level in ("labels", "ordered"):
                name = kappa_name(criterion.level)
            against = [each.figures[name] for each in agreement.against.values()]
            consensus, ceiling = agreement.consensus.figures[name], agreement.ceiling.get(name)
            figures = consensus, ceiling, perfect_of(criterion), agreement.alpha
            rows.append(_annotators_row(criterion.name, against, *figures))
        totals, whole = [], self.annotators_together
        if whole is not None:
            against = [*whole.against.values()]
            figures = whole.consensus, whole.ceiling, Estimate(whole.perfect), whole.alpha
            totals = [_annotators_row("all", against, *figures, "strong")]
        headings = (
            *("people", "judge, each", "judge, together", "one of them, others"),
            *("perfect judge", "alpha"),
        )
        return Table(
            [CRITERION, *numbers(*headings)],
            rows[:most],
            "The judge and the annotators: kappa, of numbers the correlation",
            totals,
        )


def agreement_report(
    run: RunLike,
    *,
    undecided: Undecided = "exclude",
    groups: str | None = None,
    rules: DecisionRules = DecisionRules(),  # noqa: B008 (it is frozen)
    bootstrap: Bootstrap | None = None,
    bootstrapped: int | None = None,
    simultaneous: bool = False,
) -> AgreementReport:
    """Compute the agreement of a run's judge with the labels, for every kind of criterion.

    Binary and nominal answers are compared as labels, ordinal ones with their order, and the scores
    of scales and the values of metrics and code as numbers. Over all criteria, kappa is stratified
    (`stats.stratified_agreement`).

        print(agreement_report(read_run("runs/physics")))

    Args:
        run: a run, from `grade` or `read_run`, or its folder.
        undecided: how an abstention or a failure counts if a person decided; see
            `stats.label_agreement`. Such pairs are always left out for numbers and ordered labels.
        groups: a field of the items' metadata, such as their source document: items with the same
            value are resampled together. `none` treats each item by itself. Default: by prompt, if
            prompts repeat.
        rules: decisions by probabilities of MET: a threshold by costs, sets of labels. Default:
            none.
        bootstrap: the settings of the intervals. Default: 2,000 draws, 95 %.
        bootstrapped: the number of labelled criteria that get such intervals; a tree can have a
            thousand. Default: all.
        simultaneous: whether the confidence holds for all intervals of criteria together
            (Bonferroni), rather than for each.

    Raises:
        InputError: the run has no labels, an item lacks the field to group by, or there are rules
            and no probabilities.
    """
    run, bootstrap = finished_run(run), bootstrap or Bootstrap()
    labelled = [row for row in run.rows if row.human_label is not None]
    if not labelled:
        raise InputError(
            f"this run has no human labels to compare with: {LABELS_GO}", file=run.path
        )
    groups = run.grouping(groups)
    group_of = run.groups_by(groups)
    every = answers_by_criterion(run, labelled)
    counted = [answers.decided(undecided) for answers in every]
    alone: dict[Stratum, list[Answers]] = {}
    for answers, pairs in zip(every, counted, strict=True):
        if len(pairs) == 1 or (not pairs and len(answers.rows) == 1):
            place = Stratum(None, answers.stratum.level, answers_of(answers.criterion))
            alone.setdefault(place, []).append(answers)
    of_binary = {id(row) for answers in every for row in answers.binary}
    binary = [row for row in labelled if id(row) in of_binary]
    flat = [pair for pairs in counted for pair in pairs]
    weights = label_weights(run)
    probabilities = None
    if weights is None:
        probabilities = probabilities_of(binary, group_of, bootstrap, rules)
    if probabilities is None and rules != DecisionRules():
        cause = f"{run.judge} gave none with a label: grade with --mode probability"
        if weights is not None:
            cause = "labels of --order active are not supported"
        raise InputError(f"costs and coverage decide by probabilities, and {cause}", file=run.path)
    whole = _Sample(group_of, weights, bootstrap)
    each = replace(whole, group_of=group_of if groups is not None else None)
    if simultaneous:
        level = 1 - (1 - bootstrap.confidence) / len(every)
        each = replace(each, bootstrap=replace(bootstrap, confidence=level))
    over_all = len({pair.stratum for pair in flat}) > 1
    annotators, annotators_together = annotators_of(run, group_of, bootstrap)
    return AgreementReport(
        judge=run.judge,
        items=len({row.item for row in labelled}),
        criteria=tuple(
            _criterion(answers, undecided, each, bootstrapped is not None and at >= bootstrapped)
            for at, answers in enumerate(every)
        ),
        alone=tuple(
            _criterion(Answers.together(stratum, parts), undecided, whole)
            for stratum, parts in alone.items()
            if len(parts) > 1
        ),
        stratified=(stratified(flat, every, group_of, bootstrap, weights) if over_all else None),
        scores=_scores(run, group_of if groups is not None else None, bootstrap),
        annotators=annotators,
        annotators_together=annotators_together,
        labels=label_choice(run),
        undecided=undecided,
        bootstrap=bootstrap,
        groups=groups,
        probabilities=probabilities,
        levels=tuple(_levels(run, group_of, bootstrap)) if weights is None else (),
        pooled=_pooled(every, counted, whole),
        simultaneous=simultaneous,
    )


@dataclass(frozen=True, slots=True)
class _Sample:
    """How rows and pairs were sampled, and the settings of their intervals.

    Attributes:
        group_of: the group of each item; None if items are not grouped.
        weights: the weight of each label; None if all are equal.
        bootstrap: the settings of the intervals.
    """

    group_of: Mapping[str, Any] | None
    weights: Mapping[tuple[str, str], float] | None
    bootstrap: Bootstrap

    def of(self, parts: Sequence[ResultRow] | Sequence[Pair]) -> dict[str, Any]:
        """The groups and weights of rows or pairs, as arguments of statistics."""
        group_of = self.group_of
        groups = None if group_of is None else [group_of[part.item] for part in parts]
        return {"groups": groups, "weights": worth_of(parts, self.weights)}


def _pooled(
    every: Sequence[Answers], counted: Sequence[Sequence[Pair]], sample: _Sample
) -> dict[str, PooledShare]:
    """The pooled accuracies of labelled criteria, by name; empty below `LEAST_POOLED`."""
    of = {
        answers.stratum.name or "": pairs
        for answers, pairs in zip(every, counted, strict=True)
        if answers.stratum.level in ("labels", "ordered") and len(pairs) > 1
    }
    if len(of) < LEAST_POOLED:
        return {}
    samples = [sample.of(pairs) for pairs in of.values()]
    shares = pooled_shares(
        [[pair.equal for pair in pairs] for pairs in of.values()],
        groups=[each["groups"] for each in samples],
        weights=None if sample.weights is None else [each["weights"] for each in samples],
        confidence=sample.bootstrap.confidence,
        seed=sample.bootstrap.seed,
    )
    return dict(zip(of, shares, strict=True))


def _levels(
    run: FinishedRun, group_of: Mapping[str, Any], bootstrap: Bootstrap
) -> Iterator[LevelAgreement]:
    """The agreement on groups by level; empty if no rubric is a tree."""
    rubrics = [run.rubrics] if isinstance(run.rubrics, Rubric) else run.rubrics.values()
    if not any(rubric.groups for rubric in rubrics):
        return
    by_level: dict[int, list[tuple[str, float | None, float | None, Any]]] = {}
    for rows in run.item_rows():
        item, groups = rows[0].item, rows[0].groups
        paths = run.rubric_of(item).paths if groups else {}
        for name, score in groups.items():
            if score.human is not None:
                pairs = by_level.setdefault(len(paths[name]) + 1, [])
                pairs.append((name, score.value, score.human, group_of[item]))
    for level, pairs in sorted(by_level.items()):
        names, judge, human, members = zip(*pairs, strict=True)
        scores = score_agreement(judge, human, groups=members, bootstrap=bootstrap)
        yield LevelAgreement(level, len(set(names)), scores)


def _scores(
    run: FinishedRun, group_of: Mapping[str, Any] | None, bootstrap: Bootstrap
) -> ScoreAgreement | None:
    """The scores of items against scores from labels."""
    judge, human = run.item_scores, run.human_scores
    if all(score is None for score in human.values()):
        return None
    weights = item_weights(run)
    agreement = score_agreement(
        [judge[item] for item in human],
        list(human.values()),
        groups=None if group_of is None else [group_of[item] for item in human],
        weights=None if weights is None else [weights.get(item, 1.0) for item in human],
        bootstrap=bootstrap,
    )
    return _bounded(agreement, 1.0)


def _bounded(agreement: ScoreAgreement, most: float) -> ScoreAgreement:
    """Clip intervals of differences to the possible range."""
    figures = {
        name: agreement.figures[name].within(-most if name == "bias" else 0.0, most)
        for name in ("bias", "mae", "rmse", "wasserstein")
    }
    levels = tuple(
        replace(level, bias=level.bias.within(-most, most)) for level in agreement.levels
    )
    return replace(agreement, figures={**agreement.figures, **figures}, levels=levels)


def _criterion(
    answers: Answers, undecided: Undecided, sample: _Sample, only_value: bool = False
) -> CriterionAgreement:
    kind, comparable = answers.criterion.measurement, answers.applicable()
    agreement: LabelAgreement | ScoreAgreement
    if answers.stratum.level in ("numbers", "steps"):
        agreement = _of_numbers(comparable, sample)
    else:
        agreement = _of_labels(comparable, undecided, sample, only_value)
    own = sample.group_of or {row.item: row.item for row in answers.rows}
    return CriterionAgreement(
        name=answers.stratum.name or f"{len(answers.of)} criteria of one pair",
        measurement=kind,
        statuses=dict(Counter(row.status for row in answers.rows)),
        not_applicable=len(answers.rows) - len(comparable.rows),
        agreement=agreement,
        probabilities=(
            probabilities_of(answers.rows, own, sample.bootstrap)
            if kind == "binary" and sample.weights is None
            else None
        ),
        of=answers.of,
    )


def _of_numbers(answers: Answers, sample: _Sample) -> ScoreAgreement:
    is_scale = answers.stratum.level == "steps"
    scores = score_agreement(
        [number_of(answer) for answer in answers.judge],
        [number_of(answer) for answer in answers.human],
        scale=is_scale,
        **sample.of(answers.rows),
        bootstrap=sample.bootstrap,
    )
    pairs = answers.decided()
    # On a scale, equality means equal labels, because its numbers may be means.
    equal = [pair.equal for pair in pairs]
    exact = clustered_share(equal, **sample.of(pairs), confidence=sample.bootstrap.confidence)
    steps = [*map(float, answers.stratum.labels)] if is_scale else [0.0, 1.0]
    bounded = _bounded(scores, max(steps) - min(steps))
    return replace(bounded, figures={**bounded.figures, "exact_accuracy": exact})


def _of_labels(
    answers: Answers, undecided: Undecided, sample: _Sample, only_value: bool
) -> LabelAgreement:
    judge, human = answers.judge, answers.human
    labels, ordered = answers_of(answers.criterion), answers.stratum.level == "ordered"
    if not ordered:  # labels of criteria with this name on other items come last
        others = [label for label in (*judge, *human) if label not in (None, ABSTENTION)]
        labels = (*dict.fromkeys((*labels, *others)), ABSTENTION)
    return label_agreement(
        judge,
        human,
        labels=labels,
        ordered=ordered,
        undecided="exclude" if ordered else undecided,
        **sample.of(answers.rows),
        bootstrap=None if only_value else sample.bootstrap,
    )


# Rows, and notes below the tables


def _row(
    name: str,
    agreement: LabelAgreement | ScoreAgreement,
    columns: Mapping[str, str],
    tone: Literal["", "strong"] = "",
) -> Row:
    figures = [figure_of(agreement, key) for key in columns.values()]
    return Row([name, str(agreement.n), *figures], tone)


def _annotators_row(
    name: str,
    against: Sequence[Estimate],
    consensus: Estimate,
    ceiling: float | None,
    perfect: Estimate,
    alpha: Estimate,
    tone: Literal["", "strong"] = "",
) -> Row:
    known = [estimate.value for estimate in against if estimate.value is not None]
    span = ends(min(known), max(known)) if known else NONE
    return Row([name, str(len(against)), span, consensus, figure(ceiling), perfect, alpha], tone)


def units(groups: str | None) -> str:
    """The resampling units of intervals: items, or groups of items."""
    return "items" if groups is None else f"groups by {groups}"


def with_way_out(groups: str | None) -> str:
    """`units`, and how to switch the default grouping off."""
    way_out = ", --groups none for items" if groups == BY_PROMPT else ""
    return f"{units(groups)}{way_out}"


def few_text(clusters: Mapping[str, int], groups: str | None) -> str | None:
    """A warning about intervals based on few items or groups of items, if there are any."""
    names = [name for name, count in clusters.items() if count < FEW]
    if not names:
        return None
    together = " (answers to the same prompt count as one)" if groups == BY_PROMPT else ""
    few = f"fewer than {FEW} {units(groups)}{together}"
    return f"Intervals are rough with {few}: {listed(names, NAMED)}"


def _notes(criterion: CriterionAgreement) -> Iterator[Paragraph]:
    """What does not fit into a row: bias by step, undecided pairs."""
    name, agreement = criterion.name, criterion.agreement
    if isinstance(agreement, ScoreAgreement) and agreement.levels:
        steps = (
            f"{level.level:g}: {estimate_text(level.bias)} (n {level.n})"
            for level in agreement.levels
        )
        apart, ks = (estimate_text(agreement.figures[key]) for key in ("wasserstein", "ks"))
        yield say(
            f"{name}: bias by people's step {', '.join(steps)}; earth mover's distance "
            f"{apart}, KS {ks}"
        )
    causes = dict(agreement.not_decided)
    if criterion.not_applicable:
        causes["does not apply"] = criterion.not_applicable
    if causes:
        counts = ", ".join(f"{cause} {count}" for cause, count in causes.items())
        yield say(f"{name}: not decided: {counts}")
