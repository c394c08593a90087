"""How far to believe a finished run: `agree`, `calibrate`, `cascade`, `certify`, `compare`,
`few-labels` and `variance`."""

from __future__ import annotations

import json
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any, cast, get_args

from rubricate.errors import InputError
from rubricate.report import (
    CalibrationMethod,
    agreement_report,
    cascade_report,
    certify,
    compare_runs,
    few_labels_report,
    fit_calibration,
    variance_report,
)
from rubricate.run import read_run
from rubricate.stats import Bootstrap, Undecided

__all__ = [
    "agree_command",
    "calibrate_command",
    "cascade_command",
    "certify_command",
    "compare_command",
    "few_labels_command",
    "variance_command",
]

WORSE = 3
"""The exit code of a comparison whose second run is worse by more than is allowed."""
NOT_COVERED = 4
"""The exit code of a comparison in which too few verdicts could be compared."""
MIN_COVERAGE = 0.95


def agree_command(
    run: Path, *, undecided: str, groups: str | None, bootstrap: Bootstrap, json_output: bool
) -> int:
    """Print how far a run's judge agrees with its labels."""
    report = agreement_report(
        read_run(run), undecided=_policy(undecided), groups=groups, bootstrap=bootstrap
    )
    _print(report, json_output)
    return 0


def calibrate_command(
    run: Path,
    output: Path,
    *,
    method: str | None,
    train_share: float,
    seed: int,
    json_output: bool,
) -> int:
    """Write the map of a run's judge, and print what it is worth on the items held out."""
    fitted = fit_calibration(
        read_run(run),
        name=output.stem,
        method=cast("CalibrationMethod | None", method),
        train_share=train_share,
        seed=seed,
    )
    text = json.dumps(fitted.model_dump(mode="json"), indent=2)
    _write(output, text + "\n")
    if json_output:
        print(text)
        return 0
    held = fitted.held_out
    print(
        f"{output}: {fitted.method} map for {fitted.judge}, fitted on {fitted.labels} labels of "
        f"{fitted.items} items, sha256 {fitted.sha256}"
    )
    print(
        f"On {held.n} labels of other items: Brier {_change(held.brier_before, held.brier_after)}, "
        f"calibration error {_change(held.error_before, held.error_after)}, "
        f"accuracy {_change(held.accuracy_before, held.accuracy_after)}"
    )
    return 0


def _change(before: float | None, after: float | None) -> str:
    return "–" if before is None or after is None else f"{before:.3f} -> {after:.3f}"


def cascade_command(
    run: Path,
    then: Path | None,
    *,
    promise: float,
    risk: float,
    thresholds: Sequence[float],
    json_output: bool,
) -> int:
    """Print what a cascade would do at several thresholds, and which keeps the promise."""
    report = cascade_report(
        read_run(run),
        None if then is None else read_run(then),
        promise=promise,
        risk=risk,
        thresholds=thresholds,
    )
    _print(report, json_output)
    return 0


def compare_command(
    a: Path,
    b: Path,
    *,
    fail_if_worse: float | None,
    min_coverage: float | None,
    groups: str | None,
    markdown: Path | None,
    json_output: bool,
) -> int:
    """Print what changed from run A to run B; the exit code says whether B may pass."""
    if fail_if_worse is not None and not fail_if_worse >= 0:
        raise InputError(f"--fail-if-worse must be 0 or more, found {fail_if_worse:g}")
    if min_coverage is not None and fail_if_worse is None:
        raise InputError("--min-coverage is for --fail-if-worse: give both")
    least = MIN_COVERAGE if min_coverage is None else min_coverage
    if not 0 <= least <= 1:
        raise InputError(f"--min-coverage must be between 0 and 1, found {least:g}")
    found = compare_runs(read_run(a), read_run(b), margin=fail_if_worse, groups=groups)
    if markdown is not None:
        _write(markdown, found.to_markdown())
    _print(found, json_output)
    if fail_if_worse is None:
        return 0
    if found.is_worse(fail_if_worse):
        drop = -(found.score.difference.value or 0.0)
        sys.stderr.write(
            f"Worse: the mean score fell by {drop:.3f}, more than {fail_if_worse:g} "
            f"({found.score.n} items; p {_p(found.score.permutation.p_value)}).\n"
        )
        return WORSE
    if found.coverage < least - 1e-12:
        causes = ", ".join(f"{count} {cause}" for cause, count in found.not_compared.items())
        sys.stderr.write(
            f"Not shown to be no worse: only {found.coverage:.1%} of the verdicts of A could be "
            f"compared, less than {least:.0%} ({causes}); grade again, or give --min-coverage.\n"
        )
        return NOT_COVERED
    return 0


def certify_command(run: Path, output: Path, *, undecided: str, json_output: bool) -> int:
    """Write the certificate of a run's judge, prompt and rubric."""
    certificate = certify(read_run(run), undecided=_policy(undecided))
    text = json.dumps(certificate.model_dump(mode="json"), indent=2)
    _write(output, text + "\n")
    told = f"{certificate.judge} on {certificate.items} items, sha256 {certificate.sha256}"
    print(text if json_output else f"{output}: {told}")
    return 0


def few_labels_command(
    run: Path,
    *,
    next_items: int,
    uncertain: bool,
    groups: str | None,
    confidence: float,
    seed: int,
    json_output: bool,
) -> int:
    """Print the means that people would give, and which items to label next."""
    if next_items < 0:
        raise InputError(f"--next must be 0 or more, found {next_items}")
    if uncertain and not next_items:
        raise InputError("--uncertain is for --next: give both")
    report = few_labels_report(
        read_run(run),
        next_items=next_items,
        uncertain=uncertain,
        groups=groups,
        confidence=confidence,
        seed=seed,
    )
    _print(report, json_output)
    return 0


def variance_command(runs: Sequence[Path], *, groups: str | None, json_output: bool) -> int:
    """Print where the spread of runs' verdicts comes from."""
    _print(variance_report([read_run(run) for run in runs], groups=groups), json_output)
    return 0


def _policy(given: str) -> Undecided:
    for policy in get_args(Undecided):
        if policy == given:
            return policy  # type: ignore[no-any-return]
    raise InputError(f"--undecided must be exclude, label or wrong, found '{given}'")


def _print(report: Any, json_output: bool) -> None:
    if json_output:
        print(json.dumps(report.to_dict(), indent=2, ensure_ascii=False))
    else:
        from rich.console import Console

        Console().print(report)


def _write(path: Path, text: str) -> None:
    try:
        path.write_text(text, encoding="utf-8")
    except OSError as error:
        raise InputError(f"cannot be written: {error.strerror}", file=path) from None


def _p(p_value: float | None) -> str:
    return "unknown" if p_value is None else f"{p_value:.3f}"
