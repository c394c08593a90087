"""How far a run is."""

from __future__ import annotations

from dataclasses import dataclass, field

from rubricate.rubric import Usage, Verdict

__all__ = ["Progress"]


@dataclass(slots=True)
class Progress:
    """How far a run is. A judgement is a verdict, or a vote where several judges vote.

    Attributes:
        total: judgements to be had; a cascade's grow as verdicts go on to a further stage.
        done: judgements had, from wherever.
        failed, abstained: how many of those are so.
        resumed: how many of those are from the journal.
        cached: how many of those are from the cache.
        calls: judgements made in this run.
        in_flight: judgements being made.
        parts: parts of long documents that were read in this run.
        parts_known: how many more were known from the journal or the cache.
        usage: what the calls took.
        saved: what the answers from journal and cache took when they were asked for.
        trouble: the last request that had to be sent again, in words.
        workers: processes that judge; 0 where the run's own does.
        workers_lost: how many of them have died, and were started again.
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
    usage: Usage = field(default_factory=Usage)
    saved: Usage = field(default_factory=Usage)
    trouble: str | None = None
    workers: int = 0
    workers_lost: int = 0

    def count(self, verdict: Verdict) -> None:
        """Count a verdict in."""
        self.done += 1
        self.failed += verdict.status == "failed"
        self.abstained += verdict.status == "abstained"
