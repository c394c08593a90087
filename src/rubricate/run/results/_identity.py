"""The identity of a folder's run (`run.json`), which protects its results from other runs."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from contextlib import suppress
from itertools import islice
from pathlib import Path
from typing import Any

from rubricate._files import Replacement
from rubricate.errors import InputError
from rubricate.judge import Judge
from rubricate.rubric import UNANSWERED
from rubricate.run._plan import Plan
from rubricate.run._shards import sameness

NOTE_NAME = "run.json"
COMMAND_LINE = "told"
"""The key for the names on the command line, as in older run folders."""
SHAPE: dict[str, type] = {"items": list, "judges": list, "criteria": dict, COMMAND_LINE: dict}
"""The types of the values; a note with other types is ignored."""
NOTED_ITEMS = 100
"""Number of items by which a dataset without a name is recognised."""


def note_identity(folder: Path, plan: Plan, judge: Judge, *, replaces: bool) -> None:
    """Write into a run folder what distinguishes its run from others.

    A run can be resumed as long as it shares a judge, a criterion (its name or its text), and the
    name of the dataset or a text with the run whose results are there.

    Args:
        folder: the run folder.
        plan: the plan of all shards together.
        judge: the judge.
        replaces: whether results of another run may be there.

    Raises:
        InputError: the folder has the results of another run, or cannot be written.
    """
    judges = [member.judge.name for stage in judge.stages for member in stage.members]
    own: dict[str, Any] = {
        "dataset": plan.name,
        "items": [*islice(map(sameness, plan.whole()), NOTED_ITEMS)],
        "judges": [*dict.fromkeys(judges)],
        "criteria": {criterion.name: criterion.requirement for criterion in plan.rubric or ()},
    }
    kept = noted_run(folder)
    if not replaces and has_answers(folder) and (differs := _differences(kept, own, plan)):
        raise OtherRunError(folder, differs)
    note_run(folder, own)


def _differences(kept: Mapping[str, Any], own: Mapping[str, Any], plan: Plan) -> list[str]:
    differences, name, texts = [], kept.get("dataset"), {*kept.get("items", ())}
    is_named_alike = name is not None and name == plan.name
    if not is_named_alike and texts and texts.isdisjoint(map(sameness, plan.whole())):
        differences.append("dataset")
    judges = {*kept.get("judges", ())}
    if judges and judges.isdisjoint(own["judges"]):
        differences.append("judge")
    criteria = {text for entry in kept.get("criteria", {}).items() for text in entry if text}
    own_criteria = {text for entry in own["criteria"].items() for text in entry if text}
    if criteria and own_criteria and criteria.isdisjoint(own_criteria):
        differences.append("rubric")
    return differences


class OtherRunError(InputError):
    """A folder has the results of another run.

    Args:
        folder: the folder.
        differs: the parts in which the other run differs.
        requests: how many requests this run takes in another folder, and with `fresh`; None if that
            was not counted.

    Attributes:
        folder, differs: as above.
    """

    def __init__(
        self, folder: Path, differs: Sequence[str], requests: tuple[int, int] | None = None
    ) -> None:
        self.folder, self.differs = folder, differs
        elsewhere, anew = ("", "") if requests is None else map(_requests, requests)
        what = ", ".join(differs)
        super().__init__(
            f"this run folder has the results of a run that differs in {what}: choose "
            f"another --run-dir (run_dir), which reuses the answers in the cache{elsewhere}; or "
            "--fresh (fresh=True) replaces the results, and asks for everything again"
            f"{anew}",
            file=folder,
        )


def _requests(count: int) -> str:
    return f" and takes {count} request{'' if count == 1 else 's'}"


def noted_run(folder: Path) -> dict[str, Any]:
    """The identity in a folder; empty if there is none or it is unreadable."""
    with suppress(OSError, ValueError, TypeError, RecursionError):
        note = json.loads((folder / NOTE_NAME).read_bytes())
        if isinstance(note, dict) and all(
            isinstance(note.get(key, kind()), kind) for key, kind in SHAPE.items()
        ):
            for values in (note.get("items", []), note.get("judges", [])):
                hash(tuple(values))  # they must fit into sets
            hash(tuple(note.get("criteria", {}).values()))
            return note
    return {}


def note_run(folder: Path, noted: Mapping[str, Any]) -> None:
    """Add to the note about a folder's run.

    Raises:
        InputError: it cannot be written.
    """
    text = json.dumps({**noted_run(folder), **noted}, indent=2)
    with Replacement(folder / NOTE_NAME, private=True) as file:
        file.write(f"{text}\n".encode("utf-8", "replace"))


def has_answers(folder: Path) -> bool:
    """Whether a folder may have answers. It has none if no verdict in its results has one."""
    try:
        with (folder / "results.jsonl").open("rb") as lines:
            verdicts = 0
            for verdicts, line in enumerate(lines, start=1):  # noqa: B007
                if json.loads(line)["status"] not in UNANSWERED:
                    return True
    except (OSError, ValueError, KeyError, TypeError):
        return True
    return not verdicts
