"""The outcome of a run: verdicts by status, failures by cause, cost, and why it stopped."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Self

from pydantic import BaseModel, ConfigDict, model_validator

from rubricate._spelling import NamesAdvised
from rubricate.rubric import NOT_RUN, UNANSWERED, Failure, Usage, Verdict
from rubricate.views import STATUSES, Paragraph, dollars, say, status_counts

if TYPE_CHECKING:
    from rubricate.run.results._results import RunFacts


@dataclass(frozen=True, slots=True, kw_only=True)
class UsageFigures(Usage):
    """The usage of one command, and the cost of the whole run.

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
    """US dollars that the run has cost in total: this command, earlier ones and other processes.
    Answers from the cache cost nothing."""
    run_estimated_cost: float = 0.0
    """The estimated part of them."""
    saved_input_tokens: int = 0
    saved_output_tokens: int = 0
    saved_cost: float | None = 0.0
    """What the judgements from journal and cache originally cost, which is not included above."""

    @classmethod
    def of(cls, facts: RunFacts) -> UsageFigures:
        """The figures of a run that has ended."""
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
        """The cost of the run, and the part paid by its last command, if different."""
        paid = dollars(self.cost, self.estimated_cost)
        in_all = dollars(self.run_cost, self.run_estimated_cost)
        return paid if in_all == paid else f"{in_all} in all, {paid} of it by the last command"


class Outcome(NamesAdvised, BaseModel):
    """The outcome of a run. Every report for which texts were judged has these fields."""

    model_config = ConfigDict(frozen=True, defer_build=True)

    judge: str
    note: str | None
    """A line by the judge about itself."""
    verdicts: dict[str, int]
    """The number of verdicts by status."""
    not_run: int
    """Verdicts that were never asked, because the run ended early."""
    errors: dict[str, int]
    """The number of failed verdicts by cause."""
    first_error: str | None
    """The text of the first failure."""
    usage: UsageFigures
    run_dir: str | None
    stopped: str | None
    """Why the run ended early, if it did."""
    judge_fingerprint: str | None = None
    """A hash of the judge with model, prompt and sampling. Equal hashes mean equal judges."""
    prompt_version: str | None = None
    """The prompt for language models: the version of the built-in one, or name and hash of a custom
    one."""
    mode: str | None = None
    """How language models were asked: explained or by probability, one criterion a request or
    several; None if none was asked."""

    @model_validator(mode="before")
    @classmethod
    def _of_an_earlier_version(cls, data: Any) -> Any:
        """Read reports of earlier versions, which had other names and no cost of the run."""
        if not isinstance(data, dict):
            return data
        usage = data.get("usage")
        if usage is None and "calls" in data:
            failed, total = data["failed"], data["calls"] + data["known"] + data["not_run"]
            usage = {"resumed": data["known"], **data}
            data = {**data, "verdicts": {"judged": total - failed, "failed": failed}}
        verdicts = data.get("verdicts")
        if isinstance(verdicts, dict) and NOT_RUN not in verdicts:  # which counted as failed
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
        """How many verdicts have no answer: failed ones and those not run."""
        return self.failed + self.not_run

    @property
    def nothing_judged(self) -> bool:
        """Whether no verdict has an answer."""
        return 0 < self.unanswered == sum(self.verdicts.values())

    @property
    def advice(self) -> dict[str, str]:
        """Advice for the failures, by cause."""
        if not self.errors:
            return {}
        unreadable = (
            "replies that are cut off need more --max-tokens; a model that cannot keep to the form "
            "is too small for this, or needs another way of asking: --criteria-per-call 1, the "
            "other --mode, your own --judge-prompt"
        )
        if self.judge.startswith("python/"):
            unreadable = (
                "correct the function, because no retry helps as long as it replies like this: it "
                'returns {"reason": ..., "evidence": [...], "verdict": "MET"}, or a model\'s reply'
            )
        advice = {
            "timeout": "a model that does not stop writing needs --max-tokens",
            "deadline": "--deadline sets how long a judgement may take with all its requests",
            "context_length": "give the server more context, or send less: --chunk-tokens for long "
            "submissions, fewer examples, fewer --criteria-per-call",
            "unreadable_reply": unreadable,
        }
        return {kind: advice[kind] for kind in self.errors if kind in advice}

    def is_why_it_stopped(self, error: str) -> bool:
        """Whether an error is the one that ended the run, which is shown separately."""
        return self.stopped is not None and error.endswith(self.stopped)

    def without_the_error(self) -> Self:
        """The same without the error, if nothing was judged and the error is shown elsewhere."""
        if self.stopped is None or not self.nothing_judged:
            return self
        return self.model_copy(update={"stopped": None, "first_error": None})

    def nothing(self) -> Iterator[Paragraph]:
        """A line that nothing was judged, if that is so."""
        if self.nothing_judged:
            what = f"all {self.failed} verdicts failed"
            if self.not_run:
                what = f"of {self.unanswered} verdicts {status_counts(self.verdicts, UNANSWERED)}"
            yield say(f"Nothing was judged: {what}.", "alarm")

    def problems(self) -> Iterator[Paragraph]:
        """Why the run ended early, and what failed by cause, with advice."""
        if self.stopped is not None:
            yield say(f"Stopped early: {self.stopped}", "alarm")
            if not self.nothing_judged:
                yield say("The figures cover what was judged until then.")
        if self.not_run and not self.nothing_judged:
            yield say(f"Not run: {self.not_run} verdicts were never asked.", "warning")
        if self.first_error is None:
            return
        causes = ", ".join(f"{kind} {count}" for kind, count in self.errors.items())
        yield say(f"Failed verdicts by cause: {causes}", "error")
        if not self.is_why_it_stopped(self.first_error):
            yield say(f"First failure: {self.first_error}", "error")
        for kind, advice in self.advice.items():
            yield say(f"{kind}: {advice}", "warning")


def _not_run_apart(data: dict[str, Any], verdicts: dict[str, int]) -> dict[str, Any]:
    """The counts of an old report, in which verdicts that were not run counted as failed.

    For each criterion, such a report does not tell them apart, unless all failures were not run.
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
    """Counts verdicts by status and failures by cause, in any order."""

    def __init__(self) -> None:
        self.statuses: Counter[str] = Counter()
        self.errors: Counter[str] = Counter()
        self._first: tuple[tuple[int, ...], str] | None = None

    def add(self, place: tuple[int, ...], verdict: Verdict) -> None:
        """Count a verdict; `place` defines the order."""
        self.statuses[verdict.status] += 1
        if verdict.error is not None:
            self.add_error(place, verdict.error)

    def add_error(self, place: tuple[int, ...], error: Failure) -> None:
        """Count a failure without its status. A verdict that was not run is no failure."""
        if error.kind == NOT_RUN:
            return
        self.errors[error.kind] += 1
        if self._first is None or place < self._first[0]:
            self._first = (place, str(error))

    @property
    def first_error(self) -> str | None:
        """The first failure of a verdict that was asked."""
        return None if self._first is None else self._first[1]

    def fields(self, facts: RunFacts, verdicts: Mapping[str, int] | None = None) -> dict[str, Any]:
        """The fields of an `Outcome`, once the run has ended.

        Args:
            facts: the facts of the run.
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
