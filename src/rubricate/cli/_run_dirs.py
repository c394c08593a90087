"""Choosing the run folder of a command, so that it continues its own run and no other.

The options that identify a run are stored in its folder (`run.json`). Other data, another rubric,
or options that change the answers of a judge make a different run. Options that only count the same
answers differently (weights, votes, thresholds, scoring) do not, and neither do further items or
further judges of a panel. By default, the folder is `runs/NAME`, by data and judge, or
`runs/NAME-HASH` if a different run is there. If the user names a folder with a different run, that
is an error."""

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
"""The identifying options of a command, with files as paths; None for options that are not set."""


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
        """Tell the user where the run is stored, if that is not the usual folder."""
        if self._note is not None:
            sys.stderr.write(f"{self._note}\n")

    def progress(self, show: OnProgress) -> OnProgress:
        """Wrap a callback for progress, so that its first call marks the folder as this run's."""

        def update(progress: Progress) -> None:
            self.claim()
            show(progress)

        return update

    def claim(self) -> None:
        """Store the identifying options in the folder, if it exists."""
        named, self._named = self._named, None
        if named is not None and self.path.is_dir():
            with suppress(InputError):  # an unwritable folder is reported elsewhere
                note_run(self.path, {COMMAND_LINE: named})

    def discard(self) -> None:
        """Remove the folder if this command created it, because nothing was judged."""
        import shutil

        if self._is_new and self.path.is_dir():
            shutil.rmtree(self.path, ignore_errors=True)


def run_dir_for(storage: Storage, name: str, judges: Sequence[str], named: Named) -> RunDir:
    """Return the folder of `--run-dir`, or that of this run below `runs`.

    Args:
        storage: has the user's folder, and whether its contents may be replaced.
        name: the name of the folder; characters that folders cannot have are replaced.
        judges: the names of the judges, whose addresses are identifying, too.
        named: the identifying options; None for options that are not set. `command` is the name of
            the command, `criteria` has the criteria, at least one of which a continued run shares,
            and `escalation` the judges of later stages, to which more may be added.

    Raises:
        InputError: the user's folder has the results of another run.
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
    if usual.is_symlink():  # it may lead anywhere
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
    """The identifying options in which the run in a folder differs; empty for the same run, and for
    no run if `free`.

    A run of an earlier version without a record counts as the same.
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
        differences.append("criteria")
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
    """Resolve the path of a file; addresses remain unchanged."""
    if path is None or "://" in path or path.startswith(HF):
        return path
    return user_path(path)


def _seen_from(folder: Path, named: Named) -> dict[str, Any]:
    """Convert identifying options to JSON values, with paths relative to a folder.

    They are thus independent of the working directory, and stay valid if data and folder are moved
    together.
    """

    def relative(path: Path) -> str:
        try:
            return os.path.relpath(path, folder)
        except ValueError:  # on another drive
            return str(path.absolute())

    values: dict[str, Any] = json.loads(json.dumps(named, default=relative))
    return values


def criteria_of(rubric: Rubric | None) -> list[str] | None:
    """The names of the criteria of a rubric; None if items have rubrics of their own."""
    return None if rubric is None else [criterion.title for criterion in rubric]
