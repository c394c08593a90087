"""`rubricate trust plan`."""

from __future__ import annotations

from pathlib import Path
from typing import get_args

from rubricate.analysis import PlannedFigure, PlanOptions, plan_report, read_run
from rubricate.cli._from_settings import command_of
from rubricate.cli._options import has_a_form
from rubricate.cli._printing import print_report
from rubricate.settings import option, part

FIGURES = ", ".join(get_args(PlannedFigure))


class PlanSettings(PlanOptions):
    """Everything that `rubricate trust plan` can be told."""

    figure: str = option("", f"What is planned for: {FIGURES}.", is_argument=True, required=True)
    run: str | None = option(
        None, "A finished run to go by, with labels where the figure needs them.", is_argument=True
    )
    other: str | None = option(
        None, "comparison: the second run of the same items.", is_argument=True
    )
    output: str | None = option(
        None, "Write it to this file, too: .md, .html or .json.", shell="--output -o", common=True
    )
    json_output: bool = option(False, "Print all figures as JSON.", shell="--json", common=True)
    written: object


def plan_command(settings: PlanSettings) -> int:
    """Show what a figure takes."""
    output = None if settings.output is None else has_a_form(Path(settings.output))
    report = plan_report(
        settings.figure,  # type: ignore[arg-type]  # it is looked at there
        None if settings.run is None else read_run(settings.run),
        None if settings.other is None else read_run(settings.other),
        **vars(part(PlanOptions, settings)),
    )
    print_report(report, settings.json_output, output)
    return 0


plan = command_of(PlanSettings)(plan_command)
