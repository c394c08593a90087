"""The options of the public functions: those of judges and of runs together.

What is declared here loads nothing of what it is about.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from rubricate.judge import Asking, Batching, Endpoint, Voting
from rubricate.rubric import Scoring
from rubricate.run import (
    Budget,
    Limits,
    Listening,
    Planning,
    Retries,
    RunOptions,
    SharedAnswers,
    Storage,
)
from rubricate.settings import option

if TYPE_CHECKING:
    from collections.abc import Mapping
    from typing import Any, Protocol

    from rubricate.analysis import FittedCalibration
    from rubricate.dataset import Gradable
    from rubricate.rubric import Criterion, Group, Rubric

    Criteria = Sequence[Criterion | Group | Mapping[str, Any] | str]
    RubricLike = Rubric | str | Path | Mapping[str, Any] | Criteria
    """A rubric; or a file that has one, or its criteria, each as itself or as a sentence."""

    class Frame(Protocol):
        """A data frame of pandas or polars, or a table of pyarrow."""

        @property
        def columns(self) -> Any:
            """What its columns are called."""
            ...

    Data = Gradable | str | Path | Sequence[Mapping[str, Any]] | Frame
    """What can be graded: a dataset, a file, rows, or a data frame."""
    Columns = str | Mapping[str, str]
    """Which column is what: `submission=answer,prompt=question`, or a dictionary."""


class JudgeOptions(Endpoint, Asking, Voting):
    """The options of the judge."""


class JudgingOptions(JudgeOptions, Planning, Scoring, Retries):
    """How to judge one text."""


class RewardOptions(JudgingOptions, Limits, Budget, SharedAnswers):
    """How to judge batch after batch."""


class GradingOptions(RewardOptions, Batching, RunOptions):
    """How to grade a dataset."""

    rubric: RubricLike | None = option(
        None,
        "The rubric of a table; or one that is used in place of the dataset's own.",
        more="A `Rubric`, the path of a file, or a list of criteria or of sentences.",
        group="What is graded",
        input_type=str | None,
        is_path=True,
        common=True,
    )
    map: Columns | None = option(
        None,
        "Which column of a table is what: submission=answer,prompt=question; also reference, id, "
        "context and label.CRITERION; of records with their own rubrics, rubric.",
        more="As such text, or as a dictionary. Other columns are kept as metadata; "
        "ignore=raw_* leaves out those whose names begin with raw_.",
        group="What is graded",
        input_type=str | dict[str, str] | None,
        common=True,
    )
    calibration: str | Path | FittedCalibration | None = option(
        None,
        "Apply this map to the judge's probabilities; see trust calibrate.",
        more="A file of `rubricate trust calibrate`, or what it holds. It is an error if judge, "
        "prompt or rubric are others than those that it was fitted for.",
        group="Scores",
        input_type=str | None,
        is_path=True,
    )


class AskingOptions(Endpoint, Retries, Limits, Budget, Storage, Listening):
    """How to ask in a run of another form than grading."""
