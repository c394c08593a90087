"""How the labelled items of a run were chosen, and the resulting weights of labels."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass

from rubricate.analysis._finished import FinishedRun
from rubricate.errors import InputError
from rubricate.stats import weights_by_chance

NO_RECORD = "no record"
REMEDY = "label a random sample (rubricate label) or an active one (--order active)"


@dataclass(frozen=True, slots=True)
class LabelChoice:
    """How the labelled items behind figures were chosen.

    Attributes:
        counts: the number of labels by way of choosing (see `dataset.LabelSelection`); `no record`
            if unknown.
        adjudicated: how many of them somebody decided after seeing the others.
        weighted: whether labels are weighted by the inverse of their probability of selection.
        problem: why figures from them may not hold for all items; None if nothing suggests that.
        page: the labels of the run's page, in words, if there are any.
    """

    counts: Mapping[str, int]
    adjudicated: int
    weighted: bool
    problem: str | None
    page: str | None = None

    def check(self, what: str) -> None:
        """Refuse labels that cannot be weighted.

        Raises:
            InputError: some were chosen by uncertainty, or only some of them actively.
        """
        if self.problem is not None:
            raise InputError(f"{self.problem}; for {what}, {REMEDY}")

    def check_unweighted(self, what: str) -> None:
        """Also refuse labels that need weights.

        Raises:
            InputError: some labels are not a random sample.
        """
        self.check(what)
        if self.weighted:
            raise InputError(
                f"the labels were chosen actively, and {what} cannot be weighted by their chances: "
                "label a random sample (rubricate label)"
            )

    @property
    def text(self) -> str | None:
        """A line for reports, if there is anything to say."""
        if self.problem is not None:
            return f"{self.problem}: figures are of the labelled items, not of all"
        if not self.counts.keys() - {NO_RECORD}:
            return self.page
        parts = ", ".join(f"{count} {how.replace('_', ' ')}" for how, count in self.counts.items())
        text = f"How labels were chosen: {parts}"
        if self.adjudicated:
            text += f" ({self.adjudicated} adjudicated)"
        if self.weighted:
            text += (
                "; figures are weighted by the chances, but those of annotators are not; AUC, "
                "Brier score, calibration error, intraclass correlations, tau-b, distances and "
                "the levels of trees are not shown for actively chosen labels"
            )
        if self.counts.get("by_hand"):
            text += "; those by hand count like the others, though nothing makes them a sample"
        return text if self.page is None else f"{text}. {self.page}"


def label_choice(run: FinishedRun) -> LabelChoice:
    """Find out how the labelled items of a run were chosen."""
    labelled = [row for row in run.rows if row.human_label is not None]
    chosen = [row.human_selection or {} for row in labelled]
    counts = Counter(str(selection.get("how", NO_RECORD)) for selection in chosen)
    n, problem = len(labelled), None
    if counts["uncertainty"]:
        problem = (
            f"{counts['uncertainty']} of {n} labels are of items that were picked because the "
            "judge was unsure, with no known chance (label --order uncertainty)"
        )
    elif 0 < counts["active"] < n:
        problem = (
            f"{counts['active']} of {n} labels were chosen actively and the others were not, so "
            "that the chance which those had in the active draw is not known"
        )
    return LabelChoice(
        counts={how: counts[how] for how in sorted(counts) if counts[how]},
        adjudicated=sum(bool(selection.get("adjudicated")) for selection in chosen),
        weighted=problem is None and counts["active"] > 0,
        problem=problem,
        page=None if run.labels is None else run.labels.text,
    )


def label_weights(run: FinishedRun) -> dict[tuple[str, str], float] | None:
    """The weight of each label, by item and criterion; None if all are equal.

    It is the inverse of the probability that its item was labelled, which follows from the
    probability in a single draw and the number of labels. The weights of a criterion sum to the
    number of its items.
    """
    if not label_choice(run).weighted:
        return None
    chances: dict[str, dict[tuple[str, str], float]] = {}
    totals: Counter[str] = Counter()
    for row in run.rows:
        totals[row.criterion] += 1
        if row.human_label is not None and row.human_selection is not None:
            chance = float(row.human_selection["probability"])
            chances.setdefault(row.criterion, {})[row.item, row.criterion] = chance
    weights: dict[tuple[str, str], float] = {}
    for criterion, of_items in chances.items():
        worth = weights_by_chance(list(of_items.values()), totals[criterion])
        weights |= zip(of_items, worth, strict=True)
    return weights


def item_weights(run: FinishedRun) -> dict[str, float] | None:
    """The weights of items that have a label on every criterion; None if all are equal."""
    if not label_choice(run).weighted:
        return None
    scores = run.human_scores
    chances = {
        row.item: float(row.human_selection["probability"])
        for row in run.rows
        if row.human_selection is not None and scores[row.item] is not None
    }
    return dict(zip(chances, weights_by_chance(list(chances.values()), len(scores)), strict=True))
