"""Anchors: store some answers of a judge, and check later whether it still gives them.

rubricate.anchors("runs/main", judge="openai/gpt-6-luna").to_file("anchors.json")
print(rubricate.check_anchors("anchors.json", judge="openai/gpt-6-luna"))
"""

from __future__ import annotations

import asyncio
import time
from dataclasses import KW_ONLY, replace
from pathlib import Path

from rubricate.analysis import (
    DOUBT,
    AnchorCheck,
    AnchorChoice,
    FinishedRun,
    check_answers,
    further_answers,
    one_judge,
    read_anchors,
    read_run,
)
from rubricate.choosing import chosen_judge
from rubricate.confirming import ConfirmOptions, answered
from rubricate.dataset import RubricDataset
from rubricate.judge import JudgesLike, Panel
from rubricate.run import RunOptions
from rubricate.settings import Settings, option, part, takes
from rubricate.streaming import plain


class Choice(Settings):
    """Which verdicts become anchors."""

    count: int = option(30, "Number of verdicts to keep, chosen at random.", ge=1, unit="verdicts")
    answers: int = option(
        10,
        "Number of answers to keep for each; missing ones are asked for.",
        more="With fewer, it is known less well how often the judge contradicts itself.",
        ge=2,
        unit="answers",
    )
    seed: int = option(0, "Random seed of the choice.", ge=0)


class AnchorsCall(ConfirmOptions, Choice, kw_only=False):
    """What `anchors` is called with."""

    run: FinishedRun | str | Path
    judge: JudgesLike = None
    _: KW_ONLY


@takes(AnchorsCall)
async def aanchors(call: AnchorsCall) -> RubricDataset:
    """Store some verdicts of a run as anchors of its judge, with several answers to each.

    For example:

        kept = await rubricate.aanchors("runs/a", "openai/gpt-6-luna", count=20)
        kept.to_file("anchors.json")

    Args:
        run: a run, or its folder.
        judge: the judge of the run, with the same options.

    Returns:
        The anchors as a dataset, whose `to_file` writes the file.

    Raises:
        InputError: this judge gave none of the verdicts, or cannot be asked again.
        RunStopped: the run ended before all was answered.
    """
    run = call.run if isinstance(call.run, FinishedRun) else read_run(call.run)
    choice = AnchorChoice(
        run, chosen_judge(call.judge, call), count=call.count, answers=call.answers, seed=call.seed
    )
    return await kept_anchors(choice, call, call.judge)


anchors = plain(AnchorsCall, aanchors)


async def kept_anchors(
    choice: AnchorChoice,
    options: ConfirmOptions,
    judge: JudgesLike,
    stop: asyncio.Event | None = None,
) -> RubricDataset:
    """`aanchors` after choosing the verdicts.

    Raises:
        RunStopped: the run ended before all was answered.
    """
    if choice.panel is None:
        return choice.kept(())
    running = part(RunOptions, options)
    return choice.kept(await answered(choice.dataset, choice.panel, running, judge, stop))


class CheckCall(ConfirmOptions, kw_only=False):
    """What `check_anchors` is called with."""

    file: str | Path
    judge: JudgesLike = None
    _: KW_ONLY


@takes(CheckCall)
async def acheck_anchors(call: CheckCall) -> AnchorCheck:
    """Ask a judge about its anchors, and say whether it has changed.

    Each anchor is asked once, and up to four more times if that is not conclusive. Stored answers
    are not used.

    For example:

        check = await rubricate.acheck_anchors("anchors.json", "openai/gpt-6-luna")
        print(check)

    Args:
        file: the anchors.
        judge: the judge to check, with the same options as before.

    Raises:
        InputError: the file has no anchors, or anchors of another judge.
        RunStopped: the run ended before all was answered.
    """
    return await checked_anchors(call.file, call, call.judge, moment=int(time.time()))


check_anchors = plain(CheckCall, acheck_anchors)


async def checked_anchors(
    file: str | Path,
    options: ConfirmOptions,
    judge: JudgesLike,
    *,
    moment: int,
    stop: asyncio.Event | None = None,
) -> AnchorCheck:
    """`acheck_anchors` for a given time. Answers of the same time are reused.

    Raises:
        RunStopped: the run ended before all was answered.
    """
    own = one_judge(chosen_judge(judge, options)).members[0].judge
    kept, running = read_anchors(file, own), replace(part(RunOptions, options), cache=None)
    check = None
    for times in (1, 1 + further_answers(kept)):
        panel = Panel([own]).again(times, after=moment)
        results = await answered(kept, panel, running, judge, stop)
        check = check_answers(kept, own, results)
        if check.changed or check.p_value > 2 * DOUBT:
            break
    assert check is not None
    return check
