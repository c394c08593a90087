"""What the built-in judge reaches on data that nothing of it was chosen or fitted on.

tools/train_builtin.py measures this by nested validation and writes it beside the weights. The
summary of a run, the README and the documentation say these figures and no others.
"""

from __future__ import annotations

import json
from functools import lru_cache
from importlib import resources
from typing import NamedTuple

DATA_SETS, QUESTIONS = "data_sets_left_out", "questions_left_out"


class Unseen(NamedTuple):
    """The figures of a data set that was left out."""

    name: str
    labels: int
    auc: float
    kappa: float
    ece: float


@lru_cache(maxsize=2)
def figures_left_out(what: str = DATA_SETS) -> tuple[Unseen, ...]:
    """The figures of each set: `data_sets_left_out` whole, or `questions_left_out` by folds."""
    source = resources.files("rubricate.judge.builtin").joinpath("figures.json")
    table = json.loads(source.read_text(encoding="utf-8"))[what]
    return tuple(
        Unseen(name, int(entry["labels"]), entry["auc"], entry["kappa"], entry["ece"])
        for name, entry in table.items()
        if name != "mean"
    )


def unseen_figures() -> str:
    """The figures of data sets left out whole, in one sentence."""
    sets = figures_left_out()
    areas = [entry.auc for entry in sets]
    kappas, errors = [entry.kappa for entry in sets], [entry.ece for entry in sets]
    return (
        f"On {len(sets)} public data sets, each left out of every choice and fit: "
        f"AUC {min(areas):.2f} to {max(areas):.2f} (mean {sum(areas) / len(areas):.2f}), "
        f"kappa {min(kappas):.2f} to {max(kappas):.2f}, "
        f"calibration error {min(errors):.2f} to {max(errors):.2f}."
    )
