"""PDF, HTML and DOCX to Markdown, in a child process with limits.

An untrusted document may be a bomb: small, but hundreds of megabytes or hours of work once
unpacked. `Converter` sends documents to a child process with limited memory, and ends it if one
takes too long; the next document gets a new process. `serve` is the code of the child.
"""

from __future__ import annotations

import io
import json
import os
import re
import subprocess
import sys
import threading
import zipfile
from collections.abc import Callable, Mapping
from contextlib import suppress
from typing import TYPE_CHECKING, Any, NamedTuple

from rubricate.errors import InputError

if TYPE_CHECKING:
    from bs4 import BeautifulSoup, Tag

SECONDS = 60.0
"""The time limit for one document, in seconds."""
MEMORY = 2 * 2**30
"""The memory limit of the child, in bytes."""
UNPACKED = 64 * 2**20
"""The limit for the parts of a DOCX file without its media, in bytes."""
MEDIA = 1024 * 2**20
"""The limit for its media, which are listed but not unpacked, in bytes."""
LONGEST = 20 * 10**6
"""The limit for the text of a document, in characters."""
DEPTH = 5000
"""The child's recursion limit, because converters recurse into the elements of a page."""
NEVER_SHOWN = [
    "head", "title", "script", "style", "noscript", "template", "datalist", "iframe", "noframes",
    "noembed", "canvas", "audio", "video", "defs", "metadata", "desc",
]  # fmt: skip
"""Elements whose content is never displayed: it is not text of the page, and not counted as
hidden."""
_NOTHING = re.compile(r"(?:0+\.?0*|\.0+)(?:%|[a-z]+)?")
"""A font size of 0, in any unit."""
_START = "import sys; sys.path[:] = {path!r}; from {module} import serve; serve()"


class Converted(NamedTuple):
    """The text of a document, and the number of characters that the document hides (left out)."""

    text: str
    hidden: int


class Converter:
    """Converts documents. As a context manager it ends its process."""

    def __init__(self) -> None:
        self._process: subprocess.Popen[bytes] | None = None
        self._too_long = False

    def __enter__(self) -> Converter:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        """End the process."""
        process, self._process = self._process, None
        if process is None:
            return
        process.kill()
        for pipe in (process.stdin, process.stdout):
            with suppress(OSError):
                assert pipe is not None
                pipe.close()
        process.wait()

    def convert(self, suffix: str, content: bytes) -> Converted:
        """Return the text of a document of the type that a suffix names.

        Raises:
            InputError: it cannot be converted, or not within the limits.
        """
        if self._process is None:
            start = _START.format(path=sys.path, module=__name__)
            self._process = subprocess.Popen(
                [sys.executable, "-I", "-c", start],
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=subprocess.DEVNULL,
            )
        process = self._process
        assert process.stdin is not None
        assert process.stdout is not None
        self._too_long = False
        timer = threading.Timer(SECONDS, self._end, [process])
        timer.daemon = True
        timer.start()
        try:
            header = {"suffix": suffix, "size": len(content)}
            process.stdin.write(json.dumps(header).encode() + b"\n")
            process.stdin.write(content)
            process.stdin.flush()
            size = int(process.stdout.readline())
            reply: dict[str, Any] = json.loads(process.stdout.read(size))
        except (OSError, ValueError):
            self.close()
            why = "the converter ended; is it damaged?"
            if self._too_long:
                why = f"it takes more than {SECONDS:g} s"
            raise _unconvertible(why) from None
        except BaseException:  # Ctrl-C: an unread answer must not go to the next document
            self.close()
            raise
        finally:
            timer.cancel()
        if "error" in reply:
            raise _unconvertible(reply["error"])
        return Converted(reply["text"], reply["hidden"])

    def _end(self, process: subprocess.Popen[bytes]) -> None:
        self._too_long = True
        process.kill()


def _unconvertible(why: str) -> InputError:
    return InputError(f"cannot be converted to text: {why}")


class _RefusedError(Exception):
    """A document cannot be converted, for the reason in the message."""


def serve() -> None:
    """Convert documents from standard input: a line with suffix and size, then `size` bytes."""
    with suppress(ImportError, ValueError, OSError):
        import resource

        resource.setrlimit(resource.RLIMIT_AS, (MEMORY, MEMORY))
        resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    import signal

    for name in ("SIGINT", "SIGHUP"):  # the parent process ends it
        if number := getattr(signal, name, None):
            signal.signal(number, signal.SIG_IGN)
    answers = os.fdopen(os.dup(1), "wb")
    os.dup2(2, 1)  # keep converters' output out of the answers
    threading.stack_size(256 * 2**20)
    sys.setrecursionlimit(DEPTH)
    worker = threading.Thread(target=_serve, args=(answers,))
    worker.start()
    worker.join()


def _serve(answers: io.BufferedWriter) -> None:
    requests = sys.stdin.buffer
    for line in iter(requests.readline, b""):
        header = json.loads(line)
        answer = _answer(header["suffix"], requests.read(header["size"]))
        data = json.dumps(answer).encode()
        answers.write(b"%d\n" % len(data) + data)
        answers.flush()


def _answer(suffix: str, content: bytes) -> dict[str, Any]:
    try:
        text, hidden = CONVERTERS[suffix][0](content)
    except _RefusedError as error:
        return {"error": str(error)}
    except RecursionError:
        return {"error": "it is nested too deeply"}
    except MemoryError:
        return {"error": f"it takes more than {MEMORY / 2**30:g} GB of memory"}
    except Exception as error:  # each converter has its own errors for damaged files
        return {"error": f"{type(error).__name__}: {error}"}
    if len(text) > LONGEST:
        return {"error": f"it has {len(text):,} characters of text, more than {LONGEST:,}"}
    return {"text": text.encode("utf-8", "replace").decode(), "hidden": hidden}


def _of_pdf(content: bytes) -> Converted:
    from pypdf import PdfReader
    from pypdf.errors import FileNotDecryptedError

    try:
        pages = PdfReader(io.BytesIO(content)).pages
        return Converted("\n\n".join(page.extract_text() for page in pages), 0)
    except FileNotDecryptedError:
        raise _RefusedError("it is encrypted") from None


def _of_docx(content: bytes) -> Converted:
    import mammoth

    with zipfile.ZipFile(io.BytesIO(content)) as archive:  # reads no more than the declared size
        parts = archive.infolist()
    media = sum(part.file_size for part in parts if "/media/" in part.filename)
    size = sum(part.file_size for part in parts) - media
    for unpacked, most in ((size, UNPACKED), (media, MEDIA)):
        if unpacked > most:
            raise _RefusedError(
                f"unpacked it has {unpacked / 2**20:,.0f} MB, more than {most / 2**20:,.0f}"
            )
    without_data = mammoth.images.img_element(lambda image: {"src": ""})
    page = mammoth.convert_to_html(io.BytesIO(content), convert_image=without_data)
    return _of_html(page.value.encode())


def _of_html(content: bytes) -> Converted:
    from bs4 import BeautifulSoup
    from markdownify import MarkdownConverter

    # If an attribute is duplicate, browsers use the first one.
    soup = BeautifulSoup(content, "html.parser", on_duplicate_attribute="ignore")
    hidden = leave_out_hidden(soup)
    converter = MarkdownConverter(heading_style="ATX", bullets="-")
    return Converted(str(converter.convert_soup(soup)), hidden)


def leave_out_hidden(soup: BeautifulSoup) -> int:
    """Remove what a page's attributes hide; return the number of characters of that text.

    An element is removed as a whole with `hidden`, `aria-hidden="true"` or the inline style
    `display: none`; its own text with `visibility: hidden` or `font-size: 0`, which elements inside
    it can reset. Style sheets are not read. Parts that are never displayed (comments, scripts, the
    head) are also removed, but not counted.
    """
    from bs4.element import PreformattedString, Tag

    for part in [*soup(NEVER_SHOWN), *soup.find_all(string=True)]:
        if isinstance(part, Tag | PreformattedString):
            part.extract()
    hidden = 0
    pending: list[tuple[Tag, Mapping[str, str]]] = [(soup, {})]
    while pending:  # no recursion: a page may be deeply nested
        parent, inherited = pending.pop()
        for child in list(parent.contents):
            if isinstance(child, Tag):
                style = _inline_style(child)
                if not _is_left_out(child, style):
                    pending.append((child, {**inherited, **style}))
                    continue
            elif not (_is_unseen(inherited) and child.get_text().strip()):
                continue
            hidden += len("".join(child.get_text().split()))
            child.extract()
    return hidden


def _inline_style(element: Tag) -> dict[str, str]:
    """The properties that an element's `style` sets for its own text, in lower case."""
    pairs = (part.partition(":") for part in str(element.get("style", "")).lower().split(";"))
    style = {name.strip(): value.partition("!")[0].strip() for name, _, value in pairs}
    return {name: style[name] for name in ("display", "visibility", "font-size") if name in style}


def _is_left_out(element: Tag, style: Mapping[str, str]) -> bool:
    if "display" in style:  # even for an element with `hidden`
        return style["display"] == "none"
    return element.has_attr("hidden") or str(element.get("aria-hidden")).lower() == "true"


def _is_unseen(style: Mapping[str, str]) -> bool:
    is_hidden = style.get("visibility") in ("hidden", "collapse")
    return is_hidden or bool(_NOTHING.fullmatch(style.get("font-size", "")))


CONVERTERS: dict[str, tuple[Callable[[bytes], Converted], tuple[str, ...]]] = {
    ".pdf": (_of_pdf, ("pypdf",)),
    ".docx": (_of_docx, ("mammoth", "markdownify")),
    ".html": (_of_html, ("markdownify",)),
    ".htm": (_of_html, ("markdownify",)),
}
"""The converter of each suffix, and the packages that it needs."""
