"""Datasets: samples and their readers; items to grade, datasets, their files and splits.

`samples` reads records from any source (CSV, JSON, Parquet, Hugging Face) in Inspect's vocabulary.
`items` has what a run grades: submissions with their rubric and human labels. `benchmarks` reads
published benchmarks. All their names are available here, too, and are imported when first used:
reading samples imports no rubrics.
"""

from typing import TYPE_CHECKING

from rubricate._lazy import lazy_door

if TYPE_CHECKING:
    from rubricate.dataset._opening import open_dataset as open_dataset
    from rubricate.dataset.benchmarks import (
        FORMATS as FORMATS,
        format_of as format_of,
        open_benchmark as open_benchmark,
        unique_name as unique_name,
    )
    from rubricate.dataset.items import *  # noqa: F403
    from rubricate.dataset.samples import *  # noqa: F403
else:
    __getattr__, __dir__ = lazy_door(__name__)
