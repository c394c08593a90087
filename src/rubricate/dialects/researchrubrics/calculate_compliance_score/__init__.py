"""Compliance of results, as on the page; `python -m` prints that of a results file."""

from rubricate.dialects.researchrubrics._results import (
    calculate_compliance_score as calculate_compliance_score,
)
