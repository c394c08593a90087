"""A metric for the engine: a criterion, a judge, and the score of a verdict."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from rubricate.dialects.ragas._judge import MetricPrompt, MultiTurnPrompt, SingleTurnPrompt
from rubricate.dialects.ragas._rubrics import (
    DEFAULT_REFERENCE_FREE_RUBRICS,
    Llm,
    MetricOutputType,
    MetricType,
    check_rubrics,
    scale_of,
)
from rubricate.dialects.ragas._samples import MultiTurnSample, Sample, SingleTurnSample
from rubricate.dialects.ragas.llms import client_model
from rubricate.dialects.ragas.prompt import PydanticPrompt
from rubricate.errors import InputError, errors_within
from rubricate.judge import HTTPModel, Judge, Model, ModelJudge, language_model, named_judge
from rubricate.rubric import ScaleCriterion, Verdict

Prompt = PydanticPrompt[Any, Any]
OPTIONAL = ":optional"
"""The ending of the names of optional columns."""
SAMPLES = {sample.metric_type: sample for sample in (SingleTurnSample, MultiTurnSample)}


class _PromptAttribute:
    """An attribute of `RubricMetric`: the prompt for samples of a kind, with the rubric. None sets
    the default."""

    def __init__(self, kind: MetricType) -> None:
        self.kind = kind

    def __get__(self, metric: RubricMetric, owner: type | None = None) -> Prompt:
        return metric.prompt(self.kind)

    def __set__(self, metric: RubricMetric, prompt: Prompt | None) -> None:
        if prompt is None:
            metric._prompts.pop(self.kind, None)
            return
        if not isinstance(prompt, PydanticPrompt):
            raise InputError(
                f"{self.kind.value}_prompt must be a PydanticPrompt, found {type(prompt).__name__}"
            )
        prompt.check_fields(SAMPLES[self.kind].judged)
        metric._prompts[self.kind] = prompt


class Metric:
    """A metric that scores samples."""


class MetricWithLLM(Metric):
    """A metric that uses a model."""


class SingleTurnMetric(Metric):
    """A metric for responses."""


class MultiTurnMetric(Metric):
    """A metric for conversations."""


class RubricMetric(MetricWithLLM, SingleTurnMetric, MultiTurnMetric):
    """A metric with the levels of a rubric; see `RubricsScore`."""

    single_turn_prompt = _PromptAttribute(MetricType.SINGLE_TURN)
    multi_turn_prompt = _PromptAttribute(MetricType.MULTI_TURN)

    def __init__(
        self,
        name: str = "domain_specific_rubrics",
        rubrics: Mapping[str, str] = DEFAULT_REFERENCE_FREE_RUBRICS,
        llm: Llm = None,
        required_columns: Mapping[MetricType, Iterable[str]] | None = None,
        output_type: MetricOutputType | None = MetricOutputType.DISCRETE,
        single_turn_prompt: Prompt | None = None,
        multi_turn_prompt: Prompt | None = None,
        max_retries: int = 1,
    ) -> None:
        if not isinstance(name, str) or not name.strip():
            raise InputError("a metric's name must not be empty")
        if isinstance(max_retries, bool) or not isinstance(max_retries, int) or max_retries < 0:
            raise InputError(f"max_retries must be a whole number from 0 up, found {max_retries!r}")
        self.name = name
        self.llm = llm
        self.required_columns = _columns(required_columns or dict.fromkeys(MetricType, ()))
        self.output_type = MetricOutputType.DISCRETE if output_type is None else output_type
        if not isinstance(self.output_type, MetricOutputType):
            raise InputError(f"output_type must be a MetricOutputType, found {output_type!r}")
        self.max_retries = max_retries
        self._prompts: dict[MetricType, Prompt] = {}
        self.rubrics = rubrics
        self.single_turn_prompt = single_turn_prompt
        self.multi_turn_prompt = multi_turn_prompt

    def __repr__(self) -> str:
        return f"{type(self).__name__}(name={self.name!r})"

    @property
    def rubrics(self) -> dict[str, str]:
        """The rubric: a description for each level."""
        return dict(self._rubrics)

    @rubrics.setter
    def rubrics(self, rubrics: Mapping[str, str]) -> None:
        with errors_within("rubrics"):
            self._rubrics = check_rubrics(rubrics)
        self.criterion()

    def init(self, run_config: object) -> None:
        """Check that the metric has an `llm`; nothing else has to be prepared."""
        self._usable(None)

    def prompt(self, kind: MetricType) -> Prompt:
        """Return the prompt for samples of a kind, with the metric's rubric."""
        return (self._prompts.get(kind) or _DEFAULTS[kind]).with_rubrics(self._rubrics)

    def criterion(self, rubrics: Mapping[str, str] | None = None) -> ScaleCriterion:
        """Convert the metric to a criterion, with its own rubric or another one.

        Raises:
            InputError: the rubric and the output type do not fit together.
        """
        criterion = scale_of(self._rubrics if rubrics is None else rubrics, self.name)
        if self.output_type is MetricOutputType.RANKING:
            raise InputError("output_type RANKING: a rubric gives scores, not places in an order")
        levels = criterion.high - criterion.low + 1
        if self.output_type is MetricOutputType.BINARY and levels != 2:
            raise InputError(f"output_type BINARY needs a rubric of two levels, found {levels}")
        return criterion

    def judge(self, kind: MetricType, llm: Llm = None, timeout: float | None = None) -> Judge:
        """Create the judge for samples of a kind.

        Args:
            kind: the kind of samples.
            llm: the judge, if the metric has no `llm`.
            timeout: the timeout of a request in seconds, for a model by name or the client of
                another library. Default: their own.

        Raises:
            InputError: there is no judge, or it cannot be used.
        """
        llm = self._usable(llm)
        if isinstance(llm, Judge) or llm == "builtin":
            if kind in self._prompts:
                raise InputError(
                    f"the metric {self.name} has a {kind.value}_prompt, and its llm is a judge "
                    "with its own prompt; give a model"
                )
            return named_judge(llm)
        prompting = MetricPrompt(self.prompt(kind), self._rubrics)
        return ModelJudge(_model(llm, timeout), prompting, reasks=self.max_retries)

    def _usable(self, llm: Llm) -> Llm:
        """Return the metric's own `llm` or another; raises `InputError` if there is none."""
        llm = llm if self.llm is None else self.llm
        if llm is None:
            raise InputError(
                f"the metric {self.name} has no llm: set metric.llm to a model's name, such as "
                "'openai/gpt-6-luna', or to a model"
            )
        return llm

    def check(self, sample: Sample) -> None:
        """Raise `InputError` if a sample lacks a required column or does not fit the prompt."""
        kind = sample.metric_type
        fields = sample.fields()
        for column in sorted(self.required_columns.get(kind.name, ())):
            if getattr(sample, column) is None:
                raise InputError(f"the metric {self.name} requires the column '{column}'")
        if not self.prompt(kind).fill(fields):
            raise InputError("has no field to show to the judge")
        if sample.rubrics is not None:
            self.criterion(sample.rubrics)

    def score(self, verdict: Verdict) -> int | float | None:
        """Return the score of a verdict; None if it was not judged."""
        if verdict.status != "judged" or verdict.label is None:
            return None
        if self.output_type is MetricOutputType.BINARY:
            return verdict.value == 1.0
        level = int(verdict.label)
        return float(level) if self.output_type is MetricOutputType.CONTINUOUS else level


_DEFAULTS: dict[MetricType, Prompt] = {
    MetricType.SINGLE_TURN: SingleTurnPrompt(),
    MetricType.MULTI_TURN: MultiTurnPrompt(),
}


def _model(llm: Llm, timeout: float | None) -> Model:
    """Return the model of an `llm`.

    Raises:
        InputError: it is not a model.
    """
    if isinstance(llm, str):
        return HTTPModel(llm) if timeout is None else HTTPModel(llm, timeout=timeout)
    client = None if isinstance(llm, Judge | Model) else client_model(llm, timeout)
    if client is not None:
        return client
    model = language_model(llm) if isinstance(llm, Judge | Model) or callable(llm) else None
    if model is not None:
        return model
    raise InputError(
        f"llm must be a name, a model, a judge or a callable, found {type(llm).__name__}"
    )


def _columns(required: Mapping[MetricType, Iterable[str]]) -> dict[str, set[str]]:
    """Return the required columns by the name of their kind; raises for those of no field."""
    checked: dict[str, set[str]] = {}
    for kind, columns in required.items():
        if not isinstance(kind, MetricType):
            raise InputError(f"required_columns: keys are MetricType values, found {kind!r}")
        if isinstance(columns, str):
            raise InputError(f"required_columns: expected a set of columns, found '{columns}'")
        optional = {column for column in columns if column.endswith(OPTIONAL)}
        checked[kind.name] = set(columns) - optional
        for column in sorted(
            checked[kind.name] | {name.removesuffix(OPTIONAL) for name in optional}
        ):
            if column not in (*SAMPLES[kind].judged, "rubrics"):
                known = ", ".join(SAMPLES[kind].judged)
                raise InputError(
                    f"required_columns: {kind.value} samples have no column '{column}'; "
                    f"they have {known}"
                )
    return checked
