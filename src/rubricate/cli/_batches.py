"""`rubricate batches`: pending batches at providers."""

from __future__ import annotations

from datetime import UTC, datetime

from rubricate._files import user_path
from rubricate.cli._commands import command
from rubricate.cli._printing import JsonOutput, print_json
from rubricate.errors import InputError, ModelError
from rubricate.judge import Batch, BatchModel, batches_in
from rubricate.judge.models import address_of
from rubricate.settings import option


class BatchesSettings(JsonOutput):
    """The options of `rubricate batches`."""

    folder: str = option("runs", "A run folder, or a folder with run folders.", is_argument=True)
    cancel: bool = option(
        False, "Cancel them at the provider. Answers that exist by then are paid for, and used."
    )
    base_url: str | None = option(
        None, "The address of your own server, to cancel its batches, too."
    )


@command(BatchesSettings)
def batches(settings: BatchesSettings) -> None:
    """List pending batches: run folder, model, requests, since when, id."""
    folder = user_path(settings.folder)
    if not folder.is_dir():
        raise InputError("no such folder: name one that has run folders", file=folder)
    out = [pair for pair in batches_in(folder) if pair[1].state != "ended"]
    rows = [
        {
            "run": str(run),
            "model": batch.model,
            "requests": len(batch.rows),
            "since": datetime.fromtimestamp(batch.created, UTC).isoformat(timespec="seconds"),
            "id": batch.id,
        }
        for run, batch in out
    ]
    if settings.cancel:
        import asyncio

        for row, (_, batch) in zip(rows, out, strict=True):
            row["cancelled"] = asyncio.run(_cancelled(batch, settings.base_url))
    if settings.json_output:
        print_json({"batches": rows})
        return
    for row, (_, batch) in zip(rows, out, strict=True):
        cells = [f"{row['run']}: {row['requests']} requests to {row['model']}", batch.since]
        cells.append(str(row["id"] or "not known yet if it was sent"))
        if settings.cancel:
            cells.append(str(row["cancelled"]))
        print(", ".join(cells))
    if not rows:
        print(f"No batches are out of the runs in {settings.folder}.")


async def _cancelled(batch: Batch, base_url: str | None) -> str:
    """Cancel a batch, and return the outcome in words.

    The run folder may come from somebody else, so an address that only it names gets no request and
    no key.
    """
    if batch.id is None:
        return "not sent: the same command as before sends it or finds it"
    if batch.url == address_of(batch.model, None):
        base_url = None
    elif base_url is None or batch.url != address_of(batch.model, base_url):
        return f"not cancelled: if the server is yours, give --base-url {batch.url}"
    try:
        model = BatchModel(batch.model, base_url=base_url)
        await model.protocol.cancel(model.http, batch.id)
    except (InputError, ModelError) as error:
        return f"not cancelled: {error}"
    return "cancelled"
