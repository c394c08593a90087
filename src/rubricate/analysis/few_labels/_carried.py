"""Human means of a new run, estimated from the error rates in a certificate."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from rubricate.analysis._finished import RunLike, finished_run, mean_score
from rubricate.analysis.agreement import (
    Certificate,
    CertifiedCriterion,
    CertifiedShare,
    check_certificate,
)
from rubricate.errors import InputError
from rubricate.stats import Estimate, clustered_share, corrected_share, exact_interval
from rubricate.views import Column, Report, Row, Section, Table, numbers, percent, say

SHOWN_TO_DIFFER = 1.96
"""The mix of labels is reported to differ if two shares of MET are this many standard errors
apart."""


@dataclass(frozen=True, slots=True)
class CarriedMean:
    """The means of a criterion, or of the score.

    Attributes:
        name: the criterion's name, or `score`.
        n: the number of verdicts or items that count.
        judge: the judge's mean.
        corrected: the estimated human mean.
        mix: why the certificate may not fit this run; None if nothing suggests that.
    """

    name: str
    n: int
    judge: Estimate
    corrected: Estimate
    mix: str | None = None


@dataclass(frozen=True, slots=True)
class CarriedReport(Report):
    """Estimated human means of a run without labels; see `carried_report`.

    Attributes:
        judge: the judge's name.
        items: the number of items of the run.
        certified: the number of labelled items behind the certificate.
        means: the score, then the binary criteria.
        confidence: the nominal coverage of the intervals.
    """

    judge: str
    items: int
    certified: int
    means: tuple[CarriedMean, ...]
    confidence: float

    title = "What people's means would be, by a certificate"

    def sections(self) -> Iterator[Section]:
        """The means of the judge, the corrected ones, and where the mix of labels differs."""
        yield Table(
            [Column("", is_text=True), *numbers("n", "judge", "corrected", least=11)],
            [
                Row([mean.name, str(mean.n), mean.judge, mean.corrected], "" if at else "strong")
                for at, mean in enumerate(self.means)
            ],
            f"What people's means would be: {self.judge} on {self.items} items, certified on "
            f"{self.certified} others",
        )
        for mean in self.means:
            if mean.mix is not None:
                yield say(f"{mean.name}: {mean.mix}", "warning")
        yield say(
            f"Intervals: {percent(self.confidence)}. Criteria: Rogan-Gladen, by the certified "
            "sensitivity and specificity, which must hold for this run's items, too. "
            "Score: less the certified bias.",
            "quiet",
        )


def carried_report(run: RunLike, certificate: Certificate) -> CarriedReport:
    """Estimate the human means of a run from the error rates in a certificate.

    The judge's share of MET on each binary criterion is corrected by sensitivity and specificity
    (`stats.corrected_share`), and the mean score by the certified bias, as PPI does within a run
    (Angelopoulos et al. 2023). The run needs no labels, but its judge must have the same error
    rates as on the certified items.

    Args:
        run: a run of the certified judge, prompt and rubric on other items.
        certificate: a certificate from `read_certificate`.

    Raises:
        InputError: the certificate belongs to another judge, prompt or rubric, or has no criterion
            with error rates.
    """
    run = finished_run(run)
    fits = check_certificate(certificate, run, file="")
    if not fits.holds:
        raise InputError(
            f"the certificate does not fit: {'; '.join(fits.differences)}", file=run.path
        )
    groups = run.grouping(None)
    group_of = None if groups is None else run.groups_by(groups)
    criteria, by_name = [], run.by_criterion()
    for name, rates in certificate.criteria.items():
        if name not in by_name or rates.sensitivity is None or rates.specificity is None:
            continue
        rows = [row for row in by_name[name] if row.label in ("MET", "UNMET")]
        if not rows:
            nothing = Estimate(None, undefined="the judge decided no item")
            criteria.append(CarriedMean(name, 0, nothing, nothing))
            continue
        share = clustered_share(
            [row.label == "MET" for row in rows],
            groups=None if group_of is None else [group_of[row.item] for row in rows],
            confidence=certificate.confidence,
        )
        criteria.append(
            _criterion(
                name,
                len(rows),
                share,
                rates,
                certificate.confidence,
                alone=group_of is None,
                certified_alone=certificate.groups is None,
            )
        )
    if not criteria:
        raise InputError("the certificate has no binary criterion of this run", file=run.path)
    scores = run.item_scores
    mean = mean_score(scores, groups=group_of, reach=run.reach, confidence=certificate.confidence)
    differs = any(criterion.mix is not None for criterion in criteria)
    mix = "the bias is carried as it is, though the mix of labels differs" if differs else None
    score = CarriedMean(
        "score",
        sum(value is not None for value in scores.values()),
        mean,
        _less(mean, certificate.score_bias, bounded=not run.rules.of_items.raw),
        mix,
    )
    return CarriedReport(
        judge=run.judge,
        items=len(scores),
        certified=certificate.items,
        means=(score, *criteria),
        confidence=certificate.confidence,
    )


def _criterion(
    name: str,
    n: int,
    share: Estimate,
    rates: CertifiedCriterion,
    confidence: float,
    *,
    alone: bool,
    certified_alone: bool,
) -> CarriedMean:
    """The corrected share of a criterion. `alone` and `certified_alone` say whether each item of
    the run, or of the certificate, is a group by itself."""
    met, unmet = rates.sensitivity, rates.specificity
    assert met is not None
    assert unmet is not None
    if None in (share.value, met.value, unmet.value):
        why = "the certificate has no labels of both kinds, or the run no verdict"
        return CarriedMean(name, n, share, Estimate(None, undefined=why))
    assert share.value is not None
    assert met.value is not None
    assert unmet.value is not None
    known = float(n) if alone else _worth(share, n, confidence)
    corrected = corrected_share(
        share.value,
        known,
        sensitivity=met.value,
        positive=float(met.n) if certified_alone else _worth(met, met.n, confidence),
        specificity=unmet.value,
        negative=float(unmet.n) if certified_alone else _worth(unmet, unmet.n, confidence),
        confidence=confidence,
    )
    labels = met.n + unmet.n
    certified = (met.value * met.n + (1 - unmet.value) * unmet.n) / labels
    both = (share.value * n + certified * labels) / (n + labels)
    error = math.sqrt(both * (1 - both) * (1 / known + 1 / labels))
    mix = None
    if not 1 - unmet.value <= share.value <= met.value:
        mix = (
            f"the judge says MET in {percent(share.value)}, which its certified error rates do not "
            "allow: they are not those of these items"
        )
    elif abs(share.value - certified) > SHOWN_TO_DIFFER * error:
        mix = (
            f"the mix of labels differs: the judge says MET in {percent(share.value)} here and in "
            f"{percent(certified)} of the certified verdicts; the correction holds if items of "
            "each label are as hard as there"
        )
    return CarriedMean(name, n, share, corrected, mix)


def _worth(share: Estimate | CertifiedShare, n: int, confidence: float) -> float:
    """The number of independent outcomes with an interval of this width, at most n."""
    if share.value is None or share.low is None or share.high is None:
        return 1.0
    width, value = share.high - share.low, share.value
    sizes = np.arange(1, n + 1)
    widths = [
        exact.high - exact.low
        for exact in (
            exact_interval(round(value * size), int(size), confidence=confidence) for size in sizes
        )
        if exact.low is not None and exact.high is not None
    ]
    return float(sizes[int(np.argmin(np.abs(np.array(widths) - width)))])


def _less(mean: Estimate, bias: Estimate | None, *, bounded: bool) -> Estimate:
    """Subtract the bias from the mean, with an interval by the method of Zou and Donner (2008).

    `bounded` scores are in [0, 1], and so is the result.
    """
    if bias is None or bias.value is None or mean.value is None:
        return Estimate(None, undefined="the certificate has no bias of the score")
    value = mean.value - bias.value
    if None in (mean.low, mean.high, bias.low, bias.high):
        return Estimate(value, undefined="no interval: the mean or the bias has none")
    assert mean.low is not None
    assert mean.high is not None
    assert bias.low is not None
    assert bias.high is not None
    below = math.hypot(mean.value - mean.low, bias.high - bias.value)
    above = math.hypot(mean.high - mean.value, bias.value - bias.low)
    less = Estimate(value, value - below, value + above)
    return less.within(0.0, 1.0) if bounded else less
