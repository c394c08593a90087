"""`rubricate compare`."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from rubricate.cli._options import Groups, JsonFigures
from rubricate.cli._printing import print_report
from rubricate.errors import InputError

if TYPE_CHECKING:
    from rubricate.report import RunComparison

__all__ = ["compare"]

WORSE = 3
"""The exit code of a comparison whose second run is worse by more than is allowed."""
NOT_COVERED = 4
"""The exit code of a comparison in which too few verdicts could be compared."""
MIN_COVERAGE = 0.95


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
            help="With --fail-if-worse: exit with 4 if less of A's verdicts could be compared. "
            "[0.95]"
        ),
    ] = None,
    groups: Groups = None,
    markdown: Annotated[
        Path | None, typer.Option(help="Write the report to this file as Markdown.")
    ] = None,
    json_output: JsonFigures = False,
) -> int:
    """Compare two runs: the difference, how sure, what flipped. A gate for CI, too."""
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
    from rubricate._files import write_text
    from rubricate.report import compare_runs
    from rubricate.run import read_run

    found = compare_runs(read_run(run_a), read_run(run_b), margin=fail_if_worse, groups=groups)
    if markdown is not None:
        write_text(markdown, found.to_markdown())
    print_report(found, json_output)
    return 0 if fail_if_worse is None else _gate(found, fail_if_worse, least)


def _gate(found: RunComparison, margin: float, least: float) -> int:
    """The exit code that says whether the second run may pass; why goes to stderr."""
    if found.is_worse(margin):
        drop = -(found.score.difference.value or 0.0)
        p_value = found.score.permutation.p_value
        sys.stderr.write(
            f"Worse: the mean score fell by {drop:.3f}, more than {margin:g} ({found.score.n} "
            f"items; p {_shown(p_value)}).\n"
        )
        return WORSE
    if found.coverage < least - 1e-12:
        causes = ", ".join(f"{count} {cause}" for cause, count in found.not_compared.items())
        sys.stderr.write(
            f"Not shown to be no worse: only {found.coverage:.1%} of the verdicts of A could be "
            f"compared, less than {least:.0%} ({causes}); grade again, or give --min-coverage.\n"
        )
        return NOT_COVERED
    sys.stderr.write(
        f"Passed: the mean score changed by {found.score.difference.value or 0.0:+.3f}, where "
        f"-{margin:g} is allowed; {found.coverage:.1%} of the verdicts of A were compared.\n"
    )
    return 0


def _shown(p_value: float | None) -> str:
    if p_value is None:
        return "unknown"
    return "<0.001" if p_value < 0.001 else f"{p_value:.3f}"
