"""The ways of asking that have a name, as the option `mode` gives it."""

from __future__ import annotations

from collections.abc import Mapping

from rubricate.judge.asking._explained import Explained
from rubricate.judge.asking._model_judge import ModelJudge
from rubricate.judge.asking._probability import ProbabilityJudge
from rubricate.judge.asking._prompting import Prompting

__all__ = ["MODES"]

MODES: Mapping[str, type[Prompting] | type[ModelJudge]] = {
    "explained": Explained,
    "probability": ProbabilityJudge,
}
"""Each by its name. It takes those of the options of asking that its constructor has; the others
are refused."""
