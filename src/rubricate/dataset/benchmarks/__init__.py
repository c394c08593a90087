"""Benchmarks: tasks from published files, each with the rubric for its answers.

A record of HealthBench, PaperBench, ProfBench or DeepResearch Bench, or any with a prompt and its
rubric, becomes a `Task`. `open_benchmark` combines tasks and the texts that answer them in a
`RubricDataset`, which declares how the benchmark computes scores. Nothing is downloaded.
"""

from typing import TYPE_CHECKING

from rubricate._lazy import lazy_door

if TYPE_CHECKING:
    from rubricate.dataset.benchmarks._formats import FORMATS as FORMATS
    from rubricate.dataset.benchmarks._opening import (
        format_of as format_of,
        open_benchmark as open_benchmark,
    )
    from rubricate.dataset.benchmarks._task import unique_name as unique_name
else:
    __getattr__, __dir__ = lazy_door(__name__)
