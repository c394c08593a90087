"""What gates have closed, and the calls that this saved."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from rubricate.rubric import GATE
from rubricate.run.results._figures import SummaryPart

if TYPE_CHECKING:
    from rubricate.run.results._results import ItemResult

CALLS_SAVED = "calls_saved"
"""Where a skipped verdict's `detail` says how many judgements it would have taken at least."""


class GateFigures(SummaryPart):
    """Criteria that require others, and were not asked about for what these came to."""

    skipped: int
    """Verdicts that were not asked for because what they require does not hold."""
    calls_saved: int
    """The judgements that these would have taken, of a cascade those of its first stage."""
    failed: int
    """Verdicts that failed because what they require has failed."""
    abstained: int
    """Verdicts that abstain because of what they require the judge could not tell."""

    @classmethod
    def tally(cls) -> GateTally:
        return GateTally()

    def facts(self) -> Iterator[tuple[str, str]]:
        text = f"{self.skipped} verdicts skipped, {self.calls_saved} calls saved"
        others = {"failed": self.failed, "abstained": self.abstained}
        if any(others.values()):
            counts = " and ".join(f"{count} {status}" for status, count in others.items() if count)
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
