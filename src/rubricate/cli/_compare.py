"""`rubricate compare`."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Annotated

import typer

from rubricate.cli._exit_codes import ExitCode
from rubricate.cli._options import Groups, JsonFigures, Output
from rubricate.cli._printing import print_report
from rubricate.errors import InputError

EXIT_CODES = {
    "passed": ExitCode.FINE,
    "worse": ExitCode.WORSE,
    "not covered": ExitCode.UNDECIDED,
}
MIN_COVERAGE = 0.95
ADVICE = "see what failed with: rubricate show RUN --failed"


def compare(
    run_a: Annotated[Path, typer.Argument(help="The run folder before.")],
    run_b: Annotated[Path, typer.Argument(help="The run folder after.")],
    fail_if_worse: Annotated[
        float | None,
        typer.Option(help="Exit with 3 if the mean score of B is lower by more than this."),
    ] = None,
    min_coverage: Annotated[
        float | None,
        typer.Option(
            help="With --fail-if-worse: exit with 4 if B decided less than this share of the "
            "verdicts that A has. [0.95]"
        ),
    ] = None,
    groups: Groups = None,
    by: Annotated[
        list[str] | None,
        typer.Option(
            help="Scores by tag, too: tags, or a field such as axis or domain; can be given "
            "several times."
        ),
    ] = None,
    output: Output = None,
    json_output: JsonFigures = False,
) -> int:
    """Compare two runs: the difference, how sure, what flipped. Fails a build, too."""
    if fail_if_worse is not None and not 0 <= fail_if_worse < 1:
        raise InputError(
            "--fail-if-worse is a difference of mean scores, which are from 0 to 1: give a number "
            f"from 0 to below 1, such as 0.02, found {fail_if_worse:g}"
        )
    if min_coverage is not None and fail_if_worse is None:
        raise InputError("--min-coverage is for --fail-if-worse: give both")
    least = MIN_COVERAGE if min_coverage is None else min_coverage
    if not 0 <= least <= 1:
        raise InputError(f"--min-coverage must be between 0 and 1, found {least:g}")
    from rubricate.analysis import compare_runs, read_run

    found = compare_runs(
        read_run(run_a), read_run(run_b), margin=fail_if_worse, groups=groups, by=by or ()
    )
    if fail_if_worse is None and not found.coverage:
        raise InputError(f"nothing can be compared: {found.causes}; {ADVICE}")
    print_report(found, json_output, output)
    if fail_if_worse is None:
        return 0
    outcome, text = found.against(fail_if_worse, least)
    sys.stderr.write(text + "\n")
    return EXIT_CODES[outcome]
