"""Grading inside Ray programs: in data pipelines, and as a reward for trainers.

    from rubricate.ray import Grader

    graded = texts.map_batches(Grader, fn_constructor_args=[rubric, "openai/gpt-6-luna"],
                               concurrency=4, batch_size=256)

    from rubricate.ray import shared_reward

    reward = shared_reward("light", rubric, "openai/gpt-6-luna")  # in every worker of a trainer
    scores = await reward.acall(completions, prompts)

Needs the extra `ray`; `Grader` also needs `parquet`.
"""

from __future__ import annotations

import hashlib
import pickle
import socket
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import KW_ONLY, is_dataclass
from inspect import isfunction
from pathlib import Path
from typing import TYPE_CHECKING, Any

from pydantic import BaseModel

from rubricate._spelling import listed
from rubricate.choosing import chosen_judge
from rubricate.errors import InputError, RubricateError, extra_needed
from rubricate.judge import Judge, JudgesLike
from rubricate.options import RewardOptions
from rubricate.reward import (
    RewardBatch,
    RewardCall,
    RewardError,
    RewardFunction,
    RowRubric,
    Text,
)
from rubricate.rubric import ComputedCriterion, Criterion, Rubric, fingerprint
from rubricate.settings import part, takes_as_method

if TYPE_CHECKING:
    import pyarrow

__all__ = ["Grader", "SharedReward", "shared_reward"]

NAMESPACE = "rubricate"
"""Ray's namespace for shared rewards."""
AT_ONCE = 1000
"""Maximum number of concurrent calls to a shared reward."""
LIBRARIES = ("rubricate", "pydantic", "abc", "builtins", "typing")
"""Packages whose classes are identified by version, because they contain no user code."""


class GraderCall(RewardOptions, kw_only=False):
    """The arguments of a `Grader`."""

    rubric: Rubric
    judge: JudgesLike = None
    _: KW_ONLY
    prompt: str = ""
    submission: str = "submission"
    prompts: str | None = None
    references: str | None = None


class Grader:
    """Adds verdicts to the rows of a Ray dataset, for `ray.data.Dataset.map_batches`.

    Rows keep their columns and their order, and get these: `score` (null if there is none),
    `failed` (whether a judgement failed), `error` (the cause of the first failure), and for each
    criterion `verdict.NAME` (a label, or the status if there is no label) and `value.NAME` (from 0
    to 1, or null). A row that cannot be graded is marked as failed and never fails the job. An
    invalid rubric, judge or option is an error when the pipeline starts.

    With `cache="postgresql://..."`, workers share their answers, so that blocks which Ray repeats
    send nothing again. With `share_limits`, they share the limits of the judge's key.

    Args:
        rubric: the rubric.
        judge: the judge, as for `rubricate.grade`.
        prompt: the task of all rows, if no column has it.
        submission: the column with the texts to judge.
        prompts: the column with the tasks.
        references: the column with exemplary responses.
        options: the options of `RewardFunction`.

    Raises:
        InputError: something given cannot be used, or rows do not have a column.
        MissingExtraError: pyarrow is not installed.
    """

    @takes_as_method(GraderCall)
    def __init__(self, call: GraderCall) -> None:
        with extra_needed("rubricate.ray.Grader", "parquet"):
            import pyarrow  # noqa: F401
        self._call = call
        self._rubric = call.rubric
        self._reward = RewardFunction(
            call.rubric, call.judge, prompt=call.prompt, **vars(part(RewardOptions, call))
        )

    def __call__(self, batch: Any) -> pyarrow.Table:
        """Grade a batch: columns by name (lists, arrays), a pyarrow table or a pandas frame."""
        table = _as_table(batch)
        texts = self._column(table, self._call.submission) or []
        prompts = self._column(table, self._call.prompts)
        references = self._column(table, self._call.references)
        there = [index for index, text in enumerate(texts) if isinstance(text, str)]
        rows = [self._failed("the row has no text to be judged")] * len(texts)
        try:
            graded = self._reward.score_batch(
                [texts[index] for index in there],
                _picked(prompts, there),
                reference=_picked(references, there),
            )
        except Exception as error:  # one batch must not end a job of hours
            failed = self._failed(f"{type(error).__name__}: {error}")
            judged = [failed] * len(there)
        else:
            judged = [self._row(graded, place) for place in range(len(there))]
        for index, row in zip(there, judged, strict=True):
            rows[index] = row
        return self._extended(table, rows)

    def _column(self, table: pyarrow.Table, name: str | None) -> list[Any] | None:
        if name is None:
            return None
        if name not in table.column_names:
            raise InputError(f"no column '{name}'; there are: {', '.join(table.column_names)}")
        values: list[Any] = table.column(name).to_pylist()
        return values

    def _row(self, batch: RewardBatch, place: int) -> dict[str, Any]:
        row: dict[str, Any] = {
            "score": batch.scores[place],
            "failed": batch.failed[place],
            "error": None,
        }
        for name, verdict in batch.items[place].criteria.items():
            row[f"verdict.{name}"] = verdict.label or verdict.status
            row[f"value.{name}"] = verdict.value
            if verdict.error is not None and row["error"] is None:
                row["error"] = f"{name}: {verdict.error.kind}: {verdict.error.message}"
        return row

    def _failed(self, why: str) -> dict[str, Any]:
        verdicts = {f"verdict.{name}": "failed" for name in self._rubric.names}
        return {"score": None, "failed": True, "error": why, **verdicts}

    def _extended(self, table: pyarrow.Table, rows: Sequence[Mapping[str, Any]]) -> pyarrow.Table:
        """The table with scores. Existing columns of these names are replaced."""
        import pyarrow

        types = {
            "score": pyarrow.float64(),
            "failed": pyarrow.bool_(),
            "error": pyarrow.string(),
        }
        for name in self._rubric.names:
            types |= {f"verdict.{name}": pyarrow.string(), f"value.{name}": pyarrow.float64()}
        there = [name for name in types if name in table.column_names]
        table = table.drop_columns(there) if there else table
        for name, kind in types.items():
            column = pyarrow.array([row.get(name) for row in rows], kind)
            table = table.append_column(name, column)
        return table


def _as_table(batch: Any) -> pyarrow.Table:
    import pyarrow

    if isinstance(batch, pyarrow.Table):
        return batch
    if isinstance(batch, Mapping):
        return pyarrow.table({name: list(column) for name, column in batch.items()})
    return pyarrow.Table.from_pandas(batch, preserve_index=False)


def _picked(column: list[Any] | None, places: Sequence[int]) -> list[Any] | None:
    """The texts of a column at these positions; None for other values."""
    if column is None:
        return None
    return [column[place] if isinstance(column[place], str) else None for place in places]


class _RewardActor:
    """A reward function in a Ray actor.

    The first call creates it, so that it can report problems on its node.

    Args:
        made: rubric, judge and options, pickled.
        settings: a hash of each of their parts, by name.
    """

    def __init__(self, pickled: bytes, settings: dict[str, str]) -> None:
        self._pickled = pickled
        self._settings = settings
        self._reward: RewardFunction | None = None

    async def settings(self) -> dict[str, str]:
        return self._settings

    async def scores(self, completions: list[Text], beside: dict[str, Any]) -> list[float | None]:
        if self._reward is None:
            self._reward = self._begun()
        return await self._reward.acall(completions, **beside)

    def _begun(self) -> RewardFunction:
        try:
            rubric, judge, options = pickle.loads(self._pickled)
            return RewardFunction(rubric, judge, **options)
        except Exception as error:  # such as a key or a module missing on this node
            kind = "" if isinstance(error, RubricateError) else f"{type(error).__name__}: "
            raise InputError(f"on {socket.gethostname()}: {kind}{error}") from None


class SharedReward:
    """A reward function in one process of a Ray cluster, available by name.

    Call it like a `RewardFunction`; it can be sent to other processes of the cluster. All callers
    share limits, connections and budget.

    Args:
        actor: Ray's handle.
        name: its name in trainers' logs.
    """

    def __init__(self, actor: Any, name: str) -> None:
        self._actor = actor
        self.__name__ = name

    def __call__(
        self,
        completions: Sequence[Text],
        prompts: Sequence[Text] | None = None,
        *,
        reference: Sequence[Text | None] | None = None,
        rubric: Sequence[RowRubric | None] | None = None,
        **columns: object,
    ) -> list[float | None]:
        """Score a batch, with the arguments and errors of `RewardFunction`."""
        import ray

        with _own_errors():
            scores: list[float | None] = ray.get(
                self._scores(completions, prompts, reference, rubric)
            )
        return scores

    async def acall(
        self,
        completions: Sequence[Text],
        prompts: Sequence[Text] | None = None,
        *,
        reference: Sequence[Text | None] | None = None,
        rubric: Sequence[RowRubric | None] | None = None,
        **columns: object,
    ) -> list[float | None]:
        """Like a call, but without blocking the running event loop.

        Args:
            completions, prompts, reference, rubric, columns: as in a call.

        Returns:
            A score for each completion, 0 to 1 unless the rubric says otherwise; None or NaN for
            one that failed, as `on_failure` says.
        """
        with _own_errors():
            scores: list[float | None] = await self._scores(completions, prompts, reference, rubric)
        return scores

    def _scores(
        self, completions: Sequence[Text], prompts: Any, reference: Any, rubric: Any
    ) -> Any:
        """Ray's reference to the future scores."""
        beside = {"prompts": prompts, "reference": reference, "rubric": rubric}
        return self._actor.scores.remote(list(completions), beside)

    def close(self) -> None:
        """End its process, for all callers."""
        import ray

        ray.kill(self._actor)


@contextmanager
def _own_errors() -> Iterator[None]:
    """Raise the error of the reward function itself, instead of Ray's wrapper."""
    from ray.exceptions import RayActorError, RayTaskError

    try:
        yield
    except RayTaskError as error:
        raise (error.cause or error) from None
    except RayActorError as error:  # it was closed, or there is no room for it
        why = str(error).strip().splitlines()[-1].strip()
        raise RewardError(f"the shared reward is not there any more: {why}") from None


def shared_reward(
    name: str, rubric: Rubric | None, judge: JudgesLike = None, **options: Any
) -> SharedReward:
    """The reward function with this name in the Ray cluster. The first call starts it.

    It runs until it is closed or the cluster ends. If its process or node dies, Ray restarts it and
    repeats the calls in progress.

    Args:
        name: its name in the cluster.
        rubric, judge, options: as for `RewardFunction`. With `cache="postgresql://..."`, answers
            survive the process.

    Raises:
        InputError: an argument cannot be used, or the reward with this name was started with
            another rubric, judge or option.
        MissingExtraError: Ray is not installed.
    """
    with extra_needed("shared_reward", "ray"):
        import ray
    shown = RewardFunction(rubric, judge, **options).__name__  # reports problems here
    remote: Any = ray.remote  # its types cover only functions
    kind = remote(_RewardActor).options(
        name=name,
        namespace=NAMESPACE,
        get_if_exists=True,
        lifetime="detached",
        max_restarts=-1,
        max_task_retries=-1,
        max_concurrency=AT_ONCE,
        num_cpus=0,
    )
    cloudpickle: Any = ray.cloudpickle
    settings = reward_settings(rubric, judge, **options)
    actor = kind.remote(cloudpickle.dumps((rubric, judge, options)), settings)
    with _own_errors():
        others: dict[str, str] = ray.get(actor.settings.remote())
    differs = [part for part in {**others, **settings} if others.get(part) != settings.get(part)]
    if differs:
        raise InputError(
            f"the shared reward '{name}' was started with another {listed(differs)}: choose "
            f"another name, or end the earlier one first, with its close() or "
            f"ray.kill(ray.get_actor({name!r}, namespace={NAMESPACE!r}))"
        )
    return SharedReward(actor, shown)


def reward_settings(rubric: Rubric | None, judge: JudgesLike, **options: Any) -> dict[str, str]:
    """A hash of each part of a reward function, equal in all processes.

    For Python judges and criteria it covers what is in the keys of a run, and the code of their
    classes.
    """
    call = RewardCall(rubric, judge, **options)
    parts = vars(call)
    criteria: Sequence[Criterion] = [] if rubric is None else rubric.criteria
    if rubric is not None:
        written = rubric.to_dict()
        groups = [node.to_dict() for node in rubric.tree if not isinstance(node, Criterion)]
        beside = written | {"criteria": None} if isinstance(written, dict) else {}
        parts["rubric"] = [beside, groups]
    for criterion in criteria:
        identity = criterion.identity() if isinstance(criterion, ComputedCriterion) else None
        code = _code_of(type(criterion))
        parts[f"criterion '{criterion.name}'"] = [criterion.to_dict(), identity, code]
    parts["judge"] = [
        [
            [stage.threshold, stage.judge.weights, stage.judge.learns_weights],
            getattr(stage.judge, "aggregation", None),
            [[member.name, member.replicate, _of_judge(member.judge)] for member in stage.members],
        ]
        for stage in chosen_judge(judge, call).stages
    ]
    return {
        name: hashlib.blake2b(repr(fingerprint(_contents(value))).encode()).hexdigest()
        for name, value in parts.items()
    }


def _of_judge(judge: Judge) -> list[object]:
    """The parts of a judge, without a callable's source, whose file may be missing on other
    nodes."""
    model = judge.model
    parts: list[object] = [judge.mode, judge.prompt_version]
    function = None if model is None else vars(model).get("function")  # of `PythonModel`
    parts.append(judge.fingerprint() if function is None else [judge.name, function])
    for owner in (judge, model):
        if code := _code_of(type(owner)):
            parts += [code, vars(owner)]
    return parts


def _code_of(kind: type) -> list[object]:
    """The code of a user-defined class and of its user-defined bases."""
    code: list[object] = []
    for base in kind.__mro__:
        if base.__module__.partition(".")[0] not in LIBRARIES:
            parts = {n: getattr(part, "__func__", part) for n, part in vars(base).items()}
            defined = {n: p for n, p in parts.items() if isfunction(p) or not n.startswith("__")}
            code.append([base.__qualname__, defined])
    return code


def _contents(value: object) -> object:
    """A value with its contents, as far as `fingerprint` can inspect it."""
    if isinstance(value, Path):
        return str(value)
    if isinstance(value, Mapping):
        return {str(key): _contents(value[key]) for key in sorted(value, key=str)}
    if isinstance(value, list | tuple):
        return [_contents(part) for part in value]
    if isinstance(value, BaseModel):
        return [type(value).__qualname__, _contents(dict(value))]
    if is_dataclass(value) and not isinstance(value, type):
        fields = {field: getattr(value, field) for field in value.__dataclass_fields__}
        return [type(value).__qualname__, _contents(fields)]
    return value
