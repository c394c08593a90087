"""Turns what a user names into a dataset, a rubric and a judge."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, cast

from rubricate.dataset import Gradable, RubricDataset
from rubricate.errors import InputError, shown
from rubricate.judge import (
    Asking,
    Endpoint,
    Judge,
    JudgeLike,
    Voting,
    named_judge,
    options_of_mode,
)
from rubricate.options import JudgeOptions
from rubricate.rubric import Rubric
from rubricate.run import Planning
from rubricate.settings import AppliesTo, options_set, part, reject_unsupported

if TYPE_CHECKING:
    from rubricate.analysis import Calibrator, FittedCalibration
    from rubricate.judge import JudgesLike, Panel
    from rubricate.options import Columns, Data, RubricLike


_BUILTIN: tuple[AppliesTo, ...] = ("any judge",)
"""Which options of a plan apply to the built-in judge."""


def chosen_dataset(
    data: Data, rubric: RubricLike | None = None, columns: Columns | None = None
) -> Gradable:
    """The dataset for what a user passes as data.

    Args:
        data: a `RubricDataset`, a table of `read_table`, a path or an address, a data frame, or a
            list of rows.
        rubric: the rubric of rows, or another one for a dataset.
        columns: the meaning of the columns of rows or of a table.

    Raises:
        InputError: it cannot be read, or is none of these.
    """
    if rubric is not None:
        rubric = chosen_rubric(rubric)
    if isinstance(data, str | Path):
        from rubricate.dataset import open_dataset

        return open_dataset(str(data), rubric, columns)
    if not isinstance(data, Gradable):
        rows = _rows(data)
        if not rows:
            raise InputError("there are no rows to grade", path=("items",))
        if rubric is None:
            raise InputError("rows have no rubric: give rubric= by name (the second is the judge)")
        from rubricate.dataset import dataset_of_rows

        return dataset_of_rows(rows, rubric, columns)
    if columns is not None:
        raise InputError("map= is for rows and for files; a dataset has its own fields")
    if rubric is None:
        return data
    if not isinstance(data, RubricDataset):
        raise InputError(
            "rubric= is for a RubricDataset; rubricate.read_table takes the one of a table"
        )
    return RubricDataset.from_dict(data.to_dict(), rubric=rubric)


def chosen_rubric(rubric: RubricLike) -> Rubric:
    """The rubric for what a user passes: a rubric, a file, or criteria.

    Raises:
        InputError: it cannot be read, or is none of these.
    """
    if isinstance(rubric, Rubric):
        return rubric
    if isinstance(rubric, str | Path):
        return Rubric.from_file(rubric)
    if isinstance(rubric, Mapping | list | tuple):
        return Rubric.from_dict(rubric if isinstance(rubric, Mapping) else list(rubric))
    raise InputError(
        "rubric must be a Rubric, the path of a file, or a list of criteria or sentences "
        f"(of a data frame: frame.to_dict('records')), found {shown(rubric)}"
    )


def _rows(data: object) -> list[Mapping[str, Any]]:
    """The rows of a data frame, of a table in memory, or of a list, as mappings.

    Recognised by methods, because none of these libraries need to be installed: `to_dicts` of
    polars, `to_pylist` of pyarrow, `to_dict("records")` of pandas.
    """
    frame: Any = data
    rows: Any = data
    if hasattr(data, "iloc") and hasattr(data, "to_dict"):
        if not hasattr(data, "columns"):
            name = frame.name or "answer"
            raise InputError(
                f"found one column of a data frame: pass df[['{name}']], with its name, and "
                f"map={{'submission': '{name}'}}"
            )
        names = [*frame.columns]
        if names and isinstance(names[0], tuple):
            raise InputError(
                "the frame's columns have several levels: join their names first, with "
                "frame.columns = ['_'.join(map(str, name)) for name in frame.columns]"
            )
        if twice := [name for name in names if names.count(name) > 1]:
            raise InputError(f"two columns of the frame are named '{twice[0]}': rename one of them")
        rows = map(_without_arrays, frame.to_dict("records"))
    elif isinstance(data, Mapping):
        raise InputError(
            "found one dictionary: pass a list of rows, [row], or columns as pandas.DataFrame(...)"
        )
    elif hasattr(data, "to_dicts"):
        rows = frame.to_dicts()
    elif hasattr(data, "collect_schema"):
        raise InputError("found a lazy frame: pass what its collect() gives")
    elif hasattr(data, "to_pylist"):
        rows = frame.to_pylist()
    if isinstance(rows, Iterable) and not isinstance(rows, bytes):
        rows = list(rows)
        for number, row in enumerate(rows, start=1):
            if not isinstance(row, Mapping):
                raise InputError(
                    f"row {number}: expected a dictionary, found {shown(row)}: write "
                    "[{'submission': text} for text in texts] (text.decode() of bytes); a list of "
                    "DataItem goes into RubricDataset(prompt, rubric, items)"
                )
        return cast("list[Mapping[str, Any]]", rows)
    raise InputError(
        "expected a RubricDataset, a data frame, a list of rows (dictionaries), or the path of a "
        f"file, found {shown(data)}"
    )


def _without_arrays(value: Any) -> Any:
    """A value of a data frame with lists instead of arrays, which pandas reads from Parquet."""
    if hasattr(value, "tolist"):
        value = value.tolist()
    if isinstance(value, list):
        return [_without_arrays(each) for each in value]
    if isinstance(value, dict):
        return {key: _without_arrays(each) for key, each in value.items()}
    return value


def chosen_judge(judge: JudgesLike, options: JudgeOptions) -> Judge:
    """The judge, panel or cascade for the argument `judge` and the options of `agrade`."""
    voting = options_set(Voting, options)
    endpoint: Endpoint = options
    asking: Asking = options
    if asking.permutations is not None and "permutations" not in options_of_mode(asking.mode):
        asking = part(Asking, options).changed(permutations=None)
        if options.permutations != 1:  # each order is a vote
            voting["permutations"] = options.permutations
    if isinstance(judge, Judge) and judge.voters:
        own = [*voting, *options_set(Endpoint, endpoint), *options_set(Asking, asking)]
        if own:
            raise InputError(
                f"{own[0]} is for judges that are listed; a {type(judge).__name__} has its own"
            )
        return judge
    repeats = "replicates" in voting or "permutations" in voting
    if isinstance(judge, Sequence) and not isinstance(judge, str):
        if len(judge) > 1 or repeats:
            if not any(isinstance(member, str) and member != "builtin" for member in judge):
                reject_unsupported(Endpoint, endpoint, (), "none is given")
            return _panel([_one_of_several(member, endpoint, asking) for member in judge], voting)
        if not judge:
            raise InputError("the list of judges is empty")
        judge = judge[0]
    if repeats:
        return _panel([named_judge(judge, endpoint, asking)], voting)
    if options.min_votes > 1:
        raise InputError(f"min_votes is {options.min_votes}, but there is only one vote")
    if voting:
        reject_unsupported(Voting, options, (), "there is one")
    if (judge is None or judge == "builtin") and isinstance(options, Planning):
        reject_unsupported(Planning, options, _BUILTIN, "builtin is none")
    return named_judge(judge, endpoint, asking)


def _panel(judges: list[Judge], voting: dict[str, Any]) -> Panel:
    from rubricate.judge import Panel

    return Panel(judges, **voting)


def _one_of_several(judge: JudgeLike, endpoint: Endpoint, asking: Asking) -> Judge:
    """A judge of a panel, with the options that apply to its kind."""
    if judge is None or judge == "builtin":
        return named_judge(judge, asking=Asking(mode=asking.mode, examples=asking.examples))
    if isinstance(judge, str):
        return named_judge(judge, endpoint, asking)
    if not isinstance(judge, Judge):
        return named_judge(judge, asking=asking)
    if asking.mode != "explained" and not (asking.mode == "probability" and judge.probability_mode):
        raise InputError(
            f"the mode is for language models and the built-in judge; {judge.name} answers as it "
            "does: give the mode to the others (ModelJudge(model, Probability())), or leave it out"
        )
    return judge


def chosen_calibrator(
    value: str | Path | FittedCalibration | None, judge: Judge, rubric: Rubric | None
) -> Calibrator | None:
    """The calibration to apply. Raises `InputError` if it belongs to another judge or rubric."""
    if value is None:
        return None
    from rubricate.analysis import Calibrator, FittedCalibration, read_calibration

    fitted = read_calibration(value) if isinstance(value, str | Path) else value
    if not isinstance(fitted, FittedCalibration):
        raise InputError(f"calibration must be a file or a FittedCalibration, found {shown(value)}")
    return Calibrator(fitted, judge, rubric)
