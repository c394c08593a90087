"""`rubricate trust calibrate`."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, cast

import typer

if TYPE_CHECKING:
    from rubricate.analysis import CalibrationMethod

__all__ = ["calibrate"]


def calibrate(
    run: Annotated[Path, typer.Argument(help="A judge's run with probabilities and human labels.")],
    output: Annotated[Path, typer.Option("--output", "-o", help="Where to write the map.")] = Path(
        "calibration.json"
    ),
    method: Annotated[
        str | None, typer.Option(help="isotonic or platt. [isotonic from 300 labels on]")
    ] = None,
    train_share: Annotated[
        float, typer.Option(help="The share of the labelled items that it is fitted on.")
    ] = 0.7,
    seed: Annotated[int, typer.Option(help="Of the draw of these items.")] = 0,
    json_output: Annotated[bool, typer.Option("--json", help="Print the map as JSON.")] = False,
) -> int:
    """Fit a map from probabilities to how often they were right."""
    import json

    from rubricate._files import write_text
    from rubricate.analysis import fit_calibration, read_run

    fitted = fit_calibration(
        read_run(run),
        name=output.stem,
        method=cast("CalibrationMethod | None", method),
        train_share=train_share,
        seed=seed,
    )
    text = json.dumps(fitted.model_dump(mode="json"), indent=2)
    write_text(output, text + "\n")
    if json_output:
        print(text)
        return 0
    first, second = (said.text for said in fitted.sections())
    print(f"{output}: {first}")
    print(second)
    return 0
