"""The built-in judge: a small trained classifier as a judge."""

from __future__ import annotations

import hashlib
from dataclasses import replace
from typing import TYPE_CHECKING

from rubricate._version import __version__
from rubricate.dataset import Item, RubricDataset
from rubricate.judge._judge import Judge
from rubricate.judge.builtin._classifier import Classifier
from rubricate.judge.builtin._inputs import (
    Classification,
    Inputs,
    Labelled,
    Option,
    against_a_text,
    behaviour,
)
from rubricate.judge.builtin._text import analyse
from rubricate.judge.models import Send
from rubricate.rubric import BINARY_LABELS, Criterion, Evidence, Verdict, read_distribution

if TYPE_CHECKING:
    from rubricate.judge.asking import Mode
    from rubricate.judge.builtin._fit import FitReport

LONGEST = 2_000_000
"""The maximum number of characters of a submission to analyse; the analysis takes some 25 bytes
each."""
WHAT_IT_IS = (
    "builtin compares words, and is not a replacement for a language model: see the guide "
    "'The built-in judge'."
)

UNWORDED = (
    "The criterion says what a text does, and the submission lacks some of its words: it cannot be "
    "judged by comparing words, use a language model."
)
NUMBERS = "The answers are numbers that nothing is said about: there is nothing to compare."
STATEMENT = (
    "The criterion is a statement, and words do not show whether a text supports it: fit the judge "
    "to your labels (--examples), or use a language model."
)
REFITTED = "Refitted on"
"""The beginning of the note of a judge that was fitted to a user's labels."""


class BuiltinJudge(Judge):
    """Judges by comparing words: no download, no key, no cost.

    A baseline that shows the pipeline and catches the obvious, not a replacement for a language
    model. It abstains if it has nothing to compare.

    Args:
        classifier: its fitted numbers. Default: those that ship with the package.
        report: its figures out of fold, if it was fitted to other labels (see `trained_on`).
        mode: in `probability` mode a verdict has a probability for each label, and the value of
            ordered options is the expected one, with the nearest label.
    """

    name = "builtin"
    text_only = True

    def __init__(
        self,
        classifier: Classifier | None = None,
        report: FitReport | None = None,
        *,
        mode: Mode = "explained",
    ) -> None:
        self._mode = mode
        self.classifier = classifier or Classifier.load()
        self.report = report
        self.note = f"{WHAT_IT_IS} {_refit_figures(report)}" if report else WHAT_IT_IS

    @classmethod
    def trained_on(
        cls, dataset: RubricDataset, *, seed: int = 0, mode: Mode = "explained"
    ) -> BuiltinJudge:
        """Refit the shipped judge on a dataset's human labels.

        Args:
            dataset: items with human labels; CANNOT_ASSESS and N/A labels are ignored.
            seed: draws the folds.
            mode: as for the class.

        Raises:
            InputError: there are too few labels, or only one kind of them.
        """
        from rubricate.judge.builtin._fit import refit

        rows: list[Labelled] = []
        for index, name in enumerate(dataset.item_ids()):
            rubric, labels = dataset.get_item_rubric(index), dataset.get_item_labels(index)
            item = Item(
                dataset.items[index].submission,
                dataset.get_item_prompt(index),
                dataset.get_item_reference_submission(index),
            )
            for criterion, label in zip(rubric, labels, strict=False):
                if not (criterion.needs_judge and _has_words(criterion)):
                    continue
                if label is not None and criterion.value(label) is not None:
                    rows.append(Labelled(_inputs(item, criterion), label, group=name))
        classifier, report = refit(rows, seed=seed)
        return cls(classifier, report, mode=mode)

    def _abstention(self, item: Item, criterion: Criterion) -> str:
        """Why words cannot decide whether a criterion is met; else empty."""
        if not _has_words(criterion):
            return NUMBERS
        words = behaviour(criterion.requirement)
        if not words <= analyse(item.submission[:LONGEST]).counts.keys():
            return UNWORDED
        is_fitted = self.report is not None and self.report.kept == "fitted"
        if not is_fitted and against_a_text(_inputs(item, criterion)):
            return STATEMENT
        return ""

    def key(self, item: Item, criterion: Criterion) -> str:
        identity: tuple[object, ...] = (__version__, self.classifier.identity)
        if abstention := self._abstention(item, criterion):
            identity += (abstention,)
        if self._mode == "probability":
            identity += (self._mode,)
        content = repr((*identity, _inputs(item, criterion)))
        return hashlib.blake2b(content.encode("utf-8", "surrogatepass"), digest_size=16).hexdigest()

    async def judge(self, item: Item, criterion: Criterion, send: Send) -> Verdict:
        name = criterion.name
        if reason := self._abstention(item, criterion):
            return Verdict(name, "abstained", reason=reason, judge=self.name)
        estimate = self.classifier.estimate(_inputs(item, criterion))
        if (length := len(item.submission)) > LONGEST:
            read = f"Only the first {LONGEST:,} of its {length:,} characters were looked at."
            estimate = replace(estimate, reason=f"{estimate.reason} {read}")
        if estimate.label is None:
            return Verdict(name, "abstained", reason=estimate.reason, judge=self.name)
        evidence: tuple[Evidence, ...] = ()
        if estimate.evidence is not None:
            start, end = estimate.evidence
            evidence = (Evidence(item.submission[start:end], start, end),)
        if self._mode == "probability":
            return self._with_probabilities(criterion, estimate, evidence)
        return Verdict(
            name,
            "judged",
            estimate.label,
            criterion.value(estimate.label),
            probability=estimate.probability,
            reason=estimate.reason,
            evidence=evidence,
            judge=self.name,
        )

    def _with_probabilities(
        self, criterion: Criterion, estimate: Classification, evidence: tuple[Evidence, ...]
    ) -> Verdict:
        label, probability = estimate.label or "", estimate.probability or 0.0
        shares = dict(estimate.shares or ((label, probability),))
        answer = {"probabilities": shares, "obtained": "model"}
        return criterion.verdict_of(
            read_distribution(criterion, answer),
            reason=estimate.reason,
            evidence=evidence,
            judge=self.name,
        )


def _has_words(criterion: Criterion) -> bool:
    """Whether all answers are words, or numbers that are described."""
    meanings = {answer.label: answer.meaning for answer in criterion.question.answers}
    return bool(criterion.labels) and all(
        meanings.get(label) or not label.lstrip("-").isdigit() for label in criterion.labels
    )


def _inputs(item: Item, criterion: Criterion) -> Inputs:
    """The inputs of the classifier."""
    options: tuple[Option, ...] = ()
    if criterion.labels != BINARY_LABELS:
        meanings = {answer.label: answer.meaning for answer in criterion.question.answers}
        options = tuple(
            Option(label, value, meanings[label], value is None)
            for label, value in ((label, criterion.value(label)) for label in criterion.labels)
        )
    return Inputs(
        submission=item.submission[:LONGEST],
        requirement=criterion.requirement,
        prompt=item.prompt,
        reference=item.reference,
        options=options,
        ordinal=criterion.scale_type != "nominal",
    )


def _refit_figures(report: FitReport) -> str:
    """The results of a refit, and which of the two judges is used."""
    figures = (("AUC", report.auc), ("kappa", report.kappa), ("calibration error", report.ece))
    shown = ", ".join(f"{name} {value:.2f}" for name, value in figures if value is not None)
    shown = shown or "nothing"
    gain = "its gain cannot be measured out of fold"
    if report.gain.value is not None:
        gain = f"log loss lower by {report.gain}"
    if report.kept == "fitted":
        return (
            f"{REFITTED} {report.n} labels ({gain} than as shipped); measured out of fold on "
            f"them: {shown}. Where graded items were trained on, the agreement above is flattered."
        )
    return (
        f"Not refitted: {report.n} labels do not show that it would be better ({gain}). "
        f"As shipped it reaches on them: {shown}."
    )
