"""Parses the options for workers: how many, where, and with which resources."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from rubricate.errors import InputError

_FORM = re.compile(r"(?:(?P<count>[0-9]{1,6})(?:@(?!$)|$))?(?P<address>.*)")
_ADDRESS = re.compile(
    r"auto|(?:ray://)?[^\s/@:]+:[0-9]{1,5}|(?:ray://)?\[[0-9a-fA-F:]+\]:[0-9]{1,5}"
)
_RESOURCE = re.compile(r"([A-Za-z][\w.:-]*)=([0-9]+(?:\.[0-9]+)?|\.[0-9]+)")


@dataclass(frozen=True, slots=True)
class Fleet:
    """How many workers, and where.

    Attributes:
        count: how many; None for as many as fit.
        address: the address of a Ray cluster; None for this machine.
    """

    count: int | None
    address: str | None

    @classmethod
    def parse(cls, text: int | str) -> Fleet:
        """Parse `8`, `auto`, `ray://head:10001` or `8@ray://head:10001`.

        Raises:
            InputError: the text has another form.
        """
        match = _FORM.fullmatch(str(text))
        count = None if match is None or match["count"] is None else int(match["count"])
        address = None if match is None else match["address"] or None
        if (count is None and address is None) or count == 0 or isinstance(text, bool):
            match = None
        if match is None or (address is not None and not _ADDRESS.fullmatch(address)):
            raise InputError(
                "workers must be a number (8: on this machine), the address of a Ray "
                "cluster (ray://host:10001, host:6379, or auto for the one that this machine is "
                f"in, else one for each core), or both (8@auto); found {text!r}"
            )
        return cls(count, address)


def resources_of(text: str | None) -> dict[str, float]:
    """The resources of a worker by Ray's names, always with `num_cpus`.

    Raises:
        InputError: the text does not have the form `num_gpus=1,num_cpus=0.5`.
    """
    resources = {"num_cpus": 1.0}
    for part in (text or "").split(",") if text is not None else ():
        written = _RESOURCE.fullmatch(part.strip())
        if written is None:
            raise InputError(
                f"worker_resources must be like num_gpus=1 or num_cpus=0.5,num_gpus=1; found "
                f"{text!r}"
            )
        meant = written[1].lower().removeprefix("num_").removesuffix("s")
        if meant in ("cpu", "gpu") and written[1] != f"num_{meant}s":
            raise InputError(f"worker_resources: it is num_{meant}s, not {written[1]}")
        resources[written[1]] = float(written[2])
    return resources


def environment_of(environment: str | Path | Mapping[str, Any] | None) -> dict[str, Any]:
    """Ray's `runtime_env` for the workers.

    Raises:
        InputError: the file cannot be read, or contains something else.
    """
    if environment is None or isinstance(environment, Mapping):
        return dict(environment or {})
    from rubricate._documents import read_document

    document = read_document(environment)
    if not isinstance(document, dict):
        raise InputError(
            "expected Ray's runtime_env: working_dir, py_modules, pip", file=environment
        )
    return document
