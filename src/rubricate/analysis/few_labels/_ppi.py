"""Human means estimated from a few labels, and the items to label next."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

from rubricate.analysis._finished import RunLike, finished_run
from rubricate.analysis._label_choice import item_weights, label_choice, label_weights
from rubricate.analysis.agreement import units
from rubricate.run.results import ResultRow
from rubricate.stats import CorrectedMean, corrected_mean, next_to_label
from rubricate.views import (
    NONE,
    Cell,
    Column,
    Report,
    Row,
    Section,
    Table,
    numbers,
    percent,
    say,
)


@dataclass(frozen=True, slots=True)
class CriterionMean:
    """The estimated human mean of one criterion over all items."""

    name: str
    mean: CorrectedMean


@dataclass(frozen=True, slots=True)
class PPIReport(Report):
    """Estimated human means; see `ppi_report`.

    Attributes:
        judge: the judge's name.
        items: the number of items.
        labelled: the number of items with a label on every criterion.
        score: the human mean score of items.
        criteria: the human mean of each criterion, in the rubric's order.
        next_items: the ids of the items to label next, a random sample, in this order; None if
            not requested.
        confidence: the nominal coverage of the intervals.
        groups: the metadata field that says which items belong together, if any.
        weighted: whether labels are weighted by the inverse of the probabilities of choosing them.
    """

    judge: str
    items: int
    labelled: int
    score: CorrectedMean
    criteria: tuple[CriterionMean, ...]
    next_items: tuple[str, ...] | None
    confidence: float
    groups: str | None
    weighted: bool

    title = "What people's means would be"

    def sections(self) -> Iterator[Section]:
        """The human mean score and values by four methods, then the items to label next."""
        means = [("score", self.score), *((each.name, each.mean) for each in self.criteria)]
        yield Table(
            [
                Column("", is_text=True),
                *numbers("n"),
                *numbers("judge", "labels", "PPI++", "Rogan-Gladen", least=11),
                *numbers("n eff"),
            ],
            [
                Row(_cells(name, mean), "" if place else "strong")
                for place, (name, mean) in enumerate(means)
            ],
            f"What people's means would be: {self.judge} on {self.items} items, "
            f"{self.labelled} of them labelled",
        )
        if self.next_items is not None:
            named = ", ".join(self.next_items) or "none is left"
            yield say(f"To label next (a random sample): {named}")
        of_labels = "need labels of a random sample"
        if self.weighted:
            of_labels = "weigh the labels, of an active sample, by their chances"
        yield say(
            f"Intervals: {percent(self.confidence)}, by {units(self.groups)}. All but the judge's "
            f"own mean, which is of all items, {of_labels} (n of them); items "
            "that the judge did not decide are left out. n eff, the effective n: how many labels "
            "alone are as sure as PPI++.",
            "quiet",
        )


def _cells(name: str, mean: CorrectedMean) -> list[Cell]:
    effective = mean.effective_labels
    return [
        name,
        str(mean.labelled),
        mean.naive,
        mean.labelled_only,
        mean.prediction_powered,
        mean.rogan_gladen,
        NONE if effective is None else f"{effective:.0f}",
    ]


def ppi_report(
    run: RunLike,
    *,
    next_items: int = 0,
    groups: str | None = None,
    confidence: float = 0.95,
    seed: int = 0,
) -> PPIReport:
    """Estimate human means from a judge's verdicts on all items and labels of some.

    The labelled items must be a random sample, or have known probabilities of selection, by which
    they are weighted (`rubricate label --order active`); see `stats.corrected_mean`.

    Args:
        run: a run, from `read_run`; it may have no labels yet.
        next_items: the number of items to suggest for labelling.
        groups: a field of the items' metadata: items with the same value belong together. `none`
            treats each item by itself. Default: by prompt, if prompts repeat.
        confidence: the nominal coverage of the intervals.
        seed: the random seed of the order of the suggested items.

    Raises:
        InputError: an item lacks the field to group by, a number is out of range, or the labels are
            not a sample (see `LabelChoice`).
    """
    run = finished_run(run)
    choice = label_choice(run)
    choice.check("means")
    of_labels, of_items = label_weights(run), item_weights(run)
    groups = run.grouping(groups)
    group_of = run.groups_by(groups)
    judge, human = run.item_scores, run.human_scores
    items = [*judge]
    unlabelled = {row.item for row in run.rows if row.human_label is None}
    labelled = [item not in unlabelled for item in items]
    chosen = next_to_label(labelled, next_items, seed=seed)

    def mean(
        items: Sequence[str],
        judge: Sequence[float | None],
        human: Sequence[float | None],
        weights: Sequence[float | None] | None,
    ) -> CorrectedMean:
        members = None if groups is None else [group_of[item] for item in items]
        return _bounded(
            corrected_mean(judge, human, groups=members, weights=weights, confidence=confidence)
        )

    def of_criterion(name: str, rows: Sequence[ResultRow]) -> CriterionMean:
        worth = None if of_labels is None else [of_labels.get((row.item, name)) for row in rows]
        values, labels = [row.value for row in rows], [row.human_value for row in rows]
        return CriterionMean(name, mean([row.item for row in rows], values, labels, worth))

    by_name = run.by_criterion()
    worth = None if of_items is None else [of_items.get(item) for item in items]
    return PPIReport(
        judge=run.judge,
        items=len(items),
        labelled=sum(labelled),
        score=mean(items, [*judge.values()], [*human.values()], worth),
        criteria=tuple(
            of_criterion(name, by_name[name]) for name in run.criteria if name in by_name
        ),
        next_items=tuple(items[place] for place in chosen) if next_items else None,
        confidence=confidence,
        groups=groups,
        weighted=choice.weighted,
    )


def _bounded(mean: CorrectedMean) -> CorrectedMean:
    """Clip the intervals of means of scores and values to [0, 1]."""
    methods = ("naive", "labelled_only", "prediction_powered", "rogan_gladen")
    return replace(mean, **{name: getattr(mean, name).within(0.0, 1.0) for name in methods})
