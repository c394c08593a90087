"""A rubric as a reward: batches of completions in, scores out, a failure never a zero."""

from __future__ import annotations

import asyncio
import atexit
import math
import weakref
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from types import TracebackType
from typing import Any, Literal, Unpack, cast, get_args

from rubricate._documents import check_keys, did_you_mean
from rubricate._sync import BackgroundLoop
from rubricate.dataset import DataItem, RubricDataset, Transcript
from rubricate.errors import InputError, RubricateError, RunStopped
from rubricate.judge import JudgeSettings, JudgesLike
from rubricate.options import (
    GradingOptions,
    PanelOptions,
    RewardOptions,
    check_options,
    chosen_judge,
)
from rubricate.rubric import Rubric
from rubricate.run import ItemResult, Sender
from rubricate.streaming import ResultStream, shared_sender

__all__ = ["RewardBatch", "RewardError", "RewardFunction", "Text"]

Text = str | Sequence[Mapping[str, Any]]
"""A prompt or a completion: text, or a list of chat messages."""

OnFailure = Literal["none", "nan", "raise"]
TOLD_TO_THE_JUDGE = (
    "base_url",
    "temperature",
    "max_tokens",
    "timeout",
    "prices",
    "criteria_per_call",
    "examples",
)


MESSAGE_KEYS = ("role", "content", "name", "tool_calls", "tool_call_id", "reasoning_content")


class RewardError(RubricateError):
    """Completions could not be scored. The message has the first one's cause."""


@dataclass(frozen=True, slots=True)
class RewardBatch:
    """The scores of a batch. All lists are as long as the batch, and in its order.

    Attributes:
        names: the criteria's names.
        scores: each completion's score in [0, 1]; None where `failed`.
        values: each completion's value by criterion, in the order of `names`; None where a
            criterion was not judged.
        failed: whether a completion has no score that can be relied on: a judgement failed, or
            none of its criteria could be judged.
        items: all that is known of each completion: verdicts, reasons, causes of failures.
    """

    names: list[str]
    scores: list[float | None]
    values: list[list[float | None]]
    failed: list[bool]
    items: list[ItemResult]


class RewardFunction:
    """Scores batches of completions by a rubric, for trainers that take a callable.

    `reward(prompts=..., completions=...)` gives one score a completion; `await
    reward.acall(...)` does so without blocking. `score_batch` and `ascore_batch` give more.
    Connections and limits are kept from batch to batch: `close` (or `with`) lets go of them, or the
    end of the program.

    Args:
        rubric: what to judge by.
        judge: who judges, as for `rubricate.grade`.
        prompt: the task, for batches that come without prompts.
        on_failure: what stands for a score that could not be had: `none` (None), `nan`, or
            `raise` for a `RewardError`. It is never 0.
        options: those of `rubricate.agrade` that concern judging: `base_url`, `concurrency`,
            `cache`, `max_time` (for one batch), ...

    Raises:
        InputError: something given cannot be used.
    """

    def __init__(
        self,
        rubric: Rubric,
        judge: JudgesLike = None,
        *,
        prompt: str = "",
        on_failure: OnFailure = "none",
        **options: Unpack[RewardOptions],
    ) -> None:
        known = get_args(OnFailure)
        if on_failure not in known:
            hint = did_you_mean(str(on_failure), known)
            raise InputError(
                f"on_failure must be one of {', '.join(known)}, found {on_failure!r}{hint}"
            )
        check_options(options, RewardOptions, "rubric", "judge", "prompt", "on_failure")
        if not isinstance(rubric, Rubric):
            raise InputError(
                f"expected a Rubric, found {type(rubric).__name__}; a file is loaded by "
                "Rubric.from_file"
            )
        self.__name__ = rubric.name or "rubric_reward"  # what trainers log it as
        self._rubric = rubric
        self._prompt = prompt
        self._on_failure = on_failure
        self._judge = chosen_judge(judge, options)
        to_the_judge = {*JudgeSettings.__annotations__, *PanelOptions.__annotations__}
        left = {name: value for name, value in options.items() if name not in to_the_judge}
        self._options = cast("GradingOptions", left)
        self._sender: tuple[asyncio.AbstractEventLoop, Sender] | None = None
        self._background: BackgroundLoop | None = None
        self._closes_at_exit = False

    def __call__(
        self,
        completions: Sequence[Text],
        prompts: Sequence[Text] | None = None,
        *,
        reference: Sequence[str | None] | None = None,
        **columns: object,
    ) -> list[float | None]:
        """Score a batch. Works in plain code and inside a running loop.

        Args:
            completions: the texts to be scored.
            prompts: what each of them answers.
            reference: an exemplary response for each.
            columns: whatever else a trainer passes; not looked at.

        Returns:
            One score in [0, 1] a completion; None, or NaN, where there is none, by `on_failure`.

        Raises:
            InputError: the lists are not equally long, or hold something else than texts.
            RewardError: a score could not be had, with `on_failure="raise"`.
        """
        return self._scores(self.score_batch(completions, prompts, reference=reference))

    async def acall(
        self,
        completions: Sequence[Text],
        prompts: Sequence[Text] | None = None,
        *,
        reference: Sequence[str | None] | None = None,
        **columns: object,
    ) -> list[float | None]:
        """As a call, without blocking the running loop."""
        return self._scores(await self.ascore_batch(completions, prompts, reference=reference))

    def score_batch(
        self,
        completions: Sequence[Text],
        prompts: Sequence[Text] | None = None,
        *,
        reference: Sequence[str | None] | None = None,
    ) -> RewardBatch:
        """Scores, values by criterion and the mask of failures; arguments as in a call."""
        if self._background is None:
            self._background = BackgroundLoop()
            if not self._closes_at_exit:
                self._closes_at_exit = True
                atexit.register(_close, weakref.ref(self))
        return self._background.run(self.ascore_batch(completions, prompts, reference=reference))

    async def ascore_batch(
        self,
        completions: Sequence[Text],
        prompts: Sequence[Text] | None = None,
        *,
        reference: Sequence[str | None] | None = None,
    ) -> RewardBatch:
        """As `score_batch`, without blocking the running loop."""
        columns = {"completions": completions, "prompts": prompts, "reference": reference}
        for name, column in columns.items():
            if isinstance(column, str | Mapping):
                raise InputError(
                    f"{name}: expected a list, one a completion, found {type(column).__name__}"
                )
        texts = [_text(given, "completions", index) for index, given in enumerate(completions)]
        for name, column in (("prompts", prompts), ("reference", reference)):
            if column is not None and len(column) != len(texts):
                raise InputError(f"{len(column)} {name} for {len(texts)} completions")
        if not texts:
            return RewardBatch(self._rubric.names, [], [], [], [])
        items = [
            DataItem(
                text,
                reference_submission=None if reference is None else reference[index],
                id=str(index),
                prompt=None if prompts is None else _text(prompts[index], "prompts", index),
            )
            for index, text in enumerate(texts)
        ]
        return self._batch(await self._graded(items))

    async def _graded(self, items: list[DataItem]) -> list[ItemResult]:
        dataset = RubricDataset(self._prompt, self._rubric, items)
        stream = ResultStream(
            dataset, self._judge, asyncio.Event(), self._options, self._sender_here()
        )
        found: list[ItemResult] = []
        async with stream:
            try:
                async for item in stream:
                    found.append(item)
            except RunStopped:
                pass  # every item has been given, those that were not reached as failed
        return sorted(found, key=lambda item: item.index)

    def _sender_here(self) -> Sender:
        """The running loop's way to models; a new one after a model was given up."""
        loop = asyncio.get_running_loop()
        if self._sender is None or self._sender[0] is not loop or self._sender[1].lost:
            self._let_go()
            self._sender = (loop, shared_sender(self._judge, self._options))
        return self._sender[1]

    def _batch(self, items: list[ItemResult]) -> RewardBatch:
        names = self._rubric.names
        failed = [
            item.score.value is None or any(v.status == "failed" for v in item.criteria.values())
            for item in items
        ]
        return RewardBatch(
            names,
            [None if bad else item.score.value for bad, item in zip(failed, items, strict=True)],
            [[item.criteria[name].value for name in names] for item in items],
            failed,
            items,
        )

    def _scores(self, batch: RewardBatch) -> list[float | None]:
        if self._on_failure == "raise" and any(batch.failed):
            raise RewardError(_causes(batch))
        if self._on_failure == "nan":
            return [math.nan if score is None else score for score in batch.scores]
        return batch.scores

    def close(self) -> None:
        """Let go of connections and of the background loop. It can be used again afterwards."""
        if self._background is not None:
            self._background.run(self.aclose())
            self._background.close()
            self._background = None

    async def aclose(self) -> None:
        """Let go of the connections of the running loop, after `acall` or `ascore_batch`."""
        self._let_go()
        await self._judge.aclose()

    def _let_go(self) -> None:
        if self._sender is not None:
            self._sender[1].leave()
            self._sender = None

    def __enter__(self) -> RewardFunction:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.close()


def _close(reward: weakref.ref[RewardFunction]) -> None:
    """Close a reward function that is still there."""
    found = reward()
    if found is not None:
        found.close()


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


def _text(given: Any, column: str, index: int) -> str:
    """A prompt or completion as text: one message as its text, several as a `Transcript`."""
    if isinstance(given, str):
        return given
    if not isinstance(given, Sequence) or not all(isinstance(part, Mapping) for part in given):
        raise InputError(
            f"expected text or a list of chat messages, found {type(given).__name__}",
            path=(column, index),
        )
    for message in given:
        try:
            check_keys(message, MESSAGE_KEYS)
        except InputError as error:
            raise error.within((column, index)) from None
        if "content" not in message and "tool_calls" not in message:
            raise InputError("a message has no content", path=(column, index))
    messages = [
        {"role": "user", **message, "content": _content(message.get("content"))}
        for message in given
    ]
    if len(messages) == 1:
        return str(messages[0]["content"])
    try:
        return Transcript(messages)
    except InputError as error:
        raise error.within((column, index)) from None


def _content(content: Any) -> str:
    if isinstance(content, Sequence) and not isinstance(content, str):
        return "".join(str(part.get("text", "")) for part in content if isinstance(part, Mapping))
    return "" if content is None else str(content)
