"""The figures of a run, as data: what `summary.json` holds and the table shows."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from statistics import fmean
from typing import TYPE_CHECKING, Any

from pydantic import BaseModel, ConfigDict

from rubricate._version import __version__
from rubricate.rubric import ABSTENTION, BINARY_LABELS, Criterion, Verdict
from rubricate.stats import agreement

if TYPE_CHECKING:
    from rich.console import RenderableType

    from rubricate.run import ItemResult, Result

__all__ = [
    "AgreementFigures",
    "CriterionFigures",
    "ScoreFigures",
    "Summary",
    "UsageFigures",
    "summarize",
]


class _Figures(BaseModel):
    model_config = ConfigDict(frozen=True, use_attribute_docstrings=True)


class AgreementFigures(_Figures):
    """Agreement of the judge's labels with people's, over pairs in which both decided."""

    n: int
    """Pairs in which the judge and a person both gave a label that counts."""
    accuracy: float | None
    """The share of equal pairs; None for n = 0."""
    kappa: float | None
    """Cohen's kappa; None where undefined."""
    undefined: str | None = None
    """Why kappa is None."""


class CriterionFigures(_Figures):
    """One criterion over all items."""

    name: str
    weight: float
    binary: bool
    """Whether its answers are MET and UNMET."""
    labels: dict[str, int]
    """How often each label was given, the criterion's own order."""
    judged: int
    abstained: int
    not_applicable: int
    failed: int
    value: float | None
    """The mean value of the judged verdicts, in [0, 1]."""
    agreement: AgreementFigures | None
    """None where no item has a human label."""


class ScoreFigures(_Figures):
    """The mean over items."""

    mean: float | None
    """Mean score of the items that have one."""
    lowest: float | None
    """Mean of the lowest the items' scores could have been had the missing verdicts come."""
    highest: float | None
    """Mean of the highest they could have been."""
    scored: int
    """Items with a score."""
    coverage: float
    """Mean share of applicable criteria that were judged."""
    human_mean: float | None
    """Mean score of the human labels, over items with a label on every criterion."""


class UsageFigures(_Figures):
    """What the run took."""

    calls: int
    """Judgements made in this run."""
    resumed: int
    """Judgements read from the journal instead."""
    requests: int
    """Requests sent, retries and re-asks included."""
    input_tokens: int
    cached_tokens: int
    """Those of the input tokens that the endpoint served from its cache."""
    output_tokens: int
    cost: float | None
    """US dollars; None where a price is not known."""
    seconds: float


class Summary(_Figures):
    """The figures of a run. `print(summary)` shows them as a table."""

    version: str
    """The version of rubricate that wrote it."""
    dataset: str | None
    judge: str
    note: str | None
    """What the judge says of itself."""
    items: int
    verdicts: dict[str, int]
    """How many verdicts have each status."""
    not_run: int
    """Those of the failed verdicts that were never asked for because the run ended early."""
    errors: dict[str, int]
    """How many verdicts failed for each cause."""
    first_error: str | None
    """The text of the first failure."""
    criteria: list[CriterionFigures]
    score: ScoreFigures
    agreement: AgreementFigures | None
    """Over all criteria together."""
    cannot_assess: str
    partial: float
    usage: UsageFigures
    run_dir: str | None
    stopped: str | None
    """Why the run ended early, if it did."""

    def __rich__(self) -> RenderableType:
        from rubricate.report._terminal import summary_view

        return summary_view(self)

    def __str__(self) -> str:
        from rubricate.report._terminal import as_text

        return as_text(self)

    __repr__ = __str__

    def to_dict(self) -> dict[str, Any]:
        """The figures as JSON values."""
        return self.model_dump(mode="json")


MOST_LABELS = 12
"""Of answers without a fixed set of labels: how many different ones are counted one by one."""

Pair = tuple[Criterion, Verdict, Verdict | None]
"""A criterion, the judge's verdict on it, and the human one."""


def summarize(result: Result) -> Summary:
    """Compute a run's figures."""
    by_name: dict[str, list[Pair]] = {}
    for item in result.items:
        for criterion, name in zip(item.rubric, item.rubric.names, strict=True):
            pair = (criterion, item.criteria[name], item.labels.get(name))
            by_name.setdefault(name, []).append(pair)
    everything = [pair for pairs in by_name.values() for pair in pairs]
    failures = [v.error for _, v, _ in everything if v.error is not None]
    errors = Counter(error.kind for error in failures)
    real = [error for error in failures if error.kind != "not_run"]
    return Summary(
        version=__version__,
        dataset=result.dataset,
        judge=result.judge,
        note=result.note,
        items=len(result.items),
        verdicts=_statuses(everything),
        not_run=errors["not_run"],
        errors=dict(errors),
        first_error=f"{real[0].kind}: {real[0].message}" if real else None,
        criteria=[_criterion_figures(name, pairs) for name, pairs in by_name.items()],
        score=_score_figures(result.items),
        agreement=_agreement_figures(everything),
        cannot_assess=result.cannot_assess,
        partial=result.partial,
        usage=UsageFigures(
            calls=result.calls,
            resumed=result.resumed,
            requests=result.usage.requests,
            input_tokens=result.usage.input_tokens,
            cached_tokens=result.usage.cached_tokens,
            output_tokens=result.usage.output_tokens,
            cost=result.usage.cost,
            seconds=result.seconds,
        ),
        run_dir=None if result.run_dir is None else str(result.run_dir),
        stopped=result.stopped,
    )


def _statuses(pairs: Sequence[Pair]) -> dict[str, int]:
    counts = Counter(verdict.status for _, verdict, _ in pairs)
    return {s: counts[s] for s in ("judged", "abstained", "not_applicable", "failed")}


def _criterion_figures(name: str, pairs: Sequence[Pair]) -> CriterionFigures:
    criterion = pairs[0][0]
    given = Counter(verdict.label for _, verdict, _ in pairs if verdict.label is not None)
    order = {label: None for c, _, _ in pairs for label in (*c.labels, ABSTENTION)}
    if len(given.keys() - order.keys()) <= MOST_LABELS:
        order |= dict.fromkeys(sorted(given))
    counts = _statuses(pairs)
    values = [verdict.value for _, verdict, _ in pairs if verdict.value is not None]
    return CriterionFigures(
        name=name,
        weight=criterion.weight,
        binary=criterion.labels == BINARY_LABELS,
        labels={label: given[label] for label in order if given[label]},
        judged=counts["judged"],
        abstained=counts["abstained"],
        not_applicable=counts["not_applicable"],
        failed=counts["failed"],
        value=fmean(values) if values else None,
        agreement=_agreement_figures(pairs),
    )


def _agreement_figures(pairs: Sequence[Pair]) -> AgreementFigures | None:
    """Agreement over pairs in which both decided; abstentions and failures are counted apart."""
    if all(human is None for _, _, human in pairs):
        return None
    decided = ("judged", "not_applicable")
    both = [
        (verdict.label, human.label)
        for _, verdict, human in pairs
        if human is not None
        and verdict.status in decided
        and human.status in decided
        and verdict.label is not None
        and human.label is not None
    ]
    found = agreement([judge for judge, _ in both], [human for _, human in both])
    return AgreementFigures(
        n=found.n, accuracy=found.accuracy, kappa=found.kappa, undefined=found.undefined
    )


def _score_figures(items: Sequence[ItemResult]) -> ScoreFigures:
    def mean(numbers: list[float | None]) -> float | None:
        present = [number for number in numbers if number is not None]
        return fmean(present) if present else None

    return ScoreFigures(
        mean=mean([item.score.value for item in items]),
        lowest=mean([item.score.lowest for item in items]),
        highest=mean([item.score.highest for item in items]),
        scored=sum(item.score.value is not None for item in items),
        coverage=fmean(item.score.coverage for item in items),
        human_mean=mean([item.human_score.value for item in items if item.human_score is not None]),
    )
