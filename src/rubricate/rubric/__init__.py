"""What is asked: criteria, rubrics, verdicts and the scorer. Pure: no network, no loop."""

from rubricate.rubric._criterion import Criterion, CriterionOption
from rubricate.rubric._kinds import Answer, Question, Reading
from rubricate.rubric._rubric import Rubric
from rubricate.rubric._scoring import (
    CannotAssess,
    Score,
    Tally,
    check_cannot_assess,
    score,
    tally,
)
from rubricate.rubric._verdict import (
    CriterionVerdict,
    Evidence,
    Failure,
    Status,
    Usage,
    Verdict,
)

__all__ = [
    "Answer",
    "CannotAssess",
    "Criterion",
    "CriterionOption",
    "CriterionVerdict",
    "Evidence",
    "Failure",
    "Question",
    "Reading",
    "Rubric",
    "Score",
    "Status",
    "Tally",
    "Usage",
    "Verdict",
    "check_cannot_assess",
    "score",
    "tally",
]
