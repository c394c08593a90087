"""What people see: the summary, as data and on a terminal, and tables."""

from rubricate.report._summary import (
    AgreementFigures,
    CriterionFigures,
    ScoreFigures,
    Summary,
    Tallies,
    UsageFigures,
    summarize,
)
from rubricate.report._tables import to_pandas

__all__ = [
    "AgreementFigures",
    "CriterionFigures",
    "ScoreFigures",
    "Summary",
    "Tallies",
    "UsageFigures",
    "summarize",
    "to_pandas",
]
