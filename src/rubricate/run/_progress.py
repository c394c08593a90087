"""The progress of a run."""

from __future__ import annotations

from dataclasses import dataclass, field, replace

from rubricate.rubric import NO_USAGE, Usage, Verdict

AT_ONCE = 16
"""Usages are summed in groups of this size, which takes half the time and saves 1 % of a run whose
endpoint answers at once. At double, reading `usage` takes up to 10 us; at half, sums are made twice
as often."""


@dataclass(slots=True)
class Progress:
    """The progress of a run. A judgement is a verdict, or a vote if several judges vote.

    Attributes:
        total: expected judgements; in a cascade it grows as verdicts move to a further stage.
        done: completed judgements, from any source.
        failed, abstained: how many of those failed or abstained.
        resumed: how many of those came from the journal.
        cached: how many of those came from the cache.
        calls: judgements made in this run.
        in_flight: judgements being made.
        parts: parts of long documents that were read in this run.
        parts_known: parts whose answers came from the journal or the cache.
        saved: the usage of the answers from journal and cache when they were made.
        trouble: the last request that had to be retried, in words.
        workers: processes that judge; 0 if the run's own process does.
        workers_lost: how many of them died and were restarted.
        usages: the usage of the calls, partly summed; `usage` is the total.
    """

    total: int
    done: int = 0
    failed: int = 0
    abstained: int = 0
    resumed: int = 0
    cached: int = 0
    calls: int = 0
    in_flight: int = 0
    parts: int = 0
    parts_known: int = 0
    saved: Usage = NO_USAGE
    trouble: str | None = None
    workers: int = 0
    workers_lost: int = 0
    usages: list[Usage] = field(default_factory=list)

    @property
    def usage(self) -> Usage:
        """The usage of the calls."""
        return Usage.total(tuple(self.usages))  # another thread may read while a call is added

    def takes(self, usage: Usage) -> None:
        """Add the usage of a call."""
        self.usages.append(usage)
        if len(self.usages) > AT_ONCE:
            self.usages[:] = [self.usage]

    def copy(self) -> Progress:
        """A copy of the present state."""
        return replace(self, usages=[self.usage])

    def count(self, verdict: Verdict) -> None:
        """Count a verdict."""
        self.done += 1
        self.failed += verdict.status == "failed"
        self.abstained += verdict.status == "abstained"

    def add(self, other: Progress) -> None:
        """Add the counts of a part of the run.

        Args:
            other: the part's progress.
        """
        for name in _COUNTS:
            setattr(self, name, getattr(self, name) + getattr(other, name))
        self.takes(other.usage)


_COUNTS = (
    *("total", "done", "failed", "abstained", "resumed", "cached"),
    *("calls", "in_flight", "parts", "parts_known", "saved"),
)
"""What the parts of a run add up to."""


def progress_state(progress: Progress, seconds: float, room: int | None = None) -> str:
    """Failures, judgements and tokens a second, and the cost, after this many seconds.

    With `room` for this many characters it is what matters most of that.
    """
    seconds = max(seconds, 1e-3)
    usage = progress.usage
    tokens = (usage.input_tokens + usage.output_tokens) / seconds
    parts = [  # with how early each goes where there is no room for all
        (0, f"{progress.failed} failed"),
        (3, f"{progress.in_flight} in flight"),
        (2, f"{progress.calls / seconds:.1f} calls/s"),
    ]
    if progress.workers or progress.workers_lost:
        lost = f" ({progress.workers_lost} died)" if progress.workers_lost else ""
        parts.append((1, f"{progress.workers} workers{lost}"))
    if tokens:
        parts.append((5, f"{tokens:.0f} tokens/s"))
    if progress.parts or progress.parts_known:
        known_parts = f" ({progress.parts_known} more known)" if progress.parts_known else ""
        parts.append((6, f"{progress.parts} parts of long documents read{known_parts}"))
    if known := progress.resumed + progress.cached:
        parts.append((4, f"{known} stored answers"))
    if usage.cost is None:
        parts.append((1, "cost unknown"))
    elif usage.cost:
        estimated = f", ${usage.estimated_cost:.4f} estimated" if usage.estimated_cost else ""
        parts.append((1, f"${usage.cost:.4f}{estimated}"))
    while room is not None and parts and len(_listed(parts)) > room:
        parts.remove(max(parts))
    return _listed(parts)


def _listed(parts: list[tuple[int, str]]) -> str:
    return ", ".join(text for _, text in parts)


def time_left(progress: Progress, seconds: float) -> str:
    """The time left at the pace of the calls so far, in words."""
    if not progress.calls:
        return ""
    remaining = (progress.total - progress.done) * seconds / progress.calls
    return (
        f", about {remaining:.0f} s left"
        if remaining < 120
        else f", about {remaining / 60:.0f} min left"
    )
