"""The run folder of a command: the same run's again, and no other run's.

What was named on the command line is kept in the folder (`run.json`). Other data, another rubric,
or a judge that would answer anew make another run. What only counts the same answers in another way
(weights, votes, thresholds, scoring) is the same run, and so are further items and further judges
of a panel. A command that names no folder has `runs/NAME`, by data and judge; where another run is
there, its own, `runs/NAME-HASH`. In a folder that it names another run is refused.
"""

from __future__ import annotations

import hashlib
import json
import os
import re
import sys
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any

from rubricate._files import HF, check_no_links, user_path
from rubricate.errors import InputError
from rubricate.judge.models import address_of
from rubricate.rubric import Rubric
from rubricate.run import Progress, Storage, has_journal
from rubricate.run.results import (
    COMMAND_LINE,
    OtherRunError,
    has_answers,
    note_run,
    noted_run,
)

COMMAND, CRITERIA, ESCALATION, JUDGES = "command", "criteria", "escalation", "judges"
OnProgress = Callable[[Progress], None]
Named = Mapping[str, Any]
"""What was named on the command line, files as paths; None for what was not."""


class RunDir:
    """A run folder.

    Attributes:
        path: the folder.
    """

    def __init__(self, path: Path, named: Named | None = None, note: str | None = None) -> None:
        self.path = path
        self._named = named
        self._note = note
        self._is_new = not path.exists()

    def announce(self) -> None:
        """Say where the run goes if that is not the usual folder."""
        if self._note is not None:
            sys.stderr.write(f"{self._note}\n")

    def progress(self, show: OnProgress) -> OnProgress:
        """A callback that shows progress; the first call marks the folder as the run's."""

        def update(progress: Progress) -> None:
            self.claim()
            show(progress)

        return update

    def claim(self) -> None:
        """Write into the folder, if it is there, what its run is."""
        named, self._named = self._named, None
        if named is not None and self.path.is_dir():
            with suppress(InputError):  # that the folder cannot be written is said elsewhere
                note_run(self.path, {COMMAND_LINE: named})

    def discard(self) -> None:
        """Remove the folder if this command made it: nothing was judged in it."""
        import shutil

        if self._is_new and self.path.is_dir():
            shutil.rmtree(self.path, ignore_errors=True)


def run_dir_for(storage: Storage, name: str, judges: Sequence[str], named: Named) -> RunDir:
    """The folder of `--run-dir`, else that of this run below `runs`.

    Args:
        storage: has the user's own, and whether what is there may be replaced.
        name: what the folder is called, as far as a folder may be.
        judges: the judges' names, whose addresses belong to what is named.
        named: what makes the run another one, with None for what was not named. Under `command`
            is what the command is called, under `criteria` are those of the rubric, of which a run
            that continues has one, and under `escalation` those who are asked next, of whom there
            may be further ones.

    Raises:
        InputError: the given folder has the results of another run.
    """
    base = named.get("base_url")
    values = {key: value for key, value in named.items() if value is not None and key != "base_url"}
    values[JUDGES] = {judge: address_of(judge, base) for judge in judges or ["builtin"]}
    if storage.run_dir is not None:
        own_folder = user_path(storage.run_dir)
        check_no_links(own_folder)
        own = _seen_from(own_folder, values)
        if not storage.fresh and (differs := _differences(own_folder, own)):
            raise OtherRunError(own_folder, differs)
        return RunDir(own_folder, own)
    slug = re.sub(r"[^A-Za-z0-9._-]+", "-", name).strip("-.")
    usual = Path("runs") / (slug or "run")
    if usual.is_symlink():  # somebody else may have put it there
        raise InputError("is a link: remove it, or name a folder with --run-dir", file=usual)
    check_no_links(usual)
    own = _seen_from(usual, values)
    beside = usual.parent.glob(f"{usual.name}-" + 6 * "[0-9a-f]") if usual.parent.is_dir() else ()
    differs = _differences(usual, own)
    if not differs:
        return RunDir(usual, own)
    for folder in sorted(beside):
        if not _differences(folder, own, free=False):
            return RunDir(folder, own, _note(usual, differs, folder))
    digest = hashlib.blake2b(json.dumps(own, sort_keys=True).encode(), digest_size=3).hexdigest()
    folder = usual.with_name(f"{usual.name}-{digest}")
    return RunDir(folder, own, _note(usual, differs, folder))


def _note(usual: Path, differs: Sequence[str], folder: Path) -> str:
    return f"{usual} has a run that differs in {', '.join(differs)}: this one is in {folder}"


def _differences(folder: Path, named: Named, *, free: bool = True) -> list[str]:
    """In what the run in a folder is another one; in nothing where there is none, if that counts.

    A run of an earlier version, which wrote nothing of this, is taken to be the same.
    """
    other = noted_run(folder).get(COMMAND_LINE)
    is_run = has_journal(folder) or (folder / "results.jsonl").exists()
    if not isinstance(other, dict) or not is_run or not has_answers(folder):
        return [] if free else ["run"]
    if other.get(COMMAND) != named.get(COMMAND):
        return [COMMAND]
    differences = [
        _difference(key, named.get(key), other.get(key))
        for key in sorted({*other, *named} - {CRITERIA, JUDGES, ESCALATION})
        if other.get(key) != named.get(key)
    ]
    theirs, ours = other.get(JUDGES) or {}, named[JUDGES]
    if not {*theirs} <= {*ours}:
        differences.append("judge")
    elif any(theirs[judge] != ours[judge] for judge in theirs):
        differences.append("address")
    if not {*other.get(ESCALATION, ())} <= {*named.get(ESCALATION, ())}:
        differences.append(ESCALATION)
    before, now = other.get(CRITERIA) or (), named.get(CRITERIA) or ()
    if before and now and not {*before} & {*now}:
        differences.append("rubric")
    return list(dict.fromkeys(differences))


def _difference(key: str, ours: Any, theirs: Any) -> str:
    """`rubric (new.yaml, the run has old.yaml)`."""
    name = key.replace("_", " ")
    if not (isinstance(ours, str) and isinstance(theirs, str)):
        return name
    if Path(ours).name != Path(theirs).name:
        ours, theirs = Path(ours).name, Path(theirs).name
    return f"{name} ({ours}, the run has {theirs})"


def place_of(path: str | None) -> Path | str | None:
    """A file, whichever way it was written; an address as it is."""
    if path is None or "://" in path or path.startswith(HF):
        return path
    return user_path(path)


def _seen_from(folder: Path, named: Named) -> dict[str, Any]:
    """What was named as JSON values; files as they are called from a folder.

    So they are the same from wherever the command is called, and where both are moved.
    """

    def relative(path: Path) -> str:
        try:
            return os.path.relpath(path, folder)
        except ValueError:  # another drive
            return str(path.absolute())

    values: dict[str, Any] = json.loads(json.dumps(named, default=relative))
    return values


def criteria_of(rubric: Rubric | None) -> list[str] | None:
    """What the criteria of a rubric go by; None where items have their own."""
    return None if rubric is None else [criterion.title for criterion in rubric]
