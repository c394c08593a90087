"""Run `evaluate_reports_batch`, by default with the page's folder and results file."""

import sys

from rubricate.dialects.researchrubrics.evaluate_reports_batch import evaluate_reports_batch
from rubricate.errors import RubricateError

try:
    batch = evaluate_reports_batch(*sys.argv[1:3])
except RubricateError as error:
    sys.exit(f"Error: {error}")
print(batch.figures())
