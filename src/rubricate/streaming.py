"""A run on its way: what it can be told, and its results one after the other."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from types import TracebackType
from typing import TYPE_CHECKING, Any, TypedDict, Unpack, cast

from rubricate._documents import suggestion
from rubricate.dataset import Gradable, RubricDataset
from rubricate.errors import InputError, RunStopped
from rubricate.judge import (
    Cascade,
    CriteriaPerCall,
    Examples,
    Grader,
    Judge,
    JudgeLike,
    JudgesLike,
    Mode,
    Model,
    Panel,
    PromptTemplate,
    Weights,
    choose_judge,
    named_judge,
)
from rubricate.report import Summary, Tallies
from rubricate.rubric import CannotAssess, LengthPenalty, Rubric, check_cannot_assess
from rubricate.run import (
    Budget,
    ItemResult,
    Limits,
    OnVerdict,
    Outcome,
    Progress,
    RetryPolicy,
    RunFolder,
    Sender,
    cache_file,
    goes_on_without,
    run,
)
from rubricate.stats import reliability_weights

if TYPE_CHECKING:
    from rubricate.report import Calibrator, FittedCalibration

__all__ = [
    "ATTEMPTS",
    "CONCURRENCY",
    "DEADLINE",
    "MAX_OUTAGE",
    "TIMEOUT",
    "AskingOptions",
    "GradingOptions",
    "JudgingOptions",
    "OneJudge",
    "PanelOptions",
    "ResultStream",
    "RewardOptions",
    "agrade_stream",
    "check_options",
    "chosen_calibrator",
    "chosen_dataset",
    "chosen_judge",
    "shared_sender",
]

CONCURRENCY = 32
TIMEOUT = 120.0
ATTEMPTS = 6
DEADLINE = 600.0
MAX_OUTAGE = 120.0
NOT_FOR_A_PANEL: dict[str, object] = {
    "base_url": None,
    "examples": None,
    "criteria_per_call": 1,
    "mode": "explained",
    "permutations": None,
    "correct_prior": True,
    "samples": None,
    "shuffle": None,
    "judge_prompt": None,
    "chunk_tokens": None,
}
"""The options that a `Panel` has in its judges, with their defaults."""
AUTHOR_KEYS = ("model", "system")


class PanelOptions(TypedDict, total=False):
    """How several judges vote, or one several times; the arguments of these names of `agrade` and
    `Panel`."""

    strategy: str | None
    ordinal: str | None
    nominal: str | None
    numeric: str | None
    min_votes: int
    weights: Weights | None
    replicates: int
    permutations: int | None


class OneJudge(TypedDict, total=False):
    """What a judge is made with; the arguments of these names of `agrade`."""

    base_url: str | None
    temperature: float | None
    timeout: float
    prices: str | Path | None
    criteria_per_call: CriteriaPerCall
    examples: Examples | None
    judge_prompt: str | Path | PromptTemplate | None
    mode: Mode | str
    correct_prior: bool
    samples: int | None
    shuffle: int | None
    chunk_tokens: int | None


class JudgingOptions(OneJudge, PanelOptions, total=False):
    """How to judge; the arguments of these names of `agrade`."""

    attempts: int
    deadline: float
    max_outage: float
    leader_first: bool | None
    cannot_assess: CannotAssess | str
    partial: float
    length_penalty: LengthPenalty | Mapping[str, Any] | None
    allow_code: bool


class RewardOptions(JudgingOptions, total=False):
    """How to judge batch after batch; the arguments of these names of `agrade`."""

    concurrency: int
    requests_per_minute: float | None
    tokens_per_minute: float | None
    cache: str | Path | None
    max_cost: float | None
    max_time: float | None


class GradingOptions(RewardOptions, total=False):
    """How to grade a dataset; the arguments of these names of `agrade`."""

    rubric: Rubric | None
    run_dir: str | Path | None
    fresh: bool
    retry_failed: bool
    limit: int | None
    author_key: str | None
    calibration: str | Path | FittedCalibration | None
    on_progress: Callable[[Progress], None] | None


class AskingOptions(TypedDict, total=False):
    """How to ask in a run of another form; the arguments of these names of `agrade`."""

    base_url: str | None
    temperature: float | None
    timeout: float
    prices: str | Path | None
    run_dir: str | Path | None
    fresh: bool
    retry_failed: bool
    cache: str | Path | None
    concurrency: int
    requests_per_minute: float | None
    tokens_per_minute: float | None
    attempts: int
    deadline: float
    max_outage: float
    max_cost: float | None
    max_time: float | None
    on_progress: Callable[[Progress], None] | None


def check_options(options: Mapping[str, Any], known: type) -> None:
    """Raise `TypeError` for an option that is not one of a class of options above."""
    for name in options:
        if name not in known.__annotations__:
            near = suggestion(name, known.__annotations__)
            raise TypeError(
                f"unexpected keyword argument '{name}'"
                + (f"; did you mean '{near}'?" if near else "")
            )


def agrade_stream(
    dataset: Gradable,
    judge: JudgesLike = None,
    *,
    stop: asyncio.Event | None = None,
    **options: Unpack[GradingOptions],
) -> ResultStream:
    """Grade a dataset and give each item's result as soon as it is there; holds none of them.

    Every item comes once, in the order in which they get done (`ItemResult.index` is the place in
    the dataset). Where results are taken slowly, judging waits. A run that ends early gives the
    items that are left too, with what is known of them, before `RunStopped` is raised.

        async with rubricate.agrade_stream(dataset, judge) as stream:
            async for item in stream:
                ...
        print(stream.summary())

    Args:
        dataset, judge, stop: as for `agrade`.
        options: the others of `agrade`.

    Raises:
        InputError: something given cannot be used; nothing has been sent.
    """
    return ResultStream(dataset, judge, stop or asyncio.Event(), options)


class ResultStream:
    """The results of a run on their way; see `agrade_stream`."""

    def __init__(
        self,
        dataset: Gradable,
        judge: JudgesLike,
        stop: asyncio.Event,
        options: GradingOptions,
        sender: Sender | None = None,
        on_verdict: OnVerdict = lambda item, name, verdict: None,
    ) -> None:
        check_options(options, GradingOptions)
        if options.get("fresh") and options.get("retry_failed"):
            raise InputError("fresh and retry_failed exclude each other: give one of them")
        partial = options.get("partial", 0.5)
        strategy = check_cannot_assess(options.get("cannot_assess", "skip"), partial)
        penalty = options.get("length_penalty")
        author_key = options.get("author_key")
        dataset = chosen_dataset(dataset, options.get("rubric"))
        chosen = chosen_judge(judge, options)
        self._made_here = None if isinstance(judge, Judge | Model | Panel | Cascade) else chosen
        limit = options.get("limit")
        calibrator = chosen_calibrator(options.get("calibration"), dataset, chosen, limit)
        run_dir = options.get("run_dir")
        self._folder = None if run_dir is None else RunFolder(run_dir)
        self._tallies = Tallies()
        self._outcome: Outcome | None = None
        self._items = run(
            dataset,
            chosen,
            folder=self._folder,
            cache=cache_file(options.get("cache")),
            fresh=options.get("fresh", False),
            only_failed=options.get("retry_failed", False),
            leader_first=_leader_first(chosen, options),
            budget=Budget(options.get("max_cost"), options.get("max_time")),
            limit=limit,
            limits=_limits(options),
            retries=_retries(options),
            cannot_assess=strategy,
            partial=partial,
            length_penalty=(
                penalty
                if penalty is None or isinstance(penalty, LengthPenalty)
                else LengthPenalty.from_dict(penalty)
            ),
            author_keys=AUTHOR_KEYS if author_key is None else (author_key,),
            learn_weights=reliability_weights,
            calibrate=calibrator,
            calibration=None if calibrator is None else calibrator.fitted.reference,
            allow_code=options.get("allow_code", False),
            on_progress=options.get("on_progress") or (lambda progress: None),
            stop=stop,
            on_verdict=on_verdict,
            on_item=self._tallies.add,
            on_end=self._end,
            sender=sender,
        )

    def _end(self, outcome: Outcome) -> None:
        self._outcome = outcome
        if self._folder:
            self._folder.write_summary(self.summary().to_dict())

    @property
    def outcome(self) -> Outcome:
        """What the run was and what it took. Raises `RuntimeError` before it has ended."""
        if self._outcome is None:
            raise RuntimeError("the run has not ended: iterate to the end, or close the stream")
        return self._outcome

    def summary(self) -> Summary:
        """The figures of the run, once it has ended: the same as `Result.summary`."""
        return self._tallies.summary(self.outcome)

    def __aiter__(self) -> ResultStream:
        return self

    async def __anext__(self) -> ItemResult:
        try:
            return await anext(self._items)
        except StopAsyncIteration:
            await self.aclose()
            if self.outcome.stopped is not None:
                raise RunStopped(
                    self.outcome.stopped, interrupted=self.outcome.interrupted
                ) from None
            raise
        except BaseException:
            await self.aclose()
            raise

    async def aclose(self) -> None:
        """End the run if it has not ended, and let go of connections that it made."""
        try:
            await self._items.aclose()
        finally:
            if self._made_here is not None:
                await self._made_here.aclose()

    async def __aenter__(self) -> ResultStream:
        return self

    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        await self.aclose()


def shared_sender(judge: Grader, options: GradingOptions) -> Sender:
    """A way to a judge's models that several streams share, with its limits."""
    return Sender(
        limits=_limits(options),
        retries=_retries(options),
        goes_on_without=goes_on_without(judge),
    )


def chosen_calibrator(
    given: str | Path | FittedCalibration | None,
    dataset: Gradable,
    judge: Grader,
    limit: int | None,
) -> Calibrator | None:
    """The map that is meant, if it fits the judge and what is asked; `InputError` if not."""
    if given is None:
        return None
    from rubricate.report import Calibrator, read_calibration

    fitted = read_calibration(given) if isinstance(given, str | Path) else given
    return Calibrator(fitted, judge, dataset.survey(limit).rubric)


def _leader_first(judge: Grader, options: JudgingOptions) -> bool:
    given = options.get("leader_first")
    return judge.caches_prefixes if given is None else given


def _limits(options: GradingOptions) -> Limits:
    return Limits(
        options.get("concurrency", CONCURRENCY),
        options.get("requests_per_minute"),
        options.get("tokens_per_minute"),
    )


def _retries(options: JudgingOptions) -> RetryPolicy:
    return RetryPolicy(
        attempts=options.get("attempts", ATTEMPTS),
        deadline=options.get("deadline", DEADLINE),
        max_outage=options.get("max_outage", MAX_OUTAGE),
    )


def chosen_dataset(dataset: Gradable, rubric: Rubric | None) -> Gradable:
    """The dataset that is meant, with another rubric if one is given."""
    if not isinstance(dataset, Gradable):
        raise InputError(
            f"expected a RubricDataset or a table (open_items), found {type(dataset).__name__}"
        )
    if rubric is None:
        return dataset
    if not isinstance(dataset, RubricDataset):
        raise InputError("rubric= is for a RubricDataset; a table is opened with its own")
    return RubricDataset.from_dict(dataset.to_dict(), rubric=rubric)


def chosen_judge(judge: JudgesLike, options: JudgingOptions) -> Grader:
    """The judge, panel or cascade that is meant, as `agrade` takes it."""
    told: dict[str, Any] = {
        name: options[name]  # type: ignore[literal-required]
        for name in OneJudge.__annotations__
        if name in options
    }
    voting = cast(
        "PanelOptions",
        {
            name: value
            for name, value in options.items()
            if name in PanelOptions.__annotations__ and value is not None and value != 1
        },
    )
    if told.get("mode") == "probability" and options.get("permutations") is not None:
        told["permutations"] = options["permutations"]  # averaged, not voted on
        voting.pop("permutations", None)
    if isinstance(judge, Panel | Cascade):
        usual = NOT_FOR_A_PANEL.items()
        own = [*voting, *(name for name, default in usual if told.get(name, default) != default)]
        if own:
            raise InputError(
                f"{own[0]} is for judges that are listed; a {type(judge).__name__} has its own"
            )
        return judge
    if isinstance(judge, Sequence) and not isinstance(judge, str):
        if len(judge) > 1 or _repeats(voting):
            return Panel([_one_of_several(one, told) for one in judge], **voting)
        if not judge:
            raise InputError("the list of judges is empty")
        judge = judge[0]
    if _repeats(voting):
        return Panel([named_judge(judge, **told)], **voting)
    if voting.get("min_votes", 1) > 1:
        raise InputError(f"a quorum of {voting['min_votes']} votes cannot come of 1")
    if voting:
        raise InputError(
            f"{next(iter(voting))} is for several judges, or replicates of one; there is one"
        )
    return choose_judge(judge, **told)


def _repeats(voting: PanelOptions) -> bool:
    """Whether one judge is asked several times."""
    return "replicates" in voting or "permutations" in voting


def _one_of_several(judge: JudgeLike, told: Mapping[str, Any]) -> Judge:
    """A judge of a panel; each kind is told what concerns it."""
    concerns = {*OneJudge.__annotations__, "permutations"}
    if judge is None or judge == "builtin":
        concerns = {"examples", "mode"}
    elif isinstance(judge, Judge):
        concerns = set()
    elif not isinstance(judge, str):
        concerns -= {"base_url", "temperature", "timeout", "prices"}
    return named_judge(judge, **{name: told[name] for name in told if name in concerns})
