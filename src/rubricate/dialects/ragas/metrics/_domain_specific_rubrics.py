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
    """Score responses or conversations with a judge by the levels of a rubric.

    Args:
        name: its name in results.
        rubrics: a description for each level. The keys contain the numbers of the levels
            (`score1_description`, or `0`), which form the scale. A sample's own rubric has
            priority.
        llm: the judge: a name such as `openai/gpt-6-luna`, a model, a callable from messages to a
            reply, a LangChain chat model, the result of `llm_factory`, or a judge with its own
            prompt, such as `builtin`. You can also set it later.
        required_columns: the fields that samples of a kind must have; `NAME:optional` is an
            optional field. Default: none.
        output_type: the type of scores: the number of the level as an int (DISCRETE) or float
            (CONTINUOUS), or, for two levels, whether it is the upper one (BINARY). None means
            DISCRETE.
        single_turn_prompt, multi_turn_prompt: the prompts for a response and for a conversation.
            The rubric is appended to the instruction. Default: `SingleTurnPrompt` and
            `MultiTurnPrompt`.
        max_retries: how often to ask again after an unreadable reply or a score outside the scale.
            A judge with its own prompt has its own rule.

    Raises:
        InputError: an argument cannot be used.
    """

    async def single_turn_ascore(
        self, sample: SingleTurnSample, callbacks: object = None, timeout: float | None = None
    ) -> int | float:
        """Score one response.

        If the judge is set by name, each call opens a new connection. For many samples, use
        `abatch_score`, or set `llm` to a model, which keeps its connections until `aclose`.

        Args:
            sample: the sample.
            callbacks: must be unset, because callbacks are not supported.
            timeout: the timeout in seconds for all requests of the verdict together. Default: 600.

        Returns:
            The score, of the type in `output_type`.

        Raises:
            InputError: the sample or the metric cannot be used; nothing has been sent.
            NoScoreError: the judge gave no score; the message says why.
        """
        return await self._ascore(sample, MetricType.SINGLE_TURN, callbacks, timeout)

    def single_turn_score(
        self, sample: SingleTurnSample, callbacks: object = None, timeout: float | None = None
    ) -> int | float:
        """Synchronous version of `single_turn_ascore`, also inside a running loop (a notebook)."""
        return self._plainly(lambda: self.single_turn_ascore(sample, callbacks, timeout))

    async def multi_turn_ascore(
        self, sample: MultiTurnSample, callbacks: object = None, timeout: float | None = None
    ) -> int | float:
        """Score one conversation; otherwise like `single_turn_ascore`."""
        return await self._ascore(sample, MetricType.MULTI_TURN, callbacks, timeout)

    def multi_turn_score(
        self, sample: MultiTurnSample, callbacks: object = None, timeout: float | None = None
    ) -> int | float:
        """Synchronous version of `multi_turn_ascore`, also inside a running loop (a notebook)."""
        return self._plainly(lambda: self.multi_turn_ascore(sample, callbacks, timeout))

    def _plainly(self, score: Callable[[], Coroutine[Any, Any, int | float]]) -> int | float:
        return run_sync(lambda: closing(score, self.llm))

    async def _ascore(
        self, sample: Sample, kind: MetricType, callbacks: object, timeout: float | None
    ) -> int | float:
        if callbacks:
            raise InputError(
                f"{kind.value}_ascore does not support callbacks: use abatch_score with "
                "run_dir, which keeps every request and reply"
            )
        options = DialectOptions() if timeout is None else DialectOptions(deadline=float(timeout))
        return (await self.scored(sample, kind, options))[0]

    async def scored(
        self, sample: Sample, kind: MetricType, options: DialectOptions | None = None
    ) -> tuple[int | float, Verdict]:
        """Return the score of a sample and its verdict; raises `NoScoreError` if there is none."""
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

        Works like `aevaluate` with only this metric: failed samples are included in the result.

        Args:
            samples: the samples, either all of one turn or all of several.
            stop: as for `aevaluate`.
        """
        return await evaluated(self._all(call))

    @takes_as_method(BatchCall)
    def batch_score(self, call: BatchCall) -> EvaluationResult:
        """Synchronous version of `abatch_score`, also inside a running loop (a notebook).

        Args:
            samples, stop: as for `abatch_score`.
        """
        return run_sync(lambda: closing(lambda: evaluated(self._all(call)), self.llm))

    def _all(self, call: BatchCall) -> EvaluateCall:
        options = {field.name: getattr(call, field.name) for field in fields(DialectOptions)}
        return EvaluateCall(call.samples, [self], **options)


class InstanceRubrics(RubricsScore):
    """Score each sample with a judge by the sample's own rubric; otherwise like `RubricsScore`.

    Raises:
        InputError: an argument cannot be used or, on scoring, a sample has no `rubrics`.
    """

    def __init__(
        self, name: str = "instance_rubrics", llm: Llm = None, *settings: Any, **named: Any
    ) -> None:
        levels = {"0": "the lowest", "1": "the highest"}
        super().__init__(name, levels, llm, *settings, **named)
        for kind in MetricType:
            self.required_columns.setdefault(kind.name, set()).add("rubrics")
