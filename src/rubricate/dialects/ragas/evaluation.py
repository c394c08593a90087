"""`ragas.evaluation`: several metrics on a dataset, on the core's engine."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import KW_ONLY
from typing import Any, ClassVar

from rubricate.dialects import names_elsewhere
from rubricate.analysis import Result
from rubricate.dataset import ContextDocument, DataItem, RubricDataset
from rubricate.dialects._options import DialectOptions, graded, progress_line
from rubricate.dialects.ragas._judge import FIELDS, RUBRICS, MetricsJudge
from rubricate.dialects.ragas._metric import RubricMetric
from rubricate.dialects.ragas._result import (
    ENDINGS,
    EvaluationResult as EvaluationResult,
    MeanScore as MeanScore,
)
from rubricate.dialects.ragas._rubrics import Llm
from rubricate.dialects.ragas._samples import (
    EvaluationDataset,
    Sample,
    SingleTurnSample,
    dataset_of,
)
from rubricate.dialects.ragas.run_config import RunConfig
from rubricate.errors import InputError, errors_within, check_type
from rubricate.judge import Judge, Model
from rubricate.rubric import Rubric
from rubricate.settings import option, part, takes
from rubricate.streaming import plain


class EvaluateCall(DialectOptions, kw_only=False):
    """Arguments of `evaluate`."""

    elsewhere: ClassVar[Mapping[str, str]] = {
        "embeddings": "no metric here uses any",
        "experiment_name": "give run_dir, a folder for the evaluation",
        "callbacks": "give run_dir, which keeps every request and reply, or on_progress",
        "token_usage_parser": "tokens and cost are in result.result.usage",
        "return_executor": "an evaluation is ended by stop, an asyncio.Event",
    }

    dataset: EvaluationDataset | Iterable[Any]
    metrics: Sequence[RubricMetric]
    llm: Llm = None
    _: KW_ONLY
    run_config: RunConfig | None = option(
        None,
        "Seconds that a request may take, how often it is sent, and how many samples are judged at "
        "once; attempts and concurrency take precedence.",
        group="Limits",
    )
    raise_exceptions: bool = option(
        False,
        "Raise NoScoreError for a sample without a score, when all are judged.",
        group="Output",
    )
    show_progress: bool = option(True, "Show progress in one line of a terminal.", group="Output")
    batch_size: int | None = option(
        None, "The most judgements at once.", group="Limits", unit="judgements", ge=1
    )
    column_map: Mapping[str, str] | None = option(
        None,
        "For a sample's field, the column of the dataset that has it.",
        group="What is graded",
    )
    allow_nest_asyncio: bool = option(
        True, "Without effect: `evaluate` works inside a running loop."
    )

    @property
    def judge(self) -> list[Llm]:
        """The models and judges that were passed, which `evaluate` closes."""
        metrics = self.metrics if isinstance(self.metrics, Sequence) else ()
        return [self.llm, *(getattr(metric, "llm", None) for metric in metrics)]

    def options(self) -> DialectOptions:
        """The options of the run, by default those of `run_config`."""
        options, config = part(DialectOptions, self), self.run_config
        if config is not None:
            options = options.unless_set(
                attempts=int(config.max_retries), concurrency=int(config.max_workers)
            )
        if self.batch_size is not None:
            options = options.changed(concurrency=min(self.batch_size, options.concurrency))
        return options


@takes(EvaluateCall)
async def aevaluate(call: EvaluateCall) -> EvaluationResult:
    """Score all samples of a dataset by all metrics.

    Args:
        dataset: the samples, either all of one turn or all of several.
        metrics: the metrics, with unique names.
        llm: the judge of metrics that have no `llm`; as for `RubricsScore`.
        stop: set this to end the evaluation early and cleanly.

    Returns:
        The scores. Samples that could not be scored are included as failed, with the cause.

    Raises:
        InputError: an argument cannot be used; nothing has been sent.
        NoScoreError: a sample has no score, with `raise_exceptions`.
        RunStopped: the evaluation ended early (an invalid key, an endpoint that is down, `stop`).
            Its `result` has the verdicts so far.
    """
    return await evaluated(call)


evaluate = plain(EvaluateCall, aevaluate)


async def evaluated(call: EvaluateCall) -> EvaluationResult:
    """`aevaluate` with its arguments as one object."""
    dataset = dataset_of(call.dataset, call.column_map)
    timeout = None if call.run_config is None else float(call.run_config.timeout)
    options = call.options()
    if call.show_progress:
        options = options.changed(on_progress=progress_line(options.on_progress))
    result = await grade_samples(dataset, call.metrics, call.llm, options, timeout)
    evaluation = EvaluationResult(result, dataset.samples, call.metrics)
    if call.raise_exceptions:
        evaluation.raise_failures()
    return evaluation


async def grade_samples(
    dataset: EvaluationDataset,
    metrics: Sequence[RubricMetric],
    llm: Llm,
    options: DialectOptions,
    timeout: float | None = None,
) -> Result:
    """Grade samples as items by metrics as criteria; otherwise like `aevaluate`."""
    _check_metrics(metrics, dataset)
    for index, sample in enumerate(dataset):
        with errors_within("samples", index):
            for metric in metrics:
                metric.check(sample)
    kind = dataset.samples[0].metric_type
    judges: dict[str, Judge] = {}
    to_close: list[Judge] = []
    try:
        for metric in metrics:
            judges[metric.name] = judge = metric.judge(kind, llm, timeout)
            own = llm if metric.llm is None else metric.llm
            if not isinstance(own, Judge | Model):
                to_close.append(judge)
            if isinstance(own, Judge) or own == "builtin":  # it only sees the response
                _check_responses(dataset, judge.name)
        items = [_item(sample, str(index), metrics) for index, sample in enumerate(dataset)]
        rubric = Rubric([metric.criterion() for metric in metrics])
        graded_as = RubricDataset("", rubric, items, dataset.name)
        return await graded(graded_as, MetricsJudge(judges), options)
    finally:
        for judge in to_close:
            await judge.aclose()


def _check_responses(dataset: EvaluationDataset, judge: str) -> None:
    """Raise `InputError` for a sample without a response, if the judge can only judge texts."""
    for index, sample in enumerate(dataset):
        if isinstance(sample, SingleTurnSample) and sample.response is None:
            raise InputError(
                f"there is no response, which is what {judge} judges", path=("samples", index)
            )


def _check_metrics(metrics: Sequence[RubricMetric], dataset: EvaluationDataset) -> None:
    """Raise `InputError` unless the metrics have different columns in the result."""
    if not isinstance(metrics, Sequence) or not metrics:
        raise InputError("metrics: expected a list of at least one RubricsScore")
    if not dataset.samples:
        raise InputError("the dataset has no samples")
    columns = dict.fromkeys(dataset.features(), "a column of the samples")
    for index, metric in enumerate(metrics):
        check_type(metric, RubricMetric, "a RubricsScore", ("metrics", index))
        for column in (f"{metric.name}{ending}" for ending in ENDINGS):
            if column in columns:
                raise InputError(
                    f"the name '{metric.name}' is taken by {columns[column]}; give each "
                    "metric another name",
                    path=("metrics", index),
                )
            columns[column] = f"metrics[{index}]"


def _item(sample: Sample, id: str, metrics: Sequence[RubricMetric]) -> DataItem:
    """Convert a sample to an item of the engine.

    Judges with the metric's prompt see the fields in the metadata. Other judges see the texts of
    the item, which have the same content.
    """
    fields = sample.fields()
    metadata: dict[str, Any] = {FIELDS: fields}
    rubric = None
    if sample.rubrics is not None:
        metadata[RUBRICS] = sample.rubrics
        rubric = Rubric([metric.criterion(sample.rubrics) for metric in metrics])
    context: list[ContextDocument] = []
    if isinstance(sample, SingleTurnSample):
        submission, prompt = sample.response or "", sample.user_input or ""
        context += _documents("Retrieved context", sample.retrieved_contexts)
        context += _documents("Reference context", sample.reference_contexts)
    else:
        submission, prompt = fields["user_input"], ""
    return DataItem(
        submission,
        rubric=rubric,
        reference_submission=sample.reference or None,
        id=id,
        prompt=prompt,
        context=context,
        metadata=metadata,
    )


def _documents(title: str, texts: Sequence[str] | None) -> list[ContextDocument]:
    """Convert contexts to documents with numbered titles."""
    return [
        ContextDocument(text, f"{title} {number}") for number, text in enumerate(texts or (), 1)
    ]


names_elsewhere(__name__)
