"""How far a run's judge agrees with the labels in it, criterion by criterion."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, Any

from rubricate.errors import InputError
from rubricate.report._annotators import CriterionAnnotators, annotators_of
from rubricate.report._groups import groups_by
from rubricate.rubric import ABSTENTION, Criterion, Measurement
from rubricate.run import FinishedRun, RowVerdict
from rubricate.stats import (
    Bootstrap,
    Calibration,
    LabelAgreement,
    ScoreAgreement,
    Undecided,
    calibration,
)
from rubricate.stats import label_agreement as of_labels
from rubricate.stats import score_agreement as of_scores

if TYPE_CHECKING:
    from rich.console import RenderableType

__all__ = ["AgreementReport", "CriterionAgreement", "agreement_report"]


@dataclass(frozen=True, slots=True)
class CriterionAgreement:
    """One criterion.

    Attributes:
        name: its name.
        measurement: what its answers are.
        statuses: how many verdicts have each status.
        not_applicable: pairs left out since one of the two said that an ordered criterion does
            not apply; that answer has no place in the order.
        agreement: of labels, or of numbers where the answers are numbers.
        calibration: of the judge's probabilities of MET, where it has any.
    """

    name: str
    measurement: Measurement
    statuses: Mapping[str, int]
    not_applicable: int
    agreement: LabelAgreement | ScoreAgreement
    calibration: Calibration | None = None


@dataclass(frozen=True, slots=True)
class AgreementReport:
    """A run's judge against its labels.

    Attributes:
        judge: the judge's name.
        items: items with a label.
        criteria: those with a label, in the rubric's order.
        pooled: all binary criteria together, resampled by item; None with fewer than two.
        calibration: the same of the judge's probabilities of MET.
        scores: the items' scores against those by their labels; None where no item has a label on
            every criterion.
        annotators: where several annotators labelled the items, the judge beside each of them and
            they among themselves; see `CriterionAnnotators`.
        undecided: the policy for pairs in which one did not decide.
        bootstrap: how the intervals were made.
        groups: the field of the metadata that says which items belong together; None for none.
    """

    judge: str
    items: int
    criteria: tuple[CriterionAgreement, ...]
    pooled: LabelAgreement | None
    scores: ScoreAgreement | None
    annotators: tuple[CriterionAnnotators, ...]
    undecided: Undecided
    bootstrap: Bootstrap
    groups: str | None = None
    calibration: Calibration | None = None

    @property
    def calibration_of_all(self) -> Calibration | None:
        """Of all binary criteria together, or of the only one; None without probabilities."""
        each = [one.calibration for one in self.criteria if one.calibration is not None]
        found = self.calibration or (each[0] if len(each) == 1 else None)
        return found if found is not None and found.n else None

    def to_dict(self) -> dict[str, Any]:
        """The figures as JSON values."""
        return asdict(self)

    def __rich__(self) -> RenderableType:
        from rubricate.report._trust_views import agreement_view

        return agreement_view(self)


def agreement_report(
    run: FinishedRun,
    *,
    undecided: Undecided = "exclude",
    groups: str | None = None,
    bootstrap: Bootstrap | None = None,
) -> AgreementReport:
    """Agreement for every kind of criterion that has labels.

    Binary and nominal answers are compared as labels, ordinal ones with their order; a scale's
    scores and the values of metrics and code as numbers.

    Args:
        run: a run, from `read_run`.
        undecided: what an abstention or a failure is where a person decided: see
            `stats.label_agreement`. Numbers and ordered labels always leave such pairs out.
        groups: a field of the items' metadata, such as the document that they come from: items of
            one value are resampled together. Default: each item by itself.
        bootstrap: how intervals are made. Default: 2,000 resamples, percentile, 95 %.

    Raises:
        InputError: the run has no labels, or an item lacks the field to group by.
    """
    bootstrap = bootstrap or Bootstrap()
    labelled = [row for row in run.rows if row.human_label is not None]
    if not labelled:
        raise InputError(
            "this run has no human labels to compare with: grade a dataset that has them",
            file=run.path,
        )
    group_of = groups_by(run, groups)
    group = group_of if groups is not None else None
    known = run.criteria
    by_name: dict[str, list[RowVerdict]] = {}
    for row in labelled:
        by_name.setdefault(row.criterion, []).append(row)
    criteria = [
        _criterion(name, known[name], by_name[name], undecided, group, bootstrap)
        for name in known
        if name in by_name
    ]
    binary = [row for row in labelled if known[row.criterion].measurement == "binary"]
    pooled = None
    if len({row.criterion for row in binary}) > 1:
        pooled = of_labels(
            [_label(row) for row in binary],
            [row.human_label for row in binary],
            labels=known[binary[0].criterion].labels,
            undecided=undecided,
            groups=[group_of[row.item] for row in binary],
            bootstrap=bootstrap,
        )
    items = len({row.item for row in labelled})
    return AgreementReport(
        judge=run.judge,
        items=items,
        criteria=tuple(criteria),
        pooled=pooled,
        scores=_scores(run, group, bootstrap),
        annotators=annotators_of(run, group_of, bootstrap),
        undecided=undecided,
        bootstrap=bootstrap,
        groups=groups,
        calibration=None if pooled is None else _calibration(binary, group_of, bootstrap),
    )


def _calibration(
    rows: Sequence[RowVerdict], group_of: Mapping[str, Any], bootstrap: Bootstrap
) -> Calibration | None:
    """How far the judge's probabilities of MET fit the labels; None where there are none.

    Of what was decided, by the judge and by people.
    """
    known = [row for row in rows if row.status == "judged" and row.human_label in ("MET", "UNMET")]
    if all(row.probability_met is None for row in known):
        return None
    return calibration(
        [row.probability_met for row in known],
        [row.human_label == "MET" for row in known],
        groups=[group_of[row.item] for row in known],
        bootstrap=bootstrap,
    )


def _scores(
    run: FinishedRun, group: Mapping[str, Any] | None, bootstrap: Bootstrap
) -> ScoreAgreement | None:
    """The items' scores against those of their labels."""
    judge, human = run.item_scores, run.human_scores
    if all(score is None for score in human.values()):
        return None
    return of_scores(
        [judge[item] for item in human],
        list(human.values()),
        groups=None if group is None else [group[item] for item in human],
        bootstrap=bootstrap,
    )


def _criterion(
    name: str,
    criterion: Criterion,
    rows: Sequence[RowVerdict],
    undecided: Undecided,
    group: Mapping[str, Any] | None,
    bootstrap: Bootstrap,
) -> CriterionAgreement:
    kind = criterion.measurement
    statuses: dict[str, int] = dict(Counter(row.status for row in rows))
    if kind == "ordinal":
        known = [row for row in rows if row.status != "not_applicable" and _applies(row)]
    else:
        known = list(rows)
    left_out = len(rows) - len(known)
    groups = None if group is None else [group[row.item] for row in known]
    found: LabelAgreement | ScoreAgreement
    if kind == "numeric":
        found = of_scores(
            [row.value for row in known],
            [row.human_value for row in known],
            groups=groups,
            bootstrap=bootstrap,
        )
    elif kind == "ordinal" and _are_steps(known):
        found = of_scores(
            [_step(_label(row)) for row in known],
            [_step(row.human_label) for row in known],
            scale=True,
            groups=groups,
            bootstrap=bootstrap,
        )
    else:
        found = of_labels(
            [_label(row) for row in known],
            [row.human_label for row in known],
            labels=_labels(criterion, known, kind),
            ordered=kind == "ordinal",
            undecided="exclude" if kind == "ordinal" else undecided,
            groups=groups,
            bootstrap=bootstrap,
        )
    own = group or {row.item: row.item for row in rows}
    fit = _calibration(rows, own, bootstrap) if kind == "binary" else None
    return CriterionAgreement(name, kind, statuses, left_out, found, fit)


def _label(row: RowVerdict) -> str | None:
    """The judge's label; CANNOT_ASSESS where it abstained without one."""
    return ABSTENTION if row.status == "abstained" else row.label


def _applies(row: RowVerdict) -> bool:
    return row.human_value is not None or row.human_label == ABSTENTION


def _are_steps(rows: Sequence[RowVerdict]) -> bool:
    """Whether all labels are whole numbers."""
    given = [label for row in rows for label in (_label(row), row.human_label)]
    return all(_step(label) is not None for label in given if label not in (None, ABSTENTION))


def _step(label: str | None) -> int | None:
    try:
        return None if label is None or label == ABSTENTION else int(label)
    except ValueError:
        return None


def _labels(criterion: Criterion, rows: Sequence[RowVerdict], kind: Measurement) -> list[str]:
    """The criterion's labels, and those that only other items' criteria of the name have."""
    names = list(criterion.labels)
    if kind == "ordinal":
        names = [label for label in names if criterion.value(label) is not None]
    given = [label for row in rows for label in (_label(row), row.human_label) if label]
    return [*dict.fromkeys((*names, *(label for label in given if label != ABSTENTION)))] + (
        [ABSTENTION] if kind != "ordinal" else []
    )
