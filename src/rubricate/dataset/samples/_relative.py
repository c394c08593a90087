"""Files that a sample names relative to its dataset.

A sample's sandbox configuration, its `files`, its `setup` and the media of its user messages may be
paths relative to the dataset's folder. One that is there becomes an absolute path (or address);
anything else (inline text, data URIs, addresses) stays what it is.

Of a remote dataset, folders are listed, each once. Nothing but a folder that a value which looks
like a path names is ever asked for, so that inline content stays here. A folder that is not there
has no files; one that its server does not list is warned about.
"""

from __future__ import annotations

import os
import re
import warnings
from typing import Any

from rubricate.dataset.samples._chat import (
    ChatMessageUser,
    ContentAudio,
    ContentDocument,
    ContentImage,
    ContentVideo,
)
from rubricate.dataset.samples._opening import Source
from rubricate.dataset.samples._sample import Sample, SandboxEnvironmentSpec

_PATH = re.compile(r"(?:\.{1,2}/)*[\w@+-][\w.@+-]*(?:/[\w.@+-]+)*/?|\.{1,2}", re.ASCII)
_LONGEST = 512
"""Characters that a value may have to count as a remote path."""


class RelativeFiles:
    """Finds files beside a dataset."""

    def __init__(self, source: Source) -> None:
        self._source = source
        self._folder = source.folder
        self._listed: dict[str, frozenset[str]] = {}
        self._filesystem: Any = None

    def resolve(self, sample: Sample) -> None:
        """Put absolute paths in place of relative ones, in place."""
        if sample.sandbox is not None and isinstance(sample.sandbox.config, str):
            config = self._found(sample.sandbox.config)
            if config != sample.sandbox.config:
                sample.sandbox = SandboxEnvironmentSpec(sample.sandbox.type, config)
        if sample.files:
            sample.files = {name: self._found(value) for name, value in sample.files.items()}
        if sample.setup:
            sample.setup = self._found(sample.setup)
        if isinstance(sample.input, str):
            return
        for message in sample.input:
            if isinstance(message, ChatMessageUser) and not isinstance(message.content, str):
                for part in message.content:
                    if isinstance(part, ContentImage):
                        part.image = self._found(part.image)
                    elif isinstance(part, ContentAudio):
                        part.audio = self._found(part.audio)
                    elif isinstance(part, ContentVideo):
                        part.video = self._found(part.video)
                    elif isinstance(part, ContentDocument):
                        part.document = self._found(part.document)

    def _found(self, value: str) -> str:
        if not value:
            return value
        if self._source.remote:
            return self._found_remote(value)
        path = os.path.join(self._folder, value)  # noqa: PTH118 - keeps an absolute value
        if not _exists(path):
            return value
        # Without a look at the disk, `link/..` would lead to where the link is.
        return os.path.realpath(path) if ".." in value else os.path.normpath(path)

    def _found_remote(self, value: str) -> str:
        if len(value) > _LONGEST or not _PATH.fullmatch(value):
            return value
        scheme, separator, rest = self._folder.partition("://")
        host, _, base = rest.partition("/")
        parts = [part for part in base.split("/") if part]
        for part in value.rstrip("/").split("/"):
            if part == "..":
                if not parts:
                    return value
                parts.pop()
            elif part != ".":
                parts.append(part)
        address = f"{scheme}{separator}{'/'.join([host, *parts])}"
        folder, _, name = address.rpartition("/")
        return address if name in self._names(folder) else value

    def _names(self, folder: str) -> frozenset[str]:
        """The names in a remote folder; none where it cannot be listed."""
        if folder not in self._listed:
            if self._filesystem is None:
                self._filesystem = self._source.filesystem()[0]
            try:
                entries = self._filesystem.ls(
                    f"{folder}/" if self._source.is_web else folder, detail=False
                )
            except FileNotFoundError:
                entries = []
            except Exception as error:  # each file system has its own
                entries = []
                reason = f"{type(error).__name__}: {str(error).partition('?')[0]}"
                warnings.warn(
                    f"{folder} cannot be listed ({reason}): values that may be paths in it are "
                    "kept as they are",
                    stacklevel=2,
                )
            names = (str(entry).partition("?")[0].rstrip("/") for entry in entries)
            self._listed[folder] = frozenset(name.rpartition("/")[2] for name in names)
        return self._listed[folder]


def _exists(path: str) -> bool:
    try:
        return os.path.exists(path)  # noqa: PTH110
    except ValueError:  # a null character
        return False
