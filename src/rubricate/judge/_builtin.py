"""The embedded judge: a small trained classifier behind the same protocol as every judge."""

from __future__ import annotations

import hashlib

from rubricate.judge._case import Case
from rubricate.judge.builtin import Classifier, Inputs, Option
from rubricate.judge.models import Send
from rubricate.rubric import Criterion, Evidence, Usage, Verdict

__all__ = ["BuiltinJudge", "builtin_inputs"]


class BuiltinJudge:
    """Judges by comparing words: no download, no key, no cost.

    A baseline that shows the pipeline and catches the obvious, not a replacement for a language
    model. It abstains where it has nothing to compare.

    Args:
        classifier: its fitted numbers; default those that ship with the package.
    """

    name = "builtin"

    def __init__(self, classifier: Classifier | None = None) -> None:
        self.classifier = classifier or Classifier.load()
        self.note: str | None = _note(self.classifier)

    def key(self, case: Case, criterion: Criterion) -> str:
        content = repr((self.classifier.identity, builtin_inputs(case, criterion)))
        return hashlib.blake2b(content.encode("utf-8", "surrogatepass"), digest_size=16).hexdigest()

    async def judge(self, case: Case, criterion: Criterion, send: Send) -> Verdict:
        estimate = self.classifier.estimate(builtin_inputs(case, criterion))
        name = criterion.name or ""
        usage = Usage(requests=1)
        if estimate.label is None:
            return Verdict(name, "abstained", reason=estimate.reason, usage=usage, judge=self.name)
        evidence: tuple[Evidence, ...] = ()
        if estimate.evidence is not None:
            start, end = estimate.evidence
            evidence = (Evidence(case.submission[start:end], start, end),)
        return Verdict(
            name,
            "judged",
            estimate.label,
            criterion.value(estimate.label),
            probability=estimate.probability,
            reason=estimate.reason,
            evidence=evidence,
            usage=usage,
            judge=self.name,
        )

    async def aclose(self) -> None:
        return None


def builtin_inputs(case: Case, criterion: Criterion) -> Inputs:
    """What the classifier looks at."""
    options = tuple(
        Option(option.label, option.value, option.description, option.na)
        for option in criterion.options or ()
    )
    return Inputs(
        submission=case.submission,
        requirement=criterion.requirement,
        prompt=case.prompt,
        reference=case.reference,
        options=options,
        ordinal=criterion.scale_type != "nominal",
    )
