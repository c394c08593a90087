"""`rubricate trust cascade`."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from rubricate.cli._options import Groups, JsonFigures, Output
from rubricate.cli._printing import print_report


def cascade(
    run: Annotated[Path, typer.Argument(help="The first judge's run, with human labels.")],
    then: Annotated[
        Path | None, typer.Argument(help="A run of the same items by the judge asked next.")
    ] = None,
    promise: Annotated[
        float, typer.Option(help="The agreement that verdicts that stand are to have.")
    ] = 0.9,
    risk: Annotated[
        float, typer.Option(help="The probability of promising too much that is accepted.")
    ] = 0.05,
    groups: Groups = None,
    threshold: Annotated[
        list[float] | None,
        typer.Option(help="Show this threshold too; can be given several times."),
    ] = None,
    output: Output = None,
    json_output: JsonFigures = False,
) -> int:
    """Choose on labels when a surer judge is asked. Asks nobody."""
    from rubricate.analysis import cascade_report, read_run

    report = cascade_report(
        read_run(run),
        None if then is None else read_run(then),
        promise=promise,
        risk=risk,
        groups=groups,
        thresholds=threshold or [],
    )
    print_report(report, json_output, output)
    return 0
