"""Reports on a graded text as in AutoRubric: views of the core's `ItemResult`."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import astuple, dataclass, field, fields, is_dataclass
from enum import Enum
from statistics import fmean
from typing import Any

from rubricate import rubric as core
from rubricate.dialects.autorubric._criteria import CriterionVerdict, as_given
from rubricate.rubric import UNANSWERED, Score, Usage, Verdict
from rubricate.run import ItemResult

Voters = Mapping[str, tuple[str, float]]
"""The `judge_id` and weight of each judge, by its name in the core."""


@dataclass(frozen=True)
class TokenUsage:
    """Tokens of requests and replies."""

    prompt_tokens: int = 0
    completion_tokens: int = 0
    total_tokens: int = 0
    cache_creation_input_tokens: int = 0
    cache_read_input_tokens: int = 0

    def __add__(self, other: TokenUsage) -> TokenUsage:
        return TokenUsage(*map(int.__add__, astuple(self), astuple(other)))


def usage_of(usage: Usage) -> TokenUsage:
    """Convert the core's usage to AutoRubric's."""
    return TokenUsage(
        usage.input_tokens,
        usage.output_tokens,
        usage.input_tokens + usage.output_tokens,
        cache_read_input_tokens=usage.cached_tokens,
    )


def _plain(value: Any) -> Any:
    """Convert a value of a report to JSON; criteria keep only AutoRubric's fields."""
    if isinstance(value, core.Criterion):
        document = value.to_dict()
        names = ("weight", "requirement", "name", "options", "scale_type", "aggregation")
        return {name: document.get(name) for name in names}
    if is_dataclass(value):
        return {own.name: _plain(getattr(value, own.name)) for own in fields(value) if own.repr}
    if isinstance(value, list):
        return [_plain(entry) for entry in value]
    return value.value if isinstance(value, Enum) else value


class _Report:
    def model_dump(self, mode: str = "python") -> dict[str, Any]:
        """Return the report as JSON values, without the core's result."""
        plain: dict[str, Any] = _plain(self)
        return plain


class _MayFail(_Report):
    error: str | None

    @property
    def is_error(self) -> bool:
        """Whether there is no usable answer."""
        return self.error is not None


class _Vote(_MayFail):
    """Fields of a vote in AutoRubric that votes of models do not have here; all are None."""

    reasoning = probabilities = confidence = None


@dataclass(frozen=True)
class JudgeVote(_Vote):
    """A judge's vote on a binary criterion. The verdict of a failed vote is None."""

    judge_id: str
    verdict: CriterionVerdict | None
    reason: str | None
    weight: float = 1.0
    error: str | None = None


@dataclass(frozen=True)
class MultiChoiceJudgeVote(_Vote):
    """A judge's vote on a criterion with options. If it chose none, the option is None."""

    shuffle_order = None

    judge_id: str
    selected_index: int | None
    selected_label: str | None
    value: float | None
    reason: str | None
    weight: float = 1.0
    na: bool = False
    error: str | None = None


@dataclass(frozen=True)
class AggregatedMultiChoiceVerdict:
    """The result of votes on options: the nearest option, and the value that is scored."""

    selected_index: int | None
    selected_label: str | None
    value: float | None
    na: bool
    aggregated_value: float | None


@dataclass(frozen=True)
class EnsembleCriterionReport(_MayFail):
    """The verdict on a criterion.

    Attributes:
        criterion: the criterion.
        verdict: the core's verdict, with its status, votes, evidence and the cause of a failure.
        final_verdict: the verdict on a binary criterion; None if it failed.
        final_multi_choice_verdict: the verdict on a criterion with options; None if it failed.
        final_reason: the reasons of the judges, each after the judge's id.
        votes, multi_choice_votes: the judges' votes, by kind; none if the answer was computed.
        agreement: the share of votes for the verdict, of those that decided.
        error: why there is no usable answer; None if there is one.
    """

    criterion: core.Criterion
    verdict: Verdict = field(repr=False)
    final_verdict: CriterionVerdict | None
    final_reason: str | None
    votes: list[JudgeVote]
    agreement: float
    final_multi_choice_verdict: AggregatedMultiChoiceVerdict | None
    multi_choice_votes: list[MultiChoiceJudgeVote]
    error: str | None

    @property
    def name(self) -> str:
        """The name of the criterion in the rubric."""
        return self.verdict.criterion

    @property
    def score_value(self) -> float | None:
        """The verdict's value in [0, 1]; None if it has none."""
        return self.verdict.value

    @property
    def is_na(self) -> bool:
        """Whether the judges abstained, or the criterion does not apply."""
        return self.verdict.status in ("abstained", "not_applicable")


@dataclass(frozen=True)
class EnsembleEvaluationReport(_Report):
    """The report on a graded text, by one judge or several.

    Attributes:
        score: in [0, 1], or the weighted sum with `normalize=False`; None if no criterion could be
            scored.
        raw_score, llm_raw_score: the weighted sum; None if there is no score.
        report: the criteria, in the rubric's order.
        judge_scores: the score that each judge would give alone, by `judge_id`.
        mean_agreement: the mean agreement over the criteria.
        cannot_assess_count: the number of criteria that the judges abstained from or that do not
            apply.
        token_usage, completion_cost: the tokens, and the cost in US dollars; None if no price is
            known.
        error: why there is no score, if every criterion failed.
        result: the core's result, with the score's bounds and warnings.
    """

    score: float | None
    raw_score: float | None
    llm_raw_score: float | None
    report: list[EnsembleCriterionReport]
    judge_scores: dict[str, float | None]
    mean_agreement: float | None
    cannot_assess_count: int
    token_usage: TokenUsage
    completion_cost: float | None
    error: str | None
    result: ItemResult = field(repr=False)


def report_of(result: ItemResult, voters: Voters, normalize: bool) -> EnsembleEvaluationReport:
    """Create the report on an item."""

    def shown(score: Score) -> float | None:
        if score.value is None:
            return None
        return score.value if normalize else score.raw

    criteria = result.rubric.by_name
    report = [
        _criterion(criteria[name], verdict, voters) for name, verdict in result.criteria.items()
    ]
    failed = [entry.error for entry in report if entry.error is not None]
    alone = result.judge_scores or dict.fromkeys(voters, result.score)
    usage = Usage.total(verdict.usage for verdict in result.criteria.values())
    raw = None if result.score.value is None else result.score.raw
    return EnsembleEvaluationReport(
        score=shown(result.score),
        raw_score=raw,
        llm_raw_score=raw,
        report=report,
        judge_scores={voters[name][0]: shown(score) for name, score in alone.items()},
        mean_agreement=fmean(entry.agreement for entry in report) if report else None,
        cannot_assess_count=sum(entry.is_na for entry in report),
        token_usage=usage_of(usage),
        completion_cost=usage.cost,
        error=f"Every criterion's judgment failed: {failed[0]}"
        if report and len(failed) == len(report)
        else None,
        result=result,
    )


def _criterion(
    criterion: core.Criterion, verdict: Verdict, voters: Voters
) -> EnsembleCriterionReport:
    votes = verdict.votes or ((verdict,) if criterion.needs_judge else ())
    judges = [voters.get(vote.judge or "") or next(iter(voters.values())) for vote in votes]
    reasons = [
        f"{judge}: {vote.reason}"
        for vote, (judge, _) in zip(votes, judges, strict=True)
        if vote.reason
    ]
    counted = [vote for vote in votes if vote.status not in UNANSWERED]
    agreeing = sum(vote.label == verdict.label for vote in counted)
    choice = criterion.is_multi_choice
    pairs = list(zip(votes, judges, strict=True))
    return EnsembleCriterionReport(
        criterion=as_given(criterion),
        verdict=verdict,
        final_verdict=_binary(criterion, verdict),
        final_reason=" | ".join(reasons) or (None if votes else verdict.reason),
        votes=[] if choice else [_vote(criterion, vote, *who) for vote, who in pairs],
        agreement=agreeing / len(counted) if counted else float(not votes and not verdict.error),
        final_multi_choice_verdict=_chosen(criterion, verdict),
        multi_choice_votes=[_choice(criterion, v, *who) for v, who in pairs] if choice else [],
        error=_error(verdict),
    )


def _binary(criterion: core.Criterion, verdict: Verdict) -> CriterionVerdict | None:
    if not criterion.is_binary or verdict.status in UNANSWERED:
        return None
    return CriterionVerdict(verdict.label or "")


def _selected(
    criterion: core.Criterion, verdict: Verdict
) -> tuple[int | None, str | None, float | None]:
    """The index, label and value of an answer. An abstention is the N/A option; without one, an
    option after the last, as AutoRubric adds it."""
    if verdict.status in UNANSWERED:
        return None, None, None
    options = criterion.options or ()
    own = (n for n, option in enumerate(options) if option.label == verdict.label)
    index = next(own, next((n for n, option in enumerate(options) if option.na), None))
    if index is None:
        return len(options), "Cannot assess / not applicable", 0.0
    return index, options[index].label, criterion.get_option_value(index)


def _chosen(criterion: core.Criterion, verdict: Verdict) -> AggregatedMultiChoiceVerdict | None:
    if not criterion.is_multi_choice or verdict.status in UNANSWERED:
        return None
    index, label, value = _selected(criterion, verdict)
    na = verdict.status != "judged"
    aggregated = (verdict.detail or {}).get("aggregated_value", value if na else verdict.value)
    return AggregatedMultiChoiceVerdict(index, label, value, na, aggregated)


def _vote(criterion: core.Criterion, vote: Verdict, judge: str, weight: float) -> JudgeVote:
    return JudgeVote(judge, _binary(criterion, vote), vote.reason, weight, _error(vote))


def _choice(
    criterion: core.Criterion, vote: Verdict, judge: str, weight: float
) -> MultiChoiceJudgeVote:
    na = vote.status in ("abstained", "not_applicable")
    return MultiChoiceJudgeVote(
        judge, *_selected(criterion, vote), vote.reason, weight, na=na, error=_error(vote)
    )


def _error(verdict: Verdict) -> str | None:
    """The reason for a failure, after AutoRubric's category of its cause."""
    if verdict.error is None:
        return None
    category = "parse" if verdict.error.kind == "unreadable_reply" else "infrastructure"
    return f"{category}: {verdict.error.kind}: {verdict.error.message}"
