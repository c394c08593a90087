"""The embedded judge: a small trained classifier that needs no download.

    judge = Classifier.load()
    judge.estimate(Inputs(submission="Energy is conserved.", requirement="Mentions conservation of
    energy."))

It compares words, so it catches the obvious: what a criterion asks for and a submission plainly
says or leaves out. It abstains, with its reason, on what words cannot show. `refit` adapts it to
labels of your own.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from rubricate.judge.builtin._classifier import Classifier
from rubricate.judge.builtin._features import FEATURE_NAMES
from rubricate.judge.builtin._inputs import Estimate, Inputs, Labelled, Option
from rubricate.judge.builtin._unseen import unseen_figures

if TYPE_CHECKING:
    from rubricate.judge.builtin._fit import FitReport, fit, refit

__all__ = [
    "FEATURE_NAMES",
    "Classifier",
    "Estimate",
    "FitReport",
    "Inputs",
    "Labelled",
    "Option",
    "fit",
    "refit",
    "unseen_figures",
]


def __getattr__(name: str) -> Any:
    """Import what fits, and numpy with it, when it is first asked for."""
    if name in ("FitReport", "fit", "refit"):
        from rubricate.judge.builtin import _fit

        return getattr(_fit, name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
