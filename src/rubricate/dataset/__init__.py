"""What is graded: samples and their readers; items, datasets, their files and splits.

`samples` reads records of any source (CSV, JSON, Parquet, Hugging Face) in inspect's vocabulary.
`items` has what a run grades: submissions with their rubric, and the labels that people gave.
`benchmarks` reads published benchmarks. All that they name is here, too, and is loaded when it is
first used: reading samples loads no rubrics.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from rubricate.dataset._opening import open_dataset as open_dataset
    from rubricate.dataset.benchmarks import *  # noqa: F403 - those that it names itself
    from rubricate.dataset.items import *  # noqa: F403 - those that it names itself
    from rubricate.dataset.samples import *  # noqa: F403 - those that it names itself
else:

    def __getattr__(name: str) -> Any:
        if name == "__all__":
            parts = [import_module(f"{__name__}.{part}") for part in _PARTS]
            return sorted(each for part in parts for each in part.__all__)
        for part in () if name.startswith("_") else _PARTS:
            if name in (module := import_module(f"{__name__}.{part}")).__all__:
                return globals().setdefault(name, getattr(module, name))
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")

    def __dir__() -> list[str]:
        return __getattr__("__all__")


_PARTS = ("items", "_opening", "samples", "benchmarks")
