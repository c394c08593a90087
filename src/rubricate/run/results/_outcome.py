"""What a run came to: verdicts by status, failures by cause, cost, and why it stopped."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Self

from pydantic import BaseModel, ConfigDict, model_validator

from rubricate.rubric import NOT_RUN, UNANSWERED, Failure, Usage, Verdict
from rubricate.views import STATUSES, Paragraph, dollars, say

if TYPE_CHECKING:
    from rubricate.run.results._results import RunFacts

_ADVICE = {
    "timeout": "a model that does not stop writing needs --max-tokens",
    "deadline": "a judgement may take longer with --deadline, all its requests together",
    "context_length": "give the server more context, or send less: --chunk-tokens for long "
    "submissions, fewer examples, fewer --criteria-per-call",
    "unreadable_reply": "replies that are cut off need more --max-tokens; a model that cannot keep "
    "to the form is too small for this, or needs another way of asking: --criteria-per-call 1, the "
    "other --mode, your own --judge-prompt; a function in Python returns a dict such as "
    "{'reason': '...', 'evidence': [], 'verdict': 'MET'}",
}
"""What can be done about failures, by cause."""


@dataclass(frozen=True, slots=True, kw_only=True)
class UsageFigures(Usage):
    """What one command took, and what the run has cost.

    The fields of `Usage` are those of this command; `seconds` is how long it ran.
    """

    calls: int
    """Judgements made by this command."""
    resumed: int
    """Judgements read from the journal instead."""
    cached: int = 0
    """Judgements read from the cache instead."""
    damaged: int = 0
    """Records of the journal or the cache that were damaged, and count as missing."""
    run_cost: float | None = 0.0
    """US dollars that the run has cost in all: this command, earlier ones and other processes.
    Answers from the cache cost it nothing."""
    run_estimated_cost: float = 0.0
    """Those of them that are an estimate."""
    saved_input_tokens: int = 0
    saved_output_tokens: int = 0
    saved_cost: float | None = 0.0
    """What the judgements read from journal and cache took when they were asked for; not in the
    figures above."""

    @classmethod
    def of(cls, facts: RunFacts) -> UsageFigures:
        """Those of a run that has ended."""
        usage = {name: getattr(facts.usage, name) for name in Usage.__slots__}
        return cls(
            **{**usage, "seconds": facts.seconds},
            calls=facts.calls,
            resumed=facts.resumed,
            cached=facts.cached,
            damaged=facts.damaged,
            run_cost=facts.run_usage.cost,
            run_estimated_cost=facts.run_usage.estimated_cost,
            saved_input_tokens=facts.saved.input_tokens,
            saved_output_tokens=facts.saved.output_tokens,
            saved_cost=facts.saved.cost,
        )

    @property
    def cost_text(self) -> str:
        """What the run has cost, and what its last command paid of it if that is not the same."""
        paid = dollars(self.cost, self.estimated_cost)
        in_all = dollars(self.run_cost, self.run_estimated_cost)
        return paid if in_all == paid else f"{in_all} in all, {paid} of it by the last command"


class Outcome(BaseModel):
    """What a run came to; every report for which texts were judged has these fields."""

    model_config = ConfigDict(frozen=True, defer_build=True)

    judge: str
    note: str | None
    """What the judge says of itself."""
    verdicts: dict[str, int]
    """How many verdicts have each status."""
    not_run: int
    """Those that were never asked for, because the run ended early."""
    errors: dict[str, int]
    """How many verdicts failed for each cause."""
    first_error: str | None
    """The text of the first failure."""
    usage: UsageFigures
    run_dir: str | None
    stopped: str | None
    """Why the run ended early, if it did."""
    judge_fingerprint: str | None = None
    """A hash of the judge with its model, prompt and sampling; the same hash is the same judge."""
    prompt_version: str | None = None
    """The prompt that language models were asked with: the usual one's version, or the name and the
    hash of one of the user's own."""
    mode: str | None = None
    """How language models were asked: explained or with probabilities, one criterion a request or
    several; None where none was asked."""

    @model_validator(mode="before")
    @classmethod
    def _of_an_earlier_version(cls, data: Any) -> Any:
        """Reports had a few of these figures under other names, and no accounts of runs."""
        if not isinstance(data, dict):
            return data
        usage = data.get("usage")
        if usage is None and "calls" in data:
            failed, total = data["failed"], data["calls"] + data["known"] + data["not_run"]
            usage = {"resumed": data["known"], **data}
            data = {**data, "verdicts": {"judged": total - failed, "failed": failed}}
        verdicts = data.get("verdicts")
        if isinstance(verdicts, dict) and NOT_RUN not in verdicts:  # they counted as failed
            data = {**data, **_not_run_apart(data, verdicts)}
        if isinstance(usage, dict) and "run_cost" not in usage:
            costs = (usage.get("cost"), usage.get("saved_cost", 0.0))
            usage = {**usage, "run_cost": None if None in costs else sum(costs)}
        return data if usage is None else {**data, "usage": usage}

    @property
    def failed(self) -> int:
        """How many verdicts failed."""
        return self.verdicts["failed"]

    @property
    def unanswered(self) -> int:
        """How many verdicts have no answer: those that failed, and those that were not run."""
        return self.failed + self.not_run

    @property
    def nothing_judged(self) -> bool:
        """Whether no verdict has an answer."""
        return 0 < self.unanswered == sum(self.verdicts.values())

    @property
    def advice(self) -> dict[str, str]:
        """What can be done about the failures, by cause, where something can."""
        return {kind: _ADVICE[kind] for kind in self.errors if kind in _ADVICE}

    def is_why_it_stopped(self, error: str) -> bool:
        """Whether an error is the one that ended the run, which is shown as such."""
        return self.stopped is not None and error.endswith(self.stopped)

    def without_the_error(self) -> Self:
        """The same for where the error that ended the run, which came to nothing, is shown."""
        if self.stopped is None or not self.nothing_judged:
            return self
        return self.model_copy(update={"stopped": None, "first_error": None})

    def nothing(self) -> Iterator[Paragraph]:
        """That nothing was judged, if nothing was."""
        if self.nothing_judged:
            what = f"all {self.failed} verdicts failed"
            if self.not_run:
                what = f"of {self.unanswered} verdicts {unanswered_counts(self.verdicts)}"
            yield say(f"Nothing was judged: {what}.", "alarm")

    def problems(self) -> Iterator[Paragraph]:
        """Why the run ended early, and what failed, by cause, with what can be done about it."""
        if self.stopped is not None:
            yield say(f"Stopped early: {self.stopped}", "alarm")
            if not self.nothing_judged:
                yield say("The figures are of what was judged until then.")
        if self.not_run and not self.nothing_judged:
            yield say(f"Not run: {self.not_run} verdicts were not asked for.", "warning")
        if self.first_error is None:
            return
        causes = ", ".join(f"{kind} {count}" for kind, count in self.errors.items())
        yield say(f"Failed verdicts by cause: {causes}", "error")
        if not self.is_why_it_stopped(self.first_error):
            yield say(f"First failure: {self.first_error}", "error")
        for kind, advice in self.advice.items():
            yield say(f"{kind}: {advice}", "warning")


def unanswered_counts(counts: Mapping[str, int]) -> str:
    """How many verdicts failed and were not run: `1 failed, 39 not run`."""
    known = [
        (words.text, counts.get(status, 0))
        for status, words in STATUSES.items()
        if status in UNANSWERED
    ]
    return ", ".join(f"{count} {text}" for text, count in known if count)


def _not_run_apart(data: dict[str, Any], verdicts: dict[str, int]) -> dict[str, Any]:
    """The counts of a report in which what was not run counts as failed.

    Of each criterion the report does not say what was not run, unless all failures are that.
    """
    count, failed = data.get(NOT_RUN, 0), verdicts.get("failed", 0)
    changed: dict[str, Any] = {"verdicts": {**verdicts, "failed": failed - count, NOT_RUN: count}}
    if count:
        errors, criteria = data.get("errors", {}), data.get("criteria", ())
        changed["errors"] = {kind: n for kind, n in errors.items() if kind != NOT_RUN}
        if count == failed:
            changed["criteria"] = [
                {**figures, "failed": 0, NOT_RUN: figures["failed"]}
                if "judged" in figures  # a comparison of pairs counts pairs
                else figures
                for figures in criteria
            ]
    return changed


class OutcomeTally:
    """Verdicts by status and failures by cause, counted as they come, in any order."""

    def __init__(self) -> None:
        self.statuses: Counter[str] = Counter()
        self.errors: Counter[str] = Counter()
        self._first: tuple[tuple[int, ...], str] | None = None

    def add(self, place: tuple[int, ...], verdict: Verdict) -> None:
        """Count a verdict in; `place` says which comes first."""
        self.statuses[verdict.status] += 1
        if verdict.error is not None:
            self.add_error(place, verdict.error)

    def add_error(self, place: tuple[int, ...], error: Failure) -> None:
        """Count a failure in, without its status; what was not run is none."""
        if error.kind == NOT_RUN:
            return
        self.errors[error.kind] += 1
        if self._first is None or place < self._first[0]:
            self._first = (place, str(error))

    @property
    def first_error(self) -> str | None:
        """The first failure of a verdict that was asked for."""
        return None if self._first is None else self._first[1]

    def fields(self, facts: RunFacts, verdicts: Mapping[str, int] | None = None) -> dict[str, Any]:
        """The fields of an `Outcome`, once the run has ended.

        Args:
            facts: what the run was.
            verdicts: how many verdicts have each status. Default: those that were counted in.
        """
        if verdicts is None:
            verdicts = {status: 0 for status in STATUSES if status != "skipped"} | self.statuses
        return {
            "judge": facts.judge,
            "note": facts.note,
            "verdicts": verdicts,
            "not_run": verdicts[NOT_RUN],
            "errors": dict(sorted(self.errors.items())),
            "first_error": self.first_error,
            "usage": UsageFigures.of(facts),
            "run_dir": None if facts.run_dir is None else str(facts.run_dir),
            "stopped": facts.stopped,
            "judge_fingerprint": facts.fingerprint,
            "prompt_version": facts.prompt_version,
            "mode": facts.mode,
        }
