"""What items belong to, by a field of their metadata."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from rubricate._documents import suggestion
from rubricate.analysis._finished import FinishedRun
from rubricate.errors import InputError

__all__ = ["groups_by"]


def groups_by(run: FinishedRun, field: str | None) -> Mapping[str, Any]:
    """Each item's group: its value of a field of the metadata, or itself where `field` is None.

    Raises:
        InputError: an item lacks the field, or has no number or short text there.
    """
    if field is None:
        return {row.item: row.item for row in run.rows}
    metadata = {row.item: row.metadata for row in run.rows}
    lacking = [item for item, fields in metadata.items() if field not in fields]
    if not lacking:
        return {item: fields[field] for item, fields in metadata.items()}
    known = [*dict.fromkeys(name for fields in metadata.values() for name in fields)]
    if len(lacking) < len(metadata):
        raise InputError(
            f"{len(lacking)} of {len(metadata)} items have no metadata '{field}' to group them "
            f"by, such as {lacking[0]}",
            file=run.path,
        )
    near = suggestion(field, known)
    hint = f"did you mean '{near}'?" if near else f"there is {', '.join(known) or 'none at all'}"
    raise InputError(
        f"no item has metadata '{field}' (a number or a short text) to group them by; {hint}",
        file=run.path,
    )
