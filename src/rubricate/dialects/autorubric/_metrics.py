"""Agreement with people's labels in AutoRubric's words: a view of the core's report."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from statistics import fmean

from rubricate.analysis import AgreementReport, CriterionAgreement
from rubricate.rubric import CriterionVerdict, Rubric
from rubricate.stats import Estimate, LabelAgreement

MET = CriterionVerdict.MET.value


@dataclass(frozen=True)
class Correlation:
    """A correlation of scores; None where it is undefined."""

    coefficient: float | None
    ci: tuple[float, float] | None
    n_samples: int


@dataclass(frozen=True)
class CriterionFigures:
    """One criterion's agreement; what is undefined is None.

    Attributes:
        name: the criterion's name.
        criterion_type: binary, ordinal, nominal or numeric.
        n_samples: pairs that count.
        accuracy: the share of equal answers.
        precision, recall, f1: of MET; None for criteria that are not binary.
        kappa: Cohen's, with squared distances where the answers are in order.
        agreement: the core's figures, each with its interval.
    """

    name: str
    criterion_type: str
    n_samples: int
    accuracy: float | None
    precision: float | None
    recall: float | None
    f1: float | None
    kappa: float | None
    agreement: CriterionAgreement


class Metrics:
    """How far the verdicts agree with people's labels; what is undefined is None.

    Attributes:
        report: the core's report, with intervals for everything: `print(metrics.report)`.
        per_criterion: the criteria that have labels.
        n_items, n_criteria: how many were compared.
        criterion_accuracy: over all pairs.
        criterion_precision, criterion_recall, criterion_f1: of MET, over all pairs of binary
            criteria.
        mean_kappa: the mean of the criteria's kappas.
        score_rmse, score_mae, mean_bias: of items' scores.
        score_spearman, score_kendall, score_pearson: correlations of items' scores.
    """

    def __init__(self, report: AgreementReport, rubrics: Sequence[Rubric], intervals: bool) -> None:
        self.report = report
        self._intervals = intervals
        self.per_criterion = [_figures(criterion) for criterion in report.criteria]
        self.n_items = len(rubrics)
        self.n_criteria = len({name for rubric in rubrics for name in rubric.names})
        pairs = sum(figures.n_samples for figures in self.per_criterion)
        equal = sum((figures.accuracy or 0.0) * figures.n_samples for figures in self.per_criterion)
        self.criterion_accuracy = equal / pairs if pairs else None
        both, judged, labelled = (
            sum(counts)
            for counts in zip(
                *(_met(figures.agreement.agreement) for figures in self.per_criterion), strict=True
            )
        )
        self.criterion_precision = both / judged if judged else None
        self.criterion_recall = both / labelled if labelled else None
        together = judged + labelled
        self.criterion_f1 = 2 * both / together if together else None
        kappas = [figures.kappa for figures in self.per_criterion if figures.kappa is not None]
        self.mean_kappa = fmean(kappas) if kappas else None
        self.score_rmse, self.score_mae = self._score("rmse").value, self._score("mae").value
        self.mean_bias = self._score("bias").value
        self.score_spearman = self._correlation("spearman")
        self.score_kendall = self._correlation("kendall_tau_b")
        self.score_pearson = self._correlation("pearson")

    def _score(self, name: str) -> Estimate:
        scores = self.report.scores
        return Estimate(None) if scores is None else scores.figures[name]

    def _correlation(self, name: str) -> Correlation:
        estimate, scores = self._score(name), self.report.scores
        ends = (estimate.low, estimate.high)
        known = self._intervals and None not in ends
        return Correlation(
            estimate.value,
            ends if known else None,  # type: ignore[arg-type]
            0 if scores is None else scores.n,
        )

    def summary(self) -> str:
        """The figures as text, with intervals."""
        return str(self.report)

    def __repr__(self) -> str:
        return f"<Metrics of {self.n_items} items and {self.n_criteria} criteria>"


def _figures(criterion: CriterionAgreement) -> CriterionFigures:
    agreement = criterion.agreement
    binary = isinstance(agreement, LabelAgreement) and criterion.measurement == "binary"
    met = (
        agreement.by_label.get(MET, {}) if isinstance(agreement, LabelAgreement) and binary else {}
    )
    shares = {name: estimate.value for name, estimate in met.items()}
    return CriterionFigures(
        criterion.name,
        criterion.measurement,
        agreement.n,
        criterion.accuracy.value,
        shares.get("precision"),
        shares.get("recall"),
        shares.get("f1"),
        criterion.kappa.value,
        criterion,
    )


def _met(agreement: object) -> tuple[int, int, int]:
    """How often both, the judge, and people said MET; nothing where that is no label."""
    if not isinstance(agreement, LabelAgreement) or MET not in agreement.labels:
        return 0, 0, 0
    at = agreement.labels.index(MET)
    people, judge = agreement.confusion[at], [row[at] for row in agreement.confusion]
    return people[at], sum(judge), sum(people)
