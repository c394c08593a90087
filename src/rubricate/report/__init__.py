"""What people see: the summary, as data and on a terminal, and tables."""

from rubricate.report._estimate import estimate_figures, estimate_text
from rubricate.report._replay import replay_figures, replay_view
from rubricate.report._summary import (
    AgreementFigures,
    CriterionFigures,
    JudgeFigures,
    ScoreFigures,
    Summary,
    UsageFigures,
)
from rubricate.report._tables import to_pandas
from rubricate.report._tallies import Tallies, summarize

__all__ = [
    "AgreementFigures",
    "CriterionFigures",
    "JudgeFigures",
    "ScoreFigures",
    "Summary",
    "Tallies",
    "UsageFigures",
    "estimate_figures",
    "estimate_text",
    "replay_figures",
    "replay_view",
    "summarize",
    "to_pandas",
]
