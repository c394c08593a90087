"""The built-in judge: a small trained classifier that needs no download.

    judge = Classifier.load()
    judge.estimate(Inputs(submission="Energy is conserved.", requirement="Mentions conservation of
    energy."))

It compares words, so it catches the obvious: whether a submission plainly says or omits what a
criterion asks for. It abstains, with its reason, on what words cannot show. `refit` adapts it to
your own labels.
"""

from typing import TYPE_CHECKING

from rubricate._lazy import lazy_door

if TYPE_CHECKING:
    from rubricate.judge.builtin._classifier import Classifier as Classifier
    from rubricate.judge.builtin._features import FEATURE_NAMES as FEATURE_NAMES
    from rubricate.judge.builtin._fit import refit as refit
    from rubricate.judge.builtin._inputs import (
        Classification as Classification,
        Inputs as Inputs,
        Labelled as Labelled,
        Option as Option,
    )
    from rubricate.judge.builtin._judge import (
        REFITTED as REFITTED,
        BuiltinJudge as BuiltinJudge,
    )
    from rubricate.judge.builtin._text import STOP_WORDS as STOP_WORDS, stem as stem
else:
    __getattr__, __dir__ = lazy_door(__name__)
