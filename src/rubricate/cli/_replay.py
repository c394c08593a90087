"""`rubricate trust replay`."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Annotated

import typer

from rubricate.cli._options import JsonOutput, Output
from rubricate.cli._printing import print_report
from rubricate.errors import InputError

if TYPE_CHECKING:
    from rubricate.judge import RecordedJudge


def replay(
    data: Annotated[
        str, typer.Argument(help="A dataset whose items' metadata has verdicts under votes.")
    ],
    judge: Annotated[
        list[str] | None, typer.Option(help="Only these judges; can be given several times. [all]")
    ] = None,
    output: Output = None,
    json_output: JsonOutput = False,
) -> int:
    """Show how recorded judges and panels agree. Asks nobody."""
    from rubricate.analysis import ReplayReport
    from rubricate.dataset import RubricDataset
    from rubricate.grading import grade
    from rubricate.judge import Panel, recorded_judges, unknown_votes

    dataset = RubricDataset.from_file(data)
    try:
        chosen = _chosen(recorded_judges(dataset), judge or [])
        majority = grade(dataset, Panel(chosen)).summary()
        weighted = grade(dataset, Panel(chosen, weights="reliability")).summary()
    except InputError as error:
        raise error.within(file=data) from None
    unknown = tuple(unknown_votes(dataset, chosen))
    print_report(ReplayReport(majority, weighted, unknown), json_output, output)
    return 0


def _chosen(found: list[RecordedJudge], names: Sequence[str]) -> list[RecordedJudge]:
    from rubricate._spelling import did_you_mean

    known = {judge.name: judge for judge in found}
    for name in names:
        if name not in known:
            hint = did_you_mean(name, known)
            raise InputError(
                f"no verdicts of '{name}' are recorded (those of: {', '.join(known)}){hint}"
            )
    return [known[name] for name in dict.fromkeys(names)] or found
