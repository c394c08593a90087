"""Compliance of results, in the words of the page; `python -m` shows that of a results file."""

from rubricate.dialects.researchrubrics._results import (
    calculate_compliance_score as calculate_compliance_score,
)
