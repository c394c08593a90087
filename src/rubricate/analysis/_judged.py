"""The base class of reports other than grading: comparisons of pairs, red teaming."""

from __future__ import annotations

from collections.abc import Iterator

from rubricate.run.results import Outcome
from rubricate.views import Paragraph, Report, say


class JudgedReport(Report, Outcome):
    """The outcome of a run whose figures are not scores. After an early end, they cover what was
    judged until then."""

    def ending(self) -> Iterator[Paragraph]:
        """The lines below the tables of the report."""
        yield from self.nothing()
        usage = self.usage
        known = usage.resumed + usage.cached
        calls = f"calls {usage.calls}" + (f" ({known} stored answers)" if known else "")
        not_run = f"   not run {self.not_run}" if self.not_run else ""
        yield say(f"{calls}   failed {self.failed}{not_run}   cost {usage.cost_text}")
        yield from self.problems()
        if self.run_dir is not None:
            yield say(f"run folder {self.run_dir}")
        if self.note is not None:
            yield say(self.note, "quiet")
