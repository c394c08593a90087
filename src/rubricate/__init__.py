"""Grade texts against rubrics with judges, and know how far to believe the grades.

    import rubricate
    from rubricate import Criterion, Rubric

    rubric = Rubric([Criterion(name="accuracy", requirement="Names the speed of light")])
    result = rubric.grade("Light travels at 299,792 km/s.", judge="openai/gpt-4.1-mini")

What is named here is loaded when it is first used, so that importing the package is quick.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

from rubricate._version import __version__

if TYPE_CHECKING:
    from rubricate.comparing import (
        PairReport,
        PairStream,
        acompare_pair,
        acompare_pair_stream,
        aestimate_pair,
        compare_pair,
        compare_pair_stream,
        estimate_pair,
    )
    from rubricate.dataset import (
        ContextDocument,
        DataItem,
        Dataset,
        FieldSpec,
        MemoryDataset,
        RecordToSample,
        RubricDataset,
        Sample,
        Transcript,
        csv_dataset,
        file_dataset,
        hf_dataset,
        json_dataset,
        parquet_dataset,
    )
    from rubricate.errors import (
        InputError,
        MissingKeyError,
        ModelError,
        RubricateError,
        RunStopped,
    )
    from rubricate.grading import (
        aestimate,
        agrade,
        agrade_stream,
        estimate,
        grade,
        grade_stream,
    )
    from rubricate.judge import (
        BuiltinJudge,
        Cascade,
        HTTPModel,
        Judge,
        Model,
        ModelJudge,
        Panel,
        People,
        PythonModel,
    )
    from rubricate.redteaming import (
        RedTeamReport,
        aestimate_redteam,
        aredteam,
        estimate_redteam,
        redteam,
    )
    from rubricate.reward import RewardFunction
    from rubricate.rubric import (
        CodeCriterion,
        CounterCriterion,
        Criterion,
        CriterionOption,
        CriterionVerdict,
        Evidence,
        LengthPenalty,
        MetricCriterion,
        RegexCriterion,
        Rubric,
        ScaleCriterion,
        Score,
        Usage,
        Verdict,
    )
    from rubricate.run import FinishedRun, ItemResult, Progress, Result, read_run
    from rubricate.streaming import ResultStream

__all__ = [
    "BuiltinJudge",
    "Cascade",
    "CodeCriterion",
    "ContextDocument",
    "CounterCriterion",
    "Criterion",
    "CriterionOption",
    "CriterionVerdict",
    "DataItem",
    "Dataset",
    "Evidence",
    "FieldSpec",
    "FinishedRun",
    "HTTPModel",
    "InputError",
    "ItemResult",
    "Judge",
    "LengthPenalty",
    "MemoryDataset",
    "MetricCriterion",
    "MissingKeyError",
    "Model",
    "ModelError",
    "ModelJudge",
    "PairReport",
    "PairStream",
    "Panel",
    "People",
    "Progress",
    "PythonModel",
    "RecordToSample",
    "RedTeamReport",
    "RegexCriterion",
    "Result",
    "ResultStream",
    "RewardFunction",
    "Rubric",
    "RubricDataset",
    "RubricateError",
    "RunStopped",
    "Sample",
    "ScaleCriterion",
    "Score",
    "Transcript",
    "Usage",
    "Verdict",
    "__version__",
    "acompare_pair",
    "acompare_pair_stream",
    "aestimate",
    "aestimate_pair",
    "aestimate_redteam",
    "agrade",
    "agrade_stream",
    "aredteam",
    "compare_pair",
    "compare_pair_stream",
    "csv_dataset",
    "estimate",
    "estimate_pair",
    "estimate_redteam",
    "file_dataset",
    "grade",
    "grade_stream",
    "hf_dataset",
    "json_dataset",
    "parquet_dataset",
    "read_run",
    "redteam",
]

_ROOMS = {
    "rubricate.comparing": (
        "PairReport",
        "PairStream",
        "acompare_pair",
        "acompare_pair_stream",
        "aestimate_pair",
        "compare_pair",
        "compare_pair_stream",
        "estimate_pair",
    ),
    "rubricate.dataset": (
        "ContextDocument",
        "DataItem",
        "Dataset",
        "FieldSpec",
        "MemoryDataset",
        "RecordToSample",
        "RubricDataset",
        "Sample",
        "Transcript",
        "csv_dataset",
        "file_dataset",
        "hf_dataset",
        "json_dataset",
        "parquet_dataset",
    ),
    "rubricate.errors": (
        "InputError",
        "MissingKeyError",
        "ModelError",
        "RubricateError",
        "RunStopped",
    ),
    "rubricate.grading": (
        "aestimate",
        "agrade",
        "agrade_stream",
        "estimate",
        "grade",
        "grade_stream",
    ),
    "rubricate.judge": (
        "BuiltinJudge",
        "Cascade",
        "HTTPModel",
        "Judge",
        "Model",
        "ModelJudge",
        "Panel",
        "People",
        "PythonModel",
    ),
    "rubricate.redteaming": (
        "RedTeamReport",
        "aestimate_redteam",
        "aredteam",
        "estimate_redteam",
        "redteam",
    ),
    "rubricate.reward": ("RewardFunction",),
    "rubricate.rubric": (
        "CodeCriterion",
        "CounterCriterion",
        "Criterion",
        "CriterionOption",
        "CriterionVerdict",
        "Evidence",
        "LengthPenalty",
        "MetricCriterion",
        "RegexCriterion",
        "Rubric",
        "ScaleCriterion",
        "Score",
        "Usage",
        "Verdict",
    ),
    "rubricate.run": ("FinishedRun", "ItemResult", "Progress", "Result", "read_run"),
    "rubricate.streaming": ("ResultStream",),
}
_ROOM_OF = {name: room for room, names in _ROOMS.items() for name in names}


def __getattr__(name: str) -> Any:
    room = _ROOM_OF.get(name)
    if room is None:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    value = getattr(import_module(room), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted(__all__)
