"""The options for thresholds."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Literal

from rubricate.errors import InputError, errors_within
from rubricate.settings import Settings, option

if TYPE_CHECKING:
    from rubricate.run.results import ThresholdFigure, Thresholds


class Unclear(Settings):
    """The option for what a gate does if the data cannot tell."""

    on_unclear: Literal["pass", "fail"] = option(
        "pass",
        "What a gate does if these items cannot tell: pass (with a warning), or fail (exit "
        "with 7).",
        group="Scores",
    )


class ThresholdOptions(Unclear, group="Scores"):
    """Thresholds that a run must reach."""

    fail_under: float | str | None = option(
        None,
        "Exit with 6 if the score is shown to be below this, such as 0.8, and with 4 if "
        "failed verdicts could change that. If these items cannot tell, see --on-unclear. "
        "Criteria, too: 0.8,refund=0.9.",
        common=True,
    )
    fail_if_confidence_bound_under: float | str | None = option(
        None,
        "Exit with 6 unless the score is shown to be at least this, by its lower confidence "
        "bound. Criteria, too: 0.7,accuracy=0.8.",
    )
    fail_if_worst_case_under: float | str | None = option(
        None,
        "Exit with 6 if the score would be below this with the worst answer for every verdict "
        "without a value. Criteria, too: 0.7,accuracy=0.8.",
    )

    groups: str | None = option(
        None,
        "With a threshold: metadata that says which items belong together; none for each item by "
        "itself. [by prompt, if prompts repeat]",
    )

    @property
    def thresholds(self) -> dict[str, Thresholds]:
        """The thresholds that are set, by option; `InputError` for an invalid one."""
        values = {}
        for name in THRESHOLDS:
            if (value := getattr(self, name)) is not None:
                values[name] = _parsed(name, value)
        return values

    def check(self) -> None:
        if not self.thresholds and (self.on_unclear != "pass" or self.groups is not None):
            name = "--groups" if self.on_unclear == "pass" else "--on-unclear"
            raise InputError(f"{name} is for thresholds: give --fail-under, too")


THRESHOLDS: Mapping[str, ThresholdFigure] = {
    "fail_under": "mean",
    "fail_if_confidence_bound_under": "confidence bound",
    "fail_if_worst_case_under": "worst case",
}
"""The threshold options and their figures."""


def _parsed(name: str, text: float | str) -> Thresholds:
    from rubricate.run.results import Thresholds

    with errors_within(name):
        return Thresholds.parse(text)
