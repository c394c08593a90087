"""Documents as text: Markdown and plain text as they are; PDF, HTML and DOCX converted, once."""

from __future__ import annotations

import hashlib
import io
import os
import re
from collections.abc import Callable
from contextlib import suppress
from importlib.metadata import version
from pathlib import Path

from rubricate._files import user_path
from rubricate.errors import InputError, MissingExtraError, MissingFileError

__all__ = ["DOCUMENT_SUFFIXES", "read_document_file"]

PLAIN = (".md", ".markdown", ".txt")
MOST_GUESSED = 2**16
"""Bytes that an encoding is guessed from."""
_MAGIC = {b"%PDF-": "a PDF", b"PK\x03\x04": "a ZIP archive, such as DOCX", b"\x89PNG": "an image"}
_CONTROL = re.compile(rb"[\x00-\x08\x0e-\x1a\x1c-\x1f]")


def read_document_file(path: str | Path, *, cache: str | Path | None = None) -> str:
    """The text of a document.

    Args:
        path: a file whose name ends in one of `DOCUMENT_SUFFIXES`.
        cache: a folder where converted text is kept, by the hash of the file's content. Default:
            nothing is kept.

    Raises:
        InputError: there is no such file, it is empty or binary, its text is not UTF-8 (says what
            it seems to be), or it has no text.
        MissingExtraError: its kind needs the extra `documents`.
    """
    path = user_path(path)
    try:
        content = path.read_bytes()
    except FileNotFoundError:
        raise MissingFileError("file not found", file=path) from None
    except OSError as error:
        raise InputError(f"cannot be read: {error.strerror}", file=path) from None
    suffix = path.suffix.lower()
    if suffix in PLAIN:
        text = _decoded(content, path)
    elif suffix in _CONVERTERS:
        text = _converted(content, suffix, path, None if cache is None else user_path(cache))
    else:
        raise InputError(f"not one of {', '.join(DOCUMENT_SUFFIXES)}", file=path)
    if not text.strip():
        raise InputError("there is no text in it", file=path)
    return text


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


def _not_utf8(content: bytes, place: int) -> str:
    from charset_normalizer import from_bytes

    found = from_bytes(content[:MOST_GUESSED]).best()
    if found is None:
        return f"is a binary file, or text in no known encoding (byte {place} is not UTF-8)"
    name = found.encoding
    return (
        f"is not UTF-8 text (byte {place}) but seems to be {name}: save it as UTF-8 "
        f"(iconv -f {name} -t utf-8)"
    )


def _converted(content: bytes, suffix: str, path: Path, cache: Path | None) -> str:
    convert, packages = _CONVERTERS[suffix]
    try:
        versions = [f"{package} {version(package)}" for package in packages]
    except ImportError:
        raise MissingExtraError(f"reading {suffix} files", "documents") from None
    kept = None
    if cache is not None:
        digest = hashlib.blake2b(repr((suffix, versions)).encode(), digest_size=16)
        digest.update(content)
        kept = cache / f"{digest.hexdigest()}.md"
        with suppress(OSError, UnicodeDecodeError):
            return kept.read_bytes().decode()
    try:
        text = convert(content)
    except Exception as error:  # each converter has its own errors for damaged files
        what = f"{type(error).__name__}: {error}"
        raise InputError(f"cannot be converted to text: {what}", file=path) from None
    text = text.encode("utf-8", "replace").decode()
    if kept is not None:
        with suppress(OSError):
            kept.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
            part = kept.with_suffix(f".{os.getpid()}")
            part.write_bytes(text.encode())
            part.replace(kept)
    return text


def _of_pdf(content: bytes) -> str:
    from pypdf import PdfReader

    pages = PdfReader(io.BytesIO(content)).pages
    return "\n\n".join(page.extract_text() for page in pages)


def _of_docx(content: bytes) -> str:
    import mammoth

    return _of_html(mammoth.convert_to_html(io.BytesIO(content)).value.encode())


def _of_html(content: bytes) -> str:
    from bs4 import BeautifulSoup
    from markdownify import MarkdownConverter

    soup = BeautifulSoup(content, "html.parser")
    for hidden in soup(["head", "script", "style", "noscript", "template"]):
        hidden.decompose()
    converter = MarkdownConverter(heading_style="ATX", bullets="-")
    return str(converter.convert_soup(soup))


_CONVERTERS: dict[str, tuple[Callable[[bytes], str], tuple[str, ...]]] = {
    ".pdf": (_of_pdf, ("pypdf",)),
    ".docx": (_of_docx, ("mammoth", "markdownify")),
    ".html": (_of_html, ("markdownify",)),
    ".htm": (_of_html, ("markdownify",)),
}
DOCUMENT_SUFFIXES = (*PLAIN, *_CONVERTERS)
"""What the names of documents that can be read end in."""
