"""`report.json`: the report of a run other than grading, in its folder."""

from __future__ import annotations

from pathlib import Path

from pydantic import ValidationError

from rubricate._documents import parse_json, read_text
from rubricate._files import write_text
from rubricate.analysis._attacks import RedTeamReport
from rubricate.analysis._judged import JudgedReport
from rubricate.analysis.comparison import PairReport, PairSummary
from rubricate.errors import InputError
from rubricate.run import REPORT_NAME

_KINDS: dict[str, type[JudgedReport]] = {"compare-pair": PairSummary, "redteam": RedTeamReport}


def keep_report(report: JudgedReport, folder: Path) -> None:
    """Write a report into its run folder; the pairs of a comparison have a file of their own."""
    kind = next(name for name, known in _KINDS.items() if isinstance(report, known))
    left_out = {"results"} if isinstance(report, PairReport) else None
    kept = report.model_dump_json(exclude=left_out)
    write_text(folder / REPORT_NAME, f'{{"kind": "{kind}", "report": {kept}}}\n')


def kept_report(folder: Path) -> JudgedReport:
    """Read the report in a run folder.

    Raises:
        InputError: the file is damaged.
    """
    path = folder / REPORT_NAME
    try:
        data = parse_json(read_text(path), file=path)
        return _KINDS[data["kind"]].model_validate(data["report"])
    except (ValidationError, KeyError, TypeError):
        raise InputError(
            "not a run's report; run the same command again: it writes it anew from the journal",
            file=path,
        ) from None
