"""`rubricate redteam`."""

from __future__ import annotations

import asyncio
from dataclasses import replace
from pathlib import Path

from rubricate._terminal import console
from rubricate.choosing import chosen_dataset
from rubricate.cli._commands import command
from rubricate.cli._ending import ExitCode, print_next
from rubricate.cli._judging import (
    NO_JUDGE,
    Shell,
    print_estimate,
    print_judged,
    shared_places,
)
from rubricate.cli._run_dirs import OnProgress, RunDir, place_of, run_dir_for
from rubricate.errors import RunStopped
from rubricate.judge import SAMPLING
from rubricate.redteaming import RedTeamOptions, RedTeamReport, aredteam, estimate_redteam
from rubricate.settings import option, part


class RedTeamSettings(Shell, RedTeamOptions):
    """The options of `rubricate redteam`."""

    data: str | None = option(
        None,
        "Labelled items to attack in place of the suite's questions: wrong answers are those "
        "labelled UNMET.",
        group="What is graded",
        is_argument=True,
    )
    judge: str | None = option(
        None,
        "The judge to attack: builtin, openai/gpt-6-luna, ...",
        group="Who judges",
        default_text="builtin",
        common=True,
    )


@command(
    RedTeamSettings,
    defaults={"run_dir": "runs/redteam-JUDGE", "cache": "the user's cache folder"},
)
def redteam(settings: RedTeamSettings) -> int:
    """Test a judge against adversarial answers: does it pass wrong ones?"""
    judge = settings.judge
    if judge is None:
        console(stderr=True, quiet=settings.quiet).print(NO_JUDGE, style="dim")
    chosen = _run_dir(settings)
    options = replace(
        part(RedTeamOptions, settings), run_dir=chosen.path, **shared_places(settings)
    )
    if settings.data is not None:
        dataset = chosen_dataset(settings.data, settings.rubric, settings.map)
        dataset.survey()
        options = options.changed(dataset=dataset, rubric=None, map=None)
    if settings.dry_run:
        print_estimate(estimate_redteam(judge, **vars(options)), settings.json_output)
        return 0

    async def attacked(on_progress: OnProgress, stop: asyncio.Event) -> RedTeamReport:
        running = options.changed(on_progress=on_progress)
        try:
            return await aredteam(judge, stop=stop, **vars(running))
        except RunStopped as stopped:  # the report shows the reason
            if not isinstance(stopped.report, RedTeamReport):
                raise
            return stopped.report

    code = print_judged(attacked, chosen, settings)
    if code == ExitCode.FINE:
        then = "Next, to read what it got wrong: rubricate show {folder} --disagreements"
        print_next(then, settings, folder=chosen.path)
    return code


def _run_dir(settings: RedTeamSettings) -> RunDir:
    """The run folder; by default that of the same attacks and judge."""
    judge, raw = settings.judge or "builtin", settings.raw
    name = f"redteam-{judge}"
    for part_of_name in (settings.data, raw.get("attacks"), raw.get("judge_prompt")):
        name += "" if part_of_name is None else f"-{Path(part_of_name).stem}"
    name += "" if settings.form == "verdict" else f"-{settings.form}"
    named = {
        "command": "redteam",
        "base_url": settings.base_url,
        "map": settings.map,
        "dataset": place_of(settings.data),
        **{name: place_of(raw.get(name)) for name in ("rubric", "attacks", "judge_prompt")},
        **{name: getattr(settings, name) for name in SAMPLING},
    }
    return run_dir_for(settings, name, [judge], named)
