"""What few labels say of a run's means, and which items to label next."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

from rubricate.analysis._finished import FinishedRun
from rubricate.errors import InputError
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
    """One criterion: what people's mean value would be over all items."""

    name: str
    mean: CorrectedMean


@dataclass(frozen=True, slots=True)
class PPIReport(Report):
    """What a run's labels say of its means.

    Attributes:
        judge: the judge's name.
        items: how many there are.
        labelled: those with a label on every criterion.
        score: people's mean item score.
        criteria: people's mean value of each criterion, in the rubric's order.
        next_items: the ids of the items to label next, in this order.
        next_random: whether they are a random sample, fit for these means; None where none was
            asked for.
        confidence: the intervals' nominal coverage.
        groups: the field of the metadata that says which items belong together; None for none.
    """

    judge: str
    items: int
    labelled: int
    score: CorrectedMean
    criteria: tuple[CriterionMean, ...]
    next_items: tuple[str, ...]
    next_random: bool | None
    confidence: float
    groups: str | None

    @property
    def title(self) -> str:
        return "What people's means would be"

    def sections(self) -> Iterator[Section]:
        """People's mean score and values, told four ways; then the items to label next."""
        means = [("score", self.score), *((one.name, one.mean) for one in self.criteria)]
        yield Table(
            [
                Column("", is_text=True),
                *numbers("n"),
                *numbers("judge", "labels", "PPI++", "Rogan-Gladen", least=11),
                *numbers("n eff"),
            ],
            [
                Row(_cells(name, found), "" if place else "strong")
                for place, (name, found) in enumerate(means)
            ],
            f"What people's means would be: {self.judge} on {self.items} items, "
            f"{self.labelled} of them labelled",
        )
        reasons: dict[str, list[str]] = {}
        for name, found in means:
            corrected = {"PPI++": found.prediction_powered, "Rogan-Gladen": found.rogan_gladen}
            for kind, one in corrected.items():
                if one.value is None and one.undefined is not None:
                    reasons.setdefault(f"no {kind}: {one.undefined}", []).append(name)
        yield from (say(f"{', '.join(names)}: {reason}") for reason, names in reasons.items())
        if self.next_random is not None:
            how = "a random sample" if self.next_random else "the least sure first"
            yield say(f"To label next ({how}): {', '.join(self.next_items) or 'none is left'}")
        if self.next_random is False:
            yield say("These show where the judge errs; labels of them bend the means above.")
        by = "items" if self.groups is None else f"groups by {self.groups}"
        yield say(
            f"Intervals: {percent(self.confidence)}, by {by}. All but the judge's own mean, which "
            "is of all items, need labels of a random sample (n of them); items that the judge did "
            "not decide are left out. n eff, the effective n: how many labels alone are as sure "
            "as PPI++.",
            "quiet",
        )


def _cells(name: str, found: CorrectedMean) -> list[Cell]:
    effective = found.effective_labels
    return [
        name,
        str(found.labelled),
        found.naive,
        found.labelled_only,
        found.prediction_powered,
        found.rogan_gladen,
        NONE if effective is None else f"{effective:.0f}",
    ]


def ppi_report(
    run: FinishedRun,
    *,
    next_items: int = 0,
    uncertain: bool = False,
    groups: str | None = None,
    confidence: float = 0.95,
    seed: int = 0,
) -> PPIReport:
    """The means that people would give, from a judge's verdicts on all items and labels of some.

    The labelled items must be a random sample of all; see `stats.corrected_mean`.

    Args:
        run: a run, from `read_run`; it may have no labels yet.
        next_items: how many items to name for labelling next.
        uncertain: name those whose least sure verdict is the least sure, in place of a random
            sample. How sure a verdict is: its probability, or the share of votes that are it; one
            that was not decided is not sure at all.
        groups: a field of the items' metadata: items of one value belong together.
        confidence: the intervals' nominal coverage.
        seed: of the random order of the items to label.

    Raises:
        InputError: an item lacks the field to group by, a number out of range, or `uncertain` for a
            judge that does not say how sure it is.
    """
    group_of = run.groups_by(groups)
    rows: dict[str, list[ResultRow]] = {}
    for row in run.rows:
        rows.setdefault(row.item, []).append(row)
    items = [*rows]
    labelled = [all(row.human_label is not None for row in rows[item]) for item in items]
    plan = next_to_label(
        labelled,
        next_items,
        uncertainty=_uncertainty(run, rows) if uncertain else None,
        seed=seed,
    )
    judge, human = run.item_scores, run.human_scores

    def mean(
        of: Sequence[str], ours: Sequence[float | None], theirs: Sequence[float | None]
    ) -> CorrectedMean:
        kept = None if groups is None else [group_of[item] for item in of]
        return _inside(corrected_mean(ours, theirs, groups=kept, confidence=confidence))

    by_name: dict[str, list[ResultRow]] = {}
    for row in run.rows:
        by_name.setdefault(row.criterion, []).append(row)
    return PPIReport(
        judge=run.judge,
        items=len(items),
        labelled=sum(labelled),
        score=mean(items, [judge[item] for item in items], [human[item] for item in items]),
        criteria=tuple(
            CriterionMean(
                name,
                mean(
                    [row.item for row in by_name[name]],
                    [row.value for row in by_name[name]],
                    [row.human_value for row in by_name[name]],
                ),
            )
            for name in run.criteria
            if name in by_name
        ),
        next_items=tuple(items[place] for place in plan.items),
        next_random=plan.random if next_items else None,
        confidence=confidence,
        groups=groups,
    )


def _inside(found: CorrectedMean) -> CorrectedMean:
    """Scores and values are from 0 to 1, and so are their means; intervals know no bounds."""
    return replace(
        found,
        naive=found.naive.within(0.0, 1.0),
        labelled_only=found.labelled_only.within(0.0, 1.0),
        prediction_powered=found.prediction_powered.within(0.0, 1.0),
        rogan_gladen=found.rogan_gladen.within(0.0, 1.0),
    )


def _uncertainty(run: FinishedRun, rows: Mapping[str, Sequence[ResultRow]]) -> list[float | None]:
    """Of each item that of its least sure verdict; None where one was not decided."""
    known = run.criteria
    asked = {
        item: [row for row in of_item if known[row.criterion].needs_judge]
        for item, of_item in rows.items()
    }
    sure = {item: [row.confidence for row in of_item] for item, of_item in asked.items()}
    if all(one is None for of_item in sure.values() for one in of_item):
        raise InputError(
            f"{run.judge} does not say how sure it is: use a judge with probabilities, or "
            "several judges (or replicates); without this option the items are a random sample",
            file=run.path,
        )
    found: list[float | None] = []
    for of_item in sure.values():
        given = [one for one in of_item if one is not None]
        found.append(1 - min(given, default=1.0) if len(given) == len(of_item) else None)
    return found
