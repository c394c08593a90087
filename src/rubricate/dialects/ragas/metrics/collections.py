"""`ragas.metrics.collections`: the rubric metrics, with the fields of samples as arguments."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from rubricate.dialects import names_elsewhere
from rubricate._sync import run_sync
from rubricate.dialects.ragas._rubrics import Llm, MetricType
from rubricate.dialects.ragas._samples import sample_of
from rubricate.dialects.ragas.metrics._domain_specific_rubrics import (
    DEFAULT_REFERENCE_FREE_RUBRICS,
    DEFAULT_WITH_REFERENCE_RUBRICS,
    InstanceRubrics,
    RubricsScore,
)
from rubricate.errors import InputError
from rubricate.judge import closing

FIELDS = ("user_input", "response", "retrieved_contexts", "reference_contexts", "reference")


class MetricResult(float):
    """A score, usable as a number, with the judge's reason.

    Attributes:
        value: the score.
        reason: the judge's feedback.
    """

    reason: str | None

    def __new__(cls, value: float, reason: str | None = None) -> MetricResult:
        result = super().__new__(cls, value)
        result.reason = reason
        return result

    @property
    def value(self) -> float:
        return float(self)

    def __repr__(self) -> str:
        return f"MetricResult(value={self.value}, reason={self.reason!r})"


class _Metric:
    """A rubric metric that takes the fields of a sample by name.

    Args:
        metric: the metric.
        fields: the names of its fields.
    """

    allowed_values = (1.0, 5.0)
    """Ragas' range, which it states for every rubric. The scores are the levels of `rubrics`."""

    def __init__(self, metric: RubricsScore, fields: tuple[str, ...] = FIELDS) -> None:
        self.metric = metric
        self._fields = fields

    @property
    def name(self) -> str:
        """The name in results."""
        return self.metric.name

    async def ascore(self, **fields: Any) -> MetricResult:
        """Score one response.

        Args:
            fields: `user_input`, `response`, `retrieved_contexts`, `reference_contexts`,
                `reference`, all optional; for `InstanceSpecificRubrics` also `rubrics`.

        Raises:
            InputError: an argument cannot be used; nothing has been sent.
            NoScoreError: the judge gave no score; the message says why.
        """
        for field in fields:
            if field not in self._fields:
                known = ", ".join(self._fields)
                raise InputError(
                    f"ascore has no argument {field}; the fields of a sample are {known}"
                )
        fields = {name: value for name, value in fields.items() if value is not None}
        score, verdict = await self.metric.scored(sample_of(fields), MetricType.SINGLE_TURN)
        return MetricResult(float(score), verdict.reason)

    def score(self, **fields: Any) -> MetricResult:
        """Synchronous version of `ascore`, also inside a running loop (a notebook)."""
        return run_sync(lambda: closing(lambda: self.ascore(**fields), self.metric.llm))

    async def abatch_score(self, inputs: Sequence[Mapping[str, Any]]) -> list[MetricResult]:
        """Score many responses, each passed as a dict of fields; otherwise like `ascore`."""
        samples = [sample_of(dict(fields)) for fields in inputs]
        result = await self.metric.abatch_score(samples)
        result.raise_failures()
        verdicts = [item.criteria[self.name] for item in result.result.items]
        scores = zip(result[self.name], verdicts, strict=True)
        return [MetricResult(float(score), verdict.reason) for score, verdict in scores]

    def batch_score(self, inputs: Sequence[Mapping[str, Any]]) -> list[MetricResult]:
        """Synchronous version of `abatch_score`, also inside a running loop (a notebook)."""
        return run_sync(lambda: closing(lambda: self.abatch_score(inputs), self.metric.llm))

    @property
    def rubrics(self) -> dict[str, str]:
        """A description for each level."""
        return self.metric.rubrics


class DomainSpecificRubrics(_Metric):
    """One rubric for all responses; see `RubricsScore`.

    Args:
        llm: the judge.
        rubrics: a description for each level. Default: accuracy and clarity, or with
            `with_reference` agreement with the reference.
        with_reference: which of the default rubrics to use.
        name: its name in results.
    """

    def __init__(
        self,
        llm: Llm,
        rubrics: Mapping[str, str] | None = None,
        with_reference: bool = False,
        name: str = "domain_specific_rubrics",
    ) -> None:
        usual = DEFAULT_WITH_REFERENCE_RUBRICS if with_reference else DEFAULT_REFERENCE_FREE_RUBRICS
        super().__init__(RubricsScore(name, usual if rubrics is None else rubrics, llm))
        self.with_reference = with_reference


class RubricsScoreWithReference(DomainSpecificRubrics):
    """`DomainSpecificRubrics(with_reference=True)`."""

    def __init__(
        self,
        llm: Llm,
        rubrics: Mapping[str, str] | None = None,
        name: str = "rubrics_score_with_reference",
    ) -> None:
        super().__init__(llm, rubrics, with_reference=True, name=name)


class RubricsScoreWithoutReference(DomainSpecificRubrics):
    """`DomainSpecificRubrics(with_reference=False)`."""

    def __init__(
        self,
        llm: Llm,
        rubrics: Mapping[str, str] | None = None,
        name: str = "rubrics_score_without_reference",
    ) -> None:
        super().__init__(llm, rubrics, name=name)


class InstanceSpecificRubrics(_Metric):
    """A rubric for each response, passed with it as `rubrics`; see `InstanceRubrics`.

    Args:
        llm: the judge.
        name: its name in results.
    """

    def __init__(self, llm: Llm, name: str = "instance_specific_rubrics") -> None:
        super().__init__(InstanceRubrics(name, llm), ("rubrics", *FIELDS))


names_elsewhere(__name__)
