"""`evaluate_reports_batch` with the page's defaults; a folder and a results file may be given."""

import sys

from rubricate.dialects.researchrubrics.evaluate_reports_batch import evaluate_reports_batch
from rubricate.errors import RubricateError

try:
    batch = evaluate_reports_batch(*sys.argv[1:3])
except RubricateError as error:
    sys.exit(f"Error: {error}")
print(batch.figures())
