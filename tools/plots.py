"""Create the plots in `docs/images`.

    python tools/plots.py

They show a run of the built-in judge on `examples/physics.json`.
"""

from __future__ import annotations

from pathlib import Path

import rubricate
from rubricate import RubricDataset

ROOT = Path(__file__).parents[1]
IMAGES = ROOT / "docs" / "images"


def main() -> None:
    """Write the pictures."""
    result = rubricate.grade(RubricDataset.from_file(ROOT / "examples" / "physics.json"))
    result.plot.scores(IMAGES / "scores.svg")
    result.plot.agreement(IMAGES / "agreement.svg")
    print(f"Wrote scores.svg and agreement.svg in {IMAGES.relative_to(ROOT)}.")


if __name__ == "__main__":
    main()
