"""The built-in judge: a small trained classifier that needs no download.

    judge = Classifier.load()
    judge.estimate(Inputs(submission="Energy is conserved.", requirement="Mentions conservation of
    energy."))

It compares words, so it catches the obvious: what a criterion asks for and a submission plainly
says or leaves out. It abstains, with its reason, on what words cannot show. `refit` adapts it to
labels of your own.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from rubricate._lazy import lazy_door
from rubricate.judge.builtin._classifier import Classifier
from rubricate.judge.builtin._features import FEATURE_NAMES
from rubricate.judge.builtin._inputs import Classification, Inputs, Labelled, Option
from rubricate.judge.builtin._text import STOP_WORDS, stem
from rubricate.judge.builtin._unseen import unseen_figures

if TYPE_CHECKING:
    from rubricate.judge.builtin._fit import FitReport, refit
    from rubricate.judge.builtin._judge import BuiltinJudge
else:  # numpy comes with what fits
    __getattr__, __dir__ = lazy_door(__name__)

__all__ = [
    "FEATURE_NAMES",
    "STOP_WORDS",
    "BuiltinJudge",
    "Classification",
    "Classifier",
    "FitReport",
    "Inputs",
    "Labelled",
    "Option",
    "refit",
    "stem",
    "unseen_figures",
]
