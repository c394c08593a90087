"""Paths and addresses named by users, and files that are replaced atomically."""

from __future__ import annotations

import errno
import ipaddress
import os
import stat
from itertools import islice
from pathlib import Path, PurePath, PureWindowsPath
from typing import BinaryIO, TypeGuard
from urllib.parse import urlsplit

from rubricate._spelling import common_prefix, did_you_mean
from rubricate.errors import InputError, MissingFileError, shown

PIPE_SECONDS = 1.0
"""Seconds that a pipe may take until its first byte. A planted pipe has no writer, so opening it
would block forever. At half, slow commands in `<(...)` are cut off; at double, a planted pipe looks
like a hang."""
MOST_NAMES = 10_000
"""How many names in a folder are compared with a missing file, which takes 0.1 s. At double, the
delay is noticeable; at half, the right name is missed more often."""
SPREADSHEETS = (".xlsx", ".xls", ".ods")
HF = "hf:"
"""Prefix of datasets of the Hugging Face Hub: `hf:NAME@SPLIT`."""
NOT_SHOWN = ("password=", "sslpassword=", "run=", "connect_timeout=", "tcp_user_timeout=")
"""Query parameters that are not shown: secrets, those that are not part of the address,
timeouts."""


def user_path(path: str | os.PathLike[str]) -> Path:
    """The path that a user names, with `~` and `~name` expanded to home folders."""
    if not isinstance(path, str | os.PathLike):
        raise InputError(f"expected a path, found {shown(path)}")
    if "\0" in str(path):
        raise InputError(f"no name of a file has a NUL character in it, found {str(path)!r}")
    try:
        return Path(path).expanduser()
    except RuntimeError:
        return Path(path)


def missing_file(path: Path, shown: str | None = None) -> MissingFileError:
    """The error for a file that does not exist, with a similar name in the same folder.

    Args:
        path: the file.
        shown: its name in the error. Default: the path.
    """
    if path.is_symlink():
        return MissingFileError("is a link to a file that is not there", file=shown or path)
    escaped = str(path).translate({7 + i: f"\\{letter}" for i, letter in enumerate("abtnvfr")})
    hint = ""
    if escaped != str(path) and " " not in escaped:
        shown = escaped
        at = common_prefix(str(path), escaped)
        hint = f" (in Python, {escaped[at : at + 2]} is a control character: write "
        hint += f'"{PureWindowsPath(escaped).as_posix()}" or r"{escaped}")'
    try:
        with os.scandir(path.parent) as entries:
            names = [entry.name for entry in islice(entries, MOST_NAMES)]
    except FileNotFoundError:
        hint += f"; there is no folder '{path.parent}'"
        names = [entry.name for entry in islice(Path().iterdir(), MOST_NAMES)]
    except OSError:
        names = []
    hint += did_you_mean(path.name, names)
    if not hint and " " in path.name and (not path.suffix[1:].isalnum()):
        hint = (
            " (this is read as a path: write the text into a file, a rubric in lines such as "
            "'- Says sorry'; in Python, a list of sentences is a rubric, and grade_one(rubric, "
            "text) grades one text)"
        )
        shown = shown or " ".join(str(path).split())
    return MissingFileError(f"file not found{hint}", file=shown or path)


def open_file(path: Path, buffering: int = -1) -> BinaryIO:
    """Open a regular file, or a pipe with a writer, for reading.

    Raises:
        OSError: it is anything else, such as a device, or cannot be read.
    """
    mode = path.stat().st_mode
    if stat.S_ISREG(mode) or stat.S_ISDIR(mode):  # opening a folder raises the right error
        return path.open("rb", buffering)
    if not stat.S_ISFIFO(mode):
        raise OSError(errno.EINVAL, "is no ordinary file")
    import selectors

    handle = os.open(path, os.O_RDONLY | os.O_NONBLOCK)
    try:
        with selectors.DefaultSelector() as selector:
            selector.register(handle, selectors.EVENT_READ)
            is_written = selector.select(PIPE_SECONDS)
        if not is_written:
            raise OSError(errno.EAGAIN, "is a pipe that nobody writes to")
        os.set_blocking(handle, True)
        return os.fdopen(handle, "rb")
    except BaseException:
        os.close(handle)
        raise


def check_no_links(folder: Path) -> None:
    """Reject one of rubricate's folders if it contains a link, a pipe or a device.

    Someone else may have planted it in place of a file that would be read or written.

    Raises:
        InputError: there is one.
    """
    try:
        with os.scandir(folder) as entries:
            for entry in entries:
                if entry.is_symlink() or not (entry.is_file() or entry.is_dir()):
                    what = "a link" if entry.is_symlink() else "no ordinary file"
                    raise InputError(
                        f"is {what}, and rubricate writes no such thing: remove it, choose another "
                        "folder or, if you trust it, copy the folder with what its links lead to",
                        file=entry.path,
                    )
    except OSError:  # missing or unreadable, which is reported when it is opened
        return


def leads_out(path: Path, folder: Path) -> bool:
    """Whether a path in a folder is a link to somewhere outside."""
    if not path.is_symlink():
        return False
    return not Path(os.path.realpath(path)).is_relative_to(os.path.realpath(folder))


class Replacement:
    """Writes a file atomically: readers see the old or the new content, never a part.

    The new file has the mode of the old one from the start. Special files (`/dev/stdout`, a pipe)
    are written directly; for a link, its target is replaced.

    Args:
        path: the file. It need not exist.
        private: whether a new file is readable only by its owner.
        durable: whether to sync it to disk when it is closed, so that it survives a power cut.

    Raises:
        InputError: it cannot be written. The old file is then unchanged.
    """

    def __init__(self, path: Path, *, private: bool = False, durable: bool = False) -> None:
        path = user_path(path)
        real = Path(os.path.realpath(path))  # a circle of links fails when it is opened
        is_plain = real.is_file() or not path.exists()
        self._path = real if is_plain and path.is_symlink() else path
        self._part = self._path.with_name(f".{self._path.name}.{os.getpid()}") if is_plain else None
        self._private = private
        self._durable = durable

    def __enter__(self) -> BinaryIO:
        try:
            self._file = self._open()
        except OSError as error:
            raise not_written(self._path, error) from None
        return self._file

    def _open(self) -> BinaryIO:
        if self._part is None:
            return self._path.open("wb")
        if not self._path.exists():
            if self._private:
                self._part.touch(mode=0o600)
            return self._part.open("wb")
        if not os.access(self._path, os.W_OK):  # replacing needs less
            raise PermissionError(errno.EACCES, os.strerror(errno.EACCES))
        self._part.touch(mode=0o600)
        file = self._part.open("wb")
        set_mode(self._part, stat.S_IMODE(self._path.stat().st_mode))
        return file

    def __exit__(self, _kind: object, error: BaseException | None, _trace: object) -> None:
        try:
            with self._file as file:
                if self._durable and error is None and self._part is not None:
                    file.flush()
                    _sync(file.fileno())
            if self._part is not None and error is None:
                self._part.replace(self._path)
                if self._durable:
                    _sync_folder(self._path.parent)
                return
        except OSError as problem:
            error = problem
        if self._part is not None:
            self._part.unlink(missing_ok=True)
        if isinstance(error, OSError):
            raise not_written(self._path, error) from None


def write_text(path: Path, text: str, *, durable: bool = False) -> None:
    """Write a file with a `Replacement`."""
    with Replacement(path, durable=durable) as file:
        file.write(text.encode())


def _sync_folder(path: Path) -> None:
    """Sync a folder's entries to disk, if the system can."""
    if hasattr(os, "O_DIRECTORY"):
        folder = os.open(path, os.O_RDONLY | os.O_DIRECTORY)
        try:
            _sync(folder)
        finally:
            os.close(folder)


_UNSUPPORTED = {errno.EINVAL, errno.ENOSYS, errno.ENOTSUP, errno.EOPNOTSUPP}
"""Errors of file systems (FUSE, network shares) for unsupported operations."""


def _sync(handle: int) -> None:
    """Sync a file or a folder to disk, if its file system can."""
    try:
        os.fsync(handle)
    except OSError as error:
        if error.errno not in _UNSUPPORTED:
            raise


def set_mode(path: Path, mode: int) -> None:
    """Set the mode of a file, if its file system has modes (vfat and many of FUSE have none)."""
    try:
        path.chmod(mode)
    except OSError as error:
        if error.errno not in {*_UNSUPPORTED, errno.EPERM}:
            raise


def not_written(path: Path, error: OSError) -> InputError:
    """The error for a file that cannot be written."""
    why = error.strerror
    if isinstance(error, FileNotFoundError):
        why = f"there is no folder {path.parent}: create it"
    return InputError(f"cannot be written: {why}", file=path)


def table_name(data: str) -> str:
    """The name of a table: its file without the suffix, or its dataset and split."""
    if data.startswith(HF):
        return data.removeprefix(HF).replace("@", "-").strip("./")
    is_web = data.lower().startswith(("http://", "https://"))
    return PurePath(urlsplit(data).path if is_web else data).stem


def is_address(place: object) -> TypeGuard[str]:
    """Whether this is the address of a database, not a path."""
    return isinstance(place, str) and place.startswith(("postgresql://", "postgres://"))


def shown_address(address: str) -> str:
    """An address without passwords, for display."""
    scheme, _, rest = address.partition("://")
    account, at, place = rest.rpartition("@")  # a password can contain any character
    user = account.partition(":")[0]
    place, _, query = place.partition("?")
    kept = [part for part in query.split("&") if part and not part.startswith(NOT_SHOWN)]
    return f"{scheme}://{user}{at}{place}{'?' if kept else ''}{'&'.join(kept)}"


def is_this_machine(host: str) -> bool:
    """Whether a host in an address means the local machine."""
    if host == "localhost" or host.endswith(".localhost"):
        return True
    try:
        address = ipaddress.ip_address(host)
    except ValueError:
        return False
    return address.is_loopback or address.is_unspecified
