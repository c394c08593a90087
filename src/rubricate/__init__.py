"""Grade texts against rubrics with judges, and know how far to believe the grades.

    import rubricate
    from rubricate import Criterion, Rubric

    rubric = Rubric([Criterion(name="accuracy", requirement="Names the speed of light")])
    result = rubricate.grade_one(rubric, "299,792 km/s.", judge="openai/gpt-6-luna")

What is named here is loaded when it is first used, so that importing the package is quick.
"""

from typing import TYPE_CHECKING

from rubricate._lazy import lazy_door
from rubricate._version import __version__ as __version__

if TYPE_CHECKING:
    from rubricate.analysis import (
        FinishedRun as FinishedRun,
        PairReport as PairReport,
        Result as Result,
        read_run as read_run,
    )
    from rubricate.anchoring import (
        aanchors as aanchors,
        acheck_anchors as acheck_anchors,
        anchors as anchors,
        check_anchors as check_anchors,
    )
    from rubricate.comparing import (
        PairStream as PairStream,
        acompare_pair as acompare_pair,
        acompare_pair_stream as acompare_pair_stream,
        aestimate_pair as aestimate_pair,
        compare_pair as compare_pair,
        compare_pair_stream as compare_pair_stream,
        estimate_pair as estimate_pair,
    )
    from rubricate.confirming import aconfirm as aconfirm, confirm as confirm
    from rubricate.dataset import (
        ContextDocument as ContextDocument,
        DataItem as DataItem,
        Dataset as Dataset,
        FieldSpec as FieldSpec,
        MemoryDataset as MemoryDataset,
        RecordToSample as RecordToSample,
        RubricDataset as RubricDataset,
        Sample as Sample,
        Transcript as Transcript,
        csv_dataset as csv_dataset,
        file_dataset as file_dataset,
        hf_dataset as hf_dataset,
        json_dataset as json_dataset,
        parquet_dataset as parquet_dataset,
        read_table as read_table,
    )
    from rubricate.errors import (
        InputError as InputError,
        MissingKeyError as MissingKeyError,
        ModelError as ModelError,
        RubricateError as RubricateError,
        RunStopped as RunStopped,
    )
    from rubricate.grading import (
        aestimate as aestimate,
        agrade as agrade,
        agrade_one as agrade_one,
        agrade_stream as agrade_stream,
        estimate as estimate,
        grade as grade,
        grade_one as grade_one,
        grade_stream as grade_stream,
    )
    from rubricate.judge import (
        BuiltinJudge as BuiltinJudge,
        Cascade as Cascade,
        BatchModel as BatchModel,
        HTTPModel as HTTPModel,
        Judge as Judge,
        Model as Model,
        ModelJudge as ModelJudge,
        Panel as Panel,
        People as People,
        PythonModel as PythonModel,
    )
    from rubricate.redteaming import (
        RedTeamReport as RedTeamReport,
        aestimate_redteam as aestimate_redteam,
        aredteam as aredteam,
        estimate_redteam as estimate_redteam,
        redteam as redteam,
    )
    from rubricate.reward import RewardFunction as RewardFunction
    from rubricate.rubric import (
        CodeCriterion as CodeCriterion,
        CounterCriterion as CounterCriterion,
        Criterion as Criterion,
        CriterionOption as CriterionOption,
        CriterionVerdict as CriterionVerdict,
        DeclaredScoring as DeclaredScoring,
        Evidence as Evidence,
        Gate as Gate,
        Group as Group,
        LengthPenalty as LengthPenalty,
        MetricCriterion as MetricCriterion,
        RegexCriterion as RegexCriterion,
        Rubric as Rubric,
        ScaleCriterion as ScaleCriterion,
        Score as Score,
        Usage as Usage,
        Verdict as Verdict,
    )
    from rubricate.run import ItemResult as ItemResult, Progress as Progress
    from rubricate.streaming import ResultStream as ResultStream
else:
    __getattr__, __dir__ = lazy_door(__name__)
