"""Calibration: a map of a judge's probabilities, fitted on labels, for one judge and rubric."""

from __future__ import annotations

import hashlib
import json
import logging
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any, Literal

from rubricate.analysis._finished import LABELS_GO, RunLike, finished_run
from rubricate.analysis._label_choice import label_choice
from rubricate.analysis._sealed import SealedReport
from rubricate.errors import InputError, errors_within
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
"""The minimum number of labels for an isotonic map by default."""


class FittedCalibration(SealedReport):
    """A map of a judge's probabilities. `rubricate trust calibrate` writes it."""

    format: Literal["rubricate calibration 2"] = "rubricate calibration 2"
    judge_fingerprint: str
    name: str
    """The name of its file."""
    criteria: dict[str, str]
    """The criteria that it applies to, each with a hash of its question."""
    method: str
    """`platt` or `isotonic`."""
    map: dict[str, Any]
    """The map of the probability of MET; see `stats.read_calibration_map`."""
    labels: int
    """The number of labelled verdicts that it was fitted on."""
    out_of_fold: CalibrationGain
    """The effect of such maps on items that they were not fitted on."""
    not_shown: str | None
    """Why it is not shown to be better than no map; None if it is."""
    sha256: str = ""
    """A hash of all other fields."""

    @property
    def reference(self) -> str:
        """The name with the beginning of the hash, as stored in results."""
        return f"{self.name} {self.sha256[:12]}"

    @property
    def title(self) -> str:
        return f"Calibration {self.name}"

    def sections(self) -> Iterator[Paragraph]:
        """The map, and the effect of such maps on items that they were not fitted on."""
        gain = self.out_of_fold
        least = "" if gain.least_gain is None else f", at least {gain.least_gain:.3f} one-sided"
        yield say(
            f"{self.method} map for {self.judge}, fitted on {self.labels} labels of "
            f"{self.items} items, sha256 {self.sha256}"
        )
        if self.not_shown is not None:
            yield say(f"Not shown to be better than none: {self.not_shown}", "warning")
        yield say(
            f"On {gain.n} labels out of fold: Brier {_change(gain.brier_before, gain.brier_after)} "
            f"(gain {gain.brier_gain}{least}), "
            f"calibration error {_change(gain.error_before, gain.error_after)}, "
            f"accuracy {_change(gain.accuracy_before, gain.accuracy_after)}"
        )


def _change(before: float | None, after: float | None) -> str:
    return NONE if before is None or after is None else f"{before:.3f} -> {after:.3f}"


def fit_calibration(
    run: RunLike,
    *,
    name: str = "calibration",
    method: CalibrationMethod | None = None,
    groups: str | None = None,
    seed: int = 0,
) -> FittedCalibration:
    """Fit a map of the probability of MET on a run's labelled items.

    The map is shared by all binary criteria that need a judge. Cross-validation shows whether it is
    better than no map; see `stats.calibration_gain`.

    Args:
        run: a run of one judge, with labels and probabilities.
        name: the map's name in results.
        method: `isotonic` (Zadrozny and Elkan 2002) or `platt` (Platt 1999). Default: isotonic
            from 300 labels on.
        groups: a field of the items' metadata: items with the same value are in the same fold and
            resampled together. `none` treats each item by itself. Default: by prompt, if prompts
            repeat.
        seed: the random seed of the folds.

    Raises:
        InputError: there are no probabilities with labels, too few labels, or several judges; the
            run is calibrated already; or an item lacks the field to group by.
    """
    if method not in (None, "isotonic", "platt"):
        raise InputError(f"method must be isotonic or platt, found {method!r}")
    run = finished_run(run)
    if run.summary.get("calibration") is not None:
        raise InputError(
            "this run is calibrated already: use one that was graded without --calibration",
            file=run.path,
        )
    if run.summary.get("judges") or run.summary.get("judge_fingerprint") is None:
        raise InputError("a map needs a run of one judge that has a fingerprint", file=run.path)
    label_choice(run).check_unweighted("a calibration")
    criteria = {
        name: criterion for name, criterion in run.criteria.items() if _is_mapped(criterion)
    }
    groups = run.grouping(groups)
    group_of = run.groups_by(groups)
    known = [
        (row.item, row.probability_met, row.human_label == "MET")
        for row in run.rows
        if row.criterion in criteria
        and row.probability_met is not None
        and row.label in ("MET", "UNMET")
        and row.human_label in ("MET", "UNMET")
    ]
    items = len({item for item, *_ in known})
    if items < 2:
        advice = f"{items} of its items have human labels of binary criteria: {LABELS_GO}"
        if all(row.probability_met is None for row in run.rows):
            advice = f"{run.judge} gave none: grade with --mode probability"
        raise InputError(f"a map corrects probabilities by labels, and {advice}", file=run.path)
    if method is None:
        method = "isotonic" if len(known) >= MANY else "platt"
    kind = IsotonicMap if method == "isotonic" else PlattMap
    probabilities, met = [p for _, p, _ in known], [is_met for *_, is_met in known]
    with errors_within(file=run.path):
        fitted = kind.fit(probabilities, met)
    out_of_fold = calibration_gain(
        probabilities, met, method=method, groups=[group_of[item] for item, *_ in known], seed=seed
    )
    return FittedCalibration.of_run(
        run,
        name=name,
        criteria={key: _question_hash(criterion) for key, criterion in criteria.items()},
        method=method,
        map=fitted.to_dict(),
        items=items,
        labels=len(known),
        groups=groups,
        out_of_fold=out_of_fold,
        not_shown=out_of_fold.why_not,
    )


def read_calibration(path: str | Path) -> FittedCalibration:
    """Read a calibration.

    Raises:
        InputError: the file cannot be read, is not a calibration, or was changed since it was
            written.
    """
    return FittedCalibration.read(path, "calibration", "calibrate")


class Calibrator:
    """Applies a calibration to the verdicts of the judge that it was fitted for.

    The probability of MET is mapped. Label and value become MET if the result is above one half,
    and UNMET if it is below. The verdict's `detail` stores the name and hash of the map, and the
    judge's own label and probability. Verdicts without a probability, abstentions and criteria that
    are not binary remain unchanged.

    Args:
        fitted: the calibration.
        judge: the judge of the run; if there are several, the calibration must fit one of them.
        rubric: the rubric of all items. None if items have different rubrics; verdicts on criteria
            unknown to the calibration then remain unchanged.

    Raises:
        InputError: the calibration was fitted for another judge, prompt or rubric.
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
        for criterion in rubric or ():
            if _is_mapped(criterion) and _question_hash(criterion) not in self._questions:
                raise InputError(
                    f"the calibration {fitted.name} does not fit: it was not fitted for the "
                    f"criterion '{criterion.name}' as it is"
                )
        if fitted.not_shown is not None:
            what = f"the calibration {fitted.name} is not shown to be better than none"
            logger.warning("%s: %s", what, fitted.not_shown)

    @property
    def reference(self) -> str:
        """The name of the calibration in results."""
        return self.fitted.reference

    def fits(self, judge: Judge) -> bool:
        """Whether the calibration belongs to this judge."""
        return judge.fingerprint() == self.fitted.judge_fingerprint

    def __call__(self, criterion: Criterion, verdict: Verdict) -> Verdict:
        """Return the verdict with a calibrated probability."""
        probability = verdict.probability
        if probability is None or verdict.status != "judged" or not _is_mapped(criterion):
            return verdict
        if _question_hash(criterion) not in self._questions:
            return verdict
        detail = dict(verdict.detail or {})
        kept: dict[str, Any] = {
            "map": self.fitted.reference,
            "label": verdict.label,
            "probability": probability,
        }
        raw = probability if verdict.label == "MET" else 1 - probability
        shares = detail.get("probabilities")
        if shares is not None:  # also if it can abstain: only MET against UNMET counts
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


def _question_hash(criterion: Criterion) -> str:
    """A hash of the question that a judge is asked about a criterion."""
    question = json.dumps([criterion.requirement, list(criterion.labels), criterion.weight < 0])
    return hashlib.sha256(question.encode()).hexdigest()[:16]
