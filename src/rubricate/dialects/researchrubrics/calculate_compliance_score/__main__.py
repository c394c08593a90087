"""Print the figures of a results file; by default of the latest in `results/`."""

import sys
from pathlib import Path

from rubricate.dialects.researchrubrics._results import FOLDER, figures_of_results
from rubricate.errors import RubricateError

files = sys.argv[1:2] or sorted(Path(FOLDER).glob("batch_evaluation_*.jsonl"))[-1:]
if not files:
    sys.exit(f"Error: no results in {FOLDER}/: run evaluate_reports_batch first, or name a file")
try:
    print(figures_of_results(files[0]))
except RubricateError as error:
    sys.exit(f"Error: {error}")
