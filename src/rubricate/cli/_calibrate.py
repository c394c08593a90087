"""`rubricate trust calibrate`."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, cast

import typer

from rubricate.cli._options import Groups

if TYPE_CHECKING:
    from rubricate.stats import CalibrationMethod


def calibrate(
    run: Annotated[Path, typer.Argument(help="A judge's run with probabilities and human labels.")],
    output: Annotated[Path, typer.Option("--output", "-o", help="Where to write the map.")] = Path(
        "calibration.json"
    ),
    method: Annotated[
        str | None, typer.Option(help="isotonic or platt. [isotonic from 300 labels on]")
    ] = None,
    groups: Groups = None,
    seed: Annotated[int, typer.Option(help="Of the draw of the ten folds.")] = 0,
    force: Annotated[
        bool,
        typer.Option("--force", help="Write the map even if it is not shown to be better."),
    ] = False,
    json_output: Annotated[bool, typer.Option("--json", help="Print the map as JSON.")] = False,
) -> int:
    """Fit a map from probabilities to how often they were right.

    A map that is not shown to be better than none is not written without --force.
    """
    import json

    from rubricate._files import write_text
    from rubricate.analysis import fit_calibration, read_run
    from rubricate.errors import InputError

    fitted = fit_calibration(
        read_run(run),
        name=output.stem,
        method=cast("CalibrationMethod | None", method),
        groups=groups,
        seed=seed,
    )
    if fitted.not_shown is not None and not force:
        raise InputError(
            f"the map is not shown to be better than none, on {fitted.out_of_fold.n} labels out of "
            f"fold: {fitted.not_shown}; it is not written: fit it on more labels, or write it with "
            "--force",
            file=run,
        )
    text = json.dumps(fitted.model_dump(mode="json"), indent=2)
    write_text(output, text + "\n")
    if json_output:
        print(text)
        return 0
    first, *others = (said.text for said in fitted.sections())
    print("\n".join([f"{output}: {first}", *others]))
    return 0
