"""Whether two judges are the same: model, prompt, sampling and all."""

from __future__ import annotations

import hashlib

from rubricate.judge._cascade import Cascade, Grader
from rubricate.judge._case import Case
from rubricate.judge._judge import Judge
from rubricate.judge._panel import Panel
from rubricate.judge.documents import DocumentJudge
from rubricate.rubric import Criterion

__all__ = ["judge_fingerprint"]

_CASE = Case(submission="A text.", prompt="A task.")
_CRITERION = Criterion(name="fixed", requirement="Says something.")


def judge_fingerprint(judge: Grader) -> str | None:
    """A hash of everything of a judge that could change its verdicts.

    It is the journal's key for one fixed text and criterion: as long as it stays the same, so do
    the prompt's wording, the model, its address and its sampling. None for a judge of the user's
    own that has no key for a text alone. That of a panel is of its members, and of how their votes
    are put together; that of a cascade of its stages and their thresholds.
    """
    if isinstance(judge, Cascade):
        stages = [(judge_fingerprint(one.judge), one.threshold) for one in judge.stages]
        if any(stage is None for stage, _ in stages):
            return None
        return hashlib.blake2b(repr(stages).encode(), digest_size=16).hexdigest()
    if isinstance(judge, Panel):
        members = [judge_fingerprint(member) for member in judge.members]
        if None in members:
            return None
        return _hash((members, judge.aggregation, judge.weights, judge.learns_weights))
    behind: Judge = getattr(judge, "behind", judge)
    try:
        key = behind.key(_CASE, _CRITERION)
        if isinstance(behind, DocumentJudge):  # its key for a short text is the inner judge's
            key = _hash((key, behind.chunk_tokens))
        return key
    except Exception:  # the key is the user's code
        return None


def _hash(content: object) -> str:
    return hashlib.blake2b(repr(content).encode(), digest_size=16).hexdigest()
