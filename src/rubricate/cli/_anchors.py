"""`rubricate trust anchors`."""

from __future__ import annotations

import asyncio
from pathlib import Path

from rubricate.anchoring import Choice, kept_anchors
from rubricate.cli._commands import command
from rubricate.cli._judging import Shell, print_estimate, shared_places, until_stopped
from rubricate.cli._printing import print_json
from rubricate.cli._run_dirs import OnProgress
from rubricate.confirming import ConfirmOptions
from rubricate.dataset import RubricDataset
from rubricate.errors import InputError
from rubricate.settings import option, part
from rubricate.views import figure


class AnchorSettings(Choice, Shell, ConfirmOptions):
    """The options of `rubricate trust anchors`."""

    run: str = option("", "A run folder.", is_argument=True, common=True)
    judge: str | None = option(
        None,
        "The judge of the run; the options of asking are the run's.",
        group="Who judges",
        common=True,
    )
    output: str = option(
        "anchors.json", "Where to write the anchors.", shell="--output -o", common=True
    )

    def check(self) -> None:
        if Path(self.output).suffix.lower() != ".json":
            raise InputError("the file's name must end in .json", file=self.output)


@command(AnchorSettings, defaults={"run_dir": "anchors in RUN", "cache": "the user's cache folder"})
def anchors(settings: AnchorSettings) -> int:
    """Store answers of a run's judge, so that `compare --anchors` notices a change."""
    from rubricate.analysis import AnchorChoice, power_of_anchors, read_run
    from rubricate.choosing import chosen_judge
    from rubricate.run import Plan, RunOptions, estimate

    if settings.judge is None:
        raise InputError("name the judge of the run: --judge openai/gpt-6-luna")
    run = read_run(settings.run)
    folder = Path(settings.run_dir or run.path / "anchors")
    options = settings.changed(run_dir=folder, **shared_places(settings))
    judge = chosen_judge(settings.judge, options)
    choice = AnchorChoice(
        run, judge, count=settings.count, answers=settings.answers, seed=settings.seed
    )
    if settings.dry_run and choice.panel is not None:
        running = part(RunOptions, options)
        estimated = asyncio.run(estimate(Plan(choice.dataset, running), choice.panel, running))
        print_estimate(estimated, settings.json_output)
        return 0

    async def kept(on_progress: OnProgress, stop: asyncio.Event) -> RubricDataset:
        asking = options.changed(on_progress=on_progress)
        return await kept_anchors(choice, asking, settings.judge, stop)

    made = until_stopped(kept, settings, folder)
    if isinstance(made, int):
        return made
    made.to_file(settings.output)
    count = sum(len(item.rubric.names) for item in made.items if item.rubric is not None)
    power, enough = power_of_anchors(made)
    if settings.json_output:
        print_json(
            {"file": settings.output, "anchors": count, "power": power, "anchors_needed": enough}
        )
    elif not settings.quiet:
        print(
            f"{settings.output}: {count} anchors of {judge.name}, which find a change of 15% of "
            f"its verdicts with a power of {figure(power)}{_more(count, enough)}"
        )
    return 0


def _more(count: int, enough: int | None) -> str:
    """Say how many anchors would be enough; empty if there are enough."""
    if enough == count:
        return ""
    return f"; for 0.8 keep {enough or 'more than 200'} (--count), or more --answers of each"
