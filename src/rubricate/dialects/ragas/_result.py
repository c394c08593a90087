"""The results of an evaluation."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from statistics import fmean
from typing import TYPE_CHECKING, Any

from rubricate.analysis import Result
from rubricate.dialects.ragas._metric import RubricMetric
from rubricate.dialects.ragas._rubrics import MetricOutputType
from rubricate.dialects.ragas._samples import EvaluationDataset, Sample
from rubricate.errors import NoScoreError, extra_needed
from rubricate.rubric import UNANSWERED, Verdict

if TYPE_CHECKING:
    import pandas

ENDINGS = ("", "_feedback", "_status", "_error")
"""The endings of the names of a metric's columns."""


@dataclass(frozen=True, slots=True)
class MeanScore:
    """The mean of a metric, with counts.

    Attributes:
        mean: over the samples that have a score; None if there are none.
        scored, failed, abstained: the number of samples that have a score, failed, or that the
            judge abstained from.
    """

    mean: float | None
    scored: int
    failed: int
    abstained: int

    def __str__(self) -> str:
        number = "no mean" if self.mean is None else f"{self.mean:.4f}"
        total = self.scored + self.failed + self.abstained
        if self.scored == total:
            return number
        counts = f"{self.scored} of {total} scored"
        counts += f", {self.failed} failed" if self.failed else ""
        counts += f", {self.abstained} abstained" if self.abstained else ""
        return f"{number} ({counts})"


class EvaluationResult:
    """The result of an evaluation.

    Attributes:
        result: the engine's result: verdicts with reasons, usage, cost, run folder.
        samples: the evaluated samples.
        scores: the scores by metric of each sample; NaN if there is none, as in Ragas.
        means: the mean of each metric, with counts.
    """

    def __init__(
        self, result: Result, samples: Sequence[Sample], metrics: Sequence[RubricMetric]
    ) -> None:
        self.result = result
        self.samples = list(samples)
        self._scores: dict[str, list[int | float | None]] = {
            metric.name: [metric.score(item.criteria[metric.name]) for item in result.items]
            for metric in metrics
        }
        self.scores = [
            {name: self[name][index] for name in self._scores} for index in range(len(result.items))
        ]
        self.means = {metric.name: self._mean(metric.name) for metric in metrics}
        self._dtypes = {metric.name: _DTYPES[metric.output_type] for metric in metrics}

    def _mean(self, name: str) -> MeanScore:
        scores = [float(score) for score in self._scores[name] if score is not None]
        statuses = [item.criteria[name].status for item in self.result.items]
        failed = sum(status in UNANSWERED for status in statuses)
        mean = fmean(scores) if scores else None
        return MeanScore(mean, len(scores), failed, len(statuses) - len(scores) - failed)

    @property
    def dataset(self) -> EvaluationDataset:
        """The evaluated samples as a dataset."""
        return EvaluationDataset(self.samples)

    def raise_failures(self) -> None:
        """Raise `NoScoreError` for the first sample without a score of a metric."""
        for index, item in enumerate(self.result.items):
            for name, scores in self._scores.items():
                if scores[index] is None:
                    raise no_score(f"samples[{index}]: {name}", item.criteria[name])

    def __getitem__(self, metric: str) -> list[int | float]:
        """Return the scores of a metric in the order of the samples; NaN if there is none."""
        return [math.nan if score is None else score for score in self._scores[metric]]

    def __repr__(self) -> str:
        return "{" + ", ".join(f"{name!r}: {mean}" for name, mean in self.means.items()) + "}"

    def to_pandas(self, *, details: bool = False) -> pandas.DataFrame:
        """Return a row for each sample (extra `pandas`).

        The columns are the fields of the samples and, for each metric, `NAME` (its score, if there
        is one); with `details` also `NAME_feedback` (the judge's reason), `NAME_status` (`judged`,
        `abstained` or `failed`) and `NAME_error` (why it failed).
        """
        table = EvaluationDataset(self.samples).to_pandas()
        with extra_needed("to_pandas", "pandas"):
            import pandas
        for name, dtype in self._dtypes.items():
            verdicts = [item.criteria[name] for item in self.result.items]
            errors = [verdict.error for verdict in verdicts]
            columns: tuple[list[Any], ...] = (
                [verdict.reason for verdict in verdicts],
                [verdict.status for verdict in verdicts],
                [error and f"{error.kind}: {error.message}" for error in errors],
            )
            scores = self._scores[name]
            column = dtype if None in scores else dtype.lower().removesuffix("ean")
            table[name] = pandas.array(scores, dtype=column)  # type: ignore[call-overload]
            for ending, values in zip(ENDINGS[1:], columns, strict=True) if details else ():
                table[name + ending] = pandas.Series(values, dtype=object)
        return table


def no_score(where: str, verdict: Verdict) -> NoScoreError:
    """Create the error for a verdict without a score."""
    why = "the judge abstained" if verdict.error is None else verdict.error.kind
    what = verdict.reason if verdict.error is None else verdict.error.message
    return NoScoreError(f"{where}: no score: {why}: {what}", verdict=verdict)


_DTYPES = {
    MetricOutputType.BINARY: "boolean",
    MetricOutputType.DISCRETE: "Int64",
    MetricOutputType.CONTINUOUS: "Float64",
}
"""Column types that support missing values, so that they do not become NaN among numbers."""
