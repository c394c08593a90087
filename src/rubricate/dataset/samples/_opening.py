"""Locating, naming and opening a file, local, compressed or remote, and decoding its text."""

from __future__ import annotations

import contextlib
import gzip
import io
import os
from collections.abc import Iterator
from pathlib import Path, PurePosixPath
from typing import IO, Any, BinaryIO, cast
from urllib.parse import unquote, urlsplit

from rubricate._files import open_file, user_path
from rubricate.errors import InputError, MissingFileError, extra_needed

COMPRESSIONS = {".gz": "gzip", ".zst": "zstd"}
CHUNK = 1 << 20
"""The number of bytes that are read at a time."""
EXTRAS = {"s3": "s3", "s3a": "s3"}


def local_path(address: str) -> str:
    """The path of a `file://` URL."""
    return unquote(address.removeprefix("file://").removeprefix("localhost"))


class Source:
    """A file, by the path or URL that the user passed.

    Attributes:
        given: the path or URL as text.
        remote: whether it is a URL.
        location: the absolute path, with links resolved, or the URL with its scheme.
        shown: the same for messages, without a query, which may contain a signature.
        name: the file name without its last suffix.
        suffix: its suffix in lower case, without a compression's: `.jsonl` for `a.jsonl.gz`.
    """

    def __init__(self, file: str | os.PathLike[str], fs_options: dict[str, Any] | None) -> None:
        address = os.fspath(file)
        if not isinstance(address, str):
            raise InputError(f"expected a path or an address as text, found {address!r}")
        scheme = "file://" if address.startswith("file://") else ""
        if scheme:
            address = local_path(address)
        self.remote = "://" in address or address.startswith("memory:")
        if address.startswith("~"):
            address = str(user_path(address))
        self.address = address
        self.options = dict(fs_options or {})
        wanted = self.options.pop("compression", "infer")
        is_web = self.is_web
        path = PurePosixPath(urlsplit(address).path) if is_web else Path(address)
        self.location = address if self.remote else f"{scheme}{os.path.realpath(address)}"
        self.shown = address.partition("?")[0] if is_web else address
        self.name = path.stem
        self._compression = COMPRESSIONS.get(path.suffix.lower())
        if self._compression:
            path = path.with_suffix("")
        self.suffix = path.suffix.lower()
        if wanted != "infer":
            self._compression = wanted
        if self._compression not in (None, "gzip", "zstd"):
            raise InputError(f"unknown compression {wanted!r}; known are gzip and zstd")

    @property
    def is_web(self) -> bool:
        """Whether it is fetched over HTTP."""
        return self.address.lower().startswith(("http://", "https://"))

    @property
    def folder(self) -> str:
        """The path or URL of its folder."""
        if not self.remote:
            return str(Path(self.address).absolute().parent)
        return self.shown.rpartition("/")[0]

    @contextlib.contextmanager
    def open(self) -> Iterator[BinaryIO]:
        """Open the file's decompressed bytes, to be read once from the start.

        Raises:
            MissingFileError (FileNotFoundError): the file does not exist.
            InputError: it cannot be read.
            MissingExtraError: reading it requires an optional package.
        """
        with contextlib.ExitStack() as stack:
            try:
                raw = stack.enter_context(
                    self._open_remote() if self.remote else open_file(Path(self.address), CHUNK)
                )
                yield stack.enter_context(self._decompressed(raw))
            except InputError:  # may also come from a record function
                raise
            except FileNotFoundError as error:
                if "Connect" in type(error.__cause__).__name__:
                    raise InputError(
                        f"cannot be reached: {error.__cause__}", file=self.shown
                    ) from None
                raise MissingFileError("file not found", file=self.shown) from None
            except IsADirectoryError:
                raise InputError("is a folder, expected a file", file=self.shown) from None
            except (gzip.BadGzipFile, EOFError) as error:
                raise InputError(f"is not a whole gzip file: {error}", file=self.shown) from None
            except PermissionError as error:
                reason = error.strerror or "permission denied"
                raise InputError(f"cannot be read: {reason}", file=self.shown) from None
            except OSError as error:
                reason = error.strerror or str(error).partition("?")[0] or type(error).__name__
                raise InputError(f"cannot be read: {reason}", file=self.shown) from None

    def filesystem(self) -> tuple[Any, str]:
        """The remote file system, and the path in it."""
        import fsspec.core

        scheme = urlsplit(self.address).scheme
        try:
            with extra_needed(f"reading {scheme}://", EXTRAS.get(scheme, scheme)):
                filesystem, path = fsspec.core.url_to_fs(self.address, **self.options)
        except ValueError as error:
            raise InputError(
                f"{error}; addresses begin with https:// or s3://", file=self.shown
            ) from None
        filesystem.invalidate_cache()  # an earlier listing may be out of date
        return filesystem, path

    def _open_remote(self) -> contextlib.AbstractContextManager[BinaryIO]:
        filesystem, path = self.filesystem()
        # One streaming request, not one per block, because samples are read in order.
        options: dict[str, Any] = {"block_size": 0} if self.is_web else {"cache_type": "readahead"}
        if "s3" in getattr(filesystem, "protocol", ()):
            options["block_size"] = 16 * CHUNK
        try:
            file = filesystem.open(path, "rb", **options)
        except OSError:
            raise
        except Exception as error:
            raise InputError(
                f"cannot be read: {type(error).__name__}: {str(error).partition('?')[0]}",
                file=self.shown,
            ) from None
        return _closing_both(file)

    @contextlib.contextmanager
    def _decompressed(self, raw: BinaryIO) -> Iterator[BinaryIO]:
        if self._compression == "gzip":
            with gzip.open(raw) as file, io.BufferedReader(cast("Any", file), CHUNK) as buffered:
                yield buffered
        elif self._compression == "zstd":
            with extra_needed(f"reading {self.shown}", "zstd"):
                import zstandard
            reader = zstandard.ZstdDecompressor().stream_reader(raw, read_across_frames=True)
            try:
                with io.BufferedReader(cast("Any", reader), CHUNK) as buffered:
                    yield buffered
            except zstandard.ZstdError as error:
                raise InputError(f"is not a zstd file: {error}", file=self.shown) from None
        else:
            yield raw


def is_utf8(encoding: str) -> bool:
    """Whether an encoding is UTF-8, with or without a byte order mark."""
    return encoding.lower().replace("_", "-") in ("utf-8", "utf8", "utf-8-sig")


@contextlib.contextmanager
def text_of(file: BinaryIO, encoding: str, source: Source) -> Iterator[io.TextIOWrapper]:
    """Decode a file's text, with its line ends unchanged.

    Raises:
        InputError: the encoding is unknown.
    """
    wanted = "utf-8-sig" if is_utf8(encoding) else encoding
    try:
        text = io.TextIOWrapper(file, encoding=wanted, newline="")
    except LookupError:
        raise InputError(f"unknown encoding '{encoding}'", file=source.shown) from None
    try:
        yield text
    finally:
        text.detach()


WORKBOOK = "is a spreadsheet under another name: save it as CSV (UTF-8) in your spreadsheet program"
BEGINNINGS = {
    b"PK\x03\x04": WORKBOOK,  # .xlsx and .ods, which are zip archives
    b"\xd0\xcf\x11\xe0": WORKBOOK,  # .xls
    b"\x1f\x8b": "is compressed: name it .gz, as in answers.csv.gz",
    b"\xff\xfe": "is UTF-16 text: save it as CSV (UTF-8)",
    b"\xfe\xff": "is UTF-16 text: save it as CSV (UTF-8)",
}
"""First bytes of files that are not UTF-8 text, with advice for each."""


def not_in_encoding(error: UnicodeError, encoding: str, source: Source, line: int) -> InputError:
    """The error for `line` or one of the next lines that is not valid in the encoding."""
    if not source.remote:
        with open_file(Path(source.address)) as file:
            begin = file.read(1000)
        advice = BEGINNINGS.get(begin[:4]) or BEGINNINGS.get(begin[:2])
        if advice is None and b"\0" in begin:
            advice = "has zero bytes, so it is not UTF-8 text: save the table as CSV (UTF-8)"
        if advice:
            return InputError(advice, file=source.shown)
    if isinstance(error, UnicodeDecodeError):
        line += error.object[: error.start].count(b"\n")
    reason = error.reason if isinstance(error, UnicodeDecodeError) else str(error)
    return InputError(
        f"is not {encoding} text from about this line on ({reason}); save it as UTF-8, for "
        "example: iconv -f cp1252 -t utf8 OLD > NEW",
        file=source.shown,
        line=line,
    )


class _Chunks(io.RawIOBase):
    """An fsspec file as a raw stream, using only its `read`."""

    def __init__(self, file: IO[bytes]) -> None:
        self._file = file

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: Any) -> int:
        try:
            data = self._file.read(len(buffer))
        except OSError:
            raise
        except Exception as error:  # a client library's own
            raise OSError(f"{type(error).__name__}: {error}") from error
        buffer[: len(data)] = data
        return len(data)


@contextlib.contextmanager
def _closing_both(file: IO[bytes]) -> Iterator[BinaryIO]:
    with file, io.BufferedReader(_Chunks(file), CHUNK) as buffered:
        yield cast("BinaryIO", buffered)
