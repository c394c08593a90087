"""Two runs of the same items, or two sets of submissions: which is better, and how sure that is."""

from rubricate.analysis.comparison._pair_figures import (
    PairReport as PairReport,
    PairSummary as PairSummary,
)
from rubricate.analysis.comparison._scored_alike import scored_alike as scored_alike
