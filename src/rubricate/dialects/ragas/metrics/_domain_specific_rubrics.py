"""`ragas.metrics._domain_specific_rubrics`: one score by the descriptions of its levels."""

from __future__ import annotations

from collections.abc import Callable, Coroutine, Iterable
from dataclasses import fields
from typing import Any

from rubricate._sync import run_sync
from rubricate.dialects._options import DialectOptions
from rubricate.dialects.ragas._metric import SAMPLES, RubricMetric
from rubricate.dialects.ragas._result import no_score
from rubricate.dialects.ragas._rubrics import (
    DEFAULT_REFERENCE_FREE_RUBRICS as DEFAULT_REFERENCE_FREE_RUBRICS,
    DEFAULT_WITH_REFERENCE_RUBRICS as DEFAULT_WITH_REFERENCE_RUBRICS,
    Llm,
    MetricOutputType as MetricOutputType,
    MetricType as MetricType,
)
from rubricate.dialects.ragas._samples import (
    EvaluationDataset,
    MultiTurnSample,
    Sample,
    SingleTurnSample,
)
from rubricate.dialects.ragas.evaluation import (
    EvaluateCall,
    EvaluationResult,
    evaluated,
    grade_samples,
)
from rubricate.dialects.ragas._judge import (
    MultiTurnInputWithoutRubric as MultiTurnInputWithoutRubric,
    MultiTurnPrompt as MultiTurnPrompt,
    ScoreFeedback as ScoreFeedback,
    SingleTurnInputWithoutRubric as SingleTurnInputWithoutRubric,
    SingleTurnPrompt as SingleTurnPrompt,
)
from rubricate.dialects.ragas.prompt import PydanticPrompt as PydanticPrompt
from rubricate.errors import InputError, RunStopped
from rubricate.judge import closing
from rubricate.rubric import Verdict
from rubricate.settings import takes_as_method


class BatchCall(DialectOptions, kw_only=False):
    """Arguments of `batch_score`."""

    samples: EvaluationDataset | Iterable[Sample]


class RubricsScore(RubricMetric):
    """A judge's score of a response, or of a conversation, by the levels of a rubric.

    Args:
        name: what results call it.
        rubrics: a description for each level; the keys have the levels' numbers
            (`score1_description`, or `0`), and these are the scale. A sample's own rubric goes
            before it.
        llm: who judges: a name such as `openai/gpt-6-luna`, a model, a callable from messages
            to a reply, a LangChain chat model, what `llm_factory` makes of an OpenAI client, or a
            judge with its own prompt, such as `builtin`. May be set later.
        required_columns: the fields that samples of a kind must have; `NAME:optional` is one that
            they may have. Default: none of them.
        output_type: what a score is: DISCRETE an int, CONTINUOUS a float (both the level's
            number), BINARY, for two levels, whether it is the upper one. None is DISCRETE.
        single_turn_prompt, multi_turn_prompt: what the judge is asked about a response and about
            a conversation. The rubric is put behind the instruction. Default: `SingleTurnPrompt`
            and `MultiTurnPrompt`.
        max_retries: how often an unreadable reply, or a score off the scale, is asked for again.
            A judge with its own prompt has its own rule.

    Raises:
        InputError: something given cannot be used.
    """

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
        return run_sync(lambda: closing(score, self.llm))

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
        expected = SAMPLES[kind]
        if not isinstance(sample, expected):
            raise InputError(
                f"{kind.value}_ascore scores a {expected.__name__}, found {type(sample).__name__}"
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
        return run_sync(lambda: closing(lambda: evaluated(self._all(call)), self.llm))

    def _all(self, call: BatchCall) -> EvaluateCall:
        options = {field.name: getattr(call, field.name) for field in fields(DialectOptions)}
        return EvaluateCall(call.samples, [self], **options)


class InstanceRubrics(RubricsScore):
    """A judge's score by each sample's own rubric; otherwise as `RubricsScore`.

    Raises:
        InputError: something given cannot be used; when samples are scored, also for one without
            `rubrics`.
    """

    def __init__(
        self, name: str = "instance_rubrics", llm: Llm = None, *settings: Any, **named: Any
    ) -> None:
        levels = {"0": "the lowest", "1": "the highest"}
        super().__init__(name, levels, llm, *settings, **named)

    def check(self, sample: Sample) -> None:
        if sample.rubrics is None:
            raise InputError(f"the metric {self.name} needs the sample's own 'rubrics'")
        super().check(sample)
