"""Assertions on a text by a judge's verdicts.

If a text does not meet them, the `AssertionError` names the criteria, with reasons and quotes. If a
text could not be judged, that is a `JudgementError`: neither a pass nor an UNMET.
"""

from __future__ import annotations

import reprlib
from collections.abc import Callable, Iterable, Mapping
from dataclasses import KW_ONLY
from numbers import Real
from pathlib import Path

from rubricate._spelling import suggestion
from rubricate._sync import run_sync
from rubricate._terminal import one_line
from rubricate.analysis import Result
from rubricate.choosing import chosen_judge
from rubricate.dataset import DataItem, RubricDataset
from rubricate.errors import (
    WHATEVER_THE_TEXT,
    InputError,
    JudgementError,
    ModelError,
    RunStopped,
)
from rubricate.grading import collected
from rubricate.judge import JudgesLike, closing, made_for
from rubricate.options import JudgingOptions
from rubricate.rubric import UNANSWERED, Criterion, Rubric, Verdict
from rubricate.run import ItemResult, ModelKey, Plan, RunOptions, Sender, SharedAnswers
from rubricate.settings import part, takes
from rubricate.streaming import ResultStream, shared_sender
from rubricate.views import figure

Require = Iterable[str] | Mapping[str, float]
Patience = tuple[int, float, float, float]
"""The options that limit the wait for an answer: attempts, deadline, max_outage, timeout. A longer
wait may succeed where a shorter one failed."""


class GivenUp:
    """The models that do not work, by endpoint and name, with the reasons.

    Finding out that an endpoint does not work takes seconds, so that only one test should wait for
    it. A failure that the text may have caused must happen with two texts in a row.

    Models are given up separately for each value of `Patience`.
    """

    def __init__(self) -> None:
        self._dead: dict[Patience, dict[ModelKey, ModelError]] = {}
        self._failing: dict[Patience, dict[ModelKey, str]] = {}

    def apply_to(self, sender: Sender, patience: Patience) -> None:
        """Let a sender send nothing to the models that were given up."""
        for model, why in self._dead.get(patience, {}).items():
            sender.give_up(model, f"given up earlier in this session: {why.kind}: {why}")

    def record(self, sender: Sender, patience: Patience, text: str) -> None:
        """Record which models failed or answered while a text was judged."""
        dead = self._dead.setdefault(patience, {})
        failing = self._failing.setdefault(patience, {})
        for model in sender.answered:
            failing.pop(model, None)
        for model, why in sender.lost.items():
            if model in dead:
                continue
            if why.kind in WHATEVER_THE_TEXT or failing.setdefault(model, text) != text:
                dead[model] = why


class AssertCall(JudgingOptions, SharedAnswers, kw_only=False):
    """Arguments of `assert_rubric`."""

    text: str
    rubric: Rubric | str | Path
    _: KW_ONLY
    prompt: str = ""
    reference: str | None = None
    min_score: float | None = None
    require: Require | None = None
    judge: JudgesLike = None
    on_result: Callable[[Result], None] = lambda result: None
    given_up: GivenUp | None = None


@takes(AssertCall)
def assert_rubric(call: AssertCall) -> ItemResult:
    """Assert that a text meets a rubric.

    Without `min_score` and `require`, all criteria that apply are required.

    Args:
        text: the text.
        rubric: the rubric, or a file with one.
        prompt: the task that the text answers.
        reference: an exemplary response.
        min_score: the minimum score, in [0, 1].
        require: names of criteria that must be fully met (for faults: be absent). Or a mapping of
            names to the minimum value in [0, 1] (for faults: the maximum).
        judge: the judge, as for `grade`. Default: the built-in judge, a baseline.
        on_result: called with the result before it is checked.
        given_up: the models that did not work for earlier texts. Nothing is sent to them, and
            models that do not work for this text are added. Default: none.

    Returns:
        The result of the item.

    Raises:
        AssertionError: the text does not meet the assertion. The message names the criteria, with
            reasons and quotes.
        JudgementError: the text could not be judged. The message says why.
        InputError: an argument is invalid.
    """
    __tracebackhide__ = True
    required = _Requirements(call.rubric, call.min_score, call.require)
    result = run_sync(lambda: closing(lambda: _judged(call, required.rubric), call.judge))
    call.on_result(result)
    return required.check(result)


@takes(AssertCall)
async def aassert_rubric(call: AssertCall) -> ItemResult:
    """Async version of `assert_rubric`.

    Args:
        text, rubric, prompt, reference, min_score, require, judge, on_result, given_up: as for
            `assert_rubric`, with the same result and errors.

    Raises:
        InputError, JudgementError, AssertionError: as for `assert_rubric`.
    """
    __tracebackhide__ = True
    required = _Requirements(call.rubric, call.min_score, call.require)
    result = await _judged(call, required.rubric)
    call.on_result(result)
    return required.check(result)


async def _judged(call: AssertCall, rubric: Rubric) -> Result:
    """Grade the text; returns the result even if the run stopped early."""
    item = DataItem(call.text, reference_submission=call.reference)
    dataset = RubricDataset(call.prompt, rubric, [item])
    chosen, options = chosen_judge(call.judge, call), part(RunOptions, call)
    patience = (call.attempts, call.deadline, call.max_outage, call.timeout)
    try:
        with shared_sender(chosen, options) as sender:
            if call.given_up is not None:
                call.given_up.apply_to(sender, patience)
            stream = ResultStream(Plan(dataset, options), chosen, options, sender=sender)
            try:
                return await collected(stream)
            except RunStopped as stopped:
                if stopped.interrupted or stopped.result is None:
                    raise
                result: Result = stopped.result
                return result
            finally:
                if call.given_up is not None:
                    call.given_up.record(sender, patience, call.text)
    finally:
        for made in made_for(call.judge, chosen):
            await made.aclose()


class _Requirements:
    """What is asserted about the verdicts on a text.

    Raises:
        InputError: a criterion is not in the rubric, or a number is not in [0, 1].
    """

    def __init__(
        self, rubric: Rubric | str | Path, min_score: float | None, require: Require | None
    ) -> None:
        self.rubric = rubric if isinstance(rubric, Rubric) else Rubric.from_file(rubric)
        self._criteria = self.rubric.by_name
        self._min_score = min_score
        self._all = min_score is None and require is None
        required = (require,) if isinstance(require, str) else () if require is None else require
        if not isinstance(required, Iterable):
            raise InputError(
                f"require must be names or {{name: number}}, found {reprlib.repr(require)}"
            )
        names = self._criteria if self._all else required
        self._limits = {name: self._limit(name, require) for name in names}
        numbers = {"min_score": 0.0 if min_score is None else min_score, **self._limits}
        for name, limit in numbers.items():
            if not isinstance(limit, Real) or not 0.0 <= limit <= 1.0:
                raise InputError(f"{name} must be between 0 and 1, found {reprlib.repr(limit)}")

    def _limit(self, name: str, require: Require | None) -> float:
        if name not in self._criteria:
            near = suggestion(name, self._criteria)
            hint = f"; did you mean '{near}'?" if near else f" (it has {', '.join(self._criteria)})"
            raise InputError(f"require: the rubric has no criterion '{name}'{hint}")
        if isinstance(require, Mapping):
            return require[name]
        return float(self._criteria[name].weight >= 0)

    def check(self, result: Result) -> ItemResult:
        """Return the item if it meets the requirements.

        Raises:
            AssertionError: it does not.
            JudgementError: it could not be judged.
        """
        __tracebackhide__ = True
        (item,) = result.items
        asserted = self._criteria if self._min_score is not None else self._limits
        failed = [name for name in asserted if item.criteria[name].status in UNANSWERED]
        if failed:
            raise JudgementError(
                "\n".join(
                    one_line(line)
                    for line in [
                        f"{result.judge} could not judge {len(failed)} of {len(self._criteria)} "
                        "criteria: this says nothing of the text",
                        *(f"  {name}: {_cause(item.criteria[name])}" for name in failed),
                    ]
                ),
                result=result,
            )
        short = [name for name in self._limits if not self._met(name, item.criteria[name])]
        below = self._min_score is not None and (
            item.score.value is None or item.score.value < self._min_score
        )
        if short or below:
            raise AssertionError(self._shortfall(result, item, short, below))
        return item

    def _met(self, name: str, verdict: Verdict) -> bool:
        if verdict.value is None:
            return self._all and verdict.status == "not_applicable"
        if self._criteria[name].weight < 0:
            return verdict.value <= self._limits[name]
        return verdict.value >= self._limits[name]

    def _shortfall(self, result: Result, item: ItemResult, short: list[str], below: bool) -> str:
        score = "no score" if item.score.value is None else f"score {figure(item.score.value)}"
        parts = [f"{score}, less than {self._min_score:g}"] if below else []
        if short:
            parts.append(f"{len(short)} of {len(self._limits)} required criteria not met")
        lines = [f"{' and '.join(parts)}, says {result.judge}"]
        for name, verdict in item.criteria.items():
            criterion = self._criteria[name]
            if name in short or (below and _costs(criterion, verdict)):
                lines += _criterion_lines(name, criterion, verdict, required=name in short)
        return "\n".join(map(one_line, lines))


def _costs(criterion: Criterion, verdict: Verdict) -> bool:
    if verdict.value is None:
        return verdict.status == "abstained"
    return verdict.value > 0 if criterion.weight < 0 else verdict.value < 1


def _criterion_lines(
    name: str, criterion: Criterion, verdict: Verdict, *, required: bool
) -> list[str]:
    kind = " (a fault)" if criterion.weight < 0 else ""
    label = verdict.label or verdict.status
    value = "" if verdict.value in (None, 0.0, 1.0) else f" ({figure(verdict.value)})"
    lines = [f"  {name}{kind}: {label}{value}{', required' if required else ''}"]
    if criterion.requirement:
        lines.append(f"    asked: {' '.join(criterion.requirement.split())}")
    if verdict.reason:
        lines.append(f"    reason: {' '.join(verdict.reason.split())}")
    lines += [f'    quote: "{" ".join(evidence.quote.split())}"' for evidence in verdict.evidence]
    return lines


def _cause(verdict: Verdict) -> str:
    error = verdict.error
    return "no cause given" if error is None else f"{error.kind}: {error.message}"
