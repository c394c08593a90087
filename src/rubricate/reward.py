"""A rubric as a reward: batches of completions in, scores out, a failure never a zero."""

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
"""A completion's rubric: itself, its JSON text, or what is in such a file."""

OnFailure = Literal["none", "nan", "raise"]


class RewardError(RubricateError):
    """Completions could not be scored. The message has the first one's cause."""


@dataclass(frozen=True, slots=True)
class RewardBatch:
    """The scores of a batch. All lists are as long as the batch, and in its order.

    Attributes:
        names: the criteria's names: those of the function's rubric, then those of others.
        scores: each completion's score in [0, 1], or of any size where the rubric declares raw
            scores; None where `failed`.
        values: each completion's value by criterion, in the order of `names`; None where a
            criterion was not judged, or not asked about.
        failed: whether a completion has no score that can be relied on: a judgement failed, or
            none of its criteria could be judged.
        items: all that is known of each completion: verdicts, reasons, causes of failures.
        groups: each completion's scores of the groups of a rubric that is a tree, by name; None
            where a group has none.
    """

    names: list[str]
    scores: list[float | None]
    values: list[list[float | None]]
    failed: list[bool]
    items: list[ItemResult]
    groups: list[dict[str, float | None]]


class RewardCall(RewardOptions, kw_only=False):
    """What a `RewardFunction` is made with."""

    rubric: RubricLike | None
    judge: JudgesLike = None
    _: KW_ONLY
    prompt: str = ""
    on_failure: OnFailure = "none"


class RewardFunction:
    """Scores batches of completions by a rubric, for trainers that take a callable.

    `reward(prompts=..., completions=...)` gives one score a completion; `await
    reward.acall(...)` does so without blocking. `score_batch` and `ascore_batch` give more.
    Connections and limits are kept from batch to batch: `close` (or `with`) lets go of them, or the
    end of the program. Threads may share one; a copy, a forked process and one that it is sent to
    (by pickle) have connections and limits of their own. For example:

        reward = RewardFunction(["The answer gives a reason."], "openai/gpt-6-luna")
        scores = reward(prompts=["Why is the sky blue?"], completions=["Because air scatters."])

    Args:
        rubric: what to judge by, as for `rubricate.grade`; None where every completion comes with
            its own.
        judge: who judges, as for `rubricate.grade`.
        prompt: the task, for batches that come without prompts.
        on_failure: what is returned in place of a score that is missing: `none` (None), `nan`, or
            `raise` for a `RewardError`. It is never 0.
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
        # what trainers log it as
        self.__name__ = (rubric.name if rubric else None) or "rubric_reward"
        self._rubric = rubric
        self._prompt = call.prompt
        self._on_failure = call.on_failure
        self._judge = chosen_judge(call.judge, call)
        self._options = part(RunOptions, call)
        self._rest()

    def _rest(self) -> None:
        """Be as before the first use."""
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
        """Score a batch. Works in plain code and inside a running loop.

        Args:
            completions: the texts to be scored.
            prompts: what each of them answers.
            reference: an exemplary response for each.
            rubric: what to judge each by in place of the function's rubric: a `Rubric`, its JSON
                text, or what is in such a file. None: the function's.
            columns: whatever else a trainer passes; not looked at, but for a callable `log_metric`
                (TRL's): it receives the mean value of each criterion and group of the function's
                rubric, over the completions that have one, as `NAME/CRITERION`, and the share that
                failed as `NAME/failed`.

        Returns:
            One score a completion, as in `RewardBatch.scores`; None, or NaN, where there is none,
            by `on_failure`.

        Raises:
            InputError: the lists are not equally long, or hold something else than texts.
            RewardError: a score is missing, with `on_failure="raise"`.
        """
        batch = self.score_batch(completions, prompts, reference=reference, rubric=rubric)
        return self._scores(batch, columns)

    @property
    def acall(self) -> Callable[..., Coroutine[Any, Any, list[float | None]]]:
        """As a call, without blocking the running loop.

        It is a function of the same `__name__`, so that a trainer logs it under the rubric's name.
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
        """Scores, values by criterion and the mask of failures; arguments as in a call.

        Args:
            completions, prompts, reference, rubric: as in a call: sequences that are equally long.

        Returns:
            The batch: a score, a dict of values and whether it failed, for each completion in its
            order.

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
        """As `score_batch`, without blocking the running loop.

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
                pass  # every item has been given, those that were not reached as failed
        return sorted(results, key=lambda item: item.index)

    def _sender_here(self) -> Sender:
        """The running loop's way to models; a new one after a model was given up."""
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
        """Let go of connections and of the background loop. It can be used again afterwards."""
        if self._background is not None and not self._background.is_inherited:
            self._background.run(self.aclose())
            self._background.close()
            self._background = None

    async def aclose(self) -> None:
        """Let go of the connections of the running loop, after `acall` or `ascore_batch`.

        Raises:
            RubricateError: it is called outside a running loop.
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
    """Close a reward function that is still there."""
    function = reward()
    if function is not None:
        function.close()


def _means(batch: RewardBatch, names: Sequence[str]) -> dict[str, float]:
    """The criteria's and groups' mean values where there are any, and the share that failed."""
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
    """Each completion's rubric, None for the function's; the same text is read once."""
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
    """Data without what Arrow's tables put where others of a column have something."""
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
