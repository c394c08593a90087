"""`rubricate schema`."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from rubricate.cli._printing import print_json
from rubricate.errors import InputError


def schema(
    name: Annotated[str | None, typer.Argument(help="Which one. [list all]")] = None,
    output: Annotated[
        Path | None,
        typer.Option("--output", "-o", help="A folder: write all of them there, a file each."),
    ] = None,
) -> int:
    """Print the JSON Schema of a file or of a command's JSON, or list all."""
    from rubricate._files import write_text
    from rubricate._spelling import suggestion
    from rubricate.cli._schemas import SCHEMAS, schema_of

    if name is not None and output is not None:
        raise InputError("--output writes all schemas: leave out the name")
    if name is not None:
        if name not in SCHEMAS:
            near = suggestion(name, SCHEMAS)
            hint = f"did you mean '{near}'?" if near else f"there is {', '.join(SCHEMAS)}"
            raise InputError(f"no schema '{name}'; {hint}")
        print_json(schema_of(name))
        return 0
    if output is not None:
        import json

        try:
            output.mkdir(parents=True, exist_ok=True)
        except OSError as error:
            raise InputError(f"cannot be made: {error.strerror}", file=output) from None
        for one in SCHEMAS:
            text = json.dumps(schema_of(one), indent=2, ensure_ascii=False)
            write_text(output / f"{one}.schema.json", f"{text}\n")
        print(f"{output}: {len(SCHEMAS)} schemas")
        return 0
    width = max(map(len, SCHEMAS))
    for one, (what, _) in SCHEMAS.items():
        print(f"{one.ljust(width)}  {what}")
    return 0
