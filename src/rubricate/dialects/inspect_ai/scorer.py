"""A scorer for inspect: `inspect_ai` runs the samples of a task, and this package judges them.

    from inspect_ai import Task
    from inspect_ai.dataset import json_dataset
    from rubricate.dialects.inspect_ai.scorer import rubric

    questions = json_dataset("questions.jsonl")
    task = Task(questions, scorer=rubric("rubric.yaml", "openai/gpt-6-luna"))

The score of a sample has a value for the whole (`score`), for each criterion and for each group of
criteria. Inspect thus reports the mean and standard error of each over samples and epochs. A failed
verdict is NaN, which inspect counts as unscored and leaves out of means; it would count None as 0.

Samples that are scored at the same time share the judge's connections and limits. With `cache=`,
any eval reuses stored answers. This module needs inspect_ai (extra `inspect`), which nothing else
in this package imports.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import KW_ONLY, asdict
from itertools import starmap
from pathlib import Path
from typing import Any

from rich.markup import escape

from rubricate.dataset import kinds_in
from rubricate.errors import InputError, MissingExtraError, errors_within
from rubricate.judge import JudgesLike
from rubricate.options import JudgingOptions
from rubricate.reward import RewardFunction
from rubricate.rubric import UNANSWERED, Rubric, Usage, Verdict
from rubricate.run import ItemResult, Limits, SharedAnswers
from rubricate.settings import part, takes

try:
    from inspect_ai.scorer import Score, Scorer, Target, mean, scorer, stderr
    from inspect_ai.solver import TaskState
except ImportError as error:
    if error.name is None or error.name.partition(".")[0] != "inspect_ai":
        raise
    raise MissingExtraError(__name__, "inspect") from None


WHOLE = "score"
"""The name of the score of all criteria together."""


class ScorerOptions(JudgingOptions, Limits, SharedAnswers):
    """The options for judging the samples of a task."""


class ScorerCall(ScorerOptions, kw_only=False):
    """Arguments of `rubric`."""

    rubric: Rubric | str | Path | None = None
    judge: JudgesLike = None
    _: KW_ONLY
    conversation: bool = False


@scorer(metrics={"*": [mean(), stderr()]})
@takes(ScorerCall)
def rubric(call: ScorerCall) -> Scorer:
    """Score samples by a rubric.

    The submission is the model's output, the prompt is the sample's input, and the reference is its
    target, if it has one.

    Args:
        rubric: a `Rubric` or a rubric file. None: each sample has its own rubric under `rubric` in
            its metadata, and is unscored if it has none. Their criteria are then only in the
            metadata of scores, because inspect requires the same values for all samples.
        judge: the judge, as for `rubricate.grade`.
        conversation: judge all messages, not only the output.

    Returns:
        The scorer. A score's `metadata` has the bounds, the verdict on each criterion (label,
            reason, cause of a failure), and usage; its `explanation` has the same in words.

    Raises:
        InputError: an argument cannot be used; nothing has been sent.
    """
    own: Any = call.rubric
    if isinstance(own, str | Path):
        own = Rubric.from_file(own)
    reward = RewardFunction(own, call.judge, **vars(part(ScorerOptions, call)))
    if own is not None and WHOLE in (*own.groups, *own.names):
        raise InputError(f"the criterion name '{WHOLE}' is reserved for the total: rename it")

    async def score(state: TaskState, target: Target) -> Score:
        output = state.output.completion
        conversation = [message.model_dump() for message in state.messages]
        try:
            rubric_here = _rubric_of(state.metadata) if own is None else own
        except InputError as error:
            return Score(
                value={WHOLE: math.nan}, answer=output, explanation=str(error), reason="no_rubric"
            )
        batch = await reward.ascore_batch(
            [conversation if call.conversation else output],
            [_prompt_of(state, conversation)],
            reference=[target.text or None],
            rubric=[rubric_here],
        )
        [item], [value] = batch.items, batch.scores
        values = {WHOLE: value}
        if own is not None:
            values |= {escape(name): value for name, value in _values(item).items()}
        return Score(
            value={name: math.nan if value is None else value for name, value in values.items()},
            answer=output,
            explanation="\n".join(starmap(_verdict_line, item.criteria.items())),
            reason="grader_failed" if batch.failed[0] else None,
            metadata=_figures(item),
        )

    return score


def _prompt_of(state: TaskState, conversation: Sequence[Mapping[str, Any]]) -> Any:
    """Return the text of the input, or its messages if they have more than text, such as images."""
    others = [message for message in conversation if message["role"] != "assistant"]
    return others if kinds_in(message["content"] for message in others) else state.input_text


def _rubric_of(metadata: Mapping[str, Any]) -> Rubric:
    """Build a sample's own rubric from its metadata."""
    rubric = metadata.get("rubric")
    with errors_within("metadata", "rubric"):
        if isinstance(rubric, Rubric):
            return rubric
        if isinstance(rubric, str):
            return Rubric.from_json(rubric)
        if isinstance(rubric, Mapping | Sequence):
            return Rubric.from_dict(rubric)
        raise InputError("there is none; or name one for all samples: rubric(FILE, judge)")


def _values(item: ItemResult) -> dict[str, float | None]:
    """Return the values of an item's groups and criteria; none for groups with failures."""
    paths, failed = item.rubric.paths, set[str]()
    for name, verdict in item.criteria.items():
        if verdict.status in UNANSWERED:
            failed.update(paths[name])
    groups = {name: None if name in failed else group.value for name, group in item.groups.items()}
    return groups | {name: verdict.value for name, verdict in item.criteria.items()}


def _verdict_line(name: str, verdict: Verdict) -> str:
    """Describe a verdict in one line."""
    if verdict.error is not None:
        return f"{name}: failed ({verdict.error.kind}): {verdict.error.message}"
    answer = verdict.label or verdict.status.replace("_", " ")
    return f"{name}: {answer}" + (f": {verdict.reason}" if verdict.reason else "")


def _figures(item: ItemResult) -> dict[str, Any]:
    """Return the other figures of an item."""
    fields = ("status", "label", "value", "probability", "reason", "judge")
    return {
        "lowest": item.score.lowest,
        "highest": item.score.highest,
        "criteria": {
            name: {
                **{field: getattr(verdict, field) for field in fields},
                "error": verdict.error and asdict(verdict.error),
            }
            for name, verdict in item.criteria.items()
        },
        "usage": asdict(Usage.total(verdict.usage for verdict in item.criteria.values())),
    }
