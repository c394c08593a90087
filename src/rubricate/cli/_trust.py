"""`rubricate agree`, `compare` and `certify`: how far to believe a finished run."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any, get_args

from rubricate.errors import InputError
from rubricate.report import agreement_report, certify, compare_runs
from rubricate.run import read_run
from rubricate.stats import Bootstrap, Undecided

__all__ = ["agree_command", "certify_command", "compare_command"]

WORSE = 3
"""The exit code of a comparison whose second run is worse by more than is allowed."""


def agree_command(run: Path, *, undecided: str, bootstrap: Bootstrap, json_output: bool) -> int:
    """Print how far a run's judge agrees with its labels."""
    report = agreement_report(read_run(run), undecided=_policy(undecided), bootstrap=bootstrap)
    _print(report, json_output)
    return 0


def compare_command(
    a: Path,
    b: Path,
    *,
    fail_if_worse: float | None,
    markdown: Path | None,
    json_output: bool,
) -> int:
    """Print what changed from run A to run B; the exit code says whether B may pass."""
    if fail_if_worse is not None and not fail_if_worse >= 0:
        raise InputError(f"--fail-if-worse must be 0 or more, found {fail_if_worse:g}")
    found = compare_runs(read_run(a), read_run(b), margin=fail_if_worse)
    if markdown is not None:
        _write(markdown, found.to_markdown())
    _print(found, json_output)
    if fail_if_worse is None or not found.is_worse(fail_if_worse):
        return 0
    drop = -(found.score.difference.value or 0.0)
    sys.stderr.write(
        f"Worse: the mean score fell by {drop:.3f}, more than {fail_if_worse:g} "
        f"({found.score.n} items; p {_p(found.score.permutation.p_value)}).\n"
    )
    return WORSE


def certify_command(run: Path, output: Path, *, undecided: str) -> int:
    """Write the certificate of a run's judge, prompt and rubric."""
    certificate = certify(read_run(run), undecided=_policy(undecided))
    _write(output, json.dumps(certificate.model_dump(mode="json"), indent=2) + "\n")
    print(
        f"{output}: {certificate.judge} on {certificate.items} items, sha256 {certificate.sha256}"
    )
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
