"""`rubricate trust certify`."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from rubricate.cli._options import Groups, Undecided, undecided_policy


def certify(
    run: Annotated[Path, typer.Argument(help="A run folder with human labels.")],
    output: Annotated[
        Path, typer.Option("--output", "-o", help="Where to write the certificate.")
    ] = Path("certificate.json"),
    undecided: Undecided = "exclude",
    groups: Groups = None,
    json_output: Annotated[bool, typer.Option("--json", help="Print the certificate.")] = False,
) -> int:
    """Write down how far judge, prompt and rubric agreed."""
    import json

    from rubricate._files import write_text
    from rubricate.analysis import certify as certified
    from rubricate.analysis import read_run

    policy = undecided_policy(undecided)
    certificate = certified(read_run(run), undecided=policy, groups=groups)
    text = json.dumps(certificate.model_dump(mode="json"), indent=2)
    write_text(output, text + "\n")
    told = f"{certificate.judge} on {certificate.items} items, sha256 {certificate.sha256}"
    print(text if json_output else f"{output}: {told}")
    return 0
