"""Documents as text: Markdown and plain text unchanged; PDF, HTML and DOCX converted, once."""

from __future__ import annotations

import hashlib
import json
import os
import re
from codecs import BOM_UTF16_BE, BOM_UTF16_LE
from contextlib import nullcontext, suppress
from importlib.metadata import version
from pathlib import Path

from rubricate._files import leads_out, missing_file, open_file, user_path
from rubricate.dataset.items._conversion import CONVERTERS, Converted, Converter
from rubricate.errors import InputError, errors_within, extra_needed

PLAIN = (".md", ".markdown", ".txt")
MOST_BYTES = 200 * 2**20
"""The largest document file, in bytes."""
RULES = 4
"""Increased whenever the same file gives another text, so that older cached texts are not used."""
MOST_GUESSED = 2**16
"""The maximum number of bytes from which an encoding is guessed."""
_MAGIC = {b"%PDF-": "a PDF", b"PK\x03\x04": "a ZIP archive, such as DOCX", b"\x89PNG": "an image"}
_CONTROL = re.compile(rb"[\x00-\x08\x0e-\x1a\x1c-\x1f]")


def documents_in(folder: Path, *, follow_links: bool = False) -> dict[str, Path]:
    """The documents in a folder by name without suffix, which is the id of their task.

    Args:
        folder: the folder.
        follow_links: whether links may lead out of it. If they may, somebody who sends you a folder
            can make your own files be judged and stored.

    Raises:
        InputError: two have the same name, or a link leads out of the folder.
    """
    files: dict[str, Path] = {}
    for path in sorted(folder.iterdir()):
        if path.suffix.lower() not in DOCUMENT_SUFFIXES:
            continue
        if not follow_links and leads_out(path, folder):
            raise InputError(
                "is a link that leads out of its folder: remove it, or put the text in its place; "
                "if you made the link, give --follow-links (follow_links)",
                file=path,
            )
        if not path.is_file():
            continue
        if path.stem in files:
            other = files[path.stem].name
            raise InputError(f"two files for one task: {other} and {path.name}", file=folder)
        files[path.stem] = path
    return files


def read_document_file(path: str | Path, *, cache: str | Path | None = None) -> str:
    """Return the text of a document; the arguments and errors are those of `read_document`."""
    return read_document(path, cache=cache).text


def read_document(
    path: str | Path, *, cache: str | Path | None = None, converter: Converter | None = None
) -> Converted:
    """Return the text of a document, and the number of characters that an HTML page hides (left
    out).

    PDF, HTML and DOCX are converted within limits of time, memory and size (see `Converter`).

    Args:
        path: a file whose name ends in one of `DOCUMENT_SUFFIXES`.
        cache: a folder for converted text, by the hash of the file's content. Default: no cache.
        converter: the converter; share one among many documents to avoid a process for each.

    Raises:
        InputError: the file does not exist, is empty, binary or too large, its text is not UTF-8
            (the error suggests an encoding), it cannot be converted, or it has no text.
        MissingExtraError: its type needs the extra `documents`.
    """
    path = user_path(path)
    try:
        with open_file(path) as file:
            status = os.fstat(file.fileno())
            if status.st_size > MOST_BYTES:
                raise InputError(
                    f"has {status.st_size / 2**20:,.0f} MB, more than {MOST_BYTES / 2**20:,.0f}",
                    file=path,
                )
            content = file.read(MOST_BYTES)
    except FileNotFoundError:
        raise missing_file(path) from None
    except OSError as error:
        raise InputError(f"cannot be read: {error.strerror}", file=path) from None
    suffix = path.suffix.lower()
    if suffix in PLAIN:
        read = Converted(_decoded(content, path), 0)
    elif suffix in CONVERTERS:
        folder = None if cache is None else user_path(cache)
        read = _converted(content, suffix, path, folder, converter)
    else:
        raise InputError(f"not one of {', '.join(DOCUMENT_SUFFIXES)}", file=path)
    if not read.text.strip():
        raise InputError("there is no text in it", file=path)
    return read


def _decoded(content: bytes, path: Path) -> str:
    what = next((name for magic, name in _MAGIC.items() if content.startswith(magic)), None)
    if what is not None:
        raise InputError(f"is {what}, not text: name it by what it is", file=path)
    try:
        text = content.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        raise InputError(_not_utf8(content, error.start), file=path) from None
    if _CONTROL.search(content):
        raise InputError("is a binary file, not text", file=path)
    return text


def _not_utf8(content: bytes, position: int) -> str:
    if content.startswith((BOM_UTF16_LE, BOM_UTF16_BE)):
        name = "utf_16"
    else:
        try:
            from charset_normalizer import from_bytes
        except ImportError:  # from the extra `documents`; only for a better message
            return f"is not UTF-8 text (byte {position}): save it as UTF-8"
        guess = from_bytes(content[:MOST_GUESSED]).best()
        if guess is None:
            return f"is a binary file, or text in no known encoding (byte {position} is not UTF-8)"
        name = guess.encoding
    return (
        f"is not UTF-8 text (byte {position}) but seems to be {name}: save it as UTF-8 "
        f"(iconv -f {name} -t utf-8)"
    )


def _converted(
    content: bytes, suffix: str, path: Path, cache: Path | None, converter: Converter | None
) -> Converted:
    packages = CONVERTERS[suffix][1]
    with extra_needed(f"reading {suffix} files", "documents"):
        versions = [f"{package} {version(package)}" for package in packages]
    kept = None
    if cache is not None:
        digest = hashlib.blake2b(repr((RULES, suffix, versions)).encode(), digest_size=16)
        digest.update(content)
        kept = cache / f"{digest.hexdigest()}.json"
        with suppress(OSError, ValueError, TypeError):
            return Converted(**json.loads(kept.read_bytes()))
    used = nullcontext(converter) if converter else Converter()
    with errors_within(file=path), used as converting:
        read = converting.convert(suffix, content)
    if kept is not None:
        with suppress(OSError):
            kept.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
            part = kept.with_suffix(f".{os.getpid()}")
            part.write_text(json.dumps(read._asdict()), encoding="utf-8")
            part.replace(kept)
    return read


DOCUMENT_SUFFIXES = (*PLAIN, *CONVERTERS)
"""The suffixes of readable documents."""
