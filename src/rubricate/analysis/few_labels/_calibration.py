"""A calibration: a map of a judge's probabilities, fitted on labels, and what it was fitted for."""

from __future__ import annotations

import hashlib
import json
import logging
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any, Literal

from rubricate._version import __version__
from rubricate.analysis._finished import FinishedRun
from rubricate.analysis._sealed import SealedReport, now
from rubricate.errors import InputError
from rubricate.judge import Judge
from rubricate.rubric import Criterion, Rubric, Verdict
from rubricate.stats import (
    CalibrationGain,
    CalibrationMethod,
    IsotonicMap,
    PlattMap,
    calibration_gain,
    read_calibration_map,
)
from rubricate.views import NONE, Paragraph, say

logger = logging.getLogger(__name__)
MANY = 300
"""Labels from which on the map is isotonic, unless it is chosen."""


class FittedCalibration(SealedReport):
    """What `rubricate trust calibrate` writes. The last field is a hash of all others.

    Attributes:
        format: of the file.
        rubricate_version: that wrote it.
        judge: the judge's name.
        sha256: a hash of all other fields.
        name: of the map's file, for people.
        method: `platt` or `isotonic`.
    """

    format: Literal["rubricate calibration 2"] = "rubricate calibration 2"
    name: str
    created: str
    """When, in UTC."""
    rubricate_version: str
    judge: str
    judge_fingerprint: str
    """A hash of the judge's model, prompt and sampling."""
    criteria: dict[str, str]
    """Of each criterion that it is for, a hash of what is asked."""
    method: str
    map: dict[str, Any]
    """Of the probability of MET; see `stats.read_calibration_map`."""
    items: int
    """Items that it was fitted on."""
    labels: int
    """Verdicts with a label that it was fitted on."""
    groups: str | None
    """The field of the metadata that says which items belong together; None for none."""
    out_of_fold: CalibrationGain
    """What such maps change on items that they were not fitted on."""
    not_shown: str | None
    """Why it is not shown to be better than none; None where it is."""
    sha256: str = ""

    @property
    def reference(self) -> str:
        """Its name with the beginning of its hash, as results keep it."""
        return f"{self.name} {self.sha256[:12]}"

    @property
    def title(self) -> str:
        return f"Calibration {self.name}"

    def sections(self) -> Iterator[Paragraph]:
        """What was fitted, and what such maps change on items that they were not fitted on."""
        found = self.out_of_fold
        yield say(
            f"{self.method} map for {self.judge}, fitted on {self.labels} labels of "
            f"{self.items} items, sha256 {self.sha256}"
        )
        if self.not_shown is not None:
            yield say(f"Not shown to be better than none: {self.not_shown}", "warning")
        yield say(
            f"On {found.n} labels out of fold: "
            f"Brier {_change(found.brier_before, found.brier_after)} (gain {found.brier_gain}), "
            f"calibration error {_change(found.error_before, found.error_after)}, "
            f"accuracy {_change(found.accuracy_before, found.accuracy_after)}"
        )


def _change(before: float | None, after: float | None) -> str:
    return NONE if before is None or after is None else f"{before:.3f} -> {after:.3f}"


def fit_calibration(
    run: FinishedRun,
    *,
    name: str = "calibration",
    method: CalibrationMethod | None = None,
    groups: str | None = None,
    seed: int = 0,
) -> FittedCalibration:
    """Fit a map of the probability of MET on a run's labelled items.

    One map for all binary criteria that need a judge. Cross-validation shows whether it is better
    than none; see `stats.calibration_gain`.

    Args:
        run: a run of one judge, with labels and probabilities.
        name: what results call the map.
        method: `isotonic` (Zadrozny and Elkan 2002) or `platt` (Platt 1999). Default: isotonic
            from 300 labels on.
        groups: a field of the items' metadata: items of one value are in one fold, and the interval
            of the gain is by it. Default: each item by itself.
        seed: of the draw of the folds.

    Raises:
        InputError: no probabilities with labels, several judges, a run that was calibrated
            already, too few labels, or an item lacks the field to group by.
    """
    if method not in (None, "isotonic", "platt"):
        raise InputError(f"method must be isotonic or platt, found {method!r}")
    fingerprint = run.summary.get("judge_fingerprint")
    if run.summary.get("calibration") is not None:
        raise InputError("this run is calibrated already: take one without", file=run.path)
    if run.summary.get("judges") or fingerprint is None:
        raise InputError("a map is for one judge with a fingerprint", file=run.path)
    questions = {key: one for key, one in run.criteria.items() if _is_mapped(one)}
    group_of = run.groups_by(groups)
    known = [
        (row.item, row.probability_met, row.human_label == "MET")
        for row in run.rows
        if row.criterion in questions
        and row.probability_met is not None
        and row.label in ("MET", "UNMET")
        and row.human_label in ("MET", "UNMET")
    ]
    items = len({item for item, *_ in known})
    if items < 2:
        raise InputError(
            "a map is fitted on probabilities of binary criteria with human labels: this run has "
            f"them for {items} items. Label some (rubricate label), and grade with a judge that "
            "gives probabilities (--mode probability)",
            file=run.path,
        )
    if method is None:
        method = "isotonic" if len(known) >= MANY else "platt"
    kind = IsotonicMap if method == "isotonic" else PlattMap
    probabilities, met = [p for _, p, _ in known], [is_met for *_, is_met in known]
    try:
        fitted = kind.fit(probabilities, met)
    except InputError as error:
        raise error.within(file=run.path) from None
    out_of_fold = calibration_gain(
        probabilities, met, method=method, groups=[group_of[item] for item, *_ in known], seed=seed
    )
    return FittedCalibration(
        name=name,
        created=now(),
        rubricate_version=__version__,
        judge=run.judge,
        judge_fingerprint=fingerprint,
        criteria={key: _question(one) for key, one in questions.items()},
        method=method,
        map=fitted.to_dict(),
        items=items,
        labels=len(known),
        groups=groups,
        out_of_fold=out_of_fold,
        not_shown=out_of_fold.why_not,
    ).sealed()


def read_calibration(path: str | Path) -> FittedCalibration:
    """Read a calibration.

    Raises:
        InputError: it cannot be read, is none, or was changed since it was written.
    """
    return FittedCalibration.read(path, "calibration", "calibrate")


class Calibrator:
    """Applies a calibration to the verdicts of the judge that it was fitted for.

    The probability of MET is mapped; the label is MET where it is above one half, UNMET where it
    is below, and so is the value. The verdict's `detail` keeps the map's name and hash, and the
    label and probability that the judge gave. Verdicts without a probability, abstentions and
    criteria that are not binary stay as they are.

    Args:
        fitted: the calibration.
        judge: who grades: a judge, or several of which it is one.
        rubric: the rubric of all items; None where they differ: criteria that the calibration
            does not know stay as they are then.

    Raises:
        InputError: judge, prompt or rubric are not those that it was fitted for.
    """

    def __init__(self, fitted: FittedCalibration, judge: Judge, rubric: Rubric | None) -> None:
        self.fitted = fitted
        self._map = read_calibration_map(fitted.map)
        self._questions = set(fitted.criteria.values())
        members = [member for stage in judge.stages for member in stage.members]
        if not any(self.fits(member.judge) for member in members):
            same = any(member.name == fitted.judge for member in members)
            what = (
                "the judge's prompt, address or sampling is another"
                if same
                else f"it was fitted for {fitted.judge}, and the judge is "
                + ", ".join(member.name for member in members)
            )
            raise InputError(f"the calibration {fitted.name} does not fit: {what}")
        for one in rubric or ():
            if _is_mapped(one) and _question(one) not in self._questions:
                raise InputError(
                    f"the calibration {fitted.name} does not fit: it was not fitted for the "
                    f"criterion '{one.name}' as it is"
                )
        if fitted.not_shown is not None:
            what = f"the calibration {fitted.name} is not shown to be better than none"
            logger.warning("%s: %s", what, fitted.not_shown)

    @property
    def reference(self) -> str:
        """What results call it."""
        return self.fitted.reference

    def fits(self, judge: Judge) -> bool:
        """Whether it is for this judge."""
        return judge.fingerprint() == self.fitted.judge_fingerprint

    def __call__(self, criterion: Criterion, verdict: Verdict) -> Verdict:
        """The verdict with its calibrated probability."""
        given = verdict.probability
        if given is None or verdict.status != "judged" or not _is_mapped(criterion):
            return verdict
        if _question(criterion) not in self._questions:
            return verdict
        detail = dict(verdict.detail or {})
        kept: dict[str, Any] = {
            "map": self.fitted.reference,
            "label": verdict.label,
            "probability": given,
        }
        raw = given if verdict.label == "MET" else 1 - given
        shares = detail.get("probabilities")
        if shares is not None:  # of an abstention too: what counts is MET against UNMET
            both = shares.get("MET", 0.0) + shares.get("UNMET", 0.0)
            raw = shares.get("MET", 0.0) / both if both else raw
        met = self._map(raw)
        if shares is not None:
            kept["probabilities"] = shares
            detail["probabilities"] = {"MET": met, "UNMET": 1 - met}
        label = verdict.label if met == 0.5 else "MET" if met > 0.5 else "UNMET"
        return replace(
            verdict,
            label=label,
            value=1.0 if label == "MET" else 0.0,
            probability=met if label == "MET" else 1 - met,
            detail={**detail, "calibration": kept},
        )


def _is_mapped(criterion: Criterion) -> bool:
    return criterion.needs_judge and criterion.is_binary


def _question(criterion: Criterion) -> str:
    """A hash of what a judge is asked about a criterion."""
    asked = json.dumps([criterion.requirement, list(criterion.labels), criterion.weight < 0])
    return hashlib.sha256(asked.encode()).hexdigest()[:16]
