"""The identity of a folder's run (`run.json`), which protects its results from other runs."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
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


class RunIdentity:
    """What distinguishes a run from the one whose results are in a folder.

    Args:
        plan: the plan of all shards together.
        judge: the judge.
    """

    def __init__(self, plan: Plan, judge: Judge) -> None:
        self._plan = plan
        self._criteria = {criterion.name: criterion.requirement for criterion in plan.rubric or ()}
        names = dict[str, None]()
        for stage in judge.stages:
            for member in stage.members:
                names[member.judge.name] = None
        self._judges = [*names]

    def note(self, folder: Path, *, replaces: bool) -> None:
        """Write the identity into the run folder.

        A run can be resumed as long as it shares a judge, a criterion (its name or its text), and
        the name of the dataset or a text with the run whose results are there.

        Raises:
            InputError: the folder has the results of another run, or cannot be written.
        """
        kept = noted_run(folder)
        if not replaces and has_answers(folder) and (differs := self._differences(kept)):
            raise OtherRunError(folder, differs)
        own = {
            "dataset": self._plan.name,
            "items": [*islice(self._texts(), NOTED_ITEMS)],
            "judges": self._judges,
            "criteria": self._criteria,
        }
        note_run(folder, own)

    def _texts(self) -> Iterator[int]:
        """A number for each item; equal texts have equal numbers."""
        return map(sameness, self._plan.whole())

    def _differences(self, kept: Mapping[str, Any]) -> list[str]:
        differences, name, texts = [], kept.get("dataset"), {*kept.get("items", ())}
        is_named_alike = name is not None and name == self._plan.name
        if not is_named_alike and texts and texts.isdisjoint(self._texts()):
            differences.append("dataset")
        judges = {*kept.get("judges", ())}
        if judges and judges.isdisjoint(self._judges):
            differences.append("judge")
        criteria = {text for entry in kept.get("criteria", {}).items() for text in entry if text}
        own = {text for entry in self._criteria.items() for text in entry if text}
        if criteria and own and criteria.isdisjoint(own):
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
