"""The ways of asking that have a name, as the option `mode` gives it."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Literal

from rubricate.judge.asking._explained import Explained
from rubricate.judge.asking._probability import Probability
from rubricate.judge.asking._prompting import Prompting

Mode = Literal["explained", "probability"]
"""Whether a model gives its reasons before the verdict, or the verdict alone with probabilities."""
MODES: Mapping[str, type[Prompting]] = {"explained": Explained, "probability": Probability}
"""Each by its name. It takes those of the options of asking that its constructor has; the others
are refused."""
