"""Files that are seen whole or not at all: what they promise to everybody who writes one."""

from __future__ import annotations

import errno
import os
import signal
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

import rubricate
from rubricate import RubricDataset
from rubricate._files import Replacement, write_text
from rubricate.errors import InputError

OLD, NEW = "what people wrote\n", "the new one\n" * 10_000
WRITERS = {
    "a file in parts": "with Replacement(path) as file:\n    file.write(b'x' * 100000)\n    end()",
    "a file on the disk": "os.fsync = end\nwrite_text(path, 'x' * 100000, durable=True)",
    "a dataset": "os.fsync = end\nRubricDataset('p', items=[]).to_file(path)",
    "labels": (
        "file = LabelFile(path)\nos.fsync = end\nfile.apply([NewLabel('i', 'ann', 'c', 'MET')])"
    ),
}


@pytest.mark.parametrize("what", WRITERS)
def test_a_killed_writer_leaves_the_old_file_whole(what: str, tmp_path: Path):
    path = tmp_path / "data.json"
    rubric = [{"name": "c", "requirement": "r"}]
    data = {
        "prompt": "p",
        "rubric": rubric,
        "items": [{"id": "i", "submission": "s", "description": ""}],
    }
    RubricDataset.from_dict(data).to_file(path)
    before = path.read_bytes()
    program = (
        "import os, sys\nfrom pathlib import Path\nfrom rubricate import RubricDataset\n"
        "from rubricate._files import Replacement, write_text\n"
        "from rubricate.dataset import LabelFile, NewLabel\npath = Path(sys.argv[1])\n"
        f"def end(*_): os.kill(os.getpid(), {signal.SIGKILL:d})\n{WRITERS[what]}"
    )
    done = subprocess.run([sys.executable, "-c", program, str(path)], check=False)
    assert done.returncode == -signal.SIGKILL
    assert path.read_bytes() == before


def test_a_full_disk_leaves_the_old_file_and_nothing_else(tmp_path, monkeypatch):
    path = tmp_path / "data.json"
    path.write_text(OLD)

    def full(_: int) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr("os.fsync", full)
    with pytest.raises(InputError, match="cannot be written: No space left on device"):
        write_text(path, NEW, durable=True)
    assert path.read_text() == OLD
    assert list(tmp_path.iterdir()) == [path]


def test_the_new_file_and_its_beginnings_are_read_by_nobody_who_could_not_read_the_old(tmp_path):
    path = tmp_path / "data.json"
    path.write_text(OLD)
    path.chmod(0o600)
    with Replacement(path) as file:
        file.write(NEW.encode())
        assert [one.stat().st_mode & 0o777 for one in tmp_path.iterdir()] == [0o600, 0o600]
        assert path.read_text() == OLD
    assert (path.read_text(), path.stat().st_mode & 0o777) == (NEW, 0o600)


def test_what_is_done_is_on_the_disk_where_that_is_promised(tmp_path, monkeypatch):
    synced: list[int] = []
    monkeypatch.setattr("os.fsync", lambda number: synced.append(os.fstat(number).st_ino))
    path = tmp_path / "data.json"
    write_text(path, NEW, durable=True)
    assert synced == [path.stat().st_ino, tmp_path.stat().st_ino]  # its content, and its name


def test_a_link_stays_and_what_it_leads_to_is_replaced(tmp_path):
    path, link = tmp_path / "data.json", tmp_path / "link.json"
    path.write_text(OLD)
    link.symlink_to(path)
    write_text(link, NEW, durable=True)
    assert (link.is_symlink(), path.read_text()) == (True, NEW)


def test_what_is_no_ordinary_file_is_written_as_it_is(capfd):
    write_text(Path("/dev/stdout"), OLD, durable=True)
    assert capfd.readouterr().out == OLD


def test_a_file_that_may_not_be_written_stays(tmp_path, monkeypatch):
    path = tmp_path / "data.json"
    path.write_text(OLD)
    monkeypatch.setattr("os.access", lambda *_: False)
    with pytest.raises(InputError, match="cannot be written: Permission denied"):
        write_text(path, NEW, durable=True)
    assert path.read_text() == OLD


@pytest.mark.parametrize("code", [errno.EPERM, errno.ENOTSUP, errno.ENOSYS, errno.EINVAL])
def test_a_file_system_without_modes_and_syncs_takes_all_files(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, code: int
) -> None:
    def refuse(*_: object, **__: object) -> None:
        raise OSError(code, os.strerror(code))

    def met(messages: Any) -> dict[str, Any]:
        return {"reason": "r", "evidence": [], "verdict": "MET"}

    monkeypatch.setattr(os, "chmod", refuse)
    if code != errno.EPERM:
        monkeypatch.setattr(os, "fsync", refuse)
    rubric = rubricate.Rubric([rubricate.Criterion(name="a", requirement="Is a")])
    dataset = rubricate.RubricDataset("p", rubric)
    dataset.add_item("text")
    for resumed in (0, 1):
        result = rubricate.grade(dataset, met, run_dir=tmp_path / "run", share_limits="local")
        assert (result.resumed, result.failed) == (resumed, 0)
    path = tmp_path / "file"
    for text in ("one", "two"):
        write_text(path, text, durable=True)
        assert path.read_text() == text


@pytest.mark.parametrize("code", [errno.EIO, errno.ENOSPC])
def test_a_disk_that_fails_is_no_file_system_without_syncs(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, code: int
) -> None:
    def fail(handle: int) -> None:
        raise OSError(code, os.strerror(code))

    monkeypatch.setattr(os, "fsync", fail)
    with pytest.raises(InputError, match="cannot be written"):
        write_text(tmp_path / "file", "text", durable=True)
