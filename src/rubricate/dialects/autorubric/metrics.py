"""`autorubric.metrics`: agreement with labels from people, as in AutoRubric.

The figures of criteria and scores come from the core's report (`report`), which also has intervals.
This module adds AutoRubric's totals over criteria and its statistical tests.
"""

from __future__ import annotations

import json
import math
from collections import Counter
from collections.abc import Sequence
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path
from statistics import fmean
from typing import TYPE_CHECKING, Any, Protocol

import numpy as np

from rubricate.dialects import names_elsewhere
from rubricate._files import user_path
from rubricate.analysis import (
    AgreementReport,
    CriterionAgreement,
    Items,
    Result,
    agreement_report,
    figure_of,
)
from rubricate.dialects.autorubric._criteria import CriterionVerdict
from rubricate.dialects.autorubric._reports import EnsembleEvaluationReport, Voters
from rubricate.errors import InputError, extra_needed
from rubricate.rubric import UNANSWERED, Criterion, Verdict
from rubricate.run import ItemResult
from rubricate.stats import Bootstrap, Estimate, LabelAgreement, krippendorff_alpha

if TYPE_CHECKING:
    import pandas

    from rubricate.dataset import RubricDataset
MET, UNMET = "MET", "UNMET"
POLICIES = {"exclude": "exclude", "as_category": "label"}
"""AutoRubric's policies for abstentions, and the core's names of them."""


@dataclass(frozen=True)
class ConfidenceInterval:
    """An interval."""

    lower: float
    upper: float
    confidence: float = 0.95
    method: str = "normal"

    @property
    def width(self) -> float:
        """The upper end minus the lower end."""
        return self.upper - self.lower


@dataclass(frozen=True)
class CorrelationResult:
    """A correlation of scores; None if it is undefined."""

    coefficient: float | None
    p_value: float | None = None
    ci: ConfidenceInterval | None = None
    n_samples: int = 0
    method: str = "spearman"

    @property
    def interpretation(self) -> str:
        """The strength of the correlation in words."""
        if self.coefficient is None:
            return "undefined"
        steps = {0.9: "very strong", 0.7: "strong", 0.5: "moderate", 0.3: "weak", 0.0: "very weak"}
        strength = next(words for least, words in steps.items() if abs(self.coefficient) >= least)
        return f"{strength} {'negative' if self.coefficient < 0 else 'positive'}"


@dataclass(frozen=True)
class BiasResult:
    """How much higher the judge's scores are than people's, with a t test against 0."""

    mean_bias: float | None
    std_bias: float | None
    is_significant: bool
    p_value: float | None
    direction: str
    effect_size: float | None
    ci: ConfidenceInterval | None
    n_samples: int


@dataclass(frozen=True)
class BootstrapResults:
    """Intervals of the accuracy, of kappa and of the score's error."""

    accuracy_ci: tuple[float, float] | None
    kappa_ci: tuple[float, float] | None
    rmse_ci: tuple[float, float] | None
    n_bootstrap: int
    confidence_level: float = 0.95


@dataclass(frozen=True)
class ConfusionMatrix:
    """Counts of pairs of answers: people's in rows, the judge's in columns.

    For a binary criterion, it also has `tp`, `fn`, `fp` and `tn`, with MET as the positive class.
    """

    matrix: list[list[int]]
    labels: list[str]

    def __getattr__(self, name: str) -> int:
        counts = ("tp", "fn", "fp", "tn")
        if name not in counts or self.labels != [MET, UNMET]:
            raise AttributeError(f"a ConfusionMatrix of {self.labels} has no {name}")
        row, column = divmod(counts.index(name), 2)
        return self.matrix[row][column]


@dataclass(frozen=True)
class OptionMetrics:
    """An option compared with all others."""

    label: str
    index: int
    precision: float | None
    recall: float | None
    f1: float | None
    support_true: int
    support_pred: int


@dataclass(frozen=True, kw_only=True)
class CriterionMetrics:
    """The agreement on a criterion. Figures that are undefined or do not apply are None.

    Attributes:
        criterion_type: binary, ordinal, nominal or numeric.
        n_samples: the number of pairs that count.
        accuracy: the share of equal answers; also `exact_accuracy`.
        adjacent_accuracy: the share of answers at most one step apart.
        precision, recall, f1, fpr, fnr: with MET as the positive class.
        support_true, support_pred: how often people and the judge gave MET.
        kappa: Cohen's kappa, with squared distances if the answers are ordered.
        phi: Matthews' correlation, for a binary criterion.
        krippendorff_alpha: the agreement among the judges, if there are several.
        per_option: each option compared with all others.
        rmse, mae, spearman, kendall: of the options' values, if they are ordered.
    """

    name: str
    index: int
    criterion_type: str
    n_samples: int
    accuracy: float | None
    adjacent_accuracy: float | None = None
    precision: float | None = None
    recall: float | None = None
    f1: float | None = None
    kappa: float | None = None
    fpr: float | None = None
    fnr: float | None = None
    phi: float | None = None
    support_true: int | None = None
    support_pred: int | None = None
    confusion_matrix: ConfusionMatrix | None = None
    krippendorff_alpha: float | None = None
    per_option: list[OptionMetrics] = field(default_factory=list)
    rmse: float | None = None
    mae: float | None = None
    spearman: CorrelationResult | None = None
    kendall: CorrelationResult | None = None

    @property
    def exact_accuracy(self) -> float | None:
        """The same as `accuracy`."""
        return self.accuracy

    @property
    def is_degenerate(self) -> bool:
        """Whether kappa is undefined although there are pairs, because all are of one class."""
        return self.n_samples > 0 and self.kappa is None

    @property
    def weighted_kappa(self) -> float | None:
        """The same as `kappa`."""
        return self.kappa

    @property
    def kappa_interpretation(self) -> str:
        """The benchmark of Landis and Koch (1977) for kappa, in words."""
        return _benchmark(self.kappa) or "undefined"


@dataclass(frozen=True)
class NAStats:
    """How often criteria with options do not apply, by people (`true`) and the judge (`pred`)."""

    na_count_true: int
    na_count_pred: int
    na_kappa: float | None
    na_kappa_interpretation: str | None
    na_false_positive: int
    na_false_negative: int


@dataclass(frozen=True)
class CannotAssessStats:
    """How often people (`true`) and the judge (`pred`) abstained from binary criteria."""

    ca_count_true: int
    ca_count_pred: int
    ca_kappa: float | None
    ca_kappa_interpretation: str | None
    ca_false_positive: int
    ca_false_negative: int


@dataclass(frozen=True)
class CoverageStats:
    """How many labels the other figures cover: without abstentions, N/A and failed verdicts."""

    n_total: int
    n_covered: int
    n_errored: int
    coverage: float | None
    judge_abstain_rate: float | None
    gt_abstain_rate: float | None
    union_exclusion_rate: float | None
    error_rate: float | None


@dataclass(frozen=True, kw_only=True)
class MetricsResult:
    """How far the verdicts agree with labels from people. Undefined figures are None.

    Attributes:
        criterion_accuracy, criterion_precision, criterion_recall, criterion_f1, micro_kappa,
            criterion_phi: over all pairs of binary criteria, with MET as the positive class;
            without binary criteria, the accuracy is that of all pairs.
        macro_accuracy, mean_kappa, mean_krippendorff_alpha: means of the figures of criteria.
        score_rmse, score_mae: errors of the items' scores. score_spearman, score_kendall,
            score_pearson: correlations of the items' scores.
        bias: how much higher the judge's scores are than people's.
        per_criterion: the criteria that have labels.
        bootstrap: intervals, if requested; `report` always has them.
        per_judge: the same for each single judge, if requested.
        na_stats, cannot_assess_stats, coverage_stats: what is left out, and how often; the last
            only with `cannot_assess="exclude"`.
        n_items, n_criteria, n_samples: numbers of items, criteria and pairs.
        warnings: what to know about the figures.
        report: the core's report: `print(metrics.report)`.
    """

    criterion_accuracy: float | None
    criterion_precision: float | None
    criterion_recall: float | None
    criterion_f1: float | None
    micro_kappa: float | None
    criterion_phi: float | None
    confusion_matrix: ConfusionMatrix | None
    macro_accuracy: float | None
    mean_kappa: float | None
    mean_krippendorff_alpha: float | None
    score_rmse: float | None
    score_mae: float | None
    score_spearman: CorrelationResult
    score_kendall: CorrelationResult
    score_pearson: CorrelationResult
    bias: BiasResult
    per_criterion: list[CriterionMetrics]
    n_items: int
    n_criteria: int
    n_binary_criteria: int
    n_ordinal_criteria: int
    n_nominal_criteria: int
    n_samples: int
    cannot_assess_mode: str
    na_mode: str = "exclude"
    warnings: list[str]
    na_stats: NAStats | None = None
    cannot_assess_stats: CannotAssessStats | None = None
    coverage_stats: CoverageStats | None = None
    bootstrap: BootstrapResults | None = None
    per_judge: dict[str, MetricsResult] | None = None
    report: AgreementReport = field(repr=False)

    @property
    def phi(self) -> float | None:
        """The same as `criterion_phi`."""
        return self.criterion_phi

    def summary(self) -> str:
        """Return the figures as text, with intervals."""
        return str(self.report)

    def model_dump(self, mode: str = "python") -> dict[str, Any]:
        """Return the figures as JSON values, without the core's report."""
        return {
            **asdict(replace(self, report=None, per_judge=None)),  # type: ignore[arg-type]
            "per_judge": self.per_judge
            and {name: alone.model_dump() for name, alone in self.per_judge.items()},
            "report": self.report.to_dict(),
        }

    def to_file(self, path: str | Path) -> None:
        """Write the figures as JSON."""
        text = json.dumps(self.model_dump(), indent=2, ensure_ascii=False, default=str)
        user_path(path).write_text(text + "\n", encoding="utf-8")

    def to_dataframe(self) -> pandas.DataFrame:
        """Return a row for all criteria together, one for each criterion and each judge."""
        with extra_needed("to_dataframe", "pandas"):
            import pandas
        rows = [{"level": "aggregate", "name": "overall", **self._row()}]
        rows += [
            {"level": "criterion", **{_column(name): vars(each)[name] for name in _OF_CRITERIA}}
            for each in self.per_criterion
        ]
        rows += [
            {"level": "judge", "name": name, **alone._row()}
            for name, alone in (self.per_judge or {}).items()
        ]
        return pandas.DataFrame(rows)

    def _row(self) -> dict[str, Any]:
        correlations = ("spearman", "kendall", "pearson")
        return {
            "criterion_type": "all",
            "accuracy_micro": self.criterion_accuracy,
            "accuracy_macro": self.macro_accuracy,
            **{f"{name}_micro": getattr(self, f"criterion_{name}") for name in _OVER_PAIRS[1:]},
            "mean_kappa_macro": self.mean_kappa,
            "kappa_micro": self.micro_kappa,
            "phi_micro": self.criterion_phi,
            "mean_krippendorff_alpha": self.mean_krippendorff_alpha,
            "cannot_assess_mode": self.cannot_assess_mode,
            "n_samples": self.n_samples,
            "rmse": self.score_rmse,
            "mae": self.score_mae,
            **{name: getattr(self, f"score_{name}").coefficient for name in correlations},
            "bias": self.bias.mean_bias,
        }


def _column(name: str) -> str:
    return f"{name}_micro" if name in (*_OVER_PAIRS, "kappa") else name


_OVER_PAIRS = ("accuracy", "precision", "recall", "f1")
"""Figures whose columns in `to_dataframe` are named as totals over all pairs."""
_OF_CRITERIA = (
    *("name", "criterion_type", *_OVER_PAIRS, "kappa", "n_samples", "adjacent_accuracy"),
    *("phi", "fpr", "fnr", "krippendorff_alpha"),
)


class Graded(Protocol):
    """What is compared with the labels: an `EvalResult`."""

    @property
    def result(self) -> Result: ...

    @property
    def voters(self) -> Voters: ...


def compute_metrics(
    eval_result: Graded,
    dataset: RubricDataset,
    *,
    bootstrap: bool = False,
    n_bootstrap: int = 1000,
    per_judge: bool = False,
    cannot_assess: str = "exclude",
    na_mode: str = "exclude",
    confidence_level: float = 0.95,
    seed: int | None = None,
    per_item_metrics: str = "auto",
) -> MetricsResult:
    """Compare the verdicts with labels from people.

    Args:
        eval_result: the result of grading.
        dataset: the dataset that was graded, with labels.
        bootstrap: whether `bootstrap` has intervals; `report` always has them.
        n_bootstrap: the number of resamples.
        per_judge: whether to compare each judge as well, if there are several.
        cannot_assess: `exclude` leaves out pairs with an abstention; `as_category` treats
            abstentions as one more label.
        na_mode: how N/A options count; only `exclude` is supported.
        confidence_level: the level of the intervals.
        seed: the random seed of the resamples.
        per_item_metrics: has no effect, because criteria of the same name in several rubrics are
            always combined.

    Raises:
        InputError: there are no labels, or the dataset is another one.
    """
    if cannot_assess not in POLICIES:
        raise InputError(
            f"cannot_assess must be {' or '.join(POLICIES)}, found {cannot_assess!r}: an "
            "abstention is not UNMET"
        )
    if na_mode != "exclude":
        raise InputError(f"na_mode must be exclude, found {na_mode!r}: N/A has no place on a scale")
    result = eval_result.result
    labelled = {item.id: item for item in dataset.to_grade()}
    if missing := [item.id for item in result.items if item.id not in labelled]:
        raise InputError(f"the dataset has no item '{missing[0]}', which was graded")
    intervals = Bootstrap(n_bootstrap, seed=seed or 0, confidence=confidence_level)

    def of(judge: str | None = None) -> MetricsResult:
        every = [
            ItemResult.scored(
                labelled[item.id], _verdicts(item, judge), result.rules, index=item.index
            )
            for item in result.items
        ]
        items = Items(replace(item, labels=_applicable(item)) for item in every)
        report = agreement_report(
            replace(result, items=items),
            undecided=POLICIES[cannot_assess],  # type: ignore[arg-type]
            bootstrap=intervals,
        )
        metrics = _metrics(report, items, cannot_assess, intervals if bootstrap else None)
        return replace(metrics, **_left_out(every, cannot_assess))

    metrics, voters = of(), eval_result.voters
    if not per_judge or len(voters) < 2:
        return metrics
    return replace(metrics, per_judge={id: of(name) for name, (id, _) in voters.items()})


def _applicable(item: ItemResult) -> dict[str, Verdict]:
    """The labels of criteria that apply by the label and by the verdict."""
    judged = ((label, item.criteria[name]) for name, label in item.labels.items())
    return {
        label.criterion: label
        for label, verdict in judged
        if "not_applicable" not in (label.status, verdict.status)
    }


def _verdicts(item: ItemResult, judge: str | None) -> dict[str, Verdict]:
    """The verdicts on an item, or the votes of a judge."""
    return {
        name: next((vote for vote in verdict.votes if vote.judge == judge), verdict)
        for name, verdict in item.criteria.items()
    }


def _left_out(items: Sequence[ItemResult], mode: str) -> dict[str, Any]:
    """The statistics of labels and verdicts without an answer, by their names in the result."""
    cells = [
        (item.rubric.by_name[name], label.status != "judged", item.criteria[name].status)
        for item in items
        for name, label in item.labels.items()
    ]
    answered = [
        (criterion, people, status != "judged")
        for criterion, people, status in cells
        if status not in UNANSWERED
    ]
    choices = [pair for criterion, *pair in answered if criterion.is_multi_choice]
    binary = [pair for criterion, *pair in answered if criterion.is_binary]
    by_people, by_judge, *_ = _asides([pair for _, *pair in answered])
    covered = sum(not people and not judge for _, people, judge in answered)
    total, failed = len(cells), len(cells) - len(answered)
    shares = (_ratio(n, total) for n in (covered, by_judge, by_people, total - covered, failed))
    coverage = CoverageStats(total, covered, failed, *shares)
    return {
        "na_stats": NAStats(*_asides(choices)) if choices else None,
        "cannot_assess_stats": CannotAssessStats(*_asides(binary)) if binary else None,
        "coverage_stats": coverage if mode == "exclude" else None,
    }


def _asides(pairs: Sequence[Sequence[bool]]) -> Sequence[Any]:
    """Count who gave no answer, of pairs (people, judge), in the order of `NAStats`."""
    counts = Counter(map(tuple, pairs))
    both, missed, wrong = counts[True, True], counts[True, False], counts[False, True]
    kappa = _kappa(both, missed, wrong, counts[False, False]) if both + missed + wrong else None
    return both + missed, both + wrong, kappa, _benchmark(kappa), wrong, missed


def _kappa(both: int, missed: int, wrong: int, neither: int) -> float | None:
    """Cohen's kappa of two classes; in whole numbers, so that chance alone gives exactly 0."""
    n, predicted, meant = both + missed + wrong + neither, both + wrong, both + missed
    chance = predicted * meant + (n - predicted) * (n - meant)
    return _ratio(n * (both + neither) - chance, n * n - chance)


def _benchmark(kappa: float | None) -> str | None:
    """Return the benchmark of Landis and Koch (1977) in words; None without a kappa."""
    if kappa is None:
        return None
    steps = {0.8: "almost perfect", 0.6: "substantial", 0.4: "moderate", 0.2: "fair"}
    if kappa < 0:
        return "poor (worse than chance)"
    return next((words for above, words in steps.items() if kappa > above), "slight")


def _metrics(
    report: AgreementReport, items: Sequence[ItemResult], mode: str, intervals: Bootstrap | None
) -> MetricsResult:
    rubrics = [item.rubric for item in items]
    order = list(dict.fromkeys(name for rubric in rubrics for name in rubric.names))
    each = [_figures(criterion, order, items) for criterion in report.criteria]
    pairs = Counter(
        (label.label, item.criteria[name].label)
        for item in items
        for name, label in item.labels.items()
        if item.rubric.by_name[name].is_binary
    )
    answers = (MET, UNMET)
    both, missed, wrong, neither = (pairs[row, column] for row in answers for column in answers)
    n, predicted, meant = both + missed + wrong + neither, both + wrong, both + missed
    equal = _ratio(both + neither, n)
    if not n:
        counted = sum(figures.n_samples for figures in each)
        equal = _ratio(sum((f.accuracy or 0.0) * f.n_samples for f in each), counted)
    types = Counter(figures.criterion_type for figures in each)
    scores = _scores(items)
    return MetricsResult(
        criterion_accuracy=equal,
        criterion_precision=_ratio(both, predicted),
        criterion_recall=_ratio(both, meant),
        criterion_f1=_ratio(2 * both, predicted + meant),
        micro_kappa=_kappa(both, missed, wrong, neither),
        criterion_phi=_ratio(
            both * neither - wrong * missed,
            math.sqrt(predicted * meant * (n - predicted) * (n - meant)),
        ),
        confusion_matrix=ConfusionMatrix([[both, missed], [wrong, neither]], [MET, UNMET])
        if n
        else None,
        macro_accuracy=_mean(figures.accuracy for figures in each),
        mean_kappa=_mean(figures.kappa for figures in each),
        mean_krippendorff_alpha=_mean(figures.krippendorff_alpha for figures in each),
        score_rmse=_score(report, "rmse").value,
        score_mae=_score(report, "mae").value,
        score_spearman=_correlation(report, "spearman", scores, intervals),
        score_kendall=_correlation(report, "kendall", scores, intervals),
        score_pearson=_correlation(report, "pearson", scores, intervals),
        bias=systematic_bias(*scores),
        per_criterion=each,
        n_items=len(items),
        n_criteria=len(order),
        n_binary_criteria=types["binary"],
        n_ordinal_criteria=types["ordinal"],
        n_nominal_criteria=types["nominal"],
        n_samples=sum(figures.n_samples for figures in each),
        cannot_assess_mode=mode,
        warnings=[report.few] if report.few else [],
        bootstrap=None if intervals is None else _intervals(report, intervals),
        report=report,
    )


def _ratio(count: float, of: float) -> float | None:
    return count / of if of else None


def _mean(values: Any) -> float | None:
    known = [value for value in values if value is not None]
    return fmean(known) if known else None


def _figures(
    criterion: CriterionAgreement, order: Sequence[str], items: Sequence[ItemResult]
) -> CriterionMetrics:
    agreement, more = criterion.agreement, dict[str, Any]()
    counted = _confusion(criterion, items)
    if counted is not None:
        more["confusion_matrix"] = counted
        options = [_option(counted, index) for index in range(len(counted.labels))]
        if criterion.measurement == "binary":
            names = ("precision", "recall", "f1", "support_true", "support_pred")
            met = next((option for option in options if option.label == MET), None)
            more |= {name: getattr(met, name) if met else None for name in names}
            more["fpr"] = figure_of(agreement, "false_positive_rate").value
            more["fnr"] = figure_of(agreement, "false_negative_rate").value
            more["phi"] = agreement.figures["matthews"].value
        else:
            more["per_option"] = options
        if criterion.measurement == "ordinal":
            more |= _of_steps(np.array(counted.matrix), _criterion(criterion, items))
    return CriterionMetrics(
        name=criterion.name,
        index=order.index(criterion.name) if criterion.name in order else -1,
        criterion_type=criterion.measurement,
        n_samples=agreement.n,
        accuracy=criterion.accuracy.value,
        kappa=criterion.kappa.value,
        krippendorff_alpha=_alpha(criterion, items),
        **more,
    )


def _confusion(
    criterion: CriterionAgreement, items: Sequence[ItemResult]
) -> ConfusionMatrix | None:
    """Count the pairs of answers; None for numbers."""
    agreement, question = criterion.agreement, _criterion(criterion, items)
    if isinstance(agreement, LabelAgreement):
        return ConfusionMatrix([list(row) for row in agreement.confusion], list(agreement.labels))
    if question.options is None:
        return None
    labels = [option.label for option in question.options if not option.na]
    pairs = Counter(
        (item.labels[question.name].label, item.criteria[question.name].label)
        for item in items
        if question.name in item.labels
    )
    return ConfusionMatrix([[pairs[row, column] for column in labels] for row in labels], labels)


def _option(counted: ConfusionMatrix, index: int) -> OptionMetrics:
    both, meant = counted.matrix[index][index], sum(counted.matrix[index])
    predicted = sum(row[index] for row in counted.matrix)
    shares = _ratio(both, predicted), _ratio(both, meant), _ratio(2 * both, predicted + meant)
    return OptionMetrics(counted.labels[index], index, *shares, meant, predicted)


def _criterion(criterion: CriterionAgreement, items: Sequence[ItemResult]) -> Criterion:
    name = criterion.name
    return next(i.rubric.by_name[name] for i in items if name in i.rubric.by_name)


def _of_steps(matrix: Any, criterion: Criterion) -> dict[str, Any]:
    """The figures of ordered options, computed from the counts of pairs."""
    values = [criterion.value(label) or 0.0 for label in criterion.labels[: len(matrix)]]
    people, judge = np.indices(matrix.shape).reshape(2, -1).repeat(matrix.ravel(), axis=1)
    x, y = np.array(values)[judge], np.array(values)[people]
    if not len(x):
        return {}
    return {
        "adjacent_accuracy": float((abs(judge - people) <= 1).mean()),
        "rmse": math.sqrt(float(((x - y) ** 2).mean())),
        "mae": float(abs(x - y).mean()),
        "spearman": _tested("spearman", x, y),
        "kendall": _tested("kendall", x, y),
    }


def _alpha(criterion: CriterionAgreement, items: Sequence[ItemResult]) -> float | None:
    """Krippendorff's alpha among the judges."""
    voted = [item.criteria[criterion.name] for item in items if criterion.name in item.criteria]
    votes = [verdict.votes for verdict in voted if len(verdict.votes) > 1]
    if len(votes) < 2:
        return None
    ordered = criterion.measurement == "ordinal"
    labels = _criterion(criterion, items).labels
    ratings = [
        [vote.label if vote.status == "judged" else None for vote in judges] for judges in votes
    ]
    return krippendorff_alpha(
        ratings,
        level="ordinal" if ordered else "nominal",
        labels=labels if ordered else None,
        bootstrap=None,
    ).value


def _score(report: AgreementReport, name: str) -> Estimate:
    return Estimate(None) if report.scores is None else report.scores.figures[name]


def _scores(items: Sequence[ItemResult]) -> tuple[list[float], list[float]]:
    """The scores by the judge and by people, of items that have both."""
    pairs = [
        (item.score.value, item.human_score.value)
        for item in items
        if item.human_score is not None
        and item.score.value is not None
        and item.human_score.value is not None
    ]
    return [judge for judge, _ in pairs], [people for _, people in pairs]


def _correlation(
    report: AgreementReport,
    method: str,
    scores: tuple[Sequence[float], Sequence[float]],
    intervals: Bootstrap | None,
) -> CorrelationResult:
    estimate, ci = _score(report, {"kendall": "kendall_tau_b"}.get(method, method)), None
    if intervals is not None and estimate.low is not None and estimate.high is not None:
        ci = ConfidenceInterval(estimate.low, estimate.high, intervals.confidence, "jackknife")
    return replace(_tested(method, *scores), coefficient=estimate.value, ci=ci)


def _tested(method: str, x: Sequence[float], y: Sequence[float]) -> CorrelationResult:
    """A correlation with its test; undefined if either side does not vary."""
    from scipy import stats

    if len(x) < 3 or np.ptp(x) == 0 or np.ptp(y) == 0:
        return CorrelationResult(None, None, None, len(x), method)
    tests = {"kendall": stats.kendalltau, "spearman": stats.spearmanr, "pearson": stats.pearsonr}
    tested = tests[method](x, y)
    return CorrelationResult(float(tested.statistic), float(tested.pvalue), None, len(x), method)


def _intervals(report: AgreementReport, bootstrap: Bootstrap) -> BootstrapResults:
    def ends(estimate: Estimate | None) -> tuple[float, float] | None:
        if estimate is None or estimate.low is None or estimate.high is None:
            return None
        return estimate.low, estimate.high

    every = report.stratified or (report.criteria[0] if len(report.criteria) == 1 else None)
    accuracy, kappa = (every.accuracy, every.kappa) if every else (None, None)
    rmse = ends(_score(report, "rmse"))
    return BootstrapResults(
        ends(accuracy), ends(kappa), rmse, bootstrap.resamples, bootstrap.confidence
    )


def systematic_bias(
    y_pred: Sequence[float],
    y_true: Sequence[float],
    *,
    paired: bool = True,
    confidence: float = 0.95,
) -> BiasResult:
    """Compute how much higher one sample is than another, with a t test (Student 1908).

    Args:
        y_pred, y_true: the samples.
        paired: whether the values belong together in pairs.
        confidence: the level of the interval.
    """
    from scipy import stats

    x, y = np.asarray(y_pred, dtype=float), np.asarray(y_true, dtype=float)
    if paired and len(x) != len(y):
        raise InputError(f"{len(x)} scores cannot be paired with {len(y)}")
    if len(x) < 2 or len(y) < 2:
        mean = float(x.mean() - y.mean()) if len(x) and len(y) else None
        return BiasResult(mean, None, False, None, _direction(mean), None, None, len(x))
    if paired:
        differences = x - y
        spread, degrees = float(differences.std(ddof=1)), len(x) - 1
        error = spread / math.sqrt(len(x))
    else:
        degrees = len(x) + len(y) - 2
        squares = ((x - x.mean()) ** 2).sum() + ((y - y.mean()) ** 2).sum()
        spread = math.sqrt(squares / degrees)
        error = spread * math.sqrt(1 / len(x) + 1 / len(y))
    mean = float(x.mean() - y.mean())
    half = float(stats.t.ppf((1 + confidence) / 2, degrees)) * error
    p_value = float(2 * stats.t.sf(abs(mean) / error, degrees)) if error else None
    significant = p_value is not None and p_value < 1 - confidence
    interval = ConfidenceInterval(mean - half, mean + half, confidence, "t")
    effect = mean / spread if spread else None
    return BiasResult(
        mean, spread, significant, p_value, _direction(mean), effect, interval, len(x)
    )


def _direction(mean: float | None) -> str:
    return "none" if not mean else "positive" if mean > 0 else "negative"


@dataclass(frozen=True)
class EMDResult:
    """The distance between two samples; None if one is empty."""

    emd: float | None = None
    mean_diff: float | None = None
    std_diff: float | None = None

    @property
    def bias_direction(self) -> str:
        """Which of the samples is higher."""
        return {"positive": "higher", "negative": "lower"}.get(_direction(self.mean_diff), "none")

    @property
    def bias_magnitude(self) -> float | None:
        """The distance between the means."""
        return None if self.mean_diff is None else abs(self.mean_diff)

    @property
    def interpretation(self) -> str:
        """The distance in words."""
        if self.emd is None:
            return "insufficient data"
        return next(words for most, words in _APART.items() if self.emd < most)


_APART = {
    0.05: "very similar",
    0.1: "minor differences",
    0.2: "moderate differences",
    math.inf: "substantial differences",
}


def earth_movers_distance(
    dist1: Sequence[float], dist2: Sequence[float], *, normalize: bool = True
) -> EMDResult:
    """The earth mover's distance (Wasserstein-1) of two samples.

    Args:
        dist1, dist2: the samples.
        normalize: whether to divide it by their common range.
    """
    from scipy import stats

    x, y = np.asarray(dist1, dtype=float), np.asarray(dist2, dtype=float)
    if not len(x) or not len(y):
        return EMDResult()
    width = float(np.ptp(np.concatenate([x, y]))) if normalize else 1.0
    apart = (stats.wasserstein_distance(x, y), x.mean() - y.mean(), x.std() - y.std())
    return EMDResult(*(float(value) / (width or 1.0) for value in apart))


def wasserstein_distance(
    dist1: Sequence[float], dist2: Sequence[float], *, normalize: bool = True
) -> float | None:
    """Return only the distance of `earth_movers_distance`."""
    return earth_movers_distance(dist1, dist2, normalize=normalize).emd


@dataclass(frozen=True)
class KSTestResult:
    """The Kolmogorov-Smirnov test of two samples."""

    statistic: float
    p_value: float

    @property
    def is_significant(self) -> bool:
        """Whether p is below 0.05."""
        return self.p_value < 0.05


def ks_test(sample1: Sequence[float], sample2: Sequence[float]) -> KSTestResult:
    """Test whether two samples may come from the same distribution (Kolmogorov-Smirnov)."""
    from scipy import stats

    tested = stats.ks_2samp(sample1, sample2)
    return KSTestResult(float(tested.statistic), float(tested.pvalue))


@dataclass(frozen=True)
class DistributionResult:
    """The figures of a sample; the standard deviation is that with n - 1. None if undefined."""

    n: int
    histogram: tuple[list[float], list[float]]
    mean: float | None = None
    std: float | None = None
    variance: float | None = None
    min: float | None = None
    max: float | None = None
    median: float | None = None
    q25: float | None = None
    q75: float | None = None
    iqr: float | None = None
    skewness: float | None = None
    kurtosis: float | None = None


def score_distribution(scores: Sequence[float], *, bins: int = 10) -> DistributionResult:
    """Compute the figures of a sample of scores."""
    from scipy import stats

    x = np.asarray(scores, dtype=float)
    counts, edges = np.histogram(x, bins=bins)
    sample = DistributionResult(len(x), (counts.astype(float).tolist(), edges.tolist()))
    if not len(x):
        return sample
    variance, varies = float(x.var(ddof=1)) if len(x) > 1 else None, np.ptp(x) > 0
    low, middle, high = np.quantile(x, [0.25, 0.5, 0.75]).tolist()
    return replace(
        sample,
        mean=float(x.mean()),
        std=None if variance is None else math.sqrt(variance),
        variance=variance,
        min=float(x.min()),
        max=float(x.max()),
        median=middle,
        q25=low,
        q75=high,
        iqr=high - low,
        skewness=float(stats.skew(x)) if varies else None,
        kurtosis=float(stats.kurtosis(x)) if varies else None,
    )


def filter_cannot_assess(
    pred_verdicts: Sequence[CriterionVerdict],
    true_verdicts: Sequence[CriterionVerdict],
    mode: str = "exclude",
) -> tuple[list[CriterionVerdict], list[CriterionVerdict]]:
    """Return the pairs of verdicts without abstentions, or all of them for `as_category`."""
    if mode not in POLICIES:
        raise InputError(f"mode must be {' or '.join(POLICIES)}, found {mode!r}")
    abstained = CriterionVerdict.CANNOT_ASSESS
    pairs = [
        pair
        for pair in zip(pred_verdicts, true_verdicts, strict=True)
        if mode == "as_category" or abstained not in pair
    ]
    return [pred for pred, _ in pairs], [true for _, true in pairs]


def verdict_to_binary(verdicts: Sequence[CriterionVerdict | str]) -> list[int]:
    """Convert MET to 1, and other verdicts to 0."""
    return [int(CriterionVerdict(verdict) is CriterionVerdict.MET) for verdict in verdicts]


def verdict_to_string(verdicts: Sequence[CriterionVerdict | str]) -> list[str]:
    """Convert verdicts to text."""
    return [CriterionVerdict(verdict).value for verdict in verdicts]


def extract_verdicts_from_report(
    report: EnsembleEvaluationReport, num_criteria: int
) -> list[CriterionVerdict | None]:
    """Return the verdicts on a report's binary criteria; None for failed verdicts."""
    return [entry.final_verdict for entry in report.report][:num_criteria]


names_elsewhere(__name__)
