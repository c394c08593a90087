"""`ragas.metrics._domain_specific_rubrics`: one score by the descriptions of its levels."""

from __future__ import annotations

from collections.abc import Callable, Coroutine, Iterable, Mapping
from dataclasses import fields
from typing import Any

from rubricate._sync import run_sync
from rubricate.dialects._options import DialectOptions
from rubricate.dialects.ragas._judge import MetricPrompt
from rubricate.dialects.ragas._rubrics import (
    DEFAULT_REFERENCE_FREE_RUBRICS as DEFAULT_REFERENCE_FREE_RUBRICS,
    DEFAULT_WITH_REFERENCE_RUBRICS as DEFAULT_WITH_REFERENCE_RUBRICS,
    check_rubrics,
    scale_of,
)
from rubricate.dialects.ragas._types import (
    Llm,
    MetricOutputType as MetricOutputType,
    MetricType as MetricType,
)
from rubricate.dialects.ragas.dataset_schema import (
    EvaluationDataset,
    MultiTurnSample,
    Sample,
    SingleTurnSample,
)
from rubricate.dialects.ragas.evaluation import (
    EvaluateCall,
    EvaluationResult,
    closing_llms,
    evaluated,
    grade_samples,
    no_score,
)
from rubricate.dialects.ragas.llms import client_model
from rubricate.dialects.ragas.metrics._prompts import (
    MultiTurnInputWithoutRubric as MultiTurnInputWithoutRubric,
    MultiTurnPrompt as MultiTurnPrompt,
    ScoreFeedback as ScoreFeedback,
    SingleTurnInputWithoutRubric as SingleTurnInputWithoutRubric,
    SingleTurnPrompt as SingleTurnPrompt,
)
from rubricate.dialects.ragas.prompt import PydanticPrompt as PydanticPrompt
from rubricate.errors import InputError, RunStopped
from rubricate.judge import (
    HTTPModel,
    Judge,
    Model,
    ModelJudge,
    given_judge,
    is_given,
    language_model,
    named_judge,
)
from rubricate.rubric import ScaleCriterion, Verdict
from rubricate.settings import takes_as_method

Prompt = PydanticPrompt[Any, Any]
OPTIONAL = ":optional"
"""What the name of a column ends in that a sample may lack."""
_KINDS = {sample.metric_type: sample for sample in (SingleTurnSample, MultiTurnSample)}


class BatchCall(DialectOptions, kw_only=False):
    """What `batch_score` is called with."""

    samples: EvaluationDataset | Iterable[Sample]


class _PromptAttribute:
    """An attribute of `RubricsScore`: what the judge is asked about samples of a kind, with the
    rubric. None sets the default."""

    def __init__(self, kind: MetricType) -> None:
        self.kind = kind

    def __get__(self, metric: RubricsScore, owner: type | None = None) -> Prompt:
        return metric.prompt(self.kind)

    def __set__(self, metric: RubricsScore, prompt: Prompt | None) -> None:
        if prompt is None:
            metric._prompts.pop(self.kind, None)
            return
        if not isinstance(prompt, PydanticPrompt):
            raise InputError(
                f"{self.kind.value}_prompt must be a PydanticPrompt, found {type(prompt).__name__}"
            )
        prompt.check_fields(_KINDS[self.kind].judged)
        metric._prompts[self.kind] = prompt


class RubricsScore:
    """A judge's score of a response, or of a conversation, by the levels of a rubric.

    Args:
        name: what results call it.
        rubrics: a description for each level; the keys have the levels' numbers
            (`score1_description`, or `0`), and these are the scale. A sample's own rubric goes
            before it.
        llm: who judges: a name such as `openai/gpt-4.1-mini`, a model, a callable from messages
            to a reply, a LangChain chat model, what `llm_factory` makes of an OpenAI client, or a
            judge with a prompt of its own (`builtin` is one). May be set later.
        required_columns: the fields that samples of a kind must have; `NAME:optional` is one that
            they may have. Default: none of them.
        output_type: what a score is: DISCRETE an int, CONTINUOUS a float (both the level's
            number), BINARY, for two levels, whether it is the upper one. None is DISCRETE.
        single_turn_prompt, multi_turn_prompt: what the judge is asked about a response and about
            a conversation. The rubric is put behind the instruction. Default: `SingleTurnPrompt`
            and `MultiTurnPrompt`.
        max_retries: how often an unreadable reply, or a score off the scale, is asked for again.
            A judge with a prompt of its own has its own rule.

    Raises:
        InputError: something given cannot be used.
    """

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
        self.required_columns = _columns(required_columns or {})
        self.output_type = MetricOutputType.DISCRETE if output_type is None else output_type
        if not isinstance(self.output_type, MetricOutputType):
            raise InputError(f"output_type must be a MetricOutputType, found {output_type!r}")
        self.max_retries = max_retries
        self._prompts: dict[MetricType, Prompt] = {}
        self.rubrics = rubrics
        self.single_turn_prompt = single_turn_prompt
        self.multi_turn_prompt = multi_turn_prompt

    def __repr__(self) -> str:
        return f"RubricsScore(name={self.name!r})"

    @property
    def rubrics(self) -> dict[str, str]:
        """The rubric: a description for each level."""
        return dict(self._rubrics)

    @rubrics.setter
    def rubrics(self, rubrics: Mapping[str, str]) -> None:
        try:
            self._rubrics = check_rubrics(rubrics)
        except InputError as error:
            raise error.within(("rubrics",)) from None
        self.criterion()

    # What the engine needs

    def prompt(self, kind: MetricType) -> Prompt:
        """What the judge is asked about samples of a kind, with the metric's rubric."""
        return (self._prompts.get(kind) or _DEFAULTS[kind]).with_rubrics(self._rubrics)

    def criterion(self, rubrics: Mapping[str, str] | None = None) -> ScaleCriterion:
        """The criterion that the metric stands for, with its own rubric or another one.

        Raises:
            InputError: the rubric and the output type do not go together.
        """
        criterion = scale_of(self._rubrics if rubrics is None else rubrics, self.name)
        if self.output_type is MetricOutputType.RANKING:
            raise InputError("output_type RANKING: a rubric gives scores, not places in an order")
        levels = criterion.high - criterion.low + 1
        if self.output_type is MetricOutputType.BINARY and levels != 2:
            raise InputError(f"output_type BINARY needs a rubric of two levels, found {levels}")
        return criterion

    def judge(self, kind: MetricType, llm: Llm = None, timeout: float | None = None) -> Judge:
        """The judge that scores samples of a kind.

        Args:
            kind: what is scored.
            llm: who judges if the metric has no `llm` of its own.
            timeout: seconds that one request may take, for a model given by name or as another
                library's client. Default: their own.

        Raises:
            InputError: there is none, or it cannot be used.
        """
        llm = llm if self.llm is None else self.llm
        if llm is None:
            raise InputError(
                f"the metric {self.name} has no llm: set metric.llm to a model's name, such as "
                "'openai/gpt-4.1-mini', or to a model"
            )
        if given_judge(llm) is not None or llm == "builtin":
            if kind in self._prompts:
                raise InputError(
                    f"the metric {self.name} has a {kind.value}_prompt, and its llm is a judge "
                    "with a prompt of its own; give a model"
                )
            return named_judge(llm)
        asked = MetricPrompt(self.prompt(kind), self._rubrics)
        return ModelJudge(_model(llm, timeout), asked, reasks=self.max_retries)

    def check(self, sample: Sample) -> None:
        """Raise `InputError` if a sample lacks a required column or does not fit the prompt."""
        kind = sample.metric_type
        fields = sample.fields()
        for column in sorted(self.required_columns.get(kind, ())):
            if getattr(sample, column) is None:
                raise InputError(f"the metric {self.name} requires the column '{column}'")
        if not self.prompt(kind).fill(fields):
            raise InputError("has no field that the judge could be shown")
        if sample.rubrics is not None:
            self.criterion(sample.rubrics)

    def score(self, verdict: Verdict) -> int | float | None:
        """The score that a verdict stands for; None where it is not judged."""
        if verdict.status != "judged" or verdict.label is None:
            return None
        if self.output_type is MetricOutputType.BINARY:
            return verdict.value == 1.0
        level = int(verdict.label)
        return float(level) if self.output_type is MetricOutputType.CONTINUOUS else level

    # Scoring

    async def single_turn_ascore(
        self, sample: SingleTurnSample, callbacks: object = None, timeout: float | None = None
    ) -> int | float:
        """Score one response.

        A judge given by name is connected to anew for each call; for many samples use
        `abatch_score`, or set `llm` to a model, which keeps its connections until `aclose`.

        Args:
            sample: the sample.
            callbacks: none; there is nothing here that calls them.
            timeout: seconds that the judgement may take with all its requests. Default: 600.

        Returns:
            The score, as `output_type` says.

        Raises:
            InputError: the sample or the metric cannot be used; nothing has been sent.
            NoScoreError: the judge gave no score; says why.
        """
        return await self._ascore(sample, MetricType.SINGLE_TURN, callbacks, timeout)

    def single_turn_score(
        self, sample: SingleTurnSample, callbacks: object = None, timeout: float | None = None
    ) -> int | float:
        """`single_turn_ascore` for plain code, also inside a running loop (a notebook)."""
        return self._plainly(lambda: self.single_turn_ascore(sample, callbacks, timeout))

    async def multi_turn_ascore(
        self, sample: MultiTurnSample, callbacks: object = None, timeout: float | None = None
    ) -> int | float:
        """Score one conversation; otherwise as `single_turn_ascore`."""
        return await self._ascore(sample, MetricType.MULTI_TURN, callbacks, timeout)

    def multi_turn_score(
        self, sample: MultiTurnSample, callbacks: object = None, timeout: float | None = None
    ) -> int | float:
        """`multi_turn_ascore` for plain code, also inside a running loop (a notebook)."""
        return self._plainly(lambda: self.multi_turn_ascore(sample, callbacks, timeout))

    def _plainly(self, score: Callable[[], Coroutine[Any, Any, int | float]]) -> int | float:
        return run_sync(lambda: closing_llms([self], None, score()))

    async def _ascore(
        self, sample: Sample, kind: MetricType, callbacks: object, timeout: float | None
    ) -> int | float:
        if callbacks:
            raise InputError(
                f"{kind.value}_ascore takes no callbacks: use abatch_score with run_dir, which "
                "keeps every request and reply"
            )
        options = DialectOptions() if timeout is None else DialectOptions(deadline=float(timeout))
        return (await self.scored(sample, kind, options))[0]

    async def scored(
        self, sample: Sample, kind: MetricType, options: DialectOptions | None = None
    ) -> tuple[int | float, Verdict]:
        """One sample's score, and the verdict that it is of; `NoScoreError` where there is none."""
        wanted = _KINDS[kind]
        if not isinstance(sample, wanted):
            raise InputError(
                f"{kind.value}_ascore scores a {wanted.__name__}, found {type(sample).__name__}"
            )
        dataset = EvaluationDataset([sample])
        try:
            result = await grade_samples(dataset, [self], None, options or DialectOptions())
        except RunStopped as stopped:
            if stopped.result is None:
                raise
            result = stopped.result
        verdict = result.items[0].criteria[self.name]
        score = self.score(verdict)
        if score is None:
            raise no_score(self.name, verdict)
        return score, verdict

    @takes_as_method(BatchCall)
    async def abatch_score(self, call: BatchCall) -> EvaluationResult:
        """Score many samples.

        The same as `aevaluate` with this metric alone: a failed sample is in the result.

        Args:
            samples: the samples, all of one turn or all of several.
            stop: as for `aevaluate`.
        """
        return await evaluated(self._all(call))

    @takes_as_method(BatchCall)
    def batch_score(self, call: BatchCall) -> EvaluationResult:
        """`abatch_score` for plain code, also inside a running loop (a notebook).

        Args:
            samples, stop: as for `abatch_score`.
        """
        return run_sync(lambda: closing_llms([self], None, evaluated(self._all(call))))

    def _all(self, call: BatchCall) -> EvaluateCall:
        own = {one.name: getattr(call, one.name) for one in fields(DialectOptions)}
        return EvaluateCall(call.samples, [self], **own)


class InstanceRubrics(RubricsScore):
    """A judge's score by the rubric that each sample has of its own; otherwise as `RubricsScore`.

    Raises:
        InputError: something given cannot be used; when samples are scored, also for one without
            `rubrics`.
    """

    def __init__(
        self,
        name: str = "instance_rubrics",
        llm: Llm = None,
        required_columns: Mapping[MetricType, Iterable[str]] | None = None,
        output_type: MetricOutputType | None = MetricOutputType.DISCRETE,
        single_turn_prompt: Prompt | None = None,
        multi_turn_prompt: Prompt | None = None,
        max_retries: int = 1,
    ) -> None:
        super().__init__(
            name,
            {"0": "the lowest", "1": "the highest"},
            llm,
            required_columns,
            output_type,
            single_turn_prompt,
            multi_turn_prompt,
            max_retries,
        )

    def check(self, sample: Sample) -> None:
        if sample.rubrics is None:
            raise InputError(f"the metric {self.name} needs the sample's own 'rubrics'")
        super().check(sample)


_DEFAULTS: dict[MetricType, Prompt] = {
    MetricType.SINGLE_TURN: SingleTurnPrompt(),
    MetricType.MULTI_TURN: MultiTurnPrompt(),
}


def _model(llm: Llm, timeout: float | None) -> Model:
    """The model that is meant.

    Raises:
        InputError: it is none.
    """
    if isinstance(llm, str):
        return HTTPModel(llm) if timeout is None else HTTPModel(llm, timeout=timeout)
    client = None if is_given(llm) else client_model(llm, timeout)
    if client is not None:
        return client
    model = language_model(llm) if is_given(llm) or callable(llm) else None
    if model is not None:
        return model
    raise InputError(
        f"llm must be a name, a model, a judge or a callable, found {type(llm).__name__}"
    )


def _columns(required: Mapping[MetricType, Iterable[str]]) -> dict[MetricType, frozenset[str]]:
    """The required columns by kind, each of them a field of that kind's samples."""
    checked: dict[MetricType, frozenset[str]] = {}
    for kind, columns in required.items():
        if not isinstance(kind, MetricType):
            raise InputError(f"required_columns: keys are MetricType values, found {kind!r}")
        if isinstance(columns, str):
            raise InputError(f"required_columns: expected a set of columns, found '{columns}'")
        optional = {column for column in columns if column.endswith(OPTIONAL)}
        checked[kind] = frozenset(columns) - optional
        for column in sorted(checked[kind] | {one.removesuffix(OPTIONAL) for one in optional}):
            if column not in (*_KINDS[kind].judged, "rubrics"):
                known = ", ".join(_KINDS[kind].judged)
                raise InputError(
                    f"required_columns: {kind.value} samples have no column '{column}'; "
                    f"they have {known}"
                )
    return checked
