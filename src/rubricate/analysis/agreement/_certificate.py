"""Certificates: the agreement of a judge with people, and hashes of judge, prompt and rubric."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Literal

from pydantic import BaseModel, ConfigDict

from rubricate.analysis._finished import FinishedRun, RunLike, finished_run
from rubricate.analysis._label_choice import label_choice
from rubricate.analysis._sealed import SealedReport, hash_of
from rubricate.analysis.agreement._agreement import (
    UNDECIDED,
    AgreementReport,
    CriterionAgreement,
    agreement_report,
    few_text,
)
from rubricate.analysis.agreement._annotators import CriterionAnnotators, perfect_of
from rubricate.errors import InputError, described
from rubricate.run.results import WRITE_ANEW, CertificateFigures
from rubricate.stats import Bootstrap, Estimate, LabelAgreement, Undecided
from rubricate.views import (
    NONE,
    Cell,
    Column,
    Facts,
    Row,
    Section,
    Table,
    figure,
    numbers,
    percent,
    say,
)

_SHOWN = ("accuracy", "cohen_kappa", "quadratic_kappa", "pearson", "mae", "bias")
"""The figures that are shown if a criterion has them."""


@dataclass(frozen=True, slots=True)
class CertifiedShare(Estimate):
    """A share with the number of its labels."""

    n: int = 0
    """The number of human labels behind it."""


class CertifiedCriterion(BaseModel):
    """The agreement of the judge with people on one criterion."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    n: int
    """The number of pairs of a verdict and a label."""
    clusters: int
    """The number of items, or groups of items, behind the pairs."""
    not_decided: dict[str, int]
    """The number of pairs in which one side did not decide, by cause."""
    sensitivity: CertifiedShare | None
    """For a binary criterion: the share of human MET labels that the judge called MET."""
    specificity: CertifiedShare | None
    """For a binary criterion: the share of human UNMET labels that the judge called UNMET."""
    figures: dict[str, Estimate]
    """All figures of agreement, by name."""
    people: float | None = None
    """The kappa (or correlation, for numbers) of one annotator with the others, if there are
    several: the ceiling for a judge."""
    perfect: Estimate | None = None
    """The kappa that a judge without errors would reach with such annotators."""


class Certificate(SealedReport):
    """The agreement of a judge with people. `rubricate trust certify` writes it."""

    format: Literal["rubricate certificate 3"] = "rubricate certificate 3"
    prompt_version: str | None
    """The version of the judge's prompt."""
    rubric_hash: str
    """A hash of the rubric with its weights and values."""
    data_hash: str
    """A hash of the items' ids with their labels."""
    undecided: str
    """The policy for pairs in which one side did not decide."""
    confidence: float
    """The coverage of the intervals."""
    criteria: dict[str, CertifiedCriterion]
    """The figures by criterion."""
    score_bias: Estimate | None = None
    """The mean difference between the items' scores by the judge and by people."""
    sha256: str = ""
    """A hash of all other fields."""

    @property
    def title(self) -> str:
        return f"Certificate of {self.judge}"

    def sections(self) -> Iterator[Section]:
        """What was certified, and the agreement on each criterion."""
        yield Facts(
            (
                ("created", f"{self.created} by rubricate {self.rubricate_version}"),
                ("judge", self.judge),
                ("judge's fingerprint", self.judge_fingerprint or NONE),
                ("prompt", self.prompt_version or NONE),
                ("rubric", self.rubric_hash),
                ("items and labels", f"{self.items} items   {self.data_hash}"),
                ("sha256", self.sha256),
            )
        )
        names = dict.fromkeys(
            name for criterion in self.criteria.values() for name in criterion.figures
        )
        shown = [name for name in _SHOWN if name in names]
        has_people = any(criterion.people is not None for criterion in self.criteria.values())
        people = ("people, each other", "perfect judge") if has_people else ()
        headings = [name.replace("_", " ") for name in shown]
        yield Table(
            [
                Column("criterion", is_text=True),
                *numbers("n", *headings, "sensitivity", "MET", "specificity", "UNMET", *people),
            ],
            [
                Row(
                    [
                        title,
                        str(criterion.n),
                        *(criterion.figures.get(name, "") for name in shown),
                        *_share(criterion.sensitivity),
                        *_share(criterion.specificity),
                        *((figure(criterion.people), criterion.perfect or "") if people else ()),
                    ]
                )
                for title, criterion in self.criteria.items()
            ],
        )
        several = {
            name: criterion.clusters for name, criterion in self.criteria.items() if criterion.n > 1
        }
        few = few_text(several, self.groups)
        if few is not None:
            yield say(few, "warning")
        yield say(
            f"Intervals: {percent(self.confidence)}, by {self.groups or 'item'}. Undecided pairs: "
            f"{UNDECIDED[self.undecided]}. MET, UNMET: labels.",
            "quiet",
        )


def _share(share: CertifiedShare | None) -> list[Cell]:
    return ["", ""] if share is None else [share, str(share.n)]


def certify(
    run: RunLike,
    *,
    undecided: Undecided = "exclude",
    groups: str | None = None,
    bootstrap: Bootstrap | None = None,
) -> Certificate:
    """Certify a run's judge, prompt and rubric.

    Args:
        run: a finished run of a labelled dataset.
        undecided: how abstentions and failures count; see `label_agreement`.
        groups: a field of the items' metadata: items with the same value belong together, which
            widens the intervals. `none` treats each item by itself. Default: by prompt, if prompts
            repeat.
        bootstrap: the settings of the intervals. Default: 2,000 draws, seed 0.

    Raises:
        InputError: the run has no labels, or ended early, or an item lacks the field to group by.
    """
    run = finished_run(run)
    if run.summary.get("stopped") is not None:
        raise InputError(
            "this run ended early: let it finish before it is certified", file=run.path
        )
    label_choice(run).check("a certificate")
    report = agreement_report(run, undecided=undecided, groups=groups, bootstrap=bootstrap)
    try:
        return _certificate(run, report)
    except (TypeError, ValueError) as error:  # the folder was edited by hand
        why = described(error)
        raise InputError(
            f"is not as rubricate wrote it ({why}); {WRITE_ANEW}", file=run.path
        ) from None


def _certificate(run: FinishedRun, report: AgreementReport) -> Certificate:
    annotators = {each.name: each for each in report.annotators if len(each.agreement.among) > 1}
    return Certificate.of_run(
        run,
        prompt_version=run.summary.get("prompt_version"),
        rubric_hash=hash_of(run.document),
        data_hash=hash_of([[row.item, row.criterion, row.human_label] for row in run.rows]),
        items=report.items,
        undecided=report.undecided,
        confidence=report.bootstrap.confidence,
        groups=report.groups,
        score_bias=None if report.scores is None else report.scores.figures["bias"],
        criteria={
            criterion.name: _criterion(criterion, annotators.get(criterion.name))
            for criterion in report.criteria
        },
    )


def _criterion(
    criterion: CriterionAgreement, annotators: CriterionAnnotators | None
) -> CertifiedCriterion:
    agreement = criterion.agreement
    sensitivity = specificity = None
    of_people = criterion.people_labels
    if criterion.measurement == "binary" and of_people and isinstance(agreement, LabelAgreement):
        sensitivity, specificity = (
            CertifiedShare(**asdict(agreement.by_label[name]["recall"]), n=of_people[name])
            for name in ("MET", "UNMET")
        )
    return CertifiedCriterion(
        n=agreement.n,
        clusters=agreement.clusters,
        not_decided=dict(agreement.not_decided),
        sensitivity=sensitivity,
        specificity=specificity,
        figures=dict(agreement.figures),
        people=None if annotators is None else annotators.ceiling,
        perfect=None if annotators is None else perfect_of(annotators),
    )


def read_certificate(path: str | Path) -> Certificate:
    """Read a certificate.

    Raises:
        InputError: the file cannot be read, is no certificate, or was changed since it was written.
    """
    return Certificate.read(path, "certificate", "certify")


def check_certificate(
    certificate: Certificate, run: FinishedRun, *, file: str
) -> CertificateFigures:
    """Compare a run's judge, prompt and rubric with those of a certificate.

    Args:
        certificate: the certificate.
        run: the run.
        file: the certificate's path, for messages.
    """
    differences = []
    fingerprint = run.summary.get("judge_fingerprint")
    if run.judge != certificate.judge:
        differences.append(f"judged by {run.judge}, certified is {certificate.judge}")
    elif run.summary.get("prompt_version") != certificate.prompt_version:
        used = run.summary.get("prompt_version")
        differences.append(f"the prompt is {used}, certified is {certificate.prompt_version}")
    elif fingerprint is None or certificate.judge_fingerprint is None:
        differences.append("the judge has no fingerprint: its prompt cannot be compared")
    elif fingerprint != certificate.judge_fingerprint:
        differences.append("the judge's prompt, address or sampling is another")
    if hash_of(run.document) != certificate.rubric_hash:
        differences.append("the rubric is another")
    return CertificateFigures(file=file, holds=not differences, differences=differences)
