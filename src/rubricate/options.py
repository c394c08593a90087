"""What a run can be told, and who and what is meant by it."""

from __future__ import annotations

import math
import reprlib
from collections.abc import Callable, Mapping, Sequence
from numbers import Integral, Real
from os import PathLike
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypedDict, cast

from rubricate._documents import did_you_mean
from rubricate.dataset import Gradable, RubricDataset
from rubricate.errors import InputError
from rubricate.judge import (
    Examples,
    Judge,
    JudgeLike,
    JudgeSettings,
    JudgesLike,
    Panel,
    PromptTemplate,
    Weights,
    named_judge,
    refuse_unsent,
)
from rubricate.rubric import CannotAssess, LengthPenalty, Rubric
from rubricate.run import Progress

if TYPE_CHECKING:
    from rubricate.analysis import Calibrator, FittedCalibration

__all__ = [
    "ATTEMPTS",
    "CONCURRENCY",
    "DEADLINE",
    "MAX_OUTAGE",
    "TIMEOUT",
    "AskingOptions",
    "GradingOptions",
    "JudgingOptions",
    "PanelOptions",
    "RewardOptions",
    "beside_judge",
    "check_options",
    "chosen_calibrator",
    "chosen_dataset",
    "chosen_judge",
]

CONCURRENCY = 32
TIMEOUT = 120.0
ATTEMPTS = 6
DEADLINE = 600.0
MAX_OUTAGE = 120.0
HOW_TO_SEND = {"temperature", "max_tokens", "timeout", "prices"}
"""The settings of models given by name, which say nothing to any other judge."""


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


class JudgingOptions(JudgeSettings, PanelOptions, total=False):
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
    max_tokens: int | None
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


def check_options(options: Mapping[str, Any], known: type, *arguments: str) -> None:
    """Raise an error for an option that is not one of a class of options above.

    `arguments` are the names of the function's other arguments, which may have been meant.

    Raises:
        TypeError: there is no such option.
        InputError: its value is of another type than is declared above.
    """
    for name, value in options.items():
        if name not in known.__annotations__:
            hint = did_you_mean(name, [*arguments, *known.__annotations__])
            raise TypeError(f"unexpected keyword argument '{name}'{hint}")
        declared = known.__annotations__[name]
        allowed = str(getattr(declared, "__forward_arg__", declared)).split(" | ")
        kinds = [_KINDS[kind] for kind in allowed if kind in _KINDS]
        if len(kinds) == len(allowed) and not any(is_one(value) for _, is_one in kinds):
            words = " or ".join(dict.fromkeys(word for word, _ in kinds))
            raise InputError(f"{name} must be {words}, found {reprlib.repr(value)}")


def _is_number(value: object) -> bool:
    return isinstance(value, Real) and not isinstance(value, bool) and not math.isnan(value)


_KINDS: dict[str, tuple[str, Callable[[Any], bool]]] = {
    "int": ("a whole number", lambda v: isinstance(v, Integral) and not isinstance(v, bool)),
    "float": ("a number", _is_number),
    "bool": ("True or False", lambda v: isinstance(v, bool)),
    "str": ("a text", lambda v: isinstance(v, str)),
    "CannotAssess": ("a text", lambda v: isinstance(v, str)),
    "Mode": ("a text", lambda v: isinstance(v, str)),
    "Path": ("a path", lambda v: isinstance(v, PathLike)),
    "Rubric": ("a Rubric", lambda v: isinstance(v, Rubric)),
    "Examples": ("Examples", lambda v: isinstance(v, Examples)),
    "PromptTemplate": ("a PromptTemplate", lambda v: isinstance(v, PromptTemplate)),
    "LengthPenalty": ("a LengthPenalty", lambda v: isinstance(v, LengthPenalty)),
    "Mapping[str, Any]": ("a mapping", lambda v: isinstance(v, Mapping)),
    "Callable[[Progress], None]": ("a callable", callable),
    "None": ("None", lambda v: v is None),
}
"""What an option is declared as: in words, and whether a value is one. Declarations with anything
else in them are checked where they are used."""


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


def chosen_judge(judge: JudgesLike, options: JudgingOptions) -> Judge:
    """The judge, panel or cascade that is meant, as `agrade` takes it."""
    told: dict[str, Any] = {
        name: options[name]  # type: ignore[literal-required]
        for name in JudgeSettings.__annotations__
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
    if isinstance(judge, Judge) and judge.voters:
        usual = named_judge.__kwdefaults__ or {}
        given = (name for name in told if told[name] != usual[name])
        own = [*voting, *given]
        if own:
            raise InputError(
                f"{own[0]} is for judges that are listed; a {type(judge).__name__} has its own"
            )
        return judge
    if isinstance(judge, Sequence) and not isinstance(judge, str):
        if len(judge) > 1 or _repeats(voting):
            if not any(isinstance(one, str) and one != "builtin" for one in judge):
                refuse_unsent({name: told[name] for name in HOW_TO_SEND if name in told})
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
    return named_judge(judge, **told)


def _repeats(voting: PanelOptions) -> bool:
    """Whether one judge is asked several times."""
    return "replicates" in voting or "permutations" in voting


def _one_of_several(judge: JudgeLike, told: Mapping[str, Any]) -> Judge:
    """A judge of a panel; each kind is told what concerns it."""
    concerns = {*JudgeSettings.__annotations__, "permutations"}
    if judge is None or judge == "builtin":
        concerns = {"examples", "mode"}
    elif isinstance(judge, Judge):
        if told.get("mode") == "probability" and not judge.probability_mode:
            raise InputError(
                f"the mode is for language models and the embedded judge; {judge.name} answers as "
                "it does: give the mode to the others (ProbabilityJudge), or leave it out"
            )
        concerns = set()
    elif not isinstance(judge, str):
        concerns -= {"base_url", *HOW_TO_SEND}
    return named_judge(judge, **{name: told[name] for name in told if name in concerns})


def beside_judge(options: JudgingOptions) -> GradingOptions:
    """The options that say nothing to `chosen_judge`, for a judge that has been chosen."""
    said = {*JudgeSettings.__annotations__, *PanelOptions.__annotations__}
    left = {name: value for name, value in options.items() if name not in said}
    return cast("GradingOptions", left)


def chosen_calibrator(
    given: str | Path | FittedCalibration | None,
    dataset: Gradable,
    judge: Judge,
    limit: int | None,
) -> Calibrator | None:
    """The map that is meant, if it fits the judge and what is asked; `InputError` if not."""
    if given is None:
        return None
    from rubricate.analysis import Calibrator, read_calibration

    fitted = read_calibration(given) if isinstance(given, str | Path) else given
    return Calibrator(fitted, judge, dataset.survey(limit).rubric)
