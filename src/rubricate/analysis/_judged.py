"""What judging took and how it ended, for every report for which texts were judged."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any, Self

from pydantic import BaseModel, ConfigDict

from rubricate.rubric import Verdict
from rubricate.run.results import advice
from rubricate.views import Paragraph, Report, cost_text, say

if TYPE_CHECKING:
    from rubricate.run import Outcome

NOT_RUN = "not_run"


class JudgedReport(Report, BaseModel):
    """What judging took and how it ended. A report of a run that was stopped is of what was judged
    until then."""

    model_config = ConfigDict(frozen=True)

    judge: str
    note: str | None
    """What the judge says of itself, if anything."""
    calls: int
    """Judgements made for this report."""
    known: int
    """Judgements read from journal and cache instead."""
    failed: int
    """Judgements that could not be had."""
    not_run: int
    """Those of them that were never asked for because the run ended early."""
    errors: dict[str, int]
    """How many judgements failed for each cause."""
    first_error: str | None
    """The text of the first of them that was asked for."""
    cost: float | None
    """US dollars that this command paid; None where the price is not known."""
    estimated_cost: float = 0.0
    """Those of them that are an estimate."""
    run_cost: float | None = None
    """US dollars that the run has cost in all: this command, earlier ones and other processes."""
    run_estimated_cost: float = 0.0
    """Those of them that are an estimate."""
    run_dir: str | None
    """The run folder, if there is one."""
    stopped: str | None
    """Why the run ended early, if it did."""

    @property
    def nothing_judged(self) -> bool:
        """Whether there were judgements to be had, and every one failed."""
        return 0 < self.failed == self.calls + self.known + self.not_run

    def with_its_error_told(self) -> Self:
        """The report of a run that came to nothing, for where the error that ended it is told."""
        if self.stopped is None or not self.nothing_judged:
            return self
        return self.model_copy(update={"stopped": None, "first_error": None})


class Failures:
    """The failed judgements of a run, counted as they come, in any order."""

    def __init__(self) -> None:
        self._count = 0
        self._errors: Counter[str] = Counter()
        self._first: tuple[tuple[int, ...], str] | None = None

    def add(self, place: tuple[int, ...], verdict: Verdict) -> None:
        """Count a verdict in; `place` says which is the first."""
        self._count += verdict.status == "failed"
        error = verdict.error
        if error is None:
            return
        self._errors[error.kind] += 1
        if error.kind != NOT_RUN:
            told = (place, f"{error.kind}: {error.message}")
            self._first = min(self._first or told, told)

    def fields(self, outcome: Outcome) -> dict[str, Any]:
        """The fields of a `JudgedReport`, once the run has ended."""
        return {
            "judge": outcome.judge,
            "note": outcome.note,
            "calls": outcome.calls,
            "known": outcome.resumed + outcome.cached,
            "failed": self._count,
            "not_run": self._errors[NOT_RUN],
            "errors": dict(sorted(self._errors.items())),
            "first_error": None if self._first is None else self._first[1],
            "cost": outcome.usage.cost,
            "estimated_cost": outcome.usage.estimated_cost,
            "run_cost": outcome.run_usage.cost,
            "run_estimated_cost": outcome.run_usage.estimated_cost,
            "run_dir": None if outcome.run_dir is None else str(outcome.run_dir),
            "stopped": outcome.stopped,
        }


def ending(report: JudgedReport) -> Iterator[Paragraph]:
    """What stands below a report's tables."""
    if report.nothing_judged:
        yield say(f"Nothing was judged: all {report.failed} judgements failed.", "alarm")
    known = f" ({report.known} more not asked again)" if report.known else ""
    failed = f"{report.failed}" + (f" ({report.not_run} not asked)" if report.not_run else "")
    yield say(f"calls {report.calls}{known}   failed {failed}   cost {cost_text(report)}")
    if report.first_error is not None:
        causes = ", ".join(f"{kind} {count}" for kind, count in report.errors.items())
        yield say(f"failed by cause: {causes}", "error")
        if report.stopped is None or not report.first_error.endswith(report.stopped):
            yield say(f"first failure: {report.first_error}", "error")
        yield from (say(line, "warning") for line in advice(report.errors))
    if report.stopped is not None:
        yield say(f"Stopped early: {report.stopped}", "alarm")
        if not report.nothing_judged:
            yield say("The figures are of what was judged until then.")
    if report.run_dir is not None:
        yield say(f"run folder {report.run_dir}")
    if report.note is not None:
        yield say(report.note, "quiet")
