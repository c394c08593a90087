"""Files that a sample refers to relative to its dataset.

A sample's sandbox configuration, its `files`, its `setup` and the media of its user messages may be
paths relative to the dataset's folder. A path that exists becomes absolute; anything else (inline
text, data URIs, URLs) stays unchanged, and so does all of a remote dataset.
"""

from __future__ import annotations

import os

from rubricate.dataset.samples._fields import Resolve
from rubricate.dataset.samples._opening import Source
from rubricate.dataset.samples._sample import Sample, SandboxEnvironmentSpec

MEDIA = ("image", "audio", "video", "document")
"""Types of a message's parts that refer to a file, under a key with the same name."""


def resolver(source: Source | None) -> Resolve | None:
    """Return a function that makes a sample's relative paths absolute; None for a remote
    dataset."""
    if source is None or source.remote:
        return None
    folder = source.folder

    def absolute(value: str) -> str:
        path = os.path.join(folder, value)  # noqa: PTH118 - keeps an absolute value
        if not value or not _exists(path):
            return value
        # Without resolving links, `link/..` would be the folder of the link.
        return os.path.realpath(path) if ".." in value else os.path.normpath(path)

    def resolve(sample: Sample) -> None:
        if sample.sandbox is not None and isinstance(sample.sandbox.config, str):
            config = absolute(sample.sandbox.config)
            if config != sample.sandbox.config:
                sample.sandbox = SandboxEnvironmentSpec(sample.sandbox.type, config)
        if sample.files:
            sample.files = {name: absolute(value) for name, value in sample.files.items()}
        if sample.setup:
            sample.setup = absolute(sample.setup)
        for message in () if isinstance(sample.input, str) else sample.input:
            if message.role == "user" and not isinstance(message.content, str):
                for part in message.content:
                    if part.type in MEDIA:
                        setattr(part, part.type, absolute(getattr(part, part.type)))

    return resolve


def _exists(path: str) -> bool:
    try:
        return os.path.exists(path)  # noqa: PTH110
    except ValueError:  # a null character
        return False
