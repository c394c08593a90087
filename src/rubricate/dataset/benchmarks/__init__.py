"""Benchmarks: tasks of the field's files, each with the rubric that its answers are graded by.

A record of HealthBench, PaperBench, ProfBench or DeepResearch Bench, or any that has a prompt and
its rubric, becomes a `Task`. `open_benchmark` puts tasks and the texts that answer them together
in a `RubricDataset`, which declares how the benchmark scores. Nothing is downloaded.
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
