"""Every error that rubricate raises on purpose.

    RubricateError
    ├── InputError (ValueError)         a file, option or value that cannot be used; says where
    │   ├── MissingFileError (FileNotFoundError)
    │   └── MissingKeyError             a judge's API key is not set; names the variable
    ├── MissingExtraError (ImportError) a feature's optional package is not installed
    ├── ModelError                      one request to a model failed; carries a kind
    ├── UnreadableReply                 a model answered, but not in the agreed form
    ├── NoScoreError                    the judge gave no usable score; says why
    ├── JudgementError                  a text in an assertion could not be judged
    ├── JournalError                    a run folder cannot be written, read or locked
    └── RunStopped                      a run ended early; what was judged is kept

A failed judgement is not an exception but a `Verdict` with the status `failed`. Attributes from
other packages have the type `Any` here, and docstrings name the class: every package raises these
errors, so this module cannot import them.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from types import UnionType
from typing import Any, Literal

from rubricate._usage import Usage

ModelErrorKind = Literal[
    "connection",  # no connection, or it broke before an answer came
    "timeout",  # no answer in time, or 408
    "rate_limit",  # 429
    "loading",  # 503: the server has not loaded the model yet
    "server",  # 5xx, 409, 423, 425, or an error object in place of an answer
    "truncated",  # the HTTP body ended early or was not the promised JSON
    "auth",  # 401, 403
    "not_found",  # 404: no such model or address
    "bad_request",  # any other 4xx
    "judge_error",  # a function or model of the user's own raised, or returned no reply
    "context_length",  # the prompt does not fit the model
    "refused",  # the model or its filter declined to answer
    "deadline",  # the time that one judgement may take with all its requests is over
    "expired",  # the batch that it was in ended without an answer
    "files",  # this machine has no file descriptor left for a connection
    "not_run",  # never asked: the model had been given up before
]

InputProblem = Literal[
    "empty",  # the file has nothing in it
    "no_json",  # the text is not JSON
    "code",  # of the rubric: it may not run, or is not there
]
"""Problems for which those further out know more to do than the message says."""

LONGEST_KEY = 100
"""Longest key in the path of an error, in characters; an annotator's name can be one."""
LONGEST = 2000
"""Longest message about input, in characters. Some messages list all names, and names and values
in a file can have any length."""
RETRYABLE: frozenset[str] = frozenset(
    {"connection", "timeout", "rate_limit", "loading", "server", "truncated"}
)
FATAL: frozenset[str] = frozenset({"auth", "not_found"})
WHATEVER_THE_TEXT: frozenset[str] = FATAL | {"connection", "timeout", "deadline"}
"""Kinds which mean that the endpoint is dead, independent of the text."""
UNANSWERED: frozenset[str] = frozenset(
    {"connection", "timeout", "truncated", "refused", "deadline"}
)
"""Kinds whose request may have been processed and billed."""
GAVE_UP = frozenset({499, 504, 524})
"""Statuses of a gateway that stopped waiting for the model, which may still have answered."""


class RubricateError(Exception):
    """Base of all errors raised on purpose."""


class NamedPart(str):
    """A part of a path that names what the parts before it refer to: `criterion 'tone'`."""


def document_path(parts: Sequence[str | int]) -> str:
    """Format a path in a document: `items[3].ground_truth[1]`.

    A name replaces the index before it: `criterion 'tone': options[1]`.
    """
    shown_parts: list[str | int] = []
    for part in parts:
        if isinstance(part, NamedPart) and shown_parts and isinstance(shown_parts[-1], int):
            shown_parts.pop()
            if shown_parts[-1:] in (["rubric"], ["criteria"], ["items"]):
                shown_parts.pop()
        shown_parts.append(part)
    text = ""
    for part in shown_parts:
        if isinstance(part, int):
            text += f"[{part}]"
            continue
        key = part if len(part) <= LONGEST_KEY else f"{part[:LONGEST_KEY]}..."
        begins = not text or text.endswith(": ")
        if isinstance(part, NamedPart):
            text += f"{key}: " if begins else f": {key}: "
        else:
            text += key if begins else f".{key}"
    return text.removesuffix(": ")


def shown(value: object) -> str:
    """A value for a message, as JSON of at most 60 characters.

    Only that much of it is serialised, because aliases can make data far larger than their file.
    """
    if isinstance(value, float):
        return str(value)
    if isinstance(value, str):
        value = value[:60]
    text = ""
    try:
        for part in _ENCODER.iterencode(value):
            text += part[:61]
            if len(text) > 60:
                return f"{text[:57]}..."
    except (ValueError, TypeError, RecursionError):  # within itself, keys or digits that JSON lacks
        return f"{text[:50]}... ({type(value).__name__})" if text else type(value).__name__
    return text


_ENCODER = json.JSONEncoder(ensure_ascii=False, default=lambda other: type(other).__name__)


LONGEST_ERROR = 300
"""Longest shown message of a foreign error, in characters: a line or two. Longer ones, such as
tracebacks, are cut; the log at debug level has them in full."""


def described(error: BaseException) -> str:
    """An error of foreign code in one short line: `KeyError: 'score'`.

    Its message can be anything: long, of several lines, with control characters, or code that
    raises.
    """
    from rubricate._terminal import clean

    name = type(error).__name__
    try:
        message = str(error)
    except Exception as problem:
        message = f"its message cannot be shown ({type(problem).__name__})"
    text = clean(" ".join(f"{name}: {message[: 2 * LONGEST_ERROR]}".split())).removesuffix(":")
    return text if len(text) <= LONGEST_ERROR else f"{text[: LONGEST_ERROR - 3]}..."


class InputError(RubricateError, ValueError):
    """Something given to rubricate cannot be used.

    Attributes:
        message: what is wrong and what to do, without the location.
        file: the file, if it came from one.
        path: keys and indices that lead to the problem inside the document.
        line, column: 1-based position in the file, if known.
        problem: the kind of problem, if callers may want to add advice.
    """

    def __init__(
        self,
        message: str,
        *,
        file: Path | str | None = None,
        path: Sequence[str | int] = (),
        line: int | None = None,
        column: int | None = None,
        problem: InputProblem | None = None,
    ) -> None:
        self.message = message if len(message) <= LONGEST else f"{message[:LONGEST]}..."
        self.file = None if file is None else str(file)
        self.path = tuple(path)
        self.line = line
        self.column = column
        self.problem = problem
        Exception.__init__(self, str(self))  # a second base class may take other arguments

    def __str__(self) -> str:
        place = self.file or ""
        if self.line is not None:
            place += f":{self.line}" if place else f"line {self.line}"
            if self.column is not None:
                place += f":{self.column}"
        where = ": ".join(part for part in (place, document_path(self.path)) if part)
        return f"{where}: {self.message}" if where else self.message

    def within(
        self,
        path: Sequence[str | int] = (),
        *,
        file: Path | str | None = None,
        line: int | None = None,
    ) -> InputError:
        """The same error with a longer path.

        Args:
            path: keys and indices that lead to the part in which it occurred.
            file: the file, if not known yet.
            line: the line, from 1, if not known yet.
        """
        return type(self)(
            self.message,
            file=self.file or file,
            path=(*path, *self.path),
            line=self.line if self.line is not None else line,
            column=self.column,
            problem=self.problem,
        )


@contextmanager
def errors_within(
    *path: str | int, file: Path | str | None = None, line: int | None = None
) -> Iterator[None]:
    """Add the location to any `InputError` raised inside; see `InputError.within`."""
    try:
        yield
    except InputError as error:
        raise error.within(path, file=file, line=line) from None


def check_type(
    value: object, kind: type | UnionType, expected: str, path: Sequence[str | int] = ()
) -> None:
    """Raise `InputError` if a value has the wrong type.

    Args:
        value: the value.
        kind: the allowed types.
        expected: the expected type, in words.
        path: its path in the document.
    """
    if not isinstance(value, kind):
        raise InputError(f"expected {expected}, found {shown(value)}", path=path)


class MissingFileError(InputError, FileNotFoundError):
    """A file that was named does not exist."""

    def __str__(self) -> str:
        return InputError.__str__(self)


class MissingKeyError(InputError):
    """There is no API key for the judge. The message names the variable."""


class MissingExtraError(RubricateError, ImportError):
    """A feature needs an optional package. The message has the pip line.

    Args:
        feature: the feature that needs it.
        extra: the name of the extra, such as `ray`.
    """

    def __init__(self, feature: str, extra: str) -> None:
        super().__init__(f"{feature} needs an extra: pip install {_with_extra(extra)}")


@contextmanager
def extra_needed(feature: str, extra: str) -> Iterator[None]:
    """Turn an `ImportError` raised inside into a `MissingExtraError`."""
    try:
        yield
    except ImportError:
        raise MissingExtraError(feature, extra) from None


def _with_extra(extra: str) -> str:
    """The argument for pip to install this package with an extra, from its present source."""
    from importlib.metadata import PackageNotFoundError, distribution

    try:  # absent if it came from the index; PEP 610
        source = json.loads(distribution("rubricate").read_text("direct_url.json") or "{}")
    except (PackageNotFoundError, ValueError):
        source = {}
    url = source.get("url", "")
    if source.get("dir_info", {}).get("editable"):
        from urllib.parse import urlsplit
        from urllib.request import url2pathname

        return f"-e '{url2pathname(urlsplit(url).path)}[{extra}]'"
    return f"'rubricate[{extra}] @ {url}'" if url else f"'rubricate[{extra}]'"


class ModelError(RubricateError):
    """One request to a model failed.

    Args:
        message: what went wrong, in a line.

    Attributes:
        kind: what went wrong, one of `ModelErrorKind`.
        status: the HTTP status, if an answer came.
        retry_after: seconds that the endpoint asked us to wait, if it did.
        unsent: whether there was no connection, so that the request itself cannot be the cause.
        usage: the usage of the requests sent before giving up. Default: one request, with an
            unknown cost (None) if it may have been processed, else 0.
        sent: the messages as sent, each a `Message`, if the model changed them.
    """

    def __init__(
        self,
        kind: ModelErrorKind,
        message: str,
        *,
        status: int | None = None,
        retry_after: float | None = None,
        unsent: bool = False,
        usage: Usage | None = None,
    ) -> None:
        super().__init__(message)
        self.kind: ModelErrorKind = kind
        self.status = status
        self.retry_after = retry_after
        self.unsent = unsent
        if usage is None:
            is_unanswered = status is None and kind in UNANSWERED and not unsent
            usage = Usage(1, cost=None if is_unanswered or status in GAVE_UP else 0.0)
        self.usage = usage
        self.sent: tuple[Any, ...] | None = None

    def copy(self, message: str | None = None, usage: Usage | None = None) -> ModelError:
        """The same error for another request, or with another message.

        Args:
            message: the message. Default: the same one.
            usage: the usage. Default: that of a new error.
        """
        return ModelError(
            self.kind,
            str(self) if message is None else message,
            status=self.status,
            retry_after=self.retry_after,
            usage=usage,
        )

    @property
    def retryable(self) -> bool:
        """Whether the same request may succeed later."""
        return self.kind in RETRYABLE

    @property
    def fatal(self) -> bool:
        """Whether every other request of the run would fail in the same way."""
        return self.kind in FATAL


class UnreadableReply(RubricateError):
    """A model's reply does not have the required form. The message says what is wrong."""


class NoScoreError(RubricateError):
    """The judge gave no score.

    Attributes:
        verdict: the `Verdict`: `failed` with its cause, or `abstained`.
    """

    def __init__(self, message: str, *, verdict: Any) -> None:
        super().__init__(message)
        self.verdict = verdict


class JudgementError(RubricateError):
    """A text in an assertion could not be judged. The message says why.

    Attributes:
        result: the `Result` with what was judged, and the failed verdicts.
    """

    def __init__(self, message: str, *, result: Any) -> None:
        super().__init__(message)
        self.result = result


class JournalError(RubricateError):
    """A run folder's files cannot be used. The message names the file."""


class RunStopped(RubricateError):
    """A run ended before all was judged.

    Args:
        message: why it ended, in a line.

    Attributes:
        result: the `Result` with what was judged, which is also in the run folder, if any. None for
            a stream, which has passed all results on by then.
        report: the `PairReport` or `RedTeamReport` on what was judged, for such a run.
        interrupted: whether someone stopped it, rather than an error.
    """

    def __init__(
        self,
        message: str,
        *,
        result: Any = None,
        report: Any = None,
        interrupted: bool = False,
    ) -> None:
        super().__init__(message)
        self.result = result
        self.report = report
        self.interrupted = interrupted
