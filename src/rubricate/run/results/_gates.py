"""Criteria that gates have skipped, and the calls that this saved."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from rubricate.rubric import GATE
from rubricate.run.results._figures import SummaryPart
from rubricate.views import status_counts

if TYPE_CHECKING:
    from rubricate.run.results._results import ItemResult

CALLS_SAVED = "calls_saved"
"""The key in a skipped verdict's `detail` for the number of judgements that it saved at least."""


class GateFigures(SummaryPart):
    """Criteria that were not asked because of the verdicts that they require."""

    skipped: int
    """Verdicts that were skipped because what they require does not hold."""
    calls_saved: int
    """The judgements that these would have taken; in a cascade, at its first stage."""
    failed: int
    """Verdicts that failed because what they require failed."""
    abstained: int
    """Verdicts that abstained because the judge abstained on what they require."""

    @classmethod
    def tally(cls) -> GateTally:
        return GateTally()

    def facts(self) -> Iterator[tuple[str, str]]:
        text = f"{self.skipped} verdicts skipped, {self.calls_saved} calls saved"
        others = {"failed": self.failed, "abstained": self.abstained}
        if counts := status_counts(others, others):
            text += f"; {counts} with what they require"
        yield "gates", text


class GateTally:
    """Adds up what gates have closed."""

    def __init__(self) -> None:
        self._has_gates = False
        self._skipped = self._saved = self._failed = self._abstained = 0

    def add(self, item: ItemResult) -> None:
        """Count an item in."""
        gates = item.rubric.gates
        if gates is None:
            return
        self._has_gates = True
        for name, verdict in item.criteria.items():
            if verdict.status == "skipped":
                self._skipped += 1
                self._saved += (verdict.detail or {}).get(CALLS_SAVED, 0)
            elif verdict.error is not None:
                self._failed += verdict.error.kind == GATE
            elif verdict.status == "abstained" and verdict.judge is None:  # nobody was asked
                self._abstained += bool(gates.of(name))

    def figures(self) -> GateFigures | None:
        """All that was added; None where no rubric has gates."""
        if not self._has_gates:
            return None
        return GateFigures(
            skipped=self._skipped,
            calls_saved=self._saved,
            failed=self._failed,
            abstained=self._abstained,
        )
