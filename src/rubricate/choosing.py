"""From what a user named to what is graded, and to who grades."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from rubricate.dataset import Gradable, RubricDataset
from rubricate.errors import InputError, shown
from rubricate.judge import (
    Asking,
    Endpoint,
    Judge,
    JudgeLike,
    Voting,
    named_judge,
    options_of_mode,
)
from rubricate.options import JudgeOptions
from rubricate.rubric import Rubric
from rubricate.run import Planning
from rubricate.settings import AppliesTo, options_set, part, reject_unsupported

if TYPE_CHECKING:
    from rubricate.analysis import Calibrator, FittedCalibration
    from rubricate.judge import JudgesLike, Panel


_BUILTIN: tuple[AppliesTo, ...] = ("any judge",)
"""To whom options of a plan must say something, to do so to the built-in judge."""


def chosen_dataset(dataset: Gradable, rubric: Rubric | None) -> Gradable:
    """The dataset, with another rubric if one is set."""
    if not isinstance(dataset, Gradable):
        raise InputError(
            f"expected a RubricDataset or a table (open_items), found {type(dataset).__name__}"
        )
    if rubric is None:
        return dataset
    if not isinstance(rubric, Rubric):
        raise InputError(f"rubric must be a Rubric, found {shown(rubric)}")
    if not isinstance(dataset, RubricDataset):
        raise InputError("rubric= is for a RubricDataset; a table is opened with its own")
    return RubricDataset.from_dict(dataset.to_dict(), rubric=rubric)


def chosen_judge(judge: JudgesLike, options: JudgeOptions) -> Judge:
    """The judge, panel or cascade of the argument `judge` and the options of `agrade`."""
    voting = options_set(Voting, options)
    endpoint: Endpoint = options
    asking: Asking = options
    if asking.permutations is not None and "permutations" not in options_of_mode(asking.mode):
        asking = replace(part(Asking, options), permutations=None)
        if options.permutations != 1:  # each order is a vote
            voting["permutations"] = options.permutations
    if isinstance(judge, Judge) and judge.voters:
        own = [*voting, *options_set(Endpoint, endpoint), *options_set(Asking, asking)]
        if own:
            raise InputError(
                f"{own[0]} is for judges that are listed; a {type(judge).__name__} has its own"
            )
        return judge
    repeats = "replicates" in voting or "permutations" in voting
    if isinstance(judge, Sequence) and not isinstance(judge, str):
        if len(judge) > 1 or repeats:
            if not any(isinstance(member, str) and member != "builtin" for member in judge):
                reject_unsupported(Endpoint, endpoint, (), "none is given")
            return _panel([_one_of_several(member, endpoint, asking) for member in judge], voting)
        if not judge:
            raise InputError("the list of judges is empty")
        judge = judge[0]
    if repeats:
        return _panel([named_judge(judge, endpoint, asking)], voting)
    if options.min_votes > 1:
        raise InputError(f"min_votes is {options.min_votes}, but there is only one vote")
    if voting:
        reject_unsupported(Voting, options, (), "there is one")
    if (judge is None or judge == "builtin") and isinstance(options, Planning):
        reject_unsupported(Planning, options, _BUILTIN, "builtin is none")
    return named_judge(judge, endpoint, asking)


def _panel(judges: list[Judge], voting: dict[str, Any]) -> Panel:
    from rubricate.judge import Panel

    return Panel(judges, **voting)


def _one_of_several(judge: JudgeLike, endpoint: Endpoint, asking: Asking) -> Judge:
    """A judge of a panel, with the options that apply to its kind."""
    if judge is None or judge == "builtin":
        return named_judge(judge, asking=Asking(mode=asking.mode, examples=asking.examples))
    if isinstance(judge, str):
        return named_judge(judge, endpoint, asking)
    if not isinstance(judge, Judge):
        return named_judge(judge, asking=asking)
    if asking.mode != "explained" and not (asking.mode == "probability" and judge.probability_mode):
        raise InputError(
            f"the mode is for language models and the built-in judge; {judge.name} answers as it "
            "does: give the mode to the others (ModelJudge(model, Probability())), or leave it out"
        )
    return judge


def chosen_calibrator(
    value: str | Path | FittedCalibration | None,
    dataset: Gradable,
    judge: Judge,
    limit: int | None,
) -> Calibrator | None:
    """The calibration to apply; `InputError` if it was fitted for another judge or rubric."""
    if value is None:
        return None
    from rubricate.analysis import Calibrator, FittedCalibration, read_calibration

    fitted = read_calibration(value) if isinstance(value, str | Path) else value
    if not isinstance(fitted, FittedCalibration):
        raise InputError(f"calibration must be a file or a FittedCalibration, found {shown(value)}")
    return Calibrator(fitted, judge, dataset.survey(limit).rubric)
