"""`rubricate trust agree`."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from rubricate._terminal import console
from rubricate.cli._options import Groups, JsonFigures, Output, Undecided, undecided_policy
from rubricate.cli._printing import print_json, write_report


def agree(
    run: Annotated[Path, typer.Argument(help="A run folder with human labels.")],
    undecided: Undecided = "exclude",
    groups: Groups = None,
    costs: Annotated[
        str | None,
        typer.Option(
            help="What a false MET and a false UNMET cost, such as 5,1: finds the threshold of the "
            "probability of MET that costs least."
        ),
    ] = None,
    coverage: Annotated[
        float | None,
        typer.Option(help="Make sets of labels that hold people's label so often, such as 0.9."),
    ] = None,
    resamples: Annotated[int, typer.Option(help="Draws that an interval is made of.")] = 2000,
    confidence: Annotated[float, typer.Option(help="The intervals' coverage.")] = 0.95,
    seed: Annotated[int, typer.Option(help="Of the draws.")] = 0,
    every_criterion: Annotated[
        bool,
        typer.Option(
            "--every-criterion", help="A row for each criterion, also where it has one pair only."
        ),
    ] = False,
    output: Output = None,
    json_output: JsonFigures = False,
) -> int:
    """Show how far judge and people agree, with intervals."""
    from rubricate.analysis import DecisionRules, agreement_report, read_run
    from rubricate.stats import Bootstrap
    from rubricate.views import OnTerminal

    bootstrap, rules = Bootstrap(resamples, confidence, seed), DecisionRules.read(costs, coverage)
    report = agreement_report(
        read_run(run),
        undecided=undecided_policy(undecided),
        groups=groups,
        rules=rules,
        bootstrap=bootstrap,
    )
    if output is not None:
        write_report(report, output)
    if json_output:
        print_json(report.to_dict())
    else:
        console().print(OnTerminal(lambda: report.sections(every=every_criterion)))
    return 0
