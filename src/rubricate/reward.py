"""Rubrics as rewards: scores for batches of completions, in which a failure is never a zero."""

from __future__ import annotations

import asyncio
import atexit
import logging
import math
import threading
import weakref
from collections.abc import Callable, Coroutine, Mapping, Sequence
from dataclasses import KW_ONLY, dataclass
from typing import TYPE_CHECKING, Any, Literal, get_args

from rubricate._spelling import did_you_mean
from rubricate._sync import BackgroundLoop, running_loop
from rubricate.choosing import chosen_judge, chosen_rubric
from rubricate.dataset import DataItem, RubricDataset, text_of_chat
from rubricate.errors import InputError, RubricateError, RunStopped
from rubricate.judge import JudgesLike
from rubricate.options import RewardOptions
from rubricate.rubric import UNANSWERED, Rubric
from rubricate.run import ItemResult, Plan, RunOptions, Sender
from rubricate.settings import part, takes_as_method
from rubricate.streaming import ResultStream, shared_sender

if TYPE_CHECKING:
    from rubricate.options import RubricLike

logger = logging.getLogger("rubricate")

__all__ = ["RewardBatch", "RewardError", "RewardFunction", "RowRubric", "Text"]

Text = str | Sequence[Mapping[str, Any]]
"""A prompt or a completion: text, or a list of chat messages."""
RowRubric = Rubric | str | Mapping[str, Any] | Sequence[Mapping[str, Any]]
"""The rubric of a completion: a `Rubric`, its JSON text, or the contents of a rubric file."""

OnFailure = Literal["none", "nan", "raise"]


class RewardError(RubricateError):
    """Completions could not be scored. The message has the first cause."""


@dataclass(frozen=True, slots=True)
class RewardBatch:
    """The scores of a batch. All lists have the length and the order of the batch.

    Attributes:
        names: the names of the criteria: first those of the function's rubric, then others.
        scores: the scores in [0, 1], or any number if the rubric declares raw scores; None if
            `failed`.
        values: the values by criterion, in the order of `names`; None if a criterion was not
            judged.
        failed: whether there is no reliable score, because a judgement failed or none of the
            criteria could be judged.
        items: the full results: verdicts, reasons, causes of failures.
        groups: for a tree, the scores of its groups by name; None for a group without a score.
    """

    names: list[str]
    scores: list[float | None]
    values: list[list[float | None]]
    failed: list[bool]
    items: list[ItemResult]
    groups: list[dict[str, float | None]]


class RewardCall(RewardOptions, kw_only=False):
    """The arguments of a `RewardFunction`."""

    rubric: RubricLike | None
    judge: JudgesLike = None
    _: KW_ONLY
    prompt: str = ""
    on_failure: OnFailure = "none"


class RewardFunction:
    """Scores batches of completions by a rubric, for trainers that accept a callable.

    `reward(prompts=..., completions=...)` returns one score for each completion; `await
    reward.acall(...)` does so without blocking. `score_batch` and `ascore_batch` return details.
    Connections and limits are kept from batch to batch, until `close` (or the end of a `with`
    block, or of the program). Threads can share a function; copies, forked processes, and processes
    that receive it by pickle have separate connections and limits. For example:

        reward = RewardFunction(["The answer gives a reason."], "openai/gpt-6-luna")
        scores = reward(prompts=["Why is the sky blue?"], completions=["Because air scatters."])

    Args:
        rubric: what to judge by, as for `rubricate.grade`; None where every completion comes with
            its own.
        judge: the judge, as for `rubricate.grade`.
        prompt: the task, for batches without prompts.
        on_failure: the result for a missing score: `none` (None), `nan`, or `raise` for a
            `RewardError`. It is never 0.
        options: those of `rubricate.agrade` that concern judging: `base_url`, `concurrency`,
            `cache`, `max_time` (for one batch), ...; see `help(RewardFunction.__init__)`.

    Raises:
        InputError: something given cannot be used.
    """

    @takes_as_method(RewardCall)
    def __init__(self, call: RewardCall) -> None:
        known = get_args(OnFailure)
        if call.on_failure not in known:
            hint = did_you_mean(str(call.on_failure), known)
            raise InputError(
                f"on_failure must be one of {', '.join(known)}, found {call.on_failure!r}{hint}"
            )
        rubric = None if call.rubric is None else chosen_rubric(call.rubric)
        if rubric is not None and not any(criterion.weight for criterion in rubric):
            raise InputError("every weight of the rubric is 0, so there would be no score")
        # the name in trainers' logs
        self.__name__ = (rubric.name if rubric else None) or "rubric_reward"
        self._rubric = rubric
        self._prompt = call.prompt
        self._on_failure = call.on_failure
        self._judge = chosen_judge(call.judge, call)
        self._options = part(RunOptions, call)
        self._rest()

    def _rest(self) -> None:
        """Return to the state before the first use."""
        self._senders: dict[asyncio.AbstractEventLoop, Sender] = {}
        self._background: BackgroundLoop | None = None
        self._starting = threading.Lock()
        self._closes_at_exit = False

    def __getstate__(self) -> dict[str, Any]:
        in_use = ("_senders", "_background", "_starting", "_closes_at_exit")
        return {name: value for name, value in self.__dict__.items() if name not in in_use}

    def __setstate__(self, state: dict[str, Any]) -> None:
        self.__dict__.update(state)
        self._rest()

    def __call__(
        self,
        completions: Sequence[Text],
        prompts: Sequence[Text] | None = None,
        *,
        reference: Sequence[Text | None] | None = None,
        rubric: Sequence[RowRubric | None] | None = None,
        **columns: object,
    ) -> list[float | None]:
        """Score a batch. Works in synchronous code and inside a running event loop.

        Args:
            completions: the texts to score.
            prompts: the prompts that they answer.
            reference: an exemplary response for each.
            rubric: a rubric for each, instead of the function's: a `Rubric`, its JSON text, or the
                contents of a rubric file. None means the function's rubric.
            columns: other arguments of a trainer, which are ignored, except for a callable
                `log_metric` (as in TRL). It receives the mean value of each criterion and group of
                the function's rubric as `NAME/CRITERION`, and the share of failures as
                `NAME/failed`.

        Returns:
            One score for each completion, as in `RewardBatch.scores`; None or NaN for a missing
            one, according to `on_failure`.

        Raises:
            InputError: the lists differ in length, or do not contain texts.
            RewardError: a score is missing, with `on_failure="raise"`.
        """
        batch = self.score_batch(completions, prompts, reference=reference, rubric=rubric)
        return self._scores(batch, columns)

    @property
    def acall(self) -> Callable[..., Coroutine[Any, Any, list[float | None]]]:
        """Like a call, but without blocking the running event loop.

        It has the same `__name__`, so that trainers log it under the name of the rubric.
        """

        async def acall(
            completions: Sequence[Text],
            prompts: Sequence[Text] | None = None,
            *,
            reference: Sequence[Text | None] | None = None,
            rubric: Sequence[RowRubric | None] | None = None,
            **columns: object,
        ) -> list[float | None]:
            batch = await self.ascore_batch(
                completions, prompts, reference=reference, rubric=rubric
            )
            return self._scores(batch, columns)

        acall.__name__ = self.__name__
        return acall

    def score_batch(
        self,
        completions: Sequence[Text],
        prompts: Sequence[Text] | None = None,
        *,
        reference: Sequence[Text | None] | None = None,
        rubric: Sequence[RowRubric | None] | None = None,
    ) -> RewardBatch:
        """Score a batch, with values by criterion and a mask of failures.

        Args:
            completions, prompts, reference, rubric: as in a call: sequences of equal length.

        Returns:
            The batch.

        Raises:
            InputError: sequences differ in length, or a completion has no rubric or prompt.
        """
        with self._starting:
            if self._background is None:
                self._background = BackgroundLoop()
                if not self._closes_at_exit:
                    self._closes_at_exit = True
                    atexit.register(_close, weakref.ref(self))
        return self._background.run(
            self.ascore_batch(completions, prompts, reference=reference, rubric=rubric)
        )

    async def ascore_batch(
        self,
        completions: Sequence[Text],
        prompts: Sequence[Text] | None = None,
        *,
        reference: Sequence[Text | None] | None = None,
        rubric: Sequence[RowRubric | None] | None = None,
    ) -> RewardBatch:
        """Like `score_batch`, but without blocking the running event loop.

        Args:
            completions, prompts, reference, rubric: as for `score_batch`.

        Raises:
            InputError: as for `score_batch`.
        """
        beside = {"prompts": prompts, "reference": reference, "rubric": rubric}
        for name, column in {"completions": completions, **beside}.items():
            if isinstance(column, str | Mapping):
                raise InputError(
                    f"{name}: expected a list, one a completion, found {type(column).__name__}"
                )
        texts = [
            _text(completion, "completions", index) for index, completion in enumerate(completions)
        ]
        for name, column in beside.items():
            if column is not None and len(column) != len(texts):
                raise InputError(f"{len(column)} {name} for {len(texts)} completions")
        tasks = [None] * len(texts) if prompts is None else _texts(prompts, "prompts")
        answers = [None] * len(texts) if reference is None else _texts(reference, "reference")
        rubrics = _rubrics([None] * len(texts) if rubric is None else rubric, self._rubric)
        items = [
            DataItem(text, reference_submission=answer, id=str(index), prompt=prompt, rubric=own)
            for index, (text, prompt, answer, own) in enumerate(
                zip(texts, tasks, answers, rubrics, strict=True)
            )
        ]
        return self._batch(await self._graded(items) if items else [])

    async def _graded(self, items: list[DataItem]) -> list[ItemResult]:
        dataset = RubricDataset(self._prompt, self._rubric, items)
        plan = Plan(dataset, self._options)
        stream = ResultStream(plan, self._judge, self._options, sender=self._sender_here())
        results: list[ItemResult] = []
        async with stream:
            try:
                async for item in stream:
                    results.append(item)
            except RunStopped:
                pass  # all items were passed on, unreached ones as failed
        return sorted(results, key=lambda item: item.index)

    def _sender_here(self) -> Sender:
        """The sender of the running event loop; a new one after a model was given up."""
        loop = running_loop()
        for ended in [loop for loop in list(self._senders) if loop.is_closed()]:
            self._let_go(ended)
        if loop in self._senders and self._senders[loop].lost:
            self._let_go(loop)
        if loop not in self._senders:
            self._senders[loop] = shared_sender(self._judge, self._options)
        return self._senders[loop]

    def _batch(self, items: list[ItemResult]) -> RewardBatch:
        names = {name: None for item in items for name in item.criteria}
        if self._rubric is not None:
            names = dict.fromkeys(self._rubric.names) | names
        failed = [
            item.score.value is None or any(v.status in UNANSWERED for v in item.criteria.values())
            for item in items
        ]
        return RewardBatch(
            list(names),
            [None if bad else item.score.value for bad, item in zip(failed, items, strict=True)],
            [
                [item.criteria[name].value if name in item.criteria else None for name in names]
                for item in items
            ],
            failed,
            items,
            [{name: score.value for name, score in item.groups.items()} for item in items],
        )

    def _scores(self, batch: RewardBatch, columns: Mapping[str, object]) -> list[float | None]:
        if batch.failed and all(batch.failed):
            logger.warning("%s", _causes(batch))
        log = columns.get("log_metric")
        if callable(log):
            rubric = self._rubric
            shown = [] if rubric is None else [*rubric.names, *rubric.groups]
            for name, value in _means(batch, shown).items():
                log(f"{self.__name__}/{name}", value)
        if self._on_failure == "raise" and any(batch.failed):
            raise RewardError(_causes(batch))
        if self._on_failure == "nan":
            return [math.nan if score is None else score for score in batch.scores]
        return batch.scores

    def close(self) -> None:
        """Close connections and the background loop. It can be used again afterwards."""
        if self._background is not None and not self._background.is_inherited:
            self._background.run(self.aclose())
            self._background.close()
            self._background = None

    async def aclose(self) -> None:
        """Close the connections of the running event loop, after `acall` or `ascore_batch`.

        Raises:
            RubricateError: no event loop is running.
        """
        self._let_go(running_loop())
        await self._judge.aclose()

    def _let_go(self, loop: asyncio.AbstractEventLoop) -> None:
        sender = self._senders.pop(loop, None)
        if sender is not None:
            sender.leave()

    def __enter__(self) -> RewardFunction:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()


def _close(reward: weakref.ref[RewardFunction]) -> None:
    """Close a reward function if it still exists."""
    function = reward()
    if function is not None:
        function.close()


def _means(batch: RewardBatch, names: Sequence[str]) -> dict[str, float]:
    """The mean values of criteria and groups, if any, and the share of failures."""
    means: dict[str, float] = {}
    columns = dict(zip(batch.names, zip(*batch.values, strict=True), strict=False))
    for name in names:
        column = columns.get(name) or [groups.get(name) for groups in batch.groups]
        values = [value for value in column if value is not None]
        if values:
            means[name] = sum(values) / len(values)
    if batch.failed:
        means["failed"] = sum(batch.failed) / len(batch.failed)
    return means


def _causes(batch: RewardBatch) -> str:
    count = sum(batch.failed)
    first = batch.items[batch.failed.index(True)]
    for name, verdict in first.criteria.items():
        if verdict.error is not None:
            cause = f"criterion '{name}': {verdict.error.kind}: {verdict.error.message}"
            break
    else:
        cause = "no criterion could be judged"
    total = len(batch.items)
    return f"{count} of {total} completions have no score; completion {first.index}: {cause}"


def _texts(column: Sequence[Text | None], name: str) -> list[str | None]:
    return [
        None if content is None else _text(content, name, index)
        for index, content in enumerate(column)
    ]


def _rubrics(column: Sequence[RowRubric | None], own: Rubric | None) -> list[Rubric | None]:
    """The rubrics of the completions; None for the function's. Equal texts are parsed once."""
    read: dict[str, Rubric] = {}
    rubrics: list[Rubric | None] = []
    for index, written in enumerate(column):
        try:
            if written is None and own is None:
                raise InputError("none is given, and the function has none")
            if isinstance(written, str):
                if written not in read:
                    read[written] = Rubric.from_json(written)
                rubrics.append(read[written])
            else:
                rubrics.append(
                    None if written is None else Rubric.from_dict(_without_nulls(written))
                )
        except InputError as error:
            raise error.within(("rubric", index)) from None
    return rubrics


def _without_nulls(data: Any) -> Any:
    """Data without the nulls that Arrow tables add for keys of other rows."""
    if isinstance(data, Mapping):
        return {key: _without_nulls(value) for key, value in data.items() if value is not None}
    if isinstance(data, Sequence) and not isinstance(data, str):
        return [_without_nulls(value) for value in data]
    return data


def _text(content: Any, column: str, index: int) -> str:
    try:
        return text_of_chat(content)
    except InputError as error:
        raise error.within((column, index)) from None
